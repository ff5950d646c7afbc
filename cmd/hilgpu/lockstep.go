package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/terminal"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// lockstepFlags are the flags of lockstep.
type lockstepFlags struct {
	config  string
	sim     string
	session bool
	seed    uint64
	cycles  uint64
	wave    string
	source  string
	app     *command.App
}

func newLockstep(a *command.App) *cobra.Command {
	f := lockstepFlags{app: a}
	c := &cobra.Command{
		Use:   "lockstep",
		Short: "Compare the GPU with its Verilog at every clock",
		Long: `Lockstep translates the GPU to Verilog, builds it for a simulator, and clocks both with
the inputs of a host that does, at random, anything a host may do: configuration, register
and VRAM accesses, valid and invalid packets, late and failed completions, back-pressure
on every ready, resets. With --session the host is the driver stack, which composes the
sample images.

All ports, registers and writes of a RAM are compared after every clock, and all memories
at the end.
Of a netlist only the ports can be compared. Yosys maps it to the cells of iCE40, which
takes minutes, and no iCE40 has more than 16 KiB of memory: use a configuration with that
little VRAM.
The first divergence is printed with its clock, instance, register, both values and the
Go line. --wave writes the 200 clocks before it.

Built simulations are kept in the user's cache directory.`,
		Example: `  hilgpu lockstep --seed 1 --cycles 100000
  hilgpu lockstep --config small --sim icarus --cycles 10000 --wave wave.vcd
  hilgpu lockstep --config small --sim netlist --cycles 10000
  hilgpu lockstep --session --json`,
		Args: command.OnlyCommands,
		RunE: func(c *cobra.Command, _ []string) error { return runLockstep(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.StringVar(&f.sim, "sim", string(lockstep.Verilator), "`simulator`, verilator or icarus; or netlist, verilator on the netlist from yosys")
	fl.BoolVar(&f.session, "session", false, "compose the sample images instead of random traffic; not limited by --cycles")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the traffic, or of the placement of a session")
	fl.Uint64Var(&f.cycles, "cycles", 100_000, "`number` of clocks after the reset")
	fl.StringVar(&f.wave, "wave", "", "write the waveform of a divergence to this VCD `file`")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.AddJSON(fl)
	c.AddCommand(newMutants(a))
	return c
}

// lockstepResult is the output of a run without a divergence.
type lockstepResult struct {
	Config          string  `json:"config"`
	Sim             string  `json:"sim"`
	Stimulus        string  `json:"stimulus"`
	Seed            uint64  `json:"seed"`
	Cycles          uint64  `json:"cycles"`
	Registers       int     `json:"registers"`
	Divergences     int     `json:"divergences"` // always 0: a divergence is an error
	HostMS          int64   `json:"host_ms"`     // without the build
	CyclesPerSecond float64 `json:"cycles_per_second"`
}

// runLockstep builds, runs and reports.
func runLockstep(f lockstepFlags) error {
	config, err := boards.Config(f.config)
	if err != nil {
		return err
	}
	sim := lockstep.Sim(f.sim)
	tools := lockstep.Check(sim)
	if errors.Is(tools, lockstep.ErrSim) {
		return tools
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	if err := output.Check(f.wave); err != nil {
		return err
	}
	if tools != nil { // after the input checks, which do not depend on the machine
		return tools
	}
	w := f.app.Progress("lockstep")
	defer w.End()
	w.At("building the simulation")
	dev, err := lockstep.NewDevice(root, config, lockstep.Options{Sim: sim, Wave: f.wave})
	if err != nil {
		return err
	}
	start := time.Now()
	w.At(f.sim)
	err = drive(dev, f, w)
	if cerr := dev.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return exit.Checked(err)
	}
	host := time.Since(start)
	r := lockstepResult{
		Config: f.config, Sim: f.sim, Stimulus: "random", Seed: f.seed, Cycles: dev.Clocks(), Registers: dev.Registers(),
		HostMS: host.Milliseconds(), CyclesPerSecond: float64(dev.Clocks()) / host.Seconds(),
	}
	if f.session {
		r.Stimulus = "session"
	}
	if f.app.Document(r) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.Out, "lockstep %s on %s, %s, seed %d: %d clocks, %d registers, 0 divergences, %.0f clocks/s\n",
		r.Config, r.Sim, r.Stimulus, r.Seed, r.Cycles, r.Registers, r.CyclesPerSecond)
	return err
}

// drive runs the stimulus.
func drive(dev *lockstep.Device, f lockstepFlags, w *terminal.Task) error {
	if !f.session {
		return lockstep.Random(dev, f.seed, f.cycles, func(done, total uint64) { w.To(int(done), int(total)) })
	}
	plan, err := compose.SamplePlan(compose.Options{Width: 160, Height: 120, Contexts: 2, Seed: f.seed})
	if err != nil {
		return err
	}
	return session.Lockstep(dev, plan)
}

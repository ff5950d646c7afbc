package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/terminal"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// stormCycles is the number of clocks in which a storm must hit every bin.
const stormCycles = 2_000_000

// lockstepFlags are the flags of lockstep.
type lockstepFlags struct {
	config  string
	sim     string
	session bool
	storm   bool
	sweep   bool
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
and VRAM accesses, valid and invalid packets, programs for the microcontroller, late and
failed completions, back-pressure on every ready, resets. With --session the host is the
driver stack, which composes the sample images. With --storm it is the storm of "hilgpu run
storm": the run ends when every bin was hit and prints the table of bins; it fails if a bin
was not hit. With --sweep two actions meet at each distance in clocks, such as the end of a
reset and a write.

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
  hilgpu lockstep --session --json
  hilgpu lockstep --storm --config 'default?vram=64KiB'`,
		Args: command.OnlyCommands,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.storm && !c.Flags().Changed("cycles") {
				f.cycles = stormCycles
			}
			return runLockstep(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.StringVar(&f.sim, "sim", string(lockstep.Verilator), "`simulator`, verilator or icarus; or netlist, verilator on the netlist from yosys")
	fl.BoolVar(&f.session, "session", false, "compose the sample images instead of random traffic; not limited by --cycles")
	fl.BoolVar(&f.storm, "storm", false, "hit every bin of a storm instead of random traffic, in at most --cycles clocks, 2000000 by default")
	fl.BoolVar(&f.sweep, "sweep", false, "make two actions meet at each distance instead of random traffic; not limited by --cycles, the same for each seed")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the traffic, or of the placement of a session")
	fl.Uint64Var(&f.cycles, "cycles", 100_000, "`number` of clocks after the reset")
	fl.StringVar(&f.wave, "wave", "", "write the waveform of a divergence to this VCD `file`")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	c.MarkFlagsMutuallyExclusive("session", "storm", "sweep")
	a.AddJSON(fl)
	c.AddCommand(newMutants(a), newProve(a))
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

	Storm *storm.Report `json:"storm,omitempty"`
}

// runLockstep builds, runs and reports.
func runLockstep(ctx context.Context, f lockstepFlags) error {
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
	cover, err := drive(ctx, dev, f, w)
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
		Storm: cover,
	}
	switch {
	case f.session:
		r.Stimulus = "session"
	case f.storm:
		r.Stimulus = "storm"
	case f.sweep:
		r.Stimulus = "sweep"
	}
	if !f.app.Document(r) {
		err = r.print(f.app.Out)
	}
	if err == nil && cover != nil && len(cover.Missing) > 0 {
		err = fmt.Errorf("%w: %d of %d bins were not hit in %d clocks", exit.ErrCheck, len(cover.Missing), cover.Total, r.Cycles)
	}
	return err
}

// print writes the bins of a storm, and the result in one line.
func (r *lockstepResult) print(w io.Writer) error {
	if r.Storm != nil {
		if _, err := fmt.Fprint(w, r.Storm.Text()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "lockstep %s on %s, %s, seed %d: %d clocks, %d registers, 0 divergences, %.0f clocks/s\n",
		r.Config, r.Sim, r.Stimulus, r.Seed, r.Cycles, r.Registers, r.CyclesPerSecond)
	return err
}

// drive runs the stimulus. It returns the report of a storm.
func drive(ctx context.Context, dev *lockstep.Device, f lockstepFlags, w *terminal.Task) (*storm.Report, error) {
	progress := func(done, total uint64) { w.To(int(done), int(total)) }
	switch {
	case f.storm:
		r, err := storm.Lockstep(ctx, dev, storm.Options{Board: f.config, Seed: f.seed, Cycles: f.cycles, Progress: progress})
		if r != nil {
			for _, line := range r.Listing {
				fmt.Fprintln(f.app.Stderr, line)
			}
		}
		return r, err
	case f.sweep:
		return nil, lockstep.Sweep(dev, progress)
	case f.session:
		plan, err := compose.SamplePlan(compose.Options{Width: 160, Height: 120, Contexts: 2, Seed: f.seed})
		if err != nil {
			return nil, err
		}
		return nil, session.Lockstep(dev, plan)
	}
	return nil, lockstep.Random(dev, f.seed, f.cycles, progress)
}

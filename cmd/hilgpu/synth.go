package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// synthFlags are the flags of synth.
type synthFlags struct {
	config string
	target string
	source string
	app    *command.App
}

func newSynth(a *command.App) *cobra.Command {
	f := synthFlags{app: a}
	c := &cobra.Command{
		Use:   "synth",
		Short: "Synthesise the GPU for FPGAs and check the log",
		Long: `Synth translates the GPU to Verilog and synthesises it with yosys: block by block, for
the size of each, and as a whole. VRAM is 8 KiB in every configuration, because more does
not fit into block RAM. The configuration small is also placed on an iCE40 HX8K with
nextpnr, connected to an 8-bit pin port that is counted separately. So is mcu, the
microcontroller alone with 8 KiB, connected to a shift register.

A latch, an undriven or multiply driven net, a loop, a warning that is not allowed, and a
memory that does not match the table of expected memories are refused, with exit code 1.
So are a block of default, or the whole, that takes more LUTs of ECP5 than its budget, and
cells, block RAMs or a clock of a placement that miss their goal.`,
		Example: `  hilgpu synth
  hilgpu synth --config small --target ice40
  hilgpu synth --target ecp5 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSynth(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "`name` of the configuration, default, small, "+synth.Lean+", or "+synth.MCU+"; all but "+synth.Lean+" by default")
	fl.StringVar(&f.target, "target", "", "`family`, ice40 or ecp5; both by default")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.AddJSON(fl)
	return c
}

// synthJSON is the output of synth --json.
type synthJSON struct {
	Reports []*synth.Report `json:"reports"`
}

// jobs returns every requested combination. Without a target there is one for each that has
// a table.
func (f synthFlags) jobs() ([]synth.Job, error) {
	names, targets := []string{"default", "small", synth.MCU}, synth.Targets()
	if f.config != "" {
		names = []string{f.config}
	}
	if f.target != "" {
		targets = []synth.Target{synth.Target(f.target)}
	}
	var jobs []synth.Job
	var refused error
	for _, name := range names {
		config, err := synthConfig(name)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			j := synth.Job{Name: name, Config: config, Target: target}
			if err := j.Check(); err != nil {
				refused = err
				continue
			}
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		return nil, refused
	}
	return jobs, nil
}

// synthConfig returns the configuration of a name. That of the microcontroller alone has none.
func synthConfig(name string) (gpu.Config, error) {
	if name == synth.MCU {
		return gpu.Config{}, nil
	}
	return boards.Config(name)
}

// runSynth synthesises every requested combination, and fails at the end if one
// was refused.
func runSynth(f synthFlags) error {
	jobs, err := f.jobs()
	if err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	for _, j := range jobs { // after the input checks, which do not depend on the machine
		if err := j.Tools(); err != nil {
			return err
		}
	}
	w := f.app.Progress("synth")
	defer w.End()
	refused, reports := 0, []*synth.Report{}
	for _, j := range jobs {
		w.To(len(reports), len(jobs))
		w.At(j.String())
		r, err := j.Run(root)
		if err != nil {
			return err
		}
		refused += len(r.Refused())
		reports = append(reports, r)
		if f.app.Document(synthJSON{reports}) {
			continue
		}
		if _, err := fmt.Fprintln(f.app.Out, r); err != nil {
			return err
		}
	}
	if refused > 0 {
		return fmt.Errorf("%w: synthesis: %d findings", exit.ErrCheck, refused)
	}
	return nil
}

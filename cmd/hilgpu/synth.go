package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
)

// synthFlags are the flags of synth.
type synthFlags struct {
	config string
	target string
	source string
	app    *app
}

func newSynth(a *app) *cobra.Command {
	f := synthFlags{app: a}
	c := &cobra.Command{
		Use:   "synth",
		Short: "Synthesise the GPU for FPGAs and judge the log",
		Long: `Synth translates the GPU to Verilog and synthesises it with yosys: block by
block, for what each takes, and as a whole. VRAM is 8 KiB in every
configuration, since more does not fit into block RAM. The configuration small
is also placed on an iCE40 HX8K with nextpnr, behind an 8-bit pin port that is
counted apart.

A latch, an undriven or doubly driven net, a loop, a warning that is not allowed
and a memory that is not where the table of expected memories has it are
refused, which is exit code 1. A goal for size or clock that is missed is
printed and does not change the exit code.`,
		Example: `  hilgpu synth
  hilgpu synth --config small --target ice40
  hilgpu synth --target ecp5 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSynth(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "`name` of the configuration, full, default, small, or "+synth.Lean+"; default and small if not given")
	fl.StringVar(&f.target, "target", "", "`family`, ice40 or ecp5; both if not given")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.addJSON(fl)
	return c
}

// synthJSON is what synth --json prints.
type synthJSON struct {
	Reports []*synth.Report `json:"reports"`
}

// jobs returns every combination that is asked for.
func (f synthFlags) jobs() ([]synth.Job, error) {
	names, targets := []string{"default", "small"}, synth.Targets()
	if f.config != "" {
		names = []string{f.config}
	}
	if f.target != "" {
		targets = []synth.Target{synth.Target(f.target)}
	}
	var jobs []synth.Job
	for _, name := range names {
		config, err := boards.Config(name)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			j := synth.Job{Name: name, Config: config, Target: target}
			if err := j.Check(); err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// runSynth synthesises every combination that is asked for, and fails in the
// end if one was refused.
func runSynth(f synthFlags) error {
	jobs, err := f.jobs()
	if err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	for _, j := range jobs { // after all input, which is bad on every machine
		if err := j.Tools(); err != nil {
			return err
		}
	}
	w := f.app.progress("synth")
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
		return fmt.Errorf("%w: synthesis: %d findings", errCheck, refused)
	}
	return nil
}

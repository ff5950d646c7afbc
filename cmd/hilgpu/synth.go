package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
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

// runSynth synthesises every combination that is asked for, and fails in the
// end if one was refused.
func runSynth(f synthFlags) error {
	configs, targets := []string{"default", "small"}, synth.Targets()
	if f.config != "" {
		configs = []string{f.config}
	}
	if f.target != "" {
		targets = []synth.Target{synth.Target(f.target)}
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	var tools error
	for _, config := range configs {
		for _, target := range targets {
			if err := checkSynth(config, target); err != nil {
				return err
			}
			if tools == nil {
				tools = synthTools(config, target)
			}
		}
	}
	if tools != nil { // after all input, which is bad on every machine
		return tools
	}
	defer f.app.onSignal()()
	w := f.app.progress("synth")
	defer w.End()
	refused, reports := 0, []*synth.Report{}
	for _, config := range configs {
		for _, target := range targets {
			w.To(len(reports), len(configs)*len(targets))
			w.At(config + " for " + string(target))
			r, err := synthesise(root, config, target)
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
	}
	if refused > 0 {
		return fmt.Errorf("%w: synthesis: %d findings", errCheck, refused)
	}
	return nil
}

// checkSynth fails if a configuration cannot be synthesised for a target.
func checkSynth(config string, target synth.Target) error {
	if _, err := boards.Config(config); err != nil {
		return err
	}
	_, err := synth.Expected(config, target)
	return err
}

// synthTools fails with synth.ErrTool if a tool is missing that a configuration and
// a target need.
func synthTools(config string, target synth.Target) error {
	if placed(config, target) {
		return synth.PlaceTools()
	}
	return synth.Tools("yosys")
}

// placed reports whether the netlist is also placed.
func placed(config string, target synth.Target) bool {
	return config == "small" && target == synth.ICE40
}

// synthesise returns the report of one configuration and target.
func synthesise(root, config string, target synth.Target) (*synth.Report, error) {
	c, err := boards.Config(config)
	if err != nil {
		return nil, err
	}
	want, err := synth.Expected(config, target)
	if err != nil {
		return nil, err
	}
	g, err := gpu.New(synth.Shrink(c))
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	r, err := synth.Run(synth.Of(d), target, want)
	if err != nil {
		return nil, err
	}
	r.Config, r.VRAMBytes = config, synth.VRAMBytes
	if placed(config, target) {
		r.Placement, err = synth.Place(d)
	}
	return r, err
}

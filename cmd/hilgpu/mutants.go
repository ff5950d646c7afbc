package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

// mutantRate is the fraction of the mutants, without those proven equivalent,
// that lockstep must catch.
const mutantRate = 0.98

// mutantsFlags are the flags of lockstep mutants.
type mutantsFlags struct {
	mutant.GPUOptions
	source string
	app    *command.App
}

func newMutants(a *command.App) *cobra.Command {
	f := mutantsFlags{app: a}
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Show that lockstep detects mistakes in the Verilog",
		Long: `Mutants makes many small mistakes in the GPU's Verilog: other operators, constants,
registers and reset values, inverted conditions, omitted updates, terms and resets, cut
carries, truncated and signed comparisons, stuck bits and strobes, rotations, stale and
early values, swapped nodes, case labels, words of RAMs. All of them are in one Verilator
simulation, selected by an input. Each is run in lockstep until it differs, under the sweeps
of "lockstep --sweep", random traffic, random traffic with frequent resets, and then, if the
host can access VRAM, under a storm as of "lockstep --storm". With --known the mistakes are
a few that are hard to detect.

A mutant that does not differ counts as equivalent only if yosys proves that no register,
port or memory write of the complete design ever differs, for any inputs that keep the
rules of the ports. The check fails if fewer than 98 % of the others are caught.`,
		Example: `  hilgpu lockstep mutants --seed 1
  hilgpu lockstep mutants --seed 7 --count 400 --config default --json
  hilgpu lockstep mutants --known --config default`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runMutants(c.Context(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.Name, "config", "small", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.Uint64Var(&f.Seed, "seed", 1, "`seed` of the mutants and of the traffic")
	fl.IntVar(&f.Count, "count", 200, "`number` of mutants")
	fl.BoolVar(&f.Known, "known", false, "plant some mistakes instead that are hard to detect, in the configuration default")
	fl.Uint64Var(&f.Clocks, "cycles", 1_000_000, "`number` of clocks of random traffic, and of that with frequent resets")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.AddJSON(fl)
	return c
}

// runMutants runs and reports. It prints progress on stderr.
func runMutants(ctx context.Context, f mutantsFlags) error {
	var err error
	if f.Config, err = boards.Config(f.Name); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	w := f.app.Progress("mutants")
	defer w.End()
	f.Progress = w.At
	if !w.Shown() {
		f.Progress = func(line string) { fmt.Fprintln(f.app.Stderr, line) }
	}
	if f.Config.Caps.Has(caps.Aperture) {
		f.Traffic = func(dev *lockstep.Device) error {
			_, err := storm.Lockstep(ctx, dev, storm.Options{Board: f.Name, Seed: f.Seed, Cycles: stormCycles})
			return err
		}
	}
	r, err := mutant.Run(root, f.GPUOptions)
	if err != nil {
		return exit.Checked(err)
	}
	if !f.app.Document(r) {
		err = r.Print(f.app.Out)
	}
	if err == nil && r.Rate() < mutantRate {
		err = fmt.Errorf("%w: %.1f %% of the mutants were caught, want %.0f %%", exit.ErrCheck, 100*r.Rate(), 100*mutantRate)
	}
	return err
}

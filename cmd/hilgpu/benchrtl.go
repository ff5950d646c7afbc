package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/terminal"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/testbench/figures"
)

// benchRTLFlags are the flags of bench rtl.
type benchRTLFlags struct {
	config string
	runs   int
	count  int
	polls  int
	edits  int
	source string
	app    *app
}

func newBench(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure and print figures",
	}
	c.AddCommand(newBenchRTL(a), newBenchDevice(a))
	return c
}

func newBenchRTL(a *app) *cobra.Command {
	f := benchRTLFlags{app: a}
	c := &cobra.Command{
		Use:   "rtl",
		Short: "Measure the RTL in Go against its Verilog under Verilator",
		Long: `Rtl records what workloads do at the ports of the GPU, clock by clock, and
replays it to the GPU in Go and to its Verilog, built with Verilator -O3 for one
thread and without probes. The two take turns in one run; the figures are
medians. The outputs of both are compared.

  busy   copies from host memory to VRAM on all nodes at once
  mixed  the composition of the sample images by the driver stack
  idle   a register read every 100,000 clocks

What Go sleeps through it skips; its share is printed. The edit loop changes one
block in a copy of the source, builds it and composes the sample images, in Go
and with the board verilated.

The rows with waves write a value change dump to a file, on each side with what
it has: Go the registers and the ports, Verilator every signal, once a clock.

A target that is missed is printed and does not change the exit code.`,
		Example: `  hilgpu bench rtl
  hilgpu bench rtl --edits 0 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runBenchRTL(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, and options of the board emu, as small?vramports=1")
	fl.IntVar(&f.runs, "runs", 5, "`number` of runs of each side")
	fl.IntVar(&f.count, "count", 8, "`number` of copies of the busy workload on each node")
	fl.IntVar(&f.polls, "polls", 20, "`number` of register reads of the idle workload")
	fl.IntVar(&f.edits, "edits", 5, "`number` of edits; 0 leaves the edit loop out")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.addJSON(fl)
	return c
}

// benchRTLResult is what the command prints.
type benchRTLResult struct {
	Config    string              `json:"config"`
	Runs      int                 `json:"runs"`
	Rows      []figures.Row       `json:"rows"`
	Translate figures.Translation `json:"translate"`
	Edit      *figures.Edit       `json:"edit,omitempty"`
}

// runBenchRTL records, measures and reports.
func runBenchRTL(f benchRTLFlags) error {
	if f.runs < 1 || f.count < 1 || f.polls < 1 || f.edits < 0 {
		return fmt.Errorf("%w: --runs, --count and --polls must be at least 1, --edits at least 0", errInput)
	}
	config, err := boards.Config(f.config)
	if err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	if err := lockstep.Verilator.Check(); err != nil {
		return err
	}
	defer f.app.onSignal()()
	w := f.app.progress("bench rtl")
	defer w.End()
	r := benchRTLResult{Config: f.config, Runs: f.runs}
	if r.Rows, err = benchRows(root, config, f, w); err != nil {
		return err
	}
	w.At("translation")
	if r.Translate, err = figures.Translate(root, config, f.runs); err != nil {
		return err
	}
	if f.edits > 0 {
		w.At("edits")
		e, err := figures.EditLoop(root, f.edits)
		if err != nil {
			return err
		}
		r.Edit = &e
	}
	if f.app.Document(r) {
		return nil
	}
	_, err = io.WriteString(f.app.Out, r.text())
	return err
}

// benchRowCount is how many rows benchRows returns.
const benchRowCount = 5

// benchRows compares the workloads.
func benchRows(root string, config gpu.Config, f benchRTLFlags, under *terminal.Work) ([]figures.Row, error) {
	b, err := figures.New(root, config, "")
	if err != nil {
		return nil, err
	}
	plan, err := planCompose(composeFlags{size: "320x240", contexts: 2, seed: 1}, nil)
	if err != nil {
		return nil, err
	}
	var rows []figures.Row
	for _, w := range []struct {
		record func() (*figures.Recording, error)
		target float64
		waves  bool
	}{
		{func() (*figures.Recording, error) { return figures.Busy(config, f.count) }, figures.BusyTarget, true},
		{func() (*figures.Recording, error) { return figures.Mixed(config, plan) }, figures.MixedTarget, true},
		{func() (*figures.Recording, error) { return figures.Idle(config, f.polls) }, figures.IdleTarget, false},
	} {
		under.To(len(rows), benchRowCount)
		rec, err := w.record()
		if err != nil {
			return nil, err
		}
		row, err := b.Compare(rec, f.runs, w.target, false)
		if err == nil {
			rows = append(rows, row)
		}
		if err == nil && w.waves {
			row, err = b.Compare(rec, f.runs, figures.WavesTarget, true)
			rows = append(rows, row)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// holds says whether a target is reached.
func holds(ok bool) string {
	if ok {
		return "holds"
	}
	return "missed"
}

// text returns the table.
func (r *benchRTLResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RTL in Go against Verilator -O3, configuration %s, medians of %d\n\n", r.Config, r.Runs)
	fmt.Fprintf(&b, "%-11s %10s %8s %12s %12s %9s\n", "", "clocks", "skipped", "Go ns/clock", "Verilator", "ratio")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%-11s %10d %7.2f%% %12.2f %12.2f %8.2fx  target %gx %s\n", row.Name, row.Clocks,
			100*float64(row.Slept)/float64(row.Clocks), row.Go, row.Verilator, row.Ratio, row.Target, holds(row.Holds))
	}
	fmt.Fprintf(&b, "\ntranslation %.2f s  target %g s %s\n", r.Translate.Seconds, r.Translate.Target, holds(r.Translate.Holds))
	if e := r.Edit; e != nil {
		fmt.Fprintf(&b, "edit %s and %s: Go %.1f s, Verilator %.1f s, %.2fx  target %gx %s\n",
			e.Block, e.Workload, e.Go, e.Verilator, e.Ratio, e.Target, holds(e.Holds))
	}
	return b.String()
}

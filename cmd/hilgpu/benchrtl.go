package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
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
	app    *command.App
}

func newBench(a *command.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Run benchmarks",
	}
	c.AddCommand(newBenchRTL(a), newBenchDevice(a))
	return c
}

func newBenchRTL(a *command.App) *cobra.Command {
	f := benchRTLFlags{app: a}
	c := &cobra.Command{
		Use:   "rtl",
		Short: "Measure the RTL in Go against its Verilog under Verilator",
		Long: `Rtl records the activity of workloads at the ports of the GPU, clock by clock, and
replays it to the GPU in Go and to its Verilog, built with Verilator for one thread and
without probes. The sides alternate in one run; the figures are medians. The outputs of
all are compared. Each row names the settings of both sides: Verilator as it is commonly
used, and driven well, with its inputs in registers, so that it evaluates once a clock,
and compiled for this processor. The targets are against Verilator driven well. A row
has the conditions by which Go skips a block as clock enables in the Verilog too. Rows of
Go with -tags awake show the speed without the conditions that skip blocks at rest.
They are built with a profile if this program is.

  busy   copies from host memory to VRAM on all nodes at once
  mixed  the composition of the sample images by the driver stack
  idle   a register read every 100,000 clocks

Go skips idle clocks; their share is printed. The edit loop changes one block in a copy
of the source, builds it and composes the sample images, in Go and with the board
verilated, compiled with and without optimization.

The rows with waves write a value change dump to a file, once per clock: Go the
registers and the ports, Verilator every signal, and driven well the same as Go.

A missed target is printed and does not change the exit code.`,
		Example: `  hilgpu bench rtl
  hilgpu bench rtl --edits 0 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runBenchRTL(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.IntVar(&f.runs, "runs", 5, "`number` of runs of each side")
	fl.IntVar(&f.count, "count", 8, "`number` of copies of the busy workload on each node")
	fl.IntVar(&f.polls, "polls", 20, "`number` of register reads of the idle workload")
	fl.IntVar(&f.edits, "edits", 5, "`number` of edits; 0 omits the edit loop")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.AddJSON(fl)
	return c
}

// runBenchRTL records, measures and reports.
func runBenchRTL(f benchRTLFlags) error {
	if f.runs < 1 || f.count < 1 || f.polls < 1 || f.edits < 0 {
		return fmt.Errorf("%w: --runs, --count and --polls must be at least 1, --edits at least 0", exit.ErrInput)
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
	w := f.app.Progress("bench rtl")
	defer w.End()
	r, err := figures.MeasureRTL(figures.RTLOptions{
		Root: root, Config: config, Name: f.config, Runs: f.runs, Count: f.count, Polls: f.polls, Edits: f.edits, Progress: w.To, At: w.At,
	})
	if err != nil || f.app.Document(r) {
		return err
	}
	_, err = io.WriteString(f.app.Out, r.Text())
	return err
}

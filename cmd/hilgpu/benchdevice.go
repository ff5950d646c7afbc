package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/figures"
)

func newBenchDevice(a *app) *cobra.Command {
	turns := 0
	c := &cobra.Command{
		Use:   "device",
		Short: "Measure what the GPU and its emulation reach",
		Long: `Device prints figures with what they have to be: bytes a clock of moves, clocks
from the doorbell to the message and of small packets, for links of several
latencies L, which are exact; and the clocks a second of the emulation, which
are this machine's.

  busy    both nodes copy inside VRAM
  mixed   they do for a tenth of the clocks
  idle    nobody does anything

  skip    clocks in which nothing happens are slept through
  noskip  they are not
  wave    every clock is written as a wave
  flight  the last clocks are kept, as for a test that may fail

A speed is that of the fastest turn, and a ratio is against skip, whose turns
alternate with the others. A target that is missed is printed and does not change
the exit code.`,
		Example: `  hilgpu bench device
  hilgpu bench device --turns 31 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runBenchDevice(c.Context(), a, turns)
		},
	}
	c.Flags().IntVar(&turns, "turns", 15, "`number` of turns of each load and way")
	a.addJSON(c.Flags())
	return c
}

// figuresJSON is what bench device --json prints.
type figuresJSON struct {
	Figures []figures.Figure `json:"figures"`
}

// runBenchDevice measures and reports.
func runBenchDevice(ctx context.Context, a *app, turns int) error {
	if turns < 1 {
		return fmt.Errorf("%w: --turns %d, want at least 1", errInput, turns)
	}
	w := a.progress("bench device")
	defer w.End()
	w.At("clocks")
	all, err := figures.Cycles(ctx, w.To)
	if err != nil {
		return err
	}
	w.At("speeds")
	speeds, err := figures.Speeds(ctx, turns, w.To)
	if err != nil {
		return err
	}
	all = append(all, speeds...)
	if a.Document(figuresJSON{all}) {
		return nil
	}
	_, err = io.WriteString(a.Out, figures.Text(all))
	return err
}

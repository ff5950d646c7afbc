package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/figures"
)

func newBenchDevice(a *command.App) *cobra.Command {
	turns := 0
	c := &cobra.Command{
		Use:   "device",
		Short: "Measure the speed of the GPU and its emulation",
		Long: `Device prints measurements and their targets. Bytes per clock of moves, clocks from
the doorbell to the message, and clocks of small packets are exact; they are given for
links of several latencies L. Clocks per second of the emulation depend on this machine:

  busy    both nodes copy inside VRAM
  mixed   both nodes copy for a tenth of the clocks
  idle    nothing happens

  skip      idle clocks are skipped
  noskip    idle clocks are not skipped
  wave      every clock is recorded in a waveform
  flight    the last clocks are recorded, as for a test that may fail
  firmware  as skip, with a microcontroller whose firmware sleeps

The last figures are of a call of a user-mode driver without verifiers. A speed is that
of the fastest run. A ratio is relative to skip, whose runs alternate with the others. A
missed target is printed and does not change the exit code.`,
		Example: `  hilgpu bench device
  hilgpu bench device --turns 31 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runBenchDevice(c.Context(), a, turns)
		},
	}
	c.Flags().IntVar(&turns, "turns", 15, "`number` of runs of each load and mode")
	a.AddJSON(c.Flags())
	return c
}

// figuresJSON is the output of bench device --json.
type figuresJSON struct {
	Figures []figures.Figure `json:"figures"`
}

// runBenchDevice measures and reports.
func runBenchDevice(ctx context.Context, a *command.App, turns int) error {
	if turns < 1 {
		return fmt.Errorf("%w: --turns %d, want at least 1", exit.ErrInput, turns)
	}
	w := a.Progress("bench device")
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
	calls, err := figures.Calls(turns)
	if err != nil {
		return err
	}
	all = slices.Concat(all, speeds, calls)
	if a.Document(figuresJSON{all}) {
		return nil
	}
	_, err = io.WriteString(a.Out, figures.Text(all))
	return err
}

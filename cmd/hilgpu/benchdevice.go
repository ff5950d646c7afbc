package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/figures"
)

func newBenchDevice() *cobra.Command {
	turns, asJSON := 0, false
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
the exit code.

` + exitCodes,
		Example: `  hilgpu bench device
  hilgpu bench device --turns 31 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runBenchDevice(c.Context(), c.OutOrStdout(), turns, asJSON)
		},
	}
	c.Flags().IntVar(&turns, "turns", 15, "`number` of turns of each load and way")
	c.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return c
}

// runBenchDevice measures and reports.
func runBenchDevice(ctx context.Context, stdout io.Writer, turns int, asJSON bool) error {
	if turns < 1 {
		return errors.New("turns must be at least 1")
	}
	all, err := figures.Cycles(ctx)
	if err != nil {
		return err
	}
	speeds, err := figures.Speeds(ctx, turns)
	if err != nil {
		return err
	}
	all = append(all, speeds...)
	if asJSON {
		return json.NewEncoder(stdout).Encode(all)
	}
	_, err = io.WriteString(stdout, figures.Text(all))
	return err
}

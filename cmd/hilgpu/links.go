package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/record"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

// links opens boards for the commands and records them.
type links struct {
	record.Recorder
	tdr time.Duration
}

// add adds the flag --capture to a command with a link and to its subcommands.
func (l *links) add(c *cobra.Command) { l.AddCapture(c.PersistentFlags()) }

// addTdr adds the flag --tdr-delay to a command that runs the kernel.
func (l *links) addTdr(c *cobra.Command) {
	c.Flags().DurationVar(&l.tdr, "tdr-delay", 0, "`time` without progress after which the GPU counts as hung, as in 30s; 0: 2 s, plus the transfer time of 8 MiB on a slow link")
}

// checkTdr fails if --tdr-delay is out of range.
func (l *links) checkTdr() error {
	if l.tdr < 0 || l.tdr > 0 && l.tdr < time.Millisecond {
		return fmt.Errorf("%w: --tdr-delay %v, want at least 1ms, or 0", errInput, l.tdr)
	}
	return nil
}

// stopped reports whether err means that the GPU stopped or differs from its
// reference model.
func stopped(err error) bool {
	var device *dxgkrnl.DeviceError
	return errors.As(err, &device) || errors.Is(err, scoreboard.ErrDiffers) || errors.Is(err, storm.ErrDiffers) ||
		err != nil && exitCode(err) == exitDevice
}

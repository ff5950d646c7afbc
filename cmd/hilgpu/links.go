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

// links is how the commands reach boards, and what they record of them.
type links struct {
	record.Recorder
	tdr time.Duration
}

// add adds the flag to a command that has a link, and to all below it.
func (l *links) add(c *cobra.Command) { l.AddCapture(c.PersistentFlags()) }

// addTdr adds the flag to a command that runs the kernel.
func (l *links) addTdr(c *cobra.Command) {
	c.Flags().DurationVar(&l.tdr, "tdr-delay", 0, "`time` without progress after which the GPU counts as hung, as in 30s; 0: two seconds, and over a slow link what 8 MiB take")
}

// checkTdr fails if the flag is out of range.
func (l *links) checkTdr() error {
	if l.tdr < 0 || l.tdr > 0 && l.tdr < time.Millisecond {
		return fmt.Errorf("%w: --tdr-delay %v, want at least 1ms, or 0", errInput, l.tdr)
	}
	return nil
}

// stopped reports whether err is of a GPU that stopped or is not as its model.
func stopped(err error) bool {
	var device *dxgkrnl.DeviceError
	return errors.As(err, &device) || errors.Is(err, scoreboard.ErrDiffers) || errors.Is(err, storm.ErrDiffers) ||
		err != nil && exitCode(err) == exitDevice
}

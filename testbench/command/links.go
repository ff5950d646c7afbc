package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

// Links opens boards for the commands and records them.
type Links struct {
	record.Recorder
	Tdr time.Duration // of --tdr-delay, as in testbench.Options
}

// Add adds the flag --capture to a command with a link and to its subcommands.
func (l *Links) Add(c *cobra.Command) { l.AddCapture(c.PersistentFlags()) }

// AddTdr adds the flag --tdr-delay to a command that runs the kernel.
func (l *Links) AddTdr(c *cobra.Command) {
	c.Flags().DurationVar(&l.Tdr, "tdr-delay", 0, "`time` without progress after which the GPU counts as hung, as in 30s; 0: 2 s, plus the transfer time of 8 MiB on a slow link")
}

// CheckTdr fails with exit.ErrInput if --tdr-delay is out of range.
func (l *Links) CheckTdr() error {
	if l.Tdr < 0 || l.Tdr > 0 && l.Tdr < time.Millisecond {
		return fmt.Errorf("%w: --tdr-delay %v, want at least 1ms, or 0", exit.ErrInput, l.Tdr)
	}
	return nil
}

// stopped reports whether err means that the GPU stopped or differs from its
// reference model.
func stopped(err error) bool {
	var device *dxgkrnl.DeviceError
	return errors.As(err, &device) || errors.Is(err, scoreboard.ErrDiffers) || errors.Is(err, storm.ErrDiffers) ||
		err != nil && exit.Code(err) == exit.Device
}

package storm

import (
	"context"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
)

// Lockstep runs a storm on a GPU in lockstep with its Verilog, over the shortest link. It
// ignores o.Open. It fails as Run does, or with the first divergence.
func Lockstep(ctx context.Context, dev *lockstep.Device, o Options) (*Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.Open = func(_ string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, err := inproc.New(dev, host, inproc.Options{Latency: 1, Hz: uint64(dev.Config().ClockHz)})
		return link, link, err
	}
	progress := o.Progress
	o.Progress = func(done, total uint64) {
		if err := dev.Err(); err != nil {
			cancel(err)
		}
		if progress != nil {
			progress(done, total)
		}
	}
	r, err := Run(ctx, o)
	if diverged := dev.Err(); diverged != nil {
		return r, diverged
	}
	return r, err
}

package figures

import (
	"context"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// opener returns an Opener that connects a host to the recorder.
func (r *recorder) opener() bare.Opener {
	return func(_ string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, err := inproc.New(r, host, inproc.Options{Hz: uint64(r.Config().ClockHz)})
		return link, link, err
	}
}

func newRecorder(c gpu.Config) (*recorder, error) {
	g, err := gpu.New(c)
	return &recorder{GPU: g}, err
}

// Busy copies from host memory to VRAM on all nodes at once, at the full rate of
// the DMA engine. The host writes the data and reads it back through the BAR.
func Busy(c gpu.Config, count int) (*Recording, error) {
	r, err := newRecorder(c)
	if err != nil {
		return nil, err
	}
	size := min(32<<10, int(c.VRAMBytes)/2) - 96
	_, err = transfer.Run(context.Background(), transfer.Options{
		Board: "recorder", Open: r.opener(), Size: size, From: transfer.Host, To: transfer.VRAM, Count: count, Seed: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("figures: busy: %w", err)
	}
	return r.stop("busy"), nil
}

// Mixed composes images with the driver stack.
func Mixed(c gpu.Config, plan *compose.Plan) (*Recording, error) {
	r, err := newRecorder(c)
	if err != nil {
		return nil, err
	}
	if err := session.Compose(r, uint64(c.ClockHz), plan); err != nil {
		return nil, err
	}
	return r.stop("mixed"), nil
}

// pollClocks is the number of clocks between two reads of an idle GPU: 1 ms at 100
// MHz.
const pollClocks = 100_000

// Idle reads a register of a GPU without work the given number of times.
func Idle(c gpu.Config, polls int) (*Recording, error) {
	r, err := newRecorder(c)
	if err != nil {
		return nil, err
	}
	b, err := bare.Open(context.Background(), "recorder", bare.NewHost(1<<16), r.opener())
	if err != nil {
		return nil, err
	}
	for range polls {
		if v := b.Reg(idreg.Base + idreg.Magic); b.Alive() && v != idreg.MagicValue {
			return nil, fmt.Errorf("figures: idle: ID.MAGIC is %#x", v)
		}
		b.Wait(b.Clock.Now() + pollClocks)
	}
	if err := b.Err; err != nil {
		return nil, err
	}
	return r.stop("idle"), b.Close()
}

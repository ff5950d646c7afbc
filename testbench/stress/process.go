package stress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
)

// A process has one device at a time.
type process struct {
	bench  *bench
	number int
	system *testbench.Process
	rand   *rand.Rand
	frames hash.Hash  // of all frames and losses
	device *device    // nil: none
	spread *rand.Rand // of the contexts in the kernel

	refused int // allocations in its calls, since the last one that was known to succeed
}

// round presents the frames of a round.
func (p *process) round() {
	for range p.bench.Frames {
		if p.bench.failed != nil {
			return
		}
		if err := p.frame(); err != nil {
			p.bench.fail(p, err)
			return
		}
		p.bench.step(p.bench.done + 1)
	}
}

// frame presents one frame, and compares it. If the device is lost, it opens a new one the
// next time.
func (p *process) frame() error {
	if p.device == nil {
		if err := p.open(); err != nil {
			return p.lost(err)
		}
	}
	d := p.device
	shown, err := d.frame(p.rand)
	if err != nil {
		return p.lost(err)
	}
	if d.offended > 0 && d.offended < p.bench.round {
		return fmt.Errorf("the device is not lost, though a submission of it failed in round %d: %v", d.offended, d.kinds)
	}
	p.refused = 0 // the kernel went on without them
	p.frames.Write(shown)
	p.bench.totals.Frames++
	return nil
}

// lost judges the error of a call. It returns nil if a fault explains it, after it has closed
// the device.
func (p *process) lost(err error) error {
	d, b := p.device, p.bench
	if broken := b.broken(); broken != nil {
		return broken
	}
	reason := err
	if d.api != nil {
		if removed := d.api.GetDeviceRemovedReason(); removed != nil {
			reason = removed
		}
	}
	var lost *dxgkrnl.DeviceError
	if !errors.As(reason, &lost) && d.spread.device != 0 { // the runtime may not know it yet
		errors.As(b.sys.Lost(d.spread.device), &lost)
	}
	var kind dxgkrnl.Kind
	switch {
	case errors.Is(err, errDiffers):
		return err
	case p.stopped(lost):
		b.totals.Others++
	case lost != nil && d.explains(lost):
		b.totals.Guilty++
		b.aborted++
	case lost != nil && b.judge.timedOut(lost):
		b.totals.Others++
		b.aborted++
	case lost == nil && p.refused > 0 && (errors.Is(err, errTold) || errors.Is(err, ddi.EOutOfMemory)):
		b.totals.Refused++
	case b.sys.Err() != nil:
		return fmt.Errorf("%w: %w", errStopped, reason)
	default:
		return fmt.Errorf("%w: no fault of its own explains it (%d submissions of it got one)", reason, len(d.kinds))
	}
	if resets := b.sys.Stats().NodeResets; b.aborted > resets {
		return fmt.Errorf("%w: %d devices are lost with the work of a node, after %d resets of one", reason, b.aborted, resets)
	}
	if lost != nil {
		kind = lost.Kind
	}
	binary.Write(p.frames, binary.LittleEndian, uint64(kind)) // a hash takes everything
	p.close()
	return nil
}

// stopped reports whether the device is lost because the adapter has stopped after it was opened, and
// a fault explains that.
func (p *process) stopped(lost *dxgkrnl.DeviceError) bool {
	j := p.bench.judge
	if n := p.device.resets; n < len(j.resets) {
		return lost == nil && p.device.api == nil || explainsStop(j.resets[n], lost) // another process may have reset it during open
	}
	return p.bench.sys.Err() != nil && explainsStop(j.active(), lost)
}

// open opens a device.
func (p *process) open() error {
	b := p.bench
	p.refused = 0
	p.device = &device{bench: b, resets: len(b.judge.resets), spread: &spreader{
		kernel: b.sys.Thunks(), rand: p.spread, nodes: b.sys.Nodes(), count: b.Contexts, contexts: map[ddi.KMHandle][]*umddi.CreateContext{},
	}}
	return p.device.open(p.system, p.rand)
}

// close closes the device, if there is one.
func (p *process) close() {
	if p.device != nil {
		p.device.close()
		p.device = nil
	}
}

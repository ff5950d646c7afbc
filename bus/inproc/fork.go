package inproc

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Fork returns a link in the state of l to dev, which must be in the state of the device of l. It
// must be called inside Sample. Neither link affects the other. The fork has no host memory: a
// read by dev is never answered, and a write or a message has no effect. It has no observer.
func (l *Link) Fork(dev port.Device) *Link {
	f := &Link{
		dev: dev, opt: l.opt, now: l.now, closed: l.closed, down: l.down, event: l.event, bars: l.bars, stats: l.stats,
		wire: l.wire, requests: l.requests, receiver: l.receiver,
	}
	f.runner, _ = dev.(Runner)
	f.opt.Observer = nil
	w := &f.wire
	w.up, w.answers, w.requests = w.up.clone(), w.answers.clone(), w.requests.clone()
	w.beats, w.completions = w.beats.clone(), w.completions.clone()
	return f
}

func (r ring[T]) clone() ring[T] {
	r.buf = slices.Clone(r.buf)
	return r
}

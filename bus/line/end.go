package line

import (
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// A burst is bytes that follow each other on the wire; at is when the last one
// arrives.
type burst struct {
	at    time.Duration
	bytes []byte
}

// An end of the line: its link, and the wire from it to the other end.
type end struct {
	link *datalink.Link
	out  datalink.Output
	enc  frame.Encoder
	dec  *frame.Decoder // of what arrives here
	inj  *fault.Injector

	dead   bool          // nothing goes out
	free   time.Duration // when the wire is free
	flying []burst       // in order
	spare  [][]byte      // memory of bursts
	bytes  uint64
}

func (e *end) init(link *datalink.Link, inj *fault.Injector, maxPacket int) {
	e.link, e.inj = link, inj
	e.dec = frame.NewDecoder(datalink.MinFrame, largest(maxPacket))
}

// send puts a frame on the wire, or what becomes of it. It reports whether the
// line was cut by that.
func (e *end) send(f []byte, now time.Duration, opt *Options) (cut bool) {
	if e.dead {
		return false
	}
	var b []byte
	if n := len(e.spare); n > 0 {
		b, e.spare = e.spare[n-1][:0], e.spare[:n-1]
	}
	effect := e.inj.Apply(f, func(f []byte) { b = e.enc.Append(b, f) })
	if effect.Cut {
		return true
	}
	e.free = max(e.free, now) + effect.Stall + opt.span(len(b))
	e.bytes += uint64(len(b))
	e.flying = append(e.flying, burst{e.free + opt.Latency, b})
	return false
}

// next returns when something arrives at the other end.
func (e *end) next() (at time.Duration, ok bool) {
	if len(e.flying) == 0 {
		return 0, false
	}
	return e.flying[0].at, true
}

// take removes the oldest burst. Its memory is given back with done.
func (e *end) take() []byte {
	b := e.flying[0].bytes
	e.flying = append(e.flying[:0], e.flying[1:]...)
	return b
}

func (e *end) done(b []byte) { e.spare = append(e.spare, b) }

// broken cuts the wire and returns what of the oldest burst has arrived.
func (e *end) broken(now time.Duration, opt *Options) []byte {
	e.dead = true
	var part []byte
	if len(e.flying) > 0 {
		f := e.flying[0]
		missing := 1 + int((f.at-now)/opt.span(1))
		part = f.bytes[:max(0, len(f.bytes)-missing)]
	}
	e.flying = e.flying[:0]
	e.free = now
	return part
}

// mend makes the wire whole.
func (e *end) mend() {
	if e.dead {
		e.enc.Break()
	}
	e.dead = false
	e.inj.Restore()
}

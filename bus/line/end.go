package line

import (
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// A burst is consecutive bytes on the wire; at is when the last one arrives.
type burst struct {
	at    time.Duration
	bytes []byte
}

// An end is one end of the line: its link, and the wire from it to the other
// end.
type end struct {
	link *datalink.Link
	out  datalink.Output
	enc  frame.Encoder
	dec  *frame.Decoder // for bytes that arrive here
	inj  *fault.Injector

	dead     bool          // nothing is sent
	free     time.Duration // when the wire is free
	inFlight []burst       // bursts in flight, in order
	spare    [][]byte      // buffers of bursts for reuse
	bytes    uint64
}

func (e *end) init(link *datalink.Link, inj *fault.Injector, maxPacket int) {
	e.link, e.inj = link, inj
	e.dec = frame.NewDecoder(datalink.MinFrame, largest(maxPacket))
}

// send puts a frame on the wire, after fault injection. It reports whether that
// cut the line.
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
	e.inFlight = append(e.inFlight, burst{e.free + opt.Latency, b})
	return false
}

// next returns when the next burst arrives at the other end.
func (e *end) next() (at time.Duration, ok bool) {
	if len(e.inFlight) == 0 {
		return 0, false
	}
	return e.inFlight[0].at, true
}

// take removes the oldest burst. The caller returns its memory with done.
func (e *end) take() []byte {
	b := e.inFlight[0].bytes
	e.inFlight = append(e.inFlight[:0], e.inFlight[1:]...)
	return b
}

func (e *end) done(b []byte) { e.spare = append(e.spare, b) }

// breakWire cuts the wire and returns the part of the oldest burst that has
// arrived.
func (e *end) breakWire(now time.Duration, opt *Options) []byte {
	e.dead = true
	var part []byte
	if len(e.inFlight) > 0 {
		f := e.inFlight[0]
		missing := 1 + int((f.at-now)/opt.span(1))
		part = f.bytes[:max(0, len(f.bytes)-missing)]
	}
	e.inFlight = e.inFlight[:0]
	e.free = now
	return part
}

// restore ends the cut of the wire.
func (e *end) restore() {
	if e.dead {
		e.enc.Break()
	}
	e.dead = false
	e.inj.Restore()
}

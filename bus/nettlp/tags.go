package nettlp

import (
	"fmt"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// tags are the requests of one end that wait for completions, by the tag on the wire.
type tags struct {
	slots  []slot
	stride int // tag of slot i is i times this

	timeout    time.Duration // from request to completion
	rest       time.Duration // before a tag that was answered is used again
	quarantine time.Duration // before one that was not
}

// A slot is a tag. One that is free, or lost, is not used before until.
type slot struct {
	state slotState
	until time.Duration
	inner tlp.Packet // the request as its sender made it
	as    tlp.ID     // its requester on the wire
	left  int        // bytes remaining
	lower uint8
}

type slotState uint8

const (
	slotFree slotState = iota
	slotWaits
)

// take assigns a tag to a request: the one that has been free for the longest time. It
// reports false if none is.
func (t *tags) take(request *tlp.Packet, as tlp.ID, now time.Duration) (tag uint16, ok bool) {
	best := -1
	for i := range t.slots {
		s := &t.slots[i]
		if s.state == slotFree && s.until <= now && (best < 0 || s.until < t.slots[best].until) {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	t.slots[best] = slot{
		state: slotWaits, until: now + t.timeout, inner: *request, as: as,
		left: tlp.ByteCount(request.Len, request.First, request.Last), lower: tlp.LowerAddress(request.Addr, request.First),
	}
	return uint16(best * t.stride), true
}

// expire ends the requests without a completion for too long. It calls lost with each.
func (t *tags) expire(now time.Duration, lost func(request *tlp.Packet)) {
	for i := range t.slots {
		if s := &t.slots[i]; s.state == slotWaits && s.until <= now {
			s.state, s.until = slotFree, now+t.quarantine
			lost(&s.inner)
		}
	}
}

// forget ends all requests. A completion that still arrives is refused.
func (t *tags) forget(now time.Duration) {
	for i := range t.slots {
		if s := &t.slots[i]; s.state == slotWaits {
			s.state, s.until = slotFree, now+t.quarantine
		}
	}
}

// deadline returns when the next request is lost; ok is false if none waits.
func (t *tags) deadline() (at time.Duration, ok bool) {
	for i := range t.slots {
		if s := &t.slots[i]; s.state == slotWaits && (!ok || s.until < at) {
			at, ok = s.until, true
		}
	}
	return at, ok
}

// free returns when a tag is free that waits for no completion; math.MaxInt64 if all
// tags do.
func (t *tags) free() time.Duration {
	at := time.Duration(math.MaxInt64)
	for i := range t.slots {
		if t.slots[i].state == slotFree {
			at = min(at, t.slots[i].until)
		}
	}
	return at
}

// match takes a completion and returns the request that it completes, or why it is
// refused. The byte count and address of an unsuccessful completion are not used and
// not checked (PCIe 3.0 §2.3.1.1).
func (t *tags) match(p *tlp.Packet, now time.Duration) (request *tlp.Packet, why Refusal, text string) {
	i := int(p.Tag) / t.stride
	if i >= len(t.slots) || int(p.Tag)%t.stride != 0 || t.slots[i].state != slotWaits {
		return nil, Unexpected, "no request waits"
	}
	s := &t.slots[i]
	switch {
	case p.Requester != s.as:
		return nil, Mismatch, fmt.Sprintf("want requester %v", s.as)
	case p.Kind == tlp.Cpl && p.Status == tlp.SC:
		return nil, Mismatch, "success without the data of a read"
	case p.Kind == tlp.Cpl:
		s.state, s.until = slotFree, now+t.rest
		return &s.inner, 0, ""
	case p.ByteCount != s.left:
		return nil, Mismatch, fmt.Sprintf("want byte count %d", s.left)
	case p.Lower != s.lower:
		return nil, Mismatch, fmt.Sprintf("want lower address %#02x", s.lower)
	}
	n, last := p.Carries()
	if !last && (int(p.Lower)+n)%tlp.RCB != 0 {
		return nil, Mismatch, fmt.Sprintf("%d of %d bytes do not end at a multiple of %d", n, s.left, tlp.RCB)
	}
	s.left -= n
	s.lower = (s.lower + uint8(n)) & 0x7f
	if last {
		s.state, s.until = slotFree, now+t.rest
	}
	return &s.inner, 0, ""
}

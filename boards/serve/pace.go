package serve

import (
	"errors"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

const (
	burst   = 1024                   // clocks of a busy device before the link is looked at
	crowded = 64                     // the same while packets keep coming
	longest = 200 * time.Millisecond // that Serve waits without looking at the session
	behind  = 10                     // a slow device is behind by 1/behind of a second at most
	ahead   = 1000                   // an idle one is ahead by 1/ahead at most, if it runs free
)

// pace holds device clocks against the wall clock.
type pace struct {
	hz    uint64
	clock bool

	lead int64  // clocks that the device is ahead
	rest uint64 // part of a clock, in clocks times nanoseconds
}

// elapse lets wall-clock time pass; more than a second counts as one.
func (p *pace) elapse(d time.Duration) {
	p.rest += uint64(min(max(d, 0), time.Second)) * p.hz
	p.lead -= int64(p.rest / 1e9)
	p.rest %= 1e9
}

func (p *pace) ran(n uint64) { p.lead += int64(n) }

// allowed returns how many clocks may pass at once when nothing happens in the
// next idle ones; 0 of those means that the device is busy.
func (p *pace) allowed(idle uint64) uint64 {
	switch {
	case p.clock:
		return uint64(max(0, -p.lead))
	case idle == 0:
		return burst
	}
	return min(idle, uint64(max(0, p.slack()-p.lead)))
}

// busy follows clocks of a busy device: what they took longer than they should
// is lost, or what is more than a bound.
func (p *pace) busy() {
	bound := int64(0)
	if p.clock {
		bound = -int64(p.hz / behind)
	}
	p.lead = max(p.lead, bound)
}

// slack is how far ahead an idle device may be.
func (p *pace) slack() int64 {
	if p.clock {
		return 0
	}
	return int64(p.hz / ahead)
}

// wait returns how long it is until clocks may pass that do something.
func (p *pace) wait(idle uint64) time.Duration {
	if idle == 0 && !p.clock {
		return 0
	}
	clocks := p.lead - p.slack() + int64(min(max(idle, 1), p.hz))
	if clocks <= 0 {
		return 0
	}
	return min(longest, time.Duration(math.Ceil(float64(clocks)*1e9/float64(p.hz))))
}

// elapse brings the pace to now, the time of the stream.
func (b *Board) elapse(now time.Duration) {
	b.pace.elapse(now - b.now)
	b.now = now
}

// catchUp lets the clocks pass in which the device was idle while Serve waited,
// so that what arrives now arrives after them.
func (b *Board) catchUp(now time.Duration) {
	b.elapse(now)
	if b.pace.lead >= 0 || b.unsent != nil {
		return
	}
	if n := min(b.end.Idle(), uint64(-b.pace.lead)); n > 0 {
		b.pace.ran(b.end.Run(n))
	}
}

// step lets the device run, sends what it sends, and returns how long nothing
// will happen unless something arrives. While the link has no room for a write
// or a completion no clock passes.
func (b *Board) step(ch *channel.Channel) time.Duration {
	b.elapse(ch.Now())
	b.send(ch)
	left := uint64(burst)
	if b.arrived {
		left = crowded
	}
	b.arrived = false
	for left > 0 && b.unsent == nil && b.end.Err() == nil {
		idle := b.end.Idle()
		n := b.pace.allowed(idle)
		if n == 0 {
			break
		}
		if idle == 0 {
			n = min(n, left)
		}
		n = b.end.Run(n)
		b.pace.ran(n)
		b.send(ch)
		if idle == 0 {
			left -= min(left, max(1, n))
			b.elapse(ch.Now())
			b.pace.busy()
		}
	}
	if b.unsent != nil {
		return longest
	}
	return b.pace.wait(b.end.Idle())
}

// send passes on what the device has sent, as far as the link takes it.
// Reads that it does not take are passed by the rest.
func (b *Board) send(ch *channel.Channel) {
	b.end.HoldReads(false)
	for {
		if b.unsent == nil {
			packet, ok := b.end.Next()
			if !ok {
				return
			}
			b.unsent = packet
		}
		err := ch.Send(b.unsent)
		if errors.Is(err, datalink.ErrFull) {
			if tlp.KindOf(b.unsent[0]).Class() != tlp.NonPosted {
				return
			}
			b.end.HoldReads(true)
		} else if err != nil {
			b.stat.Dropped++
		} else {
			b.observe(true, b.unsent)
		}
		b.unsent = nil
	}
}

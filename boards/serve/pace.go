package serve

import (
	"errors"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

const (
	burst         = 1024                   // clocks that a busy device runs before the link is checked
	burstArriving = 64                     // the same while packets keep arriving
	maxWait       = 200 * time.Millisecond // how long Serve waits without checking the session
	maxLag        = 10                     // a slow device lags by at most 1/maxLag of a second
	maxLead       = 1000                   // an idle one leads by at most 1/maxLead of a second (Free)
)

// pace compares device clocks with the wall clock.
type pace struct {
	hz    uint64
	clock bool

	lead int64  // clocks that the device is ahead of the wall clock
	rest uint64 // part of a clock, in clocks times nanoseconds
}

// elapse adds elapsed wall-clock time, at most one second.
func (p *pace) elapse(d time.Duration) {
	p.rest += uint64(min(max(d, 0), time.Second)) * p.hz
	p.lead -= int64(p.rest / 1e9)
	p.rest %= 1e9
}

func (p *pace) ran(n uint64) { p.lead += int64(n) }

// allowed returns how many clocks may run at once if the device is idle for the
// given number of clocks; 0 means that it is busy.
func (p *pace) allowed(idle uint64) uint64 {
	switch {
	case p.clock:
		return uint64(max(0, -p.lead))
	case idle == 0:
		return burst
	}
	return min(idle, uint64(max(0, p.slack()-p.lead)))
}

// busy accounts for clocks of a busy device: lag beyond the bound is forgotten.
func (p *pace) busy() {
	bound := int64(0)
	if p.clock {
		bound = -int64(p.hz / maxLag)
	}
	p.lead = max(p.lead, bound)
}

// slack returns how many clocks an idle device may be ahead.
func (p *pace) slack() int64 {
	if p.clock {
		return 0
	}
	return int64(p.hz / maxLead)
}

// wait returns how long to wait before the next clock that does something.
func (p *pace) wait(idle uint64) time.Duration {
	if idle == 0 && !p.clock {
		return 0
	}
	clocks := p.lead - p.slack() + int64(min(max(idle, 1), p.hz))
	if clocks <= 0 {
		return 0
	}
	return min(maxWait, time.Duration(math.Ceil(float64(clocks)*1e9/float64(p.hz))))
}

// elapse advances the pace to now, the time of the stream.
func (b *Board) elapse(now time.Duration) {
	b.pace.elapse(now - b.now)
	b.now = now
}

// catchUp runs the clocks in which the device was idle while Serve waited, so
// that a packet arriving now comes after them.
func (b *Board) catchUp(now time.Duration) {
	b.elapse(now)
	if b.pace.lead >= 0 || b.unsent != nil {
		return
	}
	if n := min(b.end.Idle(), uint64(-b.pace.lead)); n > 0 {
		b.pace.ran(b.end.Run(n))
	}
}

// step runs the device, sends its packets, and returns how long nothing will
// happen unless a packet arrives. No clock runs while the link has no room for
// a write or a completion.
func (b *Board) step(ch line) time.Duration {
	b.elapse(ch.Now())
	b.send(ch)
	left := uint64(burst)
	if b.arrived {
		left = burstArriving
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
		return maxWait
	}
	return b.pace.wait(b.end.Idle())
}

// send sends packets of the device while the link has room. If there is no room
// for reads, other packets pass them.
func (b *Board) send(ch line) {
	defer ch.Flush()
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

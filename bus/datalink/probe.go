package datalink

import "time"

// Design note: a peer cannot miss the last frame of a flight, so its loss would cost a whole
// replay time-out. An adaptive link pings instead, as the tail loss probe of TCP does
// (RFC 8985 §7). The pong tells what has arrived, with a Nak before it if that has gaps.
// What was sent before the ping and has not arrived is lost.

// A probe is what the sender knows of its pings.
type probe struct {
	sentAt   time.Duration // of the last frame with data
	sent     uint64        // stamp of the next frame at the last ping
	asked    uint64        // the same at the first ping without a pong
	waits    bool          // there is such a ping
	ackDelay time.Duration // of the peer
}

// ping sends a ping.
func (l *Link) ping(out *Output) {
	p := &l.tx.probe
	p.sent = l.tx.stamp
	if !p.waits {
		p.asked, p.waits = p.sent, true
	}
	l.sendAcked(typePing, nil, out)
}

// probeDue returns when the end of a flight is probed, if it has to be.
func (l *Link) probeDue() (time.Duration, bool) {
	s := &l.tx
	if !l.cfg.Adapt || !s.measured || s.inFlight() == 0 || s.probe.sent == s.stamp {
		return 0, false
	}
	wait := max(s.rtt+4*s.spread, 2*s.probe.ackDelay)
	return s.probe.sentAt + wait + l.queued(s.slot(s.next-1)), true
}

// answered handles a pong: it replays the frames that were sent before the ping and have
// not arrived. A pong of an earlier ping can look like it, so a frame gets the time of a
// round trip.
func (l *Link) answered(now time.Duration, out *Output) {
	s := &l.tx
	if !l.cfg.Adapt || !s.probe.waits {
		return
	}
	s.probe.waits = false
	for n := s.first; n != s.next && l.state == Up; n++ {
		slot := s.slot(n)
		if !slot.arrived && slot.stamp < s.probe.asked && now-slot.sentAt >= l.trip()+l.queued(slot) {
			s.path.replayed(false, now)
			l.replay(n, now, out)
		}
	}
}

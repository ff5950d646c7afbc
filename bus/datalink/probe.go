package datalink

import "time"

// Design note: a peer cannot miss the last frame of a flight, so its loss would cost a whole
// replay time-out. An adaptive link pings instead, as the tail loss probe of TCP does
// (RFC 8985 §7). The pong tells what has arrived, with a Nak before it if that has gaps.
// A frame that was sent before the ping and has not arrived is lost, however short the time
// since. A pong does not name its ping, so the first pong counts for the first ping. The
// pongs of the other pings that were sent by then count for nothing. When a frame that was
// sent after all pings has arrived, no pong is expected any more: the others are lost.

// A probe is what the sender knows of its pings.
type probe struct {
	sentAt   time.Duration // of the last frame with data
	sent     uint64        // stamp of the next frame at the last ping
	asked    uint64        // the same at the first ping without a pong
	pingAt   time.Duration // when the last ping was sent
	pings    int           // without a pong
	others   int           // pongs to come that count for nothing
	ackDelay time.Duration // of the peer
}

// ping sends a ping.
func (l *Link) ping(now time.Duration, out *Output) {
	p := &l.tx.probe
	p.sent, p.pingAt = l.tx.stamp, now
	if p.pings == 0 {
		p.asked = p.sent
	}
	p.pings++
	l.sendAcked(typePing, nil, out)
}

// probeDue returns when the end of a flight is probed, if it has to be.
func (l *Link) probeDue() (time.Duration, bool) {
	s := &l.tx
	p := &s.probe
	if !l.cfg.Adapt || !s.measured || s.inFlight() == 0 || p.sent == s.stamp {
		return 0, false
	}
	wait := max(s.rtt+2*s.spread, 2*p.ackDelay) + l.queued(s.slot(s.next-1))
	if p.pings > 0 {
		return max(p.sentAt+wait, p.pingAt+wait<<min(p.pings, 12)), true
	}
	return p.sentAt + wait, true
}

// heard records that a frame has arrived whose first transmission has the given stamp. If
// all pings were sent before it, no pong of them will come.
func (p *probe) heard(stamp uint64) {
	if stamp >= p.sent {
		p.pings, p.others = 0, 0
	}
}

// answered handles a pong: it replays the frames that were sent before the ping and have
// not arrived, unless the answer can only be one to an earlier ping.
func (l *Link) answered(now time.Duration, out *Output) {
	s := &l.tx
	p := &s.probe
	switch {
	case !l.cfg.Adapt || p.pings == 0:
		return
	case p.others > 0:
		p.others--
		return
	}
	p.others, p.pings = p.pings-1, 0
	for n := s.first; n != s.next && l.state == Up; n++ {
		if slot := s.slot(n); !slot.arrived && slot.stamp < p.asked && now-slot.sentAt >= l.quickest(slot) {
			s.path.replayed(false, now)
			l.replay(n, now, out)
		}
	}
}

package datalink

import (
	"fmt"
	"time"
)

// measure records a round trip, as TCP does (RFC 6298 §2).
func (s *sender) measure(d time.Duration) {
	if !s.measured {
		s.measured, s.rtt, s.spread, s.fastest = true, d, d/2, d
		return
	}
	s.spread += ((s.rtt - d).Abs() - s.spread) / 4
	s.rtt += (d - s.rtt) / 8
	s.fastest = min(s.fastest, d)
}

// measure records the round trip of a frame that was sent once. The time that an adaptive
// link needs for the frames before it is no part of it.
func (l *Link) measure(slot *txSlot, now time.Duration) {
	s := &l.tx
	trip := now - slot.sentAt
	if !l.cfg.Adapt {
		s.measure(trip)
		return
	}
	fastest := trip
	if s.measured {
		fastest = min(trip, s.fastest)
	}
	s.measure(max(0, trip-s.path.took(slot.mark.ahead)))
	s.fastest = fastest
	s.path.estimate(&slot.mark, slot.sentAt, now)
}

// timeout returns how long after its last transmission a frame is replayed,
// doubled with every replay. Round trips of nearly equal length have no
// deviation, so there is a minimum margin, as TCP has with its clock
// granularity (RFC 6298 §2.3). Beyond the replay limit the timeout is an eighth
// of the time since the first transmission, so that a stall as long as
// DeadAfter costs only a few dozen more replays and little time at its end.
func (l *Link) timeout(slot *txSlot) time.Duration {
	base := l.cfg.ReplayMax
	switch {
	case l.cfg.Adapt && !l.tx.measured:
		base = max(base, firstTrip)
	case l.tx.measured:
		base = max(l.tx.least, l.tx.rtt+max(4*l.tx.spread, l.tx.rtt/4))
	}
	base += l.queued(slot)
	wait := min(base<<min(max(slot.sends-1, 0), 16), max(base, l.cfg.ReplayMax))
	if l.cfg.Adapt {
		wait = min(wait, 2*base)
	}
	if slot.sends > l.cfg.ReplayLimit {
		wait = max(wait, (slot.sentAt-slot.firstAt)/8)
	}
	return wait
}

// trip returns the time within which an answer usually arrives.
func (l *Link) trip() time.Duration {
	if !l.tx.measured {
		return l.cfg.ReplayMax
	}
	return max(l.tx.rtt+l.tx.spread, 100*time.Microsecond)
}

// leastLost is how often a frame must be lost before an adaptive link gives up. It is lost
// if one that was sent after it has arrived, or if none arrives; on a path that has become
// slow, all are late.
const leastLost = 4

// replay sends a frame again or gives up. It does not give up before DeadAfter,
// because the peer may take that long to answer. An adaptive link gives up by time, if
// the peer is heard: whoever waits for the frame has a time-out.
func (l *Link) replay(n uint64, now time.Duration, out *Output) {
	slot := l.tx.slot(n)
	age := now - slot.firstAt
	hopeless := slot.lost >= leastLost || slot.sends > leastLost && now >= l.tx.movedAt+l.cfg.GiveUp
	late := l.cfg.Adapt && hopeless && now >= l.giveUpAt(slot) && l.receivedAt-slot.firstAt > l.cfg.GiveUp/2
	if late || slot.sends > l.cfg.ReplayLimit && age >= l.cfg.DeadAfter {
		l.fail(fmt.Errorf("%w: the link damages or loses frames: sequence %d sent %d times in %v, %s",
			ErrReplay, n&maskSeq, slot.sends, age.Round(time.Millisecond), l.damage()), out)
		return
	}
	l.tell(Incident{Kind: FrameRepeated, Sequence: uint32(n & maskSeq), Times: slot.sends, Answers: l.answers})
	slot.replays++
	l.tx.harmed()
	for range l.copies(slot) {
		l.stats.Replays++
		l.put(n, now, out)
	}
}

// copies returns how often a replay sends a frame, since each further loss costs a round
// trip and more. An adaptive link sends twice a frame that was lost twice, and one that
// was lost once if others wait for it.
func (l *Link) copies(slot *txSlot) int {
	if l.cfg.Adapt && !l.tx.all && (slot.replays == 2 || slot.replays == 1 && l.urgent()) {
		return 2
	}
	return 1
}

// urgent reports whether the loss of one more frame would leave the path idle: three
// quarters of the window have been sent after a missing frame, or no more packets may be
// sent although the path has room. A line of a known rate is never idle for that.
func (l *Link) urgent() bool {
	s := &l.tx
	if l.cfg.Rate == 0 && s.inFlight() >= s.window*3/4 {
		return true
	}
	return (s.waiting() == 0 || s.stalled) && s.path.flying <= s.bytesWindow()/2
}

// damage describes what the link did to frames so far.
func (l *Link) damage() string {
	s := &l.stats
	return fmt.Sprintf("%d of %d frames sent were replays, %d of %d received were damaged",
		s.Replays, s.FramesSent, s.BadCheck+s.BadFrames, s.BadCheck+s.BadFrames+s.FramesReceived)
}

// overdue reports whether a frame had the time of a round trip since it was sent last. On
// an adaptive link the time doubles with every replay: a path that has become slow must
// not get more and more.
func (l *Link) overdue(slot *txSlot, now time.Duration) bool {
	wait := l.trip() + l.queued(slot)
	if l.cfg.Adapt {
		wait <<= min(slot.sends-1, 12)
	}
	return now-slot.sentAt >= wait
}

// replayAll replays all frames in flight for a peer that keeps none out of order. The
// frames that it sent before the Nak reached this end cause more Naks; they are
// ignored until an answer to the replay can have arrived.
func (l *Link) replayAll(now time.Duration, out *Output) {
	s := &l.tx
	if s.inFlight() == 0 || now-s.slot(s.first).sentAt < l.quickest(s.slot(s.first)) {
		return
	}
	for n, end := s.first, s.next; n != end && l.state == Up; n++ {
		l.replay(n, now, out)
	}
}

// giveUpAt returns when an adaptive link gives up its oldest frame.
func (l *Link) giveUpAt(slot *txSlot) time.Duration {
	return max(slot.endAt, l.tx.headAt+l.cfg.GiveUp)
}

// replayDue returns when the oldest frame in flight is replayed.
func (l *Link) replayDue() (time.Duration, bool) {
	if l.tx.inFlight() == 0 {
		return 0, false
	}
	slot := l.tx.slot(l.tx.first)
	due := slot.sentAt + l.timeout(slot)
	if !l.cfg.Adapt {
		return due, true
	}
	due = max(due, l.tx.headAt+l.timeout(slot)) // the path was busy with the frames before (RFC 6298 §5.3)
	if end := l.giveUpAt(slot); slot.sentAt < end {
		due = min(due, end)
	}
	return due, true
}

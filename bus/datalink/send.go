package datalink

import (
	"fmt"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A txSlot is a frame in flight. It holds its packet until the acknowledgement.
type txSlot struct {
	packet  []byte
	firstAt time.Duration // first transmission
	sentAt  time.Duration // last transmission
	stamp   uint64        // order of the last transmission among all frames
	sends   int
	arrived bool // received out of order, according to a Nak
	mark    mark
	endAt   time.Duration // when an adaptive link gives the frame up
}

// A sender is the transmitting half.
type sender struct {
	slots     []txSlot // by sequence number, modulo the window
	window    int
	maxPacket int
	all       bool          // the peer needs everything after a lost frame again
	least     time.Duration // shortest time to a replay
	first     uint64        // number of the oldest frame in flight
	next      uint64        // number of the next packet
	stamp     uint64
	queues    [3]queue
	order     uint64
	stalled   bool

	measured bool
	rtt      time.Duration // smoothed
	spread   time.Duration // mean deviation
	fastest  time.Duration

	path  path // of an adaptive link
	probe probe
}

// An item is a waiting packet and its order among all classes.
type item struct {
	packet []byte
	order  uint64
}

// A queue is a first-in-first-out of packets that reuses their memory.
type queue struct {
	items []item
	head  int
	n     int
	bytes int // of the packets
}

func (q *queue) push(packet []byte, order uint64, limit int) bool {
	if q.n == limit {
		return false
	}
	if q.items == nil {
		q.items = make([]item, limit)
	}
	it := &q.items[(q.head+q.n)%limit]
	it.packet, it.order = append(it.packet[:0], packet...), order
	q.bytes += len(packet)
	q.n++
	return true
}

func (q *queue) pop(size int) {
	q.bytes -= size
	q.head = (q.head + 1) % len(q.items)
	q.n--
}

func (s *sender) reset() {
	queues := s.queues
	for i := range queues {
		queues[i].head, queues[i].n, queues[i].bytes = 0, 0, 0
	}
	*s = sender{slots: s.slots, queues: queues}
}

func (s *sender) slot(n uint64) *txSlot { return &s.slots[n%uint64(len(s.slots))] }

func (s *sender) inFlight() int { return int(s.next - s.first) }

func (s *sender) waiting() int { return s.queues[0].n + s.queues[1].n + s.queues[2].n }

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

// Send queues a copy of a packet, 1 to MaxPacket() bytes. Posted packets stay
// in order, and no other packet passes one; a posted packet passes others that
// wait for credits (PCIe 3.0 §2.4.1). Send fails with ErrSize, with ErrFull if
// the queue of the packet's class is full, with ErrNotUp before the session is
// up, and with the cause if the link is down.
func (l *Link) Send(packet []byte, now time.Duration, out *Output) error {
	switch {
	case l.state == Down:
		return l.cause
	case l.state == Opening:
		return fmt.Errorf("%w: the session is opening", ErrNotUp)
	case len(packet) < 1 || len(packet) > l.tx.maxPacket:
		return fmt.Errorf("%w: %d bytes, want 1 to %d", ErrSize, len(packet), l.tx.maxPacket)
	}
	c := classOf(packet)
	if !l.tx.queues[c].push(packet, l.tx.order, l.cfg.Queue) {
		return fmt.Errorf("%w: %v, limit %d packets", ErrFull, c, l.cfg.Queue)
	}
	l.tx.order++
	l.transmit(now, out)
	return nil
}

// transmit sends packets as far as the window and credits allow.
func (l *Link) transmit(now time.Duration, out *Output) {
	s := &l.tx
	for s.inFlight() < s.window {
		c, ok := l.pick()
		if !ok {
			break
		}
		q := &s.queues[c]
		it := &q.items[q.head]
		if !l.mayFly(len(it.packet) + Overhead) {
			return
		}
		slot := s.slot(s.next)
		slot.packet, it.packet = it.packet, slot.packet
		slot.sends, slot.arrived = 0, false
		q.pop(len(slot.packet))
		take(&l.fc.used[c], len(slot.packet))
		l.stats.PacketsSent++
		n := s.next
		s.next++
		s.path.send(&slot.mark, len(slot.packet)+Overhead, now)
		l.put(n, now, out)
	}
	if s.inFlight() < s.window {
		s.path.short = s.path.delivered + uint64(s.path.flying)
	}
}

// pick returns the class of the next packet to send, if one may be sent.
func (l *Link) pick() (class tlp.Class, ok bool) {
	s := &l.tx
	best := uint64(math.MaxUint64)
	posted := best
	if p := &s.queues[tlp.Posted]; p.n > 0 {
		posted = p.items[p.head].order
	}
	blocked := false
	for c := range s.queues {
		q := &s.queues[c]
		if q.n == 0 || q.items[q.head].order > posted {
			continue
		}
		it := q.items[q.head]
		if !l.fc.room(tlp.Class(c), len(it.packet)) {
			blocked = true
		} else if it.order < best {
			class, best, ok = tlp.Class(c), it.order, true
		}
	}
	if blocked && !s.stalled {
		l.stats.CreditStalls++
	}
	s.stalled = blocked
	return class, ok
}

// put sends the frame of a slot.
func (l *Link) put(n uint64, now time.Duration, out *Output) {
	slot := l.tx.slot(n)
	if slot.sends == 0 {
		slot.firstAt = now
	}
	slot.sends++
	slot.sentAt = now
	slot.stamp = l.tx.stamp
	l.tx.probe.sentAt = now
	slot.mark.ahead = l.tx.path.flying
	if slot.sends == 1 {
		slot.endAt = now + l.cfg.GiveUp + l.queued(slot)
	}
	l.tx.stamp++
	l.sendData(n, slot.packet, out)
}

// leastSends is how often an adaptive link sends a frame before it gives up.
const leastSends = 5

// replay sends a frame again or gives up. It does not give up before DeadAfter,
// because the peer may take that long to answer. An adaptive link gives up by time, if
// the peer is heard: whoever waits for the frame has a time-out.
func (l *Link) replay(n uint64, now time.Duration, out *Output) {
	slot := l.tx.slot(n)
	age := now - slot.firstAt
	late := l.cfg.Adapt && slot.sends >= leastSends && now >= slot.endAt && l.receivedAt-slot.firstAt > l.cfg.GiveUp/2
	if late || slot.sends > l.cfg.ReplayLimit && age >= l.cfg.DeadAfter {
		l.fail(fmt.Errorf("%w: the link damages or loses frames: sequence %d sent %d times in %v, %s",
			ErrReplay, n&maskSeq, slot.sends, age.Round(time.Millisecond), l.damage()), out)
		return
	}
	for range l.copies(slot) {
		l.stats.Replays++
		l.put(n, now, out)
	}
}

// copies returns how often a replay sends a frame. An adaptive link sends one twice that
// was lost twice, since each further loss costs a wait for the peer's next Nak.
func (l *Link) copies(slot *txSlot) int {
	if l.cfg.Adapt && slot.sends == 2 {
		return 2
	}
	return 1
}

// damage describes what the link did to frames so far.
func (l *Link) damage() string {
	s := &l.stats
	return fmt.Sprintf("%d of %d frames sent were replays, %d of %d received were damaged",
		s.Replays, s.FramesSent, s.BadCheck+s.BadFrames, s.BadCheck+s.BadFrames+s.FramesReceived)
}

// handleAck processes a cumulative acknowledgement: next is the first frame that
// has not arrived. It reports whether the acknowledgement is possible.
func (l *Link) handleAck(next uint16, now time.Duration) bool {
	s := &l.tx
	n := (uint64(next) - s.first) & maskSeq
	if n > uint64(s.inFlight()) {
		l.stats.BadAcks++
		return false
	}
	if n == 0 {
		return true
	}
	// Only frames sent once yield a round trip: the acknowledgement of a
	// replayed frame may answer any of its transmissions, and one that a Nak has reported
	// waited for another.
	for i := range n {
		s.path.acknowledge(&s.slot(s.first + i).mark)
	}
	if last := s.slot(s.first + n - 1); last.sends == 1 && !last.arrived {
		l.measure(last, now)
	}
	s.first += n
	return true
}

// handleNak replays the frames a Nak reports missing before the last frame it
// reports received. A frame sent after that one may still be in flight.
func (l *Link) handleNak(bitmap []byte, now time.Duration, out *Output) {
	s := &l.tx
	l.stats.NaksReceived++
	s.path.replayed(false, now)
	if s.all {
		l.replayAll(now, out)
		return
	}
	last := 0
	for i := 8*len(bitmap) - 1; i >= 0 && last == 0; i-- {
		if bitmap[i/8]>>(i%8)&1 != 0 {
			last = i + 1
		}
	}
	switch {
	case last >= s.inFlight() && last > 0:
		l.stats.BadAcks++
		return
	case last == 0:
		if s.inFlight() > 0 && now-s.slot(s.first).sentAt >= l.quickest(s.slot(s.first)) {
			l.replay(s.first, now, out)
		}
		return
	}
	l.reported(s.slot(s.first+uint64(last)), now)
	newest := s.slot(s.first + uint64(last)).stamp
	for i := 0; i <= last && l.state == Up; i++ {
		n := s.first + uint64(i)
		slot := s.slot(n)
		if i > 0 && bitmap[(i-1)/8]>>((i-1)%8)&1 != 0 {
			s.path.acknowledge(&slot.mark)
			slot.arrived = true
		} else if slot.stamp < newest || now-slot.sentAt >= l.trip()+l.queued(slot) {
			l.replay(n, now, out)
		}
	}
}

// reported measures the round trip of the last frame that a Nak reports received: the
// Nak was sent when that arrived, unless it repeats another one.
func (l *Link) reported(last *txSlot, now time.Duration) {
	if !last.arrived && last.sends == 1 {
		l.measure(last, now)
	}
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

// replayDue returns when the oldest frame in flight is replayed.
func (l *Link) replayDue() (time.Duration, bool) {
	if l.tx.inFlight() == 0 {
		return 0, false
	}
	slot := l.tx.slot(l.tx.first)
	due := slot.sentAt + l.timeout(slot)
	if l.cfg.Adapt && slot.sentAt < slot.endAt {
		due = min(due, slot.endAt)
	}
	return due, true
}

package datalink

import (
	"fmt"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A txSlot is a frame in flight. It holds its packets until the acknowledgement.
type txSlot struct {
	packets [][]byte
	size    int           // of the frame, in bytes
	firstAt time.Duration // first transmission
	sentAt  time.Duration // last transmission
	stamp   uint64        // order of the last transmission among all frames
	first   uint64        // order of the first one
	sends   int
	replays int  // calls of replay since the first transmission
	lost    int  // how often it was lost for sure
	arrived bool // received out of order, according to a Nak
	mark    mark
	endAt   time.Duration // when an adaptive link gives the frame up
}

// A sender is the transmitting half.
type sender struct {
	slots     []txSlot // by sequence number, modulo the window
	window    int
	maxPacket int
	most      int           // largest frame with several packets at present, in bytes
	safe      int           // largest such frame that the path has shown to carry
	all       bool          // the peer needs everything after a lost frame again
	least     time.Duration // shortest time to a replay
	first     uint64        // number of the oldest frame in flight
	headAt    time.Duration // since when it is the oldest
	movedAt   time.Duration // when a frame was reported to have arrived
	next      uint64        // number of the next packet
	stamp     uint64
	queues    [3]queue
	spares    spares
	order     uint64
	stalled   bool // credits keep a packet waiting
	blocked   bool // credits or the window did, when the link sent last

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

// A queue is a first-in-first-out of packets.
type queue struct {
	items []item
	head  int
	n     int
	bytes int // of the packets
}

func (q *queue) push(it item, limit int) {
	if q.items == nil {
		q.items = make([]item, limit)
	}
	q.items[(q.head+q.n)%limit] = it
	q.bytes += len(it.packet)
	q.n++
}

// first returns the size of the first packet, in bytes. The queue is not empty.
func (q *queue) first() int { return len(q.items[q.head].packet) }

func (q *queue) pop() (packet []byte) {
	packet, q.items[q.head].packet = q.items[q.head].packet, nil
	q.bytes -= len(packet)
	q.head = (q.head + 1) % len(q.items)
	q.n--
	return packet
}

// spares holds memory for packets. The memory that was freed last is used first, since it
// is still in a cache.
type spares [][]byte

func (s *spares) put(p []byte) { *s = append(*s, p[:0]) }

// get returns empty memory, nil if there is none to spare.
func (s *spares) get() []byte {
	n := len(*s) - 1
	if n < 0 {
		return nil
	}
	p := (*s)[n]
	*s = (*s)[:n]
	return p
}

func (s *sender) reset() {
	queues := s.queues
	for i := range queues {
		queues[i].head, queues[i].n, queues[i].bytes = 0, 0, 0
	}
	*s = sender{slots: s.slots, queues: queues, spares: s.spares}
}

func (s *sender) slot(n uint64) *txSlot { return &s.slots[n%uint64(len(s.slots))] }

func (s *sender) inFlight() int { return int(s.next - s.first) }

func (s *sender) waiting() int { return s.queues[0].n + s.queues[1].n + s.queues[2].n }

// Send queues a copy of a packet, 1 to MaxPacket() bytes. Posted packets stay
// in order, and no other packet passes one; a posted packet passes others that
// wait for credits (PCIe 3.0 §2.4.1). Send fails with ErrSize, with ErrFull if
// the queue of the packet's class is full, with ErrNotUp before the session is
// up, and with the cause if the link is down.
func (l *Link) Send(packet []byte, now time.Duration, out *Output) error {
	if err := l.accepts(packet); err != nil {
		return err
	}
	l.enqueue(append(l.tx.spares.get(), packet...), now, out)
	return nil
}

// Give is Send without a copy. The link takes the memory of the packet and returns other
// memory, empty or nil, for the next one. It only reads the packet, and does not use the
// memory again before the next Send or Give. If Give fails it returns the packet, which
// stays the caller's.
func (l *Link) Give(packet []byte, now time.Duration, out *Output) (spare []byte, err error) {
	if err := l.accepts(packet); err != nil {
		return packet, err
	}
	spare = l.tx.spares.get()
	l.enqueue(packet, now, out)
	return spare, nil
}

// Queue is Give without a frame: the packet waits for SendWaiting, or for a frame or a
// time that makes the link send.
func (l *Link) Queue(packet []byte) (spare []byte, err error) {
	if err := l.accepts(packet); err != nil {
		return packet, err
	}
	spare = l.tx.spares.get()
	l.wait(packet)
	return spare, nil
}

// SendWaiting sends the packets that wait, as far as the window and credits allow.
func (l *Link) SendWaiting(now time.Duration, out *Output) {
	if l.state == Up {
		l.transmit(now, out)
	}
}

// accepts returns why a packet cannot be queued, or nil.
func (l *Link) accepts(packet []byte) error {
	switch {
	case l.state == Down:
		return l.cause
	case l.state == Opening:
		return fmt.Errorf("%w: the session is opening", ErrNotUp)
	case len(packet) < 1 || len(packet) > l.tx.maxPacket:
		return fmt.Errorf("%w: %d bytes, want 1 to %d", ErrSize, len(packet), l.tx.maxPacket)
	case l.tx.queues[classOf(packet)].n == l.cfg.Queue:
		return ErrFull
	}
	return nil
}

// enqueue queues a packet that the link accepts, and sends what may be sent.
func (l *Link) enqueue(packet []byte, now time.Duration, out *Output) {
	l.wait(packet)
	l.transmit(now, out)
}

func (l *Link) wait(packet []byte) {
	l.tx.queues[classOf(packet)].push(item{packet, l.tx.order}, l.cfg.Queue)
	l.tx.order++
}

// transmit sends packets as far as the window and credits allow.
func (l *Link) transmit(now time.Duration, out *Output) {
	l.setMost()
	l.sendFrames(now, out)
	l.tx.blocked = l.tx.waiting() > 0
}

func (l *Link) sendFrames(now time.Duration, out *Output) {
	s := &l.tx
	for s.inFlight() < s.window {
		c, ok := l.pick()
		if !ok {
			break
		}
		if !l.mayFly(l.frameSize(c)) {
			return
		}
		n := s.next
		slot := s.slot(n)
		slot.sends, slot.replays, slot.lost, slot.arrived = 0, 0, 0, false
		slot.size = l.load(slot, c)
		s.next++
		s.path.send(&slot.mark, slot.size, now)
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
		l.tell(Incident{Kind: CreditsMissing})
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
		slot.first = slot.stamp
	}
	l.tx.stamp++
	l.sendData(n, slot.packets, out)
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
		slot := s.slot(s.first + i)
		if slot.sends == 1 {
			s.arrivedAtOnce(slot.size)
		}
		s.path.acknowledge(&slot.mark)
		for _, p := range slot.packets {
			s.spares.put(p)
		}
	}
	last := s.slot(s.first + n - 1)
	s.probe.heard(last.first)
	if last.sends == 1 && !last.arrived {
		l.measure(last, now)
	}
	s.first += n
	s.headAt, s.movedAt = now, now
	return true
}

// handleNak replays the frames a Nak reports missing before the last frame it
// reports received. A frame sent after that one may still be in flight.
func (l *Link) handleNak(bitmap []byte, now time.Duration, out *Output) {
	s := &l.tx
	l.stats.NaksReceived++
	l.tell(Incident{Kind: NakReceived})
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
	newest := s.slot(s.first + uint64(last)).first // its first transmission may be the one that arrived
	s.probe.heard(newest)
	for i := 0; i <= last && l.state == Up; i++ {
		n := s.first + uint64(i)
		slot := s.slot(n)
		if i > 0 && bitmap[(i-1)/8]>>((i-1)%8)&1 != 0 {
			if !slot.arrived {
				s.path.acknowledge(&slot.mark)
				slot.arrived, s.movedAt = true, now
			}
		} else if slot.stamp < newest {
			slot.lost++
			l.replay(n, now, out)
		} else if l.overdue(slot, now) {
			l.replay(n, now, out)
		}
	}
}

// reported measures the round trip of the last frame that a Nak reports received: the
// Nak was sent when that arrived, unless it repeats one that was lost. So it counts only
// if it is no longer than usual.
func (l *Link) reported(last *txSlot, now time.Duration) {
	s := &l.tx
	if last.arrived || last.sends > 1 {
		return
	}
	if trip := now - last.sentAt; !s.measured || trip <= s.rtt+4*s.spread+s.path.took(last.mark.ahead) {
		l.measure(last, now)
	}
}

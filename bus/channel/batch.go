package channel

import "github.com/hilgpu/hilgpu/bus/datalink"

// A batch is a list of byte strings in one buffer.
type batch struct {
	buf  []byte
	ends []int
}

func (b *batch) add(p []byte) {
	b.buf = append(b.buf, p...)
	b.ends = append(b.ends, len(b.buf))
}

func (b *batch) reset() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

// each calls f with each string, in order.
func (b *batch) each(f func(p []byte)) {
	start := 0
	for _, end := range b.ends {
		f(b.buf[start:end])
		start = end
	}
}

// maxInbox bounds the packets that wait for Receive. Credits bound all but
// completions, which the outstanding requests bound.
const maxInbox = 4096

// An entry is a packet and the session in which it arrived.
type entry struct {
	packet  []byte
	session uint64
}

// An inbox holds the packets that wait for Receive, first in, first out, and
// the packet it returned last. It reuses their memory.
type inbox struct {
	ring  []entry
	head  int
	n     int
	given entry
	out   bool
}

// push takes packet i of a list and reports whether there was room.
func (q *inbox) push(from *datalink.Packets, i int, session uint64) bool {
	if q.n == maxInbox {
		return false
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	p := &q.ring[(q.head+q.n)%len(q.ring)]
	p.packet, p.session = from.Take(i, p.packet), session
	q.n++
	return true
}

func (q *inbox) grow() {
	ring := make([]entry, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)%len(q.ring)]
	}
	q.ring, q.head = ring, 0
}

// pop returns the first packet, valid until the next pop.
func (q *inbox) pop() []byte {
	p := &q.ring[q.head]
	q.given, *p = *p, q.given
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	q.out = true
	return q.given.packet
}

// taken returns the packet that pop returned last. A second call returns nil.
func (q *inbox) taken() ([]byte, uint64) {
	if !q.out {
		return nil, 0
	}
	q.out = false
	return q.given.packet, q.given.session
}

// drop discards the waiting packets.
func (q *inbox) drop() { q.head, q.n = 0, 0 }

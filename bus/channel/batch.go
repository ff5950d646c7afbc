package channel

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

// each calls f with every string, in order.
func (b *batch) each(f func(p []byte)) {
	start := 0
	for _, end := range b.ends {
		f(b.buf[start:end])
		start = end
	}
}

// maxInbox is the number of packets that wait for Receive at most. Credits
// bound all but completions, and those the requests they answer.
const maxInbox = 4096

// A parcel is a packet and the session in which it came.
type parcel struct {
	packet  []byte
	session uint64
}

// An inbox holds the packets that wait for Receive, first in, first out, and
// the one it returned last. It keeps their memory.
type inbox struct {
	ring  []parcel
	head  int
	n     int
	given parcel
	out   bool
}

// push adds a copy of a packet, and reports whether there was a place.
func (q *inbox) push(packet []byte, session uint64) bool {
	if q.n == maxInbox {
		return false
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	p := &q.ring[(q.head+q.n)%len(q.ring)]
	p.packet, p.session = append(p.packet[:0], packet...), session
	q.n++
	return true
}

func (q *inbox) grow() {
	ring := make([]parcel, max(16, 2*len(q.ring)))
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

// taken returns the packet that pop returned last, once.
func (q *inbox) taken() ([]byte, uint64) {
	if !q.out {
		return nil, 0
	}
	q.out = false
	return q.given.packet, q.given.session
}

// drop forgets the packets that wait.
func (q *inbox) drop() { q.head, q.n = 0, 0 }

package endpoint

import "github.com/hilgpu/hilgpu/bus/tlp"

// Number of packets that may wait for Next: writes and completions, and reads.
// Reads have one place per tag, so that a read never blocks the port.
const (
	outPackets = 64
	outReads   = 256
)

// An outgoing is an encoded packet; at is its position in the order.
type outgoing struct {
	at     uint64
	packet []byte
}

// output holds the packets that wait for Next. Reads are separate so that the
// others can pass them; everything else stays in order.
type output struct {
	hold bool

	others ring[outgoing]
	reads  ring[outgoing]
	made   uint64
	given  *ring[outgoing] // the ring whose front Next returned last
}

func newOutput(maxPayload int) output {
	o := output{others: newRing[outgoing](outPackets), reads: newRing[outgoing](outReads)}
	for i := range o.others.buf {
		o.others.buf[i].packet = make([]byte, 0, 16+maxPayload)
	}
	return o
}

// room returns the number of writes and completions that can be pushed.
func (o *output) room() int { return outPackets - o.others.n }

// push encodes p. The caller has checked that there is room.
func (o *output) push(p *tlp.Packet) {
	r := &o.others
	if p.Kind.Class() == tlp.NonPosted {
		r = &o.reads
	}
	slot := r.push()
	b, err := p.Append(slot.packet[:0])
	if err != nil {
		panic("endpoint: " + err.Error()) // only valid packets are made
	}
	slot.packet = b
	slot.at = o.made
	o.made++
}

func (o *output) next() ([]byte, bool) {
	if o.given != nil {
		o.given.pop()
		o.given = nil
	}
	r := &o.others
	if !o.hold && !o.reads.empty() && (r.empty() || o.reads.front().at < r.front().at) {
		r = &o.reads
	}
	if r.empty() {
		return nil, false
	}
	o.given = r
	return r.front().packet, true
}

func (o *output) holdReads(hold bool) {
	o.hold = hold
	if hold && o.given == &o.reads {
		o.given = nil
	}
}

func (o *output) reset() {
	o.others.clear()
	o.reads.clear()
	o.given = nil
	o.hold = false
}

package endpoint

import "github.com/hilgpu/hilgpu/bus/tlp"

// How many packets wait for Next: writes and completions, and reads, as many as
// there are tags, so that the port is never blocked by one.
const (
	outPackets = 64
	outReads   = 256
)

// An outgoing is an encoded packet; at is its place in the order.
type outgoing struct {
	at     uint64
	packet []byte
}

// output is what waits for Next. Reads are apart, so that the others can pass
// them; nothing else is out of order.
type output struct {
	hold bool

	others ring[outgoing]
	reads  ring[outgoing]
	made   uint64
	given  *ring[outgoing] // whose front Next returned last
}

func newOutput(maxPayload int) output {
	o := output{others: newRing[outgoing](outPackets), reads: newRing[outgoing](outReads)}
	for i := range o.others.buf {
		o.others.buf[i].packet = make([]byte, 0, 16+maxPayload)
	}
	return o
}

// room returns how many writes and completions can be pushed.
func (o *output) room() int { return outPackets - o.others.n }

// push encodes p, for which there is room.
func (o *output) push(p *tlp.Packet) {
	r := &o.others
	if p.Kind.Class() == tlp.NonPosted {
		r = &o.reads
	}
	slot := r.push()
	b, err := p.Append(slot.packet[:0])
	if err != nil {
		panic("endpoint: " + err.Error()) // only packets that obey the rules are made
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

package why

import (
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A ringPacket is a packet that the driver put in the ring of a node for a submission.
type ringPacket struct {
	address  uint64
	data     []byte
	executed Point
}

// String returns the packet and its place.
func (p *ringPacket) String() string {
	text := "a packet"
	if lines := pkt.Disassemble(p.data, p.address); len(lines) > 0 {
		_, text, _ = strings.Cut(strings.TrimSpace(lines[0]), " ")
	}
	return strings.TrimSpace(text) + " at " + pkt.FormatAddr(p.address)
}

// ringEnded notes that a packet at an address of the ring has ended, and reports whether it is one of the submission.
func (s *submission) ringEnded(addr uint64, at Point) bool {
	for i := range s.ring {
		if p := &s.ring[i]; p.address == addr && !p.executed.In() {
			p.executed = at
			return true
		}
	}
	return false
}

// inRing returns the packet of the ring that a submission is at, if it is not one that each submission has: its INDIRECT and
// its fence.
func (s *submission) inRing() *ringPacket {
	for i := range s.ring {
		p := &s.ring[i]
		if p.executed.In() {
			continue
		}
		if p.usual() {
			return nil
		}
		return p
	}
	return nil
}

// usual reports whether each submission has such a packet. Without an opcode a packet is none.
func (p *ringPacket) usual() bool {
	if len(p.data) < 4 {
		return true
	}
	op := p.data[3]
	return op == pkt.OpIndirect || op == pkt.OpFence || op == pkt.OpSignal
}

// atRptr is inRing for a log without the packets of the nodes: the packet at which RPTR was when it was last read.
func (r *Run) atRptr(s *submission) *ringPacket {
	var v [3]uint64
	for i, off := range []uint64{cpreg.RingLo, cpreg.RingHi, cpreg.Rptr} {
		var ok bool
		if v[i], ok = r.register(s, s.node, off); !ok {
			return nil
		}
	}
	for i := range s.ring {
		if p := &s.ring[i]; p.address == v[1]<<32+v[0]+4*v[2] && !p.usual() {
			return p
		}
	}
	return nil
}

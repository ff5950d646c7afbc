package report

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// maxRing is the number of packets of a ring that the page has, the last ones.
const maxRing = 32

// A ringPacket is one that the host has put into the ring of a node.
type ringPacket struct {
	address uint64
	data    []byte
	given   uint64 // time of the doorbell
	ended   uint64 // time at which its fence, or a later one of the ring, was written
	known   bool   // ended is known
	taken   bool   // the node was stopped, reset or given other packets there before the end is known
}

// fence returns the place in host memory and the value of a FENCE. It reports false for another packet.
func (p *ringPacket) fence() (addr uint64, id uint32, ok bool) {
	if len(p.data) < 16 || p.data[3] != pkt.OpFence {
		return 0, 0, false
	}
	addr = binary.LittleEndian.Uint64(p.data[4:])
	return addr &^ pkt.Host, binary.LittleEndian.Uint32(p.data[12:]), addr&pkt.Host != 0
}

// host follows what the host knows of the rings: the packets that it puts there, and the fences that it receives.
func (w *work) host(e *eventlog.Event) {
	if e.Kind == eventlog.RingPacket {
		n := w.node(e.Fields[0])
		n.rewind(e.Fields[1])
		n.ring = append(n.ring, ringPacket{address: e.Fields[1], data: slices.Clone(e.Data), given: e.Time})
		if len(n.ring) > maxRing {
			n.ring = n.ring[1:]
			n.RingMore++
		}
		return
	}
	for _, n := range w.nodes {
		n.fenced(e.Fields[0], uint32(e.Fields[2]), e.Time)
	}
}

// fenced notes that a fence is written. A node executes its ring in order, so the packets before it have ended too.
func (n *Node) fenced(addr uint64, value uint32, time uint64) {
	for i := range slices.Backward(n.ring) {
		at, id, ok := n.ring[i].fence()
		if !ok || at != addr || id != value || n.ring[i].known {
			continue
		}
		n.ring[i].ended, n.ring[i].known = time, true
		for i--; i >= 0 && !n.ring[i].known && !n.ring[i].taken; i-- {
			n.ring[i].ended, n.ring[i].known = time, true
		}
		return
	}
}

// stopped follows a preemption, a reset of a node or a stop of the adapter: the node does not go on with its packets.
func (w *work) stopped(e *eventlog.Event) {
	for _, n := range w.nodes {
		at := n.Number
		switch e.Kind {
		case eventlog.Preempted:
			i := slices.IndexFunc(w.submissions, func(s *Submission) bool { return s.Number == e.Fields[0] })
			if i < 0 {
				return
			}
			at = w.submissions[i].Node
		case eventlog.Reset:
			at = e.Fields[1]
		}
		if n.Number == at {
			n.take(0)
		}
	}
}

// take notes that the packets from one on, whose end is not known, are taken back.
func (n *Node) take(from int) {
	for i := from; i < len(n.ring); i++ {
		n.ring[i].taken = n.ring[i].taken || !n.ring[i].known
	}
}

// minRing is the size of the smallest ring, in bytes.
const minRing = 1 << 8

// rewind notes that the host puts a packet at an address. If it does not follow the newest packet, also not at the
// beginning of the ring, it takes back those from there on.
func (n *Node) rewind(address uint64) {
	if len(n.ring) == 0 {
		return
	}
	last := &n.ring[len(n.ring)-1]
	over := last.address + uint64(len(last.data)) - address // after a wrap the size of the ring
	if over == 0 || over > last.address || over >= minRing && over&(over-1) == 0 {
		return
	}
	from := len(n.ring)
	for i := range slices.Backward(n.ring) {
		if n.ring[i].address == address {
			n.take(i)
			return
		}
		if i == from-1 && n.ring[i].address > address {
			from = i // not across a wrap
		}
	}
	n.take(from)
}

// lines returns the packets of the ring, the newest first, with what the host knows of each.
func (n *Node) lines(of *run) (all []string) {
	for _, p := range slices.Backward(n.ring) {
		text, _, _ := strings.Cut(strings.Join(pkt.Disassemble(p.data, p.address), "\n"), "\n")
		text += ", given at clock " + of.time(p.given)
		switch {
		case p.known:
			text += ", ended by clock " + of.time(p.ended)
		case p.taken:
			text += ", taken back"
		default:
			text += ", unknown whether it was executed"
		}
		all = append(all, text)
	}
	return all
}

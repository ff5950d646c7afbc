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
		for ; i >= 0 && !n.ring[i].known; i-- {
			n.ring[i].ended, n.ring[i].known = time, true
		}
		return
	}
}

// lines returns the packets of the ring, the newest first, with what the host knows of each.
func (n *Node) lines(of *run) (all []string) {
	for _, p := range slices.Backward(n.ring) {
		text, _, _ := strings.Cut(strings.Join(pkt.Disassemble(p.data, p.address), "\n"), "\n")
		text += ", given " + of.time(p.given)
		if p.known {
			text += ", ended by " + of.time(p.ended)
		} else {
			text += ", unknown whether it was executed"
		}
		all = append(all, text)
	}
	return all
}

package gpu_test

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// windows returns packets that set windows on the node's memory, sometimes read-only, and
// on its time stamps.
func (g *rig) windows(n *rigNode) []byte {
	if !n.Caps.Has(caps.Protection) {
		return nil
	}
	b := windowBytes(nil, 4*min(1, g.rng.Uint32N(4)), n.own)
	b = windowBytes(b, 1+4*min(1, g.rng.Uint32N(4)), n.hostOwn)
	i := g.rng.Uint32N(2)
	if n.Caps.Has(caps.GART) {
		b = windowBytes(b, 3-i+4*min(1, g.rng.Uint32N(4)), g.mapped(n))
	}
	return windowBytes(b, 6+i, n.stamps)
}

func windowBytes(b []byte, index uint32, s refmodel.Range) []byte {
	return put64(put64(put(b, pkt.OpSetWindow<<24|5, index), s.At), s.N)
}

// windowAnywhere returns a SET_WINDOW of a part of the node's memory, or of other memory.
func (g *rig) windowAnywhere(n *rigNode, b []byte) []byte {
	s := span(g.addr(n, 1), g.rng.Uint64N(0x20000))
	if g.rng.IntN(20) == 0 {
		s.N = g.rng.Uint64() >> g.rng.IntN(64)
	}
	return windowBytes(b, g.rng.Uint32N(8), s)
}

func put(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

func put64(b []byte, v uint64) []byte { return le.AppendUint64(b, v) }

// addr returns an address that a packet may access: usually in the node's memory.
func (g *rig) addr(n *rigNode, align uint64) uint64 {
	s := n.own
	switch g.rng.IntN(120) {
	case 0:
		return g.rng.Uint64() >> g.rng.IntN(64)
	case 1:
		return host | 1<<n.HostBits + g.rng.Uint64N(600) - 300
	case 2, 3:
		return at(memSize - g.rng.Uint64N(300))
	case 4:
		return uint64(len(g.model.Mem.VRAM)) - g.rng.Uint64N(300)
	}
	if g.rng.IntN(2) == 0 {
		s = n.hostOwn
	}
	if n.Caps.Has(caps.GART) && g.rng.IntN(3) == 0 {
		s = g.mapped(n)
		if g.rng.IntN(2) == 0 { // near the end of a page
			return s.At + gartreg.PageBytes*(1+g.rng.Uint64N(mappedPages-1)) - g.rng.Uint64N(300)
		}
	}
	a := s.At + g.rng.Uint64N(s.N-600)
	if g.rng.IntN(60) == 0 {
		return a
	}
	return a - a%align
}

func (g *rig) pair(n int) uint32 {
	if g.rng.IntN(200) == 0 {
		return g.rng.Uint32() >> g.rng.IntN(32)
	}
	return uint32(g.rng.IntN(n)) | uint32(g.rng.IntN(n))<<16
}

// packetBytes returns one packet, usually a legal one.
func (g *rig) packetBytes(n *rigNode, b []byte, inIB bool) []byte {
	r := g.rng
	size := r.Uint32N(200)
	if r.IntN(20) == 0 {
		size = r.Uint32N(5000)
	}
	if !n.Surfaces[pkt.Dest].Set && r.IntN(4) != 0 {
		b = g.stateBytes(n, b)
	}
	start := len(b)
	switch r.IntN(23) {
	case 0:
		skip := r.Uint32N(8)
		b = put(b, pkt.OpNOP<<24|skip)
		for range skip {
			b = put(b, r.Uint32())
		}
	case 1, 2, 3:
		b = put(b, pkt.OpCopy<<24|5)
		b = put(put64(put64(b, g.addr(n, 1)), g.addr(n, 1)), size)
	case 4, 5:
		b = put64(put(put64(put(b, pkt.OpFill<<24|5), g.addr(n, 1)), size), r.Uint64())
	case 6, 7:
		b = g.stateBytes(n, b)
	case 8, 9, 10, 11:
		b = put(b, pkt.OpCopy2D<<24|3, g.pair(16), g.pair(16), g.pair(24))
	case 12:
		b = put64(put(b, pkt.OpFill2D<<24|4, g.pair(16), g.pair(24)), r.Uint64())
	case 13:
		b = put(b, pkt.OpWriteReg<<24|2, 0x20+8*uint32(n.ID)+4*r.Uint32N(2), r.Uint32())
	case 14:
		b = put64(put(b, pkt.OpTimestamp<<24|2), n.stamps.At+8*r.Uint64N(32))
	case 15, 16:
		b = g.predicated(n, b, inIB)
	case 17, 18:
		if !inIB {
			b = g.indirectBytes(n, b)
		}
	case 19:
		if !inIB && (n.Caps.Has(caps.Protection) || r.IntN(20) == 0) {
			b = g.windowAnywhere(n, b)
			if r.IntN(2) == 0 {
				b = append(b, g.windows(n)...)
			}
		}
	case 21:
		if !inIB && !g.preempts && (n.Caps.Has(caps.Contexts) || r.IntN(20) == 0) {
			b = g.contextBytes(n, b)
		}
	case 20:
		if !inIB && (n.Caps.Has(caps.Timeline) || r.IntN(20) == 0) {
			b = g.waitBytes(n, b)
		}
	default:
		if !inIB {
			b = put(put64(put(b, pkt.OpFence<<24|4), g.addr(n, 8)), uint32(n.Fence)+r.Uint32N(3), r.Uint32N(2))
		}
	}
	if len(b) > start && r.IntN(120) == 0 { // flip one bit
		b[start+r.IntN(len(b)-start)] ^= 1 << r.IntN(8)
	}
	return b
}

// waitBytes returns a wait for a value that the node has reached, or that the other node
// will reach with its work of the last round.
func (g *rig) waitBytes(n *rigNode, b []byte) []byte {
	of := n.Node
	if g.rng.IntN(2) == 0 && len(g.nodes) == 2 {
		of = g.nodes[1-n.ID].Node
	}
	id := uint32(of.ID)
	if len(g.nodes) == 1 && g.rng.IntN(20) == 0 {
		id ^= 1
	}
	return put64(put(b, pkt.OpWaitFence<<24|3, id), of.Fence-min(of.Fence, g.rng.Uint64N(3)))
}

// contextBytes saves the state and restores a saved or a changed state.
func (g *rig) contextBytes(n *rigNode, b []byte) []byte {
	addr := g.addr(n, 128)
	if g.rng.IntN(3) != 0 {
		b = put64(put(b, pkt.OpSaveState<<24|2), addr)
	}
	if g.rng.IntN(3) == 0 {
		b = put64(put(b, pkt.OpFill<<24|5), addr+8*g.rng.Uint64N(16))
		b = put64(put(b, 8), g.rng.Uint64()>>g.rng.IntN(64))
	}
	if g.rng.IntN(2) == 0 {
		b = put64(put(b, pkt.OpRestoreState<<24|2), addr)
	}
	return b
}

// predicated returns a packet after a PREDICATE that may skip it.
func (g *rig) predicated(n *rigNode, b []byte, inIB bool) []byte {
	at := len(b)
	b = put(put64(put(b, pkt.OpPredicate<<24|3), g.addr(n, 8)), 0)
	from := len(b)
	if g.rng.IntN(4) != 0 {
		b = g.packetBytes(n, b, inIB)
	}
	binary.LittleEndian.PutUint32(b[at+12:], uint32(len(b)-from)/4|g.rng.Uint32N(2)<<16)
	return b
}

// stateBytes sets both surfaces.
func (g *rig) stateBytes(n *rigNode, b []byte) []byte {
	format := uint32(g.rng.IntN(9) / 2)
	for s := range uint32(2) {
		b = put64(put(b, pkt.OpSetState<<24|7, s), g.addr(n, 1))
		b = put(b, g.rng.Uint32N(300), format, g.pair(20), g.pair(40))
	}
	return b
}

// indirectBytes returns an INDIRECT of a part of the node's buffers.
func (g *rig) indirectBytes(n *rigNode, b []byte) []byte {
	s := n.readable[g.rng.IntN(2)]
	if g.rng.IntN(10) == 0 {
		s = n.readable[2] // ends where memory ends
	}
	off, dwords := uint64(0), uint32(bufferSize/4)
	if g.rng.IntN(10) == 0 {
		off, dwords = 4*g.rng.Uint64N(8), g.rng.Uint32N(60)
	}
	if n.Caps.Has(caps.Preemption) && !g.preempts && g.rng.IntN(3) == 0 {
		dwords |= 1 << 20
	}
	return put(put64(put(b, pkt.OpIndirect<<24|3), s.At+off), dwords)
}

// buffers fills the node's indirect buffers, usually from a random dword.
func (g *rig) buffers(n *rigNode) {
	for _, s := range n.readable[:2] {
		b := make([]byte, 0, bufferSize)
		for len(b) < bufferSize-64 {
			b = g.packetBytes(n, b, g.rng.IntN(60) != 0)
		}
		b = put(b, pkt.OpNOP<<24|uint32(bufferSize-4-len(b))/4)
		g.store(s.At, b[:bufferSize])
	}
}

// batch returns packets with a defined outcome that fit into the ring.
func (g *rig) batch(n *rigNode) []byte {
	room := 4 * int((n.Ring.Rptr-n.Ring.Wptr-1)%n.Ring.Dwords)
	for range 40 {
		var b []byte
		for range 1 + g.rng.IntN(12) {
			if more := g.packetBytes(n, b, false); len(more) <= room {
				b = more
			}
		}
		try := g.model.Clone()
		ring := &try.Nodes[n.ID].Ring
		for i := 0; i < len(b); i += 4 {
			try.Mem.Store(ring.Base+4*uint64(ring.Wptr), b[i:i+4])
			ring.Wptr = (ring.Wptr + 1) % ring.Dwords
		}
		if n.run(try.Nodes[n.ID]) {
			return b
		}
	}
	return nil
}

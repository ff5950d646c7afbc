package refmodel

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Flags in packet dwords.
const (
	resume  = 1 << 20 // INDIRECT, dword 3
	nonZero = 1 << 16 // PREDICATE, dword 3
)

// ScratchOff is the offset in BAR0 of the first of the four registers that WRITE_REG
// may write.
const ScratchOff = idreg.Base + idreg.Scratch0

// notHeld is the reason for an undefined read: the model may hold only a part of VRAM.
const notHeld = "the model does not hold the VRAM that the packet reads"

func (n *Node) judgeNothing([]uint32, Site) Verdict { return Verdict{} }

// judgeCopy implements docs/packets.md, COPY.
func (n *Node) judgeCopy(p []uint32, at Site) Verdict {
	return n.linear(Move{Src: long(p, 1), Dst: long(p, 3), N: uint64(p[5])}, at)
}

// judgeFill implements docs/packets.md, FILL.
func (n *Node) judgeFill(p []uint32, at Site) Verdict {
	return n.linear(Move{Fill: true, Dst: long(p, 1), N: uint64(p[3]), Value: long(p, 4)}, at)
}

// linear checks one contiguous move and omits the pieces that are already done.
func (n *Node) linear(m Move, at Site) Verdict {
	done := uint64(at.Done) * pieceBytes
	switch {
	case m.N >= 1<<n.LengthBits:
		return refuse(cpreg.CauseLength, "Bytes")
	case m.N <= done:
		return Verdict{}
	}
	if !m.Fill {
		if v, ok := n.data("Src", at.Place, m.Src, m.N, false); !ok {
			return v
		}
	}
	if v, ok := n.data("Dst", at.Place, m.Dst, m.N, true); !ok {
		return v
	}
	v := Verdict{Moves: []Move{{m.Src + done, m.Dst + done, m.N - done, m.Fill, m.Value, false, false}}}
	v = n.translate(v, operand{"Src", m.Src}, operand{"Dst", m.Dst})
	if m.Fill {
		return v
	}
	if m.Src < m.Dst+m.N && m.Dst < m.Src+m.N || n.aliases(v.Moves) {
		v.Undefined = "the ranges overlap"
	}
	return n.read(v, "Src", m.Src)
}

// read refuses copies whose source cannot be read completely. The first move that
// fails and those after it may be partly done.
func (n *Node) read(v Verdict, operand string, bad uint64) Verdict {
	failed := false
	for i := range v.Moves {
		m := &v.Moves[i]
		b, ok := n.readable(m.Src, m.N)
		if failed = failed || !ok; !failed && b == nil && v.Undefined == "" {
			v.Undefined = notHeld
		}
		m.Unread = failed
	}
	if failed {
		v.Cause, v.Operand, v.Bad, v.Known = cpreg.CauseReadError, operand, bad, true
	}
	return v
}

// judgeIndirect implements docs/packets.md, INDIRECT. It checks only the first dword
// of the buffer; the rest is checked when it is executed.
func (n *Node) judgeIndirect(p []uint32, _ Site) Verdict {
	addr, dwords := long(p, 1), uint64(p[3]&pkt.MaxIndirect)
	if dwords == 0 {
		return Verdict{}
	}
	if v, ok := n.checkRange("Addr", addr, addr, 4*dwords, false); !ok {
		return v
	}
	if _, ok := n.readable(addr, 4); !ok {
		return refuseAt(cpreg.CauseReadError, "Addr", addr)
	}
	return Verdict{}
}

// judgeWriteReg implements docs/packets.md, WRITE_REG.
func (n *Node) judgeWriteReg(p []uint32, _ Site) Verdict {
	if off := p[1]; off < ScratchOff || off >= ScratchOff+16 {
		return refuseAt(cpreg.CauseRegister, "Off", uint64(off))
	}
	return Verdict{}
}

// judgeTimestamp implements docs/packets.md, TIMESTAMP.
func (n *Node) judgeTimestamp(p []uint32, at Site) Verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at.Place, addr, 8, true); !ok {
		return v
	}
	return Verdict{Moves: []Move{{Dst: addr, N: 8, Stamp: true}}}
}

// judgePredicate implements docs/packets.md, PREDICATE.
func (n *Node) judgePredicate(p []uint32, at Site) Verdict {
	addr, dwords := long(p, 1), p[3]&0xffff
	if at.Place != InRing && dwords > at.Left {
		return refuse(cpreg.CauseLength, "Dwords")
	}
	if v, ok := n.access("Addr", at.Place, addr, 8, false); !ok {
		return v
	}
	b, ok := n.readable(addr, 8)
	v := Verdict{Reads: []Range{{addr, 8}}}
	switch {
	case !ok:
		v.Cause, v.Operand, v.Bad, v.Known = cpreg.CauseReadError, "Addr", addr, true
	case b == nil:
		v.Undefined = notHeld
	case (binary.LittleEndian.Uint64(b) != 0) == (p[3]&nonZero != 0):
		v.Skips = true
	}
	return v
}

// judgeSignal implements docs/packets.md, SIGNAL.
func (n *Node) judgeSignal(p []uint32, at Site) Verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at.Place, addr, 8, true); !ok {
		return v
	}
	return Verdict{Moves: []Move{{Fill: true, Dst: addr, N: 8, Value: long(p, 3)}}}
}

// judgeFence implements docs/packets.md, FENCE.
func (n *Node) judgeFence(p []uint32, at Site) Verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at.Place, addr, 8, true); !ok {
		return v
	}
	if p[3]-uint32(n.Fence) >= 1<<31 {
		return refuseAt(cpreg.CauseFence, "ID", uint64(p[3]))
	}
	return Verdict{Moves: []Move{{Fill: true, Dst: addr, N: 8, Value: n.next(p[3])}}}
}

// judgeSetWindow implements docs/packets.md, SET_WINDOW.
func (n *Node) judgeSetWindow(p []uint32, _ Site) Verdict {
	base, size := long(p, 2), long(p, 4)
	if size != 0 {
		if v, ok := n.checkRange("Base", base, base, size, true); !ok {
			return v
		}
	}
	return Verdict{}
}

// judgeWaitFence implements docs/packets.md, WAIT_FENCE.
func (n *Node) judgeWaitFence(p []uint32, _ Site) Verdict {
	of := n.timeline(p[1])
	if of == nil {
		return refuseAt(cpreg.CauseState, "Node", uint64(p[1]))
	}
	return Verdict{Waits: of.Fence < long(p, 2)}
}

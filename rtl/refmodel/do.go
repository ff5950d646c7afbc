package refmodel

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Do applies the effects of a packet that Judge has judged. A refused packet may have
// effects too: the rows of a copy whose reads were answered, and the words of a
// state that are in range. Do does not execute the buffer of an INDIRECT, skip, or
// wait; Run does.
func (n *Node) Do(p []uint32, v Verdict) {
	for _, m := range v.Moves {
		n.move(m)
	}
	if v.State != nil {
		n.load(v.State)
	}
	if v.Cause == cpreg.CauseNone {
		n.effect(p, v)
	}
}

// Part applies the effects of a COPY, FILL, COPY_2D or FILL_2D that was preempted
// with the given PROGRESS. The packet does not retire.
func (n *Node) Part(v Verdict, op uint8, progress uint32) {
	n.Progress = progress
	rows, bytes := v.Extent(op).Done(progress)
	for i, m := range v.Moves {
		switch row := uint64(i); {
		case row == rows:
			m.N = min(m.N, bytes)
			n.move(m)
		case row < rows:
			n.move(m)
		}
	}
}

func (n *Node) move(m Move) {
	for _, p := range n.parts(m) {
		n.moveTo(p)
	}
}

// moveTo applies a move that is not in the aperture.
func (n *Node) moveTo(m Move) {
	switch {
	case m.Stamp:
		n.Stamps = append(n.Stamps, m.Dst)
	case m.Fill:
		n.Mem.Fill(m.Dst, m.N, m.Value)
	case m.Unread:
		n.noteUnread(m)
	default:
		b, _ := n.readable(m.Src, m.N)
		n.Mem.Store(m.Dst, b)
	}
}

// partlyRead reports whether a read failed after some of its bytes were answered.
func (n *Node) partlyRead(m Move) bool {
	return m.Unread && slices.ContainsFunc(n.parts(m), func(p Move) bool { return !n.unreadable(p.Src, p.N) })
}

// noteUnread records the bytes that a copy with a failed read may have written.
func (n *Node) noteUnread(m Move) {
	if !n.partlyRead(m) {
		return
	}
	for i, p := range n.Mem.each(m.Src, m.N) {
		if n.Mem.Bytes(m.Dst+i, 1) != nil {
			n.Unclear[m.Dst+i] = *p
		}
	}
}

// effect applies a packet's effects on the node and on registers.
func (n *Node) effect(p []uint32, v Verdict) {
	switch uint8(p[0] >> 24) {
	case pkt.OpCopy, pkt.OpCopy2D, pkt.OpFill, pkt.OpFill2D, pkt.OpSaveState:
		n.Moved += v.Bytes()
	case pkt.OpSetState:
		n.Surfaces[p[1]&1] = Surface{
			true, long(p, 2), uint64(p[4]), p[5],
			int64(p[6] & 0xffff), int64(p[6] >> 16), int64(p[7] & 0xffff), int64(p[7] >> 16),
		}
	case pkt.OpWriteReg:
		n.Scratch[(p[1]-ScratchOff)/4] = p[2]
	case pkt.OpSignal:
		n.Done += int(p[5] & 1)
	case pkt.OpFence:
		n.Fence = n.next(p[3])
		n.Done += int(p[4] & 1)
	case pkt.OpSetWindow:
		n.Windows[p[1]&3] = Window{Range{long(p, 2), long(p, 4)}, p[1]>>2&1 != 0}
	}
}

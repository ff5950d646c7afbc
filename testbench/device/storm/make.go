package storm

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// An op is what the storm knows of an opcode: how to make a packet that is
// probably legal, and what the documents say of its operands.
type op struct {
	make  func(s *station) []uint32
	judge func(n *node, p []uint32, at place, left uint32) verdict
}

// ops has every packet that the storm can make.
var ops = map[uint8]op{
	pkt.OpNOP:       {(*station).makeNOP, (*node).judgeNothing},
	pkt.OpIndirect:  {(*station).makeIndirect, (*node).judgeIndirect},
	pkt.OpSetState:  {(*station).makeSetState, (*node).judgeNothing},
	pkt.OpCopy:      {(*station).makeCopy, (*node).judgeCopy},
	pkt.OpCopy2D:    {(*station).makeCopy2D, (*node).judgeCopy2D},
	pkt.OpFill:      {(*station).makeFill, (*node).judgeFill},
	pkt.OpFill2D:    {(*station).makeFill2D, (*node).judgeFill2D},
	pkt.OpWriteReg:  {(*station).makeWriteReg, (*node).judgeWriteReg},
	pkt.OpTimestamp: {(*station).makeTimestamp, (*node).judgeTimestamp},
	pkt.OpPredicate: {(*station).makePredicate, (*node).judgePredicate},
	pkt.OpFence:     {(*station).makeFence, (*node).judgeFence},
	pkt.OpSetWindow: {(*station).makeSetWindow, (*node).judgeSetWindow},
	pkt.OpWaitFence: {(*station).makeWaitFence, (*node).judgeWaitFence},

	pkt.OpSaveState:    {(*station).makeSaveState, (*node).judgeSaveState},
	pkt.OpRestoreState: {(*station).makeRestoreState, (*node).judgeRestoreState},
}

// packet returns the dwords of a packet with that body.
func packet(op uint8, body ...uint32) []uint32 {
	return append([]uint32{uint32(op)<<24 | uint32(len(body))}, body...)
}

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// set changes a field of a packet.
func set(f pkt.Field, p []uint32, v uint64) {
	v = v << bits.TrailingZeros64(f.Mask) & f.Mask
	p[f.Dword] = p[f.Dword]&^uint32(f.Mask) | uint32(v)
	if f.Mask>>32 != 0 {
		p[f.Dword+1] = p[f.Dword+1]&^uint32(f.Mask>>32) | uint32(v>>32)
	}
}

// data returns an address in the node's data, with so many bytes behind it.
func (s *station) data(bytes uint64) uint64 {
	return s.in(s.pick2(s.area.vram, s.area.host), bytes)
}

// in returns an address in a range, with so many bytes behind it.
func (s *station) in(r span, bytes uint64) uint64 { return r.at + s.rng.Uint64N(r.n-bytes) }

func (s *station) pick2(a, b span) span {
	if s.rng.IntN(2) == 0 {
		return a
	}
	return b
}

// size returns a length in bytes that fits into data.
func (s *station) size() uint64 {
	most := s.area.vram.n / 4
	switch s.rng.IntN(8) {
	case 0:
		return s.rng.Uint64N(3)
	case 1:
		return most - s.rng.Uint64N(9)
	}
	return s.rng.Uint64N(min(300, most))
}

// pair is two small coordinates.
func (s *station) pair(n int) uint32 {
	return uint32(s.rng.IntN(n)) | uint32(s.rng.IntN(n))<<16
}

func (s *station) makeNOP() []uint32 {
	body := make([]uint32, s.rng.IntN(6))
	for i := range body {
		body[i] = s.rng.Uint32()
	}
	return packet(pkt.OpNOP, body...)
}

// makeIndirect executes nothing: what does has its contents from elsewhere.
func (s *station) makeIndirect() []uint32 {
	a := s.pick2(s.area.vram, s.area.host).at
	return packet(pkt.OpIndirect, lo(a), hi(a), 0)
}

func (s *station) makeSetState() []uint32 {
	base := s.data(800)
	return packet(pkt.OpSetState, s.rng.Uint32N(2), lo(base), hi(base), s.rng.Uint32N(48), s.rng.Uint32N(5),
		s.pair(3), 8+s.rng.Uint32N(9)|(8+s.rng.Uint32N(9))<<16)
}

func (s *station) makeCopy() []uint32 {
	n := s.size()
	src, dst := s.data(n), s.data(n)
	return packet(pkt.OpCopy, lo(src), hi(src), lo(dst), hi(dst), lo(n))
}

func (s *station) makeFill() []uint32 {
	n, v := s.size(), s.rng.Uint64()
	dst := s.data(n)
	return packet(pkt.OpFill, lo(dst), hi(dst), lo(n), lo(v), hi(v))
}

func (s *station) makeCopy2D() []uint32 {
	return packet(pkt.OpCopy2D, s.pair(5), s.pair(5), s.pair(8))
}

func (s *station) makeFill2D() []uint32 {
	return packet(pkt.OpFill2D, s.pair(5), s.pair(8), s.rng.Uint32(), s.rng.Uint32())
}

// makeWriteReg uses the scratch registers of its node.
func (s *station) makeWriteReg() []uint32 {
	off := uint32(scratchOff + 8*s.n.id + 4*s.rng.IntN(2))
	return packet(pkt.OpWriteReg, off, s.rng.Uint32())
}

func (s *station) makeTimestamp() []uint32 {
	stamps := s.pick2(s.area.vramStamps, s.area.hostStamps)
	a := stamps.at + 8*s.rng.Uint64N(stamps.n/8)
	return packet(pkt.OpTimestamp, lo(a), hi(a))
}

// makePredicate looks at data, which is hardly ever 0, or at a word that is.
func (s *station) makePredicate() []uint32 {
	a := s.data(16) &^ 7
	if s.rng.IntN(2) == 0 {
		a = s.pick2(s.area.vramZero, s.area.hostZero).at
	}
	return packet(pkt.OpPredicate, lo(a), hi(a), s.rng.Uint32N(2)<<16)
}

func (s *station) makeFence() []uint32 {
	a := (s.data(16) + 7) &^ 7
	ahead := s.rng.Uint32N(3)
	if s.rng.IntN(16) == 0 {
		ahead = 1<<31 - 1
	}
	return packet(pkt.OpFence, lo(a), hi(a), uint32(s.n.fence)+ahead, s.rng.Uint32N(2))
}

func (s *station) makeSetWindow() []uint32 {
	n := s.size()
	base := s.data(n)
	return packet(pkt.OpSetWindow, s.rng.Uint32N(8), lo(base), hi(base), lo(n), hi(n))
}

// makeWaitFence waits for what has come, or will come in this round: the other
// node's packets were made before.
func (s *station) makeWaitFence() []uint32 {
	id := s.rng.Uint32N(2)
	v := uint64(0)
	if of := s.n.of(id); of != nil {
		v = of.fence - min(of.fence, uint64(s.rng.IntN(4)))
	}
	return packet(pkt.OpWaitFence, id, lo(v), hi(v))
}

func (s *station) makeSaveState() []uint32 {
	a := (s.data(2*pkt.StateBytes) + pkt.StateBytes - 1) &^ (pkt.StateBytes - 1)
	return packet(pkt.OpSaveState, lo(a), hi(a))
}

// makeRestoreState reads what was saved last, or what lies anywhere.
func (s *station) makeRestoreState() []uint32 {
	p := s.makeSaveState()
	a := long(p, 1)
	if s.n.saved != 0 && s.rng.IntN(2) == 0 {
		a = s.n.saved
	}
	return packet(pkt.OpRestoreState, lo(a), hi(a))
}

// surfaces emits both halves of the state so that 2D packets probably fit.
func (s *station) surfaces(b *buffer, format uint32) {
	for i := range uint32(2) {
		p := s.makeSetState()
		p[1], p[5] = i, format
		p[4] = 16 + s.rng.Uint32N(32)
		s.emit(b, p)
	}
}

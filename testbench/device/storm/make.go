package storm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// makers make, of every opcode, a packet that is probably legal.
var makers = map[uint8]func(s *station) []uint32{
	pkt.OpNOP:          (*station).makeNOP,
	pkt.OpIndirect:     (*station).makeIndirect,
	pkt.OpSetState:     (*station).makeSetState,
	pkt.OpCopy:         (*station).makeCopy,
	pkt.OpCopy2D:       (*station).makeCopy2D,
	pkt.OpFill:         (*station).makeFill,
	pkt.OpFill2D:       (*station).makeFill2D,
	pkt.OpWriteReg:     (*station).makeWriteReg,
	pkt.OpTimestamp:    (*station).makeTimestamp,
	pkt.OpPredicate:    (*station).makePredicate,
	pkt.OpFence:        (*station).makeFence,
	pkt.OpSetWindow:    (*station).makeSetWindow,
	pkt.OpWaitFence:    (*station).makeWaitFence,
	pkt.OpSaveState:    (*station).makeSaveState,
	pkt.OpRestoreState: (*station).makeRestoreState,
}

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// long is the 64 bits of two dwords of a packet.
func long(p []uint32, i int) uint64 { return uint64(p[i]) | uint64(p[i+1])<<32 }

// span is so many bytes from an address on.
func span(at, n uint64) refmodel.Range { return refmodel.Range{At: at, N: n} }

// data returns an address in the node's data, with so many bytes behind it.
func (s *station) data(bytes uint64) uint64 {
	return s.in(s.pick2(s.area.vram, s.area.host), bytes)
}

// in returns an address in a range, with so many bytes behind it.
func (s *station) in(r refmodel.Range, bytes uint64) uint64 { return r.At + s.rng.Uint64N(r.N-bytes) }

func (s *station) pick2(a, b refmodel.Range) refmodel.Range {
	if s.rng.IntN(2) == 0 {
		return a
	}
	return b
}

// size returns a length in bytes that fits into data.
func (s *station) size() uint64 {
	most := s.area.vram.N / 4
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
	return pkt.Dwords(pkt.OpNOP, body...)
}

// makeIndirect executes nothing: what does has its contents from elsewhere.
func (s *station) makeIndirect() []uint32 {
	a := s.pick2(s.area.vram, s.area.host).At
	return pkt.Dwords(pkt.OpIndirect, lo(a), hi(a), 0)
}

func (s *station) makeSetState() []uint32 {
	base := s.data(800)
	return pkt.Dwords(pkt.OpSetState, s.rng.Uint32N(2), lo(base), hi(base), s.rng.Uint32N(48), s.rng.Uint32N(5),
		s.pair(3), 8+s.rng.Uint32N(9)|(8+s.rng.Uint32N(9))<<16)
}

func (s *station) makeCopy() []uint32 {
	n := s.size()
	src, dst := s.data(n), s.data(n)
	return pkt.Dwords(pkt.OpCopy, lo(src), hi(src), lo(dst), hi(dst), lo(n))
}

func (s *station) makeFill() []uint32 {
	n, v := s.size(), s.rng.Uint64()
	dst := s.data(n)
	return pkt.Dwords(pkt.OpFill, lo(dst), hi(dst), lo(n), lo(v), hi(v))
}

func (s *station) makeCopy2D() []uint32 {
	return pkt.Dwords(pkt.OpCopy2D, s.pair(5), s.pair(5), s.pair(8))
}

func (s *station) makeFill2D() []uint32 {
	return pkt.Dwords(pkt.OpFill2D, s.pair(5), s.pair(8), s.rng.Uint32(), s.rng.Uint32())
}

// makeWriteReg uses the scratch registers of its node.
func (s *station) makeWriteReg() []uint32 {
	off := uint32(refmodel.ScratchOff + 8*s.n.ID + 4*s.rng.IntN(2))
	return pkt.Dwords(pkt.OpWriteReg, off, s.rng.Uint32())
}

func (s *station) makeTimestamp() []uint32 {
	stamps := s.pick2(s.area.vramStamps, s.area.hostStamps)
	a := stamps.At + 8*s.rng.Uint64N(stamps.N/8)
	return pkt.Dwords(pkt.OpTimestamp, lo(a), hi(a))
}

// makePredicate looks at data, which is hardly ever 0, or at a word that is.
func (s *station) makePredicate() []uint32 {
	a := s.data(16) &^ 7
	if s.rng.IntN(2) == 0 {
		a = s.pick2(s.area.vramZero, s.area.hostZero).At
	}
	return pkt.Dwords(pkt.OpPredicate, lo(a), hi(a), s.rng.Uint32N(2)<<16)
}

func (s *station) makeFence() []uint32 {
	a := (s.data(16) + 7) &^ 7
	ahead := s.rng.Uint32N(3)
	if s.rng.IntN(16) == 0 {
		ahead = 1<<31 - 1
	}
	return pkt.Dwords(pkt.OpFence, lo(a), hi(a), uint32(s.n.Fence)+ahead, s.rng.Uint32N(2))
}

func (s *station) makeSetWindow() []uint32 {
	n := s.size()
	base := s.data(n)
	return pkt.Dwords(pkt.OpSetWindow, s.rng.Uint32N(8), lo(base), hi(base), lo(n), hi(n))
}

// makeWaitFence waits for what has come, or will come in this round: the other
// node's packets were made before.
func (s *station) makeWaitFence() []uint32 {
	id := s.rng.Uint32N(2)
	v := uint64(0)
	if of := s.of(id); of != nil {
		v = of.n.Fence - min(of.n.Fence, uint64(s.rng.IntN(4)))
	}
	return pkt.Dwords(pkt.OpWaitFence, id, lo(v), hi(v))
}

func (s *station) makeSaveState() []uint32 {
	a := (s.data(2*pkt.StateBytes) + pkt.StateBytes - 1) &^ (pkt.StateBytes - 1)
	return pkt.Dwords(pkt.OpSaveState, lo(a), hi(a))
}

// makeRestoreState reads what was saved last, or what lies anywhere.
func (s *station) makeRestoreState() []uint32 {
	p := s.makeSaveState()
	a := long(p, 1)
	if s.saved != 0 && s.rng.IntN(2) == 0 {
		a = s.saved
	}
	return pkt.Dwords(pkt.OpRestoreState, lo(a), hi(a))
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

package storm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// makers holds, for each opcode, a function that makes a packet that is probably legal.
var makers = map[uint8]func(s *generator) []uint32{
	pkt.OpNOP:          (*generator).makeNOP,
	pkt.OpIndirect:     (*generator).makeIndirect,
	pkt.OpSetState:     (*generator).makeSetState,
	pkt.OpCopy:         (*generator).makeCopy,
	pkt.OpCopy2D:       (*generator).makeCopy2D,
	pkt.OpFill:         (*generator).makeFill,
	pkt.OpFill2D:       (*generator).makeFill2D,
	pkt.OpWriteReg:     (*generator).makeWriteReg,
	pkt.OpTimestamp:    (*generator).makeTimestamp,
	pkt.OpPredicate:    (*generator).makePredicate,
	pkt.OpSignal:       (*generator).makeSignal,
	pkt.OpFence:        (*generator).makeFence,
	pkt.OpSetWindow:    (*generator).makeSetWindow,
	pkt.OpWaitFence:    (*generator).makeWaitFence,
	pkt.OpSaveState:    (*generator).makeSaveState,
	pkt.OpRestoreState: (*generator).makeRestoreState,
}

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// long returns the 64-bit value in dwords i and i+1 of a packet.
func long(p []uint32, i int) uint64 { return uint64(p[i]) | uint64(p[i+1])<<32 }

// span returns the range of n bytes at an address.
func span(at, n uint64) refmodel.Range { return refmodel.Range{At: at, N: n} }

// data returns a random address for the given number of bytes in the node's data.
func (s *generator) data(bytes uint64) uint64 {
	return s.in(s.pick2(s.area.vram, s.area.host), bytes)
}

// in returns a random address for the given number of bytes in a range.
func (s *generator) in(r refmodel.Range, bytes uint64) uint64 { return r.At + s.rng.Uint64N(r.N-bytes) }

func (s *generator) pick2(a, b refmodel.Range) refmodel.Range {
	if s.rng.IntN(2) == 0 {
		return a
	}
	return b
}

// size returns a random length in bytes that fits into the node's data.
func (s *generator) size() uint64 {
	most := s.area.vram.N / 4
	switch s.rng.IntN(8) {
	case 0:
		return s.rng.Uint64N(3)
	case 1:
		return most - s.rng.Uint64N(9)
	}
	return s.rng.Uint64N(min(300, most))
}

// pair returns two small random coordinates.
func (s *generator) pair(n int) uint32 {
	return uint32(s.rng.IntN(n)) | uint32(s.rng.IntN(n))<<16
}

func (s *generator) makeNOP() []uint32 {
	body := make([]uint32, s.rng.IntN(6))
	for i := range body {
		body[i] = s.rng.Uint32()
	}
	return pkt.Dwords(pkt.OpNOP, body...)
}

// makeIndirect makes an empty INDIRECT; those with contents are made by indirect.
func (s *generator) makeIndirect() []uint32 {
	a := s.pick2(s.area.vram, s.area.host).At
	return pkt.Dwords(pkt.OpIndirect, lo(a), hi(a), 0)
}

func (s *generator) makeSetState() []uint32 {
	base := s.data(800)
	return pkt.Dwords(pkt.OpSetState, s.rng.Uint32N(2), lo(base), hi(base), s.rng.Uint32N(48), s.rng.Uint32N(5),
		s.pair(3), 8+s.rng.Uint32N(9)|(8+s.rng.Uint32N(9))<<16)
}

func (s *generator) makeCopy() []uint32 {
	n := s.size()
	src, dst := s.data(n), s.data(n)
	return pkt.Dwords(pkt.OpCopy, lo(src), hi(src), lo(dst), hi(dst), lo(n))
}

func (s *generator) makeFill() []uint32 {
	n, v := s.size(), s.rng.Uint64()
	dst := s.data(n)
	return pkt.Dwords(pkt.OpFill, lo(dst), hi(dst), lo(n), lo(v), hi(v))
}

func (s *generator) makeCopy2D() []uint32 {
	return pkt.Dwords(pkt.OpCopy2D, s.pair(5), s.pair(5), s.pair(8))
}

func (s *generator) makeFill2D() []uint32 {
	return pkt.Dwords(pkt.OpFill2D, s.pair(5), s.pair(8), s.rng.Uint32(), s.rng.Uint32())
}

// makeWriteReg writes one of the node's scratch registers.
func (s *generator) makeWriteReg() []uint32 {
	off := uint32(refmodel.ScratchOff + 8*s.n.ID + 4*s.rng.IntN(2))
	return pkt.Dwords(pkt.OpWriteReg, off, s.rng.Uint32())
}

func (s *generator) makeTimestamp() []uint32 {
	stamps := s.pick2(s.area.vramStamps, s.area.hostStamps)
	a := stamps.At + 8*s.rng.Uint64N(stamps.N/8)
	return pkt.Dwords(pkt.OpTimestamp, lo(a), hi(a))
}

// makePredicate reads data, which is rarely 0, or a word that is always 0.
func (s *generator) makePredicate() []uint32 {
	a := s.data(16) &^ 7
	if s.rng.IntN(2) == 0 {
		a = s.pick2(s.area.vramZero, s.area.hostZero).At
	}
	return pkt.Dwords(pkt.OpPredicate, lo(a), hi(a), s.rng.Uint32N(2)<<16)
}

func (s *generator) makeSignal() []uint32 {
	a := (s.data(16) + 7) &^ 7
	return pkt.Dwords(pkt.OpSignal, lo(a), hi(a), s.rng.Uint32(), s.rng.Uint32(), s.rng.Uint32N(2))
}

func (s *generator) makeFence() []uint32 {
	a := (s.data(16) + 7) &^ 7
	ahead := s.rng.Uint32N(3)
	if s.rng.IntN(16) == 0 {
		ahead = 1<<31 - 1
	}
	return pkt.Dwords(pkt.OpFence, lo(a), hi(a), uint32(s.n.Fence)+ahead, s.rng.Uint32N(2))
}

func (s *generator) makeSetWindow() []uint32 {
	n := s.size()
	base := s.data(n)
	return pkt.Dwords(pkt.OpSetWindow, s.rng.Uint32N(8), lo(base), hi(base), lo(n), hi(n))
}

// makeWaitFence waits for a value that has been or will be reached in this round. The
// other node's packets already exist.
func (s *generator) makeWaitFence() []uint32 {
	id := s.rng.Uint32N(2)
	v := uint64(0)
	if of := s.nodeOf(id); of != nil {
		v = of.n.Fence - min(of.n.Fence, uint64(s.rng.IntN(4)))
	}
	return pkt.Dwords(pkt.OpWaitFence, id, lo(v), hi(v))
}

func (s *generator) makeSaveState() []uint32 {
	a := (s.data(2*pkt.StateBytes) + pkt.StateBytes - 1) &^ (pkt.StateBytes - 1)
	return pkt.Dwords(pkt.OpSaveState, lo(a), hi(a))
}

// makeRestoreState restores the last saved state, or data from a random address.
func (s *generator) makeRestoreState() []uint32 {
	p := s.makeSaveState()
	a := long(p, 1)
	if s.lastSaved != 0 && s.rng.IntN(2) == 0 {
		a = s.lastSaved
	}
	return pkt.Dwords(pkt.OpRestoreState, lo(a), hi(a))
}

// surfaces sets both surfaces so that 2D packets are probably legal.
func (s *generator) surfaces(b *buffer, format uint32) {
	for i := range uint32(2) {
		p := s.makeSetState()
		p[1], p[5] = i, format
		p[4] = 16 + s.rng.Uint32N(32)
		s.emit(b, p)
	}
}

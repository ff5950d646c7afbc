package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Widths of offsets that are added to an address.
const (
	maxReach  = 36 // log2 of the bytes from a surface's base to its last row
	maxBuffer = 22 // log2 of the bytes of an indirect buffer
)

// A space is the GPU address space of the node. It is constant after New.
type space struct {
	hostLimit uint64 // bytes of host address space
	vramLimit uint64 // bytes of VRAM
	sumMask   uint64 // address bits that can be set in a sum
	aperture  bool   // there is an aperture
}

// mapped reports whether addr is in the aperture. A sum that begins in VRAM cannot get there:
// it has no more than 37 bits.
func (s *space) mapped(addr uint64) bool {
	return s.aperture && addr&pkt.Host == 0 && addr>>gartreg.StartLog2&1 != 0
}

// last returns the last byte of the memory that addr selects.
func (s *space) last(addr uint64) uint64 {
	last := s.vramLimit - 1
	if addr&pkt.Host != 0 {
		last = s.hostLimit - 1
	}
	if s.mapped(addr) {
		last = 1<<gartreg.SizeLog2 - 1
	}
	return last
}

// start returns the offset at which the memory that addr selects starts.
func (s *space) start(addr uint64) uint64 {
	var start uint64
	if s.mapped(addr) {
		start = gartreg.Start
	}
	return start
}

// contains reports whether addr is in VRAM, in the host address space or in the aperture.
func (s *space) contains(addr uint64) bool {
	return addr&^pkt.Host&^s.start(addr)&^s.last(addr) == 0
}

// untranslated reports whether addr is in VRAM or in the host address space.
func (s *space) untranslated(addr uint64) bool { return s.contains(addr) && !s.mapped(addr) }

// translated reports whether the operands of a packet may be in the aperture.
func translated(op uint8) bool {
	return op == pkt.OpCopy || op == pkt.OpFill || op == pkt.OpCopy2D || op == pkt.OpFill2D
}

// add returns addr+n in the memory of addr, which must be in range.
func (s *space) add(addr, n uint64) uint64 { return addr&pkt.Host | (addr+n)&s.sumMask }

// truncate returns the bits of an unchecked address that a register of the node can hold.
func (s *space) truncate(addr uint64) uint64 { return addr & (pkt.Host | s.sumMask) }

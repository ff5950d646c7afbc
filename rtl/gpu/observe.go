package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
)

// Stats are counts for observation. They are not visible to software.
//
//	Packets  packets that each node has retired since its reset, modulo 2^32
//	Moved    bytes that the DMA engine has written since power on, without
//	         refused writes
type Stats struct {
	Packets [2]uint32
	Moved   uint64
}

// Stats returns the counts.
func (g *GPU) Stats() Stats {
	return Stats{Packets: [2]uint32{g.cp0.Packets(), g.cp1.Packets()}, Moved: g.moved}
}

// PeekVRAM fills p from VRAM at off, in bytes, outside of any clock. It panics if
// the range is not in VRAM. An accepted write may become visible one clock later.
func (g *GPU) PeekVRAM(off uint64, p []byte) {
	for i := 0; i < len(p); {
		a := off + uint64(i)
		word := g.vram.Word(uint32(a>>3)) >> (8 * (a & 7))
		for n := 8 - a&7; n > 0 && i < len(p); n-- {
			p[i] = byte(word)
			word >>= 8
			i++
		}
	}
}

// PokeVRAM writes p to VRAM at off, in bytes, outside of any clock. It panics
// if the range is not in VRAM.
func (g *GPU) PokeVRAM(off uint64, p []byte) {
	for i, b := range p {
		a := off + uint64(i)
		n := 8 * (a & 7)
		g.vram.SetWord(uint32(a>>3), g.vram.Word(uint32(a>>3))&^(0xff<<n)|uint64(b)<<n)
	}
}

// WritingVRAM returns the VRAM offset, in bytes and a multiple of 8, that the
// next clock writes, and the beat, which is invalid if it writes none.
func (g *GPU) WritingVRAM() (off uint64, beat port.Beat) {
	word, beat := g.vram.Writing()
	return uint64(word) << 3, beat
}

// MCUWord returns a word of the memory of the microcontroller outside of any clock. It panics if there
// is none.
func (g *GPU) MCUWord(i uint32) uint32 { return g.mcu.Word(i) }

// SetMCUWord sets a word of the memory of the microcontroller outside of any clock.
func (g *GPU) SetMCUWord(i, v uint32) { g.mcu.SetWord(i, v) }

// ApertureEntry returns the entry of the aperture's table that an access to a page uses, outside of
// any clock. Without an aperture, and outside of its pages, it is 0. If kept is false, an access reads
// the entry, of 8 bytes, at the GPU address at.
func (g *GPU) ApertureEntry(page uint32) (entry, at uint64, kept bool) {
	table, pages := g.gart.Table()
	if !g.hasGART() || page >= pages {
		return 0, 0, true
	}
	entry, kept = g.gart.Kept(page)
	return entry, table + uint64(page)*gartreg.EntryBytes, kept
}

// Faulted reports whether a node has stopped on a fault, for one clock.
func (g *GPU) Faulted() bool { return g.cp0.Fault() || g.cp1.Fault() }

// Busy reports whether a node is not idle.
func (g *GPU) Busy() bool { return g.cp0.Busy() || g.hasNode1() && g.cp1.Busy() }

// Executed returns a number, modulo 32, that changes with each packet in the trace of a node. It
// is 0 after a reset. Without CAPS.TRACE it is always 0.
func (g *GPU) Executed(node int) uint8 {
	if node != 0 {
		return g.cp1.Executed()
	}
	return g.cp0.Executed()
}

// Newest returns the newest packet in the trace of a node, outside of any clock: its header and
// the address of the header. It reports false if there is none.
func (g *GPU) Newest(node int) (header uint32, addr uint64, ok bool) {
	if node != 0 {
		return g.cp1.Newest()
	}
	return g.cp0.Newest()
}

// Descriptor returns the descriptor of a node that is taken in the next clock, before the aperture
// translates it, its node, and the address of the packet that it belongs to, outside of any clock. It
// reports false if there is none.
func (g *GPU) Descriptor() (node int, desc dma.Desc, addr uint64, ok bool) {
	if !g.takesDesc() {
		return 0, dma.Desc{}, 0, false
	}
	_, from, desc := g.desc()
	addr = g.cp0.Current()
	if from != 0 {
		addr = g.cp1.Current()
	}
	return int(from), desc, addr, desc.Op != dma.None // a node that is preempted may hold the grant without one
}

// Faulting returns the cause of the fault of a node, as in FAULT_INFO, and the address in
// FAULT_LO and FAULT_HI, outside of any clock.
func (g *GPU) Faulting(node int) (cause uint32, addr uint64) {
	if node != 0 {
		return g.cp1.Faulting()
	}
	return g.cp0.Faulting()
}

package why

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A surface is a surface that SET_STATE has set.
type surface struct {
	base  uint64
	pitch uint64
	bytes uint64 // of an element
	set   bool
	by    *packet
}

// element returns the address of an element.
func (s surface) element(x, y uint16) uint64 { return s.base + uint64(y)*s.pitch + uint64(x)*s.bytes }

// A move is what a packet writes: rows of bytes, and where they come from.
type move struct {
	sub    *submission
	packet *packet

	dst, src           uint64 // addresses of the first byte
	bytes, rows        uint64 // of a row, and how many
	dstPitch, srcPitch uint64
	copies             bool
	from, to           surface    // that it reads and writes; zero for a linear packet
	states             [3]*packet // those with its addresses, or nil
	event              uint64     // of its packet
	pass               pass       // what PREDICATEs do with its packet

	fate fate
	when Point // that it was executed, or that its submission left the hardware
}

func (m move) describe() string { return m.sub.describePacket(m.packet) }

// source reports whether the move writes a byte, and where the byte comes from, if it is
// copied.
func (m move) source(addr uint64) (from uint64, writes bool) {
	row, col, ok := m.find(addr, m.dst, m.dstPitch)
	return m.src + row*m.srcPitch + col, ok
}

// reads reports whether the move copies a byte from an address.
func (m move) reads(addr uint64) bool {
	_, _, ok := m.find(addr, m.src, m.srcPitch)
	return ok && m.copies
}

// find returns the row and the column of a byte in rows that begin at an address.
func (m move) find(addr, start, pitch uint64) (row, col uint64, ok bool) {
	if (addr^start)&pkt.Host != 0 || addr < start {
		return 0, 0, false
	}
	col = addr - start
	if m.rows > 1 {
		if pitch == 0 {
			return 0, 0, false
		}
		row, col = col/pitch, col%pitch
	}
	return row, col, row < m.rows && col < m.bytes
}

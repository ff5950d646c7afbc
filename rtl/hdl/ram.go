package hdl

// RAM is a synchronous memory with one read and one write port, or with one port
// for both. Its words have 8, 16, 32 or 64 bits.
//
//	In      read   enable and word address; write: byte enables, word address, data
//	Out     the word of the last enabled read, held until the next one
//	Timing  1 clock from address to data; a read and a write in every clock, or
//	        one of the two with a single port
//	Reset   none, as in a block RAM: words and output are kept. After a reset of
//	        the owner the output is meaningless until the next read
//	Paths   none
//	Faults  these are assertions: a read and a write of one word in one clock,
//	        with a single port any read and write in one clock, an address
//	        outside the memory, and an enable or data outside a word
type RAM struct {
	words  []uint64
	width  int // of a word in bits
	single bool
	q      uint64
	last   last
}

// A last is the most recent write, which lockstep compares in every clock. It is
// not state: no output depends on it, and neither a Snapshot nor synthesis
// includes it.
type last struct {
	writes uint32 // number of writes
	where  uint64 // word address << 8 | enable
	what   uint64 // the written bytes, 0 for the others
}

// NewRAM returns a memory of n words of 64 bits, all 0, with a read and a write port.
func NewRAM(n int) RAM { return NewNarrowRAM(n, 64) }

// NewNarrowRAM returns a memory of n words, all 0, with a read and a write port. A word has
// 8, 16, 32 or 64 bits.
func NewNarrowRAM(n, width int) RAM {
	Assert(width == 8 || width == 16 || width == 32 || width == 64, "RAM: the width is not 8, 16, 32 or 64 bits")
	return RAM{words: make([]uint64, n), width: width}
}

// NewSinglePortRAM returns a memory of n words of 64 bits, all 0, with one port for
// reads and writes.
func NewSinglePortRAM(n int) RAM {
	m := NewRAM(n)
	m.single = true
	return m
}

const outside = "RAM: an enable or data outside a word"

// Out returns the word of the last read.
func (m *RAM) Out() uint64 { return m.q }

// Tick is one rising clock edge. Bit i of enable writes byte i, bits 8*i+7 to
// 8*i of data; an enable of 0 writes nothing, and data may then be anything.
func (m *RAM) Tick(read bool, raddr uint32, enable uint8, waddr uint32, data uint64) {
	Assert(!read || enable == 0 || raddr != waddr && !m.single, "RAM: a read and a write of one word, or of one port, in one clock")
	if read {
		m.q = m.words[raddr]
	}
	if enable == 0xff {
		Assert(m.width == 64, outside)
		m.words[waddr] = data
		m.last = last{m.last.writes + 1, uint64(waddr)<<8 | 0xff, data}
	} else if enable != 0 {
		Assert(enable>>(m.width/8) == 0 && data>>m.width == 0, outside)
		mask := lanes(enable)
		m.words[waddr] = m.words[waddr]&^mask | data&mask
		m.last = last{m.last.writes + 1, uint64(waddr)<<8 | uint64(enable), data & mask}
	}
}

// Len returns the number of words.
func (m *RAM) Len() int { return len(m.words) }

// Word returns a word outside of any clock, for tests and observation.
func (m *RAM) Word(addr uint32) uint64 { return m.words[addr] }

// SetWord sets a word outside of any clock, for tests.
func (m *RAM) SetWord(addr uint32, v uint64) { m.words[addr] = v }

// lanes expands each bit of enable to a byte.
func lanes(enable uint8) uint64 {
	x := uint64(enable)
	x = (x | x<<28) & 0x0000000f0000000f
	x = (x | x<<14) & 0x0003000300030003
	x = (x | x<<7) & 0x0101010101010101
	x |= x << 1
	x |= x << 2
	return x | x<<4
}

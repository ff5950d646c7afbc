package sample

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Narrow has memories of 8, 16 and 32 bits, and two ROMs with the same words and one
// with others.
type Narrow struct {
	bytes  hdl.RAM
	halves hdl.RAM
	words  hdl.RAM
	rom    hdl.ROM
	again  hdl.ROM
	other  hdl.ROM
	prev   uint32 `w:"3"`
	low    uint8
	half   uint16
	entry  uint16 `w:"12"`
	odd    uint8  `w:"1"`
	sum    uint64
	fresh  [2]bool // the last clock read the memories of read, and those of every clock
	looked [2]bool // the last clock read rom, other
}

// NewNarrow returns a Narrow with 8 words in each memory, and 5 in the ROM other.
func NewNarrow() *Narrow {
	table := make([]uint64, 8)
	for i := range table {
		table[i] = uint64(0xabc*(i+1)) & 0xfff
	}
	return &Narrow{
		bytes: hdl.NewNarrowRAM(8, 8), halves: hdl.NewNarrowRAM(8, 16), words: hdl.NewNarrowRAM(8, 32),
		rom: hdl.NewROM(12, table), again: hdl.NewROM(12, table), other: hdl.NewROM(1, []uint64{1, 0, 0, 1, 1}),
	}
}

// Tick is one rising clock edge.
func (m *Narrow) Tick(addr, enable uint8, data uint32, read bool) {
	if m.fresh[0] {
		m.low = uint8(m.bytes.Out())
		m.sum ^= m.words.Out() << 7
	}
	if m.fresh[1] {
		m.half = uint16(m.halves.Out())
		m.sum = m.sum<<1 ^ m.again.Out()
	}
	if m.looked[0] {
		m.entry = uint16(m.rom.Out())
	}
	if m.looked[1] {
		m.odd = uint8(m.other.Out())
	}
	a := uint32(addr) & 7
	m.fresh, m.looked = [2]bool{read, true}, [2]bool{addr&8 != 0, a < 5}
	if a == m.prev {
		enable = 0
	}
	m.bytes.Tick(read, m.prev, enable&1, a, uint64(data&0xff))
	m.halves.Tick(true, m.prev, enable&3, a, uint64(data>>8&0xffff))
	m.words.Tick(read, m.prev, enable&15, a, uint64(data))
	m.rom.Tick(addr&8 != 0, a)
	m.again.Tick(true, m.prev)
	m.other.Tick(a < 5, a)
	m.prev = a
}

// Out returns a function of all registers but the address.
func (m *Narrow) Out() uint64 {
	return m.sum ^ uint64(m.low) ^ uint64(m.half)<<8 ^ uint64(m.entry)<<24 ^ uint64(m.odd)<<36
}

// Reset sets the registers.
func (m *Narrow) Reset() {
	m.prev, m.low, m.half, m.entry, m.odd, m.sum = 0, 0, 0, 0, 0, 0
	m.fresh, m.looked = [2]bool{}, [2]bool{}
}

// Table has a RAM of 512 bytes and a ROM of 256 words of 16 bits.
type Table struct {
	bytes hdl.RAM
	rom   hdl.ROM
}

// NewTable returns a Table whose ROM has the given words.
func NewTable(words []uint64) *Table {
	return &Table{bytes: hdl.NewNarrowRAM(512, 8), rom: hdl.NewROM(16, words)}
}

// Tick is one rising clock edge.
func (m *Table) Tick(addr uint16, write bool, v uint8) {
	enable := uint8(0)
	if write {
		enable = 1
	}
	m.bytes.Tick(!write, uint32(addr)&0x1ff, enable, uint32(addr)&0x1ff, uint64(v))
	m.rom.Tick(!write, uint32(addr)&0xff)
}

// Byte returns the byte that was read last.
func (m *Table) Byte() uint8 { return uint8(m.bytes.Out()) }

// Word returns the word that was read last.
func (m *Table) Word() uint16 { return uint16(m.rom.Out()) }

package mcu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// nibbles is the number of nibbles of a word.
const nibbles = 8

// loader writes the program to the memory of the core, and computes its CRC, a nibble a clock.
type loader struct {
	at   uint16 `w:"14"` // word address
	word uint32 // in its lower bits what is not yet in the CRC
	left uint8  `w:"4"` // its nibbles
	crc  uint32
}

// load returns the word for the memory.
func (l *loader) load() core.Load {
	return core.Load{Valid: l.left == nibbles, Addr: l.at, Data: l.word}
}

// tick does the work of a clock.
func (l *loader) tick() {
	if l.left == nibbles {
		l.at = (l.at + 1) & (1<<14 - 1)
	}
	if l.left != 0 {
		l.crc = crc32.Nibble(l.crc, uint8(l.word)&15)
		l.word >>= 4
		l.left = (l.left - 1) & 15
	}
}

// access takes a write of a register.
func (l *loader) access(r regbus.Req) {
	switch r.Off {
	case mcureg.Base + mcureg.LoadAddr:
		l.at, l.crc = uint16(r.Data>>2)&(1<<14-1), crc32.Init
	case mcureg.Base + mcureg.LoadData:
		l.word, l.left = r.Data, nibbles
	default:
	}
}

// Package fwtest has two microcontrollers for tests of firmware: one made of the model of its
// processor, and one of its RTL. Both have the same surroundings, in which a test plants faults.
package fwtest

import (
	"encoding/binary"
	"maps"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
)

// The registers of window 0, which tell the program where rings of nodes may be. There are no nodes.
const (
	window0   = mcureg.Base + mcureg.Window
	ringBytes = 0x4000
)

// MapHash is ID.MAP_HASH of the surroundings.
const MapHash = 0x600df00d

// Faults are defects of the hardware. Each function changes a value that the program would see, or
// makes an access fail; nil: no fault.
//
//	Bus        a read of a register of BAR0, by offset
//	Window     a read of memory through a window, by GPU address
//	Silent     accesses through windows never end
//	Time       the time
//	Memory     the memory of the program, after each instruction; the model only
//	Interrupt  bits of mip; the model only
//	Unlocked   BLOCKS is ignored; the model only
//	Unbounded  sizes of windows are ignored; the model only
type Faults struct {
	Bus       func(off, v uint32, ok bool) (uint32, bool)
	Window    func(addr uint64, v uint32, ok bool) (uint32, bool)
	Silent    bool
	Time      func(now uint64) uint64
	Memory    func(memory []byte)
	Interrupt func(pending uint32) uint32
	Unlocked  bool
	Unbounded bool
}

// surroundings are the registers and the memory that a program reaches.
type surroundings struct {
	faults    Faults
	registers map[uint32]uint32 // by offset in BAR0, but those of the microcontroller
	memory    map[uint64]uint32 // dwords by GPU address
	raised    uint32            // bits that the program wrote to INTC.RAISE
	watch     func(addr uint64) // called for each write of the program to memory; nil: none
}

func newSurroundings(f Faults) surroundings {
	return surroundings{faults: f, memory: map[uint64]uint32{}, registers: map[uint32]uint32{
		idreg.Base + idreg.Magic: idreg.MagicValue, idreg.Base + idreg.MapHash: MapHash,
		idreg.Base + idreg.Scratch0: 0, idreg.Base + idreg.Scratch3: 0x12345678,
		intcreg.Base + intcreg.Raise: 0, perfreg.Base + perfreg.Ctl: 0,
		window0 + mcureg.BaseLo: 0, window0 + mcureg.BaseHi: 0, window0 + mcureg.WindowSize: ringBytes | mcureg.SizeWrite,
	}}
}

// Break plants other faults than before.
func (s *surroundings) Break(f Faults) { s.faults = f }

// Memory returns a copy of the dwords that were written, by GPU address.
func (s *surroundings) Memory() map[uint64]uint32 { return maps.Clone(s.memory) }

// Register returns a register of BAR0 outside of the microcontroller.
func (s *surroundings) Register(off uint32) uint32 { return s.registers[off] }

// read reads a register for the program.
func (s *surroundings) read(off uint32) (uint32, bool) {
	v, ok := s.registers[off]
	if s.faults.Bus != nil {
		return s.faults.Bus(off, v, ok)
	}
	return v, ok
}

// write writes a register for the program. Registers that cannot be written keep their values.
func (s *surroundings) write(off, v uint32) bool {
	_, ok := s.registers[off]
	if off == intcreg.Base+intcreg.Raise {
		s.raised |= v
	}
	if ok && off >= idreg.Base+idreg.Scratch0 && off <= idreg.Base+idreg.Scratch3 {
		s.registers[off] = v
	}
	return ok
}

// fetch reads memory for the program.
func (s *surroundings) fetch(addr uint64) (uint32, bool) {
	if s.faults.Window != nil {
		return s.faults.Window(addr, s.memory[addr], true)
	}
	return s.memory[addr], true
}

// store writes the bytes of a dword that are enabled.
func (s *surroundings) store(addr uint64, enable uint8, v uint32) {
	mask := uint32(0)
	for i := range 4 {
		mask |= uint32(enable>>i&1) * 0xff << (8 * i)
	}
	s.memory[addr] = s.memory[addr]&^mask | v&mask
	if s.watch != nil {
		s.watch(addr)
	}
}

// time returns the time that the program sees at a clock.
func (s *surroundings) time(clock uint64) uint64 {
	if s.faults.Time != nil {
		return s.faults.Time(clock)
	}
	return clock
}

// Raised returns the bits that the program has written to INTC.RAISE, and clears them.
func (s *surroundings) Raised() uint32 {
	v := s.raised
	s.raised = 0
	return v
}

// Watch calls f with the GPU address of each dword that the program writes from now on.
func (s *surroundings) Watch(f func(addr uint64)) { s.watch = f }

// At returns the memory from a GPU address on, as the host sees it.
func (s *surroundings) At(base uint64) *Host { return &Host{s, base} }

// A Host is memory of the surroundings.
type Host struct {
	s    *surroundings
	base uint64
}

// ReadHost reads dwords.
func (h *Host) ReadHost(off uint32, b []byte) error {
	for i := 0; i < len(b); i += 4 {
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], h.s.memory[h.base+uint64(off)+uint64(i)])
		copy(b[i:], w[:])
	}
	return nil
}

// WriteHost writes bytes from the begin of a dword on.
func (h *Host) WriteHost(off uint32, b []byte) error {
	for i := 0; i < len(b); i += 4 {
		at := h.base + uint64(off) + uint64(i)
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], h.s.memory[at])
		copy(w[:], b[i:])
		h.s.memory[at] = binary.LittleEndian.Uint32(w[:])
	}
	return nil
}

// info returns MCU.INFO for a memory of the given size in bytes.
func info(bytes int) uint32 {
	return uint32(bytes>>10) | mcureg.Windows<<8 | mcureg.Breakpoints<<12 | mcureg.Watchpoints<<16
}

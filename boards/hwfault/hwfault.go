// Package hwfault injects hardware faults into an emulated GPU: stuck, shorted
// and dead lines of its VRAM and of its register path.
//
// The faults are injected from outside. After each clock that writes VRAM, the
// memory is put in the state of a memory with the fault: cells that a stuck
// address line merges are kept equal, and a stuck data line keeps its level in
// every word. The host's aperture and the engines of the GPU therefore see the
// same broken memory. The RTL has no fault logic, and a GPU without injected
// faults is unchanged.
package hwfault

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A GPU is a device whose VRAM can be accessed between clocks.
type GPU interface {
	port.Device

	// WritingVRAM returns the VRAM write of the next clock: the offset, in
	// bytes and a multiple of 8, and the beat.
	WritingVRAM() (off uint64, beat port.Beat)

	// PeekVRAM and PokeVRAM read and write VRAM at an offset in bytes.
	PeekVRAM(off uint64, p []byte)
	PokeVRAM(off uint64, p []byte)

	// MCUWord and SetMCUWord read and write the memory of the microcontroller, if there is one.
	MCUWord(i uint32) uint32
	SetMCUWord(i, v uint32)
}

// Device is a port.Device that injects faults into a GPU. Its behaviour depends
// only on the faults and its inputs.
type Device struct {
	gpu   GPU
	lines []Fault // faults of address lines
	mask  uint64  // address lines affected by lines

	high, low uint64  // bits of a word that are always 1 or always 0
	pairs     []Fault // shorted data lines of a word
	enables   uint8   // lanes written by every write
	flips     []flipper
	program   []Fault // bits of the memory of the microcontroller

	regHigh, regLow uint32 // bits of a register read that are always 1 or always 0
	base            uint64 // base of BAR0, from the configuration accesses seen
	bar0Write       bool   // the beat that is due belongs to a configuration write of BAR0
	bar0Read        bool   // the completion that is due belongs to a configuration read of BAR0
	register        bool   // the current read is a read of BAR0

	injected uint64
}

var _ port.Device = (*Device)(nil)

// A flipper selects the writes that lose a bit.
type flipper struct {
	rate float64
	rng  *rand.Rand
}

// New returns gpu with injected faults. vramBytes is the size of its VRAM, for
// which Parse must have returned the faults. VRAM then holds contents that are
// possible with the faults. Register faults take effect after a host has read
// or written the address of BAR0.
func New(gpu GPU, vramBytes uint64, faults []Fault) *Device {
	d := &Device{gpu: gpu}
	for _, f := range faults {
		d.addFault(f)
	}
	var p [8]byte
	for off := uint64(0); off < vramBytes; off += 8 {
		cell := d.cell(off)
		gpu.PeekVRAM(cell, p[:])
		v := binary.LittleEndian.Uint64(p[:])
		if good := d.level(v); cell != off || v != good {
			binary.LittleEndian.PutUint64(p[:], good)
			gpu.PokeVRAM(off, p[:])
		}
	}
	d.holdBits()
	return d
}

// level applies the data-line faults to a word.
func (d *Device) level(v uint64) uint64 {
	for _, f := range d.pairs {
		v = f.short(v)
	}
	return v&^d.low | d.high
}

func (d *Device) addFault(f Fault) {
	switch f.Kind {
	case StuckAddress:
		d.lines = append(d.lines, f)
		d.mask |= 1 << f.Line
	case ShortAddress:
		d.lines = append(d.lines, f)
		d.mask |= 1<<f.Line | 1<<f.Other
	case DeadLane:
		d.high |= 0xff << (8 * f.Line)
	case StuckEnable:
		d.enables |= 1 << f.Line
	case StuckData:
		setStuck(&d.high, &d.low, 1<<f.Line, f.High)
	case ShortData:
		d.pairs = append(d.pairs, f)
	case BitFlip:
		d.flips = append(d.flips, flipper{f.Rate, rand.New(rand.NewPCG(f.Seed, 0))})
	case StuckMCU:
		d.program = append(d.program, f)
	case StuckRegister:
		if f.High {
			d.regHigh |= 1 << f.Line
		} else {
			d.regLow |= 1 << f.Line
		}
	}
}

// setStuck adds the bit to high or low. The last fault of a bit wins.
func setStuck(high, low *uint64, bit uint64, level bool) {
	*high, *low = *high&^bit, *low&^bit
	if level {
		*high |= bit
	} else {
		*low |= bit
	}
}

// Injected returns the number of VRAM writes, register read beats and words of the microcontroller
// that the faults have changed or duplicated.
func (d *Device) Injected() uint64 { return d.injected }

// Target returns the GPU's outputs, with register-path faults applied.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	cpl, reqReady, dataReady = d.gpu.Target()
	cpl.Data = d.registerData(cpl)
	return cpl, reqReady, dataReady
}

// registerData returns the data of a completion, with register-path faults
// applied.
func (d *Device) registerData(cpl port.Completion) uint64 {
	if !d.register || cpl.Status != port.CplSuccess {
		return cpl.Data
	}
	high := uint64(d.regHigh) | uint64(d.regHigh)<<32
	low := uint64(d.regLow) | uint64(d.regLow)<<32
	return cpl.Data&^low | high
}

// Initiator returns the GPU's outputs.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.gpu.Initiator() }

// Tick advances the GPU by one clock and applies the faults to its VRAM write.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.follow(req, beat, cplReady)
	off, written := d.gpu.WritingVRAM()
	d.gpu.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	if written.Valid {
		d.applyWrite(off, written)
	}
	d.holdBits()
}

// holdBits gives the stuck bits of the memory of the microcontroller their level.
func (d *Device) holdBits() {
	for _, f := range d.program {
		v, bit := d.gpu.MCUWord(uint32(f.Word)), uint32(1)<<f.Line
		good := v &^ bit
		if f.High {
			good |= bit
		}
		if v != good {
			d.gpu.SetMCUWord(uint32(f.Word), good)
			d.injected++
		}
	}
}

// follow tracks the address of BAR0 and whether the current read is a read of
// it. The GPU serves one request at a time.
func (d *Device) follow(req port.Request, beat port.Beat, cplReady bool) {
	cpl, reqReady, dataReady := d.gpu.Target()
	if cplReady && d.registerData(cpl) != cpl.Data {
		d.injected++
	}
	if d.bar0Write && beat.Valid && dataReady {
		d.base = beat.Data & 0xffffffff &^ (pcicfg.BAR0Size - 1)
		d.bar0Write = false
	}
	if d.bar0Read && cplReady && cpl.Status != port.CplNone {
		d.base = cpl.Data & 0xffffffff &^ (pcicfg.BAR0Size - 1)
		d.bar0Read = false
	}
	if req.Kind != port.None && reqReady {
		d.bar0Read = req.Kind == port.CfgRead && req.Addr == pcicfg.BAR0
		d.register = req.Kind == port.MemRead && req.Addr&^(pcicfg.BAR0Size-1) == d.base
		d.bar0Write = req.Kind == port.CfgWrite && req.Addr == pcicfg.BAR0
	}
}

// applyWrite applies the faults to VRAM after a write.
func (d *Device) applyWrite(off uint64, beat port.Beat) {
	var p [8]byte
	d.gpu.PeekVRAM(off, p[:])
	good := binary.LittleEndian.Uint64(p[:])
	v := good
	for lane := range 8 {
		if d.enables>>lane&1 != 0 {
			m := uint64(0xff) << (8 * lane)
			v = v&^m | beat.Data&m
		}
	}
	for _, f := range d.flips {
		if f.rng.Float64() < f.rate {
			v ^= 1 << f.rng.IntN(64)
		}
	}
	v = d.level(v)
	binary.LittleEndian.PutUint64(p[:], v)
	cells := d.cells(off)
	if v != good || len(cells) > 1 {
		d.injected++
	}
	for _, cell := range cells {
		d.gpu.PokeVRAM(cell, p[:])
	}
}

// cells returns the offsets, including off, that reach the same cell as off.
func (d *Device) cells(off uint64) []uint64 {
	want := d.cell(off)
	var cells []uint64
	rest := off &^ d.mask
	for n := uint64(0); n < 1<<bits.OnesCount64(d.mask); n++ {
		if at := rest | deposit(n, d.mask); d.cell(at) == want {
			cells = append(cells, at)
		}
	}
	return cells
}

// cell returns the offset of the cell that an access to off reaches.
func (d *Device) cell(off uint64) uint64 {
	for _, f := range d.lines {
		switch {
		case f.Kind == ShortAddress:
			off = f.short(off)
		case f.High:
			off |= 1 << f.Line
		default:
			off &^= 1 << f.Line
		}
	}
	return off
}

// short returns v with both lines of the fault at the same level.
func (f Fault) short(v uint64) uint64 {
	both := uint64(1)<<f.Line | 1<<f.Other
	switch {
	case v&both == 0 || v&both == both:
		return v
	case f.High:
		return v | both
	}
	return v &^ both
}

// deposit moves the low bits of n to the one bits of mask.
func deposit(n, mask uint64) uint64 {
	var v uint64
	for ; mask != 0; mask &= mask - 1 {
		if n&1 != 0 {
			v |= mask & -mask
		}
		n >>= 1
	}
	return v
}

// IdleFor returns the GPU's idle time.
func (d *Device) IdleFor() uint64 { return d.gpu.IdleFor() }

// Skip advances the GPU by n clocks without input.
func (d *Device) Skip(n uint64) { d.gpu.Skip(n) }

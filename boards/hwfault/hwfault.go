// Package hwfault plants hardware faults in an emulated GPU: lines of its VRAM
// and of its register path that are stuck, shorted or dead.
//
// The faults are planted from outside. The memory behind the GPU's ports is
// held, after every clock that writes to it, in the state that a memory with
// the fault would show: cells that a stuck address line makes one are kept
// equal, a stuck data line keeps its level in every word. So the host's
// aperture and the engines of the GPU see the same broken memory, and the RTL
// and a GPU without a fault are as they were.
package hwfault

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A GPU is a device whose VRAM can be reached between clocks.
type GPU interface {
	port.Device

	// WritingVRAM returns what the next clock writes: the offset, in bytes and
	// a multiple of 8, and the beat.
	WritingVRAM() (off uint64, beat port.Beat)

	// PeekVRAM and PokeVRAM read and write VRAM at an offset in bytes.
	PeekVRAM(off uint64, p []byte)
	PokeVRAM(off uint64, p []byte)
}

// Device is a GPU with faults: a port.Device around it. What it does depends on
// the faults and on what it is asked, never on anything else.
type Device struct {
	gpu   GPU
	lines []Fault // the faults of address lines
	mask  uint64  // the address lines that they involve

	high, low uint64  // bits of a word that are always 1, always 0
	pairs     []Fault // data lines of a word that are shorted
	enables   uint8   // lanes that every write writes
	flips     []flipper

	regHigh, regLow uint32 // bits of a register read that are always 1, always 0
	base            uint64 // of BAR0, from the configuration accesses seen
	bar0            bool   // the beat that is due is a configuration write of BAR0
	where           bool   // the answer that is due is to a configuration read of BAR0
	register        bool   // the read in work is of BAR0

	harmed uint64
}

var _ port.Device = (*Device)(nil)

// A flipper decides which writes lose a bit.
type flipper struct {
	rate float64
	rng  *rand.Rand
}

// New returns gpu, which has vramBytes of VRAM, with the faults, which Parse
// has returned for this size. VRAM holds from then on what a memory with the
// faults can hold. A host has to read or write the address of BAR0 before
// registers have their faults.
func New(gpu GPU, vramBytes uint64, faults []Fault) *Device {
	d := &Device{gpu: gpu}
	for _, f := range faults {
		d.plant(f)
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
	return d
}

// level returns what the data lines make of a word.
func (d *Device) level(v uint64) uint64 {
	for _, f := range d.pairs {
		v = f.short(v)
	}
	return v&^d.low | d.high
}

func (d *Device) plant(f Fault) {
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
		stick(&d.high, &d.low, 1<<f.Line, f.High)
	case ShortData:
		d.pairs = append(d.pairs, f)
	case BitFlip:
		d.flips = append(d.flips, flipper{f.Rate, rand.New(rand.NewPCG(f.Seed, 0))})
	case StuckRegister:
		if f.High {
			d.regHigh |= 1 << f.Line
		} else {
			d.regLow |= 1 << f.Line
		}
	}
}

// stick adds the bit to high or low; the later fault counts.
func stick(high, low *uint64, bit uint64, level bool) {
	*high, *low = *high&^bit, *low&^bit
	if level {
		*high |= bit
	} else {
		*low |= bit
	}
}

// Harmed returns how many writes of VRAM and beats of register reads the faults
// have changed or doubled.
func (d *Device) Injected() uint64 { return d.harmed }

// Target is the GPU's, with what stuck lines make of a register read.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	cpl, reqReady, dataReady = d.gpu.Target()
	cpl.Data = d.registerData(cpl)
	return cpl, reqReady, dataReady
}

// registerData returns the data of a completion.
func (d *Device) registerData(cpl port.Completion) uint64 {
	if !d.register || cpl.Status != port.CplSuccess {
		return cpl.Data
	}
	high := uint64(d.regHigh) | uint64(d.regHigh)<<32
	low := uint64(d.regLow) | uint64(d.regLow)<<32
	return cpl.Data&^low | high
}

// Initiator is the GPU's.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.gpu.Initiator() }

// Tick advances the GPU one clock and lets the faults act on what it wrote.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.follow(req, beat, cplReady)
	off, written := d.gpu.WritingVRAM()
	d.gpu.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	if written.Valid {
		d.wrote(off, written)
	}
}

// follow keeps where BAR0 is and whether the read in work is of it. The GPU
// serves one request at a time.
func (d *Device) follow(req port.Request, beat port.Beat, cplReady bool) {
	cpl, reqReady, dataReady := d.gpu.Target()
	if cplReady && d.registerData(cpl) != cpl.Data {
		d.harmed++
	}
	if d.bar0 && beat.Valid && dataReady {
		d.base = beat.Data & 0xffffffff &^ (pcicfg.BAR0Size - 1)
		d.bar0 = false
	}
	if d.where && cplReady && cpl.Status != port.CplNone {
		d.base = cpl.Data & 0xffffffff &^ (pcicfg.BAR0Size - 1)
		d.where = false
	}
	if req.Kind != port.None && reqReady {
		d.where = req.Kind == port.CfgRead && req.Addr == pcicfg.BAR0
		d.register = req.Kind == port.MemRead && req.Addr&^(pcicfg.BAR0Size-1) == d.base
		d.bar0 = req.Kind == port.CfgWrite && req.Addr == pcicfg.BAR0
	}
}

// wrote brings VRAM into the state in which the faults leave it after a write.
func (d *Device) wrote(off uint64, beat port.Beat) {
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
		d.harmed++
	}
	for _, cell := range cells {
		d.gpu.PokeVRAM(cell, p[:])
	}
}

// cells returns the offsets, off among them, that reach the same cell as off.
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

// short returns v with both lines of the fault at one level.
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

// deposit puts the low bits of n where mask has ones.
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

// IdleFor is the GPU's.
func (d *Device) IdleFor() uint64 { return d.gpu.IdleFor() }

// Skip is n clocks without input.
func (d *Device) Skip(n uint64) { d.gpu.Skip(n) }

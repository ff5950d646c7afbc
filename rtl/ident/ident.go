// Package ident is the identity block of the device: what it is, the time
// counter, the scratch registers and the capture of refused accesses.
package ident

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// Params are the values of the registers that describe the configuration.
type Params struct {
	Nodes      int    // command processors
	Tags       int    // DMA reads in flight
	LengthBits int    // width of a linear packet's byte count
	HostBits   int    // width of a host address
	VRAMBytes  uint64 // below 4 GiB
	VRAMPorts  int    // 1 or 2
	ClockHz    uint32 // of the clock that TIME counts
	MapHash    uint32 // of the register and packet map
	Aperture   bool   // BAR 2
	Protection bool   // windows
	Coalescing bool   // messages for several events
	Counters   bool   // performance counters
	Watchdog   bool   // the watchdog
	Timeline   bool   // fences of 64 bits
	Contexts   bool   // state saved and restored
	Preemption bool   // nodes stop where they are asked to
}

// Scratch is a write of a scratch register by a command processor.
type Scratch struct {
	Valid bool
	Index uint8 // 0 to 3
	Data  uint32
}

// Error is a refused access to a BAR; Cause idreg.ErrNone means that there is
// none.
type Error struct {
	Cause uint8  // of idreg, 1 to 3
	Write bool   // a write, not a read
	BAR   uint8  // 0 registers, 2 VRAM aperture, 7 none
	Addr  uint64 // of the refused dword, as the host sent it, in bytes
}

// Module is the identity block.
//
//	In      regs regbus.Req; s0, s1 Scratch, a pulse each; err Error, a pulse;
//	        rst reset.Signals, with Whole or Function in no clock of an access
//	Out     Rsp regbus.Rsp; Time uint64, clocks since reset; Whole, a pulse that
//	        asks for a whole reset; all registered
//	Timing  an answer 1 clock after its request; one access, two scratch
//	        writes and one error a clock
//	Reset   time, scratch and capture 0; a whole reset keeps the time
//	Order   of two writes of one scratch register in one clock the register
//	        bus wins over s1, and s1 over s0; of an error in the clock in which
//	        the host clears the capture, the error stays
//	Paths   none
//	Size    420 bits
//	Faults  none
//	Source  idreg.Block
type Module struct {
	caps     uint32
	mapHash  uint32
	vram     uint32
	clockHz  uint32
	hostBits uint32

	time     uint64
	timeHi   uint32
	scratch0 uint32
	scratch1 uint32
	scratch2 uint32
	scratch3 uint32
	errCount uint32
	errAddr  uint64
	errInfo  uint16 `w:"11"`
	whole    bool
	rsp      regbus.Rsp
}

// New returns the block after reset.
func New(p Params) Module {
	caps := uint32(p.Nodes) | uint32(p.Tags)<<8 | uint32(p.LengthBits)<<16 | uint32(p.VRAMPorts)<<27
	if p.Aperture {
		caps |= idreg.CapsAperture
	}
	if p.Protection {
		caps |= idreg.CapsProtection
	}
	if p.Coalescing {
		caps |= idreg.CapsCoalescing
	}
	if p.Timeline {
		caps |= idreg.CapsTimeline
	}
	if p.Contexts {
		caps |= idreg.CapsContexts
	}
	if p.Preemption {
		caps |= idreg.CapsPreemption
	}
	if p.Counters {
		caps |= idreg.CapsCounters
	}
	if p.Watchdog {
		caps |= idreg.CapsWatchdog
	}
	return Module{
		caps:     caps,
		mapHash:  p.MapHash,
		vram:     uint32(p.VRAMBytes),
		clockHz:  p.ClockHz,
		hostBits: uint32(p.HostBits),
	}
}

// Time returns the clocks since reset.
func (m *Module) Time() uint64 { return m.time }

// Whole reports that a whole reset is asked for, in one clock.
func (m *Module) Whole() bool { return m.whole }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Reset clears the registers.
func (m *Module) Reset() {
	m.time, m.timeHi = 0, 0
	m.clear()
}

// clear is a whole reset.
func (m *Module) clear() {
	m.scratch0, m.scratch1, m.scratch2, m.scratch3 = 0, 0, 0, 0
	m.errCount, m.errAddr, m.errInfo = 0, 0, 0
	m.whole = false
	m.rsp = regbus.Rsp{}
}

// Tick is one rising clock edge.
func (m *Module) Tick(regs regbus.Req, s0, s1 Scratch, err Error, rst reset.Signals) {
	m.rsp = regbus.Rsp{}
	m.whole = false
	mine := regs.Op != regbus.None && regs.Off-idreg.Base < idreg.Size
	if mine {
		m.answer(regs, rst.Pending)
	}
	if s0.Valid {
		m.write(s0.Index, s0.Data)
	}
	if s1.Valid {
		m.write(s1.Index, s1.Data)
	}
	if mine && regs.Op == regbus.Write {
		m.perform(regs)
	}
	if err.Cause != idreg.ErrNone {
		m.capture(err)
	}
	m.time++
	if rst.Function {
		m.Reset()
	} else if rst.Whole {
		m.clear()
	}
}

// write sets a scratch register.
func (m *Module) write(i uint8, v uint32) {
	switch i & 3 {
	case 0:
		m.scratch0 = v
	case 1:
		m.scratch1 = v
	case 2:
		m.scratch2 = v
	default:
		m.scratch3 = v
	}
}

// scratch returns a scratch register.
func (m *Module) scratch(i uint8) uint32 {
	v := m.scratch3
	switch i & 3 {
	case 0:
		v = m.scratch0
	case 1:
		v = m.scratch1
	case 2:
		v = m.scratch2
	default:
	}
	return v
}

// answer answers an access, a read with the register before the clock.
func (m *Module) answer(r regbus.Req, resetting bool) {
	write := r.Op == regbus.Write
	m.rsp.Hit = true
	switch r.Off - idreg.Base {
	case idreg.Magic:
		m.rsp.Data = idreg.MagicValue
	case idreg.Version:
		m.rsp.Data = idreg.VersionValue
	case idreg.Caps:
		m.rsp.Data = m.caps
	case idreg.MapHash:
		m.rsp.Data = m.mapHash
	case idreg.VRAMSize:
		m.rsp.Data = m.vram
	case idreg.ClockHz:
		m.rsp.Data = m.clockHz
	case idreg.TimeLo:
		m.rsp.Data = uint32(m.time)
		if !write {
			m.timeHi = uint32(m.time >> 32)
		}
	case idreg.TimeHi:
		m.rsp.Data = m.timeHi
	case idreg.Scratch0, idreg.Scratch1, idreg.Scratch2, idreg.Scratch3:
		m.rsp.Data = m.scratch(uint8(r.Off >> 2))
	case idreg.ErrCount:
		m.rsp.Data = m.errCount
	case idreg.ErrAddrLo:
		m.rsp.Data = uint32(m.errAddr)
	case idreg.ErrAddrHi:
		m.rsp.Data = uint32(m.errAddr >> 32)
	case idreg.ErrInfo:
		m.rsp.Data = uint32(m.errInfo)
	case idreg.HostBits:
		m.rsp.Data = m.hostBits
	case idreg.Reset:
		if resetting {
			m.rsp.Data = idreg.ResetWhole
		}
	default:
		m.rsp.Hit = false
	}
	if write {
		m.rsp.Data = 0
	}
}

// perform performs a write.
func (m *Module) perform(r regbus.Req) {
	switch r.Off - idreg.Base {
	case idreg.Scratch0, idreg.Scratch1, idreg.Scratch2, idreg.Scratch3:
		m.write(uint8(r.Off>>2), r.Data)
	case idreg.ErrCount:
		m.errCount = r.Data
	case idreg.ErrInfo:
		m.errInfo, m.errAddr = 0, 0
	case idreg.Reset:
		m.whole = r.Data&idreg.ResetWhole != 0
	default:
	}
}

// capture counts an error and keeps the first one since the capture was armed.
func (m *Module) capture(e Error) {
	if m.errCount != math.MaxUint32 {
		m.errCount++
	}
	if m.errInfo&idreg.ErrInfoCause == 0 {
		m.errAddr = e.Addr
		m.errInfo = uint16(e.Cause)&idreg.ErrInfoCause | uint16(e.BAR&7)<<8
		if e.Write {
			m.errInfo |= idreg.ErrInfoWrite
		}
	}
}

// IdleFor returns math.MaxUint64: nothing but the time moves without an input,
// except an answer, which lasts one clock.
func (m *Module) IdleFor() uint64 {
	if m.rsp.Hit {
		return 0
	}
	return math.MaxUint64
}

// Skip is n clocks without input.
func (m *Module) Skip(n uint64) { m.time += n }

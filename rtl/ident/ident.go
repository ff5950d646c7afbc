// Package ident is the identity block of the device: its description, the time
// counter and the capture of refused accesses. Registers of the block that are
// only storage are in rtl/regram.
package ident

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// Params are the values of the registers that describe the configuration.
type Params struct {
	Nodes      int      // number of command processors
	Tags       int      // number of DMA reads in flight
	LengthBits int      // width of a linear packet's byte count
	HostBits   int      // width of a host address
	VRAMBytes  uint64   // below 4 GiB
	VRAMPorts  int      // 1 or 2
	ClockHz    uint32   // of the clock that TIME counts
	MapHash    uint32   // of the register and packet map
	Build      uint32   // of the gateware, 0 if it has none
	Caps       caps.Set // the optional features of the configuration
}

// Error is a refused access to a BAR. Cause idreg.ErrNone means that there is
// none.
type Error struct {
	Cause  uint8  // of idreg, 1 to 4
	Write  bool   // a write, not a read
	BAR    uint8  // 0 registers, 2 VRAM aperture, 7 none
	Addr   uint64 // of the refused dword, in bytes, as the host sent it, or an offset in BAR 0
	Second bool   // an access of the second master
}

// Module is the identity block.
//
//	In      regs regbus.Req; err Error, a pulse of its Cause in no clock of an
//	        access; rst reset.Signals, with Whole or Function in none either
//	Out     Rsp regbus.Rsp; Time uint64, clocks since reset; Latches, in the
//	        clock of an answer that is TIME_LO; Captured, a level; Whole, a pulse
//	        that requests a whole-device reset; Sweep, levels; all registered
//	Timing  an answer 1 clock after its request; TIME_LO and ERR_COUNT have the
//	        value of that clock; one access and one error a clock
//	Reset   time and capture 0; a whole-device reset keeps the time
//	Paths   none
//	Size    147 bits
//	Faults  an error in a clock of an access is an assertion
//	Source  idreg.Block
type Module struct {
	caps     uint32
	caps2    uint32
	mapHash  uint32
	build    uint32
	vram     uint32
	clockHz  uint32
	hostBits uint32
	limited  bool // READ_TIMEOUT exists
	shared   bool // the register bus has a second master

	time     uint64
	errCount uint32
	errInfo  uint16 `w:"11"`
	whole    bool
	timeout  uint8 `w:"3"` // READ_TIMEOUT

	hit       bool
	showTime  bool   // the answer is TIME_LO
	showCount bool   // the answer is ERR_COUNT
	fixed     uint32 // the answer is this value
}

// sweepClocks is the length of a sweep, in clocks: one for each tag.
const sweepClocks = 64

// New returns the block after reset.
func New(p Params) Module {
	numbers := uint32(p.Nodes) | uint32(p.Tags)<<8 | uint32(p.LengthBits)<<16 | uint32(p.VRAMPorts)<<27
	return Module{
		caps:     numbers | p.Caps.Word(0),
		caps2:    p.Caps.Word(1),
		mapHash:  p.MapHash,
		build:    p.Build,
		vram:     uint32(p.VRAMBytes),
		clockHz:  p.ClockHz,
		hostBits: uint32(p.HostBits),
		limited:  p.Caps.Has(caps.ReadTimeout),
		shared:   p.Caps.Has(caps.Master),
	}
}

// Time returns the clocks since reset.
func (m *Module) Time() uint64 { return m.time }

// Whole reports whether a whole-device reset is requested, for one clock.
func (m *Module) Whole() bool { return m.whole }

// Latches reports whether TIME_LO is read, so that TIME_HI must latch the high
// half.
func (m *Module) Latches() bool { return m.showTime }

// Captured reports whether a refused access is captured.
func (m *Module) Captured() bool { return m.errInfo&idreg.ErrInfoCause != 0 }

// Sweep reports whether this clock is one of the 64 with which a period of
// READ_TIMEOUT begins. at is the number of the clock, and counts in all clocks.
func (m *Module) Sweep() (open bool, at uint8) {
	at = uint8(m.time) & (sweepClocks - 1)
	if m.limited && !hdl.Asleep(m.timeout == 0) {
		open = m.timeout != 0 && uint32(m.time)&m.periodMask()&^(sweepClocks-1) == 0
	}
	return open, at
}

// periodMask returns the bits of the time that count the clocks of a period.
func (m *Module) periodMask() uint32 { return ^(^uint32(0) << (4*m.timeout + 3)) }

// UntilSweep returns the clocks until Sweep is open, 0 while it is, and
// math.MaxUint64 if READ_TIMEOUT is 0.
func (m *Module) UntilSweep() uint64 {
	mask := uint64(m.periodMask())
	switch {
	case m.timeout == 0:
		return math.MaxUint64
	case m.time&mask < sweepClocks:
		return 0
	}
	return mask + 1 - m.time&mask
}

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	data := m.fixed
	if m.showTime {
		data |= uint32(m.time)
	}
	if m.showCount {
		data |= m.errCount
	}
	return regbus.Rsp{Hit: m.hit, Data: data}
}

// Reset clears the registers.
func (m *Module) Reset() {
	m.time = 0
	m.clear()
}

// clear is a whole-device reset.
func (m *Module) clear() {
	m.errCount, m.errInfo = 0, 0
	m.whole = false
	m.timeout = 0
	m.hit, m.showTime, m.showCount, m.fixed = false, false, false, 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(regs regbus.Req, err Error, rst reset.Signals) {
	// The time counts in each clock, so the GPU cannot skip Tick.
	if hdl.Asleep(regs.Op == regbus.None && err.Cause == idreg.ErrNone && !m.hit && !rst.Whole) {
		m.time++
		return
	}
	m.hit, m.showTime, m.showCount, m.fixed = false, false, false, 0
	m.whole = false
	hdl.Assert(regs.Op == regbus.None || err.Cause == idreg.ErrNone, "ident: an error in the clock of an access")
	more := uint64(m.errCount) + 1
	if regs.Op != regbus.None && regs.Off&^(idreg.Size-1) == idreg.Base {
		m.answer(regs, rst.Pending)
		if regs.Op == regbus.Write {
			m.perform(regs)
		}
	}
	if err.Cause != idreg.ErrNone {
		m.capture(err)
		if more>>32 == 0 {
			m.errCount = uint32(more)
		}
	}
	m.time++
	if rst.Function {
		m.Reset()
	} else if rst.Whole {
		m.clear()
	}
}

// answer answers an access.
func (m *Module) answer(r regbus.Req, resetting bool) {
	read := r.Op == regbus.Read
	m.hit = true
	switch r.Off - idreg.Base {
	case idreg.Magic:
		m.fixed = idreg.MagicValue
	case idreg.Version:
		m.fixed = idreg.VersionValue
	case idreg.Caps:
		m.fixed = m.caps
	case idreg.Caps2:
		m.fixed = m.caps2
	case idreg.MapHash:
		m.fixed = m.mapHash
	case idreg.VRAMSize:
		m.fixed = m.vram
	case idreg.ClockHz:
		m.fixed = m.clockHz
	case idreg.TimeLo:
		m.showTime = read
	case idreg.ErrCount:
		m.showCount = read
	case idreg.ErrInfo:
		m.fixed = uint32(m.errInfo)
	case idreg.HostBits:
		m.fixed = m.hostBits
	case idreg.Reset:
		if resetting {
			m.fixed = idreg.ResetWhole
		}
	case idreg.ReadTimeout:
		m.hit = m.limited
		m.fixed = uint32(m.timeout)
	case idreg.Build:
		m.fixed = m.build
	default:
		m.hit = false
	}
	if !read {
		m.fixed = 0
	}
}

// perform performs a write.
func (m *Module) perform(r regbus.Req) {
	switch r.Off - idreg.Base {
	case idreg.ErrCount:
		m.errCount = r.Data
	case idreg.ErrInfo:
		m.errInfo = 0
	case idreg.Reset:
		m.whole = r.Data&idreg.ResetWhole != 0
	case idreg.ReadTimeout:
		if m.limited {
			m.timeout = uint8(r.Data) & idreg.ReadTimeoutRange
		}
	default:
	}
}

// capture stores the first error since the capture was armed, without its
// address.
func (m *Module) capture(e Error) {
	if !m.Captured() {
		m.errInfo = uint16(e.Cause)&idreg.ErrInfoCause | uint16(e.BAR&7)<<8
		if e.Write {
			m.errInfo |= idreg.ErrInfoWrite
		}
		if m.shared && e.Second {
			m.errInfo |= idreg.ErrInfoSecond
		}
	}
}

// IdleFor returns math.MaxUint64, or 0 during an answer, which lasts one clock.
// Without an input only the time advances.
func (m *Module) IdleFor() uint64 {
	if m.hit {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. Only the time advances.
func (m *Module) Skip(n uint64) { m.time += n }

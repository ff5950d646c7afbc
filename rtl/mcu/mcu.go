// Package mcu is the microcontroller: the processor core with what its program reaches. That is
// a timer, a master of the register bus, and windows to host memory and VRAM. The host loads
// the program, sets what it may write, and debugs it.
package mcu

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// Params configure a microcontroller.
//
//	Bytes      size of its memory, a power of two, core.MinBytes to core.MaxBytes
//	HostBits   width of a host address, 32 to 62
//	VRAMBytes  size of VRAM, a power of two, at most 4 GiB
type Params struct {
	Bytes     int
	HostBits  int
	VRAMBytes uint64
}

// Mem is what the memories answer.
//
//	ReadReady   the header of the read is taken
//	WriteReady  the header of the write is taken
//	BeatReady   its beat is taken
//	Refused     with BeatReady: the write was refused, because bus mastering is off
//	Free        a write may begin in the next clock
//	Cpl         a completion for the read, none if there is none
type Mem struct {
	ReadReady  bool
	WriteReady bool
	BeatReady  bool
	Refused    bool
	Free       bool
	Cpl        port.Completion
}

// Module is the microcontroller.
//
// A unit with one state machine does the accesses of the program outside of its memory. The
// windows and the mail words are in a RAM that the host and this unit share. The host is first.
// The RAM also has copies of LIMIT, BLOCKS, the breakpoints, the watchpoint and the compare value of
// the timer: a read of them returns the copy.
//
//	In      regs regbus.Req; bus arbiter.Answer, to Ask; mem Mem; now, the time; events, EVENTS
//	        of the second master; rst reset.Signals, with Whole in no clock of an access of the
//	        register bus
//	Out     Rsp regbus.Rsp; Ask regbus.Req, for one clock; Read port.Request and Write
//	        port.Request, port.Beat, valid/ready each, of one dword; Hang, a pulse; all registered
//	Timing  an answer 1 clock after its request, to retry while the RAM is cleared and during the
//	        8 clocks in which the CRC takes a word. An access of the program takes 3 clocks to a
//	        register of its own, 5 to one that the RAM has, 4 and those of the arbiter to the
//	        register bus, and 10 and those of the memory through a window; 1 more for each time
//	        that the host has the RAM or rings doorbells
//	Reset   the processor is in reset; windows, mail words and copies are those of a reset within
//	        64 clocks; the timer is set to its end. The memory keeps its contents. After a
//	        whole-device reset, an access to the register bus is still answered, and its answer
//	        dropped
//	Order   an access is complete before the next instruction. The program reads or clears its
//	        doorbells in a clock in which the host rings none
//	Paths   none
//	Size    Params.Bytes, 64 words, and 795 bits with those of the core
//	Faults  the program gets an access fault for an address without anything, a write that it may
//	        not do, a write of a part of a register, a register that does not exist or belongs to
//	        the host, and an access to memory that fails or is refused
//	Source  mcureg.Block, mcureg.Debug, docs/design.md#mcu
type Module struct {
	memory   uint32 // KiB
	hostMask uint32 // bits of the high half of an address that no host address has
	vramMask uint32 // bits of the low half that no address in VRAM has

	core core.Module
	rows hdl.RAM // rows 0 to 31: windows; then mail words, and copies of registers for reads

	host   host
	loader loader
	timer  timer
	access access
	debug  debug
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Rsp", "Ask", "Read", "Writing", "Write", "Hang"}

// Rows of the RAM.
const (
	freeRow    = mcureg.FreeWindow * mcureg.Stride / 4
	hostRow    = 32 // the registers of the host from 0x00 to 0x7f
	compareRow = hostRow | 6
	blocksRow  = hostRow | mcureg.Blocks/4
	mailRow    = hostRow | mcureg.Mail/4
	pointRow   = 56 // breakpoints, watchpoint
	rows       = 64
)

// New returns a microcontroller after reset, with a memory of zeros.
func New(p Params) Module {
	m := Module{
		memory: uint32(p.Bytes >> 10), hostMask: ^(uint32(1)<<(p.HostBits-32) - 1) &^ hostBit, vramMask: ^uint32(p.VRAMBytes - 1),
		core: core.New(core.Config{Bytes: p.Bytes, Counters: true, Debug: true}),
		rows: hdl.NewNarrowRAM(rows, 32),
	}
	m.Reset()
	return m
}

// Reset puts the processor in reset, and clears the registers.
func (m *Module) Reset() {
	m.core.Reset()
	m.clear()
	m.access = access{}
}

// clear clears the registers of the host and the debugger.
func (m *Module) clear() {
	m.host, m.debug = host{}, debug{}
	m.loader = loader{crc: crc32.Init}
	m.timer = timer{low: math.MaxUint32, high: math.MaxUint32}
}

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	r := m.host.rsp
	if m.host.row {
		r.Data |= uint32(m.rows.Out())
	}
	return r
}

// Hang reports, for one clock, that the program has been silent for LIMIT clocks.
func (m *Module) Hang() bool { return m.host.hangs }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the other inputs are.
func (m *Module) Sleeps(regs regbus.Req, now uint64, events uint16, rst reset.Signals) bool {
	return regs.Op == regbus.None && !rst.Whole && m.rests(events) && m.timer.due == m.timer.reached(now)
}

// Stays reports whether a Tick with these inputs changes nothing, if Sleeps or Stays was
// true in the clock before. It is false for some that change nothing.
func (m *Module) Stays(regs regbus.Req, now uint64, events uint16, rst reset.Signals) bool {
	wakes := m.timer.due || m.timer.reached(now) || events&m.timer.events != 0
	return regs.Op == regbus.None && !rst.Whole && !wakes
}

// rests reports whether only an input can change anything.
func (m *Module) rests(events uint16) bool {
	busy := m.access.state != stateIdle || m.loader.left != 0 || m.host.busy() || m.debug.pulses()
	return !busy && core.Sleeps(m.core.Rest(), m.interrupts(events), m.control())
}

// IdleFor returns 0 while the program runs, the clocks until the timer is due if it sleeps, and
// math.MaxUint64 if only an input can wake it.
func (m *Module) IdleFor(now uint64, events uint16) uint64 {
	switch {
	case !m.rests(events) || m.timer.due != m.timer.reached(now):
		return 0
	case m.timer.due || m.timer.compare() == math.MaxUint64:
		return math.MaxUint64
	}
	return m.timer.compare() - now
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(uint64) {}

// Tick is one rising clock edge.
func (m *Module) Tick(regs regbus.Req, bus arbiter.Answer, mem Mem, now uint64, events uint16, rst reset.Signals) {
	request, state, pc := m.core.Request(), m.core.State(), m.core.PC()
	sent, sends := m.core.Sent()
	stored, stores := m.core.Stored()
	irq, ctl, load := m.interrupts(events), m.control(), m.loader.load()
	dbg := m.debug.inputs(pc, stored, stores, m.words())
	answer, word := m.access.answer(), uint32(m.rows.Out())
	was := before{loading: m.loader.left != 0, bells: m.host.bells}
	if !hdl.Asleep(regs.Op == regbus.None) {
		was.value = m.value(regs.Off, state, pc)
	}

	use := m.host.use(regs)
	if !use.host {
		use = m.access.use()
	}
	m.timer.due = m.timer.reached(now)
	m.loader.tick()
	m.debug.tick(sent, sends)
	m.watch(regs, state)
	m.registers(regs, state.Halted, was)
	m.step(request, bus, mem, word, now, use.host, rings(regs), was.bells)
	m.core.Tick(irq, answer, ctl, dbg, load)
	m.rows.Tick(use.read, uint32(use.row), use.enable, uint32(use.row), uint64(use.data))
	if rst.Whole {
		m.restart()
	}
}

// words returns the size of the memory.
func (m *Module) words() uint32 { return m.memory << 8 }

// restart is a whole-device reset.
func (m *Module) restart() {
	m.clear()
	asked := m.access.state == stateBus
	m.access = access{}
	if asked {
		m.access.state, m.access.orphan = stateBus, true
	}
}

// interrupts returns the levels of the interrupts.
func (m *Module) interrupts(events uint16) core.Interrupts {
	return core.Interrupts{Software: m.host.bells != 0, Timer: m.timer.due, External: events&m.timer.events != 0}
}

// control returns what starts and stops the core.
func (m *Module) control() core.Control {
	return core.Control{Hold: !m.host.run, Halt: m.debug.halt || m.host.hung, Resume: m.debug.resume, Step: m.debug.step}
}

// before are values of registers before this clock, which are read in it.
type before struct {
	value   uint32 // of the register that the host accesses, if it is not in the RAM
	loading bool   // a word is not yet in the CRC
	bells   uint32
}

// A rowUse is what is done with the RAM in a clock.
type rowUse struct {
	host   bool // the host or the clearing has it
	read   bool
	enable uint8 `w:"4"`
	row    uint8 `w:"6"`
	data   uint32
}

// A timer has the compare value, and which events interrupt.
type timer struct {
	low    uint32 // of the compare value
	high   uint32
	due    bool
	events uint16 `w:"12"`
}

// compare returns the compare value.
func (t *timer) compare() uint64 { return uint64(t.high)<<32 | uint64(t.low) }

// reached reports whether the time has reached the compare value.
func (t *timer) reached(now uint64) bool { return now >= t.compare() }

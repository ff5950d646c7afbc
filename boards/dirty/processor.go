package dirty

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// writer is a program that stores to window 0, to MAIL0 and to KICK without end.
var writer = []uint32{
	0x800007b7, //       lui  a5, 0x80000
	0x10000737, //       lui  a4, 0x10000
	0x00d7a023, // loop: sw   a3, 0(a5)
	0x00168693, //       addi a3, a3, 1
	0x04d72023, //       sw   a3, 0x40(a4)
	0x00072a23, //       sw   zero, 0x14(a4)
	0xff1ff06f, //       j    loop
}

// sleeper is a program that sleeps until a doorbell rings, which it does not clear.
var sleeper = []uint32{
	0x00001537, //       lui  a0, 1
	0x88850513, //       addi a0, a0, -0x778
	0x30451073, //       csrw mie, a0
	0x10500073, // loop: wfi
	0xffdff06f, //       j    loop
}

const writerLoop = 8 // address of the loop of writer

// processor leaves the microcontroller with a program that runs, sleeps, has stopped or was halted by
// a debugger, if the device has one.
func (s *session) processor() {
	if !s.caps.Has(caps.MCU) {
		return
	}
	s.set(mcureg.Ctl, 0)
	s.points()
	s.open()
	switch s.rng.IntN(9) {
	case 0:
		s.run(writer)
	case 1:
		s.run(sleeper)
	case 2:
		s.run(writer)
		s.debug(mcureg.DebugCtl, mcureg.CtlHalt)
	case 3:
		s.debug(mcureg.Break+4*s.rng.Uint32N(mcureg.Breakpoints), writerLoop|mcureg.PointEnable)
		s.run(writer)
	case 4:
		s.debug(mcureg.Watch, mcureg.Local+mcureg.Mail|mcureg.PointEnable)
		s.run(writer)
	case 5:
		s.set(mcureg.Limit, 1+s.rng.Uint32N(1000))
		s.run([]uint32{0x0000006f}) // a jump to itself
	case 6:
		s.run([]uint32{s.rng.Uint32(), s.rng.Uint32(), s.rng.Uint32(), s.rng.Uint32()})
	case 7:
		s.boot()
	case 8: // it stays in reset
	}
	s.pass(s.rng.Uint64N(1000))
	if s.chance(1, 2) {
		s.set(mcureg.Doorbell, s.number())
	}
}

// set and debug write a register of the microcontroller and of its debug unit.
func (s *session) set(off, v uint32)   { s.write(mcureg.Base+off, v) }
func (s *session) debug(off, v uint32) { s.write(mcureg.DebugBase+off, v) }

// points clears LIMIT, the halt, the breakpoints and the watchpoint, or leaves them at addresses that
// no program has.
func (s *session) points() {
	const nowhere = 1 << 28
	s.set(mcureg.Limit, 0)
	s.debug(mcureg.DebugCtl, 0)
	for i := range uint32(mcureg.Breakpoints) {
		s.debug(mcureg.Break+4*i, s.rng.Uint32N(2)*(nowhere|s.rng.Uint32N(nowhere)))
	}
	s.debug(mcureg.Watch, s.rng.Uint32N(2)*(nowhere<<1|s.rng.Uint32N(nowhere)))
}

// open sets what the program may access: at random, but a dword of VRAM in window 0.
func (s *session) open() {
	for _, e := range s.regs {
		if e.Block.Name == mcureg.Block.Name && e.Reg.Poke == reg.Idle && e.Reg.Access == reg.RW && s.chance(3, 4) {
			s.write(e.Off(), s.number()&writable(e.Reg, true))
		}
	}
	s.set(mcureg.Window+mcureg.BaseLo, s.rng.Uint32N(uint32(s.vram))&mcureg.BaseLoBytes)
	s.set(mcureg.Window+mcureg.BaseHi, 0)
	s.set(mcureg.Window+mcureg.WindowSize, 4|mcureg.SizeWrite)
}

// run loads a program and starts it.
func (s *session) run(words []uint32) {
	s.set(mcureg.LoadAddr, 0)
	for _, w := range words {
		s.set(mcureg.LoadData, w)
	}
	s.set(mcureg.Ctl, mcureg.CtlRun)
}

// registers are the registers of the session as package firmware accesses them.
type registers struct{ s *session }

// Read implements firmware.Registers.
func (r registers) Read(off uint32) (uint32, error) {
	v := r.s.read(off)
	return v, r.s.err
}

// Write implements firmware.Registers.
func (r registers) Write(off, v uint32) error {
	r.s.write(off, v)
	return r.s.err
}

// boot starts the firmware with a message area in the session's memory and a request in it.
func (s *session) boot() {
	area := s.mem.bytes[:fwabi.AreaBytes]
	clear(area)
	binary.LittleEndian.PutUint32(area[fwabi.AreaMagicWord:], fwabi.AreaMagic)
	binary.LittleEndian.PutUint32(area[fwabi.AreaVersion:], fwabi.Version)
	binary.LittleEndian.PutUint32(area[fwabi.AreaRings:], fwabi.RingsMost)
	binary.LittleEndian.PutUint32(area[fwabi.AreaRequestTail:], s.rng.Uint32N(2))
	o := firmware.Options{Blocks: 1 << (intcreg.Base / mcureg.BlockBytes), Limit: 1 << 20, Clocks: 1 << 20, Polls: 1 << 14}
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: pkt.Host | s.mem.base, Bytes: fwabi.AreaBytes, Write: true}
	// An earlier boot that failed is a state too.
	_, _ = firmware.Load(registers{s}, firmware.Default(), o)
	s.set(mcureg.Doorbell, fwabi.BellMessages)
}

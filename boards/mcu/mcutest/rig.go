// Package mcutest has a microcontroller for the tests of its debugger: the core, with registers
// as rtl/abi/mcureg describes them.
package mcutest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
)

// A Rig is a microcontroller with a bus that the test answers. It implements mcu.Registers.
//
//	Each    clocks of an access to a register
//	Slave   answers the accesses outside of the local memory; nil: each fails
//	IRQ     levels of the interrupts
//	Hung    MCU.STATUS.HUNG
//	Broken  what accesses to the registers return, if it is not nil
type Rig struct {
	Each   int
	Slave  func(core.Request) core.Answer
	IRQ    core.Interrupts
	Hung   bool
	Broken error

	Accesses uint64 // to registers
	core     core.Module
	run      bool
	at       uint32
	crc      uint32
	ctl      uint32
	data     uint32
	breaks   [mcureg.Breakpoints]uint32
	watch    uint32
	pulse    core.Control
	exec     bool
	word     uint32
	load     core.Load
}

// Bytes is the size of the local memory of a rig.
const Bytes = 16 << 10

// New returns a rig in reset.
func New() *Rig {
	return &Rig{Each: 8, core: core.New(core.Config{Bytes: Bytes, Counters: true, Debug: true})}
}

// Tick is one clock.
func (r *Rig) Tick() {
	answer := core.Answer{}
	if q := r.core.Request(); q.Valid {
		answer = core.Answer{Done: true, Fault: true}
		if r.Slave != nil {
			answer = r.Slave(q)
		}
	}
	ctl := r.pulse
	ctl.Hold, ctl.Halt = !r.run, r.ctl&mcureg.CtlHalt != 0 || r.Hung
	dbg := core.Debug{Exec: r.exec, Stop: r.stop(), Catch: r.ctl&mcureg.CtlCatch != 0, Word: r.word, Data: r.data}
	if v, ok := r.core.Sent(); ok {
		r.data = v
	}
	r.core.Tick(r.IRQ, answer, ctl, dbg, r.load)
	r.pulse, r.exec, r.load = core.Control{}, false, core.Load{}
}

// stop reports whether a breakpoint or the watchpoint halts the core.
func (r *Rig) stop() bool {
	for _, b := range r.breaks {
		if b == r.core.PC()|mcureg.PointEnable {
			return true
		}
	}
	addr, ok := r.core.Stored()
	return ok && addr&mcureg.PointAddr|mcureg.PointEnable == r.watch
}

// Read reads a register.
func (r *Rig) Read(off uint32) (uint32, error) {
	if err := r.access(); err != nil {
		return 0, err
	}
	s := r.core.State()
	switch off {
	case mcureg.Base + mcureg.Info:
		return Bytes>>10 | mcureg.Windows<<8 | mcureg.Breakpoints<<12 | mcureg.Watchpoints<<16, nil
	case mcureg.Base + mcureg.Ctl:
		return bit(r.run), nil
	case mcureg.Base + mcureg.Status:
		return bit(s.Asleep) | bit(s.Halted)<<1 | bit(r.Hung)<<2, nil
	case mcureg.Base + mcureg.CRC:
		return r.crc, nil
	case mcureg.DebugBase + mcureg.DebugCtl:
		return r.ctl, nil
	case mcureg.DebugBase + mcureg.DebugStatus:
		return bit(s.Halted) | uint32(s.Cause)<<4, nil
	case mcureg.DebugBase + mcureg.Data:
		return r.data, nil
	case mcureg.DebugBase + mcureg.PC:
		return r.core.PC(), nil
	case mcureg.DebugBase + mcureg.Watch:
		return r.watch, nil
	}
	if i := (off - mcureg.DebugBase - mcureg.Break) / 4; i < mcureg.Breakpoints {
		return r.breaks[i], nil
	}
	return 0, fmt.Errorf("mcutest: no register at %#x", off)
}

// Write writes a register.
func (r *Rig) Write(off, v uint32) error {
	if err := r.access(); err != nil {
		return err
	}
	switch off {
	case mcureg.Base + mcureg.Ctl:
		r.run = v&mcureg.CtlRun != 0
		r.Hung = r.Hung && r.run
	case mcureg.Base + mcureg.LoadAddr:
		r.at, r.crc = v&mcureg.LoadAddrBytes, 0
	case mcureg.Base + mcureg.LoadData:
		r.loads(v)
	case mcureg.DebugBase + mcureg.DebugCtl:
		r.ctl = v & (mcureg.CtlHalt | mcureg.CtlCatch)
		r.pulse.Resume, r.pulse.Step = v&mcureg.CtlResume != 0, v&mcureg.CtlStep != 0
	case mcureg.DebugBase + mcureg.Exec:
		r.exec, r.word = true, v
	case mcureg.DebugBase + mcureg.Data:
		r.data = v
	case mcureg.DebugBase + mcureg.Watch:
		r.watch = v & (mcureg.PointAddr | mcureg.PointEnable)
	default:
		i := (off - mcureg.DebugBase - mcureg.Break) / 4
		if i >= mcureg.Breakpoints {
			return fmt.Errorf("mcutest: no register at %#x", off)
		}
		r.breaks[i] = v & (mcureg.PointAddr | mcureg.PointEnable)
	}
	r.Tick()
	return nil
}

// loads writes a word to the memory of a core that is held.
func (r *Rig) loads(v uint32) {
	if r.run {
		return
	}
	r.load = core.Load{Valid: true, Addr: uint16(r.at / 4), Data: v}
	r.at += 4
	r.crc = crc32.Update(r.crc, crc32.IEEETable, binary.LittleEndian.AppendUint32(nil, v))
}

// access lets the time of an access pass.
func (r *Rig) access() error {
	r.Accesses++
	for range r.Each {
		r.Tick()
	}
	return r.Broken
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

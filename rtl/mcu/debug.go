package mcu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// debug is the debug unit.
type debug struct {
	halt   bool
	catch  bool
	resume bool // pulse
	step   bool // with resume
	exec   bool // pulse
	word   uint32
	data   uint32
	break0 breakpoint
	break1 breakpoint
	break2 breakpoint
	break3 breakpoint
	watch  watchpoint
}

// A breakpoint is at an instruction in the memory of the core.
type breakpoint struct {
	on   bool
	addr uint16 `w:"14"` // of the word
}

// at reports whether the breakpoint is at a word address.
func (p breakpoint) at(word uint32) bool { return p.on && uint32(p.addr) == word }

// breakpointOf returns the breakpoint with a value of its register. words is the size of the
// memory.
func breakpointOf(v, words uint32) breakpoint {
	inside := v>>2&^(words-1) == 0
	return breakpoint{on: v&mcureg.PointEnable != 0 && inside, addr: uint16(v>>2&(words-1)) & 0x3fff}
}

// A watchpoint is at a word that the program may write.
type watchpoint struct {
	on   bool
	addr uint32 `w:"30"` // of the word
}

// at reports whether the watchpoint is at an address.
func (p watchpoint) at(addr uint32) bool { return p.on && p.addr == addr>>2 }

// pulses reports whether the core has a new order.
func (d *debug) pulses() bool { return d.resume || d.exec }

// inputs returns what the core is asked. The last instruction stored at stored if stores is set.
// words is the size of the memory.
func (d *debug) inputs(pc, stored uint32, stores bool, words uint32) core.Debug {
	at := pc >> 2 & (words - 1)
	breaks := pc>>2&^(words-1) == 0 && (d.break0.at(at) || d.break1.at(at) || d.break2.at(at) || d.break3.at(at))
	return core.Debug{Exec: d.exec, Stop: breaks || stores && d.watch.at(stored), Catch: d.catch, Word: d.word, Data: d.data}
}

// tick ends the pulses, and takes what an instruction sends.
func (d *debug) tick(sent uint32, sends bool) {
	d.resume, d.step, d.exec = false, false, false
	if sends {
		d.data = sent
	}
}

// access takes an access to a register, and reports whether the register exists.
func (d *debug) access(r regbus.Req, write, halted bool) bool {
	switch r.Off {
	case mcureg.DebugBase + mcureg.DebugCtl:
		if write {
			d.halt, d.catch = r.Data&mcureg.CtlHalt != 0, r.Data&mcureg.CtlCatch != 0
			d.resume = r.Data&mcureg.CtlResume != 0
			d.step = d.resume && r.Data&mcureg.CtlStep != 0
		}
	case mcureg.DebugBase + mcureg.Exec:
		if write {
			d.exec, d.word = halted, r.Data
		}
	case mcureg.DebugBase + mcureg.Data:
		if write {
			d.data = r.Data
		}
	case mcureg.DebugBase + mcureg.DebugStatus, mcureg.DebugBase + mcureg.PC:
	default:
		return false
	}
	return true
}

// point sets the breakpoint or the watchpoint at an offset in BAR0. words is the size of the memory.
func (d *debug) point(off uint16, v, words uint32) {
	b := breakpointOf(v, words)
	switch off {
	case mcureg.DebugBase + mcureg.Break:
		d.break0 = b
	case mcureg.DebugBase + mcureg.Break + 4:
		d.break1 = b
	case mcureg.DebugBase + mcureg.Break + 8:
		d.break2 = b
	case mcureg.DebugBase + mcureg.Break + 12:
		d.break3 = b
	case mcureg.DebugBase + mcureg.Watch:
		d.watch = watchpoint{on: v&mcureg.PointEnable != 0, addr: v >> 2}
	default:
	}
}

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
	break0 point
	break1 point
	break2 point
	break3 point
	watch  point
}

// A point is a breakpoint or a watchpoint.
type point struct {
	on   bool
	addr uint32 `w:"30"` // of the word
}

// at reports whether the point is at an address.
func (p point) at(addr uint32) bool { return p.on && p.addr == addr>>2 }

// value returns the register of the point.
func (p point) value() uint32 { return p.addr<<2 | bit(p.on) }

// pointOf returns the point with a value of its register.
func pointOf(v uint32) point { return point{on: v&mcureg.PointEnable != 0, addr: v >> 2} }

// pulses reports whether the core has a new order.
func (d *debug) pulses() bool { return d.resume || d.exec }

// inputs returns what the core is asked. The last instruction stored at stored if stores is set.
func (d *debug) inputs(pc, stored uint32, stores bool) core.Debug {
	breaks := d.break0.at(pc) || d.break1.at(pc) || d.break2.at(pc) || d.break3.at(pc)
	return core.Debug{Exec: d.exec, Stop: breaks || stores && d.watch.at(stored), Catch: d.catch, Word: d.word, Data: d.data}
}

// tick ends the pulses, and takes what an instruction sends.
func (d *debug) tick(sent uint32, sends bool) {
	d.resume, d.step, d.exec = false, false, false
	if sends {
		d.data = sent
	}
}

// access serves the registers.
func (d *debug) access(r regbus.Req, write bool, s core.State, pc uint32) regbus.Rsp {
	rsp := regbus.Rsp{Hit: true}
	switch r.Off - mcureg.DebugBase {
	case mcureg.DebugCtl:
		rsp.Data = bit(d.halt) | bit(d.catch)<<3
		if write {
			d.halt, d.catch = r.Data&mcureg.CtlHalt != 0, r.Data&mcureg.CtlCatch != 0
			d.resume = r.Data&mcureg.CtlResume != 0
			d.step = d.resume && r.Data&mcureg.CtlStep != 0
		}
	case mcureg.DebugStatus:
		rsp.Data = bit(s.Halted) | uint32(s.Cause)<<4
	case mcureg.Exec:
		if write {
			d.exec, d.word = s.Halted, r.Data
		}
	case mcureg.Data:
		rsp.Data = d.data
		if write {
			d.data = r.Data
		}
	case mcureg.PC:
		rsp.Data = pc
	default:
		rsp = d.points(r, write)
	}
	return rsp
}

// points serves the registers of the breakpoints and the watchpoint.
func (d *debug) points(r regbus.Req, write bool) regbus.Rsp {
	rsp := regbus.Rsp{Hit: true}
	p := pointOf(r.Data)
	switch r.Off - mcureg.DebugBase {
	case mcureg.Break:
		rsp.Data = d.break0.value()
		if write {
			d.break0 = p
		}
	case mcureg.Break + 4:
		rsp.Data = d.break1.value()
		if write {
			d.break1 = p
		}
	case mcureg.Break + 8:
		rsp.Data = d.break2.value()
		if write {
			d.break2 = p
		}
	case mcureg.Break + 12:
		rsp.Data = d.break3.value()
		if write {
			d.break3 = p
		}
	case mcureg.Watch:
		rsp.Data = d.watch.value()
		if write {
			d.watch = p
		}
	default:
		rsp.Hit = false
	}
	return rsp
}

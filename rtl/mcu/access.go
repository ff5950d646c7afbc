package mcu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// hostBit is the bit of the high half of a GPU address that selects host memory.
const hostBit = 1 << 31

// state is the step of an access.
type state uint8

const (
	stateIdle   state = iota
	stateLocal        // a register of the program is read or written
	stateRow          // a row of the RAM is read or written
	stateWord         // it is read
	stateSize         // the size of a window is read
	stateBound        // the offset is compared with it
	stateLow          // the low half of its base is read
	stateAdd          // the offset is added
	stateHigh         // the high half is read
	stateCarry        // the carry is added, and the address checked
	stateFree         // a write waits until it may begin
	stateHeader       // a header is offered, and a beat
	stateReply        // a read waits for its completion
	stateAsk          // the register bus is asked
	stateBus          // its answer is waited for
	stateDone         // the core gets the answer
)

// access does the accesses of the program outside of its memory.
//
// A reset of the processor leaves an access that has begun alone. It is then an orphan: it ends,
// and nobody gets its answer.
type access struct {
	state  state
	orphan bool
	fault  bool
	carry  bool
	header bool   // a header is offered
	beat   bool   // a beat is offered
	enable uint8  `w:"4"` // bytes that are written; 0: a read
	low    uint32 // address of the program; then the low half of the GPU address
	high   uint32 // high half of the GPU address
	data   uint32
}

// answer returns the answer to the core.
func (a *access) answer() core.Answer {
	return core.Answer{Done: a.state == stateDone && !a.orphan, Fault: a.fault, Data: a.data}
}

// writes reports whether it is a write.
func (a *access) writes() bool { return a.enable != 0 }

// Ask returns the next access to the register bus, for one clock.
func (m *Module) Ask() regbus.Req {
	r := regbus.Req{Off: uint16(m.access.low) &^ 3, Data: m.access.data}
	if m.access.state == stateAsk {
		r.Op = regbus.Read
		if m.access.writes() {
			r.Op = regbus.Write
		}
	}
	return r
}

// Read returns the header of a read.
func (m *Module) Read() port.Request {
	r := port.Request{Len: 1, Addr: m.access.address()}
	if m.access.header && !m.access.writes() {
		r.Kind = port.MemRead
	}
	return r
}

// Writing reports whether Write has a header or a beat.
func (m *Module) Writing() bool { return m.access.writes() && (m.access.header || m.access.beat) }

// Write returns the header and the beat of a write.
func (m *Module) Write() (req port.Request, beat port.Beat) {
	req = port.Request{Len: 1, Addr: m.access.address()}
	if m.access.header && m.access.writes() {
		req.Kind = port.MemWrite
	}
	beat = port.Beat{Valid: m.access.beat, Last: true, Enable: m.access.enable, Data: uint64(m.access.data)<<32 | uint64(m.access.data)}
	if m.access.low&4 != 0 {
		beat.Enable = m.access.enable << 4
	}
	return req, beat
}

// address returns the GPU address of the dword.
func (a *access) address() uint64 { return uint64(a.high)<<32 | uint64(a.low&^3) }

// use returns what the access does with the RAM in this clock, if the host does not have it.
func (a *access) use() rowUse {
	window := uint8(a.low>>28) & 7 << 2
	u := rowUse{read: true, row: window, data: a.data}
	switch a.state {
	case stateRow:
		u.row = localRow(a.low)
		u.read = !a.writes()
		u.enable = a.enable
	case stateSize:
		u.row = window | 2
	case stateLow:
	case stateHigh:
		u.row = uint8(a.high)&7<<2 | 1
	default:
		u.read = false
	}
	return u
}

// localRow returns the row of a register of the program: a mail word, the base of the window that
// it moves, or the compare value.
func localRow(addr uint32) uint8 {
	switch {
	case addr&mcureg.Mail != 0:
		return mailRow | uint8(addr>>2)&7
	case addr&mcureg.FreeLo != 0:
		return freeRow | uint8(addr>>2)&1
	default:
		return compareRow | uint8(addr>>2)&1
	}
}

// end ends the access.
func (a *access) end(fault bool) { a.state, a.fault = stateDone, fault }

// step does the work of a clock. word is the output of the RAM. blocked reports that the host has
// the RAM in this clock, rings that it rings doorbells.
func (m *Module) step(q core.Request, bus arbiter.Answer, mem Mem, word uint32, now uint64, blocked, rings bool, bells uint32) {
	if m.access.state != stateIdle && !m.host.run {
		m.access.orphan = true
	}
	switch m.access.state {
	case stateIdle:
		if q.Valid && m.host.run {
			m.access.enable, m.access.low, m.access.data = q.Enable, q.Addr, q.Data
			m.access.begin(m.host.blocks)
		}
	case stateLocal:
		m.local(now, rings, bells)
	case stateRow:
		if !blocked {
			m.access.state, m.access.fault = stateWord, false
		}
	case stateWord:
		m.access.data = word
		m.access.end(false)
	case stateBus:
		if bus.Done {
			m.access.data = bus.Data
			m.access.end(!bus.Hit || bus.Refused)
		}
	case stateAsk:
		m.access.state = stateBus
	case stateDone:
		m.access.state, m.access.orphan = stateIdle, false
	default:
		m.window(mem, word, blocked)
	}
}

// begin decodes the address.
func (a *access) begin(blocks uint32) {
	whole := a.enable == 0 || a.enable == 15
	switch {
	case a.low>>31 != 0:
		a.state = stateSize
		if a.low>>28&7 == mcureg.FreeWindow {
			a.state = stateLow
		}
		if a.low>>28&7 == mcureg.FreeWindow && a.writes() {
			a.end(true)
		}
	case a.low>>28 == mcureg.Bus>>28:
		a.state = stateAsk
		closed := a.low&0xe000 != 0 || blocks>>(a.low>>8&31)&1 == 0
		if !whole || a.low&0x0fff_0000 != 0 || a.writes() && closed {
			a.end(true)
		}
	case a.low>>28 == mcureg.Local>>28:
		a.state = stateLocal
		if !whole || a.low&0x0fff_ff00 != 0 {
			a.end(true)
		}
	default:
		a.end(true)
	}
}

// kicks reports whether it is a write of KICK, in the clock in which that is done.
func (a *access) kicks() bool {
	return a.state == stateLocal && a.writes() && a.low&0xfc == mcureg.Kick
}

// local reads or writes a register of the program.
func (m *Module) local(now uint64, rings bool, bells uint32) {
	write, v := m.access.writes(), m.access.data
	m.access.end(false)
	switch m.access.low & 0xfc {
	case mcureg.TimeLo:
		m.access.data, m.access.fault = uint32(now), write
	case mcureg.TimeHi:
		m.access.data, m.access.fault = uint32(now>>32), write
	case mcureg.CompareLo:
		m.access.state = stateRow
		if write {
			m.timer.low = v
		}
	case mcureg.CompareHi:
		m.access.state = stateRow
		if write {
			m.timer.high = v
		}
	case mcureg.LocalDoorbell:
		if rings {
			m.access.state = stateLocal
		} else if write {
			m.host.bells &^= v
		} else {
			m.access.data = bells
		}
	case mcureg.Kick:
		m.access.data = 0
	case mcureg.Events:
		m.access.data = uint32(m.timer.events)
		if write {
			m.timer.events = uint16(v) & 0xfff
		}
	default:
		m.access.state = stateRow
		free, mail := m.access.low&0xf8 == mcureg.FreeLo, m.access.low&0xe0 == mcureg.Mail
		if !free && !mail {
			m.access.end(true)
		}
	}
}

// Package intc is the interrupt controller: it turns events into MSI-X
// messages.
package intc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const host = uint64(1) << 63

// Events are the pulses that the controller turns into messages.
type Events struct {
	Done0, Done1   bool // a node executed a FENCE with IRQ set
	Fault0, Fault1 bool // a node stopped on a fault
}

// Module is the interrupt controller. An event sets its STATUS bit and is due
// until a message of its vector starts; events that are due together share one
// message, and an event after the start is due again. With coalescing a message
// of vector 0 waits for so many events or so long, whichever is first.
//
//	In      ev Events, pulses; enable, functionMask bool, levels of the MSI-X
//	        capability; reqReady, beatReady for the message; refused, a pulse in
//	        the clock in which the beat of a message that was not sent is taken;
//	        regs regbus.Req; rst reset.Signals, with Whole or Function in no
//	        clock of an access or in which a part of a message is taken
//	Out     Message (port.Request, port.Beat), valid/ready each, a write of 4
//	        bytes to host memory; Rsp regbus.Rsp; all registered
//	Timing  1 clock from event to message, without coalescing; one message at a
//	        time, back to back; an answer 1 clock after its request
//	Reset   STATUS, MASK and the table 0, the vectors masked, coalescing off; a whole
//	        reset keeps the table
//	Order   vector 0 before vector 1 if both are due; an event in the clock of
//	        its acknowledge wins. An acknowledge takes back an event that is due
//	        only if its message is held by MASK, the vector, the function or the
//	        enable: then nobody needs telling any more. An event that waits for
//	        more of them is not taken back: the host may have read STATUS before
//	Paths   none
//	Size    345 bits, 64 more with coalescing
//	Faults  the events of a message that was refused, because bus mastering ended
//	        while it waited, are due again unless they were acknowledged
//	Source  intcreg.Block, msixreg.Table; PCI 3.0 §6.8.2, §6.8.3
type Module struct {
	coalescing bool // COALESCE_COUNT and COALESCE_TIME are there

	status uint16 `w:"10"`
	mask   uint16 `w:"10"`
	due    uint16 `w:"10"`
	sent   uint16 `w:"10"` // events that the message stands for

	addrLo [pcicfg.Vectors]uint32
	addrHi [pcicfg.Vectors]uint32
	data   [pcicfg.Vectors]uint32
	masked [pcicfg.Vectors]bool

	wait coalesce

	headerUp bool
	beatUp   bool
	msgAddr  uint64
	msgData  uint32
	rsp      regbus.Rsp
}

// New returns the controller after reset.
func New(coalescing bool) Module {
	m := Module{coalescing: coalescing}
	m.Reset()
	return m
}

// Reset clears the registers and masks the vectors.
func (m *Module) Reset() {
	*m = Module{coalescing: m.coalescing}
	for v := range pcicfg.Vectors {
		m.masked[v] = true
	}
}

// Message returns the header and the beat of a message.
func (m *Module) Message() (req port.Request, beat port.Beat) {
	if m.headerUp {
		req = port.Request{Kind: port.MemWrite, Len: 1, Addr: m.msgAddr}
	}
	if m.beatUp {
		beat = port.Beat{Valid: true, Last: true, Enable: 0x0f, Data: uint64(m.msgData)}
		if m.msgAddr&4 != 0 {
			beat.Enable, beat.Data = 0xf0, beat.Data<<32
		}
	}
	return req, beat
}

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Tick is one rising clock edge.
func (m *Module) Tick(ev Events, enable, functionMask, reqReady, beatReady, refused bool, regs regbus.Req, rst reset.Signals) {
	inputs := ev != Events{} || refused || regs.Op != regbus.None || rst.Whole
	if hdl.Asleep(!inputs && m.quiet()) {
		return
	}
	m.headerUp = m.headerUp && !reqReady
	m.beatUp = m.beatUp && !beatReady
	send := m.sendable(enable && !functionMask)
	set := bits(ev)
	m.age()
	m.rsp = regbus.Rsp{}
	if refused {
		m.due |= m.sent & m.status
	}
	if regs.Op != regbus.None {
		off, write := regs.Off, regs.Op == regbus.Write
		switch {
		case off-intcreg.Base < intcreg.Size:
			raise := m.accessStatus(off-intcreg.Base, write, regs.Data, send)
			set |= raise
		case off-msixreg.Base < msixreg.Stride*pcicfg.Vectors:
			m.accessTable(off-msixreg.Base, write, regs.Data)
		case off == msixreg.PendingBase:
			m.rsp = regbus.Rsp{Hit: true, Data: m.pending()}
		case off == msixreg.PendingBase+4:
			m.rsp.Hit = true
		default:
		}
		if write {
			m.rsp.Data = 0
		}
	}
	m.status |= set
	m.due |= set
	m.count(set)
	if !m.headerUp && !m.beatUp {
		m.launch(m.due & m.sendable(enable && !functionMask) &^ m.held())
	}
	if rst.Function {
		m.Reset()
	} else if rst.Whole {
		m.clear()
	}
}

// quiet reports whether there is no event to tell the host of, and none that it is
// told of.
func (m *Module) quiet() bool {
	events := m.due != 0 || m.wait.number != 0 || m.wait.age != 0
	return !events && !m.headerUp && !m.beatUp && !m.rsp.Hit
}

// clear is a whole reset. A message is not under way in its clock.
func (m *Module) clear() {
	m.status, m.mask, m.due, m.sent = 0, 0, 0, 0
	m.wait = coalesce{}
	m.headerUp, m.beatUp = false, false
	m.rsp = regbus.Rsp{}
}

// bits returns the STATUS bits of events.
func bits(ev Events) uint16 {
	var b uint16
	if ev.Done0 {
		b |= intcreg.Done0
	}
	if ev.Done1 {
		b |= intcreg.Done1
	}
	if ev.Fault0 {
		b |= intcreg.Fault0
	}
	if ev.Fault1 {
		b |= intcreg.Fault1
	}
	return b
}

// sendable returns the events whose message nothing holds.
func (m *Module) sendable(enabled bool) uint16 {
	s := m.mask
	if !enabled || m.masked[intcreg.VectorDone] {
		s &^= intcreg.DoneAll
	}
	if !enabled || m.masked[intcreg.VectorFault] {
		s &^= intcreg.FaultAll
	}
	return s
}

// pending returns the pending bits.
func (m *Module) pending() uint32 {
	var p uint32
	wait := m.due & m.mask &^ m.held()
	if wait&intcreg.DoneAll != 0 {
		p |= 1 << intcreg.VectorDone
	}
	if wait&intcreg.FaultAll != 0 {
		p |= 1 << intcreg.VectorFault
	}
	return p
}

// accessStatus serves INTC and returns the events that the host raises.
func (m *Module) accessStatus(off uint16, write bool, data uint32, send uint16) uint16 {
	var raise uint16
	v := uint16(data) & intcreg.All
	m.rsp.Hit = true
	switch off {
	case intcreg.Status:
		m.rsp.Data = uint32(m.status)
		if write {
			m.status &^= v
			m.due &^= v &^ send
		}
	case intcreg.Mask:
		m.rsp.Data = uint32(m.mask)
		if write {
			m.mask = v
		}
	case intcreg.Raise:
		if write {
			raise = v
		}
	default:
		m.accessCoalesce(off, write, data)
	}
	return raise
}

func (m *Module) accessTable(off uint16, write bool, data uint32) {
	v := off / msixreg.Stride & 1
	m.rsp.Hit = true
	switch off % msixreg.Stride {
	case msixreg.AddrLo:
		m.rsp.Data = m.addrLo[v]
		if write {
			m.addrLo[v] = data
		}
	case msixreg.AddrHi:
		m.rsp.Data = m.addrHi[v]
		if write {
			m.addrHi[v] = data
		}
	case msixreg.Data:
		m.rsp.Data = m.data[v]
		if write {
			m.data[v] = data
		}
	default:
		if m.masked[v] {
			m.rsp.Data = msixreg.ControlMask
		}
		if write {
			m.masked[v] = data&msixreg.ControlMask != 0
		}
	}
}

// launch starts the message of the first vector with an event in ready.
func (m *Module) launch(ready uint16) {
	v := uint8(intcreg.VectorDone)
	events := uint16(intcreg.DoneAll)
	if ready&intcreg.DoneAll == 0 {
		v = intcreg.VectorFault
		events = intcreg.FaultAll
	}
	if ready != 0 {
		m.sent = ready & events
		m.due &^= m.sent
		m.msgAddr = host | uint64(m.addrHi[v])<<32 | uint64(m.addrLo[v]&^3)
		m.msgData = m.data[v]
		m.headerUp, m.beatUp = true, true
	}
}

// IdleFor returns 0 while a message or an answer is offered, the clocks until an
// event has waited long enough, and math.MaxUint64 if only an input can wake the
// controller.
func (m *Module) IdleFor() uint64 {
	if m.headerUp || m.beatUp || m.rsp.Hit {
		return 0
	}
	if m.waiting() && m.wait.age < m.wait.clocks {
		return uint64(m.wait.clocks-m.wait.age) - 1
	}
	return math.MaxUint64
}

// Skip is n clocks without input, in which an event may wait.
func (m *Module) Skip(n uint64) {
	if m.waiting() && m.wait.age < m.wait.clocks {
		m.wait.age += uint32(n)
	}
}

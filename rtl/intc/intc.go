// Package intc is the interrupt controller: it turns events into MSI-X
// messages.
package intc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const host = uint64(1) << 63

// Events are the pulses that the controller turns into messages.
type Events struct {
	Done0, Done1   bool // a node executed a FENCE with IRQ set
	Fault0, Fault1 bool // a node stopped on a fault
	Hung           bool // the microcontroller is hung
}

// Module is the interrupt controller. An event sets its STATUS bit and is due
// until a message of its vector starts. Events that are due together share one
// message. An event after the start is due again. With coalescing a message of
// vector 0 waits for a number of events or for a time, whichever is reached
// first.
//
//	In      ev Events, pulses; enable, functionMask bool, levels of the MSI-X
//	        capability; reqReady, beatReady for the message; refused, a pulse in
//	        the clock in which the beat of a message that was not sent is taken;
//	        word uint32, the answer to TableRead a clock later; regs regbus.Req; rst
//	        reset.Signals, with Whole or Function in no clock of an access or in
//	        which a part of a message is taken
//	Out     Message (port.Request, port.Beat), valid/ready each, a write of 4
//	        bytes to host memory; TableRead regram.TableRead, served in a clock without an
//	        access of the register bus; Rsp regbus.Rsp; all registered
//	Timing  1 clock from event to message, without coalescing; one message at a
//	        time, back to back; 4 clocks more, and 1 for each access, before the
//	        first message, one of another vector and one after a write of the
//	        table; an answer 1 clock after its request
//	Reset   STATUS and MASK 0, the vectors masked, coalescing off; a
//	        whole-device reset keeps the masks of the vectors
//	Order   vector 0 before vector 1 if both are due; an event in the clock of
//	        its acknowledge wins. An acknowledge withdraws an event that is due
//	        only if its message is held by MASK, the vector, the function or the
//	        enable: then the host no longer needs the message. An event that
//	        waits for more events is not withdrawn: the host may have read
//	        STATUS before it. A message uses the table's contents at its start
//	Paths   none
//	Size    154 bits and those of a host address above 32, 64 more with coalescing
//	Faults  a message is refused if bus mastering ends while it waits; its
//	        events are due again unless they were acknowledged
//	Source  intcreg.Block, msixreg.Table; PCI 3.0 §6.8.2, §6.8.3
type Module struct {
	coalescing bool   // COALESCE_COUNT and COALESCE_TIME exist
	all        uint16 // events that exist
	hiMask     uint32 // implemented bits of ADDR_HI

	status uint16 `w:"10"`
	mask   uint16 `w:"10"`
	due    uint16 `w:"10"`
	sent   uint16 `w:"10"` // events that the current message reports

	masked [pcicfg.Vectors]bool

	wait coalesce

	vector  uint8 `w:"1"` // of the words below
	have    uint8 `w:"2"` // number of words of its entry requested
	asks    bool  // the next word is requested
	arrives bool  // the previous word arrives in the next clock
	addrLo  uint32
	addrHi  uint32 // within hiMask
	data    uint32

	headerUp bool
	beatUp   bool
	rsp      regbus.Rsp
}

// New returns the controller after reset. hostBits is the width of a host
// address, at least 32.
func New(coalescing, mcu bool, hostBits int) Module {
	m := Module{coalescing: coalescing, all: intcreg.NodesAll, hiMask: uint32(1)<<(hostBits-32) - 1}
	if mcu {
		m.all = intcreg.All
	}
	m.Reset()
	return m
}

// Reset clears the registers and masks the vectors.
func (m *Module) Reset() {
	*m = Module{coalescing: m.coalescing, all: m.all, hiMask: m.hiMask}
	for v := range pcicfg.Vectors {
		m.masked[v] = true
	}
}

// Message returns the header and the beat of a message.
func (m *Module) Message() (req port.Request, beat port.Beat) {
	req = port.Request{Len: 1, Addr: host | uint64(m.addrHi)<<32 | uint64(m.addrLo&^3)}
	if m.headerUp {
		req.Kind = port.MemWrite
	}
	beat = port.Beat{Valid: m.beatUp, Last: true, Enable: 0x0f, Data: uint64(m.data)<<32 | uint64(m.data)}
	if m.addrLo&4 != 0 {
		beat.Enable = 0xf0
	}
	return req, beat
}

// TableRead returns the read of the next word of the vector's table entry.
func (m *Module) TableRead() regram.TableRead {
	return regram.TableRead{Valid: m.asks, Word: (m.vector*(msixreg.Stride/4) + m.have) & 7}
}

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(ev Events, refused bool, regs regbus.Req, rst reset.Signals) bool {
	return ev == Events{} && !refused && regs.Op == regbus.None && !rst.Whole && m.Quiet()
}

// Tick is one rising clock edge.
func (m *Module) Tick(ev Events, enable, functionMask, reqReady, beatReady, refused bool, word uint32, regs regbus.Req, rst reset.Signals) {
	m.headerUp = m.headerUp && !reqReady
	m.beatUp = m.beatUp && !beatReady
	send := m.sendable(enable && !functionMask)
	set := bits(ev) & m.all
	m.receive(word, regs.Op == regbus.None)
	m.age()
	m.rsp = regbus.Rsp{}
	if refused {
		m.due |= m.sent & m.status
	}
	if regs.Op != regbus.None {
		off, write := regs.Off, regs.Op == regbus.Write
		switch {
		case off&^(intcreg.Size-1) == intcreg.Base:
			raise := m.accessStatus(off%intcreg.Size, write, regs.Data, send)
			set |= raise
		case off&^(msixreg.Stride*pcicfg.Vectors-1) == msixreg.Base:
			m.accessTable(off%(msixreg.Stride*pcicfg.Vectors), write, regs.Data)
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
	m.asks = false
	if !m.headerUp && !m.beatUp {
		m.launch(m.due & m.sendable(enable && !functionMask) &^ m.held())
	}
	if rst.Function {
		m.Reset()
	} else if rst.Whole {
		m.clear()
	}
}

// Quiet reports whether no event is due or held back, and no message, answer or
// read of the table is in progress.
func (m *Module) Quiet() bool {
	events := m.due != 0 || m.wait.number != 0 || m.wait.age != 0
	return !events && !m.headerUp && !m.beatUp && !m.rsp.Hit && !m.asks && !m.arrives
}

// clear is a whole-device reset. It does not happen during a message.
func (m *Module) clear() {
	m.status, m.mask, m.due, m.sent = 0, 0, 0, 0
	m.wait = coalesce{}
	m.headerUp, m.beatUp = false, false
	m.refetch()
	m.asks = false
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
	if ev.Hung {
		b |= intcreg.Hung
	}
	return b
}

// sendable returns the events whose message may be sent.
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
	v := uint16(data) & m.all
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

// accessTable serves CONTROL, and observes writes of the other words.
func (m *Module) accessTable(off uint16, write bool, data uint32) {
	v := off / msixreg.Stride & 1
	if off%msixreg.Stride == msixreg.Control {
		m.rsp.Hit = true
		if m.masked[v] {
			m.rsp.Data = msixreg.ControlMask
		}
		if write {
			m.masked[v] = data&msixreg.ControlMask != 0
		}
	} else if write {
		m.refetch()
	}
}

// refetch discards the words of the vector's entry, which are then read again.
func (m *Module) refetch() { m.have, m.arrives = 0, false }

// receive stores the word that arrives. served reports whether the register RAM
// reads the requested word.
func (m *Module) receive(word uint32, served bool) {
	if m.arrives {
		switch m.have {
		case 1:
			m.addrLo = word
		case 2:
			m.addrHi = word & m.hiMask
		default:
			m.data = word
		}
	}
	m.arrives = m.asks && served
	if m.arrives {
		m.have = (m.have + 1) & 3
	}
}

// launch starts the message of the first vector with an event in ready, or
// requests its missing words.
func (m *Module) launch(ready uint16) {
	v := uint8(intcreg.VectorDone)
	events := uint16(intcreg.DoneAll)
	if ready&intcreg.DoneAll == 0 {
		v = intcreg.VectorFault
		events = intcreg.FaultAll
	}
	if ready != 0 && v != m.vector {
		m.refetch()
		m.vector = v & 1
	}
	if ready != 0 && m.have != 3 {
		m.asks = true
	} else if ready != 0 && !m.arrives {
		m.sent = ready & events
		m.due &^= m.sent
		m.headerUp, m.beatUp = true, true
	}
}

// IdleFor returns 0 while a message, an answer or a read is in progress, the
// clocks until an event has waited long enough, and math.MaxUint64 if only an
// input can wake the controller.
func (m *Module) IdleFor() uint64 {
	if m.headerUp || m.beatUp || m.rsp.Hit || m.asks || m.arrives {
		return 0
	}
	if m.waiting() && m.wait.age < m.wait.clocks {
		return uint64(m.wait.clocks-m.wait.age) - 1
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. Only the age of waiting events advances.
func (m *Module) Skip(n uint64) {
	if m.waiting() && m.wait.age < m.wait.clocks {
		m.wait.age += uint32(n)
	}
}

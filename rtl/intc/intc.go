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
	"github.com/hilgpu/hilgpu/rtl/store"
)

const host = uint64(1) << 63

// Events are the pulses that the controller turns into messages.
type Events struct {
	Done0, Done1   bool // a node executed a FENCE with IRQ set
	Fault0, Fault1 bool // a node stopped on a fault
}

// state of a message.
type state uint8

const (
	stateIdle   state = iota // no vector has an event that can be sent
	stateHigh                // the high half of the address is asked for
	stateLow                 // the low half is
	stateHeader              // the header is offered
	stateData                // it was taken, and the data is asked for
	stateBeat                // the beat is offered
)

// Module is the interrupt controller. An event sets its STATUS bit and is due
// until a message of its vector is offered; events that are due then share that
// message, and an event behind that is due again. With coalescing a message
// of vector 0 waits for so many events or so long, whichever is first.
//
//	In      ev Events, pulses; enable, functionMask bool, levels of the MSI-X
//	        capability; reqReady, beatReady for the message; refused, a pulse in
//	        the clock in which the beat of a message that was not sent is taken;
//	        word uint32, what was read last for Ask; regs regbus.Req; rst reset.Signals, with Whole or Function in no
//	        clock of an access, in which a part of a message is taken, or between them
//	Out     Message (port.Request, port.Beat), valid/ready each, a write of 4
//	        bytes to host memory, the beat behind the header, both without the word
//	        that the store holds, for Fill; Ask store.Ask, of which a word is read in a
//	        clock without an access of the register bus; Rsp regbus.Rsp; all registered
//	Timing  3 clocks from event to header, without coalescing, and 2 from a header
//	        that is taken to its beat; 1 more for each access meanwhile; one message at
//	        a time; an answer 1 clock after its request
//	Reset   STATUS and MASK 0, the vectors masked, coalescing off; a whole reset
//	        keeps the masks of the vectors
//	Order   vector 0 before vector 1 if both are due when a message begins; an event in
//	        the clock of its acknowledge wins. An acknowledge takes back an event that is due
//	        only if its message is held by MASK, the vector, the function or the
//	        enable: then nobody needs telling any more. An event that waits for
//	        more of them is not taken back: the host may have read STATUS before.
//	        A vector that is masked before the header is offered does not send. The
//	        words of an entry are read one by one, the data behind the header: one that
//	        is written meanwhile may be sent with others from before. So an entry is
//	        changed while it is masked, and behind a read of the table, which waits
//	        while a header is offered
//	Paths   Fill, from the store's word to the message
//	Size    82 bits and those of a host address above 32, 64 more with coalescing
//	Faults  the events of a message that was refused, because bus mastering ended
//	        while it waited, are due again unless they were acknowledged
//	Source  intcreg.Block, msixreg.Table; PCI 3.0 §6.8.2, §6.8.3
type Module struct {
	coalescing bool   // COALESCE_COUNT and COALESCE_TIME are there
	hiMask     uint32 // bits of ADDR_HI that an address has

	status uint16 `w:"10"`
	mask   uint16 `w:"10"`
	due    uint16 `w:"10"`
	sent   uint16 `w:"10"` // events that the message stands for

	masked [pcicfg.Vectors]bool

	wait coalesce

	state   state  `w:"3"`
	vector  uint8  `w:"1"` // of the message
	arrives bool   // the high half of its address is here
	addrHi  uint32 // within hiMask
	upper   bool   // the data is the upper half of its beat

	rsp regbus.Rsp
}

// New returns the controller after reset. A host address has so many bits, at least 32.
func New(coalescing bool, hostBits int) Module {
	m := Module{coalescing: coalescing, hiMask: uint32(1)<<(hostBits-32) - 1}
	m.Reset()
	return m
}

// Reset clears the registers and masks the vectors.
func (m *Module) Reset() {
	*m = Module{coalescing: m.coalescing, hiMask: m.hiMask}
	for v := range pcicfg.Vectors {
		m.masked[v] = true
	}
}

// Message returns the header and the beat of a message, for Fill.
func (m *Module) Message() (req port.Request, beat port.Beat) {
	req = port.Request{Len: 1, Addr: host | uint64(m.addrHi)<<32}
	if m.state == stateHeader {
		req.Kind = port.MemWrite
	}
	beat = port.Beat{Valid: m.state == stateBeat, Last: true, Enable: 0x0f}
	if m.upper {
		beat.Enable = 0xf0
	}
	return req, beat
}

// Fill returns the header and the beat of a message with the word that the store holds for
// whichever is offered.
func Fill(req port.Request, beat port.Beat, word uint32) (port.Request, port.Beat) {
	req.Addr |= uint64(word &^ 3)
	beat.Data = uint64(word)<<32 | uint64(word)
	return req, beat
}

// Ask returns the read of the next word of the vector's entry in the table, or that
// the one that was read is to stay.
func (m *Module) Ask() store.Ask {
	at := uint8(msixreg.AddrLo / 4)
	if m.state == stateHigh {
		at = msixreg.AddrHi / 4
	} else if m.state == stateData {
		at = msixreg.Data / 4
	}
	return store.Ask{
		Valid: m.state == stateHigh || m.state == stateLow || m.state == stateData,
		Holds: m.state == stateHeader || m.state == stateBeat,
		Word:  m.vector<<2 | at,
	}
}

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Tick is one rising clock edge.
func (m *Module) Tick(ev Events, enable, functionMask, reqReady, beatReady, refused bool, word uint32, regs regbus.Req, rst reset.Signals) {
	inputs := ev != Events{} || refused || regs.Op != regbus.None || rst.Whole
	if hdl.Asleep(!inputs && m.quiet()) {
		return
	}
	send := m.sendable(enable && !functionMask)
	set := bits(ev)
	m.receive(word)
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
	m.move(m.due&m.sendable(enable && !functionMask)&^m.held(), regs.Op == regbus.None, reqReady, beatReady)
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
	return !events && m.state == stateIdle && !m.rsp.Hit
}

// clear is a whole reset. A message is not under way in its clock.
func (m *Module) clear() {
	m.status, m.mask, m.due, m.sent = 0, 0, 0, 0
	m.wait = coalesce{}
	m.state, m.arrives = stateIdle, false
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

// accessTable serves CONTROL, whose read waits for a header that is offered.
func (m *Module) accessTable(off uint16, write bool, data uint32) {
	v := off / msixreg.Stride & 1
	if off%msixreg.Stride == msixreg.Control {
		m.rsp.Hit = true
		m.rsp.Retry = !write && m.state == stateHeader
		if m.masked[v] {
			m.rsp.Data = msixreg.ControlMask
		}
		if write {
			m.masked[v] = data&msixreg.ControlMask != 0
		}
	}
}

// receive keeps what a message needs of a word of its address besides the word.
func (m *Module) receive(word uint32) {
	if m.arrives {
		m.addrHi = word & m.hiMask
	}
	if m.state == stateHeader {
		m.upper = word&4 != 0
	}
}

// move takes a message on, or begins one of the first vector with an event in ready. served
// says that the store reads the word that is asked for.
func (m *Module) move(ready uint16, served, reqReady, beatReady bool) {
	m.arrives = m.state == stateHigh && served
	switch m.state {
	case stateHigh:
		if served {
			m.state = stateLow
		}
	case stateLow:
		if served {
			m.offer(ready)
		}
	case stateHeader:
		if reqReady {
			m.state = stateData
		}
	case stateData:
		if served {
			m.state = stateBeat
		}
	case stateBeat:
		if beatReady {
			m.state = stateIdle
		}
	default:
	}
	if m.state == stateIdle && ready != 0 {
		m.state = stateHigh
		m.vector = intcreg.VectorDone
		if ready&intcreg.DoneAll == 0 {
			m.vector = intcreg.VectorFault
		}
	}
}

// offer offers the header, unless the vector has no event in ready any more.
func (m *Module) offer(ready uint16) {
	events := uint16(intcreg.DoneAll)
	if m.vector == intcreg.VectorFault {
		events = intcreg.FaultAll
	}
	m.state = stateIdle
	if ready&events != 0 {
		m.sent = ready & events
		m.due &^= m.sent
		m.state = stateHeader
	}
}

// IdleFor returns 0 while a message, an answer or a read is under way, the clocks until an
// event has waited long enough, and math.MaxUint64 if only an input can wake the
// controller.
func (m *Module) IdleFor() uint64 {
	if m.state != stateIdle || m.rsp.Hit {
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

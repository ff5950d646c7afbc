// Package arbiter divides the register bus between two masters: the host, whose
// accesses the PCIe function makes, and a second master inside the device. It has
// the owners of the nodes, the events of each master, and the latches of the second
// master.
package arbiter

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// A Turn tells what happens on the register bus in a clock.
type Turn struct {
	Second  bool // the access is the second master's
	Refused bool // the access is refused by Refuses; the blocks do not see it
	Retry   bool // the answer to the access of the previous clock is to retry it
}

// An Answer ends an access of the second master. Without Done it is not valid.
type Answer struct {
	Done    bool
	Hit     bool   // a block has the register
	Refused bool   // a write that the host alone may make; Hit is false
	Data    uint32 // of a read, 0 without Hit
}

// Events are the pulses of a node that the masters see in EVENTS.
type Events struct {
	Fence    bool // a FENCE or SIGNAL with IRQ has completed
	Preempt  bool // the node stopped for a preemption
	Fault    bool // the node stopped on a fault
	Watchdog bool // the watchdog reported the node
}

// High are the high halves of the 64-bit values of which a read of the low half
// latches the high one, in a clock.
type High struct {
	Time         uint32 // of the time
	Line0, Line1 uint32 // of the timelines of the nodes
}

// Module is the arbiter. It holds the access of the second master until it is
// answered, and repeats it while the answer is to retry.
//
// The latches of the blocks are the host's. So the second master's accesses must not
// reach them: a read of TIMELINE_LO is made as one of FENCE, which is the same value,
// and the arbiter answers reads of high halves from its own latches.
//
//	In      ask regbus.Req, the next access of the second master, in one clock,
//	        at the earliest that of the answer to the last one; turn Turn; regs
//	        regbus.Req; ev0, ev1 Events; now High; rst reset.Signals, with Whole
//	        or Function in no clock of an access
//	Out     Waits, for Grant; Req; Awaits, a level; Pending; Refuses; Err ident.Error;
//	        Registers regbus.Rsp
//	Timing  an access is on the bus 1 clock after its ask if the bus is free. It
//	        waits at most 5 more. The host waits at most 2 clocks for each access,
//	        and as long for each check of a header or of half of a beat, 3 if a
//	        refused access is captured. An access that is retried waits again
//	Reset   no access, no event, latches 0, the host owns all nodes; a
//	        whole-device reset keeps the access and the latched time
//	Order   a waiting access is before the host's, but not in the clock after an
//	        answer to the second master: then the host may access. So neither
//	        waits for two accesses of the other. An event in the clock of its
//	        clear wins
//	Paths   Grant, from the PCIe function and the register RAM to the bus;
//	        AnswerOf, from the blocks to the second master
//	Size    208 bits
//	Faults  a write of a node that the other master owns, or of OWNER by the
//	        second master, has no effect. An ask before the answer to the previous
//	        one is an assertion
//	Source  arbreg.Block, docs/design.md#masters
type Module struct {
	twoNodes bool // node 1 exists

	req    regbus.Req // of the second master; none if Op is None
	awaits bool       // the answer is in this clock
	rests  bool       // the answer was in the previous clock

	owner   uint8 `w:"2"` // OWNER
	refused bool  // the access of the previous clock was refused

	host   uint16 `w:"12"` // EVENTS of the host
	second uint16 `w:"12"` // EVENTS of the second master

	time         uint32 // TIME_HI of the second master
	line0, line1 uint32 // TIMELINE_HI of the second master

	hit  bool
	data uint32 // of the answer
}

// The registers of a node with its timeline.
const (
	fence0  = cpreg.Base + cpreg.Fence
	lineLo0 = cpreg.Base + cpreg.LineLo
	lineLo1 = lineLo0 + cpreg.Stride
	lineHi0 = cpreg.Base + cpreg.LineHi
	lineHi1 = lineHi0 + cpreg.Stride
)

// New returns the arbiter of a GPU with the given number of nodes, after reset.
func New(nodes int) Module { return Module{twoNodes: nodes == 2} }

// Waits reports whether an access of the second master may begin.
func (m *Module) Waits() bool { return m.req.Op != regbus.None && !m.awaits && !m.rests }

// Grant reports whether the second master has the bus in this clock. waits is
// Waits. answered reports whether the host gets an answer in this clock, and
// captures whether the capture of a refused access begins in this clock, or began in
// the previous one.
func Grant(waits, answered, captures bool) bool { return waits && !answered && !captures }

// Req returns the access of the second master as the blocks see it.
func (m *Module) Req() regbus.Req {
	r := m.req
	switch {
	case r.Op != regbus.Read:
	case r.Off == lineLo0 || r.Off == lineLo1:
		r.Off = fence0 | r.Off&cpreg.Stride
	case m.latched(r.Off):
		r.Op = regbus.None
	default:
	}
	return r
}

// latched reports whether a register is a high half that the arbiter latches for the
// second master.
func (m *Module) latched(off uint16) bool {
	return off == idreg.Base+idreg.TimeHi || off == lineHi0 || m.twoNodes && off == lineHi1
}

// Pending returns EVENTS of the second master.
func (m *Module) Pending() uint16 { return m.second }

// Awaits reports whether the answer on the bus is for the second master.
func (m *Module) Awaits() bool { return m.awaits }

// Refused reports whether the access of the previous clock was refused.
func (m *Module) Refused() bool { return m.refused }

// Owner returns OWNER, for Refuses.
func (m *Module) Owner() uint8 { return m.owner }

// Refuses reports whether an access must not reach a block: a write of a node that
// belongs to the other master, or of OWNER by the second master.
func Refuses(owner uint8, r regbus.Req, second bool) bool {
	node := uint8(r.Off>>8) & 1
	foreign := r.Off&^(cpreg.Nodes*cpreg.Stride-1) == cpreg.Base && (owner>>node&1 != 0) != second
	return r.Op == regbus.Write && (foreign || second && r.Off == arbreg.Base+arbreg.Owner)
}

// Err returns a refused access of the second master. Its Cause is valid in the clock of the
// answer, and the high half of Addr also in the next one.
func (m *Module) Err() ident.Error {
	e := ident.Error{Write: true, Addr: uint64(m.req.Off), Second: true}
	if m.awaits && m.refused {
		e.Cause = idreg.ErrOwner
	}
	return e
}

// Ends reports whether this clock or the previous one has the answer to the second
// master, so that a refused access is not the host's.
func (m *Module) Ends() bool { return m.awaits || m.rests }

// AnswerOf returns the answer to the second master. awaits is Awaits, refused is
// Refused, and rsp the answer of the blocks.
func AnswerOf(awaits, refused bool, rsp regbus.Rsp) Answer {
	var a Answer
	if awaits && !rsp.Retry {
		a = Answer{Done: true, Hit: rsp.Hit, Refused: refused, Data: rsp.Data}
	}
	return a
}

// Registers returns the answer of the arbiter's registers to the access of the
// previous clock.
func (m *Module) Registers() regbus.Rsp { return regbus.Rsp{Hit: m.hit, Data: m.data} }

// Reset clears the registers.
func (m *Module) Reset() { *m = Module{twoNodes: m.twoNodes} }

// Tick is one rising clock edge.
func (m *Module) Tick(ask regbus.Req, turn Turn, regs regbus.Req, ev0, ev1 Events, now High, rst reset.Signals) {
	if m.awaits && m.req.Op == regbus.Read {
		m.latch(now)
	}
	if turn.Second && !turn.Refused {
		regs = m.req
	}
	m.refused = turn.Refused
	m.rests = m.awaits
	if m.awaits && !turn.Retry {
		m.req.Op = regbus.None
	}
	m.awaits = turn.Second
	if ask.Op != regbus.None {
		hdl.Assert(m.req.Op == regbus.None, "arbiter: an access of the second master before the answer to the previous one")
		m.req = ask
	}
	m.access(regs, turn.Second)
	set := uint16(bits(ev0)) | uint16(bits(ev1))<<8
	m.host |= set
	m.second |= set
	if rst.Whole {
		m.host, m.second, m.owner = 0, 0, 0
		m.line0, m.line1 = 0, 0
	}
	if rst.Function {
		m.time = 0
	}
}

// latch latches the high half of the value whose low half is answered.
func (m *Module) latch(now High) {
	switch m.req.Off {
	case idreg.Base + idreg.TimeLo:
		m.time = now.Time
	case lineLo0:
		m.line0 = now.Line0
	case lineLo1:
		m.line1 = now.Line1
	default:
	}
}

// access serves the registers, for the master that makes the access.
func (m *Module) access(r regbus.Req, second bool) {
	events := m.host
	if second {
		events = m.second
	}
	read, write := r.Op == regbus.Read, r.Op == regbus.Write
	own, owner := r.Off == arbreg.Base+arbreg.Events, r.Off == arbreg.Base+arbreg.Owner
	high := second && read && m.latched(r.Off)
	m.hit = (own || owner) && (read || write) || high
	m.data = 0
	if own && read {
		m.data = uint32(events)
	}
	if owner && read {
		m.data = uint32(m.owner)
	}
	if owner && write {
		m.owner = uint8(r.Data) & m.nodes()
	}
	if high {
		m.data = m.value(r.Off)
	}
	if own && write {
		left := events &^ uint16(r.Data)
		if second {
			m.second = left
		} else {
			m.host = left
		}
	}
}

// nodes returns the implemented bits of OWNER.
func (m *Module) nodes() uint8 {
	nodes := uint8(arbreg.OwnerNode0)
	if m.twoNodes {
		nodes |= arbreg.OwnerNode1
	}
	return nodes
}

// value returns a high half of the second master.
func (m *Module) value(off uint16) uint32 {
	v := m.time
	switch off {
	case lineHi0:
		v = m.line0
	case lineHi1:
		v = m.line1
	default:
	}
	return v
}

// bits returns the bits of EVENTS of a node, as those of node 0.
func bits(e Events) uint8 {
	var b uint8
	if e.Fence {
		b |= arbreg.Fence0
	}
	if e.Preempt {
		b |= arbreg.Preempt0
	}
	if e.Fault {
		b |= arbreg.Fault0
	}
	if e.Watchdog {
		b |= arbreg.Watchdog0
	}
	return b
}

// IdleFor returns math.MaxUint64 if the second master has no access and nothing is
// answered, and 0 otherwise.
func (m *Module) IdleFor() uint64 {
	if m.req.Op != regbus.None || m.awaits || m.rests || m.hit || m.refused {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(n uint64) {}

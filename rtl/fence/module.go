package fence

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// state of the unit.
type state uint8

const (
	stateIdle   state = iota
	stateCheck        // compare the id
	stateWrite        // header and beat offered
	stateSettle       // both taken; last clock of a possible refusal
	stateEvent        // FENCE is updated; the event follows
)

// Module is the fence unit of one node. It writes 8 bytes: the timeline after the
// fence, the time, or the value of a signal. The low half of the timeline is FENCE.
// The high half counts the wraps of FENCE, or is 0 if the unit has no timeline.
//
//	In      req valid/ready stream of Req, ready is Ready(); all but Op stays
//	        until the Result; time uint64 from ident; reqReady, beatReady for
//	        the write; refused, a pulse between the clock in which the header is
//	        taken and the clock after both header and beat were taken; regs
//	        regbus.Req; rst, a reset
//	Out     Ready; Write (port.Request, port.Beat), valid/ready each, the header
//	        without the address, which is the Req's; Result, a pulse per Req;
//	        Event, a pulse per fence or signal with IRQ; Timeline; Rsp
//	Timing  5 clocks from Req to Result if the write is taken at once; one Req
//	        at a time
//	Reset   the timeline 0, idle; a node reset does not reset the unit: it waits
//	        until the unit is idle and keeps the timeline
//	Order   header and beat are taken, then both halves of the timeline change at
//	        once, then, a clock later, Event and Result; a host write of FENCE in
//	        the clock of an update loses. A read is answered with the value in
//	        the clock of the answer; a read of TIMELINE_LO then latches the high
//	        half into TIMELINE_HI
//	Paths   none
//	Size    110 bits, and 64 with a timeline
//	Faults  ResultBackwards, ResultWriteError
//	Source  pkt.Fence, pkt.Timestamp, pkt.Signal, cpreg.Fence
type Module struct {
	base     uint16 // of the node's registers in BAR0
	timeline bool   // the high half exists
	signals  bool   // there are Signals

	state    state `w:"3"`
	stamp    bool  // the Req is a Timestamp
	signal   bool  // the Req is a Signal
	value    uint64
	headerUp bool
	beatUp   bool
	refused  bool
	room     uint32 // ids from the last completed one to 2^32 - 1
	high     uint32 // of the timeline
	latched  uint32 // high at the last read of TIMELINE_LO
	result   Result `w:"2"`
	event    bool
	hit      bool
	showLow  bool // the answer is the low half
	showHigh bool // the answer is TIMELINE_HI
	latches  bool // the answer is TIMELINE_LO
}

// New returns the fence unit of a node after reset, with a timeline of 64 bits or
// of 32 bits, and with signals or without.
func New(node int, timeline, signals bool) Module {
	return Module{base: uint16(cpreg.Base + node*cpreg.Stride), timeline: timeline, signals: signals, room: math.MaxUint32}
}

// Ready reports whether a Req is taken in this clock.
func (m *Module) Ready() bool { return m.state == stateIdle }

// Write returns the header, without its address, and the beat of the write.
func (m *Module) Write() (req port.Request, beat port.Beat) {
	req.Len = 2
	if m.headerUp {
		req.Kind = port.MemWrite
	}
	return req, port.Beat{Valid: m.beatUp, Last: true, Enable: 0xff, Data: m.value}
}

// Result returns the outcome of the last Req, for one clock.
func (m *Module) Result() Result { return m.result }

// Event reports whether a fence with IRQ has completed, for one clock.
func (m *Module) Event() bool { return m.event }

// Timeline returns both halves of the timeline.
func (m *Module) Timeline() uint64 { return uint64(m.high)<<32 | uint64(m.completed()) }

// completed returns the last completed id. It is stored as its complement, so
// that an adder needs no inverters for a subtraction.
func (m *Module) completed() uint32 { return ^m.room }

// backwards reports whether an id is before the last completed one. The
// difference is id + room + 1; the 1 is the carry of the lowest bit here.
func (m *Module) backwards(id uint32) bool {
	difference := (uint64(id)<<1 | 1) + (uint64(m.room)<<1 | 1)
	return difference>>32&1 != 0
}

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	rsp := regbus.Rsp{Hit: m.hit}
	if m.showLow {
		rsp.Data = m.completed()
	}
	if m.showHigh {
		rsp.Data |= m.latched
	}
	return rsp
}

// Reset clears the registers.
func (m *Module) Reset() {
	*m = Module{base: m.base, timeline: m.timeline, signals: m.signals, room: math.MaxUint32}
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(req Req, regs regbus.Req, rst bool) bool {
	return m.IdleFor() != 0 && req.Op == None && regs.Op == regbus.None && !rst
}

// Tick is one rising clock edge.
func (m *Module) Tick(req Req, time uint64, reqReady, beatReady, refused bool, regs regbus.Req, rst bool) {
	if m.latches {
		m.latched = m.high
	}
	backwards, high := m.backwards(req.ID), m.wrapped(req.ID)
	m.access(regs)
	m.result, m.event = ResultNone, false
	switch m.state {
	case stateIdle:
		if req.Op != None {
			m.stamp = req.Op == Timestamp
			m.signal = m.signals && req.Op == Signal
			m.state = stateCheck
		}
	case stateCheck:
		m.check(backwards, uint64(m.above(req, high))<<32|uint64(req.ID), time)
	case stateWrite:
		m.refused = m.refused || refused
		m.headerUp = m.headerUp && !reqReady
		m.beatUp = m.beatUp && !beatReady
		if !m.headerUp && !m.beatUp {
			m.state = stateSettle
		}
	case stateSettle:
		m.settle(req.ID, m.refused || refused)
	case stateEvent:
		m.result = ResultDone
		m.event = !m.stamp && req.IRQ
		m.state = stateIdle
	default:
		m.state = stateIdle
	}
	if rst {
		m.Reset()
	}
}

// above returns the high half of the value of a fence or a signal. high is that of the
// timeline after the fence.
func (m *Module) above(req Req, high uint32) uint32 {
	if m.signal {
		high = req.High
	}
	return high
}

// check starts the write of a value or of the time, unless the id of a fence is before
// FENCE.
func (m *Module) check(backwards bool, value, time uint64) {
	if !m.stamp && !m.signal && backwards {
		m.result = ResultBackwards
		m.state = stateIdle
	} else {
		m.value = value
		if m.stamp {
			m.value = time
		}
		m.headerUp, m.beatUp, m.refused = true, true, false
		m.state = stateWrite
	}
}

// wrapped returns the high half of the timeline after a fence.
func (m *Module) wrapped(id uint32) uint32 {
	high := m.high
	if m.timeline && id < m.completed() {
		high++
	}
	return high
}

// settle ends the write. If it was refused, the timeline does not change.
func (m *Module) settle(id uint32, refused bool) {
	if refused {
		m.result = ResultWriteError
		m.state = stateIdle
	} else {
		if !m.stamp && !m.signal {
			m.room = ^id
			if m.timeline {
				m.high = uint32(m.value >> 32)
			}
		}
		m.state = stateEvent
	}
}

func (m *Module) access(r regbus.Req) {
	read, write := r.Op == regbus.Read, r.Op == regbus.Write
	line := r.Off == m.base+cpreg.LineLo
	low := line || r.Off == m.base+cpreg.Fence
	high := r.Off == m.base+cpreg.LineHi
	m.hit = r.Op != regbus.None && (low || high)
	m.showLow, m.showHigh, m.latches = low && read, high && read, line && read
	if low && write {
		m.room = ^r.Data
	}
	if m.timeline && high && write {
		m.high = r.Data
	}
}

// IdleFor returns math.MaxUint64 if only a Req, a register access or a ready can
// wake the unit, and 0 otherwise.
func (m *Module) IdleFor() uint64 {
	if m.state == stateIdle && m.result == ResultNone && !m.hit {
		return math.MaxUint64
	}
	return 0
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(n uint64) {}

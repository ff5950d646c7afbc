package fence

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// state of the unit.
type state uint8

const (
	stateIdle   state = iota
	stateCheck        // compare the id
	stateWrite        // header and beat offered
	stateSettle       // both taken; the last clock in which a refusal may come
	stateEvent        // FENCE is updated; the event follows
)

// Module is the fence unit of one node. It writes 8 bytes: the timeline that a
// fence leads to, or the time. The timeline's low half is FENCE; its high half
// counts how often that has wrapped, or is 0 if the unit has no timeline.
//
//	In      req valid/ready stream of Req, ready is Ready(); time uint64 from
//	        ident; reqReady, beatReady for the write; refused, a pulse between
//	        the clock in which the header is taken and the clock after the last
//	        of header and beat was taken; regs regbus.Req; rst, a reset
//	Out     Ready; Write (port.Request, port.Beat), valid/ready each; Result, a
//	        pulse per Req; Event, a pulse per fence with IRQ; Timeline; Rsp
//	Timing  5 clocks from Req to Result if the write is taken at once; one Req
//	        at a time
//	Reset   the timeline 0, idle; not part of a node reset, which waits until the unit
//	        is idle and keeps the timeline
//	Order   header and beat taken, then both halves of the timeline at once, then,
//	        a clock later, Event and Result; a host write of FENCE in the clock of
//	        an update loses. A read of TIMELINE_LO latches the high half, which
//	        TIMELINE_HI reads as
//	Paths   none
//	Size    270 bits, and 64 with a timeline
//	Faults  ResultBackwards, ResultWriteError
//	Source  pkt.Fence, pkt.Timestamp, cpreg.Fence
type Module struct {
	base     uint16 // of the node's registers in BAR0
	timeline bool   // the high half is there

	state     state `w:"3"`
	req       Req
	value     uint64
	headerUp  bool
	beatUp    bool
	refused   bool
	completed uint32
	high      uint32 // of the timeline
	latched   uint32 // high, when TIMELINE_LO was read
	result    Result `w:"2"`
	event     bool
	rsp       regbus.Rsp
}

// New returns the fence unit of a node after reset, with a timeline of 64 bits or
// one of 32.
func New(node int, timeline bool) Module {
	return Module{base: uint16(cpreg.Base + node*cpreg.Stride), timeline: timeline}
}

// Ready reports whether a Req is taken in this clock.
func (m *Module) Ready() bool { return m.state == stateIdle }

// Write returns the header and the beat of the write.
func (m *Module) Write() (req port.Request, beat port.Beat) {
	if m.headerUp {
		req = port.Request{Kind: port.MemWrite, Len: 2, Addr: m.req.Addr}
	}
	if m.beatUp {
		beat = port.Beat{Valid: true, Last: true, Enable: 0xff, Data: m.value}
	}
	return req, beat
}

// Result returns the outcome of the last Req, in one clock.
func (m *Module) Result() Result { return m.result }

// Event reports that a fence with IRQ has completed, in one clock.
func (m *Module) Event() bool { return m.event }

// Timeline returns both halves of the timeline.
func (m *Module) Timeline() uint64 { return uint64(m.high)<<32 | uint64(m.completed) }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Reset clears the registers.
func (m *Module) Reset() { *m = Module{base: m.base, timeline: m.timeline} }

// Tick is one rising clock edge.
func (m *Module) Tick(req Req, time uint64, reqReady, beatReady, refused bool, regs regbus.Req, rst bool) {
	if hdl.Asleep(m.IdleFor() != 0 && req.Op == None && regs.Op == regbus.None && !rst) {
		return
	}
	m.access(regs)
	m.result, m.event = ResultNone, false
	switch m.state {
	case stateIdle:
		if req.Op != None {
			m.req = req
			m.state = stateCheck
		}
	case stateCheck:
		m.check(time)
	case stateWrite:
		m.refused = m.refused || refused
		m.headerUp = m.headerUp && !reqReady
		m.beatUp = m.beatUp && !beatReady
		if !m.headerUp && !m.beatUp {
			m.state = stateSettle
		}
	case stateSettle:
		m.settle(m.refused || refused)
	case stateEvent:
		m.result = ResultDone
		m.event = m.req.Op == Fence && m.req.IRQ
		m.state = stateIdle
	default:
		m.state = stateIdle
	}
	if rst {
		m.Reset()
	}
}

// check starts the write, unless the id is behind FENCE.
func (m *Module) check(time uint64) {
	if m.req.Op == Fence && m.req.ID-m.completed >= 1<<31 {
		m.result = ResultBackwards
		m.state = stateIdle
	} else {
		m.value = time
		if m.req.Op == Fence {
			m.value = uint64(m.wrapped())<<32 | uint64(m.req.ID)
		}
		m.headerUp, m.beatUp, m.refused = true, true, false
		m.state = stateWrite
	}
}

// wrapped returns the high half of the timeline behind a fence.
func (m *Module) wrapped() uint32 {
	high := m.high
	if m.timeline && m.req.ID < m.completed {
		high++
	}
	return high
}

// settle ends the write: a refused one leaves the timeline as it was.
func (m *Module) settle(refused bool) {
	if refused {
		m.result = ResultWriteError
		m.state = stateIdle
	} else {
		if m.req.Op == Fence {
			m.completed = m.req.ID
			if m.timeline {
				m.high = uint32(m.value >> 32)
			}
		}
		m.state = stateEvent
	}
}

func (m *Module) access(r regbus.Req) {
	m.rsp = regbus.Rsp{}
	write := r.Op == regbus.Write
	switch {
	case r.Op == regbus.None:
	case r.Off-m.base == cpreg.Fence || r.Off-m.base == cpreg.LineLo:
		m.rsp.Hit = true
		if write {
			m.completed = r.Data
		} else {
			m.rsp.Data = m.completed
			if r.Off-m.base == cpreg.LineLo {
				m.latched = m.high
			}
		}
	case r.Off-m.base == cpreg.LineHi:
		m.rsp.Hit = true
		if !write {
			m.rsp.Data = m.latched
		} else if m.timeline {
			m.high = r.Data
		}
	default:
	}
}

// IdleFor returns math.MaxUint64 if the unit only waits for a Req, a register
// access or a ready, and 0 otherwise.
func (m *Module) IdleFor() uint64 {
	if m.state == stateIdle && m.result == ResultNone && !m.rsp.Hit {
		return math.MaxUint64
	}
	return 0
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}

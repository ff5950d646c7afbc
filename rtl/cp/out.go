package cp

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/store"
)

// Fetch returns the read of the ring, of an indirect buffer or of a predicate.
func (m *Module) Fetch() port.Request { return m.req }

// Fence returns the request for the node's fence unit. It stays the same until the
// unit has a result.
func (m *Module) Fence() fence.Req {
	return fence.Req{Op: m.fence, IRQ: m.flag, ID: uint32(m.srcAddr), Addr: m.end}
}

// Resetting reports that the node waits for what is in flight to end, which the
// DMA engine gives up.
func (m *Module) Resetting() bool { return m.resetting }

// Scratch returns the write of a scratch register, which stays until it is taken.
func (m *Module) Scratch() store.Scratch {
	return store.Scratch{Valid: m.scratch, Index: uint8(m.srcAddr>>2) & 3, Data: uint32(m.srcAddr >> 32)}
}

// Fault reports that the node has stopped on a fault, in one clock.
func (m *Module) Fault() bool { return m.pulse }

// Preempted reports that the node has stopped for a preemption, in one clock.
func (m *Module) Preempted() bool { return m.yielded }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp {
	r := m.rsp
	if m.filed {
		r.Data |= m.half()
	}
	return r
}

// Busy reports that the node is not idle.
func (m *Module) Busy() bool { return !m.idle() }

// Starved reports that the node waits for a dword of a buffer.
func (m *Module) Starved() bool {
	ended := m.state == stateNext && m.ended()
	return m.Busy() && m.takes() && !m.ready && !ended && !m.failed()
}

// Looking reports that the node waits for the value of a predicate.
func (m *Module) Looking() bool { return m.state == stateAnswer }

// Retired reports that a packet has retired, in one clock, and Took that a dword
// of a buffer was taken, if the node is watched.
func (m *Module) Retired() bool { return m.retired }

// Took is described at Retired.
func (m *Module) Took() bool { return m.took }

// Packets returns the packets retired since reset, modulo 2^32.
func (m *Module) Packets() uint32 { return m.packets }

// IdleFor returns math.MaxUint64 if only an input can wake the node, also another
// level of a timeline, and 0 otherwise. A descriptor that is offered and not taken wakes nobody: whoever
// takes it does.
func (m *Module) IdleFor() uint64 {
	offers := m.fence != fence.None || m.req.Kind != port.None || m.scratch
	pulses := m.rsp.Hit || m.pulse || m.yielded || m.retired || m.took || m.ringSeek || m.ibSeek
	ends := m.resetting && m.quiet()
	acts := !m.resetting || m.state == stateBlame // which writes the file until the reset ends
	if offers || pulses || ends || m.lacks() || acts && m.moves() {
		return 0
	}
	win := m.readWindow()
	next := m.next(win, false, false, 0)
	if !m.weighs() && m.stream.issues(win, next, m.behind(win, next, false)) {
		return 0
	}
	return math.MaxUint64
}

// moves reports whether the decoder does something in the next clock.
func (m *Module) moves() bool {
	moves := m.yields(false)
	switch m.state {
	case stateNext, stateBody, stateSkip:
		started := m.run || m.interrupts() || m.state != stateNext
		checks := m.state == stateNext && m.fresh && !m.inIB
		ends := m.ringBad != ringGood || m.state == stateNext && m.ended()
		moves = moves || started && (m.ready || m.failed() || checks || ends)
	case stateIssue:
		moves = !m.offered
	case stateDrain:
		moves = !m.offered && m.inFlight == 0
	case stateAnswer:
		moves = !m.offers() && !m.reading
	case stateWait:
		moves = moves || !m.waiting
	case stateFence, stateFault:
	default:
		moves = true
	}
	return moves
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}

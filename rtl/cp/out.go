package cp

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
)

// Fetch returns the read of the ring, of an indirect buffer, of a predicate or of a context.
func (m *Module) Fetch() port.Request { return m.ring.req }

// Fence returns the request to the node's fence unit. It does not change until the unit has
// a result.
func (m *Module) Fence() fence.Req {
	r := fence.Req{Op: m.sync.fence, IRQ: m.decode.flag, ID: uint32(m.walk.src), Addr: m.walk.row}
	if m.sync.caps.Has(caps.Signal) {
		r.High = uint32(m.walk.src >> 32)
	}
	return r
}

// Fences reports whether Fence has a request.
func (m *Module) Fences() bool { return m.sync.fence != fence.None }

// Resetting reports whether the node waits for requests in flight to end. The DMA engine
// abandons them.
func (m *Module) Resetting() bool { return m.regs.resetting }

// Scratch returns the scratch write, which does not change until it is accepted.
func (m *Module) Scratch() regram.Scratch {
	return regram.Scratch{Valid: m.sync.scratch, Index: uint8(m.walk.src>>2) & 3, Data: uint32(m.walk.src >> 32)}
}

// Fault reports, for one clock, that the node has stopped on a fault.
func (m *Module) Fault() bool { return m.regs.fault }

// Preempted reports, for one clock, that the node has stopped for a preemption.
func (m *Module) Preempted() bool { return m.regs.yielded }

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	r := m.regs.rsp
	if m.regs.filed {
		r.Data |= m.file.half()
	}
	r.Data |= m.trace.data()
	return r
}

// Busy reports whether the node is not idle.
func (m *Module) Busy() bool { return !m.idle() }

// Starved reports whether the node waits for a dword of a buffer.
func (m *Module) Starved() bool {
	ended := m.decode.state == decodeNext && m.ring.ended()
	return m.Busy() && m.takes() && !m.file.ready && !ended && !m.ring.stream.failed() && !m.trail.active
}

// Looking reports whether the node waits for the value of a predicate or for a context.
func (m *Module) Looking() bool { return m.sync.state == syncAnswer }

// Retired reports, for one clock, that a packet has retired, if counters or the watchdog use it.
func (m *Module) Retired() bool { return m.regs.retired }

// Took reports, for one clock, that a dword of a buffer was taken, if counters or the watchdog use it.
func (m *Module) Took() bool { return m.regs.took }

// Packets returns the packets retired since reset, modulo 2^32.
func (m *Module) Packets() uint32 { return m.regs.packets }

// IdleFor returns math.MaxUint64 if only an input can wake the node, and 0 otherwise. The
// level of a timeline is an input too. A descriptor that is offered and not accepted does
// not wake the node, because the DMA engine acts first.
func (m *Module) IdleFor() uint64 {
	offers := m.sync.fence != fence.None || m.ring.req.Kind != port.None || m.sync.scratch
	pulses := m.regs.rsp.Hit || m.regs.fault || m.regs.yielded || m.regs.retired || m.regs.took
	ends := m.regs.resetting && m.empty()
	acts := !m.regs.resetting || m.ring.state == ringCopy || m.sets() // they write until the reset ends
	if offers || pulses || m.ring.toRing || m.ring.toIB || ends || m.lacks() || acts && m.moves() {
		return 0
	}
	if !m.weighs() && m.wanted(false, false, 0).issues {
		return 0
	}
	return math.MaxUint64
}

// started reports whether the node takes dwords, or stops for a preemption.
func (m *Module) started() bool {
	return m.regs.run || m.regs.interrupts() || m.decode.state != decodeNext
}

// moves reports whether the node changes in the next clock without an input.
func (m *Module) moves() bool {
	late := m.trail.active
	moves := m.yields(false) || m.trail.retires() || m.regs.interrupts() && m.unsent() && m.decode.state != decodeNext
	switch m.decode.state {
	case decodeNext, decodeBody, decodeSkip:
		next := m.decode.state == decodeNext
		started := m.started()
		checks := next && m.ring.fresh && !m.ring.inIB
		ends := m.ring.bad != ringGood || next && m.ring.ended()
		takes := m.file.ready && !(next && late && m.trail.holds)
		moves = moves || m.jumps() || started && (takes || !late && (m.ring.stream.failed() || checks || ends))
	case decodeCheck:
		moves = moves || !late || m.prepared()
	case decodeExec:
		moves = moves || m.works()
	case decodeFault:
	default:
		moves = true
	}
	return moves
}

// works reports whether the working unit changes in the next clock.
func (m *Module) works() bool {
	works := true
	interrupts := m.regs.interrupts() && m.ring.inIB
	switch {
	case m.issue.state == issueOffer:
		ends := interrupts || m.issue.readErr || m.issue.writeErr
		works = !m.issue.offered && (ends || !m.trail.active || !m.trail.clash) || m.issue.withdraws && interrupts
	case m.issue.state == issueDrain:
		works = !m.trail.active && (m.issue.empty() || m.canTrail())
	case m.sync.state == syncAnswer:
		works = !m.ring.offersRead() && !m.sync.reading
	case m.sync.state == syncWait:
		works = !m.sync.waiting
	case m.sync.state == syncFence:
		works = false
	default:
	}
	return works
}

// Skip skips n clocks without input. The node counts nothing in them.
func (m *Module) Skip(n uint64) {}

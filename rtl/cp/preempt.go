package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a node that is preempted forgets the packet in work but for what
// its descriptors have done, and leaves the indirect buffer. So nothing of it is
// in the way of another context, and to resume is to execute the INDIRECT packet
// once more, from the place that the registers name: the packet is fetched and
// checked anew and starts behind what was done. Outside of an indirect buffer
// nothing is to be resumed: IB_LEFT is 0 then, and PROGRESS waits for the INDIRECT
// that it belongs to. What an indirect buffer left behind is forgotten when the
// node runs again, not before: the host may be late to read it.

// pieceLog2 is the log2 of the bytes of a piece of a linear packet.
const pieceLog2 = 12

// interrupts reports whether the node is to stop for a preemption.
func (m *Module) interrupts() bool { return m.preemption && m.asked }

// yields reports whether it can do so in this clock: between packets, which the
// end of an indirect buffer is not, waiting for a fence, or stopped on a fault.
func (m *Module) yields(moving bool) bool {
	rests := m.state == stateNext && !moving && !m.ended() || m.state == stateFault
	return m.interrupts() && (rests || m.state == stateWait)
}

// boundary reports whether a packet of an indirect buffer can be left in front of
// its next descriptor: linear ones behind each piece, 2D ones behind each row.
func (m *Module) boundary() bool { return m.inIB && (!m.is2D() || m.piece == 0) }

// yield stops the node for a preemption.
func (m *Module) yield() {
	m.asked = false
	m.preempted = m.preemptID
	m.yielded = true
	if m.state != stateFault {
		if m.inIB {
			m.progress = m.issued
		}
		m.startFresh()
		m.run = false
		m.inIB = false
		m.state = stateNext
	}
}

// startFresh makes the next packet start at its beginning.
func (m *Module) startFresh() {
	if m.preemption {
		m.halted = false
		m.issued = 0
	}
}

// skipped returns what the packet that is checked has done before, in pieces or
// rows.
func (m *Module) skipped() uint32 {
	var n uint32
	if m.preemption {
		n = m.issued
	}
	return n
}

// advance counts a piece or a row.
func (m *Module) advance() {
	if m.preemption {
		m.issued = (m.issued + 1) & pkt.MaxProgress
	}
}

// preemptRegister returns a register of the preemption, 0 if it is none.
func (m *Module) preemptRegister(off uint16) uint32 {
	return only32(off == cpreg.Preempt, m.preemptID) | only32(off == cpreg.Preempted, m.preempted) |
		only32(off == cpreg.Progress, m.progress)
}

// writePreempt writes one.
func (m *Module) writePreempt(off uint16, v uint32) {
	switch off {
	case cpreg.Preempt:
		m.preemptID = v
		m.asked = true
	case cpreg.Progress:
		m.progress = v & cpreg.ProgressDone
	default:
	}
}

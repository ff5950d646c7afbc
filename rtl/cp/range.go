package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/fence"
)

// Design note: the ranges of a packet are looked at one after the other, first the
// source, by one set of adders: first the address as it was given, of a 2D packet the
// base of the surface, then the end of the range from its last row on. The way to the
// last row and then to the first one is the same.

// low looks at the address of the range in work, which was read, or at the base of its
// surface.
func (m *Module) low(addr uint64) {
	switch {
	case m.protection && m.op() == pkt.OpSetWindow:
		m.srcAddr = addr
		m.state = stateWindow
	case !m.starts(addr):
		m.fault(cpreg.CauseAddress, m.lowOperand())
	case m.is2D():
		m.startRow()
	default:
		m.state = stateRange
	}
}

// limit returns the last byte of the memory of an address.
func (m *Module) limit(addr uint64) uint64 {
	last := m.vramLimit - 1
	if addr&pkt.Host != 0 {
		last = m.hostLimit - 1
	}
	return last
}

// starts reports whether an address is in VRAM or in reach of the host port.
func (m *Module) starts(addr uint64) bool { return addr&^pkt.Host&^m.limit(addr) == 0 }

// ends reports whether so many bytes behind m.end are in its memory, all of them or, of
// the ring, the last one.
func (m *Module) ends() bool {
	limit, bytes := m.limit(m.end), m.bytes
	if m.state == stateRingEnd {
		bytes = m.readMask<<2 | 3
	}
	first := m.end & m.addrMask
	end := first + uint64(bytes)
	whole := m.state == stateRange && end&limit == 0 && (end>>1)&^limit == 0
	return first&^limit == 0 && (end&^limit == 0 || whole)
}

// checkRange goes on if the range in work, or the ring, ends in memory.
func (m *Module) checkRange() {
	inside := m.ends()
	if m.protection && m.edge == 0 {
		m.bottom = m.end
	}
	switch {
	case m.state == stateRingEnd:
		m.checkRingEnd(inside)
	case m.sized() && !inside:
		m.fault(cpreg.CauseAddress, operandEnd)
	case m.is2D() && m.edge == 0:
		m.edge = 1
		m.state = stateCorner
	default:
		m.edge = 0
		m.ranged()
	}
}

// sized reports whether the packet says how long its ranges are. What is aligned to its
// length ends in the memory in which it begins.
func (m *Module) sized() bool {
	var s bool
	switch m.op() {
	case pkt.OpIndirect, pkt.OpCopy, pkt.OpFill, pkt.OpCopy2D, pkt.OpFill2D:
		s = true
	default:
	}
	return s
}

// source takes the address of the source's first row from the range in work, or moves it
// on to the next row, or takes the operand that is no address, word. That the choice
// between a sum and a value is in front of the sum costs nothing: a cell has the one and
// the other.
func (m *Module) source(word uint64, settles, values bool) {
	to := word
	switch {
	case settles:
		to = m.end
	case !values:
		to &= pkt.MaxPitch
	default:
	}
	next := m.sum(m.srcAddr, to)
	if settles || values {
		next = to
	}
	m.srcAddr = next
}

// moveEnd moves the row of the range in work on, or begins with word.
func (m *Module) moveEnd(word, by uint64, begins bool) {
	to := by
	if begins {
		to = m.within(word)
	}
	next := m.sum(m.end, to)
	if begins {
		next = to
	}
	m.end = next
}

// ranged goes on when the range in work is in memory.
func (m *Module) ranged() {
	switch {
	case !m.guarded() || m.op() == pkt.OpIndirect:
		m.passed()
	case m.writes:
		m.window = 0
		m.state = stateWritable
	default:
		m.window = 0
		m.state = stateReadable
	}
}

// passed goes on when nothing speaks against the range in work.
func (m *Module) passed() {
	if m.writes {
		m.destined()
	} else {
		m.sourced()
	}
}

// sourced goes on behind the source.
func (m *Module) sourced() {
	switch m.op() {
	case pkt.OpIndirect:
		m.enter()
	case pkt.OpCopy:
		m.writes = true
		m.state = stateLow
	case pkt.OpCopy2D:
		m.writes = true
		m.state = stateCorner
	default:
		m.state = stateRead
	}
}

// destined goes on behind the destination.
func (m *Module) destined() {
	switch m.op() {
	case pkt.OpTimestamp:
		m.fence = fence.Timestamp
		m.state = stateFence
	case pkt.OpSaveState:
		if m.contexts {
			m.add = 8
		}
		m.state = stateSave
	case pkt.OpCopy:
		m.state = stateIssue
	case pkt.OpCopy2D:
		m.state = stateStep
	default:
		m.state = stateValue
	}
}

// enter goes into an indirect buffer.
func (m *Module) enter() {
	m.inIB = true
	m.kept = m.stream.have
	if m.fresh {
		m.kept = 0
	}
	m.buffer = m.end
	m.ibEnd = m.bytes >> 2 & pkt.MaxIndirect
	m.ibDone = 0
	m.ibSeek = true
	m.state = stateNext
	if m.preemption && m.flag {
		m.issued = m.progress
	}
}

// valued goes on behind the operand that is no address.
func (m *Module) valued() {
	switch m.op() {
	case pkt.OpFence:
		m.fence = fence.Fence
		m.state = stateFence
	case pkt.OpWriteReg:
		m.scratch = true
		m.state = stateRetire
	case pkt.OpWaitFence:
		m.state = stateWait
	case pkt.OpFill2D:
		m.state = stateStep
	default:
		m.state = stateIssue
	}
}

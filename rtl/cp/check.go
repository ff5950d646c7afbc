package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: the words of a body are checked as they come, and the first that is
// refused is kept; one with a reserved bit goes before one that is not aligned. No
// packet has words of which one is out of range and another, behind it, reserved or
// not aligned, so this is the order in which the causes are documented.

// wordCause returns what is wrong with a dword of the body, and what is refused.
func (m *Module) wordCause(dword uint32, beyond bool) (cause uint8, bad operand) {
	pair := operandPair0
	if m.op() == pkt.OpWriteReg {
		pair = operandWord0
	}
	out := m.outCause(dword, beyond)
	cause, bad = out, wordAt(m.n)
	switch {
	case dword&m.reserved() != 0:
		cause = cpreg.CauseReserved
	case m.n == 0 && dword&m.unaligned() != 0:
		cause, bad = cpreg.CauseAlign, pair
	case m.op() == pkt.OpPredicate:
		bad = operandLeft
	default:
	}
	return cause, bad
}

// reserved returns the reserved bits of the dword in hand.
func (m *Module) reserved() uint32 {
	var used uint32
	switch op := m.op(); {
	case (op == pkt.OpSetState || op == pkt.OpWaitFence) && m.n == 1 || op == pkt.OpFence && m.n == 3:
		used = 1
	case op == pkt.OpSetState && m.n == 5 || op == pkt.OpSetWindow && m.n == 1:
		used = 7
	case op == pkt.OpWriteReg && m.n == 0:
		used = 0xffff
	case op == pkt.OpPredicate && m.n == 2:
		used = 0x1ffff
	case op == pkt.OpSetState && m.n == 4 || op == pkt.OpIndirect && m.n == 2 && !m.preemption:
		used = pkt.MaxPitch
	case op == pkt.OpIndirect && m.n == 2:
		used = 1<<21 - 1
	default:
		used = 1<<32 - 1
	}
	return ^used
}

// unaligned returns the bits that are 0 in the first dword of the body.
func (m *Module) unaligned() uint32 {
	var bits uint32
	switch m.op() {
	case pkt.OpIndirect, pkt.OpWriteReg:
		bits = 3
	case pkt.OpTimestamp, pkt.OpPredicate, pkt.OpFence:
		bits = 7
	case pkt.OpSaveState, pkt.OpRestoreState:
		bits = pkt.StateBytes - 1
	default:
	}
	return bits
}

// scratchOff is SCRATCH0 in BAR0; the others follow it.
const scratchOff = idreg.Base + idreg.Scratch0

// outCause returns the cause if the dword in hand is out of range.
func (m *Module) outCause(dword uint32, beyond bool) uint8 {
	var out bool
	cause := uint8(cpreg.CauseState)
	switch op := m.op(); {
	case op == pkt.OpSetState && m.n == 5:
		out = dword&7 > uint32(pkt.Format128)
	case op == pkt.OpSetState && m.n >= 6 || op == pkt.OpCopy2D || op == pkt.OpFill2D && m.n < 2:
		out = far(dword)
	case op == pkt.OpCopy && m.n == 4 || op == pkt.OpFill && m.n == 2:
		out, cause = dword&^m.maxBytes != 0, cpreg.CauseLength
	case op == pkt.OpWriteReg && m.n == 0:
		out, cause = dword&0xffff&^0xc != scratchOff, cpreg.CauseRegister
	case op == pkt.OpPredicate && m.n == 2:
		out, cause = beyond, cpreg.CauseLength
	case op == pkt.OpWaitFence && m.n == 1:
		out = m.nodes == 1 && dword&1 != 0
	default:
	}
	if !out {
		cause = cpreg.CauseNone
	}
	return cause
}

// far reports whether one of a pair of coordinates is out of range.
func far(p uint32) bool { return beyond(uint16(p)) || beyond(uint16(p>>16)) }

// beyond reports whether a coordinate is above pkt.MaxCoord, a power of two, by
// its bits: a comparison would be a chain of carries for each of the many.
func beyond(c uint16) bool {
	return c&^(2*pkt.MaxCoord-1) != 0 || c&pkt.MaxCoord != 0 && c&(pkt.MaxCoord-1) != 0
}

// low and high are a pair of coordinates, each in 15 bits.
func low(p uint32) uint16  { return uint16(p) & 0x7fff }
func high(p uint32) uint16 { return uint16(p>>16) & 0x7fff }

// check ends the packet whose body is there if something is wrong with it, and
// otherwise begins it.
func (m *Module) check() {
	cause, bad := m.cause, m.bad
	if cause == cpreg.CauseNone {
		cause, bad = m.stateCause()
	}
	m.writes = !m.reads()
	m.again, m.waiting, m.wrong = false, false, false
	m.edge, m.word = 0, 0
	m.scale = 2
	m.piece = 0
	if !m.is2D() {
		m.piece = m.skipped() & m.pieceMask
	}
	if cause != cpreg.CauseNone {
		m.fault(cause, bad)
	} else {
		m.begin()
	}
}

// reads reports whether the first range of the packet is its source.
func (m *Module) reads() bool {
	var r bool
	switch m.op() {
	case pkt.OpIndirect, pkt.OpCopy, pkt.OpCopy2D, pkt.OpPredicate, pkt.OpSetWindow, pkt.OpRestoreState:
		r = true
	default:
	}
	return r
}

// stateCause returns what speaks against a 2D packet in the state that SET_STATE sets.
func (m *Module) stateCause() (cause uint8, bad operand) {
	copies := m.op() == pkt.OpCopy2D
	bad = operandFormat
	wrong := m.dst.format > uint8(pkt.Format64)
	if copies {
		wrong = m.src.format != m.dst.format
	}
	switch {
	case copies && !m.src.set:
		wrong, bad = true, operandNone
	case !m.dst.set:
		wrong, bad = true, operandOne
	default:
	}
	if m.is2D() && wrong {
		cause = cpreg.CauseState
	}
	return cause, bad
}

// begin starts a packet.
func (m *Module) begin() {
	switch m.op() {
	case pkt.OpIndirect:
		m.state = stateScale
		if m.bytes == 0 {
			m.state = stateRetire
		}
	case pkt.OpCopy, pkt.OpFill:
		m.state = stateLow
		if m.bytes == 0 || m.preemption && m.bytes <= m.skipped()<<pieceLog2 {
			m.state = stateRetire
		}
	case pkt.OpSetState:
		m.set()
	case pkt.OpCopy2D, pkt.OpFill2D:
		m.state = stateCorner
	case pkt.OpWriteReg, pkt.OpWaitFence:
		m.state = stateValue
	default:
		if m.protection || m.contexts {
			m.bytes = 8
		}
		m.state = stateLow
	}
}

// set makes the body of a SET_STATE the words of a surface.
func (m *Module) set() {
	s := surface{set: true, format: m.few}
	body := m.body
	if m.flag {
		m.dst = s
		m.body, m.onto = m.onto, body
	} else {
		m.src = s
		m.body, m.from = m.from, body
	}
	m.state = stateRetire
}

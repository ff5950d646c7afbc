package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// check looks at the fields of the packet whose body is in b0 to b6.
func (m *Module) check() {
	first, second := m.within(join(m.b1, m.b0)), m.within(join(m.b3, m.b2))
	m.srcAddr, m.srcEnd = first, first
	m.dstAddr, m.dstEnd = first, first
	if op(m.hdr) == pkt.OpCopy {
		m.dstAddr, m.dstEnd = second, second
	}
	m.bytes = 8
	m.done = 0
	m.rows = 1
	switch op(m.hdr) {
	case pkt.OpIndirect:
		m.checkIndirect()
	case pkt.OpSetState:
		m.checkSetState()
	case pkt.OpCopy:
		m.checkCopy()
	case pkt.OpCopy2D:
		m.checkCopy2D()
	case pkt.OpFill:
		m.checkFill()
	case pkt.OpFill2D:
		m.checkFill2D()
	case pkt.OpWriteReg:
		m.checkWriteReg()
	case pkt.OpTimestamp:
		m.checkAligned()
	case pkt.OpPredicate:
		m.checkPredicate()
	case pkt.OpSetWindow:
		if m.protection {
			m.checkSetWindow()
		}
	case pkt.OpSaveState:
		if m.contexts {
			m.checkContext(stateDest)
		}
	case pkt.OpRestoreState:
		if m.contexts {
			m.checkContext(stateSource)
		}
	case pkt.OpWaitFence:
		if m.timeline {
			m.checkWaitFence()
		}
	default:
		if m.b3>>1 != 0 {
			m.fault(cpreg.CauseReserved, operandWord3)
		} else {
			m.checkAligned()
		}
	}
}

func (m *Module) checkIndirect() {
	m.bytes = m.b2 & pkt.MaxIndirect << 2
	switch {
	case m.b2>>21 != 0 || m.b2>>20 != 0 && !m.preemption:
		m.fault(cpreg.CauseReserved, operandWord2)
	case m.b0&3 != 0:
		m.fault(cpreg.CauseAlign, operandPair0)
	case m.bytes == 0:
		m.state = stateRetire
	default:
		m.state = stateSource
	}
}

func (m *Module) checkSetState() {
	switch {
	case m.b0>>1 != 0:
		m.fault(cpreg.CauseReserved, operandWord0)
	case m.b3>>20 != 0:
		m.fault(cpreg.CauseReserved, operandWord3)
	case m.b4>>3 != 0:
		m.fault(cpreg.CauseReserved, operandWord4)
	case m.b4 > uint32(pkt.Format128):
		m.fault(cpreg.CauseState, operandWord4)
	case far(m.b5):
		m.fault(cpreg.CauseState, operandWord5)
	case far(m.b6):
		m.fault(cpreg.CauseState, operandWord6)
	default:
		s := surface{
			set: true, base: join(m.b2, m.b1), pitch: m.b3 & pkt.MaxPitch, format: uint8(m.b4) & 7,
			x0: low(m.b5), y0: high(m.b5), x1: low(m.b6), y1: high(m.b6),
		}
		if m.b0 == uint32(pkt.Source) {
			m.src = s
		} else {
			m.dst = s
		}
		m.state = stateRetire
	}
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

func (m *Module) checkCopy() {
	m.checkBytes(m.b4, operandWord4, stateSource)
}

func (m *Module) checkFill() {
	m.checkBytes(m.b2, operandWord2, stateDest)
}

// checkBytes checks the length of a linear packet and goes on to state then.
func (m *Module) checkBytes(bytes uint32, name operand, then state) {
	m.bytes = bytes & m.byteMask
	m.done = m.skipped() << pieceLog2
	switch {
	case bytes&^m.maxBytes != 0:
		m.fault(cpreg.CauseLength, name)
	case bytes <= m.skipped()<<pieceLog2:
		m.state = stateRetire
	default:
		m.state = then
	}
}

func (m *Module) checkCopy2D() {
	m.startClip(m.b2, 0)
	switch {
	case far(m.b0):
		m.fault(cpreg.CauseState, operandWord0)
	case far(m.b1):
		m.fault(cpreg.CauseState, operandWord1)
	case far(m.b2):
		m.fault(cpreg.CauseState, operandWord2)
	case !m.src.set:
		m.fault(cpreg.CauseState, operandNone)
	case !m.dst.set:
		m.fault(cpreg.CauseState, operandOne)
	case m.src.format != m.dst.format:
		m.fault(cpreg.CauseState, operandFormat)
	default:
		m.state = stateClip
	}
}

func (m *Module) checkFill2D() {
	m.startClip(m.b1, 2)
	switch {
	case far(m.b0):
		m.fault(cpreg.CauseState, operandWord0)
	case far(m.b1):
		m.fault(cpreg.CauseState, operandWord1)
	case !m.dst.set:
		m.fault(cpreg.CauseState, operandOne)
	case m.dst.format > uint8(pkt.Format64):
		m.fault(cpreg.CauseState, operandFormat)
	default:
		m.state = stateClip
	}
}

// scratchOff is SCRATCH0 in BAR0; the others follow it.
const scratchOff = idreg.Base + idreg.Scratch0

func (m *Module) checkWriteReg() {
	switch {
	case m.b0>>16 != 0:
		m.fault(cpreg.CauseReserved, operandWord0)
	case m.b0&3 != 0:
		m.fault(cpreg.CauseAlign, operandWord0)
	case m.b0&^0xc != scratchOff:
		m.fault(cpreg.CauseRegister, operandWord0)
	default:
		m.scratch = true
		m.state = stateRetire
	}
}

// checkPredicate checks that what may be skipped is in the buffer.
func (m *Module) checkPredicate() {
	switch {
	case m.b2>>17 != 0:
		m.fault(cpreg.CauseReserved, operandWord2)
	case m.b0&7 != 0:
		m.fault(cpreg.CauseAlign, operandPair0)
	case m.inIB && m.b2&0xffff > m.ibEnd-m.ib.at:
		m.fault(cpreg.CauseLength, operandSkip)
	default:
		m.state = stateSource
	}
}

// checkAligned checks the address of a fence or time stamp, 8 bytes.
func (m *Module) checkAligned() {
	if m.b0&7 != 0 {
		m.fault(cpreg.CauseAlign, operandPair0)
	} else {
		m.state = stateDest
	}
}

func (m *Module) checkWaitFence() {
	m.waiting = false
	switch {
	case m.b0>>1 != 0:
		m.fault(cpreg.CauseReserved, operandWord0)
	case m.b0 >= m.nodes:
		m.fault(cpreg.CauseState, operandWord0)
	default:
		m.state = stateWait
	}
}

package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a node that has stopped on a fault keeps its packet, so FAULT_ADDR,
// FAULT_OP and FAULT_BAD need no registers: which operand was refused is enough. A
// ring that cannot be has no packet: its registers, which the host may write, are
// copied to words of the body.
// The operand that a range check looks at is chosen by the same multiplexer.

// An operand is a value that a packet can be refused for.
type operand uint8

const (
	operandNone      operand = iota // 0
	operandOne                      // 1
	operandHeader                   // of the packet
	operandWord0                    // of its body
	operandWord1                    //
	operandWord2                    //
	operandWord3                    //
	operandWord4                    //
	operandWord5                    //
	operandWord6                    //
	operandSkip                     // low half of word 2
	operandPair0                    // words 0 and 1
	operandPair1                    // words 1 and 2
	operandPair2                    // words 2 and 3
	operandSource                   // base of a surface
	operandDest                     //
	operandFormat                   // of the destination surface
	operandSourceEnd                // last row of a range
	operandDestEnd                  //
	operandSourceAt                 // first row of a range
	operandDestAt                   //
	operandNext                     // address of the next dword
	operandValue                    // a word that was restored
	operandRingBase                 // registers, copied to the words when the node stops
	operandRingSize                 //
	operandWptr                     //
)

// Widths of what a sum of addresses may add.
const (
	maxReach  = 36 // log2 of the bytes from a surface's base to its last row
	maxBuffer = 22 // log2 of the bytes of an indirect buffer
)

// names returns the operand to look at: of the range that is checked in this
// clock, otherwise of the fault.
func (m *Module) names() operand {
	o := m.bad
	switch m.state {
	case stateSource:
		o = m.sourceOperand()
	case stateDest:
		o = m.destOperand()
	default:
	}
	return o
}

// sourceOperand returns what a packet names as its source.
func (m *Module) sourceOperand() operand {
	o := operandPair0
	if m.is2D() {
		o = operandSource
	} else if m.protection && op(m.hdr) == pkt.OpSetWindow {
		o = operandPair1
	}
	return o
}

// destOperand returns what a packet names as its destination.
func (m *Module) destOperand() operand {
	o := operandPair0
	if m.is2D() {
		o = operandDest
	} else if op(m.hdr) == pkt.OpCopy {
		o = operandPair2
	}
	return o
}

// operand returns the value of an operand.
func (m *Module) operand(o operand) uint64 {
	v := m.address(o)
	if o >= operandWord0 && o <= operandPair2 {
		v = m.field(o)
	}
	return v
}

// field returns the value of an operand that is one or two words of a packet.
func (m *Module) field(o operand) uint64 {
	lo, hi := m.b6, uint32(0)
	switch o {
	case operandWord0, operandPair0:
		lo = m.b0
	case operandWord1, operandPair1:
		lo = m.b1
	case operandWord2, operandPair2:
		lo = m.b2
	case operandSkip:
		lo = m.b2 & 0xffff
	case operandWord3:
		lo = m.b3
	case operandWord4:
		lo = m.b4
	case operandWord5:
		lo = m.b5
	default:
	}
	switch o {
	case operandPair0:
		hi = m.b1
	case operandPair1:
		hi = m.b2
	case operandPair2:
		hi = m.b3
	default:
	}
	return join(hi, lo)
}

// address returns the value of an operand that is no word of a packet's body.
func (m *Module) address(o operand) uint64 {
	var v uint64
	switch o {
	case operandOne:
		v = 1
	case operandHeader:
		v = uint64(m.hdr)
	case operandFormat:
		v = uint64(m.dst.format)
	case operandSource:
		v = m.src.base
	case operandDest:
		v = m.dst.base
	case operandSourceEnd:
		v = m.srcEnd
	case operandDestEnd:
		v = m.dstEnd
	case operandSourceAt:
		if m.protection {
			v = m.srcAddr
		}
	case operandDestAt:
		if m.protection {
			v = m.dstAddr
		}
	case operandValue:
		v = m.value
	default:
	}
	return v
}

// located returns the address of a position in a buffer that a register names:
// of IB_ADDR, of FAULT_BAD if that is the next dword, or of the packet.
func (m *Module) located(off uint16) uint64 {
	base, at := m.readBase, m.hdrAt
	ib := off == cpreg.IBLo || off == cpreg.IBHi
	if ib || m.inIB {
		base = m.ibBase
	}
	if ib {
		at = m.ib.at
	} else if off == cpreg.FaultBad || off == cpreg.FaultBadH {
		at = m.at()
	}
	return m.sum(base, uint64(at)<<2)
}

package cp

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Design note: a node that has stopped on a fault keeps its packet, so FAULT_ADDR,
// FAULT_OP and FAULT_BAD need no registers: which operand was refused is enough, and
// the words of the body are in the file. A ring that cannot be has no packet: its
// registers, which the host may write, are copied to where a body is.

// An operand is a value that a packet can be refused for. Words and pairs of words are
// named by where they are in the body's slot.
type operand uint8

const (
	operandWord0 operand = 0
	operandPair0 operand = 8  // words 0 and 1
	operandPair2 operand = 10 // words 2 and 3
)

// The operands that are no words.
const (
	operandNone     operand = 16 + iota // 0
	operandOne                          // 1
	operandHeader                       // of the packet
	operandLeft                         // what a PREDICATE skips, or RING_SIZE
	operandSource                       // base of a surface
	operandDest                         //
	operandFormat                       // of the destination surface
	operandEnd                          // last row of a range
	operandSourceAt                     // first row of a range
	operandDestAt                       //
	operandNext                         // address of the next dword of the body
	operandStart                        // address of the next header
	operandValue                        // a word that was restored
)

// Widths of what a sum of addresses may add.
const (
	maxReach  = 36 // log2 of the bytes from a surface's base to its last row
	maxBuffer = 22 // log2 of the bytes of an indirect buffer
)

// wordAt returns the operand that is a word of the body.
func wordAt(n uint8) operand { return operandWord0 + operand(n&7) }

// lowOperand returns what the packet names as the range in work.
func (m *Module) lowOperand() operand {
	o := m.sourceOperand()
	if m.writes {
		o = m.destOperand()
	}
	return o
}

// sourceOperand returns what a packet names as its source.
func (m *Module) sourceOperand() operand {
	o := operandPair0
	if m.is2D() {
		o = operandSource
	} else if m.op() == pkt.OpSetWindow {
		o = operandPair2
	}
	return o
}

// destOperand returns what a packet names as its destination.
func (m *Module) destOperand() operand {
	o := operandPair0
	if m.is2D() {
		o = operandDest
	} else if m.op() == pkt.OpCopy {
		o = operandPair2
	}
	return o
}

// small returns what is refused if it is a number of few bits.
func (m *Module) small() uint32 {
	return bit(m.bad == operandOne, 1) | only32(m.bad == operandLeft, uint32(m.left)) |
		only32(m.bad == operandFormat, uint32(m.dst.format))
}

// large returns what is refused if it is a word that was restored, or an address for
// which there is no window.
func (m *Module) large() uint64 {
	var v uint64
	switch m.bad {
	case operandSourceAt, operandDestAt:
		v = m.end
	case operandValue:
		v = m.value
	default:
	}
	return v
}

// refusal returns where in the file what is refused is, and whether it is there.
func (m *Module) refusal(high bool) look {
	l := look{Valid: m.bad < operandNone, High: high, At: place(m.body, uint8(m.bad)>>1&3)}
	switch {
	case m.bad == operandSource:
		l = look{Valid: true, High: high, At: place(m.from, wordBase)}
	case m.bad == operandDest:
		l = look{Valid: true, High: high, At: place(m.onto, wordBase)}
	case m.bad == operandHeader:
		l = look{Valid: !high, At: place(slotRegs, wordHeader)}
	case m.bad < operandPair0:
		l.High = m.bad&1 != 0
		l.Valid = !high
	default:
	}
	return l
}

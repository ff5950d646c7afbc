package cp

// An ending is the way in which a unit ended its part of a packet.
type ending uint8

const (
	working   ending = iota // not ended
	passed                  // the next unit continues
	finished                // only a scratch write is outstanding
	completed               // the packet retires in this clock
	skipping                // the dwords counted by PREDICATE are skipped
	halted                  // the packet stopped for a preemption
	badRing                 // the ring cannot be read
	refused                 // the node faults
)

// An outcome is the result of a unit's clock.
type outcome struct {
	end   ending
	cause uint8   // of cpreg, if the packet is refused
	bad   operand // the refused operand, if the packet is refused
}

func ended(e ending) outcome { return outcome{end: e} }

func refuse(cause uint8, bad operand) outcome { return outcome{refused, cause, bad} }

// An operand is a value for which a packet can be refused. Dwords and pairs of dwords are
// named by their place in the body's slot.
type operand uint8

const (
	operandWord0 operand = 0
	operandPair0 operand = 8  // places 0 and 1
	operandPair2 operand = 10 // places 2 and 3
)

// The operands that are not dwords of the body.
const (
	operandNone     operand = 16 + iota // 0
	operandOne                          // 1
	operandHeader                       // header of the packet
	operandLeft                         // dwords that PREDICATE skips, or RING_SIZE
	operandSource                       // base of the source surface
	operandDest                         // base of the destination surface
	operandFormat                       // format of the destination surface
	operandEnd                          // last row of a range
	operandSourceAt                     // first row of a source range
	operandDestAt                       // first row of a destination range
	operandNext                         // address of the next dword of the body
	operandStart                        // address of the next header
	operandValue                        // a word of RESTORE_STATE
)

// wordAt returns the operand that is the dword at place n of the body's slot.
func wordAt(n uint8) operand { return operandWord0 + operand(n&7) }

// pairAt returns the operand that is a word of the body's slot.
func pairAt(word uint8) operand { return operandPair0 + operand(word&1)<<1 }

// sourceOperand returns the operand that names the source of an opcode.
func sourceOperand(op uint8) operand {
	o := pairAt(sourceWord(op))
	if usesSurfaces(op) {
		o = operandSource
	}
	return o
}

// destOperand returns the operand that names the destination of an opcode.
func destOperand(op uint8) operand {
	o := pairAt(destWord(op))
	if usesSurfaces(op) {
		o = operandDest
	}
	return o
}

// small returns the refused operand if it is not in the file and fits into a dword.
func (m *Module) small() uint32 {
	return bit(m.decode.bad == operandOne, 1) | only32(m.decode.bad == operandLeft, uint32(m.decode.left)) |
		only32(m.decode.bad == operandFormat, uint32(m.file.dst.format))
}

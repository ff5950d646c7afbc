package seq

// Fields of an instruction, see package asm.
const (
	modeValue  = 0
	modeMemory = 1
	modeIndir  = 2
	modePort   = 3

	opLoad    = 0
	opAdd     = 1
	opAdc     = 2
	opSub     = 3
	opSbc     = 4
	opAnd     = 5
	opOr      = 6
	opXor     = 7
	opStore   = 8
	opCompare = 9
	opTest    = 10
	opClear   = 11
	opDec     = 12
	opIncC    = 13
	opPointer = 14 // a return, with the mode of a port
	opInc     = 15

	always       = 0 // conditions of jumps
	ifZero       = 1
	ifNotZero    = 2
	ifCarry      = 3
	ifNotCarry   = 4
	ifFrame      = 5
	ifOther      = 6
	ifRoom       = 7
	ifRequest    = 8
	ifRead       = 9
	ifBeat       = 10
	ifCompletion = 11
	ifTick       = 12
	ifDamaged    = 13
	ifEmpty      = 14
	called       = 15 // a call always holds
)

func jumps(in uint16) bool      { return in>>15 != 0 }
func op(in uint16) uint8        { return uint8(in>>11) & 15 } // of an instruction that does not jump
func mode(in uint16) uint8      { return uint8(in>>9) & 3 }
func condition(in uint16) uint8 { return uint8(in>>11) & 15 }

// ports reports whether an instruction reads or writes a port.
func ports(in uint16) bool { return !jumps(in) && mode(in) == modePort }

// takes reports whether an instruction reads a port.
func takes(in uint16, from uint16) bool {
	return ports(in) && op(in)>>3 == 0 && in&7 == from
}

// outputs reports whether an instruction writes a port.
func outputs(in uint16) bool { return ports(in) && op(in) == opStore }

// moves reports whether an instruction changes x.
func moves(in uint16) bool {
	return takes(in, inX) || outputs(in) && in>>2&3 == outX>>2
}

// waits reports whether an instruction offers what is not taken in this clock.
func waits(in uint16, ready Ready) bool {
	taken := true
	switch in >> 1 & 7 {
	case outTx >> 1:
		taken = ready.Tx
	case outBeat >> 1:
		taken = ready.Beat
	case outKind >> 1:
		taken = ready.Req || in&1 != 0
	default:
	}
	return outputs(in) && !taken
}

// indirect reports whether an instruction works on the byte at the pointer.
func indirect(in uint16) bool { return !jumps(in) && mode(in) == modeIndir }

// points reports whether an instruction sets the pointer to its operand in a mode.
func points(in uint16, from uint8) bool {
	return !jumps(in) && op(in) == opPointer && mode(in) == from
}

// returns reports whether an instruction is a return.
func returns(in uint16) bool { return ports(in) && op(in) == opPointer }

// updates reports whether an instruction writes the memory.
func updates(in uint16) bool {
	o := op(in)
	writes := o == opStore || o == opClear || o == opDec || o == opIncC || o == opInc
	return !jumps(in) && writes && (mode(in) == modeMemory || mode(in) == modeIndir)
}

// results reports whether an instruction changes a.
func results(in uint16) bool {
	o := op(in)
	return !jumps(in) && o != opCompare && o != opTest && o != opPointer
}

// flags reports whether an instruction sets the flag of zero, and whether the carry.
func flags(in uint16) (zero, carry bool) {
	o := op(in)
	zero = !jumps(in) && o != opStore && o != opPointer
	half := o == opLoad && mode(in) == modePort && in>>2&1 != 0
	counts := o >= opAdd && o <= opSbc || o == opCompare || o == opDec || o == opIncC || o == opInc
	return zero, !jumps(in) && (counts || half)
}

// differs reports whether the carry of an instruction is a borrow.
func differs(o uint8) bool { return o == opSub || o == opSbc || o == opCompare || o == opDec }

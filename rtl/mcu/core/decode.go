package core

// Opcodes, bits 6..0 of an instruction (Unprivileged ISA, table 24.1).
const (
	opLoad   = 0x03
	opFence  = 0x0f
	opImm    = 0x13
	opAUIPC  = 0x17
	opStore  = 0x23
	opReg    = 0x33
	opLUI    = 0x37
	opBranch = 0x63
	opJALR   = 0x67
	opJAL    = 0x6f
	opSystem = 0x73
)

// Instructions without operands, with their opcode (Unprivileged ISA, chapter 24;
// Privileged Architecture, chapter 5).
const (
	insECALL  = 0x00000073
	insEBREAK = 0x00100073
	insWFI    = 0x10500073
	insMRET   = 0x30200073

	insIncrement = 0x00100013 // ADDI x0, x0, 1
)

func opcode(ir uint32) uint8 { return uint8(ir) & 0x7f }
func funct3(ir uint32) uint8 { return uint8(ir>>12) & 7 }
func funct7(ir uint32) uint8 { return uint8(ir>>25) & 0x7f }
func rd(ir uint32) uint8     { return uint8(ir>>7) & 31 }
func rs1(ir uint32) uint8    { return uint8(ir>>15) & 31 }
func rs2(ir uint32) uint8    { return uint8(ir>>20) & 31 }

// valid reports whether an instruction is one of RV32I, Zicsr or Zifencei. Whether its CSR
// exists is not checked.
func valid(ir uint32) bool {
	f3, f7 := funct3(ir), funct7(ir)
	switch opcode(ir) {
	case opLUI, opAUIPC, opJAL:
		return true
	case opJALR:
		return f3 == 0
	case opBranch:
		return f3>>1 != 1
	case opLoad:
		return f3 != 3 && f3>>1 != 3
	case opStore:
		return f3>>2 == 0 && f3 != 3
	case opImm:
		return f3&3 != 1 || f7 == 0 || f7 == 0x20 && f3 == 5
	case opReg:
		return f7 == 0 || f7 == 0x20 && (f3 == 0 || f3 == 5)
	case opFence:
		return f3>>1 == 0
	case opSystem:
		return f3 != 4 && f3 != 0 || ir == insECALL || ir == insEBREAK || ir == insWFI || ir == insMRET
	default:
		return false
	}
}

// shifts reports whether a valid instruction is a shift.
func shifts(ir uint32) bool { return (opcode(ir) == opImm || opcode(ir) == opReg) && funct3(ir)&3 == 1 }

// modifies reports whether a valid instruction reads or writes a CSR.
func modifies(ir uint32) bool { return opcode(ir) == opSystem && funct3(ir) != 0 }

// writesRD reports whether a valid instruction writes rd from acc in the clock after it.
func writesRD(ir uint32) bool {
	switch opcode(ir) {
	case opLUI, opAUIPC, opJAL, opJALR, opImm, opReg:
		return rd(ir) != 0
	default:
		return false
	}
}

// extend returns bit 31 of an instruction, n times, in the upper bits of a word.
func extend(ir uint32, n uint8) uint32 {
	if ir>>31 != 0 {
		return ^uint32(0) << (32 - n)
	}
	return 0
}

// immediate returns the second operand of the adder of an instruction that has no rs2 there:
// the immediate of a load, a store, a JALR, an operation or a LUI (Unprivileged ISA, figure
// 2.4).
func immediate(ir uint32) uint32 {
	high, low := extend(ir, 20), ir>>20&0xfff
	if opcode(ir) == opLUI {
		high, low = ir&0xfffff000, 0
	}
	if opcode(ir) == opStore {
		low = low&0xfe0 | uint32(rd(ir))
	}
	return high | low
}

// offset returns what a branch, a JAL or an AUIPC adds to pc.
func offset(ir uint32) uint32 {
	switch opcode(ir) {
	case opBranch:
		return extend(ir, 20) | ir>>7&1<<11 | ir>>25&0x3f<<5 | ir>>8&0xf<<1
	case opJAL:
		return extend(ir, 12) | ir&0xff000 | ir>>20&1<<11 | ir>>21&0x3ff<<1
	default:
		return ir & 0xfffff000
	}
}

package core

// results are what a clock computes from the operands, whether it is used or not.
//
//	sum     of the operands of the instruction
//	amount  bits to shift
//	acc     what acc gets in a state that sets it
//	pc      what pc gets at the end of the instruction, or of a trap
type results struct {
	sum    sum
	amount uint8 `w:"5"`
	acc    uint32
	pc     uint32
}

// compute returns the results of a clock. acc and pc are each an OR of terms of which at most
// one is not 0: that takes less logic than a choice in each state.
func (m *Module) compute(irq Interrupts, dbg Debug, in operands) results {
	near, second := m.pc+m.offset(), m.second(in.b)
	r := results{amount: uint8(second) & 31}
	if shifts(m.ir) {
		second = 0
	}
	r.sum = add(m.ir, in.a, second)
	executes, op := m.state == stateExecute, opcode(m.ir)
	register, back := executes && op == opJALR, executes && m.ir == insMRET || m.state == stateTrap
	r.pc = when(register, r.sum.value&^1) | when(back, in.b) | when(!register && !back, near)

	r.acc = m.moved(near, r.sum) | when(m.state == stateShift, shifted(m.ir, m.acc)) | m.modified(in.a)
	if executes {
		r.acc |= logic(m.ir, in.a, second) | bit(compares(m.ir) && r.sum.below)
	}
	if executes && op == opSystem {
		r.acc |= m.read(m.ir, irq, dbg.Data)
	}
	if m.state == stateCause {
		r.acc |= bit(m.irq)<<31 | uint32(m.cause)
	}
	return r
}

// second returns the second operand of an instruction.
func (m *Module) second(b uint32) uint32 {
	switch opcode(m.ir) {
	case opReg, opBranch, opSystem:
		return b
	default:
		return immediate(m.ir)
	}
}

// moved returns what acc gets from an adder: an address of an instruction, or the sum. The sum is
// also the target of a JALR that is misaligned.
func (m *Module) moved(near uint32, s sum) uint32 {
	executes, op := m.state == stateExecute, opcode(m.ir)
	links := op == opAUIPC || op == opJAL || op == opJALR && s.value&2 == 0
	nears := executes && links || m.state == stateJump || m.state == stateVector ||
		m.state == stateValue && m.cause == causeFetch
	sums := executes && !links && !compares(m.ir) && !combines(m.ir)
	return when(nears, near) | when(sums, s.value&^bit(op == opJALR))
}

// combines reports whether an instruction is a XOR, an OR or an AND.
func combines(ir uint32) bool {
	return (opcode(ir) == opReg || opcode(ir) == opImm) && funct3(ir)&4 != 0 && funct3(ir) != 5
}

// compares reports whether the result of an instruction is that of a comparison.
func compares(ir uint32) bool {
	return (opcode(ir) == opReg || opcode(ir) == opImm) && funct3(ir)>>1 == 1
}

// logic returns the result of a XOR, an OR or an AND, and 0 for others.
func logic(ir, a, b uint32) uint32 {
	f3, on := funct3(ir), combines(ir)
	return when(on && f3 != 7, a^b) | when(on && f3 != 4, a&b)
}

// modified returns the new value of a CSR, and 0 in other states.
func (m *Module) modified(a uint32) uint32 {
	f3, on := funct3(m.ir), m.state == stateModify
	if f3&4 != 0 {
		a = uint32(rs1(m.ir))
	}
	return when(on && f3&3 != 3, a) | when(on && f3&2 != 0, m.acc&^a)
}

// when returns v if on, else 0.
func when(on bool, v uint32) uint32 {
	if on {
		return v
	}
	return 0
}

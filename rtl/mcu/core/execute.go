package core

// execute does what an instruction does with its operands.
func (m *Module) execute(irq Interrupts, dbg Debug, in operands, near uint32) {
	op, second := opcode(m.ir), in.b
	if op != opReg && op != opBranch && op != opSystem {
		second = immediate(m.ir)
	}
	amount := uint8(second) & 31
	if shifts(m.ir) {
		second = 0
	}
	s := add(m.ir, in.a, second)
	if !valid(m.ir) || modifies(m.ir) && !m.allowed(m.ir) {
		m.trap(causeIllegal)
		return
	}
	switch op {
	case opAUIPC:
		m.acc, m.state = near, stateNext
		return
	case opJAL:
		m.acc, m.state = near, stateJump
		return
	case opJALR:
		m.acc = near
		m.jump(s.value &^ 1)
		return
	case opBranch:
		if taken(m.ir, s) {
			m.state = stateJump
			return
		}
	case opLoad, opStore:
		m.address(s.value)
		return
	case opSystem:
		m.acc = s.value | m.read(register(m.ir), irq, dbg.Data)
		m.system(dbg, in.b, near)
		return
	default:
		m.acc, m.count = operate(m.ir, in.a, second, s), amount
		if shifts(m.ir) && amount != 0 {
			m.state = stateShift
			return
		}
	}
	m.finish(near)
}

// jump ends a jump or a branch that is taken.
func (m *Module) jump(to uint32) {
	if to&2 != 0 {
		m.acc = to
		m.trap(causeJump)
		return
	}
	if m.debug {
		m.pc = to
	}
	m.finish(to)
}

// address begins a load or a store.
func (m *Module) address(addr uint32) {
	m.acc = addr
	switch {
	case misaligned(m.ir, addr) && opcode(m.ir) == opLoad:
		m.trap(causeLoad)
	case misaligned(m.ir, addr):
		m.trap(causeStore)
	case addr < m.words*4:
		m.state = stateMemory
	default:
		m.state = stateBus
	}
}

// access ends a load or a store of the local memory.
func (m *Module) access(next uint32) {
	if opcode(m.ir) == opStore {
		m.stored = true
	} else {
		m.loads = rd(m.ir) != 0
	}
	m.finish(next)
}

// answer ends a load or a store of the bus.
func (m *Module) answer(bus Answer, next uint32) {
	switch {
	case !bus.Done:
	case bus.Fault && opcode(m.ir) == opLoad:
		m.trap(causeLoad + 1)
	case bus.Fault:
		m.trap(causeStore + 1)
	default:
		m.stored = opcode(m.ir) == opStore
		m.finish(next)
	}
}

// system does an instruction of the opcode SYSTEM.
func (m *Module) system(dbg Debug, b, next uint32) {
	switch {
	case funct3(m.ir) != 0:
		m.state = stateModify
	case m.ir == insECALL:
		m.trap(causeECALL)
	case m.ir == insEBREAK && m.cfg.Debug && dbg.Catch && !m.debug:
		m.stop(Break)
	case m.ir == insEBREAK:
		m.trap(causeBreak)
	case m.ir == insMRET:
		m.mie, m.mpie = m.mpie, true
		m.finish(b)
	default:
		waits := !m.debug && !m.steps
		m.finish(next)
		if waits {
			m.state = stateWait
		}
	}
}

// modified returns the new value of a CSR.
func modified(ir, old, a uint32) uint32 {
	if funct3(ir)&4 != 0 {
		a = uint32(rs1(ir))
	}
	switch funct3(ir) & 3 {
	case 2:
		return old | a
	case 3:
		return old &^ a
	default:
		return a
	}
}

package core

// execute does what an instruction does with its operands.
func (m *Module) execute(dbg Debug, r results) {
	m.acc, m.count = r.acc, r.amount
	if !valid(m.ir) || modifies(m.ir) && !m.allowed(m.ir) {
		m.trap(causeIllegal)
		return
	}
	switch opcode(m.ir) {
	case opAUIPC:
		m.state = stateNext
		return
	case opJAL:
		m.state = stateJump
		return
	case opJALR:
		m.jump(r.pc)
		return
	case opBranch:
		if taken(m.ir, r.sum) {
			m.state = stateJump
			return
		}
	case opLoad, opStore:
		m.address(r.sum.value)
		return
	case opSystem:
		m.system(dbg, r.pc)
		return
	default:
		if shifts(m.ir) && r.amount != 0 {
			m.state = stateShift
			return
		}
	}
	m.finish(r.pc)
}

// jump ends a jump or a branch that is taken.
func (m *Module) jump(to uint32) {
	if to&2 != 0 {
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
	switch {
	case misaligned(m.ir, addr) && opcode(m.ir) == opLoad:
		m.trap(causeLoad)
	case misaligned(m.ir, addr):
		m.trap(causeStore)
	case m.outside(addr):
		m.state = stateBus
	default:
		m.state = stateMemory
	}
}

// outside reports whether an address is not in the local memory.
func (m *Module) outside(addr uint32) bool { return addr&^(m.words*4-1) != 0 }

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
func (m *Module) system(dbg Debug, next uint32) {
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
		m.finish(next)
	default:
		waits := !m.debug && !m.steps
		m.finish(next)
		if waits {
			m.state = stateWait
		}
	}
}

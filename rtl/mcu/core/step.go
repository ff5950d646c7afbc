package core

import "github.com/hilgpu/hilgpu/rtl/hdl"

// operands are what the memories returned: the instruction, rs1, and rs2 or the CSR; and the
// counters that wrap again.
type operands struct {
	next  uint32
	a     uint32
	b     uint32
	again uint8
}

// step does the work of a clock, apart from the memories.
func (m *Module) step(irq Interrupts, bus Answer, ctl Control, dbg Debug, in operands) {
	ready := pending(irq) & m.enable
	settled, carried := m.settled(), m.carries
	if m.state == stateFetch || m.state == stateHalt {
		m.writes, m.loads, m.stored, m.carries = false, false, false, false
	}
	var r results
	if !hdl.Asleep(m.state == stateFetch || m.state == stateDecode || m.state == stateWait || m.state == stateHalt) {
		r = m.compute(irq, dbg, in)
	}
	switch m.state {
	case stateStart:
		m.state = stateFetch
	case stateFetch:
		m.fetch(ready, ctl.Halt, dbg.Stop, carried, in.again)
	case stateDecode:
		m.ir, m.state = in.next, stateExecute
	case stateExecute:
		m.execute(dbg, r)
	case stateJump:
		if r.pc&2 != 0 {
			m.acc = r.acc
		}
		m.jump(r.pc)
	case stateNext:
		m.finish(r.pc)
	case stateShift:
		m.acc = r.acc
		m.count = (m.count - 1) & 31
		if m.count == 0 {
			m.finish(r.pc)
		}
	case stateMemory:
		m.access(r.pc)
	case stateBus:
		m.answer(bus, r.pc)
	case stateModify:
		m.acc, m.state = r.acc, stateCSR
	case stateCSR:
		m.finish(r.pc)
		if changes(m.ir) {
			m.write(register(m.ir))
		}
	case stateWait:
		if ready != 0 || m.cfg.Debug && ctl.Halt {
			m.state = stateFetch
		}
	case stateHalt:
		m.halt(ctl, dbg.Exec && settled, in.next)
	default:
		m.enter(r)
	}
}

// fetch begins an instruction, unless the core halts or takes an interrupt. carried tells that
// the row of a counter is being written, so that it cannot be read for another increment.
func (m *Module) fetch(ready uint8, halt, stop, carried bool, again uint8) {
	m.state = stateDecode
	passes := m.passes
	m.passes = false
	switch {
	case m.cfg.Counters && m.carry != 0 && carried:
		m.state, m.passes = stateFetch, passes
	case m.cfg.Counters && m.carry != 0:
		m.increment(passes, again)
	case m.cfg.Debug && m.steps && !passes:
		m.stop(Stepped)
	case m.cfg.Debug && halt:
		m.stop(Requested)
	case m.cfg.Debug && stop && !passes:
		m.stop(Stopped)
	case m.mie && ready != 0 && !m.steps:
		m.state, m.irq, m.cause = stateValue, true, irqTimer
		if ready&4 != 0 {
			m.cause = irqExternal
		} else if ready&1 != 0 {
			m.cause = irqSoftware
		}
	case m.outside(m.pc):
		m.trap(causeFetch)
	default:
	}
}

// offset returns what the adder of pc adds: the immediate of the instruction, the size of an
// instruction, or 0.
func (m *Module) offset() uint32 {
	switch {
	case m.state == stateJump || m.state == stateExecute && opcode(m.ir) == opAUIPC:
		return offset(m.ir)
	case m.state == stateValue || m.state == stateVector:
		return 0
	default:
		return 4
	}
}

// upper returns the counter whose upper half is incremented first: 0 for mcycle, 1 for minstret.
func (m *Module) upper() uint8 { return m.carry >> 1 &^ m.carry & 1 }

// increment begins to increment the upper half of a counter, as an ADDI that the program does not have.
func (m *Module) increment(passes bool, again uint8) {
	m.counted = m.upper()
	m.carry = (m.carry&^(1<<m.upper()) | again) & 3
	m.ir, m.state, m.carries, m.passes = insIncrement, stateExecute, true, passes
}

// stop halts the core.
func (m *Module) stop(c Cause) { m.state, m.halted = stateHalt, c }

// halt waits for the debugger.
func (m *Module) halt(ctl Control, exec bool, word uint32) {
	if !m.cfg.Debug {
		return
	}
	if exec {
		m.state, m.ir, m.debug = stateExecute, word, true
	} else if ctl.Resume {
		m.state, m.halted, m.passes, m.steps = stateFetch, NoCause, true, ctl.Step
	}
}

// finish ends an instruction. The debugger's leaves pc.
func (m *Module) finish(pc uint32) {
	m.writes = writesRD(m.ir) || m.carries
	if m.carries {
		m.state = stateFetch
		return
	}
	if m.debug {
		m.state, m.halted, m.debug = stateHalt, Executed, false
		return
	}
	m.state, m.pc, m.retired = stateFetch, pc, true
}

// trap begins an exception. The debugger's instruction takes none.
func (m *Module) trap(cause uint8) {
	if m.debug {
		m.state, m.halted, m.debug = stateHalt, Failed, false
		return
	}
	m.state, m.irq, m.cause = stateValue, false, cause&15
}

// enter does the clocks of an exception or an interrupt.
func (m *Module) enter(r results) {
	switch m.state {
	case stateValue:
		m.state = stateCause
		if m.irq || m.cause == causeFetch || m.cause == causeIllegal || m.cause == causeBreak || m.cause == causeECALL {
			m.acc = r.acc
		}
	case stateCause:
		m.state, m.acc = stateVector, r.acc
	case stateVector:
		m.state, m.acc = stateTrap, r.acc
	case stateTrap:
		m.state, m.pc, m.mpie, m.mie = stateFetch, r.pc, m.mie, false
	default:
	}
}

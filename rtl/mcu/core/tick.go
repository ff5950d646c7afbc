package core

// Codes of exceptions (Privileged Architecture, table 3.6).
const (
	causeJump    = 0 // instruction address misaligned
	causeFetch   = 1 // instruction access fault
	causeIllegal = 2
	causeBreak   = 3
	causeLoad    = 4 // misaligned, and an access fault is 5
	causeStore   = 6 // misaligned, and an access fault is 7
	causeECALL   = 11
)

// Codes of interrupts.
const (
	irqSoftware = 3
	irqTimer    = 7
	irqExternal = 11
)

// A port is what a RAM does in a clock.
type port struct {
	read   bool
	from   uint32
	enable uint8
	to     uint32
}

// Tick is one rising clock edge.
func (m *Module) Tick(irq Interrupts, bus Answer, ctl Control, dbg Debug, load Load) {
	again := m.tally()
	word := uint32(m.ram.Out())
	in := operands{next: word, again: again, a: uint32(m.left.Out()), b: uint32(m.right.Out())}
	if m.cfg.Debug && m.state == stateHalt {
		in.next = dbg.Word
	}
	mem := m.memory(ctl, load)
	stored := spread(m.ir, in.b)
	if m.state == stateStart {
		stored = load.Data
	}
	left, right := m.reads(in.next, dbg.Exec)
	regs := m.writing(bus, ctl.Hold)
	value := m.result(word, bus.Data)
	m.retired = false
	m.step(irq, bus, ctl, dbg, in)
	m.ram.Tick(mem.read, mem.from, mem.enable, mem.to, uint64(stored))
	m.left.Tick(left.read, left.from, regs.enable, regs.to, uint64(value))
	m.right.Tick(right.read, right.from, regs.enable, regs.to, uint64(value))
	if ctl.Hold {
		m.Reset()
	}
}

// tally counts clocks and instructions. It returns the counters whose lower half wraps while
// their upper half waits to be incremented: software wrote the lower half in between.
func (m *Module) tally() (again uint8) {
	if !m.cfg.Counters {
		return 0
	}
	counts := m.state != stateWait && m.state != stateHalt
	clocks, done := uint64(m.cycle)+uint64(bit(counts)), uint64(m.instret)+uint64(bit(m.retired))
	m.cycle, m.instret = uint32(clocks), uint32(done)
	wraps := uint8(clocks>>32)&1 | uint8(done>>32)&1<<1
	again = m.carry & wraps
	m.carry |= wraps
	return again
}

// memory returns what the local memory does in this clock.
func (m *Module) memory(ctl Control, load Load) port {
	p := port{from: m.pc >> 2 & (m.words - 1), to: m.acc >> 2 & (m.words - 1)}
	switch m.state {
	case stateStart:
		p.to = uint32(load.Addr) & (m.words - 1)
		if ctl.Hold && load.Valid {
			p.enable = 15
		}
	case stateFetch:
		p.read = true
	case stateMemory:
		p.from = p.to
		if opcode(m.ir) == opStore {
			p.enable = lanes(m.ir, m.acc)
		} else {
			p.read = true
		}
	default:
	}
	return p
}

// reads returns what is read of the register RAMs. next is the instruction whose operands may
// be read.
func (m *Module) reads(next uint32, exec bool) (left, right port) {
	decodes := m.state == stateDecode || m.cfg.Debug && m.state == stateHalt && exec && m.settled()
	left, right = port{read: decodes, from: uint32(rs1(next))}, port{read: decodes, from: uint32(rs2(next))}
	if opcode(next) == opSystem {
		right.from = uint32(m.row(next))
	}
	if opcode(next) == opLUI || opcode(next) == opSystem {
		left.from = 0
	}
	switch m.state {
	case stateFetch:
		left.from, left.read = rowCycleH|uint32(m.upper()), m.cfg.Counters && m.carry != 0 && !m.carries
	case stateExecute:
		left.from, left.read = uint32(rs1(m.ir)), modifies(m.ir)
	case stateVector:
		right.from, right.read = rowTVec, true
	default:
	}
	return left, right
}

// writing returns what is written to both register RAMs.
func (m *Module) writing(bus Answer, hold bool) port {
	p, write := port{to: uint32(rd(m.ir))}, m.writes || m.loads
	if m.carries {
		p.to = rowCycleH | uint32(m.counted)
	}
	switch m.state {
	case stateStart:
		p.to, write = 0, !hold
	case stateModify:
		write = rd(m.ir) != 0
	case stateCSR:
		p.to, write = uint32(m.row(m.ir)), m.row(m.ir) != 0 && changes(m.ir)
	case stateCause:
		p.to, write = rowTVal, true
	case stateVector:
		p.to, write = rowCause, true
	case stateTrap:
		p.to, write = rowEPC, true
	case stateBus:
		write = bus.Done && !bus.Fault && opcode(m.ir) == opLoad && rd(m.ir) != 0
	default:
	}
	if write {
		p.enable = 15
	}
	return p
}

// result returns the value for the register RAMs.
func (m *Module) result(word, answer uint32) uint32 {
	if m.state == stateBus {
		word = answer
	}
	switch {
	case m.loads || m.state == stateBus:
		return pick(m.ir, m.acc, word)
	case m.state == stateCSR:
		return kept(m.row(m.ir), m.acc)
	default:
		return m.acc
	}
}

package seq

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Ready reports which outputs are taken in this clock.
//
//	Tx    the byte of a frame
//	Room  the transmitter has room for a new frame
//	Empty the transmitter has nothing to send
//	Req   the target's header
//	Beat  the target's beat
type Ready struct {
	Tx    bool
	Room  bool
	Empty bool
	Req   bool
	Beat  bool
}

// Tick is one rising clock edge.
func (m *Module) Tick(rx Rx, ready Ready, gpu linkport.GPU) {
	fetched, in := m.fetched(), m.in
	v := m.operand(in, rx.Data, gpu)
	result, carry := m.result(op(in), v)
	zero, carries := m.flags(in, result, carry)
	runs := m.begun && !waits(in, ready)
	jumped := runs && jumps(fetched) && m.holds(fetched, zero, carries, rx, ready, gpu)
	next := m.next(fetched, runs, jumped)
	p := m.p
	if points(in, modeMemory) {
		p = uint16(v)
	}
	at, enable := fetched&0x1ff, uint8(0)
	if indirect(fetched) {
		at = p
	}
	if updates(in) {
		enable = 1
	}
	same := updates(in) && at == in&0x1ff

	m.mem.Tick(!same, uint32(at), enable, uint32(in&0x1ff), uint64(result))
	m.rom.Tick(runs || !m.begun, uint32(next))
	m.tickTime()
	m.damaged = m.damaged || rx.Damaged
	m.jump(fetched, runs, jumped)
	m.read(fetched, runs)
	m.point(fetched, runs, p)
	m.output(in)
	m.move(in, gpu)
	m.zero, m.carry = zero, carries
	if results(in) {
		m.a = result
	}
	if runs || !m.begun {
		m.pc = (next + 1) & 0x7ff
	}
	if runs {
		m.in, m.same = fetched&0xfe00|at, same
	}
	m.begun = true
}

// next returns the address of the next instruction.
func (m *Module) next(fetched uint16, runs, jumped bool) uint16 {
	if jumped {
		return fetched & 0x7ff
	} else if runs && returns(fetched) {
		return m.ret0
	}
	return m.pc
}

// operand returns the value that an instruction works on. It is 0 for those that need none.
func (m *Module) operand(in uint16, rx uint8, gpu linkport.GPU) uint8 {
	if op(in) == opStore || op(in) == opClear {
		return 0
	}
	switch mode(in) {
	case modeValue:
		return uint8(in)
	case modePort:
		return m.input(in, rx, gpu)
	default:
		if m.same {
			return m.a // the instruction before it has written the byte
		}
		return uint8(m.mem.Out())
	}
}

// input returns the value of a port.
func (m *Module) input(in uint16, rx uint8, gpu linkport.GPU) uint8 {
	switch in & 7 {
	case inX:
		return uint8(m.x)
	case inLen:
		return gpu.Req.Len&0x3f | bit(gpu.Beat.Last)<<7
	case inTag:
		return gpu.Req.Tag&0x3f | uint8(gpu.Cpl.Status)<<6
	case inHalf:
		return m.a >> 1
	case inEnable:
		return gpu.Beat.Enable
	case inClock:
		return uint8(m.clocks)
	case inAt:
		return m.rxAt
	default:
		return rx
	}
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// holds reports whether the condition of a jump or a call holds. zero and carry are the flags
// after the instruction before it.
func (m *Module) holds(in uint16, zero, carry bool, rx Rx, ready Ready, gpu linkport.GPU) bool {
	switch condition(in) {
	case always, called:
		return true
	case ifZero:
		return zero
	case ifNotZero:
		return !zero
	case ifCarry:
		return carry
	case ifNotCarry:
		return !carry
	case ifFrame:
		return rx.There
	case ifOther:
		return rx.Other
	case ifRequest:
		return gpu.Req.Kind != port.None
	case ifRead:
		return gpu.Req.Kind == port.MemRead
	case ifBeat:
		return gpu.Beat.Valid
	case ifCompletion:
		return gpu.Cpl.Status != port.CplNone
	case ifTick:
		return m.tick
	case ifDamaged:
		return m.damaged
	case ifRoom:
		return ready.Room
	case ifEmpty:
		return ready.Empty
	default:
		return false
	}
}

// jump keeps or drops the address of a return, and clears what a jump has found.
func (m *Module) jump(fetched uint16, runs, jumped bool) {
	if jumped && condition(fetched) == called {
		m.ret0, m.ret1, m.ret2, m.ret3 = m.pc, m.ret0, m.ret1, m.ret2
	} else if runs && returns(fetched) {
		m.ret0, m.ret1, m.ret2 = m.ret1, m.ret2, m.ret3
	}
	if jumped && condition(fetched) == ifTick {
		m.tick = false
	}
	if jumped && condition(fetched) == ifDamaged {
		m.damaged = false
	}
}

// result returns the result of an operation and its carry: one sum of two terms, which
// have no bit in common for a logical operation.
func (m *Module) result(o, v uint8) (result uint8, carry bool) {
	x, y, in := uint8(0), v, false
	switch o {
	case opAdd, opAdc, opSub, opSbc, opCompare, opOr, opStore:
		x = m.a
	case opXor:
		x = m.a &^ v
	case opDec:
		x = 0xff
	default:
	}
	switch o {
	case opSub, opSbc, opCompare:
		y = ^v
	case opAnd, opTest:
		y = m.a & v
	case opOr, opXor:
		y = v &^ m.a
	default:
	}
	switch o {
	case opSub, opCompare, opInc:
		in = true
	case opSbc:
		in = !m.carry
	case opAdc, opIncC:
		in = m.carry
	default:
	}
	s := uint16(x) + uint16(y) + uint16(bit(in))
	return uint8(s), s>>8 != 0
}

// flags returns the flags after an instruction. The carry of a difference is a borrow.
func (m *Module) flags(in uint16, result uint8, carry bool) (zero, carries bool) {
	zero, carries = m.zero, m.carry
	ofZero, ofCarry := flags(in)
	if ofZero {
		zero = result == 0
	}
	if ofCarry {
		if op(in) == opLoad {
			carries = m.a&1 != 0
		} else {
			carries = carry != differs(op(in))
		}
	}
	return zero, carries
}

// read moves the read position in the received frame.
func (m *Module) read(fetched uint16, runs bool) {
	at := m.position()
	if runs && takes(fetched, inRx) {
		at++
	}
	m.rxAt = at
}

// point sets or moves the pointer, which is p after the instruction in execution.
func (m *Module) point(fetched uint16, runs bool, p uint16) {
	if runs && points(fetched, modeValue) {
		p = fetched & 0x1ff
	} else if runs && indirect(fetched) && fetched&1 != 0 {
		p = (p + 1) & 0x1ff
	}
	m.p = p
}

// output writes a port that is a register.
func (m *Module) output(in uint16) {
	if !outputs(in) {
		return
	}
	switch in & 15 {
	case outArg:
		m.arg = m.a
	case outOther:
		m.later = m.a&1 != 0
	case outState:
		m.state = m.a
	default:
	}
}

// move shifts x, or takes what the GPU offers.
func (m *Module) move(in uint16, gpu linkport.GPU) {
	if !moves(in) {
		return
	}
	switch in & 3 {
	case outTakeCpl:
		m.x = gpu.Cpl.Data
	case outTakeReq:
		m.x = gpu.Req.Addr
	case outTakeBeat:
		m.x = gpu.Beat.Data
	default:
		m.x = uint64(m.a)<<56 | m.x>>8
	}
}

// tickTime counts clocks and ticks.
func (m *Module) tickTime() {
	next := uint32(m.clocks) + 1
	m.clocks = uint16(next)
	if next>>16 != 0 {
		m.clocks, m.tick = uint16(1<<16-m.tickClocks), true
	}
}

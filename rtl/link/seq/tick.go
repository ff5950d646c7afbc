package seq

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Bits of outTake.
const (
	takeCpl  = 1
	takeReq  = 2
	takeBeat = 4
)

// Bits of an instruction, see package asm.
const (
	modeValue  = 0
	modeMemory = 1
	modeIndir  = 2
	modePort   = 3

	fnLoad = 0 // arithmetic
	fnAdd  = 1
	fnAdc  = 2
	fnSub  = 3
	fnSbc  = 4
	fnAnd  = 5
	fnOr   = 6
	fnXor  = 7

	fnStore   = 0 // of the instructions that move
	fnCompare = 1
	fnTest    = 2
	fnPointer = 3 // or with an address, clear
	fnDec     = 4
	fnIncC    = 5
	fnOther   = 6
	fnInc     = 7

	otherReturn = 0
	otherShift  = 1

	always       = 0 // conditions of jumps
	ifZero       = 1
	ifNotZero    = 2
	ifCarry      = 3
	ifNotCarry   = 4
	ifFrame      = 5
	ifOther      = 6
	ifBusy       = 7
	ifRequest    = 8
	ifRead       = 9
	ifBeat       = 10
	ifCompletion = 11
	ifTick       = 12
	ifDamaged    = 13
	ifRoom       = 14
	called       = 15 // a call always holds
)

func jumps(in uint16) bool      { return in>>15 != 0 }
func moves(in uint16) bool      { return in>>14 == 1 }
func fn(in uint16) uint8        { return uint8(in>>11) & 7 }
func mode(in uint16) uint8      { return uint8(in>>9) & 3 }
func condition(in uint16) uint8 { return uint8(in>>11) & 15 }

// GPU is the state of the GPU's two ports.
type GPU struct {
	Cpl  port.Completion
	Req  port.Request
	Beat port.Beat
}

// Ready reports which outputs are taken in this clock.
//
//	Tx    the byte of a frame
//	Room  the transmitter has room for a new frame
//	Req   the target's header
//	Beat  the target's beat
type Ready struct {
	Tx   bool
	Room bool
	Req  bool
	Beat bool
}

// Tick is one rising clock edge.
func (m *Module) Tick(rx Rx, ready Ready, gpu GPU) {
	in := uint16(m.rom.Out())
	v := m.operand(in, rx.Data, gpu)
	holds := m.holds(in, rx, ready, gpu)
	at := in & 0x1ff
	if mode(in) == modeIndir {
		at = m.p
	}
	reads := m.begun && !m.second && !jumps(in) && (mode(in) == modeMemory || mode(in) == modeIndir)
	runs := m.second && !(sends(in) && m.tx.Valid && !ready.Tx)

	m.tickPorts(ready, gpu)
	m.tickTime()
	m.damaged = m.damaged || rx.Damaged
	m.release = false
	next, enable := m.pc, uint8(0)
	if runs {
		if stores(in) {
			enable = 1
		}
		if holds {
			next = in & 0x7ff
		} else if moves(in) && fn(in) == fnOther && in&3 == otherReturn {
			next = m.ret0
		}
		m.execute(in, v, holds)
	}
	m.mem.Tick(reads, uint32(at), enable, uint32(at), uint64(m.a))
	m.rom.Tick(runs || !m.begun, uint32(next))
	if runs || !m.begun {
		m.pc = (next + 1) & 0x7ff
	}
	m.second = m.begun && !runs
	m.begun = true
}

// stores reports whether an instruction writes the memory.
func stores(in uint16) bool {
	writes := fn(in) == fnStore || fn(in) == fnPointer || fn(in)&4 != 0 && fn(in) != fnOther
	return moves(in) && writes && (mode(in) == modeMemory || mode(in) == modeIndir)
}

// sends reports whether an instruction gives the transmitter a byte.
func sends(in uint16) bool {
	return moves(in) && fn(in) == fnStore && mode(in) == modePort && in&0x1e == outTx
}

// operand returns the value that an instruction works on.
func (m *Module) operand(in uint16, rx uint8, gpu GPU) uint8 {
	switch mode(in) {
	case modeValue:
		return uint8(in)
	case modePort:
		return m.input(in, rx, gpu)
	default:
		return uint8(m.mem.Out())
	}
}

// input returns the value of a port.
func (m *Module) input(in uint16, rx uint8, gpu GPU) uint8 {
	switch in & 7 {
	case inX:
		return uint8(m.x)
	case inLen:
		return gpu.Req.Len&0x3f | bit(gpu.Beat.Last)<<7
	case inTag:
		return gpu.Req.Tag
	case inStatus:
		return uint8(gpu.Cpl.Status) | bit(gpu.Cpl.Last)<<7
	case inEnable:
		return gpu.Beat.Enable
	case inClock:
		return m.counter
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

// holds reports whether an instruction is a jump or a call whose condition holds.
func (m *Module) holds(in uint16, rx Rx, ready Ready, gpu GPU) bool {
	if !jumps(in) {
		return false
	}
	switch condition(in) {
	case always, called:
		return true
	case ifZero:
		return m.zero
	case ifNotZero:
		return !m.zero
	case ifCarry:
		return m.carry
	case ifNotCarry:
		return !m.carry
	case ifFrame:
		return rx.There
	case ifOther:
		return rx.Other
	case ifBusy:
		return m.kind != port.None || m.beat.Valid
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
		return ready.Room && !m.tx.Valid
	default:
		return false
	}
}

// execute changes the registers of the program.
func (m *Module) execute(in uint16, v uint8, holds bool) {
	if moves(in) {
		m.move(in, v)
	} else if !jumps(in) {
		m.a = m.result(fn(in), v)
	} else if holds {
		m.jump(condition(in))
	}
	if !jumps(in) && mode(in) == modeIndir && in&1 != 0 {
		m.p = (m.p + 1) & 0x1ff
	}
	if takes(in, inRx) {
		m.rxAt++
	} else if takes(in, inX) {
		m.x >>= 8
	}
}

// jump keeps the address of a return, and clears what a jump has found.
func (m *Module) jump(condition uint8) {
	switch condition {
	case called:
		m.ret0, m.ret1, m.ret2, m.ret3, m.ret4 = m.pc, m.ret0, m.ret1, m.ret2, m.ret3
	case ifTick:
		m.tick = false
	case ifDamaged:
		m.damaged = false
	default:
	}
}

// takes reports whether an instruction reads a port.
func takes(in uint16, from uint16) bool {
	return !jumps(in) && mode(in) == modePort && in&7 == from && !(moves(in) && fn(in) == fnStore)
}

// result returns the result of an operation and sets the flags. The carry of a
// difference is a borrow.
func (m *Module) result(op, v uint8) uint8 {
	r := uint8(0)
	switch op {
	case fnLoad:
		r = v
	case fnAnd:
		r = m.a & v
	case fnOr:
		r = m.a | v
	case fnXor:
		r = m.a ^ v
	case fnSub, fnSbc:
		r = m.sum(m.a, ^v, !(m.carry && op == fnSbc))
		m.carry = !m.carry
	default:
		r = m.sum(m.a, v, m.carry && op == fnAdc)
	}
	m.zero = r == 0
	return r
}

// sum returns the sum of two bytes and a carry, and sets the carry.
func (m *Module) sum(x, y uint8, carry bool) uint8 {
	s := uint16(x) + uint16(y) + uint16(bit(carry))
	m.carry = s>>8 != 0
	return uint8(s)
}

// move executes an instruction that is neither arithmetic nor a jump.
func (m *Module) move(in uint16, v uint8) {
	switch fn(in) {
	case fnStore:
		if mode(in) == modePort {
			m.output(in)
		}
	case fnCompare:
		m.carry, m.zero = m.a < v, m.a == v
	case fnTest:
		m.zero = m.a&v == 0
	case fnPointer:
		if mode(in) == modeValue {
			m.p = in & 0x1ff
		} else {
			m.a, m.zero = 0, true
		}
	case fnDec:
		m.a = m.sum(v, 0xff, false)
		m.carry, m.zero = !m.carry, m.a == 0
	case fnIncC:
		m.a = m.sum(v, 0, m.carry)
		m.zero = m.a == 0
	case fnInc:
		m.a = m.sum(v, 0, true)
		m.zero = m.a == 0
	default:
		m.other(in)
	}
}

// other executes an instruction without an operand.
func (m *Module) other(in uint16) {
	switch in & 3 {
	case otherReturn:
		m.ret0, m.ret1, m.ret2, m.ret3 = m.ret1, m.ret2, m.ret3, m.ret4
	case otherShift:
		m.carry = m.a&1 != 0
		m.a >>= 1
		m.zero = m.a == 0
	default:
		m.p = uint16(m.a)
	}
}

// output writes a port.
func (m *Module) output(in uint16) {
	switch in & 15 {
	case outTx:
		m.tx = Tx{Valid: true, Data: m.a}
	case outTxLast:
		m.tx = Tx{Valid: true, Last: true, Data: m.a}
	case outRx:
		m.rxAt = m.a
	case outX:
		m.x = uint64(m.a)<<56 | m.x>>8
	case outKind:
		m.kind = port.Kind(m.a & 7)
	case outLen:
		m.length = m.a & 0x3f
	case outBeat:
		m.beat = port.Beat{Valid: true, Enable: m.a}
	case outBeatLast:
		m.beat = port.Beat{Valid: true, Last: true, Enable: m.a}
	case outCpl:
		m.status, m.last = port.Status(m.a&3), m.a>>7 != 0
	case outTag:
		m.tag = m.a
	case outTake:
		m.take = m.a & 7
	case outWord:
		m.word = uint32(m.a)<<24 | m.word>>8
	case outRelease:
		m.release = true
	case outOther:
		m.later = m.a&1 != 0
	default:
		m.leds = m.a
	}
}

// tickPorts ends what was taken or lasts a clock, and keeps what the sequencer takes.
func (m *Module) tickPorts(ready Ready, gpu GPU) {
	if ready.Tx {
		m.tx.Valid = false
	}
	if ready.Req {
		m.kind = port.None
	}
	if ready.Beat {
		m.beat.Valid = false
	}
	if m.take&takeReq != 0 {
		m.x = gpu.Req.Addr
	} else if m.take&takeBeat != 0 {
		m.x = gpu.Beat.Data
	} else if m.take&takeCpl != 0 {
		m.x = gpu.Cpl.Data
	}
	m.take, m.status = 0, port.CplNone
}

// tickTime counts clocks and ticks.
func (m *Module) tickTime() {
	m.counter++
	if m.clocks == 0 {
		m.clocks, m.tick = (m.tickClocks-1)&0xfffff, true
	} else {
		m.clocks = (m.clocks - 1) & 0xfffff
	}
}

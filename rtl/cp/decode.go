package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
)

// step is a clock of the decoder. dword was taken from the buffer if take is set, and the
// descriptor on offer if taken is; beyond says that dword counts more than what is behind
// it in the indirect buffer, moving says that a buffer is being repositioned,
// free that the decoder may write to the file.
func (m *Module) step(dword uint32, beyond, take, taken, moving, free bool, f Fence) {
	word, ready := m.beats.Out(), m.ready
	settles, values := m.state == stateRange && !m.writes, m.state == stateValue && ready
	begins, adds := ready && (m.state == stateLow || m.state == stateRing), m.adds()
	var rows bool
	by := m.add
	switch m.state {
	case stateNext:
		if (m.run || m.interrupts()) && !moving {
			m.await(dword, beyond, take)
		}
	case stateBody:
		if take {
			m.keep(dword, beyond)
		} else if !moving {
			m.stuck()
		}
	case stateSkip:
		if take {
			m.skip()
		} else if !moving {
			m.stuck()
		}
	case stateRetire:
		if !m.scratch {
			m.retire()
		}
	case stateLeave:
		m.leave()
	case stateCheck:
		m.check()
	case statePlace:
		m.placed()
	case stateScale, stateMul:
		m.accumulate()
	case stateRange, stateRingEnd:
		m.checkRange()
	case stateReadable, stateWritable:
		if m.protection {
			m.guard()
		}
	case stateIssue, stateRow:
		rows = m.issue(taken)
	case stateDrain:
		m.drain()
	case stateFence:
		m.fenced(f.Result)
	case stateRead:
		m.ask()
	case stateAnswer:
		m.answered()
	case stateWait:
		if m.timeline {
			m.wait(f)
		}
	case stateClear:
		if free {
			m.clear()
		}
	case stateFault:
	default:
		if m.ready && (free || m.state != stateBlame) {
			m.use(word, dword)
		}
	}
	// Many states move srcAddr and end, each of them by one sum: written where the state
	// is looked at, every one would be an adder of its own.
	if settles || values || rows && m.copies() {
		m.source(word, settles, values)
	}
	if begins || adds || rows {
		m.moveEnd(word, by, begins)
	}
}

// use is a clock of the decoder in a state that needs a word of the file, or the half of
// it that is wanted.
func (m *Module) use(word uint64, half uint32) {
	switch m.state {
	case stateCorner:
		m.corner(half)
	case stateClip:
		m.clip(half)
	case stateLow:
		m.low(word)
	case statePitch, stateStep:
		m.pitch(half)
	case stateWindow:
		if m.protection {
			m.checkWindow(word)
		}
	case stateValue:
		m.valued()
	case stateSave:
		if m.contexts {
			m.save(word)
		}
	case stateRing:
		m.checkRing(word)
	default:
		m.blamed()
	}
}

// await takes a header, ends the indirect buffer, or has the ring checked.
func (m *Module) await(dword uint32, beyond, take bool) {
	switch {
	case m.ended():
		m.inIB = false
		m.fresh = true
		m.state = stateLeave
	case !m.inIB && m.fresh && m.run:
		m.state = stateRing
	case take:
		m.header(dword, beyond)
	default:
		m.stuck()
	}
}

// stuck stops the node if the dword that it waits for cannot come.
func (m *Module) stuck() {
	if m.ringBad != ringGood {
		m.blame()
	} else if m.failed() {
		bad := operandNext
		if m.state == stateNext {
			bad = operandStart
		}
		m.fault(cpreg.CauseReadError, bad)
	}
}

// clear ends when the registers in the file are 0.
func (m *Module) clear() {
	m.n = (m.n + 1) & 7
	if m.n == 0 {
		m.edge ^= 1
		if m.edge == 0 {
			m.state = stateNext
		}
	}
}

// header checks the header of a packet and starts it. A packet whose first operand is
// one dword has it in the upper half of the first word.
func (m *Module) header(dword uint32, beyond bool) {
	op, body := op(dword), uint16(dword)
	m.opcode = op
	m.left = body
	m.n = 0
	if op == pkt.OpSetState || op == pkt.OpSetWindow || op == pkt.OpWaitFence {
		m.n = 1
	}
	m.cause = cpreg.CauseNone
	switch cause := m.headerCause(dword, beyond); {
	case cause != cpreg.CauseNone:
		m.fault(cause, operandHeader)
	case op == pkt.OpNOP && body == 0:
		m.state = stateRetire
	case op == pkt.OpNOP:
		m.state = stateSkip
	default:
		m.state = stateBody
	}
}

func op(hdr uint32) uint8 { return uint8(hdr >> 24) }

// op returns the opcode of the packet in work, which has passed.
func (m *Module) op() uint8 { return m.opcode & 0x1f }

// bodyOf returns the body length of an opcode in dwords and whether the node has
// the opcode. A NOP has any.
func (m *Module) bodyOf(op uint8) (body uint16, known bool) {
	known = true
	switch op {
	case pkt.OpNOP:
	case pkt.OpIndirect:
		body = pkt.IndirectBody
	case pkt.OpSetState:
		body = pkt.SetStateBody
	case pkt.OpCopy:
		body = pkt.CopyBody
	case pkt.OpCopy2D:
		body = pkt.Copy2DBody
	case pkt.OpFill:
		body = pkt.FillBody
	case pkt.OpFill2D:
		body = pkt.Fill2DBody
	case pkt.OpWriteReg:
		body = pkt.WriteRegBody
	case pkt.OpTimestamp:
		body = pkt.TimestampBody
	case pkt.OpPredicate:
		body = pkt.PredicateBody
	case pkt.OpFence:
		body = pkt.FenceBody
	case pkt.OpSetWindow:
		body, known = pkt.SetWindowBody, m.protection
	case pkt.OpWaitFence:
		body, known = pkt.WaitFenceBody, m.timeline
	case pkt.OpSaveState:
		body, known = pkt.SaveStateBody, m.contexts
	case pkt.OpRestoreState:
		body, known = pkt.RestoreStateBody, m.contexts
	default:
		known = false
	}
	return body, known
}

// headerCause returns what is wrong with a header; beyond says that its body would end
// behind the indirect buffer.
func (m *Module) headerCause(dword uint32, beyond bool) uint8 {
	op := op(dword)
	want, known := m.bodyOf(op)
	body := uint16(dword)
	var cause uint8
	switch {
	case !known:
		cause = cpreg.CauseOpcode
	case dword&pkt.HeaderReserved != 0:
		cause = cpreg.CauseReserved
	case op != pkt.OpNOP && body != want || beyond:
		cause = cpreg.CauseLength
	case m.inIB && (op == pkt.OpIndirect || op >= pkt.OpFence):
		cause = cpreg.CausePrivilege
	default:
	}
	return cause
}

// keep checks a dword of the body, which goes to the file, and takes what is needed of
// it at once.
func (m *Module) keep(dword uint32, beyond bool) {
	cause, bad := m.wordCause(dword, beyond)
	if m.cause == cpreg.CauseNone || m.cause == cpreg.CauseAlign && cause == cpreg.CauseReserved {
		m.cause, m.bad = cause, bad
	}
	m.left--
	if m.left == 0 {
		m.state = stateCheck
	}
	m.pick(dword)
	m.n = (m.n + 1) & 7
	if m.op() == pkt.OpFill && m.n == 3 {
		m.n = 4
	}
}

// pick takes numbers and flags of a body.
func (m *Module) pick(dword uint32) {
	switch op := m.op(); {
	case op == pkt.OpIndirect && m.n == 2:
		m.bytes = dword & pkt.MaxIndirect
		m.flag = dword>>20&1 != 0
	case op == pkt.OpCopy && m.n == 4 || op == pkt.OpFill && m.n == 2:
		m.bytes = dword & m.byteMask
	case op == pkt.OpCopy2D && m.n == 2 || op == pkt.OpFill2D && m.n == 1:
		m.startRect(dword)
	case op == pkt.OpPredicate && m.n == 2:
		m.left = uint16(dword)
		m.flag = dword>>16&1 != 0
	case (op == pkt.OpSetState || op == pkt.OpWaitFence) && m.n == 1 || op == pkt.OpFence && m.n == 3:
		m.flag = dword&1 != 0
	case op == pkt.OpSetState && m.n == 5 || op == pkt.OpSetWindow && m.n == 1:
		m.few = uint8(dword) & 7
	default:
	}
}

// skip drops a dword of the body.
func (m *Module) skip() {
	m.left--
	if m.left == 0 {
		m.state = stateRetire
	}
}

// retire ends the packet. The buffer's position is behind it.
func (m *Module) retire() {
	m.count()
	if m.inIB {
		m.ibDone = m.stream.at
	} else {
		m.rptr = m.stream.at & 0x3ffff
	}
}

// leave ends the INDIRECT whose buffer has ended. The ring is checked again,
// for the host may have moved it meanwhile.
func (m *Module) leave() {
	m.count()
	m.rptr = (m.rptr + (1 + pkt.IndirectBody)) & m.readMask
	if m.run {
		m.state = stateRing
	}
}

// count counts a packet that has ended; a header is next.
func (m *Module) count() {
	m.packets++
	m.retired = m.watched
	m.state = stateNext
	m.startFresh()
}

// fenced ends the packet with the outcome of the fence unit.
func (m *Module) fenced(res fence.Result) {
	switch res {
	case fence.ResultDone:
		m.retire()
	case fence.ResultBackwards:
		m.fault(cpreg.CauseFence, wordAt(2))
	case fence.ResultWriteError:
		m.fault(cpreg.CauseWriteError, operandPair0)
	default:
	}
}

// wait ends the packet when the timeline has reached the value.
func (m *Module) wait(f Fence) {
	line := f.Node0
	if m.flag {
		line = f.Node1
	}
	if line >= m.srcAddr {
		m.state = stateRetire
	} else {
		m.waiting = true
	}
}

// ask offers the read of a predicate when no fetch is offered.
func (m *Module) ask() {
	if m.req.Kind == port.None {
		m.req = port.Request{Kind: port.MemRead, Tag: tagRead, Len: 2, Addr: m.srcAddr}
		if m.contexts && m.op() == pkt.OpRestoreState {
			m.req.Len = 2 * stateWords
		}
		m.state = stateAnswer
	}
}

// answered ends the read of a predicate, which skips what the packet says or nothing,
// or of a context.
func (m *Module) answered() {
	skips := m.zero != m.flag && m.left != 0
	switch {
	case m.offers() || m.reading:
	case m.readErr:
		m.fault(cpreg.CauseReadError, operandPair0)
	case m.contexts && m.op() == pkt.OpRestoreState:
		m.restored()
	case skips:
		m.state = stateSkip
	default:
		m.state = stateRetire
	}
}

// join returns the 64-bit value of two dwords.
func join(hi, lo uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }

package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/fence"
)

// step is a clock of the decoder. dword was taken from the buffer if take is
// set; moving says that a buffer is being repositioned. named is the operand of
// the range that is checked.
func (m *Module) step(dword uint32, take, moving bool, named uint64, f Fence) {
	switch m.state {
	case stateNext:
		if (m.run || m.interrupts()) && !moving {
			m.next(dword, take)
		}
	case stateBody:
		if take {
			m.keep(dword)
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
	case stateCheck:
		m.check()
	case stateClip:
		m.clipEdge()
	case statePlace:
		m.place()
	case stateMul:
		m.multiply()
	case stateSource, stateDest:
		m.checkRange(named)
	case stateIssue:
		m.issue()
	case stateDrain:
		m.drain()
	case stateFence:
		m.fenced(f.Result)
	case stateRead:
		m.ask()
	case stateValue:
		m.predicate()
	case stateSave:
		if m.contexts {
			m.save()
		}
	case stateWait:
		if m.timeline {
			m.wait(f)
		}
	case stateReadable, stateWritable:
		if m.protection {
			m.guard()
		}
	default:
	}
}

// next takes a header, or ends the indirect buffer.
func (m *Module) next(dword uint32, take bool) {
	if m.inIB && m.ib.at == m.ibEnd {
		m.inIB = false
		m.state = stateRetire
	} else if take {
		m.header(dword)
	} else {
		m.stuck()
	}
}

// stuck stops the node if the dword that it waits for cannot come.
func (m *Module) stuck() {
	if m.ringBad != operandNone {
		m.ringFault()
	} else if m.failed() {
		if m.state == stateNext {
			m.hdrAt = m.at()
			m.hdr = 0
		}
		m.fault(cpreg.CauseReadError, operandNext)
	}
}

// header checks the header of a packet and starts it.
func (m *Module) header(dword uint32) {
	op, body := op(dword), uint16(dword)
	m.hdr = dword
	m.hdrAt = m.at()
	m.left = body
	m.n = 0
	switch cause := m.headerCause(dword); {
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

// headerCause returns what is wrong with a header. In an indirect buffer the
// dword in hand is the first of those that are left.
func (m *Module) headerCause(dword uint32) uint8 {
	op := op(dword)
	want, known := m.bodyOf(op)
	body := uint16(dword)
	short := m.inIB && uint32(body) >= m.ibEnd-m.ib.at
	var cause uint8
	switch {
	case !known:
		cause = cpreg.CauseOpcode
	case dword&pkt.HeaderReserved != 0:
		cause = cpreg.CauseReserved
	case op != pkt.OpNOP && body != want || short:
		cause = cpreg.CauseLength
	case m.inIB && (op == pkt.OpIndirect || op >= pkt.OpFence):
		cause = cpreg.CausePrivilege
	default:
	}
	return cause
}

// keep stores a dword of the body.
func (m *Module) keep(dword uint32) {
	switch m.n {
	case 0:
		m.b0 = dword
	case 1:
		m.b1 = dword
	case 2:
		m.b2 = dword
	case 3:
		m.b3 = dword
	case 4:
		m.b4 = dword
	case 5:
		m.b5 = dword
	default:
		m.b6 = dword
	}
	m.n = (m.n + 1) & 7
	m.left--
	if m.left == 0 {
		m.state = stateCheck
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
	m.packets++
	m.retired = m.watched
	m.state = stateNext
	m.startFresh()
	if m.inIB {
		m.ibDone = m.ib.at
	} else {
		m.rptr = m.ring.at & 0x3ffff
	}
}

// checkRange checks the range that a packet reads, or that a window has, or the
// one that it writes.
func (m *Module) checkRange(named uint64) {
	reads := m.state == stateSource
	high, end, bytes := m.dstEnd, operandDestEnd, uint64(m.bytes)
	if reads {
		high, end, bytes = m.srcEnd, operandSourceEnd, m.size()
	}
	low, inside := m.inRange(named, high, bytes)
	switch {
	case !low:
		m.fault(cpreg.CauseAddress, m.names())
	case !inside:
		m.fault(cpreg.CauseAddress, end)
	case reads:
		m.source()
	default:
		m.dest()
	}
}

// source goes on when the range that a packet reads, or that a window has, is in
// memory.
func (m *Module) source() {
	switch {
	case op(m.hdr) == pkt.OpIndirect:
		m.inIB = true
		m.ibBase = m.srcAddr
		m.ibEnd = m.b2 & pkt.MaxIndirect
		m.ibDone = 0
		m.ibSeek = seek{Valid: true}
		m.state = stateNext
		if m.preemption && m.b2>>20 != 0 {
			m.issued = m.progress
		}
	case m.protection && op(m.hdr) == pkt.OpSetWindow:
		m.setWindow()
	case m.guarded():
		m.window = 0
		m.state = stateReadable
	default:
		m.sourced()
	}
}

// sourced goes on when the range that a packet reads has passed.
func (m *Module) sourced() {
	if op(m.hdr) == pkt.OpPredicate || op(m.hdr) == pkt.OpRestoreState {
		m.state = stateRead
	} else {
		m.state = stateDest
	}
}

// dest goes on when the range that a packet writes is in memory.
func (m *Module) dest() {
	if m.guarded() {
		m.window = 0
		m.state = stateWritable
	} else {
		m.destined()
	}
}

// destined goes on when the range that a packet writes has passed.
func (m *Module) destined() {
	switch op(m.hdr) {
	case pkt.OpFence:
		m.fence = fence.Fence
		m.state = stateFence
	case pkt.OpTimestamp:
		m.fence = fence.Timestamp
		m.state = stateFence
	case pkt.OpSaveState:
		m.state = stateSave
	default:
		m.state = stateIssue
	}
}

func (m *Module) is2D() bool { return op(m.hdr) == pkt.OpCopy2D || op(m.hdr) == pkt.OpFill2D }

// inRange reports whether the address low is in VRAM or in reach of the host port,
// and whether the bytes from there on to high+bytes, exclusive, are. low is at most
// 2^36 below high, and bytes is not 0.
func (m *Module) inRange(low, high, bytes uint64) (first, all bool) {
	inside := m.vramLimit - 1
	if low&pkt.Host != 0 {
		inside = m.hostLimit - 1
	}
	last := high & m.addrMask
	end := last + bytes
	first = low&^pkt.Host&^inside == 0
	fits := end&^inside == 0 || end&inside == 0 && (end>>1)&^inside == 0
	return first, first && last&^inside == 0 && fits && bytes>>63 == 0
}

// issue sends the next descriptor when the one before is taken.
func (m *Module) issue() {
	if m.readErr || m.writeErr {
		m.state = stateDrain
	} else if m.interrupts() && m.boundary() {
		m.halted = true
		m.state = stateDrain
	} else if m.desc.Op == dma.None {
		n := m.bytes - m.done
		if m.is2D() && n > m.maxRow {
			n = m.maxRow
		} else if m.preemption && !m.is2D() && n > 1<<pieceLog2 {
			n = 1 << pieceLog2
		}
		m.desc = dma.Desc{Op: dma.Fill, Len: n & m.maxBytes, Src: m.filler(), Dst: m.sum(m.dstAddr, uint64(m.done))}
		if op(m.hdr) == pkt.OpCopy || op(m.hdr) == pkt.OpCopy2D {
			m.desc.Op = dma.Copy
			m.desc.Src = m.sum(m.srcAddr, uint64(m.done))
		}
		m.done = (m.done + n) & m.byteMask
		if m.done == m.bytes || !m.is2D() {
			m.advance()
		}
		if m.done == m.bytes {
			m.endRow()
		}
	}
}

// endRow goes on to the next row.
func (m *Module) endRow() {
	m.done = 0
	m.srcAddr = m.sum(m.srcAddr, uint64(m.src.pitch))
	m.dstAddr = m.sum(m.dstAddr, uint64(m.dst.pitch))
	m.rows = (m.rows - 1) & 0x7fff
	if m.rows == 0 {
		m.state = stateDrain
	}
}

// drain ends the packet when all its descriptors are complete.
func (m *Module) drain() {
	if m.desc.Op == dma.None && m.inFlight == 0 {
		switch {
		case m.readErr:
			m.fault(cpreg.CauseReadError, m.sourceOperand())
		case m.writeErr:
			m.fault(cpreg.CauseWriteError, m.destOperand())
		case m.preemption && m.halted:
			m.yield()
		default:
			m.retire()
		}
	}
}

// filler returns what a FILL or FILL_2D fills with.
func (m *Module) filler() uint64 {
	v := join(m.b4, m.b3)
	if op(m.hdr) == pkt.OpFill2D {
		v = join(m.b3, m.b2)
	}
	return v
}

// fenced ends the packet with the outcome of the fence unit.
func (m *Module) fenced(res fence.Result) {
	switch res {
	case fence.ResultDone:
		m.retire()
	case fence.ResultBackwards:
		m.fault(cpreg.CauseFence, operandWord2)
	case fence.ResultWriteError:
		m.fault(cpreg.CauseWriteError, operandPair0)
	default:
	}
}

// wait ends the packet when the timeline has reached the value.
func (m *Module) wait(f Fence) {
	line := f.Node0
	if m.b0 != 0 {
		line = f.Node1
	}
	if line >= join(m.b2, m.b1) {
		m.state = stateRetire
	} else {
		m.waiting = true
	}
}

// ask offers the read of a predicate when no fetch is offered.
func (m *Module) ask() {
	if m.req.Kind == port.None {
		m.req = port.Request{Kind: port.MemRead, Tag: tagRead, Len: 2, Addr: m.srcAddr}
		if m.contexts && op(m.hdr) == pkt.OpRestoreState {
			m.req.Len = 2 * wordEnd
		}
		m.state = stateValue
	}
}

// predicate skips what the packet says, or nothing, when the value is there.
func (m *Module) predicate() {
	skips := m.zero != (m.b2>>16 != 0)
	switch {
	case m.looks() || m.reading:
	case m.readErr:
		m.fault(cpreg.CauseReadError, operandPair0)
	case m.contexts && op(m.hdr) == pkt.OpRestoreState:
		m.restored()
	case skips && uint16(m.b2) != 0:
		m.left = uint16(m.b2)
		m.state = stateSkip
	default:
		m.state = stateRetire
	}
}

// join returns the 64-bit value of two dwords.
func join(hi, lo uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }

package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/fence"
)

// A clock is what a clock of the decoder depends on.
type clock struct {
	dword  uint32 // next dword of the buffer
	beyond bool   // dword counts more dwords than follow it in the indirect buffer
	take   bool   // dword was taken
	jumps  bool   // the dwords to skip were skipped
	taken  bool   // the offered descriptor was taken
	seeks  bool   // the stream moves
	free   bool   // the node may write to the file
	late   bool   // a packet trails
	fails  bool   // and its descriptor fails
	ends   bool   // or it retires
}

// step runs a clock of the decoder and of the unit that works for it. It reports whether a
// packet retires, or the buffer of an INDIRECT begins.
func (m *Module) step(c clock, f Fence) bool {
	leaves := m.decode.state == decodeExec && m.ring.state == ringLeave
	at := m.trail.position(m.ring.stream.at)
	if c.ends {
		m.trail.active = false
	}
	word, bytes := m.file.ram.Out(), m.walk.bytes
	move := m.walk.moves(m.file.ready, m.ring.state == ringBase)
	var o outcome
	switch {
	case c.fails:
		m.blame()
	case c.late && m.regs.interrupts() && !c.take && m.unsent():
		m.forget()
	default:
		o, move.rows = m.decodeStep(c, word, f)
	}
	move.copies = copies(m.decode.op())
	enters := o.end == passed && m.decode.op() == pkt.OpIndirect
	if c.late && o.end == refused {
		m.park(o)
	} else {
		m.act(o, bytes)
	}
	m.walk.move(move, word)
	ends := o.end == completed || c.ends
	if ends || leaves {
		m.regs.retire()
	}
	if ends {
		m.ring.retire(at)
	}
	return ends || enters
}

// decodeStep runs a clock of the decoder. word was read from the file. It reports whether the
// next row starts.
func (m *Module) decodeStep(c clock, word uint64, f Fence) (o outcome, rows bool) {
	switch m.decode.state {
	case decodeNext:
		if (m.regs.run || m.regs.interrupts()) && !c.seeks && (c.take || !c.late) {
			o = m.await(c.dword, c.beyond, c.take)
		}
	case decodeBody, decodeSkip:
		switch {
		case c.take && m.decode.state == decodeBody:
			m.keep(c.dword, c.beyond)
		case c.take:
			m.decode.skip()
		case c.jumps:
			m.decode.state = decodeRetire
		case !c.seeks && !c.late:
			o = m.starve(operandNext)
		default:
		}
	case decodeRetire:
		if !m.sync.scratch {
			o = ended(completed)
		}
	case decodeCheck:
		if !c.late || m.prepared() {
			o = m.check()
		}
	case decodeExec:
		o, rows = m.execute(c, word, f)
	case decodeClear:
		if c.free {
			m.clear()
		}
	default:
	}
	return o, rows
}

// act applies the outcome of a clock. bytes is the length of the ranges before the clock.
func (m *Module) act(o outcome, bytes uint32) {
	switch o.end {
	case passed:
		m.handOver(bytes)
	case finished:
		m.decode.state = decodeRetire
	case completed:
		m.startPacket()
	case skipping:
		m.decode.state = decodeSkip
	case halted:
		m.yield()
	case badRing:
		m.copyRing()
	case refused:
		m.regs.run = false
		m.regs.fault = true
		m.decode.stop(o.cause, o.bad)
	default:
	}
}

// clear clears a word of the file. After the last word it waits for a header.
func (m *Module) clear() {
	m.file.next = (m.file.next + 1) & m.file.mask
	if m.file.next == 0 {
		m.decode.state = decodeNext
	}
}

// await takes a header, ends the indirect buffer, or requests a check of the ring.
func (m *Module) await(dword uint32, beyond, take bool) outcome {
	var o outcome
	switch {
	case m.ring.ended():
		m.ring.inIB = false
		m.ring.fresh = true
		m.ring.state = ringLeave
		m.decode.state = decodeExec
	case !m.ring.inIB && m.ring.fresh && m.regs.run:
		m.ring.state = ringBase
		m.decode.state = decodeExec
	case take:
		m.file.second = m.trail.takesSecond()
		o = m.decode.header(dword, m.ring.inIB, beyond)
	default:
		o = m.starve(operandStart)
	}
	return o
}

// starve stops the node if the awaited dword, at the address bad, cannot arrive.
func (m *Module) starve(bad operand) outcome {
	var o outcome
	if m.ring.bad != ringGood {
		o = ended(badRing)
	} else if m.ring.stream.failed() {
		o = refuse(cpreg.CauseReadError, bad)
	}
	return o
}

// keep takes a dword of the body.
func (m *Module) keep(dword uint32, beyond bool) {
	op, n := m.decode.op(), m.decode.n
	bytes, length := lengthOf(op, n, dword)
	if length {
		m.walk.bytes = bytes & m.walk.byteMask
	}
	if sizeAt(op, n) {
		m.walk.setRect(dword)
	}
	m.decode.keep(dword, beyond)
}

// check starts the packet, whose body is complete, or refuses it.
func (m *Module) check() outcome {
	cause, bad := m.decode.verdict(m.file.src, m.file.dst)
	op := m.decode.op()
	m.walk.start(op)
	m.trail.clash = false
	m.issue.start(op)
	m.sync.start()
	o := refuse(cause, bad)
	if cause == cpreg.CauseNone {
		o = m.begin(op)
	}
	return o
}

// begin passes a checked packet to the first unit that works on it, if any.
func (m *Module) begin(op uint8) outcome {
	var o outcome
	empty := m.walk.bytes == 0
	m.decode.state = decodeExec
	switch op {
	case pkt.OpIndirect:
		m.walk.state = walkScale
	case pkt.OpCopy, pkt.OpFill:
		m.walk.state = walkLow
		empty = empty || m.issue.past(op, m.walk.bytes)
	case pkt.OpSetState:
		m.file.setSurface(m.decode.flag, m.decode.attr)
		empty = true
	case pkt.OpCopy2D, pkt.OpFill2D:
		m.walk.state = walkCorner
		empty = false
	case pkt.OpWriteReg, pkt.OpWaitFence:
		m.walk.state = walkImmediate
		empty = false
	default:
		if m.walk.caps&(caps.Protection|caps.Contexts) != 0 {
			m.walk.bytes = 8
		}
		m.walk.state = walkLow
		empty = false
	}
	if empty {
		m.walk.state = walkIdle
		o = ended(finished)
	}
	return o
}

// execute runs a clock of the working unit. It reports whether the next row starts.
func (m *Module) execute(c clock, word uint64, f Fence) (o outcome, rows bool) {
	half, ready, free, taken := c.dword, m.file.ready, c.free, c.taken
	inside, end := m.walk.inside(m.ring.mask, m.ring.state == ringEnd)
	if m.trail.overlaps && m.walk.state == walkRange && !m.walk.writes {
		m.trail.clash = m.trail.touches(m.walk.row, m.walk.bytes, m.walk.space.mapped(m.walk.row))
	}
	switch {
	case m.walk.state != walkIdle:
		o = m.walk.step(m.packet(), word, half, ready && (free || !m.sets()), inside, end)
	case m.issue.state != issueIdle:
		o, rows = m.stepIssue(half, ready, taken, c.late)
	case m.sync.state != syncIdle:
		o = m.stepSync(word, ready, f)
	default:
		o = m.stepRing(word, ready, free, inside)
	}
	return o, rows
}

// handOver passes the packet, after its ranges have passed and its immediate was read, to the
// unit that executes it.
func (m *Module) handOver(bytes uint32) {
	switch m.decode.op() {
	case pkt.OpIndirect:
		m.ring.enter(m.walk.row, bytes)
		m.issue.resume(m.decode.flag, m.regs.progress)
		m.decode.state = decodeNext
	case pkt.OpCopy2D, pkt.OpFill2D:
		m.issue.state = issuePitch
	case pkt.OpWriteReg:
		m.sync.scratch = true
		m.decode.state = decodeRetire
	case pkt.OpTimestamp:
		m.sync.offer(fence.Timestamp)
	case pkt.OpSignal:
		if m.sync.caps.Has(caps.Signal) {
			m.sync.offer(fence.Signal)
		}
	case pkt.OpFence:
		m.sync.offer(fence.Fence)
	case pkt.OpWaitFence:
		if m.sync.caps.Has(caps.Timeline) {
			m.sync.state = syncWait
		}
	case pkt.OpPredicate, pkt.OpRestoreState:
		m.sync.state = syncRead
	case pkt.OpSaveState:
		if m.sync.caps.Has(caps.Contexts) {
			m.sync.state = syncSave
			m.walk.add = 8
		}
	default:
		m.issue.state = issueOffer
	}
}

// stepRing runs a clock of the ring unit.
func (m *Module) stepRing(word uint64, ready, free, inside bool) outcome {
	var o outcome
	switch m.ring.state {
	case ringLeave:
		m.startPacket()
		m.ring.leave(m.regs.run)
		if m.regs.run {
			m.decode.state = decodeExec
		}
	case ringBase:
		if ready {
			o = m.ring.check(word)
		}
	case ringEnd:
		m.decode.state = decodeNext
		o = m.ring.checkEnd(m.walk.row, inside)
	case ringCopy:
		if ready && free {
			o = m.copied()
		}
	default:
	}
	return o
}

// copyRing starts to copy the registers of an unreadable ring to the slot of a body, for the
// fault.
func (m *Module) copyRing() {
	m.ring.state = ringCopy
	m.regs.run = false
	m.decode.n = 0
	m.decode.state = decodeExec
}

// copied counts a copied half of the ring's registers, and stops the node after the last one.
// The fault has no packet.
func (m *Module) copied() outcome {
	var o outcome
	if m.decode.n == 2 {
		m.decode.left = uint16(m.ring.log2)
		m.ring.state = ringIdle
		o = refuse(cpreg.CauseRing, m.ring.operand())
	}
	m.decode.n = (m.decode.n + 1) & 7
	return o
}

// startPacket waits for the next header.
func (m *Module) startPacket() {
	m.issue.startPacket()
	m.decode.state = decodeNext
}

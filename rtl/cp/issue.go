package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// issueState is the state of the issue unit.
type issueState uint8

const (
	issueIdle  issueState = iota
	issuePitch            // reads the pitch of the destination, for the rows
	issueOffer            // offers descriptors
	issueRow              // starts the next row
	issueDrain            // waits for the descriptors in flight
)

// With CAPS.PREEMPTION no descriptor is longer than a piece.
const (
	pieceLog2 = 12 // log2 of the bytes of a piece
	rowLog2   = 18 // log2 of the bytes of the longest row
	rowMask   = 1<<pkt.RowBits - 1
)

// Design note: rows and linear packets are cut into pieces of a power of two of bytes, so the
// address of a descriptor is that of its row plus the shifted number of the piece.

// issue sends the descriptors of a packet to the DMA engine.
type issue struct {
	space     space
	caps      caps.Set
	maxLog2   uint8  // log2 of the bytes of the longest descriptor
	pieceMask uint32 // bits of piece
	withdraws bool   // an offered descriptor may be withdrawn

	state    issueState `w:"3"`
	piece    uint32     `w:"20"` // current piece of the row
	sent     uint32     `w:"21"` // PROGRESS: all that was sent, including what was sent before a preemption
	stops    bool       // stop for a preemption when the descriptors in flight have ended
	offered  bool       // a descriptor is offered
	inFlight uint8      `w:"6"` // descriptors accepted and not complete
	readErr  bool       // a read failed; never set together with writeErr
	writeErr bool
	pageErr  bool // the first error is that of a page
}

// Reset sets the registers to their power-on values.
func (u *issue) Reset() {
	*u = issue{space: u.space, caps: u.caps, maxLog2: u.maxLog2, pieceMask: u.pieceMask, withdraws: u.withdraws}
}

// handshake counts the descriptors that the DMA engine accepts and completes.
func (u *issue) handshake(d DMA) {
	inFlight := u.inFlight
	if d.Ready && u.offered {
		u.offered = false
		inFlight++
	}
	if d.Done || d.Err || d.WriteErr {
		inFlight--
	}
	hdl.Assert(inFlight <= 0x3f, "cp: the DMA engine has more descriptors than can be counted")
	u.inFlight = inFlight & 0x3f
	if u.caps.Has(caps.GART) {
		u.pageErr = u.pageErr || d.page() && !u.readErr && !u.writeErr
	}
	u.readErr = u.readErr || d.Err && !u.writeErr
	u.writeErr = u.writeErr || d.WriteErr && !u.readErr
}

// empty reports whether no descriptor is offered or in flight.
func (u *issue) empty() bool { return !u.offered && u.inFlight == 0 }

// start prepares for a packet, which starts after the pieces sent before a preemption.
func (u *issue) start(op uint8) { u.piece = u.pieces(op) & u.pieceMask }

// pieces returns the number of pieces of the packet, or of the first row, that were sent
// before a preemption.
func (u *issue) pieces(op uint8) uint32 {
	n := u.before()
	if usesSurfaces(op) {
		n >>= pkt.RowBits
	}
	return n
}

// before returns PROGRESS of the packet.
func (u *issue) before() uint32 {
	var n uint32
	if u.caps.Has(caps.Preemption) {
		n = u.sent
	}
	return n
}

// past reports whether a linear packet, or the first row, sent all its bytes before a
// preemption.
func (u *issue) past(op uint8, bytes uint32) bool {
	return u.caps.Has(caps.Preemption) && uint64(bytes) <= uint64(u.pieces(op))<<pieceLog2
}

// startRow starts the first row of a length in bytes. If PROGRESS counts more pieces than the
// row has, the row starts at its beginning.
func (u *issue) startRow(op uint8, bytes uint32) {
	u.state = issueOffer
	if u.past(op, bytes) {
		u.piece = 0
		u.sent &= rowMask
	}
}

// startPacket makes the next packet start at its beginning.
func (u *issue) startPacket() {
	if u.caps.Has(caps.Preemption) {
		u.stops = false
		u.sent = 0
	}
}

// resume makes the next packet start at progress if resumes is set.
func (u *issue) resume(resumes bool, progress uint32) {
	if u.caps.Has(caps.Preemption) && resumes {
		u.sent = progress & pkt.MaxProgress
	}
}

// pieceSize returns log2 of the bytes of a piece.
func (u *issue) pieceSize() uint8 {
	n := u.maxLog2
	if u.caps.Has(caps.Preemption) {
		n = pieceLog2
	}
	return n
}

// length returns the bytes of the row's current piece, and whether it is the last one.
func (u *issue) length(bytes uint32) (n uint32, last bool) {
	size := u.pieceSize()
	rest, whole := bytes&(1<<size-1), bytes>>size
	n = uint32(1) << size
	if u.piece == whole {
		n = rest
	}
	return n, u.piece == whole || rest == 0 && u.piece+1 == whole
}

// Desc returns the descriptor for the DMA engine. It is valid if Op is not None.
func (m *Module) Desc() dma.Desc {
	if hdl.Asleep(!m.issue.offered) {
		return dma.Desc{}
	}
	op := m.decode.op()
	length, _ := m.issue.length(m.walk.bytes)
	at := uint64(m.issue.piece) << m.issue.pieceSize()
	d := dma.Desc{Len: length, Dst: m.issue.space.add(m.walk.row, at), After: m.trail.active}
	if !copies(op) {
		at = 0
	}
	mask := m.issue.space.sumMask
	d.Src = m.walk.src&^mask | (m.walk.src+at)&mask
	if m.issue.offered {
		d.Op = dma.Fill
		if copies(op) {
			d.Op = dma.Copy
		}
	}
	return d
}

// stepIssue runs a clock of the issue unit. It reports whether the next row, or the next word
// of a context, starts.
func (m *Module) stepIssue(half uint32, ready, taken, late bool) (o outcome, rows bool) {
	op := m.decode.op()
	switch m.issue.state {
	case issuePitch:
		if ready {
			m.walk.setPitch(half)
			m.issue.startRow(op, m.walk.bytes)
		}
	case issueOffer, issueRow:
		rows = m.offer(op, ready, taken)
	case issueDrain:
		o = m.drain(op, late)
	default:
	}
	return o, rows
}

// offer offers the next descriptor after the previous one was accepted.
func (m *Module) offer(op uint8, ready, taken bool) (rows bool) {
	_, last := m.issue.length(m.walk.bytes)
	if taken {
		m.issue.count(usesSurfaces(op), last)
		if last {
			m.endRow()
		}
	}
	rows = m.issue.state == issueRow && ready
	if rows {
		m.issue.state = issueOffer
		if m.sync.caps.Has(caps.Contexts) && op == pkt.OpSaveState {
			m.issue.state = issueIdle
			m.sync.nextWord()
		}
	}
	m.issue.next(m.regs.interrupts() && m.ring.inIB, m.trail.active && m.trail.clash)
	return rows
}

// endRow ends a row, or a word of a context.
func (m *Module) endRow() {
	more := usesSurfaces(m.decode.op()) && m.walk.moreRows()
	if m.sync.caps.Has(caps.Contexts) && m.decode.op() == pkt.OpSaveState {
		more = m.sync.moreWords()
	}
	m.walk.nextRow()
	m.issue.piece = 0
	m.issue.state = issueDrain
	if more {
		m.issue.state = issueRow
	}
}

// count counts an accepted piece. last is set for the last piece of a row or of a linear
// packet, and rows for a 2D packet.
func (u *issue) count(rows, last bool) {
	u.piece = (u.piece + 1) & u.pieceMask
	if u.caps.Has(caps.Preemption) {
		by, mask := uint32(1), uint32(pkt.MaxProgress)
		if rows && last {
			mask = rowMask
		} else if rows {
			by = 1 << pkt.RowBits
		}
		u.sent = (u.sent + by) & mask
	}
}

// next offers the current piece if no other one is offered. It drains instead after an error
// and for a preemption, which also withdraws the offered piece. An aperture takes no descriptor
// in the clock of an error, so the offered piece is withdrawn then too. It waits while clash is
// set.
func (u *issue) next(interrupts, clash bool) {
	if u.caps.Has(caps.GART) && (u.readErr || u.writeErr) {
		u.offered = false
	}
	if interrupts && u.withdraws {
		u.offered = false
	}
	switch {
	case u.offered || u.state != issueOffer:
	case u.readErr || u.writeErr:
		u.state = issueDrain
	case interrupts:
		u.stops = true
		u.state = issueDrain
	case clash:
	default:
		u.offered = true
	}
}

// drain ends the packet when all its descriptors are complete, or makes it the trailing one. late
// is set if a packet trails, also in the clock in which that packet retires.
func (m *Module) drain(op uint8, late bool) outcome {
	var o outcome
	switch {
	case m.issue.empty():
		if !late {
			o = m.issue.end(op)
		}
	case m.canTrail():
		m.trails()
	default:
	}
	return o
}

// end ends the packet, whose descriptors are complete.
func (u *issue) end(op uint8) outcome {
	var o outcome
	u.state = issueIdle
	switch {
	case u.readErr:
		o = refuse(u.cause(cpreg.CauseReadError), sourceOperand(op))
	case u.writeErr:
		o = refuse(u.cause(cpreg.CauseWriteError), destOperand(op))
	case u.caps.Has(caps.Preemption) && u.stops:
		o = ended(halted)
	default:
		o = ended(completed)
	}
	return o
}

// cause returns the cause of an error that would have the given one without an aperture.
func (u *issue) cause(cause uint8) uint8 {
	if u.caps.Has(caps.GART) && u.pageErr {
		cause = cpreg.CausePage
	}
	return cause
}

package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Design note: a row, or a linear packet, is cut into pieces of a power of two of bytes,
// so the number of the piece is all that a descriptor adds to the address of its row.

// Desc returns the descriptor for the DMA engine, meaningful if it is one.
func (m *Module) Desc() dma.Desc {
	if hdl.Asleep(!m.offered) {
		return dma.Desc{}
	}
	at := uint64(m.piece) << m.pieceSize()
	d := dma.Desc{Len: m.length(), Dst: m.sum(m.end, at)}
	if !m.copies() {
		at = 0
	}
	d.Src = m.srcAddr&^m.addrMask | (m.srcAddr+at)&m.addrMask
	if m.offered {
		d.Op = dma.Fill
		if m.copies() {
			d.Op = dma.Copy
		}
	}
	return d
}

func (m *Module) copies() bool { return m.op() == pkt.OpCopy || m.op() == pkt.OpCopy2D }

func (m *Module) is2D() bool { return m.op() == pkt.OpCopy2D || m.op() == pkt.OpFill2D }

// pieceSize returns log2 of the bytes of a piece.
func (m *Module) pieceSize() uint8 {
	n := m.maxLog2
	if m.preemption && !m.is2D() {
		n = pieceLog2
	}
	return n
}

// short returns the bytes of the piece behind the whole ones, and whole how many those
// are.
func (m *Module) short() (short, whole uint32) {
	n := m.pieceSize()
	return m.bytes & (1<<n - 1), m.bytes >> n
}

// length returns the bytes of the piece in work.
func (m *Module) length() uint32 {
	short, whole := m.short()
	n := uint32(1) << m.pieceSize()
	if m.piece == whole {
		n = short
	}
	return n
}

// last reports whether the piece in work is the last one of its row.
func (m *Module) last() bool {
	short, whole := m.short()
	return m.piece == whole || short == 0 && m.piece+1 == whole
}

// issue offers the next descriptor when the one before was taken, and reports whether
// the next row, or the next word of the context, is begun.
func (m *Module) issue(taken bool) bool {
	last := m.last()
	if taken {
		m.piece = (m.piece + 1) & m.pieceMask
		if last || !m.is2D() {
			m.advance()
		}
		if last {
			m.endRow()
		}
	}
	rows := m.state == stateRow && m.ready
	if rows {
		m.row()
	}
	switch {
	case m.offered || m.state != stateIssue:
	case m.readErr || m.writeErr:
		m.state = stateDrain
	case m.interrupts() && m.boundary():
		m.halted = true
		m.state = stateDrain
	default:
		m.offered = true
	}
	return rows
}

// endRow goes on to the next row, or word of the context.
func (m *Module) endRow() {
	more := m.is2D() && m.y0 != m.y1
	if m.contexts && m.op() == pkt.OpSaveState {
		more = m.word != stateWords-1
	}
	m.y0 = (m.y0 + 1) & 0x7fff
	m.piece = 0
	m.state = stateDrain
	if more {
		m.state = stateRow
	}
}

// row begins the next row, or the next word of the context.
func (m *Module) row() {
	m.state = stateIssue
	if m.contexts && m.op() == pkt.OpSaveState {
		m.word = (m.word + 1) & 0xf
		m.state = stateSave
	}
}

// drain ends the packet when all its descriptors are complete.
func (m *Module) drain() {
	if !m.offered && m.inFlight == 0 {
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

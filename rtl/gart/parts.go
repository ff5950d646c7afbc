package gart

import (
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// take takes a descriptor.
func (m *Module) take(d dma.Desc, owner uint8) {
	m.state = statePlan
	m.copies, m.after, m.owner = d.Op == dma.Copy, d.After, owner&1
	m.left, m.src, m.dst = d.Len&m.lenMask, d.Src, d.Dst&m.addrMask
	if m.copies {
		m.src &= m.addrMask
	}
	m.begun, m.turns, m.kind = false, 0, 0
}

// finish handles the end of the oldest part in the engine. A descriptor ends with its last
// part, and has the first error of its parts.
func (m *Module) finish(done dma.Result, of uint8) {
	if done != dma.ResultNone {
		hdl.Assert(m.flying != 0, "gart: the DMA engine ended a descriptor that was not sent")
		last := m.ends&1 != 0
		if m.err == ResultNone {
			switch done {
			case dma.ResultReadError:
				m.err = ResultReadError
			case dma.ResultWriteError:
				m.err = ResultWriteError
			default:
			}
		}
		m.ends >>= 1
		m.flying = (m.flying - 1) & 0xf
		if last {
			m.tell(m.err, of)
		}
	}
}

// tell ends the oldest descriptor, without an error if err is ResultNone.
func (m *Module) tell(err Result, of uint8) {
	mine := uint8(1) << (of & 1) & 3
	m.result, m.of, m.err = err, of&1, ResultNone
	m.broken |= mine
	if err == ResultNone {
		m.result = ResultDone
		m.broken &^= mine
	}
}

// step runs a clock of the current descriptor. quiet is set if the engine had no part, and
// flush if a flush is not acknowledged.
func (m *Module) step(in In, cancel uint8, flush, quiet bool) {
	switch m.state {
	case statePlan:
		if !flush {
			m.plan(cancel)
		}
	case stateLook:
		m.look(flush)
	case stateLoad:
		m.state = stateCheck
		if flush {
			m.state = statePlan
		}
	case stateCheck:
		m.check(flush)
	case stateWait:
		if in.Free {
			m.state = stateRead
		}
	case stateRead:
		if in.ReadReady {
			m.state = stateFill
		}
	case stateFill:
		m.fill(in.Cpl, flush)
	case stateOffer:
		if in.Taken {
			m.sent()
		}
	case stateFail:
		if quiet {
			m.fail()
		}
	default:
	}
}

// plan chooses the next part, or ends a descriptor that has failed or is cancelled. It first
// rotates the value of a fill after a cut, a byte a clock.
func (m *Module) plan(cancel uint8) {
	failed := m.err != ResultNone && m.ends == 0 // the oldest descriptor is the current one
	switch {
	case failed || cancel>>m.owner&1 != 0:
		m.state = stateFail
	case m.turns != 0:
		m.src = m.src>>8 | m.src<<56
		m.turns = (m.turns - 1) & 7
	default:
		m.part = m.room()
		m.writes = !m.copies || !in(m.src)
		m.state = stateLook
		if m.writes && !in(m.dst) {
			m.state = stateOffer
		}
	}
}

// room returns the bytes that are left before the next page.
func (m *Module) room() uint32 {
	n := m.left
	if before := inPage + 1 - uint32(m.src&inPage); m.copies && in(m.src) && n > before {
		n = before
	}
	if before := inPage + 1 - uint32(m.dst&inPage); in(m.dst) && n > before {
		n = before
	}
	return n
}

// sent advances to the next part after the engine has taken one.
func (m *Module) sent() {
	last := m.part == m.left
	if last {
		m.ends |= 1 << m.flying
		m.state = stateIdle
	} else {
		m.state = statePlan
	}
	hdl.Assert(m.flying < flights, "gart: the DMA engine has more parts than can be counted")
	m.flying = (m.flying + 1) & 0xf
	m.begun = true
	m.left -= m.part
	m.dst = m.dst&host | (m.dst+uint64(m.part))&m.addrMask&^host
	if m.copies {
		m.src = m.src&host | (m.src+uint64(m.part))&m.addrMask&^host
	} else {
		m.turns = uint8(m.part) & 7
	}
}

// fail ends the current descriptor, of which nothing is in flight. One after another of its
// node that failed is cancelled, whatever it would have done.
func (m *Module) fail() {
	err := m.err
	cancelled := m.kind == 0 || m.after && m.broken>>m.owner&1 != 0
	switch {
	case err != ResultNone:
	case cancelled:
		err = ResultWriteError
	default:
		m.record()
		err = ResultReadPage
		if m.writes {
			err = ResultWritePage
		}
	}
	m.tell(err, m.owner)
	m.state = stateIdle
}

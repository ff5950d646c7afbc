package gart

import (
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Design note: a flush drops all lines, and stops the translator before its next part until
// the engine is empty. So what was translated before is complete when it is acknowledged, and
// no counter of old and new parts is needed. A line that arrives meanwhile is not kept.

// addr returns the address that is looked up.
func (m *Module) addr() uint64 {
	a := m.src
	if m.writes {
		a = m.dst
	}
	return a
}

// page returns the number of the page that is looked up.
func (m *Module) page() uint32 {
	return uint32(m.addr()>>gartreg.PageLog2) & (gartreg.MaxPages - 1)
}

// at returns the offset, in its memory, of the table's block with the entry that is looked up.
func (m *Module) at() uint64 {
	return m.table&^host + uint64(m.page()/entries)*(entries*gartreg.EntryBytes)
}

// look looks for the entry among the kept ones. If it is not there, a line is given up for it.
func (m *Module) look(flush bool) {
	page := m.page()
	tag := page / entries
	hit, line := false, m.next
	for i := range uint8(lines) {
		if m.held>>i&1 != 0 && m.tags[i] == tag {
			hit, line = true, i
		}
	}
	limit := m.vramLimit
	if m.table&host != 0 {
		limit = m.hostLimit
	}
	m.line = line & 3
	switch {
	case flush:
		m.state = statePlan
	case !m.enable || page >= m.pages:
		m.refuse(gartreg.KindInvalid)
	case hit:
		m.state = stateLoad
	case m.at()&^(limit-1) != 0:
		m.refuse(gartreg.KindTable)
	default:
		m.next = (m.next + 1) & 3
		m.held &^= 1 << line
		m.tags[line] = tag
		m.state = stateWait
		m.beat = 0
	}
}

// check checks the entry.
func (m *Module) check(flush bool) {
	const flags = gartreg.EntryValid | gartreg.EntryWritable
	e := m.ram.Out()
	switch {
	case flush:
		m.state = statePlan
	case e&gartreg.EntryValid == 0 || e&^(m.pageMask|flags) != 0:
		m.refuse(gartreg.KindInvalid)
	case m.writes && e&gartreg.EntryWritable == 0:
		m.refuse(gartreg.KindReadOnly)
	case m.writes:
		m.to = e & m.pageMask
		m.state = stateOffer
	default:
		m.from = e & m.pageMask
		m.writes = true
		m.state = stateOffer
		if in(m.dst) {
			m.state = stateLook
		}
	}
}

// fill takes a word of a line. An error is in the last completion of a read.
func (m *Module) fill(cpl port.Completion, flush bool) {
	if cpl.Status != port.CplNone {
		m.beat = (m.beat + 1) & (entries - 1)
		switch {
		case !cpl.Last:
		case cpl.Status != port.CplSuccess:
			m.refuse(gartreg.KindTable)
		case flush:
			m.state = statePlan
		default:
			m.held |= 1 << m.line & 0xf
			m.state = statePlan
		}
	}
}

// refuse ends the descriptor because the page cannot be accessed.
func (m *Module) refuse(kind uint8) {
	m.kind = kind & 3
	m.state = stateFail
}

// rests reports whether the current descriptor has translated nothing that is not sent, and
// waits for no read.
func (m *Module) rests() bool {
	return m.state == stateIdle || m.state == statePlan || m.state == stateFail
}

// acknowledge ends a flush if nothing that was translated before it is in flight. quiet is set
// if the engine has no part.
func (m *Module) acknowledge(quiet bool) {
	if quiet && m.rests() {
		m.flush = false
	}
}

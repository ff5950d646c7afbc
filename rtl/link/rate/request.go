package rate

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// memory stores a byte of a request, or reads one for the answer.
func (m *Module) memory(in linkport.Piece, listens bool) {
	enable := uint8(0)
	if in.Valid && listens && m.n < maxBytes {
		enable = 1
	}
	m.ram.Tick(m.stage == stageFetch, uint32(m.place), enable, uint32(m.n), uint64(in.Data))
}

// collect takes a byte or the end of a frame.
func (m *Module) collect(in linkport.Piece, listens bool) {
	if in.End || in.Damaged {
		answers := false
		if in.End && listens && !m.inside && !m.scans && m.good() {
			answers = m.decide()
			m.took = 7
		}
		m.spoiled = false
		if answers {
			m.crc, m.stage, m.place = crc32.Init, stageFetch, 0
		} else if m.stage == stageListen {
			m.crc, m.n = crc32.Init, 0
		}
		return
	}
	if !in.Valid {
		return
	}
	if !listens || m.scans || m.n == maxBytes {
		m.spoiled = true
		return
	}
	m.take(in.Data)
}

// take takes a byte of a request.
func (m *Module) take(b uint8) {
	if m.n == 0 && b != 'B' || m.n == 1 && b != 'R' {
		m.spoiled = true
	}
	if m.n == kindPlace {
		m.kind = b & 7
		m.spoiled = m.spoiled || b > kindKeep
	}
	if m.n >= checkBytes {
		m.crc = crc32.Byte(m.crc, uint8(m.last>>24))
	}
	m.last = m.last<<8 | uint32(b)
	if m.n < maxBytes {
		m.n = (m.n + 1) & 0x7f
	}
	if m.n == headBytes {
		m.scans, m.index, m.found = true, 0, false
	}
}

// good reports whether the frame that ends is a message.
func (m *Module) good() bool {
	return !m.spoiled && m.n >= headBytes+checkBytes && m.last == ^m.crc
}

// scan looks in the table for the rate whose last byte has just arrived. The table shows
// what was found until the next scan.
func (m *Module) scan() {
	read := m.scans && !m.fresh
	if m.scans && m.fresh {
		m.found = uint32(m.table.Out()>>16) == m.last
		if m.found || m.index == m.rates-1 {
			m.scans = false
		} else {
			m.index = (m.index + 1) & (MaxRates - 1)
		}
	}
	m.fresh = read
	m.table.Tick(read, uint32(m.index))
}

// decide takes a request, and reports whether it is answered.
func (m *Module) decide() bool {
	same := m.found && m.index == m.at
	switch {
	case m.kind == kindAsk && m.at == 0:
		m.answer, m.turns = kindNo, m.found
		if m.found {
			m.answer = kindYes
		}
	case m.kind == kindEcho && same:
		m.answer, m.turns, m.left = kindEcho+1, false, fallBack
	case m.kind == kindKeep && same:
		m.answer, m.turns, m.left = kindKeep+1, false, keepFor
	default:
		return false
	}
	return true
}

// send goes on after a byte of the answer was taken.
func (m *Module) send(sent linkport.Sent) {
	if m.place < m.n-checkBytes {
		m.crc = crc32.Byte(m.crc, sent.Data)
	} else {
		m.crc = m.crc << 8
	}
	m.stage = stageFetch
	if sent.Last {
		m.stage = stageTurn
	}
	m.place = (m.place + 1) & 0x7f
}

// turn ends the exchange.
func (m *Module) turn() {
	if m.turns {
		m.at, m.period, m.left = m.index, uint16(m.table.Out()), fallBack
	}
	m.stage, m.n, m.crc = stageListen, 0, crc32.Init
}

// passTime counts ticks. The time after a session begins at its end.
func (m *Module) passTime(up bool) {
	if up {
		m.left = linger
	}
	if m.clocks != 0 {
		m.clocks = (m.clocks - 1) & 0xfff
		return
	}
	m.clocks = (m.tickClocks - 1) & 0xfff
	if m.left != 0 {
		m.left = (m.left - 1) & 0x3fff
	}
}

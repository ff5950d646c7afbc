package inbound

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// match compares a completion with the word of its read. due reports whether that awaits one.
func (m *Module) match(word uint16, due bool) bool {
	length, low, epoch := word&63, uint8(word>>6)&31, uint8(word>>11)&3
	n := m.dwords & 63
	ends := low + uint8(n)
	fits := uint16(m.hi)&0xfff == length<<2 && uint8(m.lo)&0x7f == low<<2 && n <= length && (n == length || ends&15 == 0)
	return due && uint8(m.lo>>14)&3 == epoch && (fits || !m.carries())
}

// carries reports whether the packet has data.
func (m *Module) carries() bool { return uint8(m.hi>>56)&withData != 0 }

// bad reports whether the data is poisoned.
func (m *Module) bad() bool { return uint8(m.hi>>40)&poisoned != 0 }

// ends reports whether a completion is the last one of its read.
func (m *Module) ends(word uint16) bool {
	return !m.carries() || m.bad() || m.dwords&63 == word&63
}

// complete begins a completion for the GPU. fits reports whether it matches its read.
func (m *Module) complete(word uint16, fits bool) {
	length, low, n := word&63, uint8(word>>6)&31, m.dwords&63
	m.out.tag = m.tag()
	m.dw, m.chunk, m.lower, m.lane = uint8(n), uint8(length-n)&63, (low+uint8(n))<<2&0x7c, low&1<<2
	if !fits {
		m.drop()
	} else if m.carries() && !m.bad() {
		m.state, m.cpl = stateData, true
	} else {
		m.drop()
		m.out.cpl, m.out.last = port.CplUnsupported, true
		if m.carries() || uint8(m.hi>>13)&7 == 4 {
			m.out.cpl = port.CplAbort
		}
		if m.carries() {
			m.epoch = (m.epoch + 1) & 3 // more completions of this read may follow
		}
	}
}

// data collects a byte. A beat that is complete goes to the output, and the next byte is
// taken in the same clock.
func (m *Module) data(b uint8, moves, empty bool) {
	last := m.dw == 0
	if m.full && empty {
		m.out.data, m.out.enable = m.gather, m.enable
		if m.half {
			m.out.data, m.out.enable = m.gather>>32, m.enable>>4
		}
		m.out.beat, m.out.last = !m.cpl, last
		if m.cpl {
			m.out.cpl, m.out.last = port.CplSuccess, last && m.chunk == 0
		}
	} else if last && !m.full && empty {
		m.chunkDone()
	}
	if empty {
		m.full = false
	}
	if !moves {
		return
	}
	m.gather = uint64(b)<<56 | m.gather>>8
	if m.lane&3 == 3 {
		e := m.first
		if m.dwords == 1 {
			e = m.last
		}
		m.enable = e<<4 | m.enable>>4
		m.first = 15
		m.dw, m.dwords = (m.dw-1)&63, (m.dwords-1)&0x7ff
		m.full, m.half = m.lane == 7 || m.dw == 0, m.lane != 7
	}
	m.lane = (m.lane + 1) & 7
}

// chunkDone moves to what follows the data of a request or of a completion.
func (m *Module) chunkDone() {
	if m.cpl {
		m.state = stateDone
		if m.chunk != 0 {
			m.state = stateUpdate
		}
		return
	}
	m.advance(m.chunk)
	m.state = stateChunk
	if m.dwords == 0 {
		m.state = stateDone
	}
}

// runs writes dwords by their runs of enabled bytes: the port takes no gaps.
func (m *Module) runs(b uint8, reqReady bool) {
	e := m.enable & 15
	sum := e + (e & -e)
	switch m.state {
	case stateSingle:
		m.gather = uint64(b)<<56 | m.gather>>8
		if m.lane == 3 {
			m.state = stateRun
		}
		m.lane = (m.lane + 1) & 7
	case stateRun:
		m.run = e &^ sum
		m.enable = e & sum
		if e != 0 {
			m.state = stateRunWrite
			if m.config {
				m.state, m.wish = stateRead, Silent
			}
		} else if m.dwords != 1 {
			m.state, m.lane, m.dwords, m.enable = stateSingle, 0, 1, m.last
			m.advance(1)
		} else if m.config {
			m.state, m.wish, m.chunk = stateRead, Success, 0
		} else {
			m.state = stateDone
		}
	case stateRunWrite:
		if reqReady {
			m.out.beat, m.out.last, m.out.enable, m.out.data = true, true, m.run, m.gather>>32
			if m.lo&4 != 0 {
				m.out.enable, m.out.data = m.run<<4, m.gather
			}
			m.state = stateRunData
		}
	default:
		if !m.out.beat {
			m.state = stateRun
		}
	}
}

// request offers a request of a memory write or of any read, and its answer.
func (m *Module) request(free, failed, reqReady bool) {
	space := 32 - uint8(m.lo>>2)&31
	switch m.state {
	case stateChunk:
		m.chunk = space
		if m.dwords < uint16(space) {
			m.chunk = uint8(m.dwords) & 31
		}
		m.dw, m.enable, m.lane = m.chunk, 0, uint8(m.lo)&4
		m.state = stateRead
		if uint8(m.hi>>56)&withData != 0 {
			m.state = stateWrite
		}
	case stateWrite:
		if reqReady {
			m.state = stateData
		}
	case stateRead:
		if m.parts && free && failed {
			m.state = stateDone
		} else if free {
			m.state = stateAnswer
		}
	case stateAnswer:
		switch m.wish {
		case Silent:
			m.state = stateRunWrite
		case Success, Refuse:
			m.state = stateDone
		default:
			m.state = stateReadHead
		}
	default:
		if reqReady {
			m.nextPart()
		}
	}
}

// advance moves the address past dwords of a request, which does not cross 4 KiB.
func (m *Module) advance(dwords uint8) {
	m.lo = m.lo&^0xffc | (m.lo+uint64(dwords)<<2)&0xffc
}

// nextPart moves to the next request of a read.
func (m *Module) nextPart() {
	m.bytes = (m.bytes - uint16(m.chunk)<<2 + uint16(m.lower&3)) & 0x1fff
	m.advance(m.chunk)
	m.lower, m.parts = uint8(m.lo)&0x7c, true
	m.dwords = (m.dwords - uint16(m.chunk)) & 0x7ff
	m.state = stateChunk
	if m.dwords == 0 || m.config {
		m.state = stateDone
	}
}

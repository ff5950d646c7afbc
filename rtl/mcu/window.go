package mcu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// offsetMask has the bits of an address that are the offset in a window.
const offsetMask = mcureg.WindowMax - 4

// window does the clocks of an access through a window.
func (m *Module) window(mem Mem, word uint32, blocked bool) {
	switch m.access.state {
	case stateSize, stateLow, stateHigh:
		if !blocked {
			m.access.advance()
		}
	case stateBound:
		m.access.state = stateLow
		if m.access.low&offsetMask >= word&mcureg.SizeBytes || m.access.writes() && word&mcureg.SizeWrite == 0 {
			m.access.end(true)
		}
	case stateAdd:
		sum := uint64(word&mcureg.BaseLoBytes) + uint64(m.access.low&offsetMask)
		m.access.high = m.access.low >> 28 & 7
		m.access.low, m.access.carry, m.access.state = uint32(sum), sum>>32 != 0, stateHigh
	case stateCarry:
		m.access.high = word + bit(m.access.carry)
		m.check(word)
	case stateFree:
		if mem.Free {
			m.access.state, m.access.header, m.access.beat = stateHeader, true, true
		}
	case stateHeader:
		m.access.offer(mem)
	default: // stateReply
		m.access.reply(mem.Cpl)
	}
}

// advance goes on to the clock in which the row that is read arrives.
func (a *access) advance() {
	switch a.state {
	case stateSize:
		a.state = stateBound
	case stateLow:
		a.state = stateAdd
	default:
		a.state = stateCarry
	}
}

// check begins the request if the address is one of the memory that base selects, the high
// half of the base of the window.
func (m *Module) check(base uint32) {
	outside := m.access.address()&m.vramMask != 0
	if base&hostBit != 0 {
		outside = m.access.high&m.hostMask != 0 || m.access.high&hostBit == 0
	}
	switch {
	case outside:
		m.access.end(true)
	case m.access.writes():
		m.access.state = stateFree
	default:
		m.access.state, m.access.header = stateHeader, true
	}
}

// offer waits until the header is taken, and the beat of a write.
func (a *access) offer(mem Mem) {
	if !a.writes() {
		if mem.ReadReady {
			a.header, a.state = false, stateReply
		}
		return
	}
	a.header = a.header && !mem.WriteReady
	a.beat = a.beat && !mem.BeatReady
	if mem.BeatReady {
		a.end(mem.Refused)
	}
}

// reply takes the completion of a read.
func (a *access) reply(cpl port.Completion) {
	if cpl.Status == port.CplNone {
		return
	}
	a.data = uint32(cpl.Data)
	if a.low&4 != 0 {
		a.data = uint32(cpl.Data >> 32)
	}
	a.end(cpl.Status != port.CplSuccess)
}

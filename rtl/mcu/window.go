package mcu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// offsetMask has the bits of an address that are the offset in a window.
const offsetMask = mcureg.WindowMax - 4

// sum adds to a word of the window: the offset to the low half of its base, and the carry to the
// high half. It subtracts the offset and 1 from the size: bit 32 reports that the offset is below.
func (a *access) sum(word uint32) uint64 {
	x, y := word&mcureg.BaseLoBytes, a.low&offsetMask
	switch a.state {
	case stateBound:
		y = ^y
	case stateCarry:
		x, y = word, bit(a.carry)
	default:
	}
	return uint64(x) + uint64(y)
}

// window does the clocks of an access through a window.
func (m *Module) window(mem Mem, word uint32, blocked bool) {
	sum := m.access.sum(word)
	switch m.access.state {
	case stateSize, stateLow, stateHigh:
		if !blocked {
			m.access.advance()
		}
	case stateBound:
		m.access.state = stateLow
		if sum>>32 == 0 || m.access.writes() && word&mcureg.SizeWrite == 0 {
			m.access.end(true)
		}
	case stateAdd:
		m.access.high = m.access.low >> 28 & 7
		m.access.low, m.access.carry, m.access.state = uint32(sum), sum>>32 != 0, stateHigh
	case stateCarry:
		m.access.high = uint32(sum) &^ m.hostMask
		m.check(word, uint32(sum))
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
// half of the base of the window. high is that of the address.
func (m *Module) check(base, high uint32) {
	outside := high != 0 || m.access.low&m.vramMask != 0
	if base&hostBit != 0 {
		outside = high&m.hostMask != 0 || high&hostBit == 0
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

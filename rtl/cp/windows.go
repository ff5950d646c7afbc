package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a window is held as its first byte and the byte behind its last,
// so that a range is in it if two comparisons hold. The windows are looked at one
// in each clock: one pair of comparators serves all of them and both ranges of a
// packet, and a packet whose window has a low number hardly waits. What is looked
// at was found in memory before, so no sum here wraps.

// A reach is one of the windows that SET_WINDOW sets, closed if it is empty.
type reach struct {
	base     uint64
	end      uint64
	writable bool
}

// checkSetWindow looks at a SET_WINDOW; the range of an open window is checked
// as a source is.
func (m *Module) checkSetWindow() {
	base := m.within(join(m.b2, m.b1))
	m.srcAddr, m.srcEnd = base, base
	switch {
	case m.b0>>3 != 0:
		m.fault(cpreg.CauseReserved, operandWord0)
	case m.b3|m.b4 == 0:
		m.setWindow()
	default:
		m.state = stateSource
	}
}

// setWindow ends a SET_WINDOW. The base of a closed window is kept as it was given.
func (m *Module) setWindow() {
	base := join(m.b2, m.b1)
	r := reach{base: base, end: base + join(m.b4, m.b3), writable: m.b0>>2&1 != 0}
	m.put(uint8(m.b0)&3, r)
	m.state = stateRetire
}

// put sets a window.
func (m *Module) put(i uint8, r reach) {
	switch i {
	case 0:
		m.window0 = r
	case 1:
		m.window1 = r
	case 2:
		m.window2 = r
	default:
		m.window3 = r
	}
}

// size returns the bytes of a packet's range from its last row on.
func (m *Module) size() uint64 {
	n := uint64(m.bytes)
	if m.protection && op(m.hdr) == pkt.OpSetWindow {
		n = join(m.b4, m.b3)
	}
	return n
}

// guarded reports whether the packet reaches memory in windows alone.
func (m *Module) guarded() bool { return m.protect && m.inIB }

// guard looks at the next window for one that the range of the packet is in.
func (m *Module) guard() {
	writes := m.state == stateWritable
	low, high, name := m.srcAddr, m.srcEnd, operandSourceAt
	if writes {
		low, high, name = m.dstAddr, m.dstEnd, operandDestAt
	}
	w := m.reach(m.window)
	inside := low >= w.base && high+uint64(m.bytes) <= w.end
	m.window = (m.window + 1) & (pkt.Windows - 1)
	switch {
	case inside && !writes:
		m.sourced()
	case inside && w.writable:
		m.destined()
	case m.window == 0:
		m.fault(cpreg.CauseWindow, name)
	default:
	}
}

// reach returns a window.
func (m *Module) reach(i uint8) reach {
	w := m.window3
	switch i {
	case 0:
		w = m.window0
	case 1:
		w = m.window1
	case 2:
		w = m.window2
	default:
	}
	return w
}

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

// checkWindow looks at the range that a SET_WINDOW opens, of so many bytes from
// m.srcAddr on. The base of a closed window is kept as it was given.
func (m *Module) checkWindow(size uint64) {
	limit := m.limit(m.srcAddr)
	first := m.srcAddr &^ pkt.Host
	end := first + size
	whole := end&limit == 0 && (end>>1)&^limit == 0
	switch {
	case size == 0:
		m.setWindow(size)
	case first&^limit != 0:
		m.fault(cpreg.CauseAddress, operandPair2)
	case size>>63 != 0 || end&^limit != 0 && !whole:
		m.fault(cpreg.CauseAddress, operandEnd)
	default:
		m.setWindow(size)
	}
}

// setWindow ends a SET_WINDOW.
func (m *Module) setWindow(size uint64) {
	m.put(m.few&3, reach{base: m.srcAddr, end: m.srcAddr + size, writable: m.few>>2 != 0})
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

// guarded reports whether the packet reaches memory in windows alone.
func (m *Module) guarded() bool { return m.protect && m.inIB }

// guard looks at the next window for one that the range of the packet is in.
func (m *Module) guard() {
	writes := m.state == stateWritable
	name := operandSourceAt
	if writes {
		name = operandDestAt
	}
	w := m.reach(m.window)
	inside := m.end >= w.base && m.bottom+uint64(m.bytes) <= w.end
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

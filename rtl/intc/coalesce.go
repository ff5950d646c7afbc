package intc

import "github.com/hilgpu/hilgpu/rtl/abi/intcreg"

// coalesce is the coalescing state of vector 0: its limits and its progress.
type coalesce struct {
	events uint8  // COALESCE_COUNT
	clocks uint32 `w:"24"` // COALESCE_TIME
	number uint8  // waiting events, saturating
	age    uint32 `w:"24"` // clocks since the first waiting event, up to COALESCE_TIME
}

// waiting reports whether a DONE event is due that MASK lets through.
func (m *Module) waiting() bool { return m.due&m.mask&intcreg.DoneAll != 0 }

// age advances the clocks that events have waited, or clears them if none waits.
func (m *Module) age() {
	if m.coalescing {
		if !m.waiting() {
			m.wait.number, m.wait.age = 0, 0
		} else if m.wait.age < m.wait.clocks {
			m.wait.age = (m.wait.age + 1) & intcreg.CoalesceTimeClocks
		}
	}
}

// count adds the events of this clock to the waiting events.
func (m *Module) count(set uint16) {
	if m.coalescing {
		if set&m.mask&intcreg.Done0 != 0 && m.wait.number != 0xff {
			m.wait.number++
		}
		if set&m.mask&intcreg.Done1 != 0 && m.wait.number != 0xff {
			m.wait.number++
		}
	}
}

// held returns the events that wait for more events.
func (m *Module) held() uint16 {
	var h uint16
	few := m.wait.events == 0 || m.wait.number < m.wait.events
	if m.coalescing && few && m.wait.age < m.wait.clocks {
		h = intcreg.DoneAll
	}
	return h
}

// accessCoalesce serves COALESCE_COUNT and COALESCE_TIME.
func (m *Module) accessCoalesce(off uint16, write bool, data uint32) {
	m.rsp.Hit = false
	if m.coalescing {
		m.rsp.Hit = true
		switch off {
		case intcreg.CoalesceCount:
			m.rsp.Data = uint32(m.wait.events)
			if write {
				m.wait.events = uint8(data)
			}
		case intcreg.CoalesceTime:
			m.rsp.Data = m.wait.clocks
			if write {
				m.wait.clocks = data & intcreg.CoalesceTimeClocks
			}
		default:
			m.rsp.Hit = false
		}
	}
}

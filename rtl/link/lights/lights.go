// Package lights is the lights of a board at the end of a serial line.
package lights

// dark is how many clocks after a byte the light of the line goes out: 84 ms at 25 MHz. A power
// of two needs no comparator.
const dark = 1 << 21

// Module has the lights 0 to 3: bytes arrive, a session, a node works, a node has stopped on a
// fault since the session began.
//
//	In      received, a byte arrives; up, a session is up; busy, a node works; faulted, a
//	        node has stopped on a fault
//	Out     LEDs, a bit for each light; the others are off
//	Timing  all but the light of the line change in the next clock
//	Reset   all are off
//	Order   none
//	Paths   none
//	Size    25 bits
//	Faults  none
//	Source  docs/boards.md
type Module struct {
	past  uint32 `w:"22"` // clocks since a byte arrived, to dark
	up    bool
	busy  bool
	fault bool
}

// New returns the lights after reset.
func New() Module { return Module{past: dark} }

// Reset turns all lights off.
func (m *Module) Reset() { m.past, m.up, m.busy, m.fault = dark, false, false, false }

// LEDs returns the lights.
func (m *Module) LEDs() uint8 {
	return bit(m.past&dark == 0) | bit(m.up)<<1 | bit(m.busy)<<2 | bit(m.fault)<<3
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(received, up, busy, faulted bool) {
	m.fault = (m.fault || faulted) && up
	m.up, m.busy = up, busy
	if received {
		m.past = 0
	} else if m.past&dark == 0 {
		m.past = (m.past + 1) & (2*dark - 1)
	}
}

package cp

import "github.com/hilgpu/hilgpu/rtl/abi/cpreg"

// Why the ring cannot be read.
const (
	ringGood = iota
	ringBase
	ringSize
	ringWptr
)

// checkRing looks at RING_BASE, which was read, and RING_SIZE.
func (m *Module) checkRing(base uint64) {
	m.readMask = m.ringMask()
	switch {
	case base&0xfff != 0:
		m.refuseRing(ringBase)
	case m.ringLog2 < cpreg.MinRingLog2 || m.ringLog2 > cpreg.MaxRingLog2:
		m.refuseRing(ringSize)
	case !m.starts(base):
		m.refuseRing(ringBase)
	default:
		m.state = stateRingEnd
	}
}

// checkRingEnd goes on if the ring is in memory and WPTR in the ring.
func (m *Module) checkRingEnd(inside bool) {
	switch {
	case !inside:
		m.refuseRing(ringBase)
	case m.strays():
		m.refuseRing(ringWptr)
	default:
		m.buffer = m.end
		m.rptr &= m.readMask
		m.fresh = false
		m.ringSeek = true
		m.state = stateNext
	}
}

// strays reports whether WPTR is outside of the ring.
func (m *Module) strays() bool { return m.beyond || m.wptr&^m.readMask != 0 }

// refuseRing keeps the ring's registers where a body is.
func (m *Module) refuseRing(why uint8) {
	m.ringBad = why & 3
	m.blame()
}

// blame begins to do so.
func (m *Module) blame() {
	m.n = 0
	m.run = false
	m.state = stateBlame
}

// blamed counts the halves that were kept, and then stops the node; there is no packet
// to blame.
func (m *Module) blamed() {
	bad := operandWord0
	switch m.ringBad {
	case ringBase:
		bad = operandPair2
	case ringSize:
		bad = operandLeft
	default:
	}
	if m.n == 2 {
		m.left = uint16(m.ringLog2)
		m.fault(cpreg.CauseRing, bad)
	}
	m.n = (m.n + 1) & 7
}

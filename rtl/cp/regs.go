package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// access serves a register access. FENCE belongs to the fence unit.
func (m *Module) access(r regbus.Req) {
	m.rsp = regbus.Rsp{}
	off := r.Off - m.base
	own := off <= cpreg.IBLeft && off != cpreg.Fence || off >= cpreg.Preempt && off <= cpreg.Progress
	if r.Op != regbus.None && own {
		m.rsp.Hit = true
		if r.Op == regbus.Write {
			if !m.resetting {
				m.write(off, r.Data)
			}
		} else {
			m.rsp.Data = m.read(off)
		}
	}
}

// read returns a register.
func (m *Module) read(off uint16) uint32 {
	var v uint32
	switch off {
	case cpreg.Ctl:
		v = bit(m.run, cpreg.CtlRun) | bit(m.resetting, cpreg.CtlReset) | bit(m.protect, cpreg.CtlProtect)
	case cpreg.Status:
		v = bit(m.idle(), cpreg.StatusIdle) | bit(m.cause != 0, cpreg.StatusFault) |
			uint32(m.state)<<4 | bit(m.inIB, cpreg.StatusInIB)
	case cpreg.RingLo:
		v = uint32(m.ringBase)
	case cpreg.RingHi:
		v = uint32(m.ringBase >> 32)
	case cpreg.RingSize:
		v = uint32(m.ringLog2)
	case cpreg.Rptr:
		v = m.rptr
	case cpreg.Wptr:
		v = m.wptr
	case cpreg.FaultInfo:
		v = uint32(m.cause)
	case cpreg.FaultLo:
		v = uint32(m.faultAddr)
	case cpreg.FaultHi:
		v = uint32(m.faultAddr >> 32)
	case cpreg.FaultOp:
		v = m.faultOp
	case cpreg.FaultBad:
		v = uint32(m.faultBad)
	case cpreg.FaultBadH:
		v = uint32(m.faultBad >> 32)
	case cpreg.Packets:
		v = m.packets
	case cpreg.IBLo:
		v = uint32(m.ibHere())
	case cpreg.IBHi:
		v = uint32(m.ibHere() >> 32)
	case cpreg.IBLeft:
		v = m.ibEnd - m.ibDone
	default:
		if m.preemption {
			v = m.preemptRegister(off)
		}
	}
	return v
}

// ibHere returns the GPU address of the next dword of the indirect buffer, or 0
// if there has been none since reset.
func (m *Module) ibHere() uint64 { return m.ibBase + uint64(m.ib.at)<<2 }

func bit(b bool, mask uint32) uint32 {
	var v uint32
	if b {
		v = mask
	}
	return v
}

// idle reports whether nothing is in flight and nothing is to be done.
func (m *Module) idle() bool {
	rest := m.state == stateNext || m.state == stateFault
	work := m.run && (m.inIB || m.rptr != m.wptr)
	return rest && !work && !m.resetting && m.quiet()
}

// write performs a register write.
func (m *Module) write(off uint16, v uint32) {
	switch off {
	case cpreg.Ctl:
		m.control(v)
	case cpreg.RingLo:
		if !m.run {
			m.ringBase = m.ringBase&^0xffffffff | uint64(v)
		}
	case cpreg.RingHi:
		if !m.run {
			m.ringBase = m.ringBase&0xffffffff | uint64(v)<<32
		}
	case cpreg.RingSize:
		if !m.run {
			m.ringLog2 = uint8(v) & cpreg.RingSizeLog2
		}
	case cpreg.Wptr:
		m.wptr = v
		m.ringBad = m.ringBad || m.run && v > m.ringMask()
	case cpreg.FaultInfo:
		if v == 0 && m.cause != cpreg.CauseNone {
			m.clearFault()
		}
	default:
		if m.preemption {
			m.writePreempt(off, v)
		}
	}
}

// control writes CTL. RUN that goes to 1 checks the ring and drops what was read
// ahead, for the host may have moved the ring.
func (m *Module) control(v uint32) {
	run := v&cpreg.CtlRun != 0
	m.protect = m.protection && v&cpreg.CtlProtect != 0
	if v&cpreg.CtlReset != 0 {
		m.resetting = true
		m.run = false
	} else if !run {
		m.run = false
	} else if !m.run && m.cause == cpreg.CauseNone {
		m.run = true
		if !m.inIB {
			m.ibEnd, m.ibDone = 0, 0
		}
		if !m.ringSeek.Valid { // a preemption goes back to RPTR in this clock
			m.ringSeek = seek{Valid: true, Stay: true}
		}
		good, _ := m.ringCheck()
		m.ringBad = !good
		m.readBase, m.readMask = m.ringBase, m.ringMask()
		m.rptr &= m.readMask
	}
}

// ringCheck reports whether the node can run with the ring's registers, and the
// register that is out of range.
func (m *Module) ringCheck() (good bool, bad uint64) {
	inside, _ := m.inRange(m.ringBase, m.ringBase, uint64(1)<<m.ringLog2)
	sized := m.ringLog2 >= cpreg.MinRingLog2 && m.ringLog2 <= cpreg.MaxRingLog2
	switch {
	case m.ringBase&0xfff != 0:
		bad = m.ringBase
	case !sized:
		bad = uint64(m.ringLog2)
	case !inside:
		bad = m.ringBase
	default:
		good = m.wptr <= m.ringMask()
		bad = uint64(m.wptr)
	}
	return good, bad
}

// ringFault stops the node; there is no packet to blame.
func (m *Module) ringFault() {
	_, bad := m.ringCheck()
	m.hdrAddr = m.ringBase
	m.hdr = 0
	m.fault(cpreg.CauseRing, bad)
}

// fault stops the node.
func (m *Module) fault(cause uint8, bad uint64) {
	m.cause = cause
	m.faultAddr = m.hdrAddr
	m.faultOp = m.hdr
	m.faultBad = bad
	m.run = false
	m.pulse = true
	m.state = stateFault
}

// clearFault makes the node ready to run from RPTR.
func (m *Module) clearFault() {
	m.cause = cpreg.CauseNone
	m.faultAddr, m.faultOp, m.faultBad = 0, 0, 0
	m.ringBad, m.readErr, m.writeErr = false, false, false
	m.inIB = false
	m.startFresh()
	m.ibBase, m.ibEnd, m.ibDone = 0, 0, 0
	m.ringSeek = seek{Valid: true, Pos: m.rptr}
	m.ibSeek = seek{Valid: true}
	m.state = stateNext
}

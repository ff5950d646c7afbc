package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// access answers a register access, a read with data, and performs a write unless
// a reset is under way. FENCE belongs to the fence unit.
func (m *Module) access(r regbus.Req, data uint32, resetting bool) {
	m.rsp = regbus.Rsp{}
	off := r.Off - m.base
	own := off <= cpreg.IBLeft && off != cpreg.Fence || off >= cpreg.Preempt && off <= cpreg.Progress
	if r.Op != regbus.None && own {
		m.rsp.Hit = true
		if r.Op != regbus.Write {
			m.rsp.Data = data
		} else if !resetting {
			m.write(off, r.Data)
		}
	}
}

// read returns a register; named is the operand that a fault names.
func (m *Module) read(off uint16, named uint64) uint32 {
	var v uint32
	switch off {
	case cpreg.Ctl:
		v = bit(m.run, cpreg.CtlRun) | bit(m.resetting, cpreg.CtlReset) | bit(m.protect, cpreg.CtlProtect)
	case cpreg.Status:
		v = bit(m.idle(), cpreg.StatusIdle) | bit(m.cause != 0, cpreg.StatusFault) |
			uint32(m.state)<<4 | bit(m.inIB, cpreg.StatusInIB)
	case cpreg.RingLo:
		v = m.ringLo
	case cpreg.RingHi:
		v = m.ringHi
	case cpreg.RingSize:
		v = uint32(m.ringLog2)
	case cpreg.Rptr:
		v = m.rptr
	case cpreg.Wptr:
		v = m.wptr
	case cpreg.FaultInfo:
		v = uint32(m.cause)
	case cpreg.FaultOp:
		if m.cause != cpreg.CauseNone {
			v = m.hdr
		}
	case cpreg.FaultLo, cpreg.FaultBad, cpreg.IBLo:
		v = uint32(m.wide(off, named))
	case cpreg.FaultHi, cpreg.FaultBadH, cpreg.IBHi:
		v = uint32(m.wide(off, named) >> 32)
	case cpreg.Packets:
		v = m.packets
	case cpreg.IBLeft:
		v = m.ibEnd - m.ibDone
	default:
		if m.preemption {
			v = m.preemptRegister(off)
		}
	}
	return v
}

// wide returns the address or operand that a register has a half of.
func (m *Module) wide(off uint16, named uint64) uint64 {
	v := m.located(off)
	bad := off == cpreg.FaultBad || off == cpreg.FaultBadH
	ib := off == cpreg.IBLo || off == cpreg.IBHi
	switch {
	case !ib && m.cause == cpreg.CauseNone:
		v = 0
	case bad && m.bad != operandNext:
		v = named
	case !ib && !bad && m.cause == cpreg.CauseRing:
		v = join(m.b3, m.b2)
	default:
	}
	return v
}

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
			m.ringLo = v
		}
	case cpreg.RingHi:
		if !m.run {
			m.ringHi = v
		}
	case cpreg.RingSize:
		if !m.run {
			m.ringLog2 = uint8(v) & cpreg.RingSizeLog2
		}
	case cpreg.Wptr:
		m.wptr = v
		if m.ringBad == operandNone && m.run && v&^m.ringMask() != 0 {
			m.ringBad = operandWptr
		}
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
		m.ringBad = m.ringCheck()
		m.readBase, m.readMask = m.within(join(m.ringHi, m.ringLo)), m.ringMask()
		m.rptr &= m.readMask
	}
}

// ringCheck returns the register of the ring with which the node cannot run, none
// if it can.
func (m *Module) ringCheck() operand {
	base := join(m.ringHi, m.ringLo)
	_, inside := m.inRange(base, base, uint64(1)<<m.ringLog2)
	sized := m.ringLog2 >= cpreg.MinRingLog2 && m.ringLog2 <= cpreg.MaxRingLog2
	var bad operand
	switch {
	case base&0xfff != 0:
		bad = operandRingBase
	case !sized:
		bad = operandRingSize
	case !inside:
		bad = operandRingBase
	case m.wptr&^m.ringMask() != 0:
		bad = operandWptr
	default:
	}
	return bad
}

// ringFault stops the node; there is no packet to blame.
func (m *Module) ringFault() {
	m.hdr = 0
	m.b2, m.b3 = m.ringLo, m.ringHi
	bad := operandWord0
	switch m.ringBad {
	case operandRingBase:
		bad = operandPair2
	case operandRingSize:
		m.b0 = uint32(m.ringLog2)
	default:
		m.b0 = m.wptr
	}
	m.fault(cpreg.CauseRing, bad)
}

// fault stops the node, which keeps the packet in work and the operand that is
// named.
func (m *Module) fault(cause uint8, bad operand) {
	m.cause = cause
	m.bad = bad
	m.run = false
	m.pulse = true
	m.state = stateFault
}

// clearFault makes the node ready to run from RPTR.
func (m *Module) clearFault() {
	m.cause = cpreg.CauseNone
	m.bad, m.ringBad = operandNone, operandNone
	m.readErr, m.writeErr = false, false
	m.inIB = false
	m.startFresh()
	m.ibBase, m.ibEnd, m.ibDone = 0, 0, 0
	m.ringSeek = seek{Valid: true, Pos: m.rptr}
	m.ibSeek = seek{Valid: true}
	m.state = stateNext
}

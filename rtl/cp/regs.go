package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// access answers a register access, a read with data or with what is looked at in the
// file, and performs a write unless a reset is under way, or puts it off until later:
// behind a reset, and a write to the file in a clock in which a completion arrives.
// FENCE belongs to the fence unit.
func (m *Module) access(r regbus.Req, off uint16, data uint32, looks look, later, resetting bool) {
	m.rsp = regbus.Rsp{}
	m.filed = looks.Valid
	if r.Op != regbus.None && owns(off) {
		write := r.Op == regbus.Write
		m.rsp.Hit = true
		m.rsp.Retry = later
		if !write {
			m.rsp.Data = data
		} else if !resetting && !later {
			m.write(off, r.Data)
		}
	}
}

// owns reports whether there is a register of the command processor.
func owns(off uint16) bool {
	return off <= cpreg.IBLeft && off != cpreg.Fence || off >= cpreg.Preempt && off <= cpreg.Progress
}

// looks returns where a register that is read is in the file.
func (m *Module) looks(off uint16, op regbus.Op) look {
	var l look
	fault := m.state == stateFault
	switch off {
	case cpreg.RingLo, cpreg.RingHi:
		l = look{Valid: true, High: off == cpreg.RingHi, At: place(slotRegs, wordRing)}
	case cpreg.Wptr:
		l = look{Valid: true, At: place(slotRegs, wordWptr)}
	case cpreg.FaultLo, cpreg.FaultHi:
		l = look{Valid: fault && m.cause == cpreg.CauseRing, High: off == cpreg.FaultHi, At: place(m.body, 1)}
	case cpreg.FaultOp:
		none := m.cause == cpreg.CauseRing || m.bad == operandStart
		l = look{Valid: fault && !none, At: place(slotRegs, wordHeader)}
	case cpreg.FaultBad, cpreg.FaultBadH:
		l = m.refusal(off == cpreg.FaultBadH)
		l.Valid = l.Valid && fault
	default:
	}
	l.Valid = l.Valid && op == regbus.Read && m.state != stateClear
	return l
}

// read returns a register that is not in the file; addr is the address that it names,
// and left the dwords behind that.
// What cannot be read together is put together by OR, which is less than a choice.
func (m *Module) read(off uint16, addr uint64, left uint32) uint32 {
	fault := m.state == stateFault
	at, bad := fault && m.cause != cpreg.CauseRing, fault && (m.bad == operandNext || m.bad == operandStart)
	ends := fault && m.bad == operandEnd
	low := off == cpreg.IBLo || at && off == cpreg.FaultLo || bad && off == cpreg.FaultBad
	high := off == cpreg.IBHi || at && off == cpreg.FaultHi || bad && off == cpreg.FaultBadH
	v := only32(low, uint32(addr)) | only32(high, uint32(addr>>32)) |
		only32(ends && off == cpreg.FaultBad, uint32(m.end)) | only32(ends && off == cpreg.FaultBadH, uint32(m.end>>32)) |
		only32(off == cpreg.Packets, m.packets) | only32(off == cpreg.IBLeft, left) |
		only32(off == cpreg.Rptr, m.rptr) | only32(off == cpreg.RingSize, uint32(m.ringLog2)) |
		only32(off == cpreg.Ctl, m.ctl()) | only32(off == cpreg.Status, m.status()) |
		only32(fault && off == cpreg.FaultInfo, uint32(m.cause)) |
		only32(fault && off == cpreg.FaultBad, m.small())
	if m.protection || m.contexts {
		v |= only32(fault && off == cpreg.FaultBad, uint32(m.large())) | only32(fault && off == cpreg.FaultBadH, uint32(m.large()>>32))
	}
	if m.preemption {
		v |= m.preemptRegister(off)
	}
	return v
}

// only32 returns v, or 0.
func only32(on bool, v uint32) uint32 {
	if !on {
		v = 0
	}
	return v
}

// ctl returns the register CTL.
func (m *Module) ctl() uint32 {
	return bit(m.run, cpreg.CtlRun) | bit(m.resetting, cpreg.CtlReset) | bit(m.protect, cpreg.CtlProtect)
}

// status returns the register STATUS.
func (m *Module) status() uint32 {
	return bit(m.idle(), cpreg.StatusIdle) | bit(m.state == stateFault, cpreg.StatusFault) |
		uint32(m.state)<<4 | bit(m.inIB, cpreg.StatusInIB)
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
	rest := m.state == stateNext || m.state == stateFault || m.state == stateClear
	work := m.run && (m.inIB || m.rptr != m.wptr)
	return rest && !work && !m.resetting && m.quiet()
}

// write performs a register write; what is in the file is written there.
func (m *Module) write(off uint16, v uint32) {
	switch off {
	case cpreg.Ctl:
		m.control(v)
	case cpreg.RingSize:
		if !m.run {
			m.ringLog2 = uint8(v) & cpreg.RingSizeLog2
		}
	case cpreg.Wptr:
		m.wptr = v & 0x3ffff
		m.beyond = v&^0x3ffff != 0
	case cpreg.FaultInfo:
		if v == 0 && m.state == stateFault {
			m.clearFault()
		}
	default:
		if m.preemption {
			m.writePreempt(off, v)
		}
	}
}

// control writes CTL. When RUN goes to 1 the ring is to be checked, and what was read
// ahead dropped, for the host may have moved the ring.
func (m *Module) control(v uint32) {
	run := v&cpreg.CtlRun != 0
	m.protect = m.protection && v&cpreg.CtlProtect != 0
	if v&cpreg.CtlReset != 0 {
		m.resetting = true
		m.run = false
	} else if !run {
		m.run = false
	} else if !m.run && m.state != stateFault {
		m.run, m.fresh = true, true
		m.kept = 0
		if !m.inIB {
			m.ibEnd, m.ibDone = 0, 0
		}
	}
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
	m.ringBad = ringGood
	m.readErr, m.writeErr = false, false
	m.inIB = false
	m.startFresh()
	m.ibEnd, m.ibDone = 0, 0
	m.state = stateNext
}

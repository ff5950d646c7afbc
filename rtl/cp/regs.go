package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// regs is the host's side of the node: control, preemption, the register bus and pulses. The
// ring's registers are in ring, and those kept in RAM are in the file.
type regs struct {
	base    uint16   // offset of the registers in BAR0
	caps    caps.Set // capabilities of the device
	watched bool     // Retired and Took are used

	run       bool
	protect   bool
	resetting bool
	packets   uint32 // packets retired
	rsp       regbus.Rsp
	filed     bool // the answer is the word read from the file
	fault     bool // pulse: the node has stopped on a fault
	retired   bool // pulse: a packet has retired
	took      bool // pulse: a dword was taken

	asked     bool // a preemption is requested
	preemptID uint32
	preempted uint32
	progress  uint32 `w:"21"`
	yielded   bool   // pulse: the node has stopped for a preemption
}

// Reset sets the registers to their power-on values.
func (r *regs) Reset() { *r = regs{base: r.base, caps: r.caps, watched: r.watched} }

// endPulses ends the pulses of the previous clock. took is the next value of the took pulse.
func (r *regs) endPulses(took bool) {
	r.fault, r.yielded, r.retired = false, false, false
	r.took = took && r.watched
}

// ctl returns CTL.
func (r *regs) ctl() uint32 {
	return bit(r.run, cpreg.CtlRun) | bit(r.resetting, cpreg.CtlReset) | bit(r.protect, cpreg.CtlProtect)
}

// interrupts reports whether the node must stop for a preemption.
func (r *regs) interrupts() bool { return r.caps.Has(caps.Preemption) && r.asked }

// retire counts a retired packet.
func (r *regs) retire() {
	r.packets++
	r.retired = r.watched
}

// preemption returns a register of the preemption, or 0 if off is none of them.
func (r *regs) preemption(off uint16) uint32 {
	return only32(off == cpreg.Preempt, r.preemptID) | only32(off == cpreg.Preempted, r.preempted) |
		only32(off == cpreg.Progress, r.progress)
}

// writePreemption writes a register of the preemption.
func (r *regs) writePreemption(off uint16, v uint32) {
	switch off {
	case cpreg.Preempt:
		r.preemptID = v
		r.asked = true
	case cpreg.Progress:
		r.progress = v & cpreg.ProgressDone
	default:
	}
}

// access answers a register access: a read with data, or with the word of the file at from.
// It performs a write unless a reset is in progress. If later is set, the access is retried:
// during the clear after a reset, and for a write to the file in a clock in which a
// completion arrives. FENCE belongs to the fence unit.
func (m *Module) access(bus regbus.Req, off uint16, data uint32, from look, later, resetting bool) {
	m.regs.rsp = regbus.Rsp{}
	m.regs.filed = from.Valid
	if bus.Op != regbus.None && owns(off) {
		write := bus.Op == regbus.Write
		m.regs.rsp.Hit = true
		m.regs.rsp.Retry = later
		if !write {
			m.regs.rsp.Data = data
		} else if !resetting && !later {
			m.write(off, bus.Data)
		}
	}
}

// owned has a bit for each dword of the block up to PROGRESS, set if it is a register of the
// command processor. Comparisons would take a carry chain each.
const owned uint32 = (1<<(cpreg.Progress/4+1) - 1) &^ (1<<(cpreg.Fence/4) | 1<<(cpreg.LineLo/4) | 1<<(cpreg.LineHi/4))

// owns reports whether off is a register of the command processor.
func owns(off uint16) bool {
	return off>>7 == 0 && owned>>(off>>2&0x1f)&1 != 0
}

// looks returns the position in the file of a register that is read.
func (m *Module) looks(off uint16, op regbus.Op) look {
	var l look
	state, cause, refused := m.decode.state, m.decode.cause, m.decode.bad
	stopped := state == decodeFault
	switch off {
	case cpreg.RingLo, cpreg.RingHi:
		l = look{Valid: true, High: off == cpreg.RingHi, At: place(slotRegs, wordRing)}
	case cpreg.Wptr:
		l = look{Valid: true, At: place(slotRegs, wordWptr)}
	case cpreg.FaultLo, cpreg.FaultHi:
		l = look{Valid: stopped && cause == cpreg.CauseRing, High: off == cpreg.FaultHi, At: place(m.file.slotOfBody(), 1)}
	case cpreg.FaultOp:
		none := cause == cpreg.CauseRing || refused == operandStart
		l = look{Valid: stopped && !none, High: m.file.second, At: place(slotRegs, wordHeader)}
	case cpreg.FaultBad, cpreg.FaultBadH:
		l = m.file.operandLook(refused, off == cpreg.FaultBadH)
		l.Valid = l.Valid && stopped
	default:
	}
	l.Valid = l.Valid && op == regbus.Read && state != decodeClear
	return l
}

// read returns a register that is not in the file. addr is the address that it names, and
// left the number of dwords after that address. The registers are combined with OR, which
// takes fewer cells than a multiplexer.
func (m *Module) read(off uint16, addr uint64, left uint32) uint32 {
	cause, refused, row := m.decode.cause, m.decode.bad, m.walk.row
	stopped := m.decode.state == decodeFault
	at, bad := stopped && cause != cpreg.CauseRing, stopped && (refused == operandNext || refused == operandStart)
	outside := m.regs.caps.Has(caps.Protection) && (refused == operandSourceAt || refused == operandDestAt)
	ends := stopped && (refused == operandEnd || outside)
	low := off == cpreg.IBLo || at && off == cpreg.FaultLo || bad && off == cpreg.FaultBad
	high := off == cpreg.IBHi || at && off == cpreg.FaultHi || bad && off == cpreg.FaultBadH
	v := only32(low, uint32(addr)) | only32(high, uint32(addr>>32)) |
		only32(ends && off == cpreg.FaultBad, uint32(row)) | only32(ends && off == cpreg.FaultBadH, uint32(row>>32)) |
		only32(off == cpreg.Packets, m.regs.packets) | only32(off == cpreg.IBLeft, left) |
		only32(off == cpreg.Rptr, m.ring.rptr) | only32(off == cpreg.RingSize, uint32(m.ring.log2)) |
		only32(off == cpreg.Ctl, m.regs.ctl()) | only32(off == cpreg.Status, m.status()) |
		only32(stopped && off == cpreg.FaultInfo, uint32(cause)) |
		only32(stopped && off == cpreg.FaultBad, m.small())
	if m.regs.caps.Has(caps.Preemption) {
		v |= m.regs.preemption(off)
	}
	return v
}

// only32 returns v if on is set, otherwise 0.
func only32(on bool, v uint32) uint32 {
	if !on {
		v = 0
	}
	return v
}

// bit returns mask if b is set, otherwise 0.
func bit(b bool, mask uint32) uint32 {
	var v uint32
	if b {
		v = mask
	}
	return v
}

// status returns STATUS.
func (m *Module) status() uint32 {
	return bit(m.idle(), cpreg.StatusIdle) | bit(m.decode.state == decodeFault, cpreg.StatusFault) |
		uint32(m.decode.state)<<4 | bit(m.ring.inIB, cpreg.StatusInIB) |
		uint32(m.ring.state)<<10 | uint32(m.walk.state)<<13 | uint32(m.issue.state)<<17 | uint32(m.sync.state)<<20
}

// idle reports whether nothing is in flight and there is nothing to do.
func (m *Module) idle() bool {
	d := m.decode.state
	rest := d == decodeNext || d == decodeFault || d == decodeClear
	work := m.regs.run && (m.ring.inIB || m.ring.rptr != m.ring.wptr)
	return rest && !work && !m.regs.resetting && m.empty()
}

// write performs a register write; registers kept in the file are written there.
func (m *Module) write(off uint16, v uint32) {
	switch off {
	case cpreg.Ctl:
		m.control(v)
	case cpreg.RingSize:
		if !m.regs.run {
			m.ring.log2 = uint8(v) & cpreg.RingSizeLog2
		}
	case cpreg.Wptr:
		m.ring.setWptr(v)
	case cpreg.FaultInfo:
		if v == 0 && m.decode.state == decodeFault {
			m.clearFault()
		}
	default:
		if m.regs.caps.Has(caps.Preemption) {
			m.regs.writePreemption(off, v)
		}
	}
}

// control writes CTL. When RUN changes to 1, the ring is checked again and prefetched dwords
// are dropped, because the host may have moved the ring.
func (m *Module) control(v uint32) {
	run := v&cpreg.CtlRun != 0
	m.regs.protect = m.regs.caps.Has(caps.Protection) && v&cpreg.CtlProtect != 0
	if v&cpreg.CtlReset != 0 {
		m.regs.resetting = true
		m.regs.run = false
	} else if !run {
		m.regs.run = false
	} else if !m.regs.run && m.decode.state != decodeFault {
		m.regs.run = true
		m.ring.restart()
	}
}

// clearFault makes the node ready to run from RPTR.
func (m *Module) clearFault() {
	m.ring.leaveFault()
	m.issue.readErr, m.issue.writeErr, m.sync.readErr = false, false, false
	if m.issue.caps.Has(caps.GART) {
		m.issue.pageErr = false
	}
	m.issue.startPacket()
	m.decode.state = decodeNext
}

package cp

// Design note: a preempted node forgets the current packet, except how much of it the
// descriptors have done, and leaves the indirect buffer. So the node keeps nothing that
// could disturb another context. To resume, the host executes the INDIRECT packet again,
// from the position that the registers name: the packet is fetched and checked again and
// starts after the part that was done. Outside an indirect buffer there is nothing to
// resume: IB_LEFT is then 0, and PROGRESS is kept for the INDIRECT that it belongs to. The
// registers of an abandoned indirect buffer are kept until the node runs again, because the
// host may read them late.

// yields reports whether the node stops for a preemption in this clock: between packets,
// except at the end of an indirect buffer; while waiting for a fence; or stopped on a fault.
func (m *Module) yields(seeks bool) bool {
	next := m.decode.state == decodeNext && !seeks && !m.ring.ended() && !m.trail.active
	rests := next || m.decode.state == decodeFault || m.sync.state == syncWait
	return m.regs.interrupts() && rests
}

// yield stops the node for a preemption.
func (m *Module) yield() {
	m.regs.asked = false
	m.regs.preempted = m.regs.preemptID
	m.regs.yielded = true
	if m.decode.state != decodeFault {
		if m.ring.inIB {
			m.regs.progress = m.issue.before()
		}
		m.issue.startPacket()
		m.regs.run = false
		m.ring.inIB = false
		m.sync.state = syncIdle
		m.decode.state = decodeNext
	}
}

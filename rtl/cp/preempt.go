package cp

// Design note: a node that is preempted forgets the packet in work, except how much of it its
// descriptors have done, and leaves the indirect buffer. So nothing of it gets
// in the way of another context, and to resume is to execute the INDIRECT packet
// once more, from the place that the registers name: the packet is fetched and
// checked again and starts after the part that was done. Outside an indirect buffer
// there is nothing to resume: IB_LEFT is 0 then, and PROGRESS waits for the INDIRECT
// that it belongs to. The registers of an indirect buffer that was left are kept until the node
// runs again: the host may be late to read them.

// yields reports whether the node stops for a preemption in this clock: between packets,
// which the end of an indirect buffer is not, waiting for a fence, or stopped on a fault.
func (m *Module) yields(seeks bool) bool {
	next := m.decode.state == decodeNext && !seeks && !m.ring.ended()
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

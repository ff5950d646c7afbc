package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// queues describes the queues of a node: its work, and the last fault record of the firmware.
func (d *dump) queues(node int, r *ring.Ring) {
	q := d.adapter.queues
	w := &q.nodes[node]
	d.line("CP%d: belongs to the firmware; last submitted fence %d, last reported %d", node, w.job(w.next-1).id, w.completed)
	if err := r.Err(); err != nil {
		d.line("CP%d: the work has failed: %v", node, err)
	}
	if w.preempting {
		d.line("CP%d: its queues were asked to stop, and preemption fence %d is due", node, w.preemption)
	}
	if q.err != nil {
		d.line("miniport: messages to the firmware fail: %v", q.err)
	}
	word := func(off uint32) uint32 { return le.Uint32(q.mem.Bytes[off:]) }
	for i := range uint32(fwabi.Queues) {
		if o := &q.all[i]; o.exists && int(o.node) == node {
			d.line("CP%d: queue %d of %d contexts: tail %d, head %d, progress %#x, resumed %d times", node, i, o.contexts, o.tail,
				word(fwabi.AreaQueueHeads+4*i), le.Uint64(q.mem.Bytes[progressAt+progressBytes*i:]), word(fwabi.AreaQueueResumes+4*i))
		}
	}
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		state := "waits for earlier work"
		switch {
		case j.done:
			state = "complete"
		case j.value != 0:
			state = "in the queue"
		}
		if j.resumes {
			state += ", continues after a preemption"
		}
		d.line("CP%d: fence %d in queue %d: %d dwords at %#x, %s", node, j.id, j.queue, j.dwords, j.addr, state)
	}
	if w.reported == w.next {
		d.line("CP%d: all submissions have completed", node)
	}
	at := uint32(fwabi.AreaFaults + node*fwabi.FaultBytes)
	if word(at) == 0 {
		return
	}
	d.line("CP%d: the last fault record of the firmware", node)
	for i, f := range fwabi.FaultRecord {
		d.line("   %s %#x", f.Name, word(at+4*uint32(i)))
	}
}

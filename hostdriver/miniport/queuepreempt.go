package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// preempt begins a preemption of the queues of a node: they get no more work, and complete
// what they have. It runs at DIRQL. It reports whether the progress of the node is known.
//
// The requests of the firmware do not fit: PREEMPT keeps the place of a queue in the memory of
// the firmware, where it cannot be patched, a held queue cannot forget its entries, and the
// answer to a request must be awaited, which DxgkDdiPreemptCommand may not.
func (q *queues) preempt(t *ddi.Thread, arg kmddi.PreemptCommand, r *ring.Ring) bool {
	a := q.adapter
	if a.flush(t) != ddi.StatusSuccess {
		return false
	}
	moved, ok := q.advance(t, arg.NodeOrdinal, r)
	if !ok || r.Err() != nil {
		return ok
	}
	w := &q.nodes[arg.NodeOrdinal]
	a.nodes[arg.NodeOrdinal].preemption = arg.PreemptionFenceID
	w.preempting = true
	if q.yield(t, arg.NodeOrdinal) || moved {
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
	}
	return true
}

// yield ends the preemption of a node that is due when its queues have no more work, and reports
// it. It runs at DIRQL.
func (q *queues) yield(t *ddi.Thread, node uint32) bool {
	w := &q.nodes[node]
	if !w.preempting || w.working() || q.adapter.nodes[node].resetting {
		return false
	}
	w.preempting = false
	w.drop()
	q.adapter.notifyPreempted(t, node, w.completed)
	return true
}

// working reports whether a queue has work.
func (w *work) working() bool {
	for i := w.reported; i != w.next; i++ {
		if j := w.job(i); j.value != 0 && !j.done {
			return true
		}
	}
	return false
}

// drop forgets the jobs that are not reported. The private data of their buffers keeps that they were executed
// before an earlier one, so that only their fence is submitted again, or that they have failed.
func (w *work) drop() {
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		b := j.buffer
		stops := w.stops(j)
		if stops {
			w.stopped &^= 1 << j.queue // it has not begun what follows
		}
		if j.done {
			place{stopped: true, start: b.start, end: b.end, at: b.end}.put(b.private)
		} else if j.failed || stops {
			place{stopped: true, failed: true, start: b.start, end: b.end, at: b.start}.put(b.private)
		}
		*j = job{}
	}
	w.next = w.reported
}

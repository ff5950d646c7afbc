package miniport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// preempt asks the firmware to stop a node, or reports the preemption if its queues have no work.
// It runs at DIRQL and reads no register. It reports whether the progress of the node is known.
//
// There is one answer to each doorbell, and no second one is rung before it has arrived: a second
// request only replaces the first one.
func (q *queues) preempt(t *ddi.Thread, arg kmddi.PreemptCommand, r *ring.Ring) bool {
	a, node := q.adapter, arg.NodeOrdinal
	moved, ok := q.advance(t, node, r)
	if !ok || r.Err() != nil {
		return ok
	}
	w := &q.nodes[node]
	w.preempting, w.preemption = true, arg.PreemptionFenceID
	switch {
	case a.nodes[node].resetting:
	case w.yielding || w.working():
		q.yield(t, node, r)
	default:
		q.preempted(t, node)
		moved = true
	}
	if moved {
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
	}
	return true
}

// yield asks the firmware to stop the queues of a node, unless it has been asked or they have no work. It runs at DIRQL.
func (q *queues) yield(t *ddi.Thread, node uint32, r *ring.Ring) {
	w := &q.nodes[node]
	if w.yielding || !w.working() {
		return
	}
	w.yielding = true
	if s := q.adapter.regs.WriteRegister(t, mcureg.Base+mcureg.Doorbell, fwabi.BellYield<<node); s != ddi.StatusSuccess {
		r.Fail(fmt.Errorf("%w: MCU.DOORBELL: %w", ring.ErrRegister, s))
	}
}

// preempted reports the preemption of a node that is due, after its queues have stopped. It runs at DIRQL.
func (q *queues) preempted(t *ddi.Thread, node uint32) {
	w := &q.nodes[node]
	w.preempting, w.toBeAlone = false, aloneJobs
	w.drop()
	q.adapter.notifyPreempted(t, node, w.preemption, w.completed)
}

// yielded handles the answer to the doorbell of a preemption: the queues of the node have stopped, and have
// dropped what is not complete. It runs at DIRQL. places has a bit for each queue that was stopped inside an entry.
//
// A notice is ignored if no doorbell waits for an answer, or if a queue has entries that are neither complete nor
// dropped. If the ring has failed, the reset of the node takes the places.
func (q *queues) yielded(t *ddi.Thread, node, places uint32) {
	a := q.adapter
	r, ok := a.ring(node)
	if !ok || !q.nodes[node].yielding {
		return
	}
	q.advance(t, node, r)
	w := &q.nodes[node]
	if !q.dropped(w) {
		return
	}
	w.yielding = false
	for i := range uint32(fwabi.Queues) {
		if places>>i&1 == 0 {
			continue
		}
		if err := q.keep(w, i); err != nil {
			r.Fail(err)
		}
	}
	if r.Err() != nil || a.nodes[node].resetting {
		w.withdraw()
		return
	}
	q.preempted(t, node)
}

// dropped reports whether the queues with jobs that are not complete have no entries. The entries of a queue that
// has stopped on a fault stay.
func (q *queues) dropped(w *work) bool {
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		if j.done || j.value == 0 || w.stops(j) {
			continue
		}
		if le.Uint32(q.mem.Bytes[fwabi.AreaQueueHeads+4*j.queue:]) != q.all[j.queue].tail {
			return false
		}
	}
	return true
}

// keep writes the place of a queue to the private data of the job in which it has stopped: the first one
// that is not complete. If the place is not in that job, the job cannot continue.
func (q *queues) keep(w *work, number uint32) error {
	at := q.mem.Bytes[fwabi.AreaQueuePlaces+fwabi.PlaceBytes*number:]
	addr := le.Uint64(at[4*fwabi.PlaceAddrLo:])
	left, progress := le.Uint32(at[4*fwabi.PlaceLeft:]), le.Uint32(at[4*fwabi.PlaceProgress:])
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		if j.queue != number || j.value == 0 || j.done {
			continue
		}
		p, err := j.buffer.stoppedAt(addr, left, progress)
		switch {
		case err != nil:
		case addr < j.addr:
			err = fmt.Errorf("%w: stopped at %#x, before %#x, where it continued", errPlace, addr, j.addr)
		case !p.put(j.buffer.private):
			err = fmt.Errorf("%w: no private data", errPlace)
		}
		if err != nil {
			j.failed = true
			return fmt.Errorf("queue %d: fence %d: %w", number, j.id, err)
		}
		return nil
	}
	return fmt.Errorf("%w: queue %d stopped at %#x, but has no work", errPlace, number, addr)
}

// withdraw notes that no job is in its queue, but for those of queues that have stopped on a fault.
func (w *work) withdraw() {
	w.withdrawn = true
	for i := w.reported; i != w.next; i++ {
		if j := w.job(i); !j.done && !w.stops(j) {
			j.value = 0
		}
	}
}

// unanswered reports the preemptions whose answers are lost with a firmware that was loaded again. The queues have
// no work. It runs at PASSIVE_LEVEL, and the DPC follows.
func (q *queues) unanswered(t *ddi.Thread) error {
	return q.atDIRQL(t, func(t *ddi.Thread) {
		for node := range q.nodes {
			if w := &q.nodes[node]; w.yielding {
				w.yielding = false
				q.preempted(t, uint32(node))
			}
		}
	})
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
// before an earlier one, so that only their fence is submitted again, or that they have failed. A job that was stopped
// inside has its place there already, and one that has not begun keeps what it has.
func (w *work) drop() {
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		b := j.buffer
		stops := w.stops(j)
		if stops {
			w.stopped &^= 1 << j.queue // it has not begun what follows
		}
		kept, _ := takePlace(b.private)
		switch {
		case kept.after(b.end):
		case j.done:
			place{stopped: true, start: b.start, end: b.end, at: b.end}.put(b.private)
		case j.failed || stops:
			place{stopped: true, failed: true, start: b.start, end: b.end, at: b.start}.put(b.private)
		}
		*j = job{}
	}
	w.next = w.reported
}

package miniport

import (
	"errors"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// settlePolls is how often a reset looks whether the queues that have not stopped have completed their work, before it
// stops them, before it ends the work that the node does then, and before it fails.
const settlePolls = 1 << 14

// reset resets a node, and makes its stopped queues anew: those that have stopped on a fault, and the one
// whose work the node does, unless another one has stopped. The firmware continues the other queues from their
// places. They complete what they have, and what comes before the first work in which a queue has stopped, so that
// last is the only fence that was aborted in the middle. The work of other stopped queues fails when the kernel
// submits it again: what it has done must not be done twice. It runs at PASSIVE_LEVEL.
//
// Work that takes too long is stopped as by a preemption, and the kernel submits it again from its place.
//
// A preemption that the firmware has not answered ends first: its answer drops the entries of the other queues too, which
// have no later work then. If a job before the aborted one was dropped, nothing is aborted. The kernel then submits all
// jobs again, each from its place, and the one that has failed fails again in its turn, when those before it complete.
func (q *queues) reset(t *ddi.Thread, node uint32, r *ring.Ring) (last uint32, s ddi.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &q.nodes[node]
	if s := q.look(t, node, r, func() { q.adapter.nodes[node].resetting = true }); s != ddi.StatusSuccess {
		return 0, s
	}
	var err error
	if _, ok := w.aborted(); !ok && w.stopped == 0 && w.working() {
		err = q.interrupt(t, node)
	}
	if err == nil {
		err = q.settle(t, node, r)
	}
	for i := uint32(0); i < fwabi.Queues && err == nil; i++ {
		if w.stopped>>i&1 != 0 {
			err = q.renew(t, i)
		}
	}
	if err != nil {
		q.err = err
		r.Fail(err)
		return 0, statusOf(err)
	}
	return q.forget(t, node, r)
}

// interrupt ends the work that a node does. The queue that has it stops.
func (q *queues) interrupt(t *ddi.Thread, node uint32) error {
	err := q.call(t, fwabi.OpReset, node)
	q.notices(t)
	return err
}

// statusOf returns the status of a failed access, or that of a firmware that does not do its work.
func statusOf(err error) ddi.Status {
	var lost statusError
	if errors.As(err, &lost) {
		return ddi.Status(lost)
	}
	return ddi.StatusIOTimeout
}

// look notes what has completed and which queue has stopped, after first.
func (q *queues) look(t *ddi.Thread, node uint32, r *ring.Ring, first func()) ddi.Status {
	a := q.adapter
	read, s := a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		first()
		return q.query(t, node, r)
	})
	if s == ddi.StatusSuccess && !read {
		s = ddi.StatusIODeviceError
	}
	return s
}

// settle waits until all work that a node must complete is complete. If that takes too long, it asks the firmware to
// stop the queues, and if that takes too long, it ends the work that the node does, once.
func (q *queues) settle(t *ddi.Thread, node uint32, r *ring.Ring) error {
	for n := range 3 * settlePolls {
		var err error
		switch n {
		case settlePolls:
			err = q.atDIRQL(t, func(t *ddi.Thread) { q.yield(t, node, r) })
		case 2 * settlePolls:
			err = q.interrupt(t, node)
		}
		if err != nil {
			return err
		}
		if q.settles(t, node, r) {
			return nil
		}
		if s := q.look(t, node, r, func() {}); s != ddi.StatusSuccess {
			return statusError(s)
		}
	}
	return statusError(ddi.StatusIOTimeout)
}

// settles gives the queues what must complete and may begin. It reports whether all of it is complete: the jobs
// before the one that is aborted, and after it those that queues have which have not stopped. After the answer to a
// preemption the queues have no work.
func (q *queues) settles(t *ddi.Thread, node uint32, r *ring.Ring) bool {
	w := &q.nodes[node]
	if w.yielding || w.withdrawn {
		return !w.yielding
	}
	end, ok := w.aborted()
	if !ok {
		end = w.reported
		if w.stopped != 0 {
			end = w.next
		}
	}
	all, before := true, true
	for i := w.reported; i != w.next; i++ {
		before = before && i != end
		j := w.job(i)
		if before && j.value == 0 && !w.blocked(i) {
			q.enqueue(t, r, j)
		}
		all = all && (j.done || !before && (j.value == 0 || w.stops(j)))
	}
	return all
}

// aborted returns the number of the first job in which a queue has stopped or that has failed before, and false if
// there is none.
func (w *work) aborted() (i uint32, ok bool) {
	for i := w.reported; i != w.next; i++ {
		if j := w.job(i); !j.done && (j.failed || w.stops(j)) {
			return i, true
		}
	}
	return 0, false
}

// stops reports whether the queue of a job has stopped before it has completed the job.
func (w *work) stops(j *job) bool { return !j.done && j.value != 0 && w.stopped>>j.queue&1 != 0 }

// renew destroys a queue with its work and creates it again.
func (q *queues) renew(t *ddi.Thread, number uint32) error {
	o, priority := &q.all[number], uint32(priorityContext)
	if number < uint32(len(q.nodes)) {
		priority = prioritySystem
	}
	if err := q.call(t, fwabi.OpQueueDestroy, number); err != nil {
		return err
	}
	return q.create(t, number, o.node, priority)
}

// forget drops the work of a node, and lets it take work again. It returns the fence that was aborted, or the
// last completed one.
func (q *queues) forget(t *ddi.Thread, node uint32, r *ring.Ring) (last uint32, s ddi.Status) {
	a, w := q.adapter, &q.nodes[node]
	_, s = a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(*ddi.Thread) bool {
		if end, ok := w.aborted(); ok && end == w.reported {
			j := w.job(end)
			if j.value != 0 {
				w.stopped &^= 1 << j.queue
			}
			w.completed, w.reported = j.id, end+1
		}
		w.drop()
		w.preempting, w.withdrawn, w.stopped, last = false, false, 0, w.completed
		r.Forgive()
		a.nodes[node].resetting = false
		return true
	})
	return last, s
}

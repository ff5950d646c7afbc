package miniport

import (
	"errors"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// settlePolls is how often a reset looks whether the queues that are not guilty have completed their work.
const settlePolls = 1 << 14

// reset resets a node, and makes the guilty queue anew: the one that has stopped on a fault, or whose work the
// node does. The firmware continues the other queues from their places. They complete what they have, and
// what comes before the guilty work, so that last is the only fence that was aborted in the middle. It runs at
// PASSIVE_LEVEL.
func (q *queues) reset(t *ddi.Thread, node uint32, r *ring.Ring) (last uint32, s ddi.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &q.nodes[node]
	if s := q.look(t, node, r, func() { q.adapter.nodes[node].resetting = true }); s != ddi.StatusSuccess {
		return 0, s
	}
	var err error
	if w.guilty == 0 && w.working() {
		err = q.call(t, fwabi.OpReset, node)
		q.notices(t)
	}
	if err == nil {
		err = q.settle(t, node, r)
	}
	if err == nil && w.guilty != 0 {
		err = q.renew(t, w.guilty-1)
	}
	if err != nil {
		q.err = err
		r.Fail(err)
		return 0, statusOf(err)
	}
	return q.forget(t, node, r)
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

// settle waits until the guilty work is all that the queues of a node have.
func (q *queues) settle(t *ddi.Thread, node uint32, r *ring.Ring) error {
	w := &q.nodes[node]
	for range settlePolls {
		end := w.aborted()
		for i := w.reported; i != end; i++ {
			if j := w.job(i); j.value == 0 && !w.blocked(i) {
				q.enqueue(t, r, j)
			}
		}
		if w.settled(end) {
			return nil
		}
		if s := q.look(t, node, r, func() {}); s != ddi.StatusSuccess {
			return statusError(s)
		}
	}
	return statusError(ddi.StatusIOTimeout)
}

// aborted returns the number of the job in which the guilty queue has stopped, or of the next one if it has
// none. Without a guilty queue it is the first one that is not reported.
func (w *work) aborted() uint32 {
	for i := w.reported; i != w.next && w.guilty != 0; i++ {
		if j := w.job(i); j.queue == w.guilty-1 && !j.done {
			return i
		}
	}
	if w.guilty != 0 {
		return w.next
	}
	return w.reported
}

// settled reports whether all jobs before end are complete, and after it those that queues have, but for the
// guilty one.
func (w *work) settled(end uint32) bool {
	before := true
	for i := w.reported; i != w.next; i++ {
		before = before && i != end
		if j := w.job(i); !j.done && (before || j.value != 0 && j.queue != w.guilty-1) {
			return false
		}
	}
	return true
}

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
		if end := w.aborted(); w.guilty != 0 && end != w.next {
			w.completed = w.job(end).id
		}
		w.drop()
		w.preempting, w.guilty, last = false, 0, w.completed
		r.Forgive()
		a.nodes[node].resetting = false
		return true
	})
	return last, s
}

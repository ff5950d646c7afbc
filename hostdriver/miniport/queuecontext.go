package miniport

import (
	"errors"

	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// attach gives a context a queue of its own. If there is none, the context shares the one of its node
// that has the fewest contexts, or else that of the system. A firmware that hangs is loaded again first.
//
// If the firmware does not answer, the context shares the queue of the system. The page of
// DxgkDdiCreateContext has no status for that, and an error would not help: only work that is submitted ends in
// a time-out, after which a reset loads the firmware.
func (q *queues) attach(t *ddi.Thread, c *context, node uint32) ddi.Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.notices(t)
	if q.adapter.hang.pending.Load() {
		q.recover(t)
	}
	err := q.place(t, c, node)
	if errors.Is(err, message.ErrHung) && q.recover(t) {
		err = q.place(t, c, node)
	}
	if err == nil {
		return ddi.StatusSuccess
	}
	q.err = err
	var lost statusError
	switch {
	case errors.As(err, &lost):
		return ddi.Status(lost)
	case errors.Is(err, message.ErrStatus):
		return ddi.StatusNoMemory
	}
	q.share(c, node)
	return ddi.StatusSuccess
}

// place gives a context a queue.
func (q *queues) place(t *ddi.Thread, c *context, node uint32) error {
	own, shared := uint32(fwabi.Queues), node
	for i := uint32(len(q.nodes)); i < fwabi.Queues; i++ {
		switch o := &q.all[i]; {
		case !o.exists:
			own = min(own, i)
		case o.node == node && (shared == node || o.contexts < q.all[shared].contexts):
			shared = i
		}
	}
	if own < fwabi.Queues {
		if err := q.create(t, own, node, priorityContext); err != nil {
			return err
		}
		shared = own
	}
	q.share(c, shared)
	return nil
}

// share gives a context a queue that exists.
func (q *queues) share(c *context, i uint32) {
	q.all[i].contexts++
	c.queue, c.resets = i, q.resets
}

// detach destroys the queue of a context, unless other contexts share it. A queue with work is that of a GPU that
// counts as hung: no message is sent, and the reset destroys it. A firmware that does not answer keeps the
// queue too.
func (q *queues) detach(t *ddi.Thread, c *context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.notices(t)
	o := &q.all[c.queue]
	if c.resets != q.resets || q.client == nil {
		return
	}
	o.contexts--
	if c.queue < uint32(len(q.nodes)) || o.contexts > 0 || q.nodes[o.node].has(c.queue) {
		return
	}
	if err := q.call(t, fwabi.OpQueueDestroy, c.queue); err != nil {
		q.err = err
		return
	}
	*o = queue{}
}

// notices handles the notices that arrived during a call.
func (q *queues) notices(t *ddi.Thread) {
	a := q.adapter
	if !a.running {
		return
	}
	a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		if q.takeNotices(t) {
			a.cb.QueueDpc(t, a.cb.DeviceHandle)
		}
		return true
	})
}

// giveNodes gives the nodes back to the host. The firmware is stopped.
func (a *adapter) giveNodes(t *ddi.Thread) ddi.Status {
	if a.queues == nil {
		return ddi.StatusSuccess
	}
	return a.regs.WriteRegister(t, arbreg.Base+arbreg.Owner, 0)
}

package miniport

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// recover loads a firmware that hangs again, and gives the contexts their queues back. It reports whether the
// queues work. It runs at PASSIVE_LEVEL, and its caller holds mu.
//
// Work in the queues would be lost. If there is any, all nodes fail, and the reset after the time-out keeps the
// state of the firmware and loads it. If the firmware does not start, its queues take work as before, which
// ends in a time-out too.
func (q *queues) recover(t *ddi.Thread) bool {
	q.held.Store(true)
	defer q.adapter.cb.QueueDpc(t, q.adapter.cb.DeviceHandle) // gives work that was submitted meanwhile to its queue
	defer q.held.Store(false)
	if !q.idle(t) {
		for node := range q.nodes {
			q.adapter.fail(uint32(node), errHung)
		}
		return false
	}
	err := q.restart(t)
	if err == nil {
		err = q.unanswered(t)
	}
	if err != nil {
		q.err = err
	}
	return err == nil
}

// idle reports whether no work is in the queues or was lost.
func (q *queues) idle(t *ddi.Thread) bool {
	a := q.adapter
	_, s := a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		q.advanceAll(t)
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
		return true
	})
	for node, r := range a.rings {
		w := &q.nodes[node]
		for i := w.reported; i != w.next; i++ {
			if j := w.job(i); j.value != 0 && !j.done {
				return false
			}
		}
		if r.Err() != nil {
			return false
		}
	}
	return s == ddi.StatusSuccess
}

// restart stops the firmware and the nodes, and starts them again. The fences and the queues of the contexts
// stay, so nothing else notices it.
func (q *queues) restart(t *ddi.Thread) error {
	a := q.adapter
	for _, step := range [...]func(*ddi.Thread) ddi.Status{
		a.quiesce, a.startRings, a.startFirmware, a.startQueues, a.enableInterrupts, a.flush,
	} {
		switch s := step(t); {
		case s == ddi.StatusSuccess:
		case a.program.err != nil:
			return a.program.err
		default:
			return errors.Join(q.err, statusError(s))
		}
	}
	return nil
}

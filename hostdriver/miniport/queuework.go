package miniport

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// aloneJobs is how many jobs of devices are executed alone after a preemption. The first is the work for which the node was stopped.
// The second gives the firmware time to sleep, so that it sees the doorbell of the next preemption early.
const aloneJobs = 2

// A job is a submission to a queue.
//
//	id      its fence
//	queue   its queue
//	device  of its context; nil: work of the system, which is paging or of its own device
//	addr    GPU address of its commands
//	dwords  their number
//	value   of the progress of the queue after it; 0: it is not yet in the queue
//	done    it has completed
//	failed  its queue had stopped in it, when another one was reset: it must not be executed again
//	resumes it continues from the place in its private data
//	alone   no other queue gets work before it has completed
//	buffer  where it is from
type job struct {
	id      uint32
	queue   uint32
	device  *device
	addr    uint64
	dwords  uint32
	value   uint64
	done    bool
	failed  bool
	resumes bool
	alone   bool
	buffer  buffer
}

// work is what a node must do, in the order of submission. Jobs are counted from the start: those before
// reported are reported to the kernel, and next is the number of the next one. An interrupt sets done
// and stopped, moves reported, and takes the jobs out of the queues that a preemption has stopped; everything else changes at
// DISPATCH_LEVEL.
type work struct {
	jobs      [ring.Slots]job // job i is at i modulo Slots
	reported  uint32
	next      uint32
	began     bool   // there was a submission
	completed uint32 // last fence reported; before the first submission 0

	preempting bool   // a preemption is due, and no work is given to the queues
	preemption uint32 // its fence
	toBeAlone  int    // how many of the next jobs of devices are alone
	yielding   bool   // the firmware must answer a doorbell of a preemption
	withdrawn  bool   // the firmware has answered it, but the ring had failed: the next is a reset
	stopped    uint32 // queues that have stopped on a fault, or whose work a reset has ended, a bit each
}

func (w *work) job(i uint32) *job { return &w.jobs[i%ring.Slots] }

// submit accepts a submission, and gives it to its queue if nothing before it must complete first. Like
// Ring.Submit it neither waits nor fails: an error marks the ring of the node as failed.
func (q *queues) submit(t *ddi.Thread, r *ring.Ring, arg kmddi.SubmitCommand) {
	if r.Err() != nil {
		return
	}
	w := &q.nodes[arg.NodeOrdinal]
	j, err := q.jobOf(arg)
	if err != nil {
		r.Fail(err)
		return
	}
	if c, ok := contextOf(arg.Context); ok && !arg.Flags.Paging {
		if c.resets != q.resets {
			r.Fail(fmt.Errorf("%w: a context from before a reset", ErrArgument))
			return
		}
		if j.queue = c.queue; !c.device.system {
			j.device = c.device
		}
	}
	last := w.last()
	switch o := &q.all[j.queue]; {
	case !o.exists || o.node != arg.NodeOrdinal:
		r.Fail(fmt.Errorf("%w: node %d, but the queue %d of the context is not of that node", ErrArgument, arg.NodeOrdinal, j.queue))
		return
	case w.next-w.reported == ring.Slots:
		r.Fail(fmt.Errorf("%w: %d submissions outstanding", ring.ErrFull, ring.Slots))
		return
	case w.preempting:
		r.Fail(fmt.Errorf("%w: fence %d during a preemption", ring.ErrSubmission, j.id))
		return
	case w.began && (j.id == last || j.id-last >= 1<<31):
		r.Fail(fmt.Errorf("%w: fence %d after fence %d, want a later one", ring.ErrSubmission, j.id, last))
		return
	case !w.began:
		w.began, w.completed = true, j.id-1
	}
	if w.toBeAlone > 0 && j.device != nil && j.dwords != 0 {
		w.toBeAlone, j.alone = w.toBeAlone-1, true
	}
	*w.job(w.next) = j
	w.next++
	q.release(t, arg.NodeOrdinal, r)
}

// jobOf returns the job of a submission, in the queue of the system: all of it, or what a node has left of it.
func (q *queues) jobOf(arg kmddi.SubmitCommand) (job, error) {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	p, err := continued(arg)
	if err != nil {
		return job{}, err
	}
	at := start
	if p.stopped {
		at = p.at
	}
	j := job{
		id: arg.SubmissionFenceID, queue: arg.NodeOrdinal, failed: p.failed, resumes: p.stopped && !p.failed && at != end,
		dwords: (end - at) / 4,
	}
	j.buffer = buffer{id: j.id, private: arg.DmaBufferPrivateData, addr: pkt.Host | arg.DmaBufferPhysicalAddress, start: start, end: end}
	j.addr = j.buffer.addr + uint64(at)
	if j.dwords == 0 {
		j.addr = q.address(0) // the address of an empty part is ignored
	}
	return j, nil
}

// last returns the fence of the last job, or the last one that was reported.
func (w *work) last() uint32 {
	if w.next == w.reported {
		return w.completed
	}
	return w.job(w.next - 1).id
}

// release gives each job whose turn it is to its queue, or reports that it has failed. It runs at
// DISPATCH_LEVEL.
func (q *queues) release(t *ddi.Thread, node uint32, r *ring.Ring) {
	w := &q.nodes[node]
	if w.preempting || q.adapter.nodes[node].resetting {
		return
	}
	for i := w.reported; i != w.next && r.Err() == nil && !q.held.Load(); i++ {
		switch j := w.job(i); {
		case j.value != 0 || w.blocked(i):
		case j.failed:
			q.refuse(t, node, r, j)
		default:
			q.enqueue(t, r, j)
		}
	}
}

// refuse reports a fault of a job that has failed before.
func (q *queues) refuse(t *ddi.Thread, node uint32, r *ring.Ring, j *job) {
	a := q.adapter
	a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		q.fail(t, node, r, j, errAgain)
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
		return true
	})
}

// errAgain is why a job that has failed is not executed again.
var errAgain = errors.New("stopped before the reset of another queue")

// fail reports a fault of a job, and marks the ring of its node as failed. It runs at DIRQL.
func (q *queues) fail(t *ddi.Thread, node uint32, r *ring.Ring, j *job, why error) {
	a := q.adapter
	r.Fail(fmt.Errorf("%w: CP%d: queue %d: %w", ErrFault, node, j.queue, why))
	a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
		InterruptType: kmddi.InterruptDMAFaulted, FenceID: j.id, NodeOrdinal: node,
		Status: uint32(ddi.StatusGPUExceptionOnDevice),
	})
}

// blocked reports whether a job must wait for an earlier one: that of the system waits for all others, and
// all others for it. Contexts of a device share allocations, and the kernel expects that a node executes
// their work in order. Jobs of a queue only keep their order. Jobs of other queues wait for one that is alone.
func (w *work) blocked(i uint32) bool {
	j := w.job(i)
	for k := w.reported; k != i; k++ {
		e := w.job(k)
		switch {
		case e.done:
		case e.queue == j.queue && e.value != 0:
		case e.alone || e.queue == j.queue || e.device == nil || j.device == nil || e.device == j.device:
			return true
		}
	}
	return false
}

// has reports whether a queue has jobs that are not complete.
func (w *work) has(queue uint32) bool {
	for i := w.reported; i != w.next; i++ {
		if j := w.job(i); j.queue == queue && !j.done {
			return true
		}
	}
	return false
}

// enqueue writes an entry of a queue, its tail and its doorbell. An interrupt may arrive as soon as the
// doorbell is written.
func (q *queues) enqueue(t *ddi.Thread, r *ring.Ring, j *job) {
	o, i := &q.all[j.queue], j.queue
	progress := q.address(progressAt + progressBytes*i)
	slot, flags := o.tail%queueDepth, uint32(0)
	at := queuesAt + queueBytes*i + slot*fwabi.QueueEntryBytes
	if j.resumes {
		p, _ := takePlace(j.buffer.private)
		p.restored(q.mem.Bytes[queuesAt+queueBytes*i+queueRing+slot*fwabi.SaveBytes:])
		flags = fwabi.EntryResume
	}
	o.tail++
	j.value = uint64(o.tail)<<32 | uint64(j.id)
	o.value = j.value
	e := q.mem.Bytes[at : at+fwabi.QueueEntryBytes]
	le.PutUint64(e[4*fwabi.QueueBufferLo:], j.addr)
	le.PutUint32(e[4*fwabi.QueueDwords:], j.dwords)
	le.PutUint32(e[4*fwabi.QueueFlags:], flags)
	le.PutUint64(e[4*fwabi.QueueProgressLo:], progress)
	le.PutUint64(e[4*fwabi.QueueValueLo:], j.value)
	le.PutUint32(q.mem.Bytes[fwabi.AreaQueueTails+4*i:], o.tail)
	if s := q.adapter.regs.WriteRegister(t, mcureg.Base+mcureg.Doorbell, fwabi.BellQueue<<i); s != ddi.StatusSuccess {
		r.Fail(fmt.Errorf("%w: MCU.DOORBELL: %w", ring.ErrRegister, s))
	}
}

// advance notes which jobs of a node have completed, and reports the last one before which all have. It
// runs at DIRQL. moved reports whether a job has completed, even if it is not reported yet. ok is false if a
// progress value is one that the queue cannot have reached, which marks the ring as failed.
func (q *queues) advance(t *ddi.Thread, node uint32, r *ring.Ring) (moved, ok bool) {
	w := &q.nodes[node]
	for i := w.reported; i != w.next; i++ {
		j := w.job(i)
		if j.done || j.value == 0 {
			continue
		}
		value := le.Uint64(q.mem.Bytes[progressAt+progressBytes*j.queue:])
		if value > q.all[j.queue].value {
			r.Fail(fmt.Errorf("%w: progress %#x of queue %d, want at most %#x", ring.ErrFence, value, j.queue, q.all[j.queue].value))
			return moved, false
		}
		j.done = value >= j.value
		moved = moved || j.done
	}
	newer := false
	for w.reported != w.next && w.job(w.reported).done {
		w.completed = w.job(w.reported).id
		w.reported++
		newer = true
	}
	a := q.adapter
	if newer {
		a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
			InterruptType: kmddi.InterruptDMACompleted, FenceID: w.completed, NodeOrdinal: node,
		})
	}
	return moved, true
}

// advanceAll does advance for all nodes and takes the notices, at DIRQL, after the acknowledge of the
// events. What completes after the flush raises an event that stays.
func (q *queues) advanceAll(t *ddi.Thread) {
	if q.adapter.flush(t) != ddi.StatusSuccess {
		return
	}
	for node, r := range q.adapter.rings {
		q.advance(t, uint32(node), r)
	}
	q.takeNotices(t)
}

// query is advance for QueryCurrentFence. It reports whether the progress of the node is known.
func (q *queues) query(t *ddi.Thread, node uint32, r *ring.Ring) bool {
	a := q.adapter
	if a.flush(t) != ddi.StatusSuccess {
		return false
	}
	moved, ok := q.advance(t, node, r)
	if q.takeNotices(t) || moved {
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
	}
	return ok
}

// takeNotices handles the notices of the firmware, at DIRQL, and reports whether there were any. During a
// call they stay for its caller.
func (q *queues) takeNotices(t *ddi.Thread) bool {
	if q.calling || q.client == nil {
		return false
	}
	q.regs.t = t
	all, err := q.client.Notices()
	if err != nil {
		q.err = err
	}
	for _, n := range all {
		switch {
		case len(n.Payload) != 12:
		case n.Op == fwabi.OpFault:
			q.faulted(t, le.Uint32(n.Payload), le.Uint32(n.Payload[4:]), le.Uint32(n.Payload[8:]))
		case n.Op == fwabi.OpYielded:
			q.yielded(t, le.Uint32(n.Payload), le.Uint32(n.Payload[4:]))
		}
	}
	return len(all) > 0
}

// faulted reports the job in which a queue has stopped, and marks the ring of its node as failed. It runs
// at DIRQL. After a fault without a queue the firmware has reset the node and continues, so the ring fails only if the
// firmware has lost the node.
func (q *queues) faulted(t *ddi.Thread, node, number, cause uint32) {
	a := q.adapter
	r, ok := a.ring(node)
	switch {
	case !ok || number >= fwabi.Queues && number != fwabi.NoQueue:
		return
	case number == fwabi.NoQueue:
		if (cause == fwabi.CauseStuck || cause == fwabi.CauseLost) && !a.nodes[node].resetting {
			r.Fail(fmt.Errorf("%w: CP%d: no queue: %s", ErrFault, node, queueCause(cause)))
		}
		return
	}
	q.advance(t, node, r)
	w := &q.nodes[node]
	w.stopped |= 1 << number
	if a.nodes[node].resetting {
		return
	}
	for i := w.reported; i != w.next; i++ {
		if j := w.job(i); j.queue == number && j.value != 0 && !j.done {
			q.fail(t, node, r, j, errors.New(queueCause(cause)))
			return
		}
	}
	r.Fail(fmt.Errorf("%w: CP%d: queue %d: %s", ErrFault, node, number, queueCause(cause)))
}

// queueCause returns the name of the cause of a notice.
func queueCause(cause uint32) string {
	if name, ok := fwabi.Name(fwabi.QueueCauses, cause); ok && cause >= uint32(len(cpreg.Causes)) {
		return name
	}
	return causeName(cause)
}

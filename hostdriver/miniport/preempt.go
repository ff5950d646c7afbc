package miniport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A node is what the driver keeps of the submissions in a ring.
//
//	buffers     those outstanding, by slot of the ring
//	preemption  the fence of the preemption that is due
//	resetting   nothing of the node is reported
//	seen        registers at the last query of its progress
type node struct {
	buffers    [ring.Slots]buffer
	preemption uint32
	resetting  bool
	seen       ring.Progress
}

// The states from which nodes resume are in the page of the fence words, one for each slot of
// a ring.
const (
	statesAt   = 1024
	stateBytes = ring.Slots * pkt.StateBytes // of a node
)

// preempts reports whether the nodes stop inside buffers and resume.
func (a *adapter) preempts() bool {
	return a.caps.have.Has(caps.Preemption) && a.caps.have.Has(caps.Contexts)
}

// schedulingCaps adds to c what the scheduler may ask of the nodes. A rectangle is a
// primitive, and a node stops inside one: after a row, or after a piece of 4096 bytes. So do
// the queues of the firmware. There are no packets for compute.
func (a *adapter) schedulingCaps(c kmddi.DriverCaps) kmddi.DriverCaps {
	c.PreemptionAware = a.preempts()
	c.CancelCommandAware = c.PreemptionAware
	c.SupportPerEngineTDR = true
	if c.PreemptionAware {
		c.PreemptionCaps.GraphicsPreemptionGranularity = kmddi.GraphicsPreemptionPrimitiveBoundary
	}
	return c
}

// privateBytes is the size of the private data of DMA buffers.
func (a *adapter) privateBytes() uint32 {
	if a.preempts() {
		return placeBytes
	}
	return 0
}

// preemptCommand asks a node to stop.
//
//	DDI     DxgkDdiPreemptCommand, d3dkmddi.h
//	Caller  the GPU scheduler, at DISPATCH_LEVEL: must not block
//	In      arg.PreemptionFenceID
//	Effect  inside SynchronizeExecution: NotifyInterrupt for fences that have
//	        completed; then, if nothing is left, for the preemption, and else a
//	        write of PREEMPT, or of the doorbell that makes the firmware stop its
//	        queues. A second request before the first is answered replaces it
//	Order   DMA_COMPLETED of what has completed, then DMA_PREEMPTED, and nothing of
//	        the node until the next submission. The other submissions are
//	        forgotten. The place in each that had begun is in the private data
//	        of its buffer. A node that stops on a fault reports DMA_FAULTED only
//	Returns always StatusSuccess: the system bugchecks (0x119/2) on any other
//	        value. A bad argument and a register that cannot be accessed mark the
//	        ring as failed, and the scheduler's timeout handles it
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_preemptcommand
func preemptCommand(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.PreemptCommand) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return ddi.StatusSuccess
	}
	r, ok := a.ring(arg.NodeOrdinal)
	if !ok || arg.EngineOrdinal != 0 || !a.preempts() {
		a.fail(arg.NodeOrdinal, fmt.Errorf("%w: preemption of node %d, engine %d", ErrArgument, arg.NodeOrdinal, arg.EngineOrdinal))
		return ddi.StatusSuccess
	}
	var failed error
	_, s := a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		if a.queues != nil {
			return a.queues.preempt(t, arg, r)
		}
		reported, err := a.advance(t, arg.NodeOrdinal, r)
		if failed = err; err == nil {
			reported = a.askNode(t, arg, r) || reported
		}
		if reported {
			a.cb.QueueDpc(t, a.cb.DeviceHandle)
		}
		return err == nil
	})
	if s != ddi.StatusSuccess {
		failed = fmt.Errorf("%w: CP%d.PREEMPT: %w", ring.ErrRegister, arg.NodeOrdinal, s)
	}
	if failed != nil {
		r.Fail(failed)
	}
	return ddi.StatusSuccess
}

// askNode asks a node to stop, or reports the preemption if nothing is outstanding. It runs at
// DIRQL, after advance. A node whose ring has failed is not asked, and does not answer, so that
// the time-out of the scheduler handles it.
func (a *adapter) askNode(t *ddi.Thread, arg kmddi.PreemptCommand, r *ring.Ring) (reported bool) {
	a.nodes[arg.NodeOrdinal].preemption = arg.PreemptionFenceID
	if r.Err() != nil {
		return false
	}
	if _, busy := r.Executing(); busy {
		r.Preempt(t)
		return false
	}
	a.notifyPreempted(t, arg.NodeOrdinal, arg.PreemptionFenceID, r.Completed())
	return true
}

// preempted reports the preemption that a node has answered, after its fence. It runs at
// DIRQL. It fails if a register could not be read, or the place cannot be resumed; then the
// preemption stays due.
func (a *adapter) preempted(t *ddi.Thread, ordinal uint32, r *ring.Ring) (reported bool, err error) {
	cause, s := r.ReadCause(t)
	if s != ddi.StatusSuccess {
		return false, unread(ordinal, "FAULT_INFO", s)
	}
	if cause != cpreg.CauseNone {
		return a.faulted(t, ordinal, r), nil
	}
	p, busy, err := r.Place(t)
	if err != nil {
		return false, err
	}
	n := &a.nodes[ordinal]
	if busy {
		if err := n.keep(p); err != nil {
			r.Fail(err)
			return false, err
		}
	}
	r.Yield(t, p.Rptr)
	n.buffers = [ring.Slots]buffer{}
	a.notifyPreempted(t, ordinal, n.preemption, r.Completed())
	return true, nil
}

// notifyPreempted reports a preemption, and the last completed fence.
func (a *adapter) notifyPreempted(t *ddi.Thread, ordinal, fence, last uint32) {
	a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
		InterruptType: kmddi.InterruptDMAPreempted, FenceID: fence,
		LastCompletedFenceID: last, NodeOrdinal: ordinal,
	})
}

// enter gives a submission to its ring: from its start, or from the place where it was
// stopped.
func (a *adapter) enter(t *ddi.Thread, r *ring.Ring, arg kmddi.SubmitCommand) error {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	addr, slot := pkt.Host|arg.DmaBufferPhysicalAddress, r.Slot()
	a.nodes[arg.NodeOrdinal].buffers[slot] = buffer{
		id: arg.SubmissionFenceID, private: arg.DmaBufferPrivateData, addr: addr, start: start, end: end,
	}
	if a.privateBytes() == 0 { // after a reset of the node: it had not begun
		r.Submit(t, addr+uint64(start), (end-start)/4, arg.SubmissionFenceID)
		return nil
	}
	p, err := continued(arg)
	switch {
	case err != nil:
		return err
	case !p.stopped:
		r.Submit(t, addr+uint64(start), (end-start)/4, arg.SubmissionFenceID)
	case p.at == end:
		r.Submit(t, 0, 0, arg.SubmissionFenceID)
	default:
		state := statesAt + arg.NodeOrdinal*stateBytes + slot*pkt.StateBytes
		p.restored(a.fences.Bytes[state:])
		r.Resume(t, pkt.Host|a.fences.PhysicalAddress+uint64(state), addr+uint64(p.at), (end-p.at)/4, arg.SubmissionFenceID)
	}
	return nil
}

// cancelCommand forgets where a buffer was stopped.
//
//	DDI     DxgkDdiCancelCommand, d3dkmddi.h
//	Caller  the GPU scheduler, at PASSIVE_LEVEL; may be called again
//	In      arg.DmaBufferPrivateData of a buffer that is in no ring
//	Returns always StatusSuccess: the system bugchecks (0x119/9) on any other
//	        value
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_cancelcommand
func cancelCommand(_ *ddi.Thread, h kmddi.HAdapter, arg kmddi.CancelCommand) ddi.Status {
	if a, ok := adapterOf(h); ok && a.privateBytes() != 0 {
		place{}.put(arg.DmaBufferPrivateData)
	}
	return ddi.StatusSuccess
}

package miniport

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// interruptRoutine reads the device's events and notifies the scheduler. It
// handles all events for either message: the status register has them all.
//
//	DDI     DxgkDdiInterruptRoutine, dispmprt.h
//	Caller  the kernel, at DIRQL, possibly inside another call of this driver
//	Effect  acknowledges the pending events, then reads the fences of their
//	        nodes, so that an event after the acknowledge interrupts again;
//	        NotifyInterrupt for a fence that moved, for a preemption and for a
//	        fault; QueueDpc
//	Returns whether an event of a node was pending
//	Source  learn.microsoft.com, nc-dispmprt-dxgkddi_interrupt_routine
func interruptRoutine(t *ddi.Thread, h kmddi.HAdapter, _ uint32) bool {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return false
	}
	events, s := a.regs.ReadRegister(t, intcreg.Base+intcreg.Status)
	events &= a.events()
	if s != ddi.StatusSuccess || events == 0 {
		return false
	}
	// If the acknowledge cannot be sent, the reads below fail as well.
	a.regs.WriteRegister(t, intcreg.Base+intcreg.Status, events)
	a.noteHang(events)
	if a.queues != nil {
		a.queues.advanceAll(t)
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
		return true
	}
	for node, r := range a.rings {
		if events&((intcreg.Done0|intcreg.Fault0)<<node) == 0 {
			continue
		}
		_, err := a.advance(t, uint32(node), r)
		if err == nil && !a.nodes[node].resetting && events&(intcreg.Fault0<<node) != 0 {
			a.faulted(t, uint32(node), r)
		}
	}
	a.cb.QueueDpc(t, a.cb.DeviceHandle)
	return true
}

// advance reads the fence of a node and reports it if it is newer than the last
// reported one. If the node has answered a preemption, it reports that too. It
// runs at DIRQL. It fails if a register could not be read, or has a value that
// the node cannot have reached, which marks the ring as failed.
//
// The answer is read before the fence: after it the fence no longer changes, so
// that no fence is both completed and preempted.
func (a *adapter) advance(t *ddi.Thread, node uint32, r *ring.Ring) (reported bool, err error) {
	if a.nodes[node].resetting {
		return false, nil
	}
	answered := false
	if r.Preempting() {
		var s ddi.Status
		if answered, s = r.Answered(t); s != ddi.StatusSuccess {
			return false, unread(node, "PREEMPTED", s)
		}
	}
	newer, err := a.completed(t, node, r)
	if err != nil || !answered {
		return newer, err
	}
	reported, err = a.preempted(t, node, r)
	return newer || reported, err
}

// unread returns the error of a register of a node that could not be read.
func unread(node uint32, name string, s ddi.Status) error {
	return fmt.Errorf("%w: read of CP%d.%s: %w", ring.ErrRegister, node, name, s)
}

// completed is advance for the fence.
func (a *adapter) completed(t *ddi.Thread, node uint32, r *ring.Ring) (newer bool, err error) {
	id, s := r.ReadFence(t)
	if s != ddi.StatusSuccess {
		return false, unread(node, "FENCE", s)
	}
	if newer, err = r.Complete(id); err != nil {
		r.Fail(err)
		return false, err
	}
	if newer {
		a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
			InterruptType: kmddi.InterruptDMACompleted, FenceID: id, NodeOrdinal: node,
		})
	}
	return newer, nil
}

// impossible reports whether a ring has failed because the node has a fence or a place that it cannot have reached, as
// after a reset that this driver has not made. Then nothing more completes, and the time-out of the scheduler handles it.
func impossible(err error) bool {
	return errors.Is(err, ring.ErrFence) || errors.Is(err, ring.ErrPlace) || errors.Is(err, errPlace)
}

// faulted reports the submission in which a node stopped, once, and marks the
// ring as failed. It runs at DIRQL. Without a cause the node has not stopped,
// and without a submission there is no fence to report.
func (a *adapter) faulted(t *ddi.Thread, node uint32, r *ring.Ring) (reported bool) {
	cause, s := r.ReadCause(t)
	if s != ddi.StatusSuccess || cause == cpreg.CauseNone || errors.Is(r.Err(), ErrFault) {
		return false
	}
	r.Fail(fmt.Errorf("%w: CP%d: %s", ErrFault, node, causeName(cause)))
	if sub, ok := r.Executing(); ok {
		a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
			InterruptType: kmddi.InterruptDMAFaulted, FenceID: sub.ID, NodeOrdinal: node,
			Status: uint32(ddi.StatusGPUExceptionOnDevice),
		})
		reported = true
	}
	return reported
}

// causeName returns the name of a value of FAULT_INFO.CAUSE.
func causeName(cause uint32) string {
	if uint64(cause) < uint64(len(cpreg.Causes)) {
		return cpreg.Causes[cause]
	}
	return fmt.Sprintf("cause %d", cause)
}

// dpcRoutine frees the ring space of completed submissions, gives those that waited
// to the firmware, takes the lines of its log, and notifies the scheduler.
//
//	DDI     DxgkDdiDpcRoutine, dispmprt.h
//	Caller  the kernel, at DISPATCH_LEVEL, after QueueDpc
//	Effect  NotifyDpc, always
func dpcRoutine(t *ddi.Thread, h kmddi.HAdapter) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return
	}
	for node, r := range a.rings {
		r.Retire()
		if a.queues != nil {
			a.queues.release(t, uint32(node), r)
		}
	}
	if a.queues != nil {
		a.queues.takeLog(t)
	}
	a.cb.NotifyDpc(t, a.cb.DeviceHandle)
}

// queryCurrentFence reads the last completed fence of a node from the GPU. If
// its interrupt was lost, the fence is reported too, and so is a preemption.
//
//	DDI     DxgkDdiQueryCurrentFence, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	Effect  a firmware that hangs is loaded again; inside SynchronizeExecution: NotifyInterrupt and QueueDpc if the
//	        fence is newer than the last one reported
//	Returns StatusSuccess
//	        StatusInvalidParameter: no such node
//	        StatusIODeviceError: a register could not be read
//	        the status of SynchronizeExecution if that failed
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_querycurrentfence
func queryCurrentFence(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return kmddi.QueryCurrentFenceOut{}, ddi.StatusInvalidHandle
	}
	a.recoverHang(t)
	r, ok := a.ring(arg.NodeOrdinal)
	if !ok || arg.EngineOrdinal != 0 {
		return kmddi.QueryCurrentFenceOut{}, ddi.StatusInvalidParameter
	}
	read, s := a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		if a.queues != nil {
			return a.queues.query(t, arg.NodeOrdinal, r)
		}
		reported, err := a.advance(t, arg.NodeOrdinal, r)
		if reported {
			a.cb.QueueDpc(t, a.cb.DeviceHandle)
		}
		if err != nil && impossible(r.Err()) {
			_, s := r.ReadFence(t)
			return s == ddi.StatusSuccess
		}
		return err == nil
	})
	if s != ddi.StatusSuccess {
		return kmddi.QueryCurrentFenceOut{}, s
	}
	if !read {
		return kmddi.QueryCurrentFenceOut{}, ddi.StatusIODeviceError
	}
	if a.queues != nil {
		return kmddi.QueryCurrentFenceOut{CurrentFence: a.queues.nodes[arg.NodeOrdinal].completed}, ddi.StatusSuccess
	}
	return kmddi.QueryCurrentFenceOut{CurrentFence: r.Completed()}, ddi.StatusSuccess
}

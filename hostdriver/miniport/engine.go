package miniport

import (
	"cmp"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// engine returns the adapter and the ring of an engine, for the functions that return a
// status.
func engine(h kmddi.HAdapter, ordinal, engine uint32) (*adapter, *ring.Ring, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return nil, nil, ddi.StatusInvalidHandle
	}
	r, ok := a.ring(ordinal)
	if !ok || engine != 0 {
		return nil, nil, ddi.StatusInvalidParameter
	}
	return a, r, ddi.StatusSuccess
}

// queryEngineStatus reports whether a node makes progress.
//
//	DDI     DxgkDdiQueryEngineStatus, d3dkmddi.h
//	Caller  the GPU scheduler, PASSIVE_LEVEL
//	Out     Responsive: nothing is outstanding, or a register that shows progress
//	        has changed since the last query of the node. One packet that moves
//	        many bytes changes none until it ends or is preempted
//	Returns StatusSuccess
//	        StatusInvalidHandle: a handle without a started adapter
//	        StatusInvalidParameter: no such node
//	        the status of a register that could not be read
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_queryenginestatus
func queryEngineStatus(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryEngineStatus) (kmddi.QueryEngineStatusOut, ddi.Status) {
	a, r, s := engine(h, arg.NodeOrdinal, arg.EngineOrdinal)
	if s != ddi.StatusSuccess {
		return kmddi.QueryEngineStatusOut{}, s
	}
	now, s := r.ReadProgress(t)
	if s != ddi.StatusSuccess {
		return kmddi.QueryEngineStatusOut{}, s
	}
	n := &a.nodes[arg.NodeOrdinal]
	moved := now != n.seen
	n.seen = now
	return kmddi.QueryEngineStatusOut{Responsive: moved || !a.busy(arg.NodeOrdinal, r)}, ddi.StatusSuccess
}

// busy reports whether a node has submissions that have not completed.
func (a *adapter) busy(ordinal uint32, r *ring.Ring) bool {
	if a.queues != nil {
		w := &a.queues.nodes[ordinal]
		return w.reported != w.next
	}
	_, busy := r.Executing()
	return busy
}

// queryDependentEngineGroup returns the node alone. Both nodes share the DMA engine, VRAM and
// the ports, but a reset of a node only waits for its own work in flight, which it does not
// cut off, and for descriptors of the other node before it.
//
//	DDI     DxgkDdiQueryDependentEngineGroup, d3dkmddi.h
//	Caller  the GPU scheduler, PASSIVE_LEVEL
//	Returns StatusSuccess; StatusInvalidHandle for a handle without a started
//	        adapter; StatusInvalidParameter: no such node
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_querydependentenginegroup
func queryDependentEngineGroup(_ *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryDependentEngineGroup) (kmddi.QueryDependentEngineGroupOut, ddi.Status) {
	if _, _, s := engine(h, arg.NodeOrdinal, arg.EngineOrdinal); s != ddi.StatusSuccess {
		return kmddi.QueryDependentEngineGroupOut{}, s
	}
	return kmddi.QueryDependentEngineGroupOut{DependentNodeOrdinalMask: 1 << arg.NodeOrdinal}, ddi.StatusSuccess
}

// resetEngine resets one node and drops its work. The other node continues.
//
//	DDI     DxgkDdiResetEngine, d3dkmddi.h
//	Caller  the GPU scheduler, PASSIVE_LEVEL
//	Out     LastAbortedFenceID: the submission that the node executed; all before
//	        it have completed, also those that were not yet reported. Without one
//	        the last completed fence
//	Effect  GART.FAULT no longer has a page fault of the node.
//	        What completes before the reset is reported, and nothing else of the node
//	        from the call on. A preemption that is due is dropped. On success the node takes fences after
//	        LastAbortedFenceID; on a failure none until RestartFromTimeout. With
//	        the queues of the firmware, RESET, unless the firmware has done it
//	        already; later submissions that have completed too have that in their
//	        private data, and only their fence is submitted again. Work of other queues
//	        that takes long is stopped as by a preemption, and has its place there. If the answer to a
//	        preemption finds one stopped inside before that of the failed queue, nothing
//	        is aborted, and the failed one fails again when it is submitted again
//	Returns StatusSuccess
//	        StatusInvalidHandle: a handle without a started adapter
//	        StatusInvalidParameter: no such node
//	        StatusIOTimeout: the node does not leave its reset, or ignores it
//	        StatusDeviceConfiguration: it does not run after it, or the whole function
//	        has been reset meanwhile, so that its mask of interrupts is not that of this driver
//	        the status of a failed callback
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_resetengine
func resetEngine(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
	a, r, s := engine(h, arg.NodeOrdinal, arg.EngineOrdinal)
	if s != ddi.StatusSuccess {
		return kmddi.ResetEngineOut{}, s
	}
	if s := a.forgetPageFault(t, arg.NodeOrdinal); s != ddi.StatusSuccess {
		return kmddi.ResetEngineOut{}, s
	}
	last, s := a.resetNode(t, arg.NodeOrdinal, r)
	return kmddi.ResetEngineOut{LastAbortedFenceID: last}, s
}

// aborted reports what a node has completed before its reset, and returns the submission that
// the reset has cut off, or the last completed one.
func (a *adapter) aborted(t *ddi.Thread, ordinal uint32, r *ring.Ring) (last uint32, s ddi.Status) {
	var read ddi.Status
	_, s = a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		var newer bool
		if last, newer, read = r.Abort(t); newer {
			a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{
				InterruptType: kmddi.InterruptDMACompleted, FenceID: r.Completed(), NodeOrdinal: ordinal,
			})
			a.cb.QueueDpc(t, a.cb.DeviceHandle)
		}
		return true
	})
	return last, cmp.Or(s, read)
}

// resetNode is resetEngine for a node that exists.
func (a *adapter) resetNode(t *ddi.Thread, ordinal uint32, r *ring.Ring) (last uint32, s ddi.Status) {
	if a.queues != nil {
		return a.queues.reset(t, ordinal, r)
	}
	n := &a.nodes[ordinal]
	_, s = a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(*ddi.Thread) bool {
		n.resetting = true
		return true
	})
	if s == ddi.StatusSuccess {
		s = r.Stop(t) // FENCE does not change any more
	}
	if s == ddi.StatusSuccess {
		last, s = a.aborted(t, ordinal, r)
	}
	if s == ddi.StatusSuccess {
		s = a.configured(t)
	}
	if s == ddi.StatusSuccess {
		s = r.Restart(t, last)
	}
	if s != ddi.StatusSuccess {
		return 0, s
	}
	_, s = a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, func(*ddi.Thread) bool {
		*n = node{seen: n.seen}
		return true
	})
	return last, s
}

// configured returns StatusDeviceConfiguration if the mask of interrupts is not that of this driver, as after a reset of
// the whole function that the driver has not made.
func (a *adapter) configured(t *ddi.Thread) ddi.Status {
	mask, s := a.regs.ReadRegister(t, intcreg.Base+intcreg.Mask)
	if s == ddi.StatusSuccess && mask != a.events() {
		return ddi.StatusDeviceConfiguration
	}
	return s
}

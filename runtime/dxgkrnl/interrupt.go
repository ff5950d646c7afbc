package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// fault is a reported DMA_FAULTED.
type fault struct{ fence, status uint32 }

// interrupt is the interrupt service routine. hal calls it at DIRQL.
func (k *Kernel) interrupt(t *ddi.Thread, message int) {
	if k.crashed != nil {
		return
	}
	k.stats.Interrupts++
	k.inISR, k.notified = true, false
	claimed := k.driver.InterruptRoutine(t, k.adapter, uint32(message))
	k.inISR = false
	if !claimed {
		k.stats.Unclaimed++
	}
	if k.notified {
		k.bugcheck("DxgkDdiInterruptRoutine", CodeVerifier, VerifierNoQueueDPC, "message %d: DxgkCbNotifyInterrupt without a later DxgkCbQueueDpc", message)
	}
}

// deferred is the deferred procedure call. hal calls it at DISPATCH_LEVEL.
func (k *Kernel) deferred(t *ddi.Thread) {
	if k.crashed != nil {
		return
	}
	k.stats.DPCs++
	k.dpcDone = false
	k.driver.DpcRoutine(t, k.adapter)
	if !k.dpcDone && k.running {
		k.bugcheck("DxgkDdiDpcRoutine", CodeVerifier, VerifierNoNotifyDPC, "returned without DxgkCbNotifyDpc")
	}
}

// notifyInterrupt records the reason of an interrupt. NotifyDpc retires
// submissions later.
//
//	DDI     DxgkCbNotifyInterrupt, d3dkmddi.h
//	Caller  the miniport, at DIRQL, from InterruptRoutine or inside
//	        SynchronizeExecution
//	In      a completed fence: one that is submitted to the node and not before
//	        the last one reported. A newer one also reports all older ones of
//	        the node; the last one again is ignored, which package kmcheck
//	        reports
//	Returns by Bugcheck 0x119/1 for any other fence, or a node that does not
//	        exist; by Bugcheck 0x119/0x10 between ResetEngine of a node and its
//	        next work. The kernel keeps those that arrive just before
//	        a reset, and acts on them if the node is not reset
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkcb_notify_interrupt
func (k *Kernel) notifyInterrupt(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
	k.checkHandle(h, "DxgkCbNotifyInterrupt")
	if t.IRQL() != ddi.DIRQL {
		k.bugcheck("DxgkCbNotifyInterrupt", CodeVerifier, VerifierLevel, "at %v, want %v", t.IRQL(), ddi.DIRQL)
	}
	k.notified = k.inISR
	if k.err != nil {
		return
	}
	if uint64(arg.NodeOrdinal) >= uint64(len(k.nodes)) {
		k.bugcheck("DxgkCbNotifyInterrupt", CodeScheduler, SchedulerFence, "NodeOrdinal is %d, want less than %d", arg.NodeOrdinal, len(k.nodes))
	}
	n := &k.nodes[arg.NodeOrdinal]
	switch {
	case n.reset:
		k.bugcheck("DxgkCbNotifyInterrupt", CodeScheduler, SchedulerReset, "node %d: type %d, fence %d after %s and before the node goes on", n.ordinal, arg.InterruptType, arg.FenceID, resetEngine)
	case n.masked:
		n.noted = append(n.noted, arg)
		return
	}
	k.note(n, &arg)
}

// note records the reason of an interrupt of a node, at DIRQL.
func (k *Kernel) note(n *node, arg *kmddi.NotifyInterrupt) {
	switch arg.InterruptType {
	case kmddi.InterruptDMACompleted:
		k.reported("DxgkCbNotifyInterrupt", n, arg.FenceID)
	case kmddi.InterruptDMAPreempted:
		k.notePreempted(n, arg)
	case kmddi.InterruptDMAFaulted:
		if n.faulted == nil {
			n.faulted = &fault{arg.FenceID, arg.Status}
			k.observe(Event{Kind: EventFault, Node: arg.NodeOrdinal, Fence: arg.FenceID, Text: ddi.Status(arg.Status).Error()})
		}
	default:
		k.bugcheck("DxgkCbNotifyInterrupt", CodeVerifier, VerifierInterrupt, "InterruptType is %d, want DMA_COMPLETED (1), DMA_PREEMPTED (2) or DMA_FAULTED (4)", arg.InterruptType)
	}
}

// reported records a completed fence that function reported, at DIRQL.
func (k *Kernel) reported(function string, n *node, id uint32) {
	number, serial := n.reported, uint64(0)
	known := id == n.fenceID(n.reported) && n.reported != 0
	for _, s := range n.hardware {
		if s.fence > n.reported && s.arg.SubmissionFenceID == id {
			known, number, serial = true, s.fence, s.serial
		}
	}
	if !known {
		k.bugcheck(function, CodeScheduler, SchedulerFence, "node %d: fence %d reported, want %s, which DxgkDdiSubmitCommand was given",
			n.ordinal, id, rangeOf(fmt.Sprint(n.fenceID(max(n.reported, 1))), fmt.Sprint(n.fenceID(n.submitted))))
	}
	n.reported = number
	if k.observer != nil {
		k.observe(Event{Kind: EventReport, Submission: serial, Node: n.ordinal, Fence: id})
	}
}

// queueDPC requests a call of DpcRoutine.
//
//	DDI     DxgkCbQueueDpc, dispmprt.h
//	Caller  the miniport, at any level
//	Returns false if it was already queued
func (k *Kernel) queueDPC(_ *ddi.Thread, h kmddi.HDxgkrnl) bool {
	k.checkHandle(h, "DxgkCbQueueDpc")
	k.notified = false
	return k.dev.QueueDPC()
}

// notifyDPC retires the reported submissions and submits those that waited for
// them.
//
//	DDI     DxgkCbNotifyDpc, d3dkmddi.h
//	Caller  the miniport, from DpcRoutine, at DISPATCH_LEVEL
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkcb_notify_dpc
func (k *Kernel) notifyDPC(t *ddi.Thread, h kmddi.HDxgkrnl) {
	k.checkHandle(h, "DxgkCbNotifyDpc")
	if t.IRQL() != ddi.DispatchLevel {
		k.bugcheck("DxgkCbNotifyDpc", CodeVerifier, VerifierLevel, "at %v, want %v", t.IRQL(), ddi.DispatchLevel)
	}
	k.dpcDone = true
	if k.err != nil {
		return
	}
	k.retire(t)
	if n := k.faultedNode(); n != nil && !k.caps.SupportPerEngineTDR {
		k.stop(t, reasonAdapter, k.faultOf(n)) // then pump submits nothing
	}
	k.pump(t)
}

// synchronizeExecution runs fn at DIRQL.
//
//	DDI     DxgkCbSynchronizeExecution, d3dkmddi.h
//	Caller  the miniport, at or below DIRQL
//	In      messageNumber: a message of the device
//	Returns StatusSuccess and what fn returned; StatusInvalidParameter for a
//	        message that the device was not given, StatusInvalidHandle
func synchronizeExecution(t *ddi.Thread, h kmddi.HDxgkrnl, messageNumber uint32, fn func(t *ddi.Thread) bool) (bool, ddi.Status) {
	k, ok := kernelOf(h)
	if !ok {
		return false, ddi.StatusInvalidHandle
	}
	if uint64(messageNumber) >= uint64(k.dev.Info().Messages) || fn == nil {
		return false, ddi.StatusInvalidParameter
	}
	old := t.Raise(ddi.DIRQL)
	v := fn(t)
	if l := t.IRQL(); l != ddi.DIRQL {
		k.bugcheck("DxgkCbSynchronizeExecution", CodeVerifier, VerifierSynchronize, "the function returned at %v, want %v", l, ddi.DIRQL)
	}
	k.dev.Lower(t, old)
	return v, ddi.StatusSuccess
}

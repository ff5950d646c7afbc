package dxgkrnl

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// resetEngine is the function of the miniport that resets a node.
const resetEngine = "DxgkDdiResetEngine"

// resetNode resets a node. The device of the work that it executed is lost because of e, and
// the other work of the node goes on. It reports false if the adapter must be reset: other
// nodes would lose work too, the reset fails, or it hit a paging buffer.
//
//	DDI     DxgkDdiQueryDependentEngineGroup, DxgkDdiCollectDbgInfo, DxgkDdiResetEngine
//	Caller  at PASSIVE_LEVEL
//	Order   the kernel first stops acting on interrupts of the node, and keeps them. Then
//	        it retires completed work. It resets nothing if the node has no work, has
//	        made progress, or has answered a preemption. If work completes later, the
//	        next one may be aborted in its place
//	Source  learn.microsoft.com, "TDR changes in Windows 8"
func (k *Kernel) resetNode(t *ddi.Thread, n *node, reason uint32, e *DeviceError) bool {
	before := n.completed
	k.mask(t, n)
	k.collect(t, reason, e)
	alone := k.unshared(t, n)
	k.poll(t, n)
	k.dev.QueueDPC()
	k.dev.Deliver(t)
	switch {
	case n.faulted == nil && (!n.busy() || n.completed != before || n.answered()):
		k.progressed(n)
		k.unmask(t, n)
		return true
	case !alone:
		return false
	}
	began := k.dev.Now()
	k.scheduling = true
	out, s := k.driver.ResetEngine(t, k.adapter, kmddi.ResetEngine{NodeOrdinal: n.ordinal})
	k.scheduling = false
	k.checkDDI(resetEngine, began)
	if s != ddi.StatusSuccess {
		return false
	}
	n.reset = true
	k.dev.Deliver(t) // none may come from the node
	last := k.abortedNumber(n, out.LastAbortedFenceID)
	done := k.abort(t, n, last, e)
	n.reset, n.masked, n.noted = false, !done, nil
	k.kick(t) // paging buffers that are taken back; none if the node stays masked
	return done
}

// mask makes the kernel only note the interrupts of a node.
func (k *Kernel) mask(t *ddi.Thread, n *node) {
	old := t.Raise(ddi.DIRQL)
	n.masked = true
	k.dev.Lower(t, old)
}

// unmask takes the interrupts that were noted, and submits what had to wait.
func (k *Kernel) unmask(t *ddi.Thread, n *node) {
	old := t.Raise(ddi.DIRQL)
	n.masked = false
	for _, arg := range n.noted {
		if arg.InterruptType != kmddi.InterruptDMACompleted || n.given(arg.FenceID) { // not what a poll has found
			k.note(n, &arg)
		}
	}
	n.noted = nil
	k.dev.QueueDPC()
	k.dev.Lower(t, old)
	k.kick(t)
}

// answered reports whether a node that is masked has answered the preemption.
func (n *node) answered() bool {
	return slices.ContainsFunc(n.noted, func(arg kmddi.NotifyInterrupt) bool { return arg.InterruptType == kmddi.InterruptDMAPreempted })
}

// ended reports whether a masked node has reported the completion of a fence.
func (n *node) ended(id uint32) bool {
	return slices.ContainsFunc(n.noted, func(arg kmddi.NotifyInterrupt) bool {
		return arg.InterruptType == kmddi.InterruptDMACompleted && arg.FenceID == id
	})
}

// unshared reports whether a reset of a node affects no other one.
func (k *Kernel) unshared(t *ddi.Thread, n *node) bool {
	k.scheduling = true
	out, s := k.driver.QueryDependentEngineGroup(t, k.adapter, kmddi.QueryDependentEngineGroup{NodeOrdinal: n.ordinal})
	k.scheduling = false
	return s == ddi.StatusSuccess && out.DependentNodeOrdinalMask == 1<<n.ordinal
}

// abortedNumber returns the number of the fence that ResetEngine returned.
func (k *Kernel) abortedNumber(n *node, id uint32) uint64 {
	if n.completed == n.base && id == 0 && !n.given(id) {
		return n.completed // no fence has completed yet
	}
	after := id - n.fenceID(n.completed)
	if after != 0 && !n.given(id) {
		k.bugcheck(resetEngine, CodeScheduler, SchedulerAbort, "node %d: LastAbortedFenceID is %d, want %s: the last completed fence, or that of a submission after it",
			n.ordinal, id, rangeOf(fmt.Sprint(n.fenceID(n.completed)), fmt.Sprint(n.fenceID(n.submitted))))
	}
	return n.completed + uint64(after)
}

// given reports whether a submission in the hardware of a node has a fence.
func (n *node) given(id uint32) bool {
	for _, s := range n.hardware {
		if s.arg.SubmissionFenceID == id {
			return true
		}
	}
	return false
}

// abort retires what has completed before the fence of number last. The device of the work with
// that fence is lost, unless the node has reported that it has completed. The rest of the work is
// taken back. abort reports false if the work is a paging buffer, or if a reset has aborted nothing
// for the second time.
func (k *Kernel) abort(t *ddi.Thread, n *node, last uint64, e *DeviceError) bool {
	through := last - min(last, 1)
	if n.ended(n.fenceID(last)) { // all of it has completed
		through = last
	}
	if n.reported = max(n.reported, through); n.reported != n.completed {
		k.retireNode(t, n)
	}
	var guilty *submission
	if len(n.hardware) > 0 {
		s := n.hardware[0]
		switch {
		case s.fence == last && s.paging != nil, s.fence != last && s.fruitless:
			return false
		case s.fence == last:
			guilty = s
		default:
			s.fruitless = true
		}
	}
	k.stats.NodeResets++
	event := Event{Kind: EventReset, Node: n.ordinal, Fence: n.fenceID(last)}
	if guilty != nil {
		d := guilty.line.context.device
		event.Submission, event.Device = guilty.serial, d.handle
		if d.lost == nil || d.system { // the kernel draws again after a loss
			d.lost = e
		}
		if e.Fence != event.Fence {
			e.Fence, e.Work = event.Fence, k.workOf(n.ordinal, event.Fence)
		}
		k.reportWork(t, e)
	}
	event.Text = e.Error() + "\n" + e.Dump
	k.observe(event)
	n.completed, n.reported, n.faulted = last, last, nil
	if guilty != nil {
		k.abortWork(n, e)
	}
	k.requeue(n)
	k.progressed(n)
	return true
}

// abortWork ends the first submission of a node, whose device is lost. Its fence counts as
// completed.
func (k *Kernel) abortWork(n *node, e *DeviceError) {
	s, now := n.hardware[0], k.dev.Now()
	n.hardware = n.hardware[1:]
	if len(n.hardware) > 0 {
		n.hardware[0].began = now
	}
	s.line.completed = s.mark.number
	k.charge(s, now)
	k.loseDevice(s.line.context.device, e.status())
	s.line.settle()
	k.recycle(s)
}

// checkDDI bugchecks if a function that resets has taken longer than TdrDdiDelay.
func (k *Kernel) checkDDI(function string, began uint64) {
	limit := k.tdrDDI + k.linkDelay(max(LeastMove, k.largest))
	if took := k.dev.Now() - began; took > limit {
		k.bugcheck(function, CodeTimeout, TimeoutDDI, "took %d clocks, want at most %d", took, limit)
	}
}

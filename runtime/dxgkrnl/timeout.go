package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// expire handles nodes without progress: a lost interrupt, completed work that
// is not retired, or a hang.
func (k *Kernel) expire(t *ddi.Thread) {
	if !k.working() {
		k.stop(t, reasonTimeout, k.timeOutOf(&k.nodes[0])) // and no node is busy
	}
	for i := range k.nodes {
		n := &k.nodes[i]
		if !n.busy() || k.dev.Now() < n.progressAt+k.tdrDelay() {
			continue
		}
		interrupts, before, asked, told := k.stats.Interrupts, n.completed, n.preemption != 0, n.preempted
		moved := k.poll(t, n)
		switch {
		case k.err != nil:
			return
		case asked && n.preemption == 0: // it has answered
			if told {
				k.report(t, "preempt-time-out", preemptCommand, fmt.Sprintf("node %d: DMA_PREEMPTED was reported, but no DPC followed in %d clocks", n.ordinal, k.tdrDelay()), 0)
			}
		case moved && k.stats.Interrupts == interrupts:
			k.stats.LostInterrupts++
			k.report(t, "interrupt-lost", "DxgkDdiQueryCurrentFence", fmt.Sprintf("node %d: fence %d completed, but no interrupt reported it in %d clocks",
				n.ordinal, n.fenceID(n.reported), k.tdrDelay()), 0)
		case n.faulted == nil && n.completed == before:
			k.hang(t, n)
		}
	}
}

// poll asks the miniport for the last completed fence of a node that has work,
// retires up to it and reports whether the fence moved. If the status is not
// success, the fence is unknown.
func (k *Kernel) poll(t *ddi.Thread, n *node) (moved bool) {
	before := n.reported
	out, s := k.driver.QueryCurrentFence(t, k.adapter, kmddi.QueryCurrentFence{NodeOrdinal: n.ordinal})
	none := before == n.base && out.CurrentFence == 0 // no fence has completed yet
	if !s.Failed() && k.err == nil && !none {
		old := t.Raise(ddi.DIRQL)
		// An interrupt may have reported a later fence after it was read.
		if out.CurrentFence-n.fenceID(before) > uint32(n.reported-before) {
			k.reported("DxgkDdiQueryCurrentFence", n, out.CurrentFence)
		}
		t.Lower(old)
	}
	if n.completed != n.reported || n.preempted || n.faulted != nil {
		k.dev.QueueDPC()
		k.dev.Deliver(t)
	}
	return n.reported != before
}

// hang handles a node that made no progress in TdrDelay. First it is asked to stop, and what
// it executes goes on later. If it does not stop in another TdrDelay, or if the same work
// makes no progress again, the work is ended.
func (k *Kernel) hang(t *ddi.Thread, n *node) {
	if fence := n.preemption; fence != 0 && n.unanswered != fence {
		n.unanswered = fence
		k.report(t, "preempt-time-out", preemptCommand, fmt.Sprintf("node %d: preemption fence %d was accepted, but DMA_PREEMPTED was not reported in %d clocks",
			n.ordinal, n.fenceID(fence), k.tdrDelay()), 0)
	}
	if k.stopsFirst(n) {
		s := n.hardware[0]
		s.late, s.first = true, s.arg.SubmissionFenceID
		k.extend(s)
		k.preempt(t, n)
		return
	}
	if k.responsive(t, n) {
		k.progressed(n)
		if len(n.hardware) > 0 { // it may have completed meanwhile
			k.extend(n.hardware[0])
		}
		k.kick(t) // paging buffers that came back meanwhile
		return
	}
	k.end(t, n, reasonTimeout, k.timeOutOf(n))
}

// stopsFirst reports whether a node that makes no progress is asked to stop.
func (k *Kernel) stopsFirst(n *node) bool {
	return k.caps.PreemptionAware && n.preemption == 0 && len(n.hardware) > 0 && !n.hardware[0].late
}

// extend gives a submission that a node executes another TdrDelay.
func (k *Kernel) extend(s *submission) {
	now := k.dev.Now()
	k.charge(s, now)
	s.began, s.spent = now, 0
}

// responsive reports whether a node gets another TdrDelay, since it makes progress although no
// fence shows it. Each submission gets it once.
func (k *Kernel) responsive(t *ddi.Thread, n *node) bool {
	if !k.asks(n) {
		return false
	}
	n.hardware[0].spared = true
	return k.askNode(t, n)
}

// asks reports whether the progress of a node matters at its next time-out.
func (k *Kernel) asks(n *node) bool {
	return k.caps.SupportPerEngineTDR && len(n.hardware) > 0 && !n.hardware[0].spared
}

// askNode asks a node whether it has made progress since it was last asked.
//
//	DDI     DxgkDdiQueryEngineStatus
func (k *Kernel) askNode(t *ddi.Thread, n *node) bool {
	k.scheduling = true
	out, s := k.driver.QueryEngineStatus(t, k.adapter, kmddi.QueryEngineStatus{NodeOrdinal: n.ordinal})
	k.scheduling = false
	return s == ddi.StatusSuccess && out.Responsive
}

// sampleAt returns when to ask a node for its progress, so that the question at the time-out
// is about the second half of TdrDelay. It reports false if the node is not asked.
func (k *Kernel) sampleAt(n *node) (at uint64, ok bool) {
	return n.progressAt + k.tdrDelay()/2, k.asks(n) && !k.stopsFirst(n) && n.sampled != n.progressAt
}

// sample asks the nodes for their progress that are in the second half of TdrDelay.
func (k *Kernel) sample(t *ddi.Thread) {
	for i := range k.nodes {
		n := &k.nodes[i]
		if at, ok := k.sampleAt(n); ok && k.err == nil && k.dev.Now() >= at {
			n.sampled = n.progressAt
			k.askNode(t, n)
			k.kick(t) // paging buffers that came back meanwhile
		}
	}
}

// nextSample returns when to ask a node for its progress, or deadline if that is earlier.
func (k *Kernel) nextSample(deadline uint64) uint64 {
	for i := range k.nodes {
		if at, ok := k.sampleAt(&k.nodes[i]); ok {
			deadline = min(deadline, at)
		}
	}
	return deadline
}

// endFaults ends the work in which nodes have faulted, at PASSIVE_LEVEL.
func (k *Kernel) endFaults(t *ddi.Thread) {
	for k.err == nil {
		n := k.faultedNode()
		if n == nil {
			return
		}
		k.end(t, n, reasonTimeout, k.faultOf(n))
	}
}

// faultedNode returns a node that has reported a fault, or nil.
func (k *Kernel) faultedNode() *node {
	for i := range k.nodes {
		if n := &k.nodes[i]; n.faulted != nil {
			return n
		}
	}
	return nil
}

// end ends the work that a node executes, because of e. If the node alone cannot be reset,
// or interrupts keep the host busy, the adapter is stopped.
func (k *Kernel) end(t *ddi.Thread, n *node, reason uint32, e *DeviceError) {
	if !k.caps.SupportPerEngineTDR || e.Storm > 0 || !k.resetNode(t, n, reason, e) {
		if !k.status(t).Failed() { // else the link is down
			k.stop(t, reason, e)
		}
	}
}

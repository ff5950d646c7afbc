package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// preemptCommand is the function of the miniport that stops a node.
const preemptCommand = "DxgkDdiPreemptCommand"

// busy reports whether a node has work in the hardware, or an answer of it is awaited.
func (n *node) busy() bool { return len(n.hardware) > 0 || n.preemption != 0 }

// contend stops a node if the work in it keeps other work from its turn, and reports
// whether it did. The other work is ready, so it goes first when the node has stopped.
func (k *Kernel) contend(t *ddi.Thread, n *node) bool {
	if !k.caps.PreemptionAware || n.preemption != 0 || len(n.hardware) == 0 {
		return false
	}
	for _, c := range k.candidates(n) {
		if !k.outranks(c, n.hardware[0]) {
			return false
		}
		switch {
		case len(c.pending) > 0 && !c.pending[0].placed:
			k.placeAgain(t, c.pending[0])
		case len(c.pending) == 0 && !c.jobs[0].blocked():
			k.make(t, c)
		}
		if len(c.pending) > 0 && c.pending[0].placed && k.free(c.pending[0]) {
			k.preempt(t, n)
			return true
		}
		if k.err != nil {
			return false
		}
	}
	return false
}

// free reports whether a part of a DMA buffer waits for nothing but paging buffers that go
// before it on its node. It must not wait for the work that it stops.
func (k *Kernel) free(s *submission) bool {
	return !slices.ContainsFunc(s.waits, func(m mark) bool {
		return !m.completed() && (m.line != &k.paging.line || m.line.node != s.line.node)
	})
}

// outranks reports whether the work of a context goes before what the hardware executes:
// it has a higher level, or the same one and the other has had a quantum.
func (k *Kernel) outranks(c *context, s *submission) bool {
	switch {
	case s.dma == nil:
		return false // the system class
	case c.level != s.level:
		return c.level > s.level
	}
	return c != s.line.context && k.dev.Now() >= s.began+k.quantum
}

// nextTurn returns when the hardware of a node may have to give way to other work: at the
// end of a quantum, or when a context has aged. It returns deadline if that is earlier.
func (k *Kernel) nextTurn(deadline uint64) uint64 {
	if !k.caps.PreemptionAware {
		return deadline
	}
	for i := range k.nodes {
		n := &k.nodes[i]
		if n.preemption != 0 || len(n.hardware) == 0 || n.hardware[0].dma == nil {
			continue
		}
		for _, d := range k.devices {
			for _, c := range d.contexts {
				if c.line.node == n && c != n.hardware[0].line.context && c.waits() {
					deadline = min(deadline, k.turnOf(c, n.hardware[0]))
				}
			}
		}
	}
	return deadline
}

// turnOf returns when to look again whether c outranks the work s.
func (k *Kernel) turnOf(c *context, s *submission) uint64 {
	now := k.dev.Now()
	if end := s.began + k.quantum; k.levelOf(c) >= s.level && end > now {
		return end
	}
	return now + agingQuantums*k.quantum
}

// preempt asks a node to stop. It gets no more work until it answers.
//
//	DDI     DxgkDdiPreemptCommand, at DISPATCH_LEVEL
func (k *Kernel) preempt(t *ddi.Thread, n *node) {
	n.submitted++
	n.preemption = n.submitted
	n.progressAt = k.dev.Now() // the time-out counts from here
	k.stats.Preemptions++
	fence := n.fenceID(n.preemption)
	k.observe(Event{Kind: EventPreempt, Node: n.ordinal, Fence: fence})
	old := t.Raise(ddi.DispatchLevel)
	k.scheduling = true
	st := k.driver.PreemptCommand(t, k.adapter, kmddi.PreemptCommand{PreemptionFenceID: fence, NodeOrdinal: n.ordinal})
	k.scheduling = false
	if st != ddi.StatusSuccess {
		k.bugcheck(preemptCommand, CodeScheduler, SchedulerSubmit, "preemption fence %d of node %d returned %v, want STATUS_SUCCESS", fence, n.ordinal, st)
	}
	k.dev.Lower(t, old)
}

// notePreempted records that a node has stopped, at DIRQL. Between its last completed
// fence and the preemption, nothing has completed.
func (k *Kernel) notePreempted(n *node, arg *kmddi.NotifyInterrupt) {
	if n.preemption == 0 || n.preempted || arg.FenceID != n.fenceID(n.preemption) {
		want := "none, since " + preemptCommand + " was not called"
		if n.preemption != 0 && !n.preempted {
			want = number(uint64(n.fenceID(n.preemption)))
		}
		k.bugcheck("DxgkCbNotifyInterrupt", CodeScheduler, SchedulerFence, "node %d: preemption fence %d reported, want %s", n.ordinal, arg.FenceID, want)
	}
	none := n.reported == n.base && arg.LastCompletedFenceID == 0 // no fence has completed yet
	if !none && arg.LastCompletedFenceID != n.fenceID(n.reported) {
		k.reported("DxgkCbNotifyInterrupt", n, arg.LastCompletedFenceID)
	}
	n.preempted = true
}

// requeue takes the work of a node that has stopped back, at DISPATCH_LEVEL. Paging buffers
// go first again, with their fences. The others get new ones, and are patched again.
func (k *Kernel) requeue(n *node) {
	work := n.hardware
	n.hardware, n.preemption, n.preempted = nil, 0, false
	var paging []*submission
	now := k.dev.Now()
	for i, s := range slices.Backward(work) {
		k.observe(Event{Kind: EventPreempted, Submission: s.serial})
		if i == 0 && s.line.context != nil {
			s.line.context.used += now - min(s.began, now)
		}
		s.line.submitted = s.mark.number - 1
		s.again, s.serial, s.began = s.serial, 0, 0
		s.arg.Flags.Resubmission = true
		switch c := s.line.context; {
		case c == nil:
			paging = append(paging, s)
		case s.line.cut:
			k.cancel(s.dma, s.part)
			k.recycle(s)
			c.line.settle()
		default:
			s.fence = 0
			s.dma.expect(s.part, 1)
			c.pending = slices.Insert(c.pending, 0, s)
		}
	}
	slices.Reverse(paging)
	n.waiting = append(paging, n.waiting...)
}

// expect counts the allocations of a part that is to be placed.
func (d *dmaBuffer) expect(p part, n int) {
	for i := p.start; i < p.end; i++ {
		if a := d.object(i); a != nil {
			a.queued += n
		}
	}
}

// displace takes the places from what is made and waits for s, which finds no place
// beside them.
func (k *Kernel) displace(s *submission) {
	for _, d := range k.devices {
		for _, c := range d.contexts {
			for _, o := range c.pending {
				if o != s && o.placed && k.follows(o, s) {
					o.letGo(false)
					o.dma.expect(o.part, 1)
				}
			}
		}
	}
}

// follows reports whether o cannot be submitted before s.
func (k *Kernel) follows(o, s *submission) bool {
	if o.line == s.line {
		return o.mark.number > s.mark.number
	}
	return slices.ContainsFunc(o.waits, func(m mark) bool {
		c := m.line.context
		return c != nil && !m.completed() && slices.ContainsFunc(c.pending, func(p *submission) bool {
			return p.mark.number <= m.number && (p == s || k.follows(p, s))
		})
	})
}

// cancel tells the miniport that the rest of a DMA buffer will not be executed.
//
//	DDI     DxgkDdiCancelCommand, at DISPATCH_LEVEL
func (k *Kernel) cancel(d *dmaBuffer, p part) {
	if !k.caps.CancelCommandAware || k.err != nil {
		return
	}
	t := k.thread
	old := t.Raise(ddi.DispatchLevel)
	st := k.driver.CancelCommand(t, k.adapter, kmddi.CancelCommand{
		Context: d.context.driver, DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private,
		DmaBufferSubmissionStartOffset: p.at, DmaBufferSubmissionEndOffset: p.to,
		AllocationList: d.list[:d.nList:d.nList], PatchLocationList: d.patches[:d.nPatches:d.nPatches],
		PatchLocationListSubmissionStart: uint32(p.start), PatchLocationListSubmissionLength: uint32(p.end - p.start),
	})
	d.end(d.used)
	if st != ddi.StatusSuccess {
		k.bugcheck("DxgkDdiCancelCommand", CodeScheduler, SchedulerCancel, "returned %v, want STATUS_SUCCESS", st)
	}
	t.Lower(old)
}

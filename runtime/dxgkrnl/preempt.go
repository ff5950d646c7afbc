package dxgkrnl

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// preemptCommand is the function of the miniport that stops a node.
const preemptCommand = "DxgkDdiPreemptCommand"

// takesBack reports whether work in the hardware may be taken back, and needs its places again.
func (k *Kernel) takesBack() bool { return k.caps.PreemptionAware || k.caps.SupportPerEngineTDR }

// busy reports whether a node has work in the hardware, or has not answered a preemption.
func (n *node) busy() bool { return len(n.hardware) > 0 || n.preemption != 0 }

// contend stops a node if what it executes keeps other work from its turn. It reports whether
// it did, or others were let in meanwhile, so that the contexts must be ranked again.
func (k *Kernel) contend(t *ddi.Thread, n *node) bool {
	if !k.caps.PreemptionAware || !n.executes() {
		return false
	}
	for _, c := range k.candidates(n) {
		if !n.executes() || !c.runs() {
			return true // others were let in meanwhile
		}
		if !k.outranks(c, c.level, c.oldest(), n) {
			continue
		}
		switch {
		case len(c.pending) > 0 && !c.pending[0].placed:
			k.placeAgain(t, c.pending[0])
		case len(c.pending) == 0 && !c.jobs[0].blocked():
			k.make(t, c)
		}
		if k.err != nil {
			return false
		}
		if n.executes() && len(c.pending) > 0 && c.pending[0].placed && k.free(c.pending[0]) {
			k.preempt(t, n)
			return true
		}
	}
	return k.contendInside(t, n)
}

// contendInside stops a node if work after what it executes outranks that.
func (k *Kernel) contendInside(t *ddi.Thread, n *node) bool {
	if !n.executes() {
		return false
	}
	for _, s := range n.hardware[1:] {
		if c := s.line.context; c != nil && k.free(s) && k.outranks(c, s.level, s.job.id, n) {
			k.preempt(t, n)
			return true
		}
	}
	return false
}

// executes reports whether a node executes a DMA buffer, and is not asked to stop.
func (n *node) executes() bool {
	return n.preemption == 0 && n.faulted == nil && !n.masked && len(n.hardware) > 0 && n.hardware[0].dma != nil
}

// free reports whether a part of a DMA buffer can be the first work of its node after a
// preemption: it waits for nothing but paging buffers of the node, and these do not wait
// for another node.
func (k *Kernel) free(s *submission) bool {
	n := s.line.node
	return !slices.ContainsFunc(s.waits, func(m mark) bool {
		return !m.completed() && (m.line != &k.paging.line || m.line.node != n)
	}) && !slices.ContainsFunc(n.waiting, func(p *submission) bool {
		return slices.ContainsFunc(p.waits, func(m mark) bool { return m.running() && m.line.node != n })
	})
}

// outranks reports whether work of a context goes before what node n executes, when that
// is stopped: the work has a higher level, or the same level and less time of the node
// after a whole quantum of the other.
func (k *Kernel) outranks(c *context, level int, job uint64, n *node) bool {
	s := n.hardware[0]
	running, now := s.line.context, k.dev.Now()
	if c == running {
		return false // it would continue the same buffer
	}
	if at := k.runningLevel(s); level != at {
		return level > at
	}
	if now < s.began+k.quantum {
		return false
	}
	used := running.used + now - s.began
	return cmp.Or(cmp.Compare(c.used/k.quantum, used/k.quantum), cmp.Compare(job, s.job.id)) < 0
}

// runningLevel returns the level of a submission that is executed: that of its context when
// it was submitted, or that of work that waits for it.
func (k *Kernel) runningLevel(s *submission) int {
	level := s.level
	for _, c := range k.able {
		if c.level > level && len(c.pending) > 0 && slices.ContainsFunc(c.pending[0].waits, func(m mark) bool {
			return m.line == s.line && !m.completed() && s.mark.number <= m.number
		}) {
			level = c.level
		}
	}
	return level
}

// nextTurn returns when the hardware of a node may have to give way to other work: at the
// end of a quantum, or when a context has aged. It returns deadline if that is earlier.
func (k *Kernel) nextTurn(deadline uint64) uint64 {
	if !k.caps.PreemptionAware {
		return deadline
	}
	for i := range k.nodes {
		n := &k.nodes[i]
		if !n.executes() {
			continue
		}
		for _, s := range n.hardware[1:] {
			if s.line.context != nil {
				deadline = min(deadline, k.turnEnds(n.hardware[0], s.level))
			}
		}
		for _, d := range k.devices {
			for _, c := range d.contexts {
				if c.line.node == n && c != n.hardware[0].line.context && c.waits() {
					deadline = min(deadline, k.turnEnds(n.hardware[0], max(k.levelOf(c), c.level)))
				}
			}
		}
	}
	return deadline
}

// turnEnds returns when to look again whether work of a level outranks the submission s,
// which is executed: at the end of its quantum, or after the time in which waiting work
// rises by a level.
func (k *Kernel) turnEnds(s *submission, level int) uint64 {
	now := k.dev.Now()
	if end := s.began + k.quantum; level >= s.level && end > now {
		return end
	}
	return now + agingQuantums*k.quantum
}

// preempt asks a node that has work in the hardware to stop. It gets no more work until it answers.
//
//	DDI     DxgkDdiPreemptCommand, at DISPATCH_LEVEL
func (k *Kernel) preempt(t *ddi.Thread, n *node) {
	n.submitted++
	n.preemption = n.submitted
	n.progressAt = k.dev.Now() // the time-out counts from here
	s := n.hardware[0]
	s.spent += n.progressAt - min(s.began, n.progressAt)
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

// requeue takes back the work of a node that has stopped, at DISPATCH_LEVEL or below. Paging
// buffers go first again, with their fences. The others get new ones, and are patched again.
func (k *Kernel) requeue(n *node) {
	work := n.hardware
	n.hardware, n.preemption, n.preempted = nil, 0, false
	var paging []*submission
	now := k.dev.Now()
	for i, s := range slices.Backward(work) {
		k.observe(Event{Kind: EventPreempted, Submission: s.serial})
		if c := s.line.context; i == 0 && c != nil {
			c.used += now - min(s.began, now)
			c.turn = now
		}
		s.line.submitted = s.mark.number - 1
		s.again, s.serial, s.began = s.serial, 0, 0
		s.arg.Flags.Resubmission = true
		switch c := s.line.context; {
		case c == nil:
			paging = append(paging, s)
		case s.line.cut:
			k.cancelled = append(k.cancelled, s)
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

// markFollowers notes which submissions cannot go to the hardware before a stopped one has
// its places again.
func (k *Kernel) markFollowers() {
	for _, d := range k.devices {
		for _, c := range d.contexts {
			for _, s := range c.pending {
				s.follows = false
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, d := range k.devices {
			for _, c := range d.contexts {
				for i, s := range c.pending {
					if !s.follows && (i > 0 && c.pending[i-1].stuck() || slices.ContainsFunc(s.waits, mark.stuck)) {
						s.follows, changed = true, true
					}
				}
			}
		}
	}
}

// stuck reports whether a submission has no places, or follows one that has none.
func (s *submission) stuck() bool { return !s.placed || s.follows }

// stuck reports whether the submission, or one before it in its line, is stuck.
func (m mark) stuck() bool {
	c := m.line.context
	return c != nil && !m.completed() && slices.ContainsFunc(c.pending, func(s *submission) bool {
		return s.mark.number <= m.number && s.stuck()
	})
}

// makeWay takes the places from all submissions that follow stopped ones, if a part then
// finds room, and reports whether it did.
func (k *Kernel) makeWay(d *dmaBuffer, p part) bool {
	var off []*submission
	for _, dev := range k.devices {
		for _, c := range dev.contexts {
			for _, s := range c.pending {
				if s.placed && s.follows {
					s.letGo(false)
					off = append(off, s)
				}
			}
		}
	}
	fits := len(off) > 0 && k.placeable(d, p.start, p.end)
	for _, s := range off {
		if fits {
			s.dma.expect(s.part, 1)
		} else {
			s.hold()
		}
	}
	return fits
}

// cancelRest cancels the work that requeue has taken back, but that does not go on.
func (k *Kernel) cancelRest() {
	all := k.cancelled
	k.cancelled = nil
	for _, s := range all {
		l := s.line
		k.discard(s)
		l.settle()
	}
}

// discard cancels a part of a DMA buffer that is made, but not in the hardware.
func (k *Kernel) discard(s *submission) {
	if s.again != 0 {
		k.observe(Event{Kind: EventCancelled, Submission: s.again})
	}
	k.cancel(s.dma, s.part)
	k.recycle(s)
}

// cancel tells the miniport that the rest of a DMA buffer will not be executed.
//
//	DDI     DxgkDdiCancelCommand, at PASSIVE_LEVEL
func (k *Kernel) cancel(d *dmaBuffer, p part) {
	if !k.caps.CancelCommandAware || k.err != nil {
		return
	}
	st := k.driver.CancelCommand(k.thread, k.adapter, kmddi.CancelCommand{
		Context: d.context.driver, DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private,
		DmaBufferSubmissionStartOffset: p.at, DmaBufferSubmissionEndOffset: p.to,
		AllocationList: d.list[:d.nList:d.nList], PatchLocationList: d.patches[:d.nPatches:d.nPatches],
		PatchLocationListSubmissionStart: uint32(p.start), PatchLocationListSubmissionLength: uint32(p.end - p.start),
	})
	d.end(d.used)
	if st != ddi.StatusSuccess {
		k.bugcheck("DxgkDdiCancelCommand", CodeScheduler, SchedulerCancel, "returned %v, want STATUS_SUCCESS", st)
	}
}

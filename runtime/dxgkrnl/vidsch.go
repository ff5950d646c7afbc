package dxgkrnl

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A node is a queue of the GPU. Its submissions are numbered from 1. The fence
// ID of a number is number + first - 1, modulo 2^32. The numbers themselves do not
// wrap.
//
// submitted >= reported >= completed.
type node struct {
	ordinal    uint32
	first      uint32        // fence ID of the first submission
	base       uint64        // last number before the last start or reset
	submitted  uint64        // last number given to the hardware
	reported   uint64        // last number reported by an interrupt; changes at DIRQL
	completed  uint64        // last number retired
	waiting    []*submission // paging buffers that are not yet in the hardware, in order
	hardware   []*submission // in the hardware, in order
	preemption uint64        // number of the preemption that is not yet answered; 0: none
	unanswered uint64        // number of the last preemption whose missing answer was reported
	preempted  bool          // it is answered, and the work is to be taken back
	faulted    *fault        // that it has reported; nil: none
	masked     bool          // the kernel keeps its interrupts in noted, since it is about to reset it
	noted      []kmddi.NotifyInterrupt
	reset      bool   // DxgkDdiResetEngine has returned, and it does not yet go on
	progressAt uint64 // time of the last retirement, or of the first work after idle
	sampled    uint64 // progressAt when it was last asked for its progress, see sample
	floor      uint64 // ticks that a context has at least used that gets work, see wake
}

// A submission is the work of one fence: a paging buffer, or a part of a DMA buffer.
type submission struct {
	mark            // in the line of its context, or in that of the paging buffers
	fence  uint64   // its number on the node; 0: none yet
	serial uint64   // among the submissions of all nodes, from 1, in the order of fences
	again  uint64   // its serial before it was preempted; 0: it was not
	waits  marks    // that must complete before, or precede it on its node
	on     []uint64 // serials of the submissions of other nodes that it has waited for
	arg    kmddi.SubmitCommand

	dma    *dmaBuffer // nil for a paging buffer
	job    *job       // nil for a paging buffer
	paging *pagingBuffer

	late          bool    // its node was asked to stop because it made no progress
	first         uint32  // its fence then
	spent         uint64  // ticks in which a node executed it, before it was asked to stop
	spared        bool    // it got more time since the node was responsive
	fruitless     bool    // a reset of the node has not aborted it
	level         int     // of the context when it was submitted
	part          part    // of a DMA buffer
	follows       bool    // it cannot go before a stopped submission, see markFollowers
	placed        bool    // its allocations have places, which they keep until it is submitted
	began         uint64  // time at which it was the first in the hardware
	before, after written // around its SubmitCommand
}

// fenceID returns the fence ID of a number.
func (n *node) fenceID(number uint64) uint32 { return uint32(number) + n.first - 1 }

// newSubmission makes the next submission of a line.
func (k *Kernel) newSubmission(l *line) *submission {
	var s *submission
	if i := len(k.spare) - 1; i >= 0 {
		s, k.spare = k.spare[i], k.spare[:i]
	} else {
		s = new(submission)
	}
	l.made++
	s.mark = mark{l, l.made}
	s.arg = kmddi.SubmitCommand{NodeOrdinal: l.node.ordinal}
	return s
}

// number gives a submission the next fence of its node and the next serial number, unless it
// has them.
func (k *Kernel) number(s *submission) {
	n := s.line.node
	if s.fence == 0 {
		n.submitted++
		s.fence = n.submitted
		s.arg.SubmissionFenceID = n.fenceID(s.fence)
	}
	if s.serial == 0 {
		k.serial++
		s.serial = k.serial
	}
}

// room reports whether a node accepts a submission.
func (k *Kernel) room(n *node) bool {
	return n.preemption == 0 && n.faulted == nil && !n.masked && len(n.hardware) < int(k.caps.HwQueuePacketCap)
}

// kick submits paging buffers, from PASSIVE_LEVEL, and reports whether it did.
func (k *Kernel) kick(t *ddi.Thread) bool {
	waiting := len(k.pagingNode().waiting)
	old := t.Raise(ddi.DispatchLevel)
	k.pump(t)
	k.dev.Lower(t, old)
	return len(k.pagingNode().waiting) < waiting
}

// pump submits the paging buffers that are ready and for which the hardware has room,
// at DISPATCH_LEVEL. In a DPC that interrupts a function of the GPU scheduler class it
// does nothing, since no other function of the class may run; the kernel submits after
// the function.
func (k *Kernel) pump(t *ddi.Thread) {
	if k.scheduling {
		return
	}
	n := k.pagingNode()
	for k.err == nil && len(n.waiting) > 0 && k.room(n) {
		s := n.waiting[0]
		if !s.undisturbed() {
			k.noteWaits(s)
			return
		}
		n.waiting = slices.Delete(n.waiting, 0, 1)
		k.number(s)
		k.observeQueue(s)
		k.submit(t, s)
	}
}

// noteWaits notes which submissions hold up s, for Event.
func (k *Kernel) noteWaits(s *submission) {
	if k.observer == nil {
		return
	}
	for _, m := range s.waits {
		if serial := k.serialOf(m); serial != 0 && !m.precedes(s.line.node) && !slices.Contains(s.on, serial) {
			s.on = append(s.on, serial)
		}
	}
}

// undisturbed reports whether no work in the hardware uses what a paging buffer moves.
func (s *submission) undisturbed() bool { return !slices.ContainsFunc(s.waits, mark.running) }

// pumped reports whether pump submits a paging buffer together with those before it: it also
// waits for no paging buffer, which would be in the hardware then.
func (s *submission) pumped() bool {
	return s.undisturbed() && !slices.ContainsFunc(s.waits, func(m mark) bool { return m.line.context == nil && !m.completed() })
}

// ready reports whether a part of a DMA buffer may be submitted. Paging buffers for its
// node precede it, since issue submits those that wait.
func (k *Kernel) ready(s *submission) bool {
	n := s.line.node
	return !slices.ContainsFunc(s.waits, func(m mark) bool {
		return !m.precedes(n) && (m.line != &k.paging.line || m.line.node != n)
	})
}

// submit gives a submission with a fence to the hardware, at DISPATCH_LEVEL. Its
// interrupt may arrive before SubmitCommand returns, so everything is recorded first.
func (k *Kernel) submit(t *ddi.Thread, s *submission) {
	n := s.line.node
	if len(n.hardware) == 0 {
		k.progressed(n)
	}
	n.hardware = append(n.hardware, s)
	if len(n.hardware) == 1 {
		k.executed(n)
	}
	s.line.submitted = s.mark.number
	p1, count := uint32(SchedulerSubmit), &k.stats.DMABuffers
	if s.paging != nil {
		p1, count = SchedulerPaging, &k.stats.PagingBuffers
		k.submitLent(&s.paging.lent, buildPaging)
	} else {
		k.submitLent(&s.dma.lent, patch)
	}
	if s.again == 0 {
		*count++
	}
	s.before, s.after = k.written, k.written
	k.observe(Event{Kind: EventSubmit, Submission: s.serial})
	arg := s.arg // an interrupt may retire s
	if st := k.driver.SubmitCommand(t, k.adapter, arg); st != ddi.StatusSuccess {
		k.bugcheck(submitCommand, CodeScheduler, p1, "fence %d to node %d returned %v, want STATUS_SUCCESS", arg.SubmissionFenceID, n.ordinal, st)
	}
	s.after = k.written
}

// progressed restarts the time in which a node must make progress.
func (k *Kernel) progressed(n *node) {
	n.progressAt, k.calm = k.dev.Now(), k.dev.Stats()
}

// retire releases the buffers of reported submissions, and takes those of stopped nodes
// back, at DISPATCH_LEVEL.
func (k *Kernel) retire(t *ddi.Thread) {
	for i := range k.nodes {
		n := &k.nodes[i]
		if n.completed != n.reported {
			k.retireNode(t, n)
		}
		if n.preempted {
			k.requeue(n)
		}
	}
}

// retireNode releases the buffers of the reported submissions of a node.
func (k *Kernel) retireNode(t *ddi.Thread, n *node) {
	n.completed = n.reported
	k.progressed(n)
	done := 0
	for done < len(n.hardware) && n.hardware[done].fence <= n.completed {
		s := n.hardware[done]
		done++
		if s.began == 0 { // it ended together with the one before it
			s.began = n.progressAt
		}
		k.stats.Fences++
		s.line.completed = s.mark.number
		s.line.settle()
		k.charge(s, n.progressAt)
		k.observe(Event{Kind: EventRetire, Submission: s.serial})
		if s.late {
			k.stats.Late++
			k.reportLate(t, n, s)
		}
		k.checkPaging(t, s)
		k.checkUnmapped(t, s)
		k.checkDummy(s)
		k.recycle(s)
	}
	n.hardware = slices.Delete(n.hardware, 0, done)
	if len(n.hardware) > 0 {
		k.executed(n)
	}
}

// reportLate reports a submission that ended only after its node was asked to stop. It may have had another fence before.
func (k *Kernel) reportLate(t *ddi.Thread, n *node, s *submission) {
	fence := fmt.Sprintf("fence %d", s.arg.SubmissionFenceID)
	if s.first != s.arg.SubmissionFenceID {
		fence += fmt.Sprintf(", which was fence %d,", s.first)
	}
	k.report(t, "gpu-late", submitCommand, fmt.Sprintf("node %d: %s ended after a time of %d clocks without progress and a preemption", n.ordinal, fence, k.tdrDelay()), s.serial)
}

// executed begins the time of the first submission in the hardware of a node, at progressAt.
// A submission that was preempted has the rest of its TdrDelay: two that hang and are stopped
// for each other do not go on for ever.
func (k *Kernel) executed(n *node) {
	s := n.hardware[0]
	s.began = n.progressAt
	n.progressAt -= min(s.spent, k.tdrDelay(), n.progressAt)
}

// recycle frees a submission and its buffer for reuse.
func (k *Kernel) recycle(s *submission) {
	if s.dma != nil {
		k.checkLent(&s.dma.lent, patch)
		s.dma.release()
	}
	if s.paging != nil {
		k.checkLent(&s.paging.lent, buildPaging)
		s.paging.giveBack()
		k.paging.free = append(k.paging.free, s.paging)
	}
	clear(s.waits)
	*s = submission{waits: s.waits[:0], on: s.on[:0]}
	k.spare = append(k.spare, s)
}

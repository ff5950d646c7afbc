package dxgkrnl

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A node is a queue of the GPU. Submissions are numbered from 1 in the order in
// which they enter it. The fence ID of a number is number + first - 1, modulo
// 2^32. The numbers themselves do not wrap.
//
// reserved >= queued >= submitted >= reported >= completed.
type node struct {
	ordinal    uint32
	first      uint32        // fence ID of the first submission
	base       uint64        // last number before the last start or reset
	reserved   uint64        // last number assigned
	queued     uint64        // last number added to waiting
	submitted  uint64        // last number submitted to the hardware
	reported   uint64        // last number reported by an interrupt; changes at DIRQL
	completed  uint64        // last number retired
	waiting    []*submission // not yet submitted to the hardware, in order
	hardware   []*submission // in the hardware, in order
	progressAt uint64        // time of the last retirement, or of the first work after idle
}

// A submission is the work of one fence.
type submission struct {
	node   *node
	number uint64
	serial uint64   // among those of all nodes, from 1
	waits  []uint64 // by node: number that must have completed, 0 for none
	arg    kmddi.SubmitCommand

	dma    *dmaBuffer // nil for a paging buffer
	paging *pagingBuffer

	firstPatch    int     // first location of its part
	patched       int     // locations of its part that Patch was given
	before, after written // around its SubmitCommand
}

// fenceID returns the fence ID of a submission number.
func (n *node) fenceID(number uint64) uint32 { return uint32(number) + n.first - 1 }

// reserve assigns the next number of node n to a submission.
func (k *Kernel) reserve(n *node) *submission {
	var s *submission
	if i := len(k.spare) - 1; i >= 0 {
		s, k.spare = k.spare[i], k.spare[:i]
	} else {
		s = &submission{waits: make([]uint64, len(k.nodes))}
	}
	n.reserved++
	k.serial++
	s.node, s.number, s.serial = n, n.reserved, k.serial
	s.arg = kmddi.SubmitCommand{NodeOrdinal: n.ordinal, SubmissionFenceID: n.fenceID(s.number)}
	return s
}

// enqueue adds a submission to its node's queue.
func (k *Kernel) enqueue(s *submission) {
	s.node.queued = s.number
	s.node.waiting = append(s.node.waiting, s)
	k.observeQueue(s)
}

// kick submits all ready submissions, from PASSIVE_LEVEL.
func (k *Kernel) kick(t *ddi.Thread) {
	old := t.Raise(ddi.DispatchLevel)
	k.pump(t)
	k.dev.Lower(t, old)
}

// pump submits ready submissions for which the hardware has room, at
// DISPATCH_LEVEL. In a DPC that interrupts a function of the GPU scheduler class
// it does nothing, since no other function of the class may run; the kernel
// submits after the function.
func (k *Kernel) pump(t *ddi.Thread) {
	if k.scheduling {
		return
	}
	for i := range k.nodes {
		n := &k.nodes[i]
		for k.err == nil && len(n.waiting) > 0 && len(n.hardware) < int(k.caps.HwQueuePacketCap) && k.ready(n.waiting[0]) {
			k.submit(t, n)
		}
	}
}

// ready reports whether all dependencies of s have completed.
func (k *Kernel) ready(s *submission) bool {
	for i, number := range s.waits {
		if number > k.nodes[i].completed {
			return false
		}
	}
	return true
}

// submit sends the first waiting submission of a node to the hardware. Its
// interrupt may arrive before SubmitCommand returns, so everything is recorded
// first.
func (k *Kernel) submit(t *ddi.Thread, n *node) {
	s := n.waiting[0]
	n.waiting = slices.Delete(n.waiting, 0, 1)
	if len(n.hardware) == 0 {
		k.progressed(n)
	}
	n.hardware = append(n.hardware, s)
	n.submitted = s.number
	p1 := uint32(SchedulerSubmit)
	if s.arg.Flags.Paging {
		p1 = SchedulerPaging
		k.stats.PagingBuffers++
	} else {
		k.stats.DMABuffers++
	}
	if s.dma != nil {
		k.submitLent(&s.dma.lent, patch)
	} else {
		k.submitLent(&s.paging.lent, buildPaging)
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

// retire releases the buffers of reported submissions, at DISPATCH_LEVEL.
func (k *Kernel) retire(t *ddi.Thread) {
	for i := range k.nodes {
		n := &k.nodes[i]
		if n.completed == n.reported {
			continue
		}
		k.stats.Fences += n.reported - n.completed
		n.completed = n.reported
		k.progressed(n)
		done := 0
		for done < len(n.hardware) && n.hardware[done].number <= n.completed {
			k.observe(Event{Kind: EventRetire, Submission: n.hardware[done].serial})
			k.checkPaging(t, n.hardware[done])
			k.recycle(n.hardware[done])
			done++
		}
		n.hardware = slices.Delete(n.hardware, 0, done)
	}
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
	*s = submission{waits: s.waits}
	k.spare = append(k.spare, s)
}

// passed reports whether the given number of each node has completed.
func (k *Kernel) passed(numbers []uint64) bool {
	for i, number := range numbers {
		if number > k.nodes[i].completed {
			return false
		}
	}
	return true
}

// wait lets time pass until done returns true, at PASSIVE_LEVEL. It fails if
// the GPU has stopped or stops first. what is what it waits for.
func (k *Kernel) wait(t *ddi.Thread, what string, done func() bool) ddi.Status {
	if k.observer != nil && k.err == nil && !done() {
		k.observe(Event{Kind: EventWait, Text: what})
		defer k.observe(Event{Kind: EventWaitEnd})
	}
	began, resets := k.dev.Now(), k.resets
	ended := func() bool { return k.err != nil || k.resets != resets || done() }
	for !ended() {
		if k.letIn(t, ended) {
			continue
		}
		late := k.late(t, began)
		switch {
		case k.err != nil || done(): // by a message that late delivered
		case late:
			k.expire(t)
		default:
			if err := k.dev.Wait(t, k.deadline(began)); err != nil {
				k.stopLink(t, err)
			}
		}
	}
	if k.resets != resets {
		return ddi.StatusDeviceRemoved
	}
	return k.status(t)
}

// late reports whether the deadline of a wait has passed. First it delivers the
// messages that arrived by now: those of a board in another process arrive at any time,
// and a wait after a long pause of the application finds them and the time at once.
func (k *Kernel) late(t *ddi.Thread, began uint64) bool {
	now := k.dev.Now()
	if now < k.deadline(began) {
		return false
	}
	k.dev.Deliver(t)
	return now >= k.deadline(began)
}

// idle waits until nothing is submitted or waiting.
func (k *Kernel) idle(t *ddi.Thread) ddi.Status {
	return k.wait(t, "all submissions", func() bool {
		for i := range k.nodes {
			if k.nodes[i].completed != k.nodes[i].queued {
				return false
			}
		}
		return true
	})
}

// LeastMove is how many bytes a submission may at least move over a slow link.
const LeastMove = 8 << 20

// tdrDelay returns the ticks without progress until the GPU counts as hung. A packet may
// move an allocation as a whole.
func (k *Kernel) tdrDelay() uint64 { return k.tdrTicks + k.linkDelay(max(LeastMove, k.largest)) }

// deadline returns when the first node that has work must have made progress.
// If no node has work, it is the end of a wait that started at the time began.
func (k *Kernel) deadline(began uint64) uint64 {
	delay := k.tdrDelay()
	first, found := began+delay, false
	for i := range k.nodes {
		n := &k.nodes[i]
		if d := n.progressAt + delay; len(n.hardware) > 0 && (!found || d < first) {
			first, found = d, true
		}
	}
	return first
}

// working reports whether a node has work in the hardware.
func (k *Kernel) working() bool {
	for i := range k.nodes {
		if len(k.nodes[i].hardware) > 0 {
			return true
		}
	}
	return false
}

// expire handles nodes without progress: a lost interrupt, completed work that
// is not retired, or a hang.
func (k *Kernel) expire(t *ddi.Thread) {
	if !k.working() {
		k.stopTimeout(t, &k.nodes[0])
		return
	}
	for i := range k.nodes {
		n := &k.nodes[i]
		if len(n.hardware) == 0 || k.dev.Now() < n.progressAt+k.tdrDelay() {
			continue
		}
		interrupts, before := k.stats.Interrupts, n.completed
		moved := k.poll(t, n)
		switch {
		case k.err != nil:
			return
		case moved && k.stats.Interrupts == interrupts:
			k.stats.LostInterrupts++
			k.report(t, "interrupt-lost", "DxgkDdiQueryCurrentFence", fmt.Sprintf("node %d: fence %d completed, but no interrupt reported it in %d clocks",
				n.ordinal, n.fenceID(n.reported), k.tdrDelay()))
		case n.completed == before:
			k.stopTimeout(t, n)
			return
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
	if n.completed != n.reported || k.faulted != nil {
		k.dev.QueueDPC()
		k.dev.Deliver(t)
	}
	return n.reported != before
}

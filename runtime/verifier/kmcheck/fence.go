package kmcheck

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A queue is what the Checker knows of the fences of one node.
type queue struct {
	pending []pending // submitted and not reported, in order
	last    uint32    // the last fence that was reported
	any     bool      // one was reported
	moved   bool      // one was reported since the device started or was reset
	shown   bool      // one that was reported was in a register or in memory that the GPU wrote
}

// A pending is a submission whose fence has not been reported.
type pending struct {
	fence uint32
	empty bool   // it has no commands, so it may complete without the GPU
	fails bool   // the driver has reported a fault of it
	news  uint64 // Checker.news when it was submitted
	seen  bool   // the fence was in a register or in memory that the GPU wrote

	writes uint64  // Checker.writes when it was submitted
	writer writing // what wrote its buffer
	flags  kmddi.SubmitFlags
	isrs   uint64 // Checker.isrs when the fence was first seen
	claims uint64 // Checker.claims then
}

// queueOf returns the queue of a node.
func (k *Checker) queueOf(node uint32) *queue {
	q := k.queues[node]
	if q == nil {
		q = &queue{}
		k.queues[node] = q
	}
	return q
}

// find returns the index of a pending fence, or -1.
func (q *queue) find(fence uint32) int {
	return slices.IndexFunc(q.pending, func(p pending) bool { return p.fence == fence })
}

// submitted notes a submission.
func (k *Checker) submitted(fr *frame, arg kmddi.SubmitCommand) {
	k.evidence.submit = fr.call
	writer := k.evidence.writer
	if arg.Flags.Paging {
		writer = writing{"DxgkDdiBuildPagingBuffer", k.evidence.paging}
	}
	q := k.queueOf(arg.NodeOrdinal)
	q.pending = append(q.pending, pending{
		fence: arg.SubmissionFenceID, news: k.news, writes: k.writes, flags: arg.Flags, writer: writer,
		empty: arg.DmaBufferSubmissionStartOffset == arg.DmaBufferSubmissionEndOffset,
	})
}

// drop forgets the submissions that a reset lost.
func (k *Checker) drop() {
	for _, q := range k.queues {
		if n := len(q.pending); n > 0 {
			q.last, q.any = q.pending[n-1].fence, true
		}
		q.pending, q.moved = q.pending[:0], false
	}
}

// reported checks a fence that the driver reports. The graphics kernel itself
// checks that the fence is submitted and does not go backwards.
func (k *Checker) reported(fr *frame, arg kmddi.NotifyInterrupt) {
	if arg.EngineOrdinal != 0 {
		k.fail(fr, "interrupt-engine", "node %d: EngineOrdinal is %d, want 0, the only engine", arg.NodeOrdinal, arg.EngineOrdinal)
	}
	k.checkInterruptStatus(fr, arg)
	if fr.caller != nil {
		fr.caller.notified = true
	}
	q := k.queueOf(arg.NodeOrdinal)
	i := q.find(arg.FenceID)
	k.evidence.unknown = i < 0 && k.evidence.came(arg.FenceID)
	switch {
	case arg.InterruptType == kmddi.InterruptDMAFaulted:
		if i < 0 {
			k.fail(fr, "fence-faulted", "node %d: fence %d has faulted, want one that is submitted and not reported", arg.NodeOrdinal, arg.FenceID)
		} else {
			q.pending[i].fails = true
			p := q.pending[i]
			k.evidence.faulted = &p
		}
	case arg.InterruptType == kmddi.InterruptDMAPreempted:
		k.preempted(fr, q, arg)
	case arg.InterruptType != kmddi.InterruptDMACompleted:
	case i >= 0:
		k.checkEarly(fr, arg, q.pending[:i+1], q.pending[i:])
		q.shown = q.shown || slices.ContainsFunc(q.pending[i:], func(p pending) bool { return p.seen })
		k.checkUnclaimed(fr, arg, q.pending[:i+1])
		q.last, q.any, q.moved = arg.FenceID, true, true
		q.pending = slices.Delete(q.pending, 0, i+1)
	case q.any && arg.FenceID == q.last:
		k.fail(fr, "fence-twice", "node %d: fence %d reported, which was reported before or lost in a reset", arg.NodeOrdinal, arg.FenceID)
	}
}

// preempted checks a preemption that the driver reports, which also reports what has
// completed. The other submissions are taken back. The graphics kernel itself checks the
// fences.
func (k *Checker) preempted(fr *frame, q *queue, arg kmddi.NotifyInterrupt) {
	if i := q.find(arg.LastCompletedFenceID); i >= 0 {
		if q.shown && q.unseen(i) {
			k.fail(fr, "preempt-completed", "node %d: LastCompletedFenceID is %d, but of the fences that were not reported the GPU has none from %d on",
				arg.NodeOrdinal, arg.LastCompletedFenceID, arg.LastCompletedFenceID)
		} else {
			k.checkEarly(fr, arg, q.pending[:i+1], q.pending[i:])
		}
		q.last, q.any, q.moved = arg.LastCompletedFenceID, true, true
	}
	q.pending = q.pending[:0]
}

// unseen reports whether the last buffer with commands up to pending[i], and all that follow it, have
// a fence that the driver has not seen.
func (q *queue) unseen(i int) bool {
	for ; i >= 0 && q.pending[i].empty; i-- {
	}
	return i >= 0 && !slices.ContainsFunc(q.pending[i:], func(p pending) bool { return p.seen })
}

// checkEarly checks that the driver can know that the submissions in done have
// completed. A fence in later is also evidence.
func (k *Checker) checkEarly(fr *frame, arg kmddi.NotifyInterrupt, done, later []pending) {
	work := false
	for _, p := range done {
		work = work || !p.empty
		if !p.empty && p.news == k.news {
			k.fail(fr, "fence-early", "node %d: fence %d reported, but since its submission there was no interrupt, no register was read and the GPU wrote nothing",
				arg.NodeOrdinal, arg.FenceID)
			return
		}
	}
	if work && !slices.ContainsFunc(later, func(p pending) bool { return p.seen }) {
		k.fail(fr, "fence-unseen", "node %d: fence %d reported, but no register had the value and the GPU did not write it", arg.NodeOrdinal, arg.FenceID)
	}
}

// checkUnclaimed checks that the interrupt routine did not ignore the interrupt of
// one of the submissions in done, which DxgkDdiQueryCurrentFence finds. Interrupts
// before the fence was seen may be others.
func (k *Checker) checkUnclaimed(fr *frame, arg kmddi.NotifyInterrupt, done []pending) {
	in := fr.function()
	i := slices.IndexFunc(done, func(p pending) bool { return p.seen })
	if in == nil || in.f.Name != queryFence || i < 0 || k.isrs == done[i].isrs || k.claims != done[i].claims {
		return
	}
	k.m.Report(verifier.Report{
		Rule: "interrupt-ignored", Thread: fr.t, Func: &verifier.Func{Name: interruptRoutine},
		Text: fmt.Sprintf("returned FALSE for each of %d interrupts since the GPU wrote fence %d of node %d, which %s then found completed",
			k.isrs-done[i].isrs, done[i].fence, arg.NodeOrdinal, queryFence),
	})
}

// see notes a value that came from the GPU.
func (k *Checker) see(v uint32) {
	k.evidence.receive(v)
	for _, q := range k.queues {
		if i := q.find(v); i >= 0 && !q.pending[i].seen {
			p := &q.pending[i]
			p.seen, p.isrs, p.claims = true, k.isrs, k.claims
		}
	}
}

// checkQuery checks what QueryCurrentFence returned.
func (k *Checker) checkQuery(fr *frame, out kmddi.QueryCurrentFenceOut) {
	node := fr.args[1].(kmddi.QueryCurrentFence).NodeOrdinal
	q := k.queueOf(node)
	none := !q.moved && out.CurrentFence == 0 // no fence has completed yet
	if i := q.find(out.CurrentFence); i >= 0 && !none {
		last := "none"
		if q.any {
			last = fmt.Sprint(q.last)
		}
		k.failBy(fr, verifier.Missing("DxgkCbNotifyInterrupt", fr.f.Name), "fence-query", "node %d: CurrentFence is %d, but the last fence reported is %s, want it reported by DxgkCbNotifyInterrupt before the return",
			node, out.CurrentFence, last)
	}
}

// DeviceWrote reports to the Checker that the device wrote p to host memory at a
// physical address. It is a hal.Machine's observer. Only memory that the driver
// allocated matters.
func (k *Checker) DeviceWrote(addr uint64, p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.held {
		if r.memory == 0 || addr+uint64(len(p)) <= r.memory || addr >= r.memory+r.size {
			continue
		}
		k.news++
		for i := -addr & 3; i+4 <= uint64(len(p)); i += 4 {
			k.see(binary.LittleEndian.Uint32(p[i:]))
		}
	}
}

// enterFence notes calls that concern fences.
func (k *Checker) enterFence(fr *frame) {
	switch fr.f.Name {
	case interruptRoutine:
		k.news++
		k.isrs++
	case "DxgkDdiCollectDbgInfo":
		k.checkIgnored(fr)
	case "WRITE_REGISTER_ULONG", "DxgkCbWriteDeviceSpace":
		k.writes++
	case "DxgkDdiSubmitCommand":
		k.submitted(fr, fr.args[1].(kmddi.SubmitCommand))
	case "DxgkCbNotifyInterrupt":
		if fr.level == ddi.DIRQL {
			k.reported(fr, fr.args[1].(kmddi.NotifyInterrupt))
		}
	}
}

// leaveFence notes results that concern fences.
func (k *Checker) leaveFence(fr *frame, results []any) {
	if s, ok := statusOf(results); ok && s.Failed() {
		return
	}
	switch fr.f.Name {
	case interruptRoutine:
		if results[0].(bool) {
			k.claims++
		}
		if fr.notified && !results[0].(bool) {
			k.fail(fr, "interrupt-claim", "returned FALSE after DxgkCbNotifyInterrupt, want TRUE")
		}
	case queryFence:
		k.checkQuery(fr, results[0].(kmddi.QueryCurrentFenceOut))
	case "DxgkDdiResetFromTimeout", stopDevice:
		k.drop()
	case "DxgkDdiResetEngine":
		q := k.queueOf(fr.args[1].(kmddi.ResetEngine).NodeOrdinal)
		q.last, q.any, q.moved = results[0].(kmddi.ResetEngineOut).LastAbortedFenceID, true, true
		q.pending = q.pending[:0]
	case "READ_REGISTER_ULONG", "DxgkCbReadDeviceSpace":
		k.news++
		k.see(results[0].(uint32))
	}
}

package why

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// entered notes the calls of the miniport that a submission waits for.
func (b *builder) entered(e *eventlog.Event, at Point, name string) {
	switch name {
	case "DxgkDdiPatch":
		c := e.Clone()
		b.patch = &c
	case "DxgkDdiSubmitCommand":
		if s := b.giving; s != nil {
			c := e.Clone()
			s.given, s.submit, b.giving = at, &c, nil
		}
	case "DxgkCbNotifyInterrupt":
		b.untaken()
		b.answered(e, at)
		c := e.Clone()
		b.notice = &c
	case "DxgkDdiCollectDbgInfo":
		b.collect = at
	case "DxgkDdiInterruptRoutine":
		b.follows(at, func(s *submission) (before, next *Point) { return &s.message, &s.routine })
	case "DxgkDdiQueryCurrentFence":
		b.follows(at, func(s *submission) (before, next *Point) { return &s.reported, &s.asked })
	case "DxgkDdiDpcRoutine":
		b.follows(at, func(s *submission) (before, next *Point) { return &s.reported, &s.deferred })
	case "DxgkCbNotifyDpc":
		b.follows(at, func(s *submission) (before, next *Point) { return &s.deferred, &s.notified })
	}
}

// A noticeLine is what a line of the trace says of a call of DxgkCbNotifyInterrupt.
type noticeLine struct {
	Args struct {
		Arg struct {
			InterruptType        string
			FenceID, NodeOrdinal uint64
		}
	}
}

// untaken notes the last call of DxgkCbNotifyInterrupt, if the kernel has not taken a report from it.
func (b *builder) untaken() {
	n := b.notice
	if b.notice = nil; n == nil {
		return
	}
	var l noticeLine
	if json.Unmarshal([]byte(n.Text()), &l) != nil || l.Args.Arg.InterruptType != "InterruptDMACompleted" {
		return
	}
	for _, s := range *b.flight(l.Args.Arg.NodeOrdinal) {
		if uint64(s.fence) == l.Args.Arg.FenceID && !s.reported.In() {
			s.untaken = Point{n.ID, n.Time}
		}
	}
}

// follows notes a call as the next step of each submission in the hardware that has had the step before it.
func (b *builder) follows(at Point, steps func(s *submission) (before, next *Point)) {
	b.each(func(s *submission) bool {
		if before, next := steps(s); before.In() && !next.In() {
			*next = at
		}
		return true
	})
}

// notGiven is what is wrong if the kernel does not give a submission to the miniport.
const notGiven = "the kernel did not call DxgkDdiSubmitCommand for it"

// submitLine is what a line of the trace says of a call of DxgkDdiSubmitCommand.
type submitLine struct {
	Args struct {
		Arg struct {
			DmaBufferPhysicalAddress                                     string
			DmaBufferSubmissionStartOffset, DmaBufferSubmissionEndOffset uint64
			SubmissionFenceID, NodeOrdinal                               uint64
		}
	}
}

// mistake returns what the kernel did wrong when it gave the submission to the hardware, or "".
func (s *submission) mistake() string {
	if s.wrong == "" && s.submit != nil {
		s.wrong = s.misnamed(s.submit.Text())
		s.submit = nil
	}
	return s.wrong
}

// misnamed returns which argument of DxgkDdiSubmitCommand is not that of the submission, or "".
func (s *submission) misnamed(line string) string {
	var l submitLine
	if json.Unmarshal([]byte(line), &l) != nil {
		return ""
	}
	a := &l.Args.Arg
	for _, x := range []struct {
		name      string
		got, want string
	}{
		{"NodeOrdinal", fmt.Sprint(a.NodeOrdinal), fmt.Sprint(s.node)},
		{"SubmissionFenceID", fmt.Sprint(a.SubmissionFenceID), fmt.Sprint(s.fence)},
		{"DmaBufferPhysicalAddress", a.DmaBufferPhysicalAddress, fmt.Sprintf("%#x", s.buffer)},
		{"DmaBufferSubmissionStartOffset", fmt.Sprint(a.DmaBufferSubmissionStartOffset), fmt.Sprint(s.start)},
		{"DmaBufferSubmissionEndOffset", fmt.Sprint(a.DmaBufferSubmissionEndOffset), fmt.Sprint(s.end)},
	} {
		if x.got != x.want {
			return fmt.Sprintf("the kernel called DxgkDdiSubmitCommand with %s %s, want %s", x.name, x.got, x.want)
		}
	}
	return ""
}

// inOrder notes whether a submission that goes to the hardware is the first of its queue, and
// whether those that it waits for have ended.
func (b *builder) inOrder(s *submission) {
	waiting := ofNode(&b.queues, uint64(s.node))
	queue := *waiting
	if i := slices.Index(queue, s); i >= 0 {
		*waiting = append(queue[:i:i], queue[i+1:]...)
	}
	if before := b.giving; before != nil {
		before.wrong = notGiven
	}
	b.giving = s
	for _, on := range s.depends {
		// A node keeps the order of its ring.
		if d := b.subs[on]; d != nil && d.epoch == s.epoch && !d.over() && (d.node != s.node || !d.submitted.In()) {
			s.wrong = fmt.Sprintf("the kernel gave it to the hardware while %s, for which it waits, had not ended", d.name())
		}
	}
	if len(queue) > 0 && queue[0] != s {
		s.wrong = fmt.Sprintf("the kernel gave it to the hardware while %s, which is before it in the queue of node %d, was in the queue", queue[0].name(), s.node)
	}
}

// misgiven returns the first submission that the kernel gave to the hardware wrongly, or in whose place a node did other work, or nil. broken is
// the rule that stopped the run, or nil.
func (r *Run) misgiven(broken *happening) *submission {
	for _, s := range r.order {
		if s.mistake() == "" && broken != nil && strings.Contains(broken.Text(), "access-address") {
			s.wrong = r.mispatched(s)
		}
		if s.wrong != "" || s.rerun.In() && !s.over() && broken != nil && s.rerun.Event < broken.ID {
			return s
		}
	}
	return nil
}

// patchLine is what a line of the trace says of a call of DxgkDdiPatch.
type patchLine struct {
	Args struct {
		Arg struct {
			AllocationList []struct {
				SegmentID       uint64
				PhysicalAddress string
			}
			PatchLocationList []struct{ AllocationIndex, PatchOffset int }
		}
	}
}

// mispatched returns which allocation of a submission had another place than the kernel told
// DxgkDdiPatch, or "".
func (r *Run) mispatched(s *submission) string {
	var l patchLine
	if s.patch == nil || json.Unmarshal([]byte(s.patch.Text()), &l) != nil {
		return ""
	}
	told := map[uint32]string{}
	list := l.Args.Arg.AllocationList
	for _, p := range l.Args.Arg.PatchLocationList {
		if p.AllocationIndex < len(list) {
			told[uint32(p.PatchOffset)] = list[p.AllocationIndex].PhysicalAddress
		}
	}
	for _, u := range s.uses {
		got, ok := told[u.offset]
		at := r.placed(u.allocation, s.queued)
		switch {
		case !ok:
		case at == nil:
			return fmt.Sprintf("the kernel had evicted allocation %#x, which DxgkDdiPatch writes at %#x of the buffer", u.allocation, u.offset)
		case got != fmt.Sprintf("%#x", at.address):
			return fmt.Sprintf("the kernel called DxgkDdiPatch with PhysicalAddress %s for allocation %#x, want %s", got, u.allocation, pkt.FormatAddr(at.address))
		}
	}
	return ""
}

// placed returns where an allocation is at an event in a segment, or nil.
func (r *Run) placed(allocation uint64, when Point) *place {
	for _, p := range r.places {
		if p.allocation == allocation && !p.memory && p.from.Event <= when.Event && (!p.to.In() || p.to.Event > when.Event) {
			return p
		}
	}
	return nil
}

// unwritten reports whether the fence of a submission is not in memory, though its packet has
// ended. The host has no memory of fences if the miniport got none. Queues of the firmware have
// values of their own, which the log does not have.
func (r *Run) unwritten(s *submission) bool {
	return r.Header.Observed && r.hosted && s.fenced.In() && !s.written.In() && !r.rings
}

// notWritten says what was written instead of a fence.
func (r *Run) notWritten(s *submission) string {
	text := fmt.Sprintf("node %d executed the packet of its fence at clock %d, but no write of %#x to its memory followed", s.node, s.fenced.Time, s.fence)
	if s.other.In() {
		text += fmt.Sprintf("; it wrote %#x to %s", s.other.value, pkt.FormatAddr(pkt.Host|s.other.addr))
	}
	return text
}

// notReported says how far the message about a submission has come.
func (s *submission) notReported() string {
	if !s.routine.In() {
		return fmt.Sprintf("an interrupt message arrived at clock %d, but DxgkDdiInterruptRoutine was not called", s.message.Time)
	}
	if s.untaken.In() {
		return fmt.Sprintf("DxgkCbNotifyInterrupt had the fence at clock %d, and the kernel did not take it, as in a reset of the node", s.untaken.Time)
	}
	return fmt.Sprintf("an interrupt message arrived at clock %d, but no DxgkCbNotifyInterrupt with this fence followed", s.message.Time)
}

// notRetired says how far the report of a submission has come.
func (s *submission) notRetired() string {
	switch {
	case !s.deferred.In():
		return "DxgkDdiDpcRoutine was not called after the report"
	case !s.notified.In():
		return "no DxgkCbNotifyDpc followed the report"
	}
	return fmt.Sprintf("DxgkCbNotifyDpc was called at clock %d, but the kernel did not retire it", s.notified.Time)
}

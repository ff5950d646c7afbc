package why

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// ErrQuestion is wrapped by the error of a question about something that is not in the log.
var ErrQuestion = errors.New("why: no such thing in the log")

// ErrSeveral is wrapped by the error of a question that several things in the log fit.
var ErrSeveral = errors.New("why: several things in the log fit")

// Fence answers why a fence of a node was written, or was not. node is -1 if only one node
// has the fence. It fails with ErrQuestion or ErrSeveral.
func (r *Run) Fence(node int, fence uint32) (*Answer, error) {
	var found []*submission
	for _, s := range r.order {
		if s.fence == fence && (node < 0 || s.node == uint32(node)) {
			found = append(found, s)
		}
	}
	nodes := map[uint32]bool{}
	for _, s := range found {
		nodes[s.node] = true
	}
	if len(found) == 0 {
		if a := r.preemption(node, fence); a != nil {
			return a, nil
		}
	}
	switch {
	case len(found) == 0 && node >= 0:
		return nil, fmt.Errorf("%w: no submission of node %d has fence %d; %s", ErrQuestion, node, fence, r.fences())
	case len(found) == 0:
		return nil, fmt.Errorf("%w: no submission has fence %d; %s", ErrQuestion, fence, r.fences())
	case len(nodes) > 1:
		var ask []string
		for _, node := range slices.Sorted(maps.Keys(nodes)) {
			ask = append(ask, fmt.Sprintf("fence %d:%d", node, fence))
		}
		return nil, fmt.Errorf("%w: %d nodes have a fence %d; ask for %s", ErrSeveral, len(ask), fence, strings.Join(ask, " or "))
	}
	s := found[len(found)-1]
	a := r.submission(s)
	a.Question = fmt.Sprintf("fence %d of node %d", s.fence, s.node)
	if stop := r.endOf(s); stop != nil {
		if stop.meant != nil {
			a.step(stop.meant.Point, "injected by the bench: %s", stop.meant.describe())
		}
		a.step(Point{stop.ID, stop.Time}, "%s", stop.because())
		a.sort()
	}
	return a, nil
}

// fences describes the fences of the log.
func (r *Run) fences() string {
	last := map[uint32]uint32{}
	for _, s := range r.order {
		last[s.node] = s.fence
	}
	var parts []string
	for _, node := range slices.Sorted(maps.Keys(last)) {
		parts = append(parts, fmt.Sprintf("the last of node %d is %d", node, last[node]))
	}
	if len(parts) == 0 {
		return "it has no submission"
	}
	return strings.Join(parts, ", ")
}

// submission answers why a submission has ended, or has not.
func (r *Run) submission(s *submission) *Answer {
	a := &Answer{Question: s.name(), Verdict: "it was written, reported and retired"}
	a.frames(s.stack)
	a.before(r, s)
	a.step(s.queued, "%s enters the queue of the kernel: %s", s.name(), s.describe())
	for _, on := range s.depends {
		if d := r.subs[on]; d != nil && !d.back {
			a.step(d.retired, "%s, for which it waits, has ended", d.name())
		}
	}
	a.step(s.submitted, "the kernel gives it to the hardware")
	a.step(s.rung, "DxgkDdiSubmitCommand rings the doorbell, %s = %#x", register(s.rungBy.offset), s.rungBy.value)
	a.step(s.fetched, "node %d begins to fetch it: the host serves its read of %d bytes at %s", s.node, s.reads.value, pkt.FormatAddr(pkt.Host|s.reads.addr))
	if !r.Header.Observed && s.submitted.In() && r.fetchOf(s) != notFetched {
		a.unknown("what node %d did, since this board does not tell", s.node)
	}
	a.step(s.begun, "node %d begins it", s.node)
	if p := s.lastExecuted(); p != nil {
		a.step(p.executed, "node %d executes %s", s.node, s.describePacket(p))
	}
	a.step(s.fenced, "node %d executes the packet of its fence", s.node)
	a.step(s.written, "the fence is in host memory")
	a.step(s.message, "an interrupt message arrives")
	if s.reported.In() {
		a.meanwhile(after(s.reportStack, s.submitted))
		a.step(s.reported, "the fence is reported")
	}
	switch {
	case s.back:
		return r.preempted(a, s)
	case s.retired.In():
		a.meanwhile(after(s.retireStack, s.reported))
		a.step(s.retired, "it has ended")
		r.delay(a, s)
	}
	a.step(s.late, "an interrupt message arrives, after the driver has asked")
	if s.retired.In() && !r.unsaid(s) {
		return a
	}
	if g, ok := r.missed(s.queued.Event, r.leaves(s)); ok {
		return a.notKnown("what became of it is not known", g)
	}
	return r.missing(a, s, map[*submission]bool{})
}

// unsaid reports whether the end of a submission was not told as it must be: the kernel gave it
// to the hardware wrongly, its fence is not in memory, or the kernel had to ask.
func (r *Run) unsaid(s *submission) bool {
	return s.retired.In() && !s.back && (s.mistake() != "" || r.unwritten(s) || r.askedFence(s) || r.askedEnd(s))
}

// patience returns the clocks after which a step counts as late: a tenth of a second, or a twentieth of TdrDelay if that is less, but at least a
// hundredth of a second.
func (r *Run) patience() uint64 { return r.lateAfter(r.Header.TdrDelay / 20) }

// lateAfter returns a tenth of a second in clocks, or a number of clocks that is not 0 if that is less, but at least a hundredth of a second.
func (r *Run) lateAfter(clocks uint64) uint64 {
	if clocks == 0 {
		return r.Header.Hz / 10
	}
	return min(r.Header.Hz/10, max(clocks, r.Header.Hz/100))
}

// askedFence reports whether the kernel asked for the fence of a submission when it was late, and no interrupt has reported it.
func (r *Run) askedFence(s *submission) bool {
	done := s.fenced
	if !done.In() {
		done = s.written
	}
	return done.In() && s.reported.Time-done.Time > r.patience() && !within(s.reportStack, "DxgkDdiInterruptRoutine")
}

// askedEnd reports whether a submission was retired only after the kernel asked for its fence, and late after the report. On a slow link a
// DPC may take as long.
func (r *Run) askedEnd(s *submission) bool {
	return s.asked.In() && s.retired.Time-s.reported.Time > r.patience()
}

// within reports whether a function was open.
func within(stack []frame, name string) bool {
	return slices.ContainsFunc(stack, func(f frame) bool { return f.name == name })
}

// after returns the calls of a stack that began after an event.
func after(stack []frame, p Point) []frame {
	for i, f := range stack {
		if f.Event > p.Event {
			return stack[i:]
		}
	}
	return nil
}

// lastExecuted returns the last packet of s that was executed, or nil.
func (s *submission) lastExecuted() (last *packet) {
	for i := range s.packets {
		if s.packets[i].executed.In() {
			last = &s.packets[i]
		}
	}
	return last
}

// describe describes the buffer of a submission.
func (s *submission) describe() string {
	text := fmt.Sprintf("%s, %s at host memory %#x, bytes %#x to %#x", s.kind, count(len(s.packets), "packet", "packets"), s.buffer, s.start, s.end)
	for i, p := range s.pagings {
		if i == 3 {
			text += fmt.Sprintf("; %d more", len(s.pagings)-i)
			break
		}
		text += fmt.Sprintf("; %s of allocation %#x", p.what, p.allocation)
	}
	return text
}

// describePacket describes a packet and its place.
func (s *submission) describePacket(p *packet) string {
	lines := pkt.Disassemble(p.data, pkt.Host|s.buffer+uint64(p.offset))
	text := "a packet"
	if len(lines) > 0 {
		_, text, _ = strings.Cut(strings.TrimSpace(lines[0]), " ")
	}
	at := fmt.Sprintf("IB+%#x of submission %d", uint64(p.offset)-s.start, s.serial)
	for _, u := range s.uses {
		if u.offset >= p.offset && u.offset < p.offset+uint32(len(p.data)) {
			at += fmt.Sprintf(", allocation %#x", u.allocation)
		}
	}
	return strings.TrimSpace(text) + " at " + at
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// name returns how a submission is called.
func (s *submission) name() string {
	return fmt.Sprintf("submission %d (fence %d of node %d)", s.serial, s.fence, s.node)
}

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Fault answers why the run stopped: a broken rule, a fault or a time-out of the GPU, the link, or
// the error with which the command ended. The first of them counts, also of a board that was open
// before.
func (r *Run) Fault() *Answer {
	if r.earlier != nil {
		if a := r.earlier.Fault(); a.Missing != "" {
			return a
		}
	}
	a := r.ownFault()
	a.board = r
	r.byBench(a)
	return a
}

// ownFault is Fault, for this board alone, without the injected faults.
func (r *Run) ownFault() *Answer {
	a := &Answer{Question: "fault", Verdict: "nothing stopped the run", Chain: []Step{}}
	if r.end.ID == 0 && !r.followed {
		a.Verdict = "nothing stopped the run, as far as the log goes"
	}
	if !r.first.In() && r.earlier == nil {
		a.Verdict = "nothing is known"
		return a.lacks(MissingUnknown, "the log has no event")
	}
	if of := r.unopened(a); of != nil {
		return of
	}
	broken, stop, f := r.breaks(), unmeant(r.stops), unmeant(r.faults)
	_, gone := r.missed(r.waiting.ID, 0)
	switch s := r.misgiven(broken); {
	case s != nil:
		of := r.submission(s)
		of.Question, of.Verdict = a.Question, s.name()+": "+of.Verdict
		if broken != nil {
			of.step(Point{broken.ID, broken.Time}, "%s", strings.TrimPrefix(firstLine(broken.Text()), verifierSays))
			of.sort()
		}
		return of
	case broken != nil && (stop == nil || broken.ID < stop.ID):
		return r.rule(a, broken)
	case stop != nil:
		return r.stopped(a, stop)
	case f != nil:
		a.Verdict = fmt.Sprintf("node %d stopped on a fault", f.Fields[0])
		a.step(Point{f.ID, f.Time}, "node %d stops on the fault %s at %s", f.Fields[0], causeName(f.Fields[2]), pkt.FormatAddr(f.Fields[3]))
		a.lacks(MissingPacket, "the packet at %s does not end%s", pkt.FormatAddr(f.Fields[3]), explainCause(f.Fields[2]))
	case r.failed.ID != 0:
		a.Verdict = "the device did not answer"
		a.frames(r.failed.stack)
		a.step(Point{r.failed.ID, r.failed.Time}, "the %s of %s fails: %s", r.failed.Kind, where(r.failed.Fields[0], r.failed.Fields[1]), r.failed.Text())
		a.lacks(MissingLink, "%s", r.unreachable())
	case r.waiting.ID != 0 && !gone:
		return r.hanging(a)
	}
	return r.atEnd(a)
}

// signalled begins the error of a command that a signal has ended, as package signals has it.
const signalled = "ended by a signal: "

// atEnd adds the error with which the command ended, and the warnings.
func (r *Run) atEnd(a *Answer) *Answer {
	if r.end.ID != 0 && r.end.HasText() {
		text := firstLine(r.end.Text())
		if signal, ok := strings.CutPrefix(text, signalled); ok && a.Missing == "" {
			a.Verdict = "nothing stopped the run; a signal ended the command: " + signal
		} else if a.Missing == "" {
			a.Verdict = "the command ended with an error: " + short(text)
			if !r.cut(a) && !r.accesses(a) {
				r.unanswerable(a)
			}
		} else {
			a.step(Point{r.end.ID, r.last.Time}, "the command ends: %s", text)
		}
	}
	r.onPurpose(a)
	if n := len(r.broken); n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("warnings: %d, the first: %s", n, strings.TrimPrefix(firstLine(r.broken[0].Text()), verifierSays)))
	}
	return a
}

// maxVerdict bounds the text of an error in a verdict, in bytes.
const maxVerdict = 300

// short cuts a long text after a part of it.
func short(text string) string {
	if len(text) <= maxVerdict {
		return text
	}
	if i := strings.LastIndexAny(text[:maxVerdict], ":;"); i > maxVerdict/2 {
		return text[:i] + " ..."
	}
	return strings.ToValidUTF8(text[:maxVerdict], "") + " ..."
}

// hanging explains a run whose log ends in a wait.
func (r *Run) hanging(a *Answer) *Answer {
	a.Verdict = "the log ends in a wait"
	a.frames(r.waiting.stack)
	a.step(Point{r.waiting.ID, r.waiting.Time}, "the kernel waits for %s", r.waiting.Text())
	if s := r.oldest(); s != nil {
		a.step(s.queued, "%s is the oldest that has not ended", s.name())
		r.missing(a, s, map[*submission]bool{})
		a.Verdict = "the log ends in a wait"
	}
	return a
}

// causeName returns the name of a cause in FAULT_INFO.
func causeName(cause uint64) string {
	if cause < uint64(len(cpreg.Causes)) {
		return cpreg.Causes[cause]
	}
	return fmt.Sprint(cause)
}

// Board returns the part of the log about the nth board that was opened, from 1. It fails with
// ErrQuestion.
func (r *Run) Board(n int) (*Run, error) {
	of := r
	for of != nil && of.number != n {
		of = of.earlier
	}
	if of == nil {
		return nil, fmt.Errorf("%w: no board %d was opened, the last is %d", ErrQuestion, n, r.number)
	}
	alone := *of
	alone.earlier = nil
	return &alone, nil
}

// next returns the number of the board that is opened next. What happened to a link before its board was opened is no
// board. r may be nil.
func (r *Run) next() int {
	switch {
	case r == nil:
		return 1
	case r.opened || r.first.Event > 1:
		return r.number + 1
	}
	return r.number
}

// verifierSays begins the text of a broken rule.
const verifierSays = "verifier: "

// rule explains a broken rule.
func (r *Run) rule(a *Answer, broken *happening) *Answer {
	text := strings.TrimPrefix(broken.Text(), verifierSays)
	a.Verdict = "a rule was broken: " + firstLine(text)
	a.frames(broken.stack)
	a.step(Point{broken.ID, broken.Time}, "%s", firstLine(text))
	r.about(a, broken)
	a.names(firstLine(text))
	if of := (&Answer{}); r.accesses(of) {
		a.Notes = append(a.Notes, "the accesses of the host show: "+of.Cause)
	}
	return a.lacks(MissingRule, "%s", firstLine(text))
}

// about adds the chain of the submission and the packet that a broken rule is about, if the log has them.
func (r *Run) about(a *Answer, broken *happening) {
	s := r.subs[broken.Fields[1]]
	if s == nil {
		return
	}
	of := &Answer{}
	stack := s.stack
	var p *packet
	for i := range s.packets {
		if broken.Fields[2] != 0 && uint64(s.packets[i].offset) == broken.Fields[3] {
			p = &s.packets[i]
			stack = s.calls(p)
		}
	}
	of.frames(stack)
	of.before(r, s)
	of.step(s.queued, "it is about %s: %s", s.name(), s.describe())
	of.step(s.submitted, "the kernel gives it to the hardware")
	of.step(s.begun, "node %d begins it", s.node)
	if p != nil {
		at := s.queued
		if p.executed.In() {
			at = p.executed
		}
		executes := r.predicated(s, p)
		if p.executed.In() {
			executes = fmt.Sprintf(", and node %d executes it", s.node)
		}
		of.step(at, "its packet is %s%s", s.describePacket(p), executes)
	}
	of.step(s.fenced, "node %d executes the packet of its fence", s.node)
	of.step(s.retired, "it has ended")
	a.Chain = slices.Concat(of.Chain, a.Chain)
	a.Verdict += "; it is about " + s.name()
}

// stopped returns the node and the fence of a stop of the adapter or a reset of a node, and
// what the kernel does.
func (h *happening) stopped() (node, fence uint32, what string) {
	f := &h.Fields
	if h.Kind != eventlog.Reset {
		return uint32(f[0]), uint32(f[1]), "stops the adapter"
	}
	what = fmt.Sprintf("resets node %d", f[1])
	if f[3] != 0 {
		what += fmt.Sprintf(" and takes device %#x away", f[3])
	}
	return uint32(f[1]), uint32(f[2]), what
}

// stopped explains why the kernel stopped the adapter or reset a node.
func (r *Run) stopped(a *Answer, stop *happening) *Answer {
	text := strings.TrimPrefix(firstLine(stop.Text()), kernelSays)
	node, fence, what := stop.stopped()
	for _, s := range r.order {
		if s.node == node && s.fence == fence && !s.retired.In() && strings.HasPrefix(text, "GPU") {
			of := r.submission(s.until(stop.gaveUp()))
			of.Question, of.Verdict = a.Question, strings.SplitN(text, ": its ", 2)[0]
			if at := stop.gaveUp(); at.In() {
				of.step(at, "TdrDelay has ended: the kernel calls DxgkDdiCollectDbgInfo")
				if s.fenced.Event > at.Event {
					of.step(s.fenced, "node %d executes the packet of its fence", s.node)
				}
			}
			of.step(Point{stop.ID, stop.Time}, "the kernel %s", what)
			of.Cause += r.hasty(s, stop)
			return of
		}
	}
	a.Verdict = text
	a.frames(stop.stack)
	a.step(Point{stop.ID, stop.Time}, "the kernel %s", what)
	if reason := r.unreachable(); reason != "" {
		return a.lacks(MissingLink, "%s", reason)
	}
	if r.first.Event > 1 && strings.HasPrefix(text, "GPU") && !r.has(node, fence) {
		return a.lacks(MissingUnknown, "%s; the log has no submission of node %d with fence %d", text, node, fence)
	}
	if j := r.left(); j != nil && r.oldest() == nil {
		a.frames(j.stack)
		a.step(j.at, "DMA buffer %d enters the software queue of context %#x", j.number, j.context)
		return a.lacks(MissingSubmit, "no submission was made of DMA buffer %d, although the hardware has nothing to do and all that it waits for has ended", j.number)
	}
	return a.lacks(MissingUnknown, "%s", text)
}

// has reports whether the log has a submission of a node with a fence.
func (r *Run) has(node, fence uint32) bool {
	return slices.ContainsFunc(r.order, func(s *submission) bool { return s.node == node && s.fence == fence })
}

// oldest returns the oldest submission that has not ended, or nil.
func (r *Run) oldest() *submission {
	for _, s := range r.order {
		if !s.over() {
			return s
		}
	}
	return nil
}

// Call answers what a call of the API, counted from 1, led to. It fails with ErrQuestion.
func (r *Run) Call(number uint64) (*Answer, error) {
	c := r.byNumber(number)
	if c == nil {
		return nil, fmt.Errorf("%w: no call %d; %s", ErrQuestion, number, r.numbers())
	}
	a := &Answer{Question: fmt.Sprintf("call %d, %s", number, c.name), Verdict: "it returned"}
	a.frames([]frame{c.frame})
	for _, serial := range c.subs {
		s := r.subs[serial]
		a.step(s.queued, "it made %s: %s", s.name(), s.describe())
		r.led(a, s, c)
	}
	a.step(c.failed, "the runtime %s it", map[bool]string{true: "drops", false: "refuses"}[c.dropped()])
	a.step(c.end, "it returns")
	for _, e := range c.emitted {
		s := r.subs[e.serial]
		a.step(s.queued, "%s in %s", count(int(e.packets), "of its packets enters the queue", "of its packets enter the queue"), s.name())
		r.led(a, s, c)
	}
	if c.list != nil && c.hr == "" && !c.failed.In() {
		r.judgeList(a, c)
		return a, nil
	}
	for _, serial := range c.subs {
		r.unended(a, r.subs[serial])
	}
	for _, e := range c.emitted {
		r.unended(a, r.subs[e.serial])
	}
	r.judge(a, c)
	a.sort()
	return a, nil
}

// byNumber returns a call by its number, or nil. A log may begin in the middle, and have gaps.
func (r *Run) byNumber(n uint64) *call {
	if i, ok := slices.BinarySearchFunc(r.calls, n, func(c *call, n uint64) int { return cmp.Compare(c.number, n) }); ok {
		return r.calls[i]
	}
	return nil
}

// numbers describes the calls of the log.
func (r *Run) numbers() string {
	if len(r.calls) == 0 {
		return "it has no call"
	}
	return fmt.Sprintf("it has calls %d to %d", r.calls[0].number, r.calls[len(r.calls)-1].number)
}

// dropped reports whether the runtime dropped a call.
func (c *call) dropped() bool { return strings.HasPrefix(c.why, c.name+": dropped: ") }

// reason says why the runtime dropped a call or let it fail.
func (c *call) reason() string {
	text := strings.TrimPrefix(strings.TrimPrefix(c.why, c.name+": "), "dropped: ")
	if c.hr != "" {
		text += "; " + c.hr
	}
	return text
}

// judgeList adds what became of a call that was recorded, and sets the verdict.
func (r *Run) judgeList(a *Answer, c *call) {
	const done = "it was recorded, and its work has ended"
	a.Verdict = done
	switch given := r.played(a, c.list, part{c.before, c.moves}, map[*call]bool{}); {
	case a.Missing != "":
		a.Verdict = "it was recorded, but its work has not ended"
	case !given && c.list.finished != nil && len(c.list.executed) > 0:
		a.Verdict = "it was recorded, and its list gave the GPU no work"
	}
	if g, ok := r.missed(c.Event, 0); ok && a.Verdict != done {
		a.notKnown("it was recorded; what became of its work is not known", g)
	}
}

// judge sets the verdict on a call.
func (r *Run) judge(a *Answer, c *call) {
	g, gone := r.missed(c.Event, 0)
	switch {
	case !c.end.In():
		if r.waiting.ID > c.Event {
			a.step(Point{r.waiting.ID, r.waiting.Time}, "the kernel waits for %s", r.waiting.Text())
		}
		if gone {
			a.lacks(MissingUnknown, "%s", g)
		} else if s := r.oldest(); s != nil && a.Missing == "" {
			r.missing(a, s, map[*submission]bool{})
		}
		a.Verdict = "it did not return"
	case c.dropped():
		a.Verdict, a.Cause = "it was dropped", c.reason()
	case c.failed.In():
		a.Verdict, a.Cause = "it failed", c.reason()
	case c.hr != "":
		a.Verdict, a.Cause = "it failed", c.hr
	case c.jobs > 0 && a.Missing == "":
		a.Missing = MissingSubmit
		a.Cause = fmt.Sprintf("%d DMA buffers that it rendered wait in the software queue of their context, and none of them has a fence", c.jobs)
		a.Verdict = "it returned, but its work has not ended"
	case len(c.subs) == 0 && len(c.emitted) == 0 && gone:
		a.notKnown("it returned; whether it gave the GPU work is not known", g)
	case len(c.subs) == 0 && len(c.emitted) == 0:
		a.Verdict = "it returned, and gave the GPU no work"
	case a.Missing != "" && gone:
		a.notKnown("it returned; whether its work has ended is not known", g)
	case a.Missing != "":
		a.Verdict = "it returned, but its work has not ended"
	default:
		a.Verdict = "it returned, and its work has ended"
	}
}

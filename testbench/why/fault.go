package why

import (
	"fmt"
	"strings"
)

// Fault answers why the run stopped: a broken rule, a fault or a time-out of the GPU, or the
// link. The first of them counts, also of a board that was open before.
func (r *Run) Fault() *Answer {
	if r.earlier != nil {
		if a := r.earlier.Fault(); a.Missing != "" {
			return a
		}
	}
	a := &Answer{Question: "fault", Verdict: "nothing stopped the run"}
	first := func(all []happening) *happening {
		if len(all) == 0 {
			return &happening{}
		}
		return &all[0]
	}
	broken, stop := first(r.broken), first(r.stops)
	switch {
	case broken.ID != 0 && (stop.ID == 0 || !strings.Contains(broken.Text(), "gpu-")):
		return r.rule(a, broken)
	case stop.ID != 0:
		return r.stopped(a, stop)
	case r.failed.ID != 0:
		a.Verdict = "an access failed"
		a.frames(r.failed.stack)
		a.step(Point{r.failed.ID, r.failed.Time}, "the %s of %s fails: %s", r.failed.Kind, register(r.failed.Fields[1]), r.failed.Text())
		return a.lacks(MissingLink, "%s", r.unreachable())
	case r.waiting.ID != 0:
		a.Verdict = "the log ends in a wait"
		a.frames(r.waiting.stack)
		a.step(Point{r.waiting.ID, r.waiting.Time}, "the kernel waits for %s", r.waiting.Text())
		if s := r.oldest(); s != nil {
			a.step(s.queued, "%s is the oldest that has not ended", s.name())
			return r.missing(a, s, map[*submission]bool{})
		}
	}
	return a
}

// rule explains a broken rule.
func (r *Run) rule(a *Answer, broken *happening) *Answer {
	text := strings.TrimPrefix(broken.Text(), "verifier: ")
	a.Verdict = "a rule was broken: " + firstLine(text)
	a.frames(broken.stack)
	a.step(Point{broken.ID, broken.Time}, "%s", firstLine(text))
	return a.lacks(MissingCall, "%s", firstLine(text))
}

// stopped explains why the kernel stopped the adapter.
func (r *Run) stopped(a *Answer, stop *happening) *Answer {
	text := strings.TrimPrefix(firstLine(stop.Text()), "dxgkrnl: ")
	for _, s := range r.order {
		if s.node == uint32(stop.Fields[0]) && s.fence == uint32(stop.Fields[1]) && !s.retired.In() && strings.HasPrefix(text, "GPU") {
			of := r.submission(s)
			of.Question, of.Verdict = a.Question, strings.SplitN(text, ": its ", 2)[0]
			of.step(Point{stop.ID, stop.Time}, "the kernel stops the adapter")
			return of
		}
	}
	a.Verdict = text
	a.frames(stop.stack)
	a.step(Point{stop.ID, stop.Time}, "the kernel stops the adapter")
	if reason := r.unreachable(); reason != "" {
		return a.lacks(MissingLink, "%s", reason)
	}
	return a.lacks(MissingUnknown, "%s", text)
}

// oldest returns the oldest submission that has not ended, or nil.
func (r *Run) oldest() *submission {
	for _, s := range r.order {
		if !s.retired.In() {
			return s
		}
	}
	return nil
}

// Call answers what a call of the API, counted from 1, led to. It fails with ErrQuestion.
func (r *Run) Call(number uint64) (*Answer, error) {
	if number == 0 || number > uint64(len(r.calls)) {
		return nil, fmt.Errorf("%w: no call %d, the last is %d", ErrQuestion, number, len(r.calls))
	}
	c := r.calls[number-1]
	a := &Answer{Question: fmt.Sprintf("call %d, %s", number, c.name), Verdict: "it returned"}
	a.frames([]frame{c.frame})
	for _, serial := range c.subs {
		s := r.subs[serial]
		a.step(s.queued, "it made %s: %s", s.name(), s.describe())
		a.step(s.submitted, "submission %d goes to the hardware", serial)
		a.step(s.retired, "submission %d has ended", serial)
	}
	a.step(c.end, "it returns")
	for _, serial := range c.subs {
		if s := r.subs[serial]; !s.retired.In() {
			r.missing(a, s, map[*submission]bool{})
			break
		}
	}
	switch {
	case !c.end.In():
		a.Verdict = "it did not return"
		if r.waiting.ID > c.Event {
			a.step(Point{r.waiting.ID, r.waiting.Time}, "the kernel waits for %s", r.waiting.Text())
		}
		if s := r.oldest(); s != nil && a.Missing == "" {
			r.missing(a, s, map[*submission]bool{})
			a.Verdict = "it did not return"
		}
	case c.hr != "":
		a.Verdict = "it failed"
		a.Cause = c.hr
	case len(c.subs) == 0:
		a.Verdict = "it returned, and gave the GPU no work"
	case a.Missing != "":
		a.Verdict = "it returned, but its work has not ended"
	default:
		a.Verdict = "it returned, and its work has ended"
	}
	return a, nil
}

// Cycle answers what was going on at a time, in clocks. It fails with ErrQuestion.
func (r *Run) Cycle(at uint64) (*Answer, error) {
	if at > r.last.Time {
		return nil, fmt.Errorf("%w: the log ends at clock %d", ErrQuestion, r.last.Time)
	}
	a := &Answer{Question: fmt.Sprintf("clock %d", at), Verdict: "no work was in the hardware"}
	for _, c := range r.calls {
		if c.Time <= at && (!c.end.In() || c.end.Time >= at && c.end.Time > c.Time) {
			a.frames([]frame{c.frame})
		}
	}
	busy := 0
	for _, s := range r.order {
		switch {
		case s.queued.Time > at || s.retired.In() && s.retired.Time < at:
		case !s.submitted.In() || s.submitted.Time > at:
			a.step(s.queued, "%s is in the queue of the kernel", s.name())
		default:
			busy++
			a.step(s.submitted, "%s is in the hardware of node %d, %s", s.name(), s.node, s.stateAt(at))
		}
	}
	if busy > 0 {
		a.Verdict = fmt.Sprintf("%d submissions were in the hardware", busy)
		if busy == 1 {
			a.Verdict = "a submission was in the hardware"
		}
	}
	return a, nil
}

// stateAt says how far a submission was at a time.
func (s *submission) stateAt(at uint64) string {
	done := 0
	var next *packet
	for i := range s.packets {
		p := &s.packets[i]
		switch {
		case p.executed.In() && p.executed.Time <= at:
			done++
		case p.executed.In() && next == nil:
			next = p
		}
	}
	switch {
	case s.fenced.In() && s.fenced.Time <= at:
		return "and has written its fence"
	case next != nil:
		return fmt.Sprintf("at %s; %d of its packets have ended", s.describePacket(next), done)
	case s.begun.In() && s.begun.Time <= at:
		return fmt.Sprintf("and %d of its packets have ended", done)
	}
	return "and has not begun"
}

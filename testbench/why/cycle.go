package why

import (
	"fmt"
	"math/bits"
)

// Cycle answers what was going on at a time, in clocks of the log. A note tells the cycle of the GPU if that has another clock. It
// fails with ErrQuestion.
func (r *Run) Cycle(at uint64) (*Answer, error) {
	if at > r.last.Time {
		return nil, fmt.Errorf("%w: the log ends at clock %d", ErrQuestion, r.last.Time)
	}
	if r.first.Event > 1 && at < r.first.Time && r.earlier == nil {
		return nil, fmt.Errorf("%w: the log begins at clock %d", ErrQuestion, r.first.Time)
	}
	a := &Answer{Question: fmt.Sprintf("clock %d", at), Verdict: "no work was in the hardware"}
	if note := r.cycleOf(at); note != "" {
		a.Notes = append(a.Notes, note)
	}
	for _, c := range r.calls {
		if c.Time <= at && (!c.end.In() || c.end.Time >= at && c.end.Time > c.Time) {
			a.frames([]frame{c.frame})
		}
	}
	busy := 0
	for _, s := range r.order {
		switch {
		case s.queued.Time > at || s.overBefore(at):
		case !s.submitted.In() || s.submitted.Time > at:
			a.step(s.queued, "%s is in the queue of the kernel", s.name())
		default:
			busy++
			a.step(s.submitted, "%s is in the hardware of node %d, %s", s.name(), s.node, r.stateAt(s, at))
		}
	}
	if len(r.order) == 0 {
		r.around(a, at)
	}
	if busy > 0 {
		a.Verdict = fmt.Sprintf("%d submissions were in the hardware", busy)
		if busy == 1 {
			a.Verdict = "a submission was in the hardware"
		}
	}
	return a, nil
}

// cycleOf says which cycle of the GPU a clock of the log is, if the GPU has another clock and its cycles are known. Both begin with 0, so
// one is in proportion to the other; the cycle is exact if it has a whole number of clocks.
func (r *Run) cycleOf(at uint64) string {
	if r.cycle == 0 || r.clock <= r.cycle {
		return ""
	}
	hi, lo := bits.Mul64(at, r.cycle)
	same, _ := bits.Div64(hi, lo, r.clock)
	about := ""
	if r.clock%r.cycle != 0 {
		about = "about "
	}
	return fmt.Sprintf("clock %d of the log is %scycle %d of the GPU", at, about, same)
}

// stateAt says how far a submission was at a time.
func (r *Run) stateAt(s *submission, at uint64) string {
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
	g, gone := r.missed(s.submitted.Event, s.retired.Event)
	switch {
	case s.fenced.In() && s.fenced.Time <= at:
		return "and has written its fence"
	case gone && g.After <= at:
		return fmt.Sprintf("unless it has ended; unknown: what node %d did with it, since %s", s.node, g)
	case !r.Header.Observed && s.written.In() && s.written.Time <= at:
		return "and its fence is in host memory"
	case !r.Header.Observed && s.fetched.In() && s.fetched.Time <= at:
		return fmt.Sprintf("which has begun to fetch it at clock %d; unknown: what it does with it, since this board does not tell", s.fetched.Time)
	case !r.Header.Observed && (s.fetched.In() || r.fetchOf(s) == notFetched):
		return "and no read of its buffer has reached the host"
	case !r.Header.Observed:
		return fmt.Sprintf("unknown: what node %d does with it, since this board does not tell", s.node)
	case !s.begun.In() || s.begun.Time > at:
	case next != nil:
		return fmt.Sprintf("at %s; %d of its packets have ended", s.describePacket(next), done)
	default:
		if next, _ := r.following(s); next != nil && !s.fenced.In() {
			return fmt.Sprintf("at %s%s; %d of its packets have ended", s.describePacket(next), r.predicated(s, next), done)
		}
		return fmt.Sprintf("and %d of its packets have ended", done)
	}
	return "and has not begun"
}

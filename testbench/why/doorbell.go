package why

import "fmt"

// preceding returns the submissions that one continues, the first one first.
func (r *Run) preceding(s *submission) (all []*submission) {
	for before := r.subs[s.again]; before != nil && before.queued.Event < s.queued.Event; before = r.subs[s.again] {
		all, s = append([]*submission{before}, all...), before
	}
	return all
}

// ignored reports whether a node did not get the doorbell of a submission that it gave back: for a tenth of a second, or half of TdrDelay if that
// is less (see lateAfter), it had nothing else to do, and it has not begun it.
func (r *Run) ignored(s *submission) bool {
	if s.stalled <= r.lateAfter(r.Header.TdrDelay/2) || r.Header.Hz == 0 || !r.isWptr(s.rungBy.offset) {
		return false
	}
	return r.Header.Observed || r.unmoved(s) && s.rptr.Event > s.rung.Event && s.rptr.value != s.rungBy.value
}

// ignoredText says that a node did not get a doorbell.
func (r *Run) ignoredText(s *submission) string {
	text := fmt.Sprintf("the doorbell %s = %#x of submission %d at clock %d was lost: node %d had nothing else to do for %d clocks, and stopped without having begun it",
		register(s.rungBy.offset), s.rungBy.value, s.serial, s.rung.Time, s.node, s.stalled)
	if s.rptr.Event > s.rung.Event {
		text += fmt.Sprintf(", with RPTR %#x", s.rptr.value)
	}
	return text
}

// lostDoorbell says which doorbell of a submission that has not begun was lost, or "". That of a submission that it continues comes first.
func (r *Run) lostDoorbell(s *submission) string {
	if text := r.ranAgain(s); text != "" {
		return text
	}
	read, lost := r.lost(s)
	if !lost {
		return ""
	}
	text := fmt.Sprintf("the doorbell %s = %#x at clock %d was lost: a read at clock %d returned %#x",
		register(s.rungBy.offset), s.rungBy.value, s.rung.Time, read.Time, read.value)
	for _, before := range r.preceding(s) {
		if r.ignored(before) {
			return r.ignoredText(before) + "; then " + text
		}
	}
	return text
}

// before adds what became of the submissions that one continues, in full if their node did not begin them.
func (a *Answer) before(r *Run, s *submission) {
	all := r.preceding(s)
	if n := len(all) - maxTouches; n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("it was preempted %s; earlier ones that are left out: %d", often(len(all)), n))
		all = all[n:]
	}
	for i, b := range all {
		next := s
		if i+1 < len(all) {
			next = all[i+1]
		}
		if r.ignored(b) {
			a.step(b.queued, "%s enters the queue of the kernel; %s has the same work later", b.name(), next.name())
			a.step(b.submitted, "the kernel gives it to the hardware")
			a.step(b.rung, "DxgkDdiSubmitCommand rings the doorbell, %s = %#x", register(b.rungBy.offset), b.rungBy.value)
			a.step(b.retired, "node %d has not begun it for %d clocks, and the kernel takes it back", b.node, b.stalled)
		}
		a.step(next.queued, "%s continues %s, which was preempted", next.name(), b.name())
	}
}

// delay adds to the answer about a submission that has ended that its node did not begin it in time.
func (r *Run) delay(a *Answer, s *submission) {
	for _, b := range r.preceding(s) {
		if r.ignored(b) {
			a.Verdict += fmt.Sprintf(", %d clocks after it was submitted first: node %d had not begun it", s.retired.Time-b.submitted.Time, s.node)
			a.Cause = r.ignoredText(b)
			return
		}
	}
}

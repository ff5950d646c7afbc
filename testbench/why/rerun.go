package why

import "fmt"

// Design note: to continue preempted work, the driver sets WPTR to RPTR, sets RUN and rings for a ring that begins anew. If that first write of
// WPTR is lost, RUN makes the node do the old packets of its ring again. Such a packet is before the place at which the work continues.

// A rerun is what a node did again in the place of a submission.
type rerun struct {
	Point
	offset uint64 // of the first packet
	rewind access // the last write of WPTR before the doorbell, after the one of the work before
}

// repeats reports whether a packet that a node executes is one of the work before a submission that continues it.
func (b *builder) repeats(s *submission, p *packet, at Point) bool {
	if from, known := b.beginsAt(s); s.again == 0 || !known || len(s.ring) == 0 || uint64(p.offset) >= from {
		return false
	}
	if !s.rerun.In() {
		s.rerun = rerun{Point: at, offset: uint64(p.offset)}
		if w := b.rewinds[s.rungBy.offset]; b.subs[s.again] != nil && w.Event > b.subs[s.again].rung.Event {
			s.rerun.rewind = w
		}
	}
	return true
}

// ranAgain says that the node of a submission did earlier work again, or "".
func (r *Run) ranAgain(s *submission) string {
	x := s.rerun
	if !x.In() {
		return ""
	}
	from, _ := r.beginsAt(s)
	text := fmt.Sprintf("node %d runs the ring of submission %d again: at clock %d it executes the packet at IB+%#x, and submission %d continues at IB+%#x",
		s.node, s.again, x.Time, x.offset-s.start, s.serial, from-s.start)
	if x.rewind.In() {
		text += fmt.Sprintf("; %s = %#x at clock %d was lost", register(s.rungBy.offset), x.rewind.value, x.rewind.Time)
	}
	return text
}

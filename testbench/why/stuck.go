package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// faultOf returns the fault of the hardware that stopped a submission, or that of the driver.
func (r *Run) faultOf(s *submission) *happening {
	var found *happening
	stop := r.endOf(s)
	for i := range r.faults {
		f := &r.faults[i]
		if f.ID < s.submitted.Event || stop != nil && f.ID > stop.ID || s.aborted.In() && f.ID > s.aborted.Event || f.Fields[0] != uint64(s.node) {
			continue
		}
		if hardware := f.Fields[2] != 0; hardware || found == nil {
			if found = f; hardware {
				break
			}
		}
	}
	return found
}

// faulted explains a submission that ended in a fault.
func (r *Run) faulted(a *Answer, s *submission, f *happening) *Answer {
	at := Point{f.ID, f.Time}
	cause, ok := f.Fields[2], f.Fields[2] != 0
	addr := f.Fields[3]
	if !ok { // from the driver: the registers that it read
		v, known := r.register(s, s.node, cpreg.FaultInfo)
		lo, _ := r.register(s, s.node, cpreg.FaultLo)
		hi, _ := r.register(s, s.node, cpreg.FaultHi)
		cause, addr, ok = v&cpreg.FaultCause, hi<<32|lo, known
	}
	name := "of unknown cause"
	if ok {
		name = causeName(cause)
	}
	a.Verdict = "it was not written: the node faulted"
	a.step(at, "node %d stops on a fault: %s at %s", s.node, name, pkt.FormatAddr(addr))
	wrong := ""
	if text := s.misdirected(); text != "" {
		wrong = "; " + text
	}
	if ok && cause == cpreg.CauseReadError {
		wrong += r.harmed()
	}
	if stop := r.endOf(s); f.Fields[2] != 0 && !f.told.In() && stop != nil && stop.Time-f.Time > r.patience() {
		wrong += fmt.Sprintf("; no interrupt message about the fault arrived in %d clocks", stop.Time-f.Time)
	}
	link, where := MissingPacket, "the packet at "+pkt.FormatAddr(addr)
	switch p := s.at(addr); {
	case p != nil:
		where = s.describePacket(p)
		if text := r.misplaced(s, p.offset, p.offset+uint32(len(p.data))); text != "" {
			wrong += "; " + text
		}
	case s.inRingBefore(addr) || r.fetchOf(s) == notFetched:
		link, where = MissingFetch, "the packet of the ring at "+pkt.FormatAddr(addr)
	}
	return a.lacks(link, "node %d stopped on the fault %s in %s%s%s", s.node, name, where, explainCause(cause), wrong)
}

// gaveUp returns when TdrDelay had ended and the kernel began with a stop, or the zero Point if it was no time-out.
func (h *happening) gaveUp() Point {
	if !timedOut(h) {
		return Point{}
	}
	return h.began
}

// timedOut reports whether a stop or a reset came of a time-out.
func timedOut(h *happening) bool { return strings.Contains(firstLine(h.Text()), "time-out") }

// until returns a submission as it was at an event: what happened later is left out. With the zero Point it is s.
func (s *submission) until(p Point) *submission {
	if !p.In() {
		return s
	}
	c := *s
	c.packets, c.ring = slices.Clone(s.packets), slices.Clone(s.ring)
	points := []*Point{&c.begun, &c.fetched, &c.fenced, &c.written, &c.message, &c.routine, &c.reported, &c.asked, &c.deferred, &c.notified, &c.retired, &c.late}
	for i := range c.packets {
		points = append(points, &c.packets[i].executed)
		if c.packets[i].last.Event > p.Event {
			c.packets[i].taken, c.packets[i].last = 0, store{}
		}
	}
	for i := range c.ring {
		points = append(points, &c.ring[i].executed)
	}
	for _, at := range points {
		if at.Event > p.Event {
			*at = Point{}
		}
	}
	return &c
}

// lastStep returns the last step of a node with a submission: its first read, a packet, a descriptor or the packet of the fence.
func (s *submission) lastStep() Point {
	last := s.fenced
	if s.fetched.Event > last.Event {
		last = s.fetched
	}
	for i := range s.packets {
		for _, at := range []Point{s.packets[i].executed, s.packets[i].last.Point} {
			if at.Event > last.Event {
				last = at
			}
		}
	}
	return last
}

// hasty returns a note if the node's last step was after the time-out, or nearer to it than to the submission; otherwise "".
func (r *Run) hasty(s *submission, stop *happening) string {
	if !timedOut(stop) {
		return ""
	}
	end, last := stop.gaveUp(), s.lastStep()
	if !end.In() {
		end = Point{stop.ID, stop.Time}
	}
	waited := end.Time - s.submitted.Time
	if last.Event > end.Event {
		return fmt.Sprintf("; the node was at work: TdrDelay ended %d clocks after the submission, and the last step of node %d was %d clocks later", waited, s.node, last.Time-end.Time)
	}
	idle := end.Time - last.Time
	if !last.In() || 2*idle >= waited {
		return ""
	}
	return fmt.Sprintf("; the node was at work: TdrDelay ended %d clocks after the submission and %d clocks after the last step of node %d", waited, idle, s.node)
}

// explainCause says what a fault means, where its name does not.
func explainCause(cause uint64) string {
	switch cause {
	case cpreg.CauseReadError:
		return ": a read was answered with an error, or was not answered in time"
	case cpreg.CauseWriteError:
		return ": a write could not be sent"
	case cpreg.CauseWindow:
		return ": it accesses memory outside the windows of its submission"
	case cpreg.CauseFence:
		return ": its fence is lower than that of the node"
	}
	return ""
}

// unreachable says why nothing is known of the device, or returns "".
func (r *Run) unreachable() string {
	if len(r.links) > 0 && strings.HasPrefix(r.links[len(r.links)-1].Text(), "down") {
		l := &r.links[len(r.links)-1]
		return fmt.Sprintf("the link is down since clock %d: %s%s", l.Time, strings.TrimPrefix(l.Text(), eventlog.LinkDown), r.harmed())
	}
	if f := &r.failed; f.ID != 0 {
		return fmt.Sprintf("the device does not answer: the %s of %s at clock %d failed with %s%s", f.Kind, where(f.Fields[0], f.Fields[1]), f.Time, f.Text(), r.harmed())
	}
	return ""
}

// preempted tells how a submission goes on that was taken back from its node.
func (r *Run) preempted(a *Answer, s *submission) *Answer {
	a.Verdict = "its node has stopped for other work, and it has not gone on" + r.ending(s)
	if s.lost.In() {
		a.Verdict = "it was cancelled, since its device is lost"
		for _, h := range slices.Backward(r.stops) {
			if h.ID < s.lost.Event {
				a.Verdict += fmt.Sprintf("; %s at clock %d", h.because(), h.Time)
				a.step(Point{h.ID, h.Time}, "%s", h.because())
				break
			}
		}
		a.step(s.lost, "the kernel cancels it")
		return a
	}
	a.step(s.retired, "node %d has stopped for other work, and the kernel takes it back", s.node)
	if next := r.subs[s.onward]; next != nil {
		a.Verdict = "its node has stopped for other work; it goes on as " + next.name()
		a.step(next.queued, "it goes on as %s", next.name())
	}
	return a
}

// end adds the end of a submission of a call, or that its node stopped for other work.
func (a *Answer) end(s *submission) {
	if s.back {
		a.step(s.retired, "submission %d is preempted", s.serial)
	} else {
		a.step(s.retired, "submission %d has ended", s.serial)
	}
}

// unended adds what keeps a submission of a call from its end, unless the answer has something missing.
func (r *Run) unended(a *Answer, s *submission) {
	switch {
	case a.Missing != "" || s.onward != 0:
	case s.back && s.lost.In():
		a.step(s.lost, "the kernel cancels it")
		a.lacks(MissingSubmit, "%s was preempted, and cancelled, since its device is lost", s.name())
	case s.back:
		a.lacks(MissingSubmit, "%s was preempted, and has not gone on%s", s.name(), r.ending(s))
	case !s.retired.In():
		r.missing(a, s, map[*submission]bool{})
	}
}

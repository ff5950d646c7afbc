package why

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// missing finds the first missing link of a submission and why it is missing. seen are the
// submissions that the search came through.
func (r *Run) missing(a *Answer, s *submission, seen map[*submission]bool) *Answer {
	if seen[s] {
		return a.lacks(MissingSubmit, "submissions wait for each other")
	}
	seen[s] = true
	a.Verdict = "it was not written"
	switch {
	case s.mistake() != "":
		return a.lacks(MissingSubmit, "%s", s.wrong)
	case s.retired.In() && r.unwritten(s):
		a.Verdict = "it was reported and retired, but not written"
		return a.lacks(MissingFence, "%s", r.notWritten(s))
	case s.retired.In() && r.askedEnd(s):
		a.Verdict = "it was written and reported, but not retired in time"
		return a.lacks(MissingRetire, "DxgkDdiDpcRoutine was not called after the report; the kernel found the fence when it asked for it, after its time-out")
	case s.retired.In() && s.message.In():
		a.Verdict = "it was written, but its interrupt did not report it"
		return a.lacks(MissingReport, "%s; the kernel found the fence when it asked for it, after its time-out", s.notReported())
	case s.retired.In():
		a.Verdict = "it was written, but no interrupt message reported it"
		return a.lacks(MissingMessage, "the interrupt message did not arrive; the kernel found the fence when it asked for it, after its time-out")
	case s.reported.In():
		a.Verdict = "it was written and reported, but not retired"
		return a.lacks(MissingRetire, "%s%s", s.notRetired(), r.ending(s))
	case !s.submitted.In():
		return r.notSubmitted(a, s, seen)
	case !s.given.In():
		return a.lacks(MissingSubmit, "%s%s", notGiven, r.ending(s))
	}
	before := r.ahead(s)
	if !s.rung.In() && r.rings && before == nil {
		if text := r.stuckFirmware(s); text != "" {
			return a.lacks(MissingFetch, "%s%s", text, r.ending(s))
		}
		return a.lacks(MissingDoorbell, "DxgkDdiSubmitCommand rang no doorbell for it: a queue of the firmware holds work back, and the log does not tell for which work a later doorbell was%s", r.ending(s))
	}
	if !s.rung.In() && !r.rings {
		return a.lacks(MissingDoorbell, "DxgkDdiSubmitCommand wrote no register%s", r.ending(s))
	}
	if before != nil {
		a.step(before.submitted, "%s is before it on the node, and has not ended", before.name())
		return r.missing(a, before, seen)
	}
	return r.notEnded(a, s)
}

// ahead returns the submission before s on its node that has not ended, or nil.
func (r *Run) ahead(s *submission) *submission {
	for _, other := range r.order {
		if other != s && other.epoch == s.epoch && other.node == s.node && other.submitted.In() && other.submitted.Event < s.submitted.Event && !other.over() && !other.written.In() && !other.fenced.In() {
			return other
		}
	}
	return nil
}

// notSubmitted finds why the kernel keeps a submission.
func (r *Run) notSubmitted(a *Answer, s *submission, seen map[*submission]bool) *Answer {
	for _, on := range s.depends {
		if d := r.subs[on]; d != nil && !d.over() {
			a.step(d.queued, "it waits for %s, which has not ended", d.name())
			return r.missing(a, d, seen)
		}
	}
	for _, other := range r.order {
		if other.epoch == s.epoch && other.node == s.node && other.queued.Event < s.queued.Event && !other.over() {
			a.step(other.queued, "%s is before it in the queue of node %d, and has not ended", other.name(), s.node)
			return r.missing(a, other, seen)
		}
	}
	return a.lacks(MissingSubmit, "the kernel did not submit it, though all that it waits for has ended%s", r.ending(s))
}

// notEnded finds why the hardware has not ended a submission that is the oldest on its node.
func (r *Run) notEnded(a *Answer, s *submission) *Answer {
	if f := r.faultOf(s); f != nil {
		return r.faulted(a, s, f)
	}
	if r.unwritten(s) {
		return a.lacks(MissingFence, "%s%s", r.notWritten(s), r.ending(s))
	}
	if done := s.fenced.In() || s.written.In(); done {
		a.Verdict = "it was written, but not reported"
		if reason := r.unreachable(); reason != "" {
			return a.lacks(MissingReport, "%s", reason)
		}
		if s.message.In() {
			return a.lacks(MissingReport, "%s%s", s.notReported(), r.ending(s))
		}
		if s.written.In() && !s.fenced.In() && r.Header.Observed {
			return a.lacks(MissingFence, "the fence is in memory, but the node has not ended its packet%s", r.ending(s))
		}
		return a.lacks(MissingMessage, "no interrupt message arrived after the fence was written%s", r.ending(s))
	}
	if reason := r.unreachable(); reason != "" {
		return r.silenced(a, s, reason)
	}
	if text := r.stuckFirmware(s); text != "" {
		return a.lacks(MissingFetch, "%s%s", text, r.ending(s))
	}
	if text := r.lostDoorbell(s); text != "" {
		return a.lacks(MissingDoorbell, "%s", text)
	}
	if p := s.inRing(); p != nil && r.Header.Observed {
		return a.lacks(MissingPacket, "%s in the ring of node %d has not ended%s%s%s%s", p, s.node, r.waits(s, p.data), r.reading(s), r.node(s), r.ending(s))
	}
	switch next, is := r.following(s); {
	case !r.Header.Observed:
		return r.unobserved(a, s)
	case !s.begun.In() && len(s.packets) > 0 && !r.onlyFence(s):
		return a.lacks(MissingFetch, "node %d has not begun it%s%s%s", s.node, r.reading(s), r.node(s), r.ending(s))
	case next != nil && is == perhaps:
		return a.lacks(MissingUnknown, "%s has not ended%s%s%s", s.describePacket(next), r.predicated(s, next), next.moved(), r.node(s)+r.ending(s))
	case next != nil:
		return a.lacks(MissingPacket, "%s has not ended%s%s%s", s.describePacket(next), next.moved(), r.waits(s, next.data), r.node(s)+r.ending(s))
	}
	return a.lacks(MissingFence, "its packets have ended, but not that of its fence%s%s", r.node(s), r.ending(s))
}

// lost reports whether the doorbell of a submission that has not ended was lost: a later read of WPTR returned neither its
// value nor that of a later doorbell. A node may have begun such a submission, with an older value in WPTR. That is so only if the read
// is before a reset of the node, which writes WPTR too.
func (r *Run) lost(s *submission) (access, bool) {
	reads, stopped := r.readsOf(s)
	read, ok := reads[s.rungBy.offset]
	begun := s.begun.In() || s.fetched.In()
	if !ok || begun && !stopped || read.Event < s.rung.Event || read.err != "" || !r.isWptr(s.rungBy.offset) {
		return read, false
	}
	for _, other := range r.order {
		if other.rung.Event >= s.rung.Event && other.rung.Event < read.Event && other.rungBy == (write{s.rungBy.offset, read.value}) {
			return read, false
		}
	}
	return read, true
}

// waits describes what a WAIT_FENCE of a submission waits for.
func (r *Run) waits(s *submission, p []byte) string {
	d, _, err := pkt.Decode(p)
	w, ok := d.(pkt.WaitFence)
	if err != nil || !ok {
		return ""
	}
	text := fmt.Sprintf(": it waits for timeline %d of node %d", w.Value, w.Node)
	if v, ok := r.register(s, uint32(w.Node), cpreg.LineLo); ok {
		text += fmt.Sprintf(", which is %d", v)
	} else if v, ok := r.register(s, uint32(w.Node), cpreg.Fence); ok {
		text += fmt.Sprintf(", which is %d", v)
	}
	for _, other := range r.order {
		if other.node == uint32(w.Node) && uint64(other.fence) == w.Value {
			return text + "; " + other.name() + " would raise it, " + other.state()
		}
	}
	return text + "; no submission of that node would raise it"
}

// state says how far a submission has come.
func (s *submission) state() string {
	switch {
	case s.back:
		return "which was preempted"
	case s.retired.In():
		return "which has ended"
	case s.aborted.In():
		return "which a reset of its node has aborted"
	case s.submitted.In():
		return "which is in the hardware"
	}
	return "which is in the queue of the kernel"
}

// unobserved explains a submission in a log that does not have the packets of the nodes.
func (r *Run) unobserved(a *Answer, s *submission) *Answer {
	if p := r.atLeft(s); p != nil {
		return a.lacks(MissingPacket, "%s has not ended, as the registers say%s%s", s.describePacket(p), r.waits(s, p.data), r.node(s)+r.ending(s))
	}
	if p := r.atRptr(s); p != nil {
		return a.lacks(MissingPacket, "%s in the ring of node %d has not ended, as the registers say%s%s", p, s.node, r.waits(s, p.data), r.node(s)+r.ending(s))
	}
	return r.unread(a, s)
}

// stuckFirmware says that the firmware, which gives the node its work, hung before the node began a submission, or "".
func (r *Run) stuckFirmware(s *submission) string {
	stop := r.endOf(s)
	for _, x := range r.hung {
		if r.rings && !s.begun.In() && !s.fetched.In() && x.Event > s.submitted.Event && (stop == nil || x.Event < stop.ID) {
			return fmt.Sprintf("the firmware, which gives node %d its work, hung: MCU.STATUS was %#x at clock %d", s.node, x.value, x.Time)
		}
	}
	return ""
}

// reading says that a node waits for a read of its ring, if its registers do.
func (r *Run) reading(s *submission) string {
	status, ok := r.since(s, cpreg.Status)
	if !ok || status&(cpreg.StatusIdle|cpreg.StatusFault|cpreg.StatusState) != 0 {
		return ""
	}
	return ", and waits for a read of its ring"
}

// atLeft returns the first packet of a submission that has not retired, as IB_LEFT tells while IB_ADDR is in its buffer, or nil.
func (r *Run) atLeft(s *submission) *packet {
	var v [3]uint64
	for i, off := range []uint64{cpreg.IBLo, cpreg.IBHi, cpreg.IBLeft} {
		var ok bool
		if v[i], ok = r.since(s, off); !ok {
			return nil
		}
	}
	next, left, size := v[1]<<32|v[0], v[2], s.end-s.start
	if left == 0 || 4*left > size || next-(pkt.Host|s.buffer+s.start) > size {
		return nil
	}
	return s.at(pkt.Host | s.buffer + s.end - 4*left)
}

// breaks returns the first broken rule that stopped the run, or nil.
func (r *Run) breaks() *happening {
	for i := range r.broken {
		if r.broken[i].Fields[0] != 0 {
			return &r.broken[i]
		}
	}
	return nil
}

// ending says how a submission ended, or the run if it did not: the first broken rule, or the reset or stop that ended
// the submission, whichever came first.
func (r *Run) ending(s *submission) string {
	broken, stop := r.breaks(), r.endOf(s)
	switch {
	case broken != nil && (stop == nil || broken.ID < stop.ID):
		return fmt.Sprintf("; a rule was broken at clock %d: %s", broken.Time, firstLine(broken.Text()))
	case stop != nil:
		return fmt.Sprintf("; %s at clock %d", stop.because(), stop.Time)
	}
	return fmt.Sprintf("; the log ends at clock %d", r.last.Time)
}

// endOf returns the reset that aborted a submission, or the stop of the adapter that ended it, or nil.
func (r *Run) endOf(s *submission) *happening {
	for i := range r.stops {
		h := &r.stops[i]
		if h.ID > s.queued.Event && !s.retired.In() && (h.Kind == eventlog.Stop || h.Fields[0] == s.serial) {
			return h
		}
	}
	return nil
}

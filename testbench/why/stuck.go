package why

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// faultOf returns the fault of the hardware that stopped a submission, or that of the driver.
func (r *Run) faultOf(s *submission) *happening {
	var found *happening
	for i := range r.faults {
		f := &r.faults[i]
		if f.ID < s.submitted.Event || s.aborted.In() && f.ID > s.aborted.Event || f.Fields[0] != uint64(s.node) {
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
		v, known := r.register(int(s.node), cpreg.FaultInfo)
		lo, _ := r.register(int(s.node), cpreg.FaultLo)
		hi, _ := r.register(int(s.node), cpreg.FaultHi)
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
	link, where := MissingPacket, "the packet at "+pkt.FormatAddr(addr)
	switch p := s.at(addr); {
	case p != nil:
		where = s.describePacket(p)
		if text := r.misplaced(s, p.offset, p.offset+uint32(len(p.data))); text != "" {
			wrong += "; " + text
		}
	case !s.begun.In():
		link, where = MissingFetch, "the packet of the ring at "+pkt.FormatAddr(addr)
	}
	return a.lacks(link, "node %d stopped on the fault %s in %s%s%s", s.node, name, where, explainCause(cause), wrong)
}

// hasty returns a note if the node's last step was nearer to the time-out than to the submission; otherwise "".
func (r *Run) hasty(s *submission, stop *happening) string {
	if !strings.Contains(firstLine(stop.Text()), "time-out") {
		return ""
	}
	var last Point
	for i := range s.packets {
		for _, at := range []Point{s.packets[i].executed, s.packets[i].last.Point} {
			if at.Event > last.Event {
				last = at
			}
		}
	}
	waited, idle := stop.Time-s.submitted.Time, stop.Time-last.Time
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
		return fmt.Sprintf("the link is down since clock %d: %s%s", l.Time, strings.TrimPrefix(l.Text(), "down: "), r.harmed())
	}
	if f := &r.failed; f.ID != 0 {
		return fmt.Sprintf("the device does not answer: the %s of %s at clock %d failed with %s%s", f.Kind, where(f.Fields[0], f.Fields[1]), f.Time, f.Text(), r.harmed())
	}
	return ""
}

// preempted tells how a submission goes on that was taken back from its node.
func (r *Run) preempted(a *Answer, s *submission) *Answer {
	a.Verdict = "its node has stopped for other work, and it has not gone on" + r.ending()
	a.step(s.retired, "node %d has stopped for other work, and the kernel takes it back", s.node)
	for _, next := range r.order {
		if next.again == s.serial && next.epoch == s.epoch {
			a.Verdict = "its node has stopped for other work; it goes on as " + next.name()
			a.step(next.queued, "it goes on as %s", next.name())
		}
	}
	return a
}

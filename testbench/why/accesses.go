package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Design note: the log of a command without drivers has no submissions. It has the accesses of the host, and what the GPU
// tells. A write of the host asks for a step, and a later read shows whether the GPU has done it: a doorbell shows in WPTR and,
// when its packets have ended, in RPTR, a reset clears RING_SIZE, and PREEMPTED follows PREEMPT (package cpreg).

// vectors is the number of interrupt messages (package intcreg).
const vectors = 2

// eventsOf are the events of each message.
var eventsOf = [vectors]uint64{completions: intcreg.DoneAll, intcreg.VectorFault: intcreg.FaultAll}

// A lack is a step that is missing in the accesses of a host.
type lack struct {
	asked, seen Point // the write that asked for it, and the read that shows it
	link, text  string
	step        string
}

// An asking is a write that the host has made to a register of a node, and the last read that shows what became of it.
type asking struct {
	wrote, read *deed
}

// An audit goes through the accesses of a host.
type audit struct {
	lacks   []lack
	wptr    [cpreg.Nodes]asking
	preempt [cpreg.Nodes]asking
	reset   [cpreg.Nodes]asking
	work    [cpreg.Nodes]duty
	fence   [cpreg.Nodes]*deed // the last FENCE that was executed, if no message followed it
	pending [vectors]*deed     // by vector: the first read of INTC.STATUS with a bit of it, with no message before or after
	heard   [vectors]bool      // a message has arrived since INTC.STATUS was written
	mask    uint64             // of INTC
	whole   asking             // the last write of ID.RESET, and a read of ID.SCRATCH0 that returned what it was before
	scratch uint64             // what was written to ID.SCRATCH0 last
	patient uint64             // clocks after a doorbell in which its work may go on
}

// accesses adds what the accesses of the host say about a run without submissions that ended with an error. It reports false if they say
// nothing.
func (r *Run) accesses(a *Answer) bool {
	if len(r.order) > 0 || len(r.deeds) == 0 {
		return false
	}
	u := audit{patient: r.patience()}
	for i := range r.deeds {
		u.see(&r.deeds[i])
	}
	u.end()
	var first *lack
	for i := range u.lacks {
		if l := &u.lacks[i]; first == nil || l.asked.Event < first.asked.Event {
			first = l
		}
	}
	if first == nil {
		return false
	}
	a.step(first.asked, "%s", first.step)
	a.step(first.seen, "%s", first.text)
	a.lacks(first.link, "%s", first.text)
	return true
}

// see takes the next deed.
func (u *audit) see(d *deed) {
	switch d.kind {
	case eventlog.Message:
		if v := d.fields[0]; v < vectors {
			u.pending[v], u.heard[v] = nil, true
		}
		if d.fields[0] == completions {
			u.fence = [cpreg.Nodes]*deed{}
		}
	case eventlog.Executed:
		if n := d.fields[0]; n < cpreg.Nodes && uint8(d.fields[2]>>24) == pkt.OpFence {
			u.fence[n] = d
		}
	case eventlog.Read, eventlog.Write:
		if d.fields[0] != 0 {
			return
		}
		switch off := d.fields[1] - cpreg.Base; {
		case d.fields[1] == idreg.Reset && d.kind == eventlog.Write && d.fields[3]&idreg.ResetWhole != 0:
			u.end()
			*u = audit{lacks: u.lacks, patient: u.patient, whole: asking{wrote: d}, scratch: u.scratch}
		case d.fields[1] == idreg.Base+idreg.Scratch0:
			u.scratched(d)
		case off < cpreg.Nodes*cpreg.Stride:
			u.node(int(off/cpreg.Stride), off%cpreg.Stride, d)
		default:
			u.interrupts(d)
		}
	default:
	}
}

// node takes an access of a register of a node.
func (u *audit) node(n int, off uint64, d *deed) {
	value, write := d.fields[3], d.kind == eventlog.Write
	switch {
	case off == cpreg.Ctl && write && value&cpreg.CtlReset != 0:
		u.judge(n)
		u.wptr[n], u.preempt[n], u.fence[n], u.work[n] = asking{}, asking{}, nil, duty{}
		u.reset[n] = asking{wrote: d}
	case off == cpreg.Ctl && !write && u.reset[n].wrote != nil:
		u.reset[n].read = nil
		if value&cpreg.CtlReset != 0 {
			u.reset[n].read = d
		}
	case off == cpreg.RingSize && !write && value != 0:
		u.reset[n].read = d
	case off == cpreg.RingSize || off == cpreg.Ctl && write:
		u.judgeReset(n)
		u.reset[n] = asking{}
		if off == cpreg.Ctl && value&cpreg.CtlRun != 0 {
			u.lacks, u.whole = nil, asking{} // the command goes on
		}
	case off == cpreg.Wptr && write:
		u.wptr[n], u.work[n] = asking{wrote: d}, duty{bell: d}
	case off == cpreg.Rptr:
		u.work[n].moves(d)
	case off == cpreg.Status:
		u.work[n].status = d
	case off == cpreg.Wptr:
		u.judgeDoorbell(n, d)
	case off == cpreg.Preempt && write:
		u.judgePreempt(n)
		u.preempt[n] = asking{wrote: d}
	case off == cpreg.Preempted && !write:
		u.preempt[n].read = d
	}
}

// interrupts takes an access of a register of the interrupt controller.
func (u *audit) interrupts(d *deed) {
	value, write := d.fields[3], d.kind == eventlog.Write
	switch off := d.fields[1] - intcreg.Base; {
	case off == intcreg.Mask && write:
		u.mask = value
	case off == intcreg.Status && write:
		u.judgeMessages(value)
		for v, bits := range eventsOf {
			u.heard[v] = u.heard[v] && value&bits == 0
		}
	case off == intcreg.Status:
		for v, bits := range eventsOf {
			if value&u.mask&bits != 0 && u.pending[v] == nil && !u.heard[v] {
				u.pending[v] = d
			}
		}
	}
}

// judge ends what a node was asked for: it is reset, or the log ends.
func (u *audit) judge(n int) {
	u.judgeWork(n)
	u.judgeReset(n)
	u.judgePreempt(n)
	u.judgeMessages(intcreg.All)
}

func (u *audit) end() {
	u.judgeWhole()
	for n := range cpreg.Nodes {
		u.judge(n)
	}
}

// judgeDoorbell takes a read of WPTR.
func (u *audit) judgeDoorbell(n int, read *deed) {
	if w := u.wptr[n].wrote; w != nil && w.fields[3] != read.fields[3] {
		u.work[n] = duty{}
		u.add(MissingDoorbell, w, read, fmt.Sprintf("the doorbell was lost: %s was written with %#x at clock %d, and read back as %#x at clock %d",
			register(w.fields[1]), w.fields[3], w.Time, read.fields[3], read.Time))
	}
	u.wptr[n] = asking{}
}

// judgeReset ends a reset of a node.
func (u *audit) judgeReset(n int) {
	if a := u.reset[n]; a.wrote != nil && a.read != nil {
		what := "is still"
		if a.read.fields[1]%cpreg.Stride == cpreg.Ctl {
			what = "has RESET and is still"
		}
		u.add(MissingReset, a.wrote, a.read, fmt.Sprintf("the reset of node %d was ignored: CP%d.CTL.RESET was written at clock %d, and %s %s %#x at clock %d",
			n, n, a.wrote.Time, register(a.read.fields[1]), what, a.read.fields[3], a.read.Time))
	}
	u.reset[n].read = nil
}

// scratched takes an access of ID.SCRATCH0, which a reset of the device clears.
func (u *audit) scratched(d *deed) {
	value := d.fields[3]
	switch {
	case d.kind == eventlog.Write:
		u.judgeWhole()
		u.scratch = value
	case value == u.scratch && value != 0:
		u.whole.read = d
	default:
		u.whole = asking{}
	}
}

// judgeWhole ends a reset of the device.
func (u *audit) judgeWhole() {
	if a := u.whole; a.wrote != nil && a.read != nil {
		u.add(MissingReset, a.wrote, a.read, fmt.Sprintf("the reset of the device was ignored: ID.RESET was written at clock %d, and ID.SCRATCH0 is still %#x at clock %d", a.wrote.Time, a.read.fields[3], a.read.Time))
	}
	u.whole = asking{}
}

// judgePreempt ends a preemption of a node.
func (u *audit) judgePreempt(n int) {
	if a := u.preempt[n]; a.wrote != nil && a.read != nil && a.read.fields[3] != a.wrote.fields[3] {
		u.add(MissingPreempt, a.wrote, a.read, fmt.Sprintf("the preemption of node %d did not end: %s was written with %#x at clock %d, and %s is still %#x at clock %d",
			n, register(a.wrote.fields[1]), a.wrote.fields[3], a.wrote.Time, register(a.read.fields[1]), a.read.fields[3], a.read.Time))
	}
	u.preempt[n] = asking{}
}

// judgeMessages ends the time in which the interrupt messages of events may follow. A FENCE in the log does not say whether it asks for one.
func (u *audit) judgeMessages(events uint64) {
	pending := u.pending
	for v, bits := range eventsOf {
		if p := pending[v]; p != nil && events&bits != 0 {
			u.pending[v] = nil
			u.add(MissingMessage, p, p, fmt.Sprintf("no interrupt message of vector %d arrived: INTC.STATUS was %#x at clock %d, and INTC.MASK is %#x", v, p.fields[3], p.Time, u.mask))
		}
	}
	switch {
	case events&intcreg.DoneAll == 0:
		return
	case pending[completions] != nil:
		u.fence = [cpreg.Nodes]*deed{}
		return
	}
	for n, d := range u.fence {
		if d != nil && u.mask&(intcreg.Done0<<n) != 0 {
			u.add(MissingMessage, d, d, fmt.Sprintf("no interrupt message arrived: FENCE at %s is executed at clock %d, and no message followed it, if it asks for one", pkt.FormatAddr(d.fields[1]), d.Time))
		}
	}
	u.fence = [cpreg.Nodes]*deed{}
}

func (u *audit) add(link string, asked, seen *deed, text string) {
	l := lack{asked: asked.Point, link: link, step: asked.String(), text: text}
	if seen != asked {
		l.seen = seen.Point
	}
	u.lacks = append(u.lacks, l)
}

// unanswerable explains an error of a command of which the log has too little.
func (r *Run) unanswerable(a *Answer) {
	text := "the accesses of the log show no step that is missing"
	s := r.oldest()
	if i := slices.IndexFunc(r.order, func(s *submission) bool { return s.rerun.In() && !s.over() }); i >= 0 {
		s = r.order[i]
	}
	switch {
	case r.notStarted(a):
		return
	case s != nil:
		verdict := a.Verdict
		a.step(s.queued, "%s has not ended", s.name())
		r.missing(a, s, map[*submission]bool{})
		a.Verdict = verdict
		return
	case len(r.order) > 0:
		text = "all work of the log has ended"
	case len(r.deeds) == 0:
		text = "the log has no access of the host: those of the enumeration are in no log"
	}
	if m := wrongPixel.FindStringSubmatch(r.end.Text()); m != nil {
		a.Notes = append(a.Notes, "the frame is wrong: ask for pixel "+m[1])
	}
	a.lacks(MissingUnknown, "%s; the error: %s", text, strings.TrimPrefix(firstLine(r.end.Text()), kernelSays))
}

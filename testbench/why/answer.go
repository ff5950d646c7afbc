package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Step is a link of a chain.
type Step struct {
	Event   uint64 `json:"event,omitempty"` // number of the event; 0: it is not in the log
	Time    uint64 `json:"time"`            // in clocks of the device
	Process uint32 `json:"process,omitempty"`
	Thread  uint32 `json:"thread,omitempty"` // 0: the kernel or the hardware
	What    string `json:"what"`
}

// The names of missing links, in the order of a chain.
const (
	MissingOpen     = "open"     // no board was opened
	MissingStart    = "start"    // the miniport did not start the device
	MissingRule     = "rule"     // a rule was broken before
	MissingCommand  = "command"  // the driver wrote no packet for a call
	MissingPatch    = "patch"    // an address of a packet is not that of its allocation
	MissingSubmit   = "submit"   // the kernel did not give it to the hardware
	MissingDoorbell = "doorbell" // the driver did not ring, or the ring was lost
	MissingFetch    = "fetch"    // the node has not begun it
	MissingPacket   = "packet"   // a packet does not end
	MissingFence    = "fence"    // the fence was not written
	MissingMessage  = "message"  // the interrupt message did not arrive
	MissingReport   = "report"   // the driver did not report the fence
	MissingRetire   = "retire"   // the DPC did not retire it
	MissingReset    = "reset"    // a reset of a node had no effect
	MissingPreempt  = "preempt"  // a node did not stop for other work
	MissingLink     = "link"     // the link to the board
	MissingUnknown  = "unknown"  // the log of this board does not say which
)

// An Answer is a chain of events. Missing is the first link that is missing, or "", and Cause
// says why as far as the log tells.
type Answer struct {
	Question string   `json:"question"`
	Verdict  string   `json:"verdict"`
	Chain    []Step   `json:"chain"`
	Missing  string   `json:"missing,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	Notes    []string `json:"notes,omitempty"` // about the log

	board *Run // that it is about; nil: the one that was asked
}

// step appends a link, if its event is in the log.
func (a *Answer) step(p Point, format string, args ...any) {
	if p.In() {
		a.Chain = append(a.Chain, Step{Event: p.Event, Time: p.Time, What: fmt.Sprintf(format, args...)})
	}
}

// frames appends the calls that were open.
func (a *Answer) frames(stack []frame) {
	indent := ""
	for _, f := range stack {
		what := indent + f.name
		if f.number != 0 {
			what = fmt.Sprintf("call %d, %s", f.number, f.name)
		}
		a.Chain = append(a.Chain, Step{f.Event, f.Time, f.process, f.thread, what})
		indent += "  "
	}
}

// meanwhile appends the calls in which the kernel was called when an interrupt was delivered.
func (a *Answer) meanwhile(stack []frame) {
	from := len(a.Chain)
	a.frames(stack)
	for i := range a.Chain[from:] {
		if stack[i].number != 0 {
			a.Chain[from+i].What = "meanwhile, in " + a.Chain[from+i].What
		}
	}
}

// unknown appends a link that the log does not have.
func (a *Answer) unknown(format string, args ...any) {
	time := uint64(0)
	if n := len(a.Chain); n > 0 {
		time = a.Chain[n-1].Time
	}
	a.Chain = append(a.Chain, Step{Time: time, What: "unknown: " + fmt.Sprintf(format, args...)})
}

// sort puts the links in the order of their events. One without an event stays after the link before it.
func (a *Answer) sort() {
	type placed struct {
		step  Step
		after uint64
	}
	var all []placed
	event := uint64(0)
	for _, s := range a.Chain {
		event = cmp.Or(s.Event, event)
		all = append(all, placed{s, event})
	}
	slices.SortStableFunc(all, func(x, y placed) int { return cmp.Compare(x.after, y.after) })
	for i, p := range all {
		a.Chain[i] = p.step
	}
}

// once removes links that are the same as the one before.
func (a *Answer) once() { a.Chain = slices.Compact(a.Chain) }

// lacks sets the first missing link, and returns a.
func (a *Answer) lacks(link, format string, args ...any) *Answer {
	a.Missing, a.Cause = link, fmt.Sprintf(format, args...)
	return a
}

// Text returns the answer as lines.
func (a *Answer) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", a.Question, a.Verdict)
	if len(a.Chain) > 0 {
		fmt.Fprintf(&b, "%10s %12s %8s\n", "event", "clock", "thread")
	}
	for _, s := range a.Chain {
		thread := "-"
		if s.Thread != 0 {
			thread = fmt.Sprintf("%d:%d", s.Process, s.Thread)
		}
		event := "-"
		if s.Event != 0 {
			event = fmt.Sprint(s.Event)
		}
		fmt.Fprintf(&b, "%10s %12d %8s  %s\n", event, s.Time, thread, s.What)
	}
	if a.Missing != "" {
		fmt.Fprintf(&b, "%10s %12s %8s  %s\n", "-", "-", "-", "missing: "+a.Missing)
	}
	if a.Cause != "" {
		fmt.Fprintf(&b, "because %s\n", a.Cause)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

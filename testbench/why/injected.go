package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// maxInjected is the number of stops and resets by injected faults in an answer.
const maxInjected = 20

// An injection is a fault that the command injected, and how it may end.
type injection struct {
	Point
	what                 string
	device               uint64 // 0: it is for all
	timeout, fault, stop bool
	seen                 bool // it explains a stop of the adapter, or it is for all and explains a reset of a node
}

// injects notes an injected fault.
func (b *builder) injects(e *eventlog.Event) {
	f := &e.Fields
	b.injected = append(b.injected, &injection{Point{e.ID, e.Time}, e.Text(), f[0], f[1] != 0, f[2] != 0, f[3] != 0, false})
}

// meant returns the injected fault that a stop of the adapter or a reset of a node comes of, or nil, and notes which
// faults of the nodes led to it.
func (b *builder) meant(e *eventlog.Event) *injection {
	for _, i := range slices.Backward(b.injected) {
		if i.seen || !i.leads(e) {
			continue
		}
		i.seen = e.Kind == eventlog.Stop || i.device == 0
		if e.Kind == eventlog.Stop {
			b.resting = i
		}
		for k := range b.faults {
			if f := &b.faults[k]; f.ID > i.Event && (e.Kind == eventlog.Stop || f.Fields[0] == e.Fields[1]) {
				f.meant = i
			}
		}
		return i
	}
	return nil
}

// How the reason of a stop or a reset begins.
const (
	kernelSays  = "dxgkrnl: "
	linkFailure = kernelSays + "link failure"
	gpuTimeout  = kernelSays + "GPU time-out"
	gpuFault    = kernelSays + "GPU fault"
)

// unplugged is the injected fault that ends in a failure of the link. Each other one ends in a time-out or a fault of a node.
const unplugged = "unplug"

// leads reports whether an injected fault may end in a stop of the adapter or a reset of a node, with the reason of that.
func (i *injection) leads(e *eventlog.Event) bool {
	timeout, fault := strings.HasPrefix(e.Text(), gpuTimeout), strings.HasPrefix(e.Text(), gpuFault)
	switch {
	case e.Kind == eventlog.Stop && i.what == unplugged:
		return i.stop && strings.HasPrefix(e.Text(), linkFailure)
	case e.Kind == eventlog.Stop:
		return i.stop && (timeout || fault)
	}
	return (i.device == 0 || i.device == e.Fields[3]) && (timeout && i.timeout || fault && i.fault)
}

// unmeant returns the first of some stops, resets or faults that no injected fault explains, or nil.
func unmeant(all []happening) *happening {
	for i := range all {
		if all[i].meant == nil {
			return &all[i]
		}
	}
	return nil
}

// byBench adds the stops and resets by injected faults to the answer of a run that nothing else has stopped, or a note to
// another one.
func (r *Run) byBench(a *Answer) {
	n := 0
	for i := range r.stops {
		s := &r.stops[i]
		if s.meant == nil {
			continue
		}
		if n++; n > maxInjected || a.Missing != "" {
			continue
		}
		a.step(s.meant.Point, "injected by the bench: %s", s.meant.describe())
		a.step(Point{s.ID, s.Time}, "%s", s.because())
	}
	if len(r.injected) > 0 {
		text := "injected by the bench: " + r.kinds()
		if len(r.stops) > 0 {
			text += fmt.Sprintf("; they explain %d of %s", n, count(len(r.stops), "stop or reset that ended work", "stops and resets that ended work"))
		}
		if len(r.idle) > 0 {
			text += "; " + count(len(r.idle), "reset of a node ended no work", "resets of a node ended no work")
		}
		a.Notes = append(a.Notes, text)
	}
	if n > maxInjected && a.Missing == "" {
		a.Notes = append(a.Notes, fmt.Sprintf("the last %d of them are left out", n-maxInjected))
	}
	switch unexplained := r.unexplained(); {
	case unexplained != "" && a.Missing == "":
		a.Verdict += "; " + unexplained
	case unexplained != "":
		a.Notes = append(a.Notes, unexplained)
	case len(r.injected) > 0 && a.Missing == "":
		a.Verdict += "; no fault but those injected by the bench is in the log"
	}
}

// unexplained names the resets of nodes that ended no work and that no injected fault explains, or returns "".
func (r *Run) unexplained() string {
	first, n := unmeant(r.idle), 0
	if first == nil {
		return ""
	}
	for i := range r.idle {
		if r.idle[i].meant == nil {
			n++
		}
	}
	text := count(n, "reset of a node ended no work, and no injected fault explains it: at", "resets of a node ended no work, and no injected fault explains them: the first at")
	return fmt.Sprintf("%s clock %d, %s", text, first.Time, strings.TrimPrefix(firstLine(first.Text()), kernelSays))
}

// count returns a number with what it counts, one or several.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// because says what a stop or a reset does, to which submission and why.
func (h *happening) because() string {
	node, fence, what := h.stopped()
	text := "the kernel " + what
	if fence != 0 {
		text += fmt.Sprintf(": fence %d of node %d", fence, node)
	}
	return text
}

// describe names an injected fault and its device.
func (i *injection) describe() string {
	if i.device == 0 {
		return i.what
	}
	return fmt.Sprintf("%s, in the work of device %#x", i.what, i.device)
}

// kinds counts the injected faults of each kind, in the order of the first.
func (r *Run) kinds() string {
	var names []string
	of := map[string]int{}
	for _, i := range r.injected {
		if of[i.what]++; of[i.what] == 1 {
			names = append(names, i.what)
		}
	}
	for k, name := range names {
		names[k] = fmt.Sprintf("%d %s", of[name], name)
	}
	return strings.Join(names, ", ")
}

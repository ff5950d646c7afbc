package verifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// A Violation is a rule that a driver or the runtime broke. Unless the Checker
// collects, it is the value of a panic that unwinds to the caller of the stack.
type Violation struct {
	Rule     rule.Rule
	Function string   // the function that was entered or left, as in the WDK
	Text     string   // what was found, and what was wanted
	Stack    []string // DDI functions of the thread, outermost first
	Calls    []string // the last calls and callbacks of all threads, oldest first
}

// Error describes the violation in a line.
func (v *Violation) Error() string {
	return fmt.Sprintf("verifier: %s (%s): %s: %s", v.Rule.Name, v.Rule.Fault, v.Function, v.Text)
}

// Report is Error and Details.
func (v *Violation) Report() string { return v.Error() + "\n" + v.Details() }

// Details describes rule, stack and last calls, a line each.
func (v *Violation) Details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  rule    %s\n  source  %s\n", v.Rule.Title, v.Rule.Source)
	fmt.Fprintf(&b, "  stack   %s\n", strings.Join(v.Stack, " > "))
	for i, c := range v.Calls {
		label := "  calls   "
		if i > 0 {
			label = "          "
		}
		fmt.Fprintf(&b, "%s%s\n", label, c)
	}
	return b.String()
}

// A Finding counts what a Checker saw and did not stop for.
type Finding struct {
	Rule   string `json:"rule"`
	Waived bool   `json:"waived"` // false: the rule is a warning
	Count  int    `json:"count"`
	First  string `json:"first"` // text of the first
}

// String returns the finding as a line.
func (f Finding) String() string {
	kind := "warning"
	if f.Waived {
		kind = "waived"
	}
	return fmt.Sprintf("verifier: %s: %s, %d times, first: %s", kind, f.Rule, f.Count, f.First)
}

// fail notes that the rule of that name is broken.
func (k *Checker) fail(fr *frame, broken, format string, args ...any) {
	r, ok := k.rules[broken]
	if !ok {
		panic("verifier: no rule " + broken)
	}
	text := fmt.Sprintf(format, args...)
	if waived := slices.Contains(k.waive, broken); waived || r.Warning {
		f := k.findings[broken]
		if f == nil {
			f = &Finding{Rule: broken, Waived: waived, First: fr.f.Name + ": " + text}
			k.findings[broken] = f
		}
		f.Count++
		return
	}
	v := &Violation{Rule: r, Function: fr.f.Name, Text: text, Stack: slices.Clone(fr.t.Stack()), Calls: k.last.strings()}
	k.found = append(k.found, v)
	if !k.collect && k.stop == nil {
		k.stop = v
	}
}

// maxCalls is how many calls a Violation shows.
const maxCalls = 24

// A history is the calls seen last.
type history struct {
	calls [maxCalls]past
	n     uint64
}

type past struct {
	f               *Func
	process, thread uint32
	depth           int
	context         uint64
}

func (h *history) add(p past) {
	h.calls[h.n%maxCalls] = p
	h.n++
}

func (h *history) strings() []string {
	var out []string
	for i := h.n - min(h.n, maxCalls); i < h.n; i++ {
		p := h.calls[i%maxCalls]
		s := fmt.Sprintf("#%d thread %d:%d %s%s", i+1, p.process, p.thread, strings.Repeat("  ", p.depth), p.f.Name)
		if p.context != 0 {
			s += fmt.Sprintf(" on context %d", p.context)
		}
		out = append(out, s)
	}
	return out
}

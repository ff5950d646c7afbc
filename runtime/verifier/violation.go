package verifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// A Violation is a broken rule. Unless the Checker collects violations, it is
// the value of a panic that unwinds to the caller of the driver stack.
type Violation struct {
	Rule     rule.Rule
	Function string   // WDK name of the function that was entered or left
	Text     string   // what was found and what is wanted
	Stack    []string // DDI functions on the thread, outermost first
	Calls    []string // the last calls and callbacks of all threads, oldest first
}

// Error describes the violation in one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("verifier: %s (%s): %s: %s", v.Rule.Name, v.Rule.Fault, v.Function, v.Text)
}

// Report returns the text of Error and Details.
func (v *Violation) Report() string { return v.Error() + "\n" + v.Details() }

// Details describes the rule, the stack and the last calls, one per line.
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

// A Finding counts violations for which a Checker did not stop.
type Finding struct {
	Rule   string `json:"rule"`
	Waived bool   `json:"waived"` // false if the rule is a warning
	Count  int    `json:"count"`
	First  string `json:"first"` // text of the first violation
}

// String describes the finding in one line.
func (f Finding) String() string {
	kind := "warning"
	if f.Waived {
		kind = "waived"
	}
	return fmt.Sprintf("verifier: %s: %s, %d times, first: %s", kind, f.Rule, f.Count, f.First)
}

// fail records a violation of the named rule.
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

// maxCalls is the number of calls in a Violation.
const maxCalls = 24

// A history holds the most recent calls.
type history struct {
	calls [maxCalls]historyCall
	n     uint64
}

type historyCall struct {
	f               *Func
	process, thread uint32
	depth           int
	context         uint64
}

func (h *history) add(p historyCall) {
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

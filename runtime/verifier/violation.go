package verifier

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// A Violation is a broken rule.
type Violation struct {
	Rule     rule.Rule `json:"rule"`
	Function string    `json:"function"`          // WDK name of the function that was entered or left
	Text     string    `json:"text"`              // what was found and what is wanted
	Culprit  *Culprit  `json:"culprit,omitempty"` // the call to blame if it is not Function, or nil
	Handles  []string  `json:"handles,omitempty"` // objects concerned, as in "resource 3"
	Stack    []string  `json:"stack"`             // DDI functions on the thread, outermost first
	Calls    []string  `json:"calls"`             // the last calls of all threads, oldest first
	Process  uint32    `json:"process"`           // 0: the system
	Thread   uint32    `json:"thread"`            // within the process
	IRQL     ddi.IRQL  `json:"irql"`
	Cycle    uint64    `json:"cycle"` // virtual time, in cycles of the device's clock

	Work  *Work `json:"-"` // what of a submission it is about, or nil
	Cause error `json:"-"` // the bugcheck, the panic or the status that a function returned, or nil
}

// Error describes the violation in one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("verifier: %s (%s): %s", v.Rule.Name, v.Rule.Fault, v.what())
}

// what describes what was found, where, and the culprit.
func (v *Violation) what() string {
	text := v.Function + ": " + v.Text
	if v.Culprit != nil {
		text += "; the call to blame: " + v.Culprit.String()
	}
	return text
}

// Unwrap returns the cause.
func (v *Violation) Unwrap() error { return v.Cause }

// Report returns the text of Error and Details.
func (v *Violation) Report() string { return v.Error() + "\n" + v.Details() }

// Details describes the rule, the place and the last calls, one per line. The
// details of the cause follow: the stack of the goroutine that panicked, or the
// state of the kernel.
func (v *Violation) Details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  rule    %s\n  source  %s\n", v.Rule.Title, v.Rule.Source)
	fmt.Fprintf(&b, "  where   thread %d:%d at %v, cycle %d, %s\n", v.Process, v.Thread, v.IRQL, v.Cycle, v.Rule.Severity())
	if len(v.Handles) > 0 {
		fmt.Fprintf(&b, "  handles %s\n", strings.Join(v.Handles, ", "))
	}
	if len(v.Stack) > 0 {
		fmt.Fprintf(&b, "  stack   %s\n", strings.Join(v.Stack, " > "))
	}
	writeLines(&b, "calls", collapsed(v.Calls))
	if c, ok := v.Cause.(interface{ Details() string }); ok {
		writeLines(&b, "cause", strings.Split(strings.TrimSpace(c.Details()), "\n"))
	}
	return b.String()
}

// collapsed returns the calls with one line for each row of calls that differ only
// in their numbers.
func collapsed(calls []string) (out []string) {
	for i := 0; i < len(calls); {
		first, call, _ := strings.Cut(calls[i], " ")
		last, n := first, 1
		for ; i+n < len(calls); n++ {
			number, next, _ := strings.Cut(calls[i+n], " ")
			if next != call {
				break
			}
			last = number
		}
		line := calls[i]
		if n > 1 {
			line = fmt.Sprintf("%s to %s %s, %d times", first, last, call, n)
		}
		out = append(out, line)
		i += n
	}
	return out
}

// writeLines writes lines after a label.
func writeLines(b *strings.Builder, label string, all []string) {
	for _, l := range all {
		fmt.Fprintf(b, "  %-7s %s\n", label, l)
		label = ""
	}
}

// A Finding counts violations for which a Monitor did not stop.
type Finding struct {
	Rule   string `json:"rule"`
	Waived bool   `json:"waived"` // false if the rule is a warning
	Count  int    `json:"count"`
	First  string `json:"first"` // text of the first violation

	Violation *Violation `json:"-"` // the first violation
}

// String describes the finding in one line.
func (f Finding) String() string {
	kind := "warning"
	if f.Waived {
		kind = "waived"
	}
	return fmt.Sprintf("verifier: %s: %s, %d times, first: %s", kind, f.Rule, f.Count, f.First)
}

// fail reports a violation of the named rule in the function of fr.
func (k *Checker) fail(fr *frame, broken, format string, args ...any) {
	k.failBy(fr, nil, broken, format, args...)
}

// failBy is fail for a mistake of another call, if c is not nil.
func (k *Checker) failBy(fr *frame, c *Culprit, broken, format string, args ...any) {
	r := Report{Rule: broken, Thread: fr.t, Func: fr.f, Text: fmt.Sprintf(format, args...), Culprit: c}
	if fr.ctx != nil {
		r.Handles = append(r.Handles, fr.ctx.String())
	}
	for _, o := range fr.objects {
		r.Handles = append(r.Handles, o.String())
	}
	k.m.Report(r)
}

package drivermutant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// An Outcome is the result of a mutant.
type Outcome string

// The outcomes.
const (
	NotReached Outcome = "not reached" // the suite never makes the call, or the value is already that
	Missed     Outcome = "missed"      // the suite passes
	Noticed    Outcome = "noticed"     // a case fails, without a rule that has the call
	Named      Outcome = "named"       // the function or the culprit of the violation is the call that has the mistake
	Mentioned  Outcome = "mentioned"   // its stack or its text has the call, among others
	Hung       Outcome = "hung"        // a call did not return
	Panicked   Outcome = "panicked"    // the system panicked
)

// A Result is what the suite found of a mutant.
type Result struct {
	Mutant  *Mutant
	Outcome Outcome
	Case    string // that failed
	Rule    string // that was broken, or ""
	Text    string // first line of the failure
}

// callLimit is the wall-clock limit of a call of a mutant.
const callLimit = 20 * time.Second

// Run runs the suite on the emulator with the mistake in the drivers of this GPU,
// up to the first case that fails.
func (m *Mutant) Run(filter *regexp.Regexp) Result {
	p := &planter{m: m, change: mutation{op: m.op}}
	results := suite.Run(suite.Options{
		Selector: "emu", Drivers: p.drivers(testbench.HostDrivers()), Runs: 1, Filter: filter, Limit: callLimit, FailFast: true,
	})
	out := Result{Mutant: m, Outcome: Missed}
	last := results[len(results)-1]
	switch {
	case last.Outcome == suite.Failed:
		out.failed(last)
	case p.change.applied == 0:
		out.Outcome = NotReached
	}
	return out
}

// failed classifies a failure.
func (r *Result) failed(of suite.Result) {
	r.Case, r.Outcome = of.Name, Noticed
	r.Text = strings.Join(strings.Fields(strings.TrimPrefix(strings.TrimSpace(of.Messages[0]), "Error:")), " ")
	v := of.Violation
	if v == nil {
		if strings.Contains(r.Text, "panic: ") {
			r.Outcome = Panicked
		}
		return
	}
	_, r.Text, _ = strings.Cut(v.Error(), "): ")
	r.Rule = v.Rule.Name
	switch {
	case r.Rule == "call-hang":
		r.Outcome = Hung
	case r.Rule == "system-panic":
		r.Outcome = Panicked
	case v.Function == r.Mutant.Function, v.Culprit != nil && v.Culprit.Function == r.Mutant.Function:
		r.Outcome = Named
	case slices.Contains(v.Stack, r.Mutant.Function), slices.Contains(callsIn(r.Text), r.Mutant.Function):
		r.Outcome = Mentioned
	}
}

// call is a regular expression of the WDK names of functions and callbacks.
const call = `\b((?:DxgkDdi|DxgkCb|pfn|(?:READ|WRITE)_REGISTER_|Mm(?:Allocate|Free)Contig)\w+)`

// callsIn returns the calls in a text.
func callsIn(text string) []string { return regexp.MustCompile(call).FindAllString(text, -1) }

// A Table counts outcomes.
type Table map[Outcome]int

// Reached returns the number of mutants that the suite could notice.
func (t Table) Reached() int {
	n := 0
	for o, count := range t {
		if o != NotReached {
			n += count
		}
	}
	return n
}

// NoticedShare is the share of the reached mutants that were noticed, 0 to 1.
func (t Table) NoticedShare() float64 {
	return float64(t.Reached()-t[Missed]) / float64(max(t.Reached(), 1))
}

// NamedShare is the share of the reached mutants whose call a violation named as its
// function or its culprit, 0 to 1.
func (t Table) NamedShare() float64 { return float64(t[Named]) / float64(max(t.Reached(), 1)) }

// String describes the counts in a line.
func (t Table) String() string {
	return fmt.Sprintf("%d mutants reached: %d named, %d mentioned, %d noticed, %d missed, %d hung, %d panicked; %d not reached; noticed %.1f %%, named %.1f %%",
		t.Reached(), t[Named], t[Mentioned], t[Noticed], t[Missed], t[Hung], t[Panicked], t[NotReached],
		100*t.NoticedShare(), 100*t.NamedShare())
}

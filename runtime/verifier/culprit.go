package verifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A Culprit is the call that made the mistake of a Violation, if the mistake shows
// only in another call. A checker sets it when it knows the call, for example since
// it made the object that is wrong, and leaves it nil otherwise.
type Culprit struct {
	Function string `json:"function"`           // WDK name of the function of a driver or of the callback
	Call     uint64 `json:"call,omitempty"`     // its number in the order of all calls, as in Violation.Calls; 0: it is missing, or not known
	Ago      uint64 `json:"ago,omitempty"`      // calls that began after it
	Argument string `json:"argument,omitempty"` // the argument or the result that is wrong, as in "argument hr", or ""
	Why      string `json:"why"`                // what is wrong with the argument or the call, as in "is missing in pfnFlush"
}

// String describes the call in a line, as in "pfnCalcPrivateQuerySize (call #12, 3
// calls ago), result, which is 8 for query 4".
func (c *Culprit) String() string {
	var b strings.Builder
	b.WriteString(c.Function)
	if c.Call > 0 {
		fmt.Fprintf(&b, " (call #%d", c.Call)
		if c.Ago > 0 {
			fmt.Fprintf(&b, ", %s ago", plural(int(c.Ago), "call"))
		}
		b.WriteString(")")
	}
	if c.Argument != "" {
		b.WriteString(", " + c.Argument)
	}
	return b.String() + ", which " + c.Why
}

// Missing returns the culprit for a callback that a driver did not make. where names the
// function that should have made it.
func Missing(callback, where string) *Culprit {
	return &Culprit{Function: callback, Why: "is missing in " + where}
}

// OnBlame makes the Monitor call f when one of the given rules is broken and the
// report has no culprit. f gets the thread, which may be nil, and the function of the
// report, and returns the culprit, or nil if it knows none. It must not report
// violations, and no report of these rules may be made while a lock of f is held.
func (m *Monitor) OnBlame(f func(t *ddi.Thread, broken, function string) *Culprit, rules ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range rules {
		m.blame[r] = append(slices.Clone(m.blame[r]), f)
	}
}

// blamed returns the report with the culprit that a checker knows, if any.
func (m *Monitor) blamed(r Report) Report {
	m.mu.Lock()
	all := m.blame[r.Rule]
	m.mu.Unlock()
	for _, f := range all {
		if r.Culprit == nil {
			r.Culprit = f(r.Thread, r.Rule, r.Func.Name)
		}
	}
	return r
}

// Number returns the number of the innermost call on t in the order of all calls, or
// 0 if there is none.
func (m *Monitor) Number(t *ddi.Thread) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	frames := m.running[t]
	if len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1].number
}

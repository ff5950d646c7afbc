package verifier

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// Options control what a Monitor does with violations.
type Options struct {
	Waive   []string      // names of rules whose violations are counted and do not stop
	Collect bool          // collect violations and continue, if the driver's call can
	Now     func() uint64 // virtual time in cycles of the device's clock; nil: always 0

	// Found is called with each broken rule, in the call in which it was found. stops is false
	// for a warning and a rule that is waived. It must not call the Monitor. nil: none.
	Found func(v *Violation, stops bool)
}

// A Monitor gathers the violations of one system from all its hooks. At the
// first one it stops the system: each driver function that runs is unwound, and
// no function of a driver is called again. A wrapped function then returns
// at once, with D3DDDIERR_DEVICEREMOVED or STATUS_DEVICE_REMOVED if it has a
// result. With Options.Collect only violations that no call can survive stop:
// a bugcheck, a panic and the end of the goroutine.
//
// A Monitor is also the Hook that keeps the last calls, so it must be the first
// of the hooks. It is safe for concurrent use. The methods that the wrappers
// use work on nil, for tables without a Monitor.
type Monitor struct {
	rules   map[string]rule.Rule
	waive   []string
	collect bool
	now     func() uint64
	tell    func(v *Violation, stops bool)
	sides   sides

	stopped atomic.Bool
	hung    chan struct{} // closed when a call hangs or has ended its goroutine
	lost    func()        // closes hung, once

	mu       sync.Mutex // guards the fields below
	first    *Violation // why the system stopped
	found    []*Violation
	findings map[string]*Finding
	last     history
	running  map[*ddi.Thread][]runningCall // calls that have not returned, outermost first
	spare    [][]runningCall               // for running
	refusals map[*ddi.Thread]refusal       // the last failure in the kernel
	onStop   []func(*Violation)
	explain  []func(t *ddi.Thread, text string) (string, *Culprit)              // of panics
	blame    map[string][]func(t *ddi.Thread, broken, function string) *Culprit // by rule
}

// NewMonitor returns a Monitor. The error wraps rule.ErrName if a waived rule does
// not exist.
func NewMonitor(o Options) (*Monitor, error) {
	m := &Monitor{
		rules: map[string]rule.Rule{}, waive: slices.Clone(o.Waive), collect: o.Collect, now: o.Now, tell: o.Found,
		findings: map[string]*Finding{}, running: map[*ddi.Thread][]runningCall{}, refusals: map[*ddi.Thread]refusal{},
		blame: map[string][]func(t *ddi.Thread, broken, function string) *Culprit{}, hung: make(chan struct{}),
	}
	m.lost = sync.OnceFunc(func() { close(m.hung) })
	if m.now == nil {
		m.now = func() uint64 { return 0 }
	}
	for _, r := range rule.All() {
		m.rules[r.Name] = r
	}
	for _, name := range o.Waive {
		if _, err := rule.Named(name); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Stopped reports whether a violation stopped the system.
func (m *Monitor) Stopped() bool { return m != nil && m.stopped.Load() }

// Err returns the violation that stopped the system, or nil.
func (m *Monitor) Err() *Violation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first
}

// OnStop makes the Monitor call f with the violation when the system stops, on
// the thread that broke the rule and before the functions unwind. f must not
// call a driver or take a lock that is held during a call of one.
func (m *Monitor) OnStop(f func(*Violation)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onStop = append(m.onStop, f)
}

// OnPanic makes the Monitor call f with the thread and the text of a panic of a
// driver. f returns additional information, to be appended to the text, or "", and
// the culprit, or nil.
func (m *Monitor) OnPanic(f func(t *ddi.Thread, text string) (string, *Culprit)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.explain = append(m.explain, f)
}

// explained adds to the report of a panic of a driver what is known about it.
func (m *Monitor) explained(r Report) Report {
	m.mu.Lock()
	all := slices.Clone(m.explain)
	m.mu.Unlock()
	text := r.Text
	for _, f := range all {
		more, culprit := f(r.Thread, text)
		r.Text += more
		if r.Culprit == nil {
			r.Culprit = culprit
		}
	}
	return r
}

// Violations returns the violations found so far, in order.
func (m *Monitor) Violations() []*Violation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.found)
}

// Findings returns the waived rules that were broken and the warnings, in the
// order of rule.All.
func (m *Monitor) Findings() []Finding {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Finding
	for _, r := range rule.All() {
		if f := m.findings[r.Name]; f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// Enter adds a call to the last calls.
func (m *Monitor) Enter(t *ddi.Thread, f *Func, _ ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	frames := m.running[t]
	var by goroutine
	if frames == nil && len(m.running) > 0 {
		by = thisGoroutine()
	}
	if n := len(m.spare); frames == nil && n > 0 {
		frames, m.spare = m.spare[n-1], m.spare[:n-1]
	}
	m.last.add(historyCall{f: f, t: t, process: t.Process, thread: t.ID, depth: len(frames)})
	m.running[t] = append(frames, runningCall{f, m.last.n, t.IRQL(), by})
}

// Leave removes a call from those that have not returned.
func (m *Monitor) Leave(t *ddi.Thread, f *Func, results ...any) {
	if n := len(results); n > 0 && !f.Callback {
		if s, ok := results[n-1].(ddi.Status); ok && s.Failed() {
			m.noteRefusal(t, f.Name, s)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch frames := m.running[t]; len(frames) {
	case 0:
	case 1:
		delete(m.running, t)
		m.spare = append(m.spare, frames[:0])
	default:
		m.running[t] = frames[:len(frames)-1]
	}
}

// Label names the object of the last call on t in the last calls, as in "on
// context 3".
func (m *Monitor) Label(t *ddi.Thread, kind string, id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last.label(t, kind, id)
}

// A runningCall is a call that has not returned.
type runningCall struct {
	f      *Func
	number uint64    // in the order of all calls
	level  ddi.IRQL  // at its entry
	by     goroutine // of an outermost call; 0: not known, which at most one has
}

// A Report is what a hook found.
type Report struct {
	Rule    string // name in package rule
	Thread  *ddi.Thread
	Func    *Func    // function that was entered or left
	Handles []string // objects concerned, as in "resource 3"
	Text    string   // what was found and what is wanted
	Cause   error    // the status that the function returned, or nil
	Culprit *Culprit // the call to blame if it is not Func, or nil
	Work    *Work    // what of a submission it is about, or nil
	Place   *Place   // of a report that is made later; nil: where Thread is
}

// Work is a part of a submission that a report is about.
type Work struct {
	Submission uint64 // its number, from 1, across all nodes
	Packet     bool   // Offset is known
	Offset     uint32 // of the packet in its buffer, in bytes
}

// WorkOf returns the work of a submission, or nil if it is 0.
func WorkOf(submission uint64) *Work {
	if submission == 0 {
		return nil
	}
	return &Work{Submission: submission}
}

// A Place is where a thread was.
type Place struct {
	Process, Thread uint32
	IRQL            ddi.IRQL
	Stack           []string // DDI functions on the thread, outermost first
}

// PlaceOf returns where a thread is, which the calling goroutine uses. t may be nil.
func PlaceOf(t *ddi.Thread) *Place {
	if t == nil {
		return &Place{}
	}
	return &Place{Process: t.Process, Thread: t.ID, IRQL: t.IRQL(), Stack: slices.Clone(t.Stack())}
}

// Report records a broken rule. Unless the rule is waived or a warning, or the
// Monitor collects, it stops the system; the wrapper then unwinds the functions
// on the thread when the hook returns.
func (m *Monitor) Report(r Report) {
	m.record(r, nil, m.collect)
}

// record records a broken rule with the error that reported it, or nil.
func (m *Monitor) record(r Report, cause error, survive bool) {
	if r.Place == nil {
		r.Place = PlaceOf(r.Thread)
	}
	r = m.blamed(r)
	known, ok := m.rules[r.Rule]
	if !ok {
		panic("verifier: no rule " + r.Rule)
	}
	m.mu.Lock()
	waived := slices.Contains(m.waive, r.Rule)
	v := m.violation(known, r, cause)
	counts := (waived || known.Warning) && cause == nil
	if m.tell != nil {
		m.tell(v, !counts)
	}
	if counts {
		m.count(r, waived, v)
		m.mu.Unlock()
		return
	}
	if m.first == nil && !m.follows(known) {
		m.found = append(m.found, v)
	}
	var tell []func(*Violation)
	if !survive && m.first == nil {
		m.first, tell = v, m.onStop
		m.stopped.Store(true)
	}
	m.mu.Unlock()
	for _, f := range tell {
		f(v)
	}
}

// follows reports whether a violation of the runtime may be due to an earlier one
// of a driver, after which the two sides disagree. m.mu is held.
func (m *Monitor) follows(known rule.Rule) bool {
	return known.Fault == rule.Runtime &&
		slices.ContainsFunc(m.found, func(v *Violation) bool { return v.Rule.Fault != rule.Runtime })
}

// count counts a violation that does not stop. m.mu is held.
func (m *Monitor) count(r Report, waived bool, v *Violation) {
	f := m.findings[r.Rule]
	if f == nil {
		f = &Finding{Rule: r.Rule, Waived: waived, First: v.what(), Violation: v}
		m.findings[r.Rule] = f
	}
	f.Count++
}

// violation describes a broken rule. m.mu is held.
func (m *Monitor) violation(known rule.Rule, r Report, cause error) *Violation {
	v := &Violation{
		Rule: known, Function: r.Func.Name, Text: r.Text, Handles: r.Handles, Stack: r.Place.Stack,
		Process: r.Place.Process, Thread: r.Place.Thread, IRQL: r.Place.IRQL,
		Cycle: m.now(), Calls: m.last.strings(), Cause: cause, Work: r.Work,
	}
	if cause == nil {
		v.Cause = r.Cause
	}
	if r.Culprit != nil {
		c := *r.Culprit
		if c.Call > 0 {
			c.Ago = m.last.n - c.Call
		}
		v.Culprit = &c
	}
	return v
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
	t               *ddi.Thread
	process, thread uint32
	depth           int
	kind            string
	id              uint64
}

func (h *history) add(c historyCall) {
	h.calls[h.n%maxCalls] = c
	h.n++
}

// label names the object of the last call on t.
func (h *history) label(t *ddi.Thread, kind string, id uint64) {
	for i := h.n; i > h.n-min(h.n, maxCalls); i-- {
		if c := &h.calls[(i-1)%maxCalls]; c.t == t {
			c.kind, c.id = kind, id
			return
		}
	}
}

func (h *history) strings() []string {
	var out []string
	for i := h.n - min(h.n, maxCalls); i < h.n; i++ {
		out = append(out, h.calls[i%maxCalls].text(i+1))
	}
	return out
}

// text describes call number n.
func (c *historyCall) text(n uint64) string {
	s := fmt.Sprintf("#%d thread %d:%d %*s%s", n, c.process, c.thread, 2*c.depth, "", c.f.Name)
	if c.kind != "" {
		s += fmt.Sprintf(" on %s %d", c.kind, c.id)
	}
	return s
}

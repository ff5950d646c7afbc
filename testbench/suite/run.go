package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// Options are the settings of a run.
type Options struct {
	Selector string
	Board    boards.Options // options of the connections
	Drivers  testbench.Drivers
	Foreign  bool           // Drivers are not those of this GPU
	Tiers    []Tier         // selects instances by tier; nil: all, or without Own if Foreign
	Repeat   string         // command that repeats a case, without its flags; "": hilgpu test
	Seed     uint64         // first seed
	Runs     uint64         // seeds of cases with several; 0: the case's own number
	Filter   *regexp.Regexp // selects instances by name; nil: all
	Tdr      time.Duration  // as in testbench.Options
	Queues   testbench.Queues
	Limit    time.Duration // CallLimit of testbench.Options
	FailFast bool          // the first failure ends the run
	NoVerify bool          // as in testbench.Options
	Sanitize bool          // as in testbench.Options

	// Record, if not nil, begins the log of every system, as in testbench.Options.
	Record func(h eventlog.Header) (events.Sink, error)

	Waive   []string // as in testbench.Options
	Collect bool     // as in testbench.Options: a case fails with all broken rules
	Trace   bool     // keep DDI calls of failures and the last clocks of an emulated GPU

	Baseline *Baseline // what is known to fail; nil: nothing
	Again    bool      // a case that fails is run again

	Cover bool // count calls and packets: Result.Coverage

	DDI io.Writer // gets the lines of the DDI calls of each system, as testbench.Options.DDI; nil: none

	// Exec, if not nil, runs an instance in place of RunOne, for instance in another
	// process. It is not called for skipped instances.
	Exec func(i Instance) Result

	// Report, if not nil, is called as each instance ends.
	Report func(Result)

	// Each, if not nil, runs an instance by a call of run, for instance as a
	// subtest, and returns the result.
	Each func(i Instance, run func() Result) Result

	// Lost, if not nil, is called after each failure; if it returns an error, the
	// rest is skipped.
	Lost func(Result) error
}

// Outcome is the outcome of an instance.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// A Result is the result of an instance.
type Result struct {
	Name     string        `json:"name"`
	Tier     Tier          `json:"tier"`
	Doc      string        `json:"doc"`
	Source   string        `json:"source"` // of the requirement in Doc
	Selector string        `json:"selector"`
	Seed     uint64        `json:"seed"`
	Outcome  Outcome       `json:"outcome"`
	Messages []string      `json:"messages,omitempty"` // failed checks, or the reason for skipping
	Time     time.Duration `json:"time_ns"`

	Trace     []byte              `json:"-"`                   // DDI calls of a failure, as JSON lines
	Dump      string              `json:"-"`                   // the kernel's dump of a stopped GPU
	Bus       []byte              `json:"-"`                   // packets of the link, as pcapng
	Wave      []byte              `json:"-"`                   // last clocks of an emulated GPU, as a value change dump
	Log       []byte              `json:"-"`                   // last events, as a log
	Got       []byte              `json:"-"`                   // a frame that is not as expected, as PNG
	Expected  []byte              `json:"-"`                   // the expected one
	Registers []byte              `json:"-"`                   // a snapshot of the registers after the failure
	Unread    error               `json:"-"`                   // why there is no snapshot; nil: none was due
	Coverage  *Coverage           `json:"coverage,omitempty"`  // with Options.Cover; nil if the case did not end
	Violation *verifier.Violation `json:"violation,omitempty"` // the rule that a driver broke, or nil
	Findings  []verifier.Finding  `json:"findings,omitempty"`  // warnings and waived violations, one for each rule

	Known bool `json:"known,omitempty"` // the baseline lists the failure
	Flaky bool `json:"flaky,omitempty"` // the case failed, and passed when it was run again

	Hung bool `json:"hung,omitempty"` // a call of a driver does not return, and the board is not closed

	Err error `json:"-"` // why opening the board failed or the GPU stopped, or nil

	repeat string // of Options
}

// Instances returns the selected instances.
func (o Options) Instances() []Instance {
	return slices.DeleteFunc(Expand(o.Selector, o.Seed, o.Runs), func(i Instance) bool {
		return o.Filter != nil && !o.Filter.MatchString(i.Name) || !o.selects(i.Case.Tier)
	})
}

// selects reports whether the cases of a tier run.
func (o Options) selects(t Tier) bool {
	if len(o.Tiers) == 0 {
		return t != Own || !o.Foreign
	}
	return slices.Contains(o.Tiers, t)
}

// Run runs the instances one after the other and returns their results.
func Run(o Options) []Result {
	var out []Result
	var lost error
	for _, i := range o.Instances() {
		if lost != nil {
			i.Skip = fmt.Sprintf("the board is lost: %v", lost)
		} else if i.Skip == "" && o.Baseline.of(i.Name) == Skip {
			i.Skip = "the baseline lists it as Skip"
		}
		r := o.one(i)
		r.repeat = o.Repeat
		if o.Report != nil {
			o.Report(r)
		}
		out = append(out, r)
		if r.Unexpected() && o.FailFast {
			break
		}
		if r.Outcome == Failed && o.Lost != nil {
			lost = o.Lost(r)
		}
	}
	return out
}

// Try opens the board and closes it, so that a missing board is one error and not
// one for each case. It returns the error of testbench.Open or of Close.
func Try(o Options) error {
	sys, err := testbench.Open(o.Selector, o.Drivers, testbench.Options{Board: o.Board, Tdr: o.Tdr, Queues: o.Queues, CallLimit: o.Limit, Sanitize: o.Sanitize, Waive: o.Waive, Collect: o.Collect, DDI: o.DDI})
	if err != nil {
		return err
	}
	err = sys.Watched(sys.Close)
	if o.Collect && sys.Err() == nil && len(sys.Violations()) > 0 {
		return nil // each case has the collected violations
	}
	return err
}

// one runs an instance, with Each if it is set.
func (o Options) one(i Instance) Result {
	run := func() Result {
		if i.Skip != "" {
			return RunOne(i, o)
		}
		exec := o.Exec
		if exec == nil {
			exec = func(i Instance) Result { return RunOne(i, o) }
		}
		return o.judge(i, exec)
	}
	if o.Each != nil {
		return o.Each(i, run)
	}
	return run()
}

// RunOne runs an instance, which need not be one of o.Instances, on its own
// goroutine, which FailNow ends.
func RunOne(i Instance, o Options) Result {
	r := &recording{}
	t := &T{TB: r, Selector: i.Selector, Board: o.Board, Drivers: o.Drivers, Seed: i.Seed, tdr: o.Tdr, queues: o.Queues, limit: o.Limit, noVerify: o.NoVerify, sanitize: o.Sanitize, begin: o.Record, waive: o.Waive, collect: o.Collect, keep: o.Trace, ddi: o.DDI}
	if o.Cover {
		t.cover = newCounter()
	}
	var link tail
	if o.Trace && t.Board.Capture == nil {
		// Writing to a tail does not fail.
		t.Board.Capture, _ = capture.NewWriter(&link, capture.Options{Comment: regs.NewCommenter().Comment})
	}
	var hung *verifier.Violation
	start := time.Now()
	if i.Skip != "" {
		r.skipped = i.Skip
	} else {
		hung = runCase(i.Case, t, r)
	}
	res := Result{
		Name: i.Name, Tier: i.Case.Tier, Doc: i.Case.Doc, Source: i.Case.Source, Selector: i.Selector, Seed: i.Seed,
		Outcome: Passed, Time: time.Since(start),
	}
	if hung != nil {
		res = i.Failure(hung, res.Time)
		res.Hung, res.Log = true, t.log(res.head())
		return res
	}
	res.Messages, res.Findings = r.messages, t.findings
	if t.cover != nil {
		res.Coverage = t.cover.coverage()
	}
	switch {
	case len(r.messages) > 0:
		res.Outcome, res.Dump, res.Err, res.Violation = Failed, t.dump, t.err, t.broken()
		if o.Trace {
			res.Trace, res.Bus, res.Wave, res.Log = merged(t.traces), link.Bytes(), t.wave(), t.log(res.head())
			res.Got, res.Expected, res.Registers, res.Unread = t.got, t.expected, t.registers, t.unread
		}
	case r.skipped != "":
		res.Outcome, res.Messages = Skipped, []string{r.skipped}
	}
	return res
}

// Failure returns the result of an instance that err ended. A *verifier.Violation
// has its report in the messages.
func (i Instance) Failure(err error, took time.Duration) Result {
	r := Result{
		Name: i.Name, Tier: i.Case.Tier, Doc: i.Case.Doc, Source: i.Case.Source, Selector: i.Selector, Seed: i.Seed,
		Outcome: Failed, Time: took, Err: err, Messages: []string{err.Error()},
	}
	if errors.As(err, &r.Violation) {
		r.Messages = []string{reportOf(r.Violation)}
	}
	return r
}

// runCase runs a case on its own goroutine. If a call of a driver does not return,
// runCase returns the violation. The goroutine is then abandoned: it may still use t
// and r.
func runCase(c Case, t *T, r *recording) (hung *verifier.Violation) {
	t.hung, t.ended = make(chan *verifier.Violation, 1), make(chan struct{})
	returned := false
	go func() {
		defer close(t.ended)
		defer r.clean() // after runtime.Goexit
		r.guard(func() { c.run(t) })
		r.clean()
		returned = true
	}()
	select {
	case <-t.ended:
		if returned {
			return nil
		}
		t.watchers.Wait()
		select {
		case v := <-t.hung:
			return v
		default:
			r.Errorf("the goroutine of the case ended before the case")
			return nil
		}
	case v := <-t.hung:
		return v
	}
}

// merged returns the merged calls of each system, which are the same in each run. A
// system that was never started has none.
func merged(traces []*tail) []byte {
	var out bytes.Buffer
	for _, t := range traces {
		kept := t.Bytes()
		if len(kept) == 0 {
			continue
		}
		if err := verifier.Merge(bytes.NewReader(kept), &out); err != nil {
			panic(err) // a Trace wrote the input
		}
	}
	return out.Bytes()
}

// recording is the TB of a case that runs on its own goroutine.
type recording struct {
	traced   bool // messages have the source positions of testify
	messages []string
	skipped  string
	cleanups []func()
}

func (r *recording) Helper() {}

func (r *recording) Errorf(format string, args ...any) {
	m := fmt.Sprintf(format, args...)
	if !r.traced {
		m = withoutTrace(m)
	}
	r.messages = append(r.messages, m)
}

// withoutTrace removes the source position with which testify's messages begin.
func withoutTrace(text string) string {
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		label := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(label, "Error Trace:"):
			inside = true
		case strings.HasPrefix(label, "Error:"):
			inside = false
		}
		if !inside && label != "" {
			out = append(out, strings.TrimPrefix(line, "\t"))
		}
	}
	return strings.Join(out, "\n")
}

// stopped is the panic value that ends a case.
type stopped struct{}

func (r *recording) FailNow() {
	if len(r.messages) == 0 {
		r.messages = append(r.messages, "failed")
	}
	panic(stopped{})
}

func (r *recording) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	panic(stopped{})
}

func (r *recording) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// clean runs the cleanups in reverse order.
func (r *recording) clean() {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		r.guard(last)
	}
}

// guard runs f and reports a panic as a failure.
func (r *recording) guard(f func()) {
	defer func() {
		switch p := recover().(type) {
		case nil, stopped:
		case runtime.Error:
			r.Errorf("panic: %v\n%s", p, debug.Stack())
		default:
			r.Errorf("%v", p)
		}
	}()
	f()
}

// dumpOf returns the kernel's dump of a stopped GPU, or "".
func dumpOf(err error) string {
	var stopped *dxgkrnl.DeviceError
	if errors.As(err, &stopped) {
		return stopped.Dump
	}
	return ""
}

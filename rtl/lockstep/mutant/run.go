package mutant

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// ErrControl is wrapped by the error of a design that differs from its Go side
// with no mutant selected.
var ErrControl = errors.New("mutant: the design differs without a mutant")

// An Outcome is what became of a mutant.
type Outcome string

// The outcomes.
const (
	Caught     Outcome = "caught"     // lockstep differed, or its model stopped
	Equivalent Outcome = "equivalent" // not caught, and yosys proves that it cannot be
	Survived   Outcome = "survived"   // neither
)

// A Result is a mutant and its outcome.
type Result struct {
	Mutant
	Outcome Outcome `json:"outcome"`
	Clock   uint64  `json:"clock"` // of the difference; the last one if there was none
	By      string  `json:"by"`    // the first signal that differed, or how it was proven
}

// A Report is a run.
type Report struct {
	Config     string   `json:"config"`
	Seed       uint64   `json:"seed"`
	Clocks     uint64   `json:"clocks"` // until the last mutant was caught, or the limit
	Mutants    int      `json:"mutants"`
	Caught     int      `json:"caught"`
	Equivalent int      `json:"equivalent"`
	Survived   int      `json:"survived"`
	Results    []Result `json:"results"` // in the order of the mutants
}

// Rate is how many of the mutants that can be caught were, from 0 to 1.
func (r *Report) Rate() float64 {
	return float64(r.Caught) / float64(max(1, r.Caught+r.Survived))
}

// String is one line.
func (x Result) String() string {
	if x.Outcome == Equivalent {
		return fmt.Sprintf("%s, %s: %s", x.Outcome, x.By, x.Mutant)
	}
	return fmt.Sprintf("%s: %s", x.Outcome, x.Mutant)
}

// add counts a result.
func (r *Report) add(x Result) {
	switch x.Outcome {
	case Caught:
		r.Caught++
	case Equivalent:
		r.Equivalent++
	default:
		r.Survived++
	}
	r.Results = append(r.Results, x)
}

// proofWorkers is how many proofs run at the same time; each takes up to a GB.
const proofWorkers = 4

// Options are those of Run.
type Options struct {
	Name   string // of the configuration
	Config gpu.Config
	Seed   uint64 // of the mutants and of the traffic
	Count  int    // mutants, from 1
	Clocks uint64 // limit
	Cache  string // of models; "": hilgpu in os.UserCacheDir

	Progress func(line string) // is told how far it is; nil: nobody
}

// Check fails with ErrCount as Run would, as far as that can be told without the design.
func (o Options) Check() error { return checkCount(o.Count) }

// say tells a line.
func (o *Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// progressClocks is how many clocks there are between two lines at least.
const progressClocks = 100_000

// Run makes mutants of the GPU's Verilog and runs random traffic on all of them
// in lockstep with the one Go side, in a single model of Verilator, and tries to
// prove those that are not caught. root is that of the source tree. It fails with
// lockstep.ErrTool before it runs anything if a tool is missing that it may need.
func Run(root string, o Options) (*Report, error) {
	g, err := gpu.New(o.Config)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	mutated, ms, err := Generate(d, o.Seed, o.Count)
	if err != nil {
		return nil, err
	}
	if err := checkTools(); err != nil {
		return nil, err
	}
	all := Selection(ms)
	due := uint64(progressClocks)
	all.Progress = func(clocks uint64, left int) {
		if clocks >= due {
			due = clocks + progressClocks
			o.say("%d clocks: %d of %d not caught", clocks, left-1, len(ms))
		}
	}
	o.say("building %s with %d mutants", o.Name, len(ms))
	dev, err := lockstep.NewVariantDevice(g, mutated, all, lockstep.Options{Cache: o.Cache})
	if err != nil {
		return nil, err
	}
	run := lockstep.Random(dev, o.Seed, o.Clocks, nil)
	closed := dev.Close()
	for _, err := range []error{run, closed} {
		if err != nil && !errors.Is(err, lockstep.ErrVariants) {
			return nil, err
		}
	}
	r := &Report{Config: o.Name, Seed: o.Seed, Clocks: dev.Clocks(), Mutants: len(ms)}
	return r, r.judge(d, ms, dev.Verdicts(), o)
}

// Selection returns the variants of mutants: first none of them, as a control.
func Selection(ms []Mutant) lockstep.Variants {
	v := lockstep.Variants{Selector: Selector, Values: []uint64{0}}
	for _, m := range ms {
		v.Values = append(v.Values, uint64(m.ID))
	}
	return v
}

// judge fills the report from what became of the selection of ms, and tries to
// prove those without a verdict, some at a time. It fails with ErrControl.
func (r *Report) judge(d *verilog.Design, ms []Mutant, verdicts []error, o Options) error {
	if verdicts[0] != nil {
		return fmt.Errorf("%w: %w", ErrControl, verdicts[0])
	}
	results := make([]Result, len(ms))
	var left []Mutant
	for i, m := range ms {
		results[i] = judgeOne(m, verdicts[i+1], r.Clocks)
		if results[i].Outcome == Survived {
			left = append(left, m)
		}
	}
	if err := prove(d, left, results, o); err != nil {
		return err
	}
	for _, x := range results {
		r.add(x)
	}
	return nil
}

// judgeOne returns the outcome of m so far.
func judgeOne(m Mutant, verdict error, clocks uint64) Result {
	x := Result{Mutant: m, Outcome: Survived, Clock: clocks}
	var diff *lockstep.Divergence
	switch {
	case errors.As(verdict, &diff):
		x.Outcome, x.Clock, x.By = Caught, diff.Clock, diff.Differences[0].Verilog
	case verdict != nil:
		x.Outcome, x.By = Caught, verdict.Error()
	default:
	}
	return x
}

// prove tries to prove the mutants that are left, of those of the results.
func prove(d *verilog.Design, left []Mutant, results []Result, o Options) error {
	if len(left) == 0 {
		return nil
	}
	o.say("%d mutants not caught: yosys reads the design", len(left))
	p, err := NewProver(d, left)
	if err != nil {
		return err
	}
	errs := make([]error, len(left))
	slots := make(chan struct{}, min(runtime.NumCPU(), proofWorkers))
	var said sync.Mutex
	var wg sync.WaitGroup
	for i, m := range left {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			how, err := p.Prove(m)
			errs[i] = err
			x := &results[m.ID-1]
			if how != "" {
				x.Outcome, x.By = Equivalent, how
			}
			said.Lock()
			o.say("%s", x)
			said.Unlock()
			<-slots
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Print writes the figures by kind and by module, and every mutant that was not
// caught.
func (r *Report) Print(w io.Writer) error {
	p := printer{w: w}
	p.f("mutants of %s, seed %d, %d clocks: %d made, %d caught, %d proven equivalent, %d survived\n",
		r.Config, r.Seed, r.Clocks, r.Mutants, r.Caught, r.Equivalent, r.Survived)
	p.table("kind", r.Results, func(x Result) string { return string(x.Kind) })
	p.table("module", r.Results, func(x Result) string { return x.Module })
	for _, x := range r.Results {
		if x.Outcome != Caught {
			p.f("%s\n", x)
		}
	}
	p.f("%d caught of %d that are not proven equivalent: %.1f %%\n", r.Caught, r.Caught+r.Survived, 100*r.Rate())
	return p.err
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints a line for each key, in the order of the mutants.
func (p *printer) table(head string, all []Result, key func(Result) string) {
	var keys []string
	counts := map[string]map[Outcome]int{}
	for _, x := range all {
		k := key(x)
		if counts[k] == nil {
			keys = append(keys, k)
			counts[k] = map[Outcome]int{}
		}
		counts[k][x.Outcome]++
	}
	p.f("%-16s %8s %10s %8s\n", head, "caught", "equivalent", "survived")
	for _, k := range keys {
		c := counts[k]
		p.f("%-16s %8d %10d %8d\n", k, c[Caught], c[Equivalent], c[Survived])
	}
}

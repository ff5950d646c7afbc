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

// ErrControl is wrapped by the error of a design that differs from its Go side with no
// mutant selected.
var ErrControl = errors.New("mutant: the design differs without a mutant")

// An Outcome is the result of testing a mutant.
type Outcome string

// The outcomes.
const (
	Caught     Outcome = "caught"     // lockstep differed, or the simulation stopped
	Equivalent Outcome = "equivalent" // not caught, and yosys proved it equivalent
	Survived   Outcome = "survived"   // neither caught nor proven equivalent
)

// A Result is a mutant and its outcome.
type Result struct {
	Mutant
	Outcome Outcome `json:"outcome"`
	Clock   uint64  `json:"clock"` // clock of the difference, or the last clock
	By      string  `json:"by"`    // first signal that differed, or name of the proof
}

// A Report is the result of a run.
type Report struct {
	Config     string   `json:"config"`
	Seed       uint64   `json:"seed"`
	Clocks     uint64   `json:"clocks"` // clocks until the last mutant was caught, or the limit
	Mutants    int      `json:"mutants"`
	Caught     int      `json:"caught"`
	Equivalent int      `json:"equivalent"`
	Survived   int      `json:"survived"`
	Results    []Result `json:"results"` // in the order of the mutants
}

// Rate returns the fraction of the mutants not proven equivalent that were caught, 1 if
// there are none.
func (r *Report) Rate() float64 {
	if r.Caught+r.Survived == 0 {
		return 1
	}
	return float64(r.Caught) / float64(r.Caught+r.Survived)
}

// String formats the result in one line.
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

// proofWorkers is the number of concurrent proofs. Each uses up to 1 GB of memory.
const proofWorkers = 4

// Options configure Run.
type Options struct {
	Name   string // name of the configuration
	Config gpu.Config
	Seed   uint64 // seed of the mutants and of the traffic
	Count  int    // number of mutants, at least 1
	Clocks uint64 // maximum number of clocks
	Cache  string // directory for built simulations; "": hilgpu in os.UserCacheDir

	// Traffic, if not nil, drives the device after the random traffic and a reset.
	Traffic func(dev *lockstep.Device) error

	Progress func(line string) // called with progress messages; nil: none
}

// Check fails with ErrCount as Run would, as far as it can without the design.
func (o Options) Check() error { return checkCount(o.Count) }

// logf sends a progress message.
func (o *Options) logf(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// progressClocks is the minimum number of clocks between two progress messages.
const progressClocks = 100_000

// Run generates mutants of the GPU's Verilog and runs random traffic on all of them in
// lockstep with one Go side, with a single Verilator build. It then tries to prove the
// uncaught mutants equivalent. root is the root of the source tree. If a tool that it
// may need is missing, it fails with lockstep.ErrTool before it runs anything.
func Run(root string, o Options) (*Report, error) {
	top, err := lockstep.NewTop(o.Config)
	if err != nil {
		return nil, err
	}
	d, err := top.Translate(root)
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
			o.logf("%d clocks: %d of %d not caught", clocks, left-1, len(ms))
		}
	}
	o.logf("building %s with %d mutants", o.Name, len(ms))
	dev, err := lockstep.NewVariantDevice(top, mutated, all, lockstep.Options{Cache: o.Cache})
	if err != nil {
		return nil, err
	}
	run := o.drive(dev)
	closed := dev.Close()
	for _, err := range []error{run, closed} {
		if err != nil && !errors.Is(err, lockstep.ErrVariants) {
			return nil, err
		}
	}
	r := &Report{Config: o.Name, Seed: o.Seed, Clocks: dev.Clocks(), Mutants: len(ms)}
	return r, r.judge(d, ms, dev.Verdicts(), o)
}

// drive runs all traffic on dev.
func (o *Options) drive(dev *lockstep.Device) error {
	if err := lockstep.Random(dev, o.Seed, o.Clocks, nil); err != nil || o.Traffic == nil {
		return err
	}
	dev.Reset()
	return o.Traffic(dev)
}

// Selection returns the variants for mutants. The first has no mutant, as a control.
func Selection(ms []Mutant) lockstep.Variants {
	v := lockstep.Variants{Selector: Selector, Values: []uint64{0}}
	for _, m := range ms {
		v.Values = append(v.Values, uint64(m.ID))
	}
	return v
}

// judge fills the report from the verdicts on ms and tries to prove the uncaught
// mutants equivalent, several at a time. It fails with ErrControl.
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

// judgeOne returns the outcome of m before any proof.
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

// prove tries to prove the remaining mutants and updates their results.
func prove(d *verilog.Design, left []Mutant, results []Result, o Options) error {
	if len(left) == 0 {
		return nil
	}
	o.logf("%d mutants not caught; yosys reads the design", len(left))
	p, err := NewProver(d, left)
	if err != nil {
		return err
	}
	errs := make([]error, len(left))
	slots := make(chan struct{}, min(runtime.NumCPU(), proofWorkers))
	var mu sync.Mutex
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
			mu.Lock()
			o.logf("%s", x)
			mu.Unlock()
			<-slots
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Print writes the figures by kind and by module, and each mutant that was not caught.
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
	if r.Caught+r.Survived == 0 {
		p.f("every mutant is proven equivalent\n")
	} else {
		p.f("%d caught of %d not proven equivalent: %.1f %%\n", r.Caught, r.Caught+r.Survived, 100*r.Rate())
	}
	return p.err
}

// A printer keeps the first error.
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

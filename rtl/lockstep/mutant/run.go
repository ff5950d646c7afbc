package mutant

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

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
	Survived   Outcome = "survived"   // neither caught nor proven equivalent: each proof was refuted
	Undecided  Outcome = "undecided"  // like Survived, but a proof took too long
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
	Undecided  int      `json:"undecided"`
	Results    []Result `json:"results"` // in the order of the mutants
}

// Rate returns the fraction of the mutants not proven equivalent that were caught, 1 if
// there are none.
func (r *Report) Rate() float64 {
	if r.open() == 0 {
		return 1
	}
	return float64(r.Caught) / float64(r.open())
}

// open returns the number of mutants not proven equivalent.
func (r *Report) open() int { return r.Caught + r.Survived + r.Undecided }

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
	case Undecided:
		r.Undecided++
	default:
		r.Survived++
	}
	r.Results = append(r.Results, x)
}

// proofWorkers is the number of concurrent proofs. Each uses up to 1 GB of memory.
const proofWorkers = 4

// Options configure Run and Plant.
type Options struct {
	Name     string            // name of the configuration
	Seed     uint64            // seed of the mutants
	Count    int               // number of mutants, at least 1
	Modules  []string          // names of the Verilog modules that get mutants; none: all
	Known    bool              // plant the mistakes of Known instead; Count must still be valid
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

// A Subject is a circuit whose Verilog gets mutants.
type Subject struct {
	Design *verilog.Design // of the circuit, without mutants

	// Drive runs traffic on a new circuit in lockstep with all variants of a design, and
	// returns their verdicts and the number of clocks. first is the part of the traffic before
	// the fast proof.
	Drive func(d *verilog.Design, v lockstep.Variants, first bool) (verdicts []error, clocks uint64, err error)
}

// Plant generates mutants of a circuit's Verilog and runs traffic on all of them in lockstep
// with one Go side, with a single Verilator build. It then tries to prove the uncaught mutants
// equivalent. The slower proofs come after all traffic, which the mutants that the fast one
// proves need not have. If a tool that it may need is missing, it fails with lockstep.ErrTool
// before it runs anything.
func Plant(s Subject, o Options) (*Report, error) {
	c := campaign{o: o, s: s}
	var err error
	if o.Known {
		c.mutated, c.ms, err = Known(s.Design)
	} else {
		c.mutated, c.ms, err = Generate(s.Design, o.Seed, o.Count, o.Modules...)
	}
	if err != nil {
		return nil, err
	}
	if err := checkTools(); err != nil {
		return nil, err
	}
	for _, m := range c.ms {
		c.results = append(c.results, Result{Mutant: m, Outcome: Survived})
	}
	o.logf("building %s with %d mutants", o.Name, len(c.ms))
	if err := c.run(); err != nil {
		return nil, err
	}
	r := &Report{Config: o.Name, Seed: o.Seed, Clocks: c.clocks, Mutants: len(c.ms)}
	for _, x := range c.results {
		r.add(x)
	}
	return r, nil
}

// run does all traffic and proofs. Known mistakes are not equivalent.
func (c *campaign) run() error {
	traffic := func() error { return c.drive(false) }
	stages := []func() error{
		func() error { return c.drive(true) },
		func() error { return c.prove(fast) },
		traffic,
		func() error { return c.prove(slow) },
	}
	if c.o.Known {
		stages = []func() error{traffic}
	}
	for _, stage := range stages {
		if err := stage(); err != nil {
			return err
		}
	}
	return nil
}

// A campaign is the state of a Run.
type campaign struct {
	o       Options
	s       Subject
	mutated *verilog.Design
	ms      []Mutant
	results []Result // in the order of the mutants
	clocks  uint64   // of the longest traffic
}

// left returns the mutants that are neither caught nor proven equivalent.
func (c *campaign) left() []Mutant {
	var left []Mutant
	for _, x := range c.results {
		if x.Outcome == Survived {
			left = append(left, x.Mutant)
		}
	}
	return left
}

// drive runs traffic with the remaining mutants and updates their results. It fails with
// ErrControl.
func (c *campaign) drive(first bool) error {
	left := c.left()
	if len(left) == 0 {
		return nil
	}
	all := Selection(left)
	due := uint64(progressClocks)
	all.Progress = func(clocks uint64, left int) {
		if clocks >= due {
			due = clocks + progressClocks
			c.o.logf("%d clocks: %d of %d not caught", clocks, left-1, len(all.Values)-1)
		}
	}
	verdicts, clocks, err := c.s.Drive(c.mutated, all, first)
	if err != nil && !errors.Is(err, lockstep.ErrVariants) {
		return err
	}
	c.clocks = max(c.clocks, clocks)
	return c.judge(left, verdicts, clocks)
}

// Selection returns the variants for mutants. The first has no mutant, as a control.
func Selection(ms []Mutant) lockstep.Variants {
	v := lockstep.Variants{Selector: Selector, Values: []uint64{0}}
	for _, m := range ms {
		v.Values = append(v.Values, uint64(m.ID))
	}
	return v
}

// judge updates the results from the verdicts on mutants. It fails with ErrControl.
func (c *campaign) judge(ms []Mutant, verdicts []error, clocks uint64) error {
	if verdicts[0] != nil {
		return fmt.Errorf("%w: %w", ErrControl, verdicts[0])
	}
	for i, m := range ms {
		c.results[m.ID-1] = judgeOne(m, verdicts[i+1], clocks)
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

// prove tries to prove the remaining mutants, several at a time, and updates their results.
func (c *campaign) prove(how effort) error {
	left := c.left()
	c.o.logf("%d mutants not caught, the %s proof", len(left), how)
	if how == slow {
		for _, m := range left {
			c.o.logf("not caught: %s", m)
		}
	}
	prover, err := NewProver(c.s.Design, left) // without the others, the logic is smaller
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
			name, late, err := prover.Prove(m, how)
			errs[i] = err
			x := &c.results[m.ID-1]
			switch {
			case name != "":
				x.Outcome, x.By = Equivalent, name
			case late && how == slow:
				x.Outcome = Undecided
			}
			mu.Lock()
			if name != "" || how == slow {
				c.o.logf("%s", x)
			}
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
	p.f("mutants of %s, seed %d, %d clocks: %d made, %d caught, %d proven equivalent, %d survived, %d undecided\n",
		r.Config, r.Seed, r.Clocks, r.Mutants, r.Caught, r.Equivalent, r.Survived, r.Undecided)
	p.table("kind", r.Results, func(x Result) string { return string(x.Kind) })
	p.table("module", r.Results, func(x Result) string { return x.Module })
	for _, x := range r.Results {
		if x.Outcome != Caught {
			p.f("%s\n", x)
		}
	}
	if r.open() == 0 {
		p.f("every mutant is proven equivalent\n")
	} else {
		p.f("%d caught of %d not proven equivalent: %.1f %%\n", r.Caught, r.open(), 100*r.Rate())
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
	p.f("%-16s %8s %10s %8s %9s\n", head, "caught", "equivalent", "survived", "undecided")
	for _, k := range keys {
		c := counts[k]
		p.f("%-16s %8d %10d %8d %9d\n", k, c[Caught], c[Equivalent], c[Survived], c[Undecided])
	}
}

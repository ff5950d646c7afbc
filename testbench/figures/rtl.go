package figures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// RTLOptions are the settings of MeasureRTL.
type RTLOptions struct {
	Root   string     // root of the module's source
	Config gpu.Config // configuration of the GPU
	Name   string     // name of the configuration

	Runs  int // runs of each side, at least 1
	Count int // copies per node of the busy workload, at least 1
	Polls int // register reads of the idle workload, at least 1
	Edits int // runs of the edit loop; 0 omits it

	Progress func(done, total int) // called with the number of rows done
	At       func(part string)     // called before each part after the rows
}

// RTL compares the Go RTL with its Verilog under Verilator.
type RTL struct {
	Config    string      `json:"config"`
	Runs      int         `json:"runs"`
	Rows      []Row       `json:"rows"`
	Translate Translation `json:"translate"`
	Edits     []Edit      `json:"edits,omitempty"` // with a model compiled with and without optimization
}

// MeasureRTL measures the workloads with and without waves, the translation and the
// edit loop. It needs Verilator. It fails with ErrDigest, ErrEdit, or an error of a
// workload or of the build.
func MeasureRTL(o RTLOptions) (*RTL, error) {
	r := &RTL{Config: o.Name, Runs: o.Runs}
	var err error
	if r.Rows, err = o.rows(); err != nil {
		return nil, err
	}
	o.At("translation")
	if r.Translate, err = Translate(o.Root, o.Config, o.Runs); err != nil {
		return nil, err
	}
	if o.Edits > 0 {
		o.At("edits")
		if r.Edits, err = EditLoop(o.Root, o.Edits); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// A contest is a recorded workload and its comparisons.
type contest struct {
	record func() (*Recording, error)
	plain  []Match
	waves  []Match // none: not compared with waves
}

// contests returns the workloads.
func (o RTLOptions) contests(plan *compose.Plan) []contest {
	asleep, awake := ours()
	all := func(target float64) []Match {
		return []Match{{asleep, Usual, 0}, {asleep, Tuned, target}, {asleep, Enabled, 0}, {awake, Tuned, 0}}
	}
	waves := []Match{{asleep, Usual, 0}, {asleep, Tuned, WavesTarget}}
	return []contest{
		{func() (*Recording, error) { return Busy(o.Config, o.Count) }, all(BusyTarget), waves},
		{func() (*Recording, error) { return Mixed(o.Config, plan) }, all(MixedTarget), waves},
		{func() (*Recording, error) { return Idle(o.Config, o.Polls) }, []Match{{asleep, Usual, 0}, {asleep, Tuned, IdleTarget}}, nil},
	}
}

// rows measures the workloads.
func (o RTLOptions) rows() ([]Row, error) {
	b, err := New(o.Root, o.Config, "")
	if err != nil {
		return nil, err
	}
	plan, err := compose.SamplePlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1})
	if err != nil {
		return nil, err
	}
	contests, total := o.contests(plan), 0
	for _, l := range contests {
		total += len(l.plain) + len(l.waves)
	}
	var rows []Row
	for _, l := range contests {
		o.Progress(len(rows), total)
		rec, err := l.record()
		if err != nil {
			return nil, err
		}
		for i, matches := range [][]Match{l.plain, l.waves} {
			more, err := b.Compare(rec, o.Runs, matches, i == 1)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
			o.Progress(len(rows), total)
		}
	}
	return rows, nil
}

// verdict returns the word for a target's result.
func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "MISSED"
}

// Text formats the figures as a table. Letters in it stand for settings, which follow.
func (r *RTL) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RTL in Go against Verilator, configuration %s, medians of %d\n\n", r.Config, r.Runs)
	fmt.Fprintf(&b, "%-11s %10s %8s %14s %14s %9s\n", "", "clocks", "skipped", "Go ns/clock", "Verilator", "ratio")
	var settings []Setting
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%-11s %10d %7.2f%% %12.2f %s %12.2f %s %8.2fx%s\n", row.Name, row.Clocks,
			100*float64(row.Slept)/float64(row.Clocks), row.Go, letter(&settings, row.GoSettings), row.Verilator, letter(&settings, row.VerilatorSettings), row.Ratio, goal(row.Target, row.Holds))
	}
	b.WriteString("\n")
	for i, s := range settings {
		fmt.Fprintf(&b, "%c  %s\n", 'a'+i, s)
	}
	fmt.Fprintf(&b, "\ntranslation %.2f s  target %g s %s\n", r.Translate.Seconds, r.Translate.Target, verdict(r.Translate.Holds))
	for _, e := range r.Edits {
		fmt.Fprintf(&b, "edit %s and %s: go build %.1f s, %s %.1f s, %.2fx%s\n",
			e.Block, e.Workload, e.Go, e.Settings, e.Verilator, e.Ratio, goal(e.Target, e.Holds))
	}
	return b.String()
}

// goal returns the end of a line with a target, and nothing for target 0.
func goal(target float64, holds bool) string {
	if target == 0 {
		return ""
	}
	return fmt.Sprintf("  target %gx %s", target, verdict(holds))
}

// letter returns the letter of a setting, and adds the setting to all if it is new.
func letter(all *[]Setting, s Setting) string {
	i := slices.Index(*all, s)
	if i < 0 {
		i = len(*all)
		*all = append(*all, s)
	}
	return string(rune('a' + i))
}

package figures

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// RTLOptions are what MeasureRTL measures.
type RTLOptions struct {
	Root   string     // of the module's source
	Config gpu.Config // of the GPU
	Name   string     // of the configuration

	Runs  int // of each side, at least 1
	Count int // copies of the busy workload on each node, at least 1
	Polls int // register reads of the idle workload, at least 1
	Edits int // 0 leaves the edit loop out

	Progress func(done, total int) // is told how many of the rows are done
	At       func(part string)     // is told what comes after the rows
}

// RTL is the RTL in Go against its Verilog under Verilator.
type RTL struct {
	Config    string      `json:"config"`
	Runs      int         `json:"runs"`
	Rows      []Row       `json:"rows"`
	Translate Translation `json:"translate"`
	Edit      *Edit       `json:"edit,omitempty"` // nil if it was left out
}

// MeasureRTL compares the workloads, with and without waves, and measures the
// translation and the edit loop. It needs Verilator, and fails with ErrDigest, ErrEdit
// or an error of a workload or of the build.
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
		e, err := EditLoop(o.Root, o.Edits)
		if err != nil {
			return nil, err
		}
		r.Edit = &e
	}
	return r, nil
}

// rowCount is how many rows there are.
const rowCount = 5

// rows compares the workloads.
func (o RTLOptions) rows() ([]Row, error) {
	b, err := New(o.Root, o.Config, "")
	if err != nil {
		return nil, err
	}
	plan, err := compose.SamplePlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, w := range []struct {
		record func() (*Recording, error)
		target float64
		waves  bool
	}{
		{func() (*Recording, error) { return Busy(o.Config, o.Count) }, BusyTarget, true},
		{func() (*Recording, error) { return Mixed(o.Config, plan) }, MixedTarget, true},
		{func() (*Recording, error) { return Idle(o.Config, o.Polls) }, IdleTarget, false},
	} {
		o.Progress(len(rows), rowCount)
		rec, err := w.record()
		if err != nil {
			return nil, err
		}
		row, err := b.Compare(rec, o.Runs, w.target, false)
		if err == nil {
			rows = append(rows, row)
		}
		if err == nil && w.waves {
			row, err = b.Compare(rec, o.Runs, WavesTarget, true)
			rows = append(rows, row)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// verdict returns what a table says of a target.
func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "missed"
}

// Text returns the figures as a table.
func (r *RTL) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RTL in Go against Verilator -O3, configuration %s, medians of %d\n\n", r.Config, r.Runs)
	fmt.Fprintf(&b, "%-11s %10s %8s %12s %12s %9s\n", "", "clocks", "skipped", "Go ns/clock", "Verilator", "ratio")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%-11s %10d %7.2f%% %12.2f %12.2f %8.2fx  target %gx %s\n", row.Name, row.Clocks,
			100*float64(row.Slept)/float64(row.Clocks), row.Go, row.Verilator, row.Ratio, row.Target, verdict(row.Holds))
	}
	fmt.Fprintf(&b, "\ntranslation %.2f s  target %g s %s\n", r.Translate.Seconds, r.Translate.Target, verdict(r.Translate.Holds))
	if e := r.Edit; e != nil {
		fmt.Fprintf(&b, "edit %s and %s: Go %.1f s, Verilator %.1f s, %.2fx  target %gx %s\n",
			e.Block, e.Workload, e.Go, e.Verilator, e.Ratio, e.Target, verdict(e.Holds))
	}
	return b.String()
}

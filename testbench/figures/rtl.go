package figures

import (
	"fmt"
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
	Edit      *Edit       `json:"edit,omitempty"` // nil if omitted
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
		e, err := EditLoop(o.Root, o.Edits)
		if err != nil {
			return nil, err
		}
		r.Edit = &e
	}
	return r, nil
}

// rowCount is the number of rows.
const rowCount = 5

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

// verdict returns the word for a target's result.
func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "missed"
}

// Text formats the figures as a table.
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

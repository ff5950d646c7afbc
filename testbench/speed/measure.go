package speed

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Row is one comparison.
type Row struct {
	Name      string  `json:"name"`
	Clocks    uint64  `json:"clocks"`
	Slept     uint64  `json:"slept"`           // clocks that Go skips
	Go        float64 `json:"go_ns_per_clock"` // medians
	Verilator float64 `json:"verilator_ns_per_clock"`
	Ratio     float64 `json:"ratio"` // Verilator over Go
	Target    float64 `json:"target"`
	Holds     bool    `json:"holds"`
}

// Targets of the ratios.
const (
	BusyTarget  = 2
	MixedTarget = 5
	IdleTarget  = 300
	EditTarget  = 5
)

// A Bench has a GPU and the model of its Verilog, which are built once.
type Bench struct {
	config gpu.Config
	design *verilog.Design
	model  *sim.Model
}

// New translates the GPU of a configuration, from the source of the module at
// root, and builds the model, or finds it in cache; see sim.BuildOptions.
func New(root string, c gpu.Config, cache string) (*Bench, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(d, sim.BuildOptions{Cache: cache, Replay: true})
	if err != nil {
		return nil, err
	}
	return &Bench{config: c, design: d, model: m}, nil
}

// Compare replays a recording so many times on each side by turns. It fails with
// ErrDigest if the outputs differ.
func (b *Bench) Compare(rec *Recording, runs int, target float64) (row Row, err error) {
	s, err := rec.stimuli(&b.design.Manifest)
	if err != nil {
		return Row{}, err
	}
	dir, err := os.MkdirTemp("", "hilgpu-speed-*")
	if err != nil {
		return Row{}, err
	}
	defer os.RemoveAll(dir)
	model, err := b.model.Replay(dir, s)
	if err != nil {
		return Row{}, err
	}
	defer func() {
		if cerr := model.Close(); err == nil {
			err = cerr
		}
	}()
	g, err := gpu.New(b.config)
	if err != nil {
		return Row{}, err
	}
	var ours, theirs []time.Duration
	for i := range runs {
		runtime.GC()
		took, want := rec.replay(g)
		ours = append(ours, took)
		took, got, err := model.Run()
		if err != nil {
			return Row{}, err
		}
		if got != want {
			return Row{}, fmt.Errorf("%w: %s, run %d: %#x and %#x", ErrDigest, rec.Name, i, want, got)
		}
		theirs = append(theirs, took)
	}
	return newRow(rec, median(ours), median(theirs), target), nil
}

func newRow(rec *Recording, ours, theirs time.Duration, target float64) Row {
	clocks := float64(rec.Clocks)
	r := Row{
		Name: rec.Name, Clocks: rec.Clocks, Slept: rec.Slept, Target: target,
		Go: float64(ours) / clocks, Verilator: float64(theirs) / clocks, Ratio: float64(theirs) / float64(ours),
	}
	r.Holds = r.Ratio >= target
	return r
}

// median returns the middle one, of an even number the lower.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)-1)/2]
}

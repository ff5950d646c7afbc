package figures

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Row is the comparison of one workload with two settings.
type Row struct {
	Name              string  `json:"name"`
	GoSettings        Setting `json:"go_settings"`
	VerilatorSettings Setting `json:"verilator_settings"`
	Clocks            uint64  `json:"clocks"`
	Slept             uint64  `json:"slept"`           // clocks that the Go side skips
	Go                float64 `json:"go_ns_per_clock"` // medians
	Verilator         float64 `json:"verilator_ns_per_clock"`
	Ratio             float64 `json:"ratio"`            // Verilator / Go
	Target            float64 `json:"target,omitempty"` // 0: none
	Holds             bool    `json:"holds"`            // the target is reached, or there is none
}

// Targets of the ratios, Verilator / Go: with the settings Tuned, and of the edit loop
// with a model that is compiled without optimization.
const (
	BusyTarget  = 5
	MixedTarget = 4.5
	WavesTarget = 2
	IdleTarget  = 300
	EditTarget  = 4
)

// A Bench holds a GPU configuration and its Verilog.
type Bench struct {
	root    string
	cache   string
	config  gpu.Config
	design  *verilog.Design
	enabled *verilog.Design // with clock enables
}

// New translates the GPU of a configuration from the source of the module at root. The
// models are kept in cache; see sim.BuildOptions.
func New(root string, c gpu.Config, cache string) (*Bench, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	enabled, err := verilog.TranslateEnabled(root, g)
	if err != nil {
		return nil, err
	}
	return &Bench{root: root, cache: cache, config: c, design: d, enabled: enabled}, nil
}

// A Match is a comparison of two settings. Target 0 is none.
type Match struct {
	Ours, Theirs Setting
	Target       float64
}

// Compare replays a recording the given number of times with each setting of the
// matches, alternately. If waves is set, all sides write a value change dump to a file.
// It builds what the settings need. It fails with ErrDigest if the outputs differ.
func (b *Bench) Compare(rec *Recording, runs int, matches []Match, waves bool) (rows []Row, err error) {
	dir, err := os.MkdirTemp("", "hilgpu-speed-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	settings, sides := []Setting(nil), []side(nil)
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, m := range matches {
		for _, s := range []Setting{m.Ours, m.Theirs} {
			if slices.Contains(settings, s) {
				continue
			}
			started, err := b.start(s, rec, dir, waves)
			if err != nil {
				return nil, err
			}
			settings, sides = append(settings, s), append(sides, started)
		}
	}
	took, err := turns(rec, sides, runs)
	if err != nil {
		return nil, err
	}
	for _, m := range matches {
		rows = append(rows, newRow(rec, m, waves, took[slices.Index(settings, m.Ours)], took[slices.Index(settings, m.Theirs)]))
	}
	return rows, nil
}

// turns runs all sides alternately and returns their medians.
func turns(rec *Recording, sides []side, runs int) ([]time.Duration, error) {
	all, first := make([][]time.Duration, len(sides)), uint64(0)
	for i := range runs {
		for j, s := range sides {
			runtime.GC()
			took, digest, err := s.Run()
			if err != nil {
				return nil, err
			}
			if i == 0 && j == 0 {
				first = digest
			}
			if digest != first {
				return nil, fmt.Errorf("%w: %s, run %d: %#x and %#x", ErrDigest, rec.Name, i, first, digest)
			}
			all[j] = append(all[j], took)
		}
	}
	medians := make([]time.Duration, len(sides))
	for j := range sides {
		medians[j] = median(all[j])
	}
	return medians, nil
}

// Translation is the time to translate the source of a GPU to Verilog.
type Translation struct {
	Seconds float64 `json:"seconds"` // median
	Target  float64 `json:"target"`  // upper limit, seconds
	Holds   bool    `json:"holds"`
}

// TranslateTarget is the upper limit of the time of a translation, in seconds.
const TranslateTarget = 2

// Translate translates the GPU of a configuration the given number of times.
func Translate(root string, c gpu.Config, runs int) (Translation, error) {
	g, err := gpu.New(c)
	if err != nil {
		return Translation{}, err
	}
	var took []time.Duration
	for range runs {
		start := time.Now()
		if _, err := verilog.Translate(root, g); err != nil {
			return Translation{}, err
		}
		took = append(took, time.Since(start))
	}
	return newTranslation(median(took)), nil
}

func newTranslation(took time.Duration) Translation {
	return Translation{Seconds: took.Seconds(), Target: TranslateTarget, Holds: took.Seconds() < TranslateTarget}
}

func newRow(rec *Recording, m Match, waves bool, ours, theirs time.Duration) Row {
	clocks := float64(rec.Clocks)
	r := Row{
		Name: rec.Name, GoSettings: m.Ours, VerilatorSettings: m.Theirs, Clocks: rec.Clocks, Slept: rec.Slept, Target: m.Target,
		Go: float64(ours) / clocks, Verilator: float64(theirs) / clocks, Ratio: float64(theirs) / float64(ours),
	}
	if waves {
		r.Name += "+waves"
	}
	r.Holds = r.Ratio >= m.Target
	return r
}

// median returns the median, and of an even number the lower middle one.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)-1)/2]
}

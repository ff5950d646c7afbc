package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// A Row is the comparison of one workload.
type Row struct {
	Name      string  `json:"name"`
	Clocks    uint64  `json:"clocks"`
	Slept     uint64  `json:"slept"`           // clocks that the Go side skips
	Go        float64 `json:"go_ns_per_clock"` // medians
	Verilator float64 `json:"verilator_ns_per_clock"`
	Ratio     float64 `json:"ratio"` // Verilator / Go
	Target    float64 `json:"target"`
	Holds     bool    `json:"holds"`
}

// Targets of the ratios, Verilator / Go.
const (
	BusyTarget  = 2
	MixedTarget = 5
	WavesTarget = 2
	IdleTarget  = 300
	EditTarget  = 5
)

// A Bench holds a GPU configuration and the Verilated models of it.
type Bench struct {
	config gpu.Config
	design *verilog.Design
	plain  *sim.Simulation
	waves  *sim.Simulation
}

// New translates the GPU of a configuration from the source of the module at root,
// and builds its models or finds them in the cache; see sim.BuildOptions.
func New(root string, c gpu.Config, cache string) (*Bench, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	b := &Bench{config: c}
	if b.design, err = verilog.Translate(root, g); err != nil {
		return nil, err
	}
	if b.plain, err = sim.Build(b.design, sim.BuildOptions{Cache: cache, Replay: true}); err != nil {
		return nil, err
	}
	b.waves, err = sim.Build(b.design, sim.BuildOptions{Cache: cache, Replay: true, Waves: true})
	return b, err
}

// Compare replays a recording the given number of times on each side, alternately.
// If waves is set, both sides write a value change dump to a file. It fails with
// ErrDigest if the outputs differ.
func (b *Bench) Compare(rec *Recording, runs int, target float64, waves bool) (row Row, err error) {
	s, err := rec.stimuli(&b.design.Manifest)
	if err != nil {
		return Row{}, err
	}
	dir, err := os.MkdirTemp("", "hilgpu-speed-*")
	if err != nil {
		return Row{}, err
	}
	defer os.RemoveAll(dir)
	m, name := b.plain, rec.Name
	if waves {
		m, name = b.waves, name+"+waves"
	}
	simulation, err := m.Replay(dir, s)
	if err != nil {
		return Row{}, err
	}
	defer func() {
		if cerr := simulation.Close(); err == nil {
			err = cerr
		}
	}()
	ours, theirs, err := b.turns(rec, simulation, runs, dir, waves)
	if err != nil {
		return Row{}, err
	}
	return newRow(name, rec, ours, theirs, target), nil
}

// turns runs both sides alternately and returns the medians.
func (b *Bench) turns(rec *Recording, simulation *sim.Replay, runs int, dir string, waves bool) (ours, theirs time.Duration, err error) {
	g, err := gpu.New(b.config)
	if err != nil {
		return 0, 0, err
	}
	var as, bs []time.Duration
	for i := range runs {
		runtime.GC()
		want, took, err := rec.repeat(g, dir, waves)
		if err != nil {
			return 0, 0, err
		}
		as = append(as, took)
		took, got, err := simulation.Run()
		if err != nil {
			return 0, 0, err
		}
		if got != want {
			return 0, 0, fmt.Errorf("%w: %s, run %d: %#x and %#x", ErrDigest, rec.Name, i, want, got)
		}
		bs = append(bs, took)
	}
	return median(as), median(bs), nil
}

// replays is the number of replays of a Go turn. A turn then takes about as long as
// the simulation's, so that other load on the machine affects both alike.
const replays = 4

// repeat replays the recording several times and returns the time of one replay.
func (rec *Recording) repeat(g *gpu.GPU, dir string, waves bool) (digest uint64, took time.Duration, err error) {
	start := time.Now()
	for range replays {
		if digest, err = rec.run(g, dir, waves); err != nil {
			return 0, 0, err
		}
	}
	return digest, time.Since(start) / replays, nil
}

// run replays the recording on g. If waves is set, it writes them to a file in dir.
func (rec *Recording) run(g *gpu.GPU, dir string, waves bool) (digest uint64, err error) {
	if !waves {
		return rec.replay(g), nil
	}
	f, err := os.Create(filepath.Join(dir, "go.vcd"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w, err := wave.New(f, wave.Options{})
	if err != nil {
		return 0, err
	}
	digest = rec.replay(w.Attach(g))
	return digest, w.Close()
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

func newRow(name string, rec *Recording, ours, theirs time.Duration, target float64) Row {
	clocks := float64(rec.Clocks)
	r := Row{
		Name: name, Clocks: rec.Clocks, Slept: rec.Slept, Target: target,
		Go: float64(ours) / clocks, Verilator: float64(theirs) / clocks, Ratio: float64(theirs) / float64(ours),
	}
	r.Holds = r.Ratio >= target
	return r
}

// median returns the median, and of an even number the lower middle one.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)-1)/2]
}

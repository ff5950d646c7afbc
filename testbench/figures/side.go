package figures

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// A Setting is how one side is built and driven, in words.
type Setting string

// The settings.
//
//	Go             the GPU in this program
//	Profiled       the same, if go build had the profile that cmd/pgo writes
//	Awake          the GPU in a program in which hdl.Asleep is false
//	AwakeProfiled  the same, built with the profile
//	Usual          Verilator as it is commonly used; waves have every signal
//	Tuned          Verilator driven well; waves have the signals of the Go side: the
//	               ports and the registers
//	Enabled        Tuned, and the blocks have the conditions by which Go skips them as
//	               clock enables
const (
	Go            Setting = "go build -pgo=off"
	Profiled      Setting = "go build, with the profile " + profile
	Awake         Setting = "go build -pgo=off -tags awake"
	AwakeProfiled Setting = "go build -tags awake, with the profile " + profile
	Usual         Setting = "verilator -O3, g++ -O3, two evaluations a clock"
	Tuned         Setting = "verilator -O3, g++ -O3 -march=native, inputs in registers, one evaluation a clock"
	Enabled       Setting = Tuned + ", clock enables where Go sleeps"
)

// profile is the profile of cmd/hilgpu, which go build uses.
const profile = "cmd/hilgpu/default.pgo"

// ours returns the settings of this program, and of the same program with the tag awake.
func ours() (asleep, awake Setting) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-pgo" {
				return Profiled, AwakeProfiled
			}
		}
	}
	return Go, Awake
}

// A side replays a recording.
type side interface {
	// Run replays it once and returns the time and the digest.
	Run() (took time.Duration, digest uint64, err error)
	// Close ends the side.
	Close() error
}

// start starts a side, whose files are in dir.
func (b *Bench) start(s Setting, rec *Recording, dir string, waves bool) (side, error) {
	switch s {
	case Go, Profiled:
		g, err := gpu.New(b.config)
		return &goSide{rec: rec, g: g, dir: dir, waves: waves}, err
	case Awake, AwakeProfiled:
		return b.startAwake(rec, dir, s)
	}
	design := b.design
	if s == Enabled {
		design = b.enabled
	}
	stimuli, err := rec.stimuli(&design.Manifest)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(design, sim.BuildOptions{Cache: b.cache, Replay: true, Waves: waves, Tuned: s == Tuned || s == Enabled})
	if err != nil {
		return nil, err
	}
	return m.Replay(dir, stimuli)
}

// goSide is the GPU in this program.
type goSide struct {
	rec   *Recording
	g     *gpu.GPU
	dir   string
	waves bool
}

// replays is the number of replays of a turn. A turn then takes about as long as the
// simulation's, so that other load on the machine affects both alike.
const replays = 4

// Run replays the recording several times and returns the time of one replay.
func (s *goSide) Run() (took time.Duration, digest uint64, err error) {
	start := time.Now()
	for range replays {
		if digest, err = s.once(); err != nil {
			return 0, 0, err
		}
	}
	return time.Since(start) / replays, digest, nil
}

// once replays the recording. If waves is set, it writes them to a file in dir.
func (s *goSide) once() (digest uint64, err error) {
	if !s.waves {
		return s.rec.replay(s.g), nil
	}
	f, err := os.Create(filepath.Join(s.dir, "go.vcd"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w, err := wave.New(f, wave.Options{})
	if err != nil {
		return 0, err
	}
	digest = s.rec.replay(w.Attach(s.g))
	return digest, w.Close()
}

// Close does nothing.
func (s *goSide) Close() error { return nil }

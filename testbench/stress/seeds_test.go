package stress

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// seeds is the number of seeds of TestOneSeedOneRun. "make soak" runs 1,000.
var seeds = flag.Uint64("stress.seeds", 4, "seeds that are run with one and with two processors")

// firstSeed is the first seed of TestOneSeedOneRun.
var firstSeed = flag.Uint64("stress.first", 0, "first seed that is run with one and with two processors")

// digestFile has the digest of each seed of TestOneSeedOneRun, a line each. A run without the file writes it, and the next one, of another
// build, compares.
var digestFile = flag.String("stress.digests", "", "file with the digest of each seed, to compare builds")

// ways is how many of the ways of TestOneSeedOneRun each seed is run in.
var ways = flag.Int("stress.ways", 3, "ways to run each seed: 1 with one processor, 2 also with two, 3 also with waves")

// verilogSeeds is the number of seeds of TestVerilog. "make soak" runs 20.
var verilogSeeds = flag.Uint64("stress.verilog", 1, "seeds that are run on the Verilog of the GPU")

// A kind is a board and what happens on it in TestOneSeedOneRun and TestVerilog.
type kind struct {
	board  string
	queues bool // of the firmware
	tight  bool // many contexts need much more memory than there is
	hang   float64
	faults []Fault
}

var (
	nodeFaults = []Fault{BadPacket, IgnorePreempt, IgnoreReset, LostInterrupt, NoMemory, Unplug}
	linkFaults = []Fault{BadPacket, HostRead, LostInterrupt, NoMemory}
	mcuFaults  = []Fault{BadPacket, LostInterrupt, NoMemory, Unplug, Firmware}

	// The seeds of TestOneSeedOneRun take these by turns. Of ten, one takes inQueues, which needs much more time, and two take
	// inTightMemory and inTightQueues.
	kinds = []kind{
		{"emu?vram=64KiB", false, false, 0.00125, nodeFaults},
		{"emu?vram=64KiB&nodes=1&preemption=0", false, false, 0.00125, []Fault{BadPacket, IgnoreReset, LostInterrupt, NoMemory, Unplug}},
		{"emu?vram=64KiB&gart=1&readtimeout=1", false, false, 0.00125, append([]Fault{HostRead}, nodeFaults...)},
		{"line?vram=64KiB", false, false, 0, linkFaults},
	}
	inQueues      = kind{"emu?config=full&vram=128KiB", true, false, 0.00125, mcuFaults}
	inTightMemory = kind{"emu?config=full&vram=64KiB", false, true, 0.00125, nodeFaults}
	inTightQueues = kind{"emu?config=full&vram=128KiB", true, true, 0.00125, mcuFaults}

	// The seeds of TestVerilog take these by turns.
	verilogKinds = []kind{
		{"?config=small", false, false, 0.005, []Fault{BadPacket, IgnoreReset, LostInterrupt, NoMemory, Unplug}},
		{"?config=full", true, false, 0.005, mcuFaults},
		{"?config=full", false, false, 0.005, append([]Fault{HostRead}, nodeFaults...)},
	}
)

// options returns the options of a run of this kind, in which each fault has the same rate.
func (k kind) options(t *testing.T, seed uint64, rate float64) Options {
	o := small(t, k.board)
	o.Seed, o.Hang, o.Rounds, o.System.Queues.Use = seed, k.hang, 1, k.queues
	o.System.CallLimit = time.Hour // the race detector makes calls long
	switch {
	case k.tight && k.queues:
		o.Contexts, o.Pressure, o.System.Queues.Quantum, o.System.Queues.Preempt = 4, 4, 2000, true
	case k.tight:
		o.Processes, o.Contexts, o.Pressure = 5, 5, 4
	case k.queues:
		o.Processes, o.Frames = 2, 2 // each reset boots the firmware, which takes most of the time
	}
	for _, f := range k.faults {
		fault(f, rate)(&o)
	}
	return o
}

// A how is a way to run a kind. The result is the same in each way.
type how struct {
	processors int
	waves      bool // the last clocks are recorded
}

func (h how) run(t *testing.T, k kind, seed uint64) Round {
	runtime.GOMAXPROCS(h.processors)
	o := k.options(t, seed, 0.01)
	if h.waves {
		rec, err := wave.New(nil, wave.Options{})
		require.NoError(t, err)
		o.System.Board.Wave = rec
	}
	r, err := Run(o)
	require.NoError(t, err, "%+v", h)
	return r
}

// One seed gives one run, with one processor and with two, and with waves, and another seed gives another. A build that compares its
// digests with those of another one runs each seed once, in the last of the chosen ways.
func TestOneSeedOneRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	hows := []how{{1, false}, {2, false}, {2, true}}
	require.True(t, *ways >= 1 && *ways <= len(hows), "-stress.ways %d, want 1 to %d", *ways, len(hows))
	hows = hows[:*ways]
	before := digestsBefore(t)
	if before != nil {
		hows = hows[len(hows)-1:]
	}
	var digests []string
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		k := kinds[seed%uint64(len(kinds))]
		switch seed % 10 {
		case 7:
			k = inTightMemory
		case 8:
			k = inTightQueues
		case 9:
			k = inQueues
		}
		var want Round
		if !t.Run(fmt.Sprintf("%d on %s", seed, k.board), func(t *testing.T) {
			for i, h := range hows {
				r := h.run(t, k, seed)
				if i == 0 {
					want = r
				}
				require.Equal(t, want, r, "%+v", h)
			}
		}) {
			return
		}
		require.NotContains(t, digests, want.Digest)
		if digests = append(digests, want.Digest); before != nil {
			require.Equal(t, before[seed-*firstSeed], want.Digest, "%s, seed %d", k.board, seed)
		}
	}
	if before == nil && *digestFile != "" {
		require.NoError(t, os.WriteFile(*digestFile, []byte(strings.Join(digests, "\n")), 0o644))
	}
}

// digestsBefore returns the digests that another build wrote to the file, one of each seed, or nil if there is no such file.
func digestsBefore(t *testing.T) []string {
	if *digestFile == "" {
		return nil
	}
	text, err := os.ReadFile(*digestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	digests := strings.Split(string(text), "\n")
	require.Len(t, digests, int(*seeds), "of %s", *digestFile)
	return digests
}

// The Verilog of the GPU gives the run that its Go gives.
func TestVerilog(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	for seed := range *verilogSeeds {
		k := verilogKinds[seed%uint64(len(verilogKinds))]
		var rounds [2]Round
		for i, board := range []string{"emu" + k.board, "verilated" + k.board + "&source=../.."} {
			o := k.options(t, seed, 0.02)
			o.Board, o.Frames, o.Pressure = board, 2, 1.1
			var err error
			rounds[i], err = Run(o)
			require.NoError(t, err, "%s, seed %d", board, seed)
			rounds[i].Stats.Packets, rounds[i].Stats.BytesMoved = 0, 0 // the Verilog does not count them
		}
		require.Equal(t, rounds[0], rounds[1], "%s, seed %d", k.board, seed)
	}
}

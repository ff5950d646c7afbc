package testbench_test

import (
	"bytes"
	"encoding/json"
	"image"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// noise returns sources of the given sizes with random pixels, alpha included.
func noise(seed uint64, sizes ...image.Point) []compose.Source {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []compose.Source
	for _, s := range sizes {
		img := image.NewNRGBA(image.Rect(0, 0, s.X, s.Y))
		for i := range img.Pix {
			img.Pix[i] = uint8(r.Uint32())
		}
		out = append(out, compose.Source{Name: "noise", Image: img})
	}
	return out
}

// composed runs a plan on a board and returns the frame and the counts.
func composed(t *testing.T, selector string, o compose.Options, opts testbench.Options) (*image.NRGBA, testbench.Stats) {
	t.Helper()
	plan, err := compose.NewPlan(o)
	require.NoError(t, err)
	sys, err := testbench.Open(onBoard(selector), testbench.HostDrivers(), opts)
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	stats := sys.Stats()
	require.NoError(t, sys.Close())
	at, n := compose.Diff(frame, plan.Reference())
	require.Zero(t, n, "pixels differ, the first at %v", at)
	return frame, stats
}

func TestCompose(t *testing.T) {
	samples, err := compose.Samples()
	require.NoError(t, err)
	odd := noise(1, image.Pt(1, 1), image.Pt(3, 70), image.Pt(61, 2), image.Pt(33, 33), image.Pt(200, 17))
	pressure := noise(2, image.Pt(100, 100), image.Pt(90, 110), image.Pt(64, 128), image.Pt(120, 60), image.Pt(77, 77))
	for _, tt := range []struct {
		name, selector string
		o              compose.Options
	}{
		{"samples", "emu", compose.Options{Width: 320, Height: 240, Contexts: 2, Sources: samples}},
		{"one node", "emu?nodes=1", compose.Options{Width: 64, Height: 48, Contexts: 1, Sources: samples}},
		{"render target in host memory", "emu?vram=8KiB", compose.Options{Width: 100, Height: 80, Contexts: 3, Sources: samples}},
		{"small", "emu?config=small", compose.Options{Width: 60, Height: 60, Contexts: 2, Sources: samples}},
		{"far away and narrow", "emu?latency=200&bandwidth=1&tags=2", compose.Options{Width: 50, Height: 40, Contexts: 2, Sources: odd}},
		{"odd sizes", "emu", compose.Options{Width: 101, Height: 37, Contexts: 5, Sources: odd}},
		{"frame of one pixel", "emu", compose.Options{Width: 1, Height: 1, Contexts: 2, Sources: odd}},
		{"images do not fit together", "emu?vram=64KiB", compose.Options{Width: 110, Height: 90, Contexts: 2, Sources: pressure}},
		{"images do not fit together, one node", "emu?vram=64KiB&nodes=1", compose.Options{Width: 110, Height: 90, Contexts: 2, Sources: pressure}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				tt.o.Seed = seed
				_, stats := composed(t, tt.selector, tt.o, testbench.Options{})
				assert.Equal(t, stats.DMABuffers+stats.PagingBuffers, stats.Fences, "every submission is retired")
			}
		})
	}
}

// trace is what a run shows of itself.
type trace struct {
	frame *image.NRGBA
	stats testbench.Stats
	calls []verifier.Event
}

// threads returns the calls of each thread, in order. Between contexts that
// record at the same time there is none.
func (tr trace) threads() map[[2]uint32][]verifier.Event {
	of := map[[2]uint32][]verifier.Event{}
	for _, ev := range tr.calls {
		ev.Seq = 0
		id := [2]uint32{ev.Process, ev.Thread}
		of[id] = append(of[id], ev)
	}
	return of
}

// kernelSide returns the kernel-mode calls, in order.
func (tr trace) kernelSide() (out []verifier.Event) {
	for _, ev := range tr.calls {
		if strings.HasPrefix(ev.Name, "Dxgk") || strings.Contains(ev.Name, "REGISTER") {
			ev.Seq = 0 // counts user-mode calls too
			out = append(out, ev)
		}
	}
	return out
}

func traced(t *testing.T, o compose.Options) trace {
	t.Helper()
	var b bytes.Buffer
	var tr trace
	tr.frame, tr.stats = composed(t, "emu?vram=64KiB", o, testbench.Options{DDI: &b})
	dec := json.NewDecoder(&b)
	for dec.More() {
		var ev verifier.Event
		require.NoError(t, dec.Decode(&ev))
		tr.calls = append(tr.calls, ev)
	}
	return tr
}

// The same seed gives the same frame, cycles, and calls, however many
// processors record.
func TestDeterminism(t *testing.T) {
	o := compose.Options{Width: 90, Height: 70, Contexts: 4, Seed: 5, Sources: noise(3, image.Pt(100, 90), image.Pt(40, 40), image.Pt(70, 100), image.Pt(9, 9))}
	var runs []trace
	for _, procs := range []int{1, 2, 2, 1} {
		old := runtime.GOMAXPROCS(procs)
		runs = append(runs, traced(t, o))
		runtime.GOMAXPROCS(old)
	}
	require.NotEmpty(t, runs[0].kernelSide())
	for _, r := range runs[1:] {
		assert.Equal(t, runs[0].frame.Pix, r.frame.Pix)
		assert.Equal(t, runs[0].stats, r.stats)
		assert.Equal(t, runs[0].kernelSide(), r.kernelSide())
		assert.Equal(t, runs[0].threads(), r.threads())
	}
	o.Seed++
	other := traced(t, o)
	assert.NotEqual(t, runs[0].frame.Pix, other.frame.Pix)
}

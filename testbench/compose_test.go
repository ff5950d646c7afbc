package testbench_test

import (
	"bytes"
	"image"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// noise returns sources of the given sizes with random pixels and random alpha.
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
	if opts.Record == nil {
		opts.Record = eventstest.Record(t)
	}
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

// A caller's own log is kept.
func TestComposedKeepsTheLog(t *testing.T) {
	ring := eventlog.NewRing(1<<20, eventlog.Header{})
	record := func(eventlog.Header) (events.Sink, error) { return ring, nil }
	composed(t, "emu?config=small", compose.Options{Width: 8, Height: 8, Contexts: 1, Sources: noise(3, image.Pt(4, 4))}, testbench.Options{Record: record})
	assert.Contains(t, ring.Last(1), "the last 1 of ")
}

// The frame is what the primary holds: a driver whose Present copies nothing does not
// compose the plan, although the back buffer is right.
func TestComposeReadsThePrimary(t *testing.T) {
	drivers := testbench.HostDrivers()
	open := drivers.UserMode
	drivers.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			arg.DXGIFuncs.Present = func(*ddi.Thread, umddi.Present) ddi.HRESULT { return ddi.OK }
			return hr
		}
		return hr
	}
	plan, err := compose.SamplePlan(compose.Options{Width: 32, Height: 16, Contexts: 1, Seed: 1})
	require.NoError(t, err)
	sys, err := testbench.Open("emu", drivers, testbench.Options{NoVerify: true})
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	require.NoError(t, sys.Close())
	_, n := compose.Diff(frame, plan.Reference())
	assert.NotZero(t, n)
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
		{"slow and narrow link", "emu?latency=200&bandwidth=1&tags=2", compose.Options{Width: 50, Height: 40, Contexts: 2, Sources: odd}},
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

// ran holds the frame, the counts and the trace of a run.
type ran struct {
	frame *image.NRGBA
	stats testbench.Stats
	trace string // merged
}

func traced(t *testing.T, o compose.Options) (r ran) {
	t.Helper()
	var b, merged bytes.Buffer
	r.frame, r.stats = composed(t, "emu?vram=64KiB", o, testbench.Options{DDI: &b})
	require.NoError(t, verifier.Merge(&b, &merged))
	r.trace = merged.String()
	return r
}

// The same seed gives the same frame, cycles, calls and arguments, byte for byte,
// on any number of processors.
func TestDeterminism(t *testing.T) {
	o := compose.Options{Width: 90, Height: 70, Contexts: 4, Seed: 5, Sources: noise(3, image.Pt(100, 90), image.Pt(40, 40), image.Pt(70, 100), image.Pt(9, 9))}
	var runs []ran
	for i := range 10 {
		old := runtime.GOMAXPROCS(1 + i%2)
		runs = append(runs, traced(t, o))
		runtime.GOMAXPROCS(old)
	}
	require.Contains(t, runs[0].trace, "DxgkDdiSubmitCommand")
	for _, r := range runs[1:] {
		require.Equal(t, runs[0], r)
	}
	o.Seed++
	other := traced(t, o)
	assert.NotEqual(t, runs[0].frame.Pix, other.frame.Pix)
}

// record records the list of a context in TestOrderOfRecording. It is executed by
// another context's list or on the immediate context.
func record(t *testing.T, dc *d3d11.Context, to, from *d3d11.Buffer, inner *d3d11.CommandList) *d3d11.CommandList {
	dc.CopyResource(to, from)
	if inner != nil {
		dc.ExecuteCommandList(inner, false)
	}
	l, err := dc.FinishCommandList(false)
	require.NoError(t, err)
	return l
}

// The order in which contexts record does not change the trace.
func TestOrderOfRecording(t *testing.T) {
	run := func(order string) (arrived, merged string) {
		var b, m bytes.Buffer
		sys, err := testbench.Open("emu?config=small", testbench.HostDrivers(), testbench.Options{DDI: &b, Record: eventstest.Record(t)})
		require.NoError(t, err)
		dev, ctx, err := sys.CreateDevice()
		require.NoError(t, err)
		var bufs []*d3d11.Buffer
		for range 3 {
			buf, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, nil)
			require.NoError(t, err)
			bufs = append(bufs, buf)
		}
		var dcs []*d3d11.Context
		for range 3 {
			dc, err := dev.CreateDeferredContext(0)
			require.NoError(t, err)
			dcs = append(dcs, dc)
		}
		for round := range 2 { // the second round recycles handles
			lists := make([]*d3d11.CommandList, 3)
			for _, c := range order {
				switch c {
				case 'a':
					lists[0] = record(t, dcs[0], bufs[0], bufs[1], nil)
				case 'b':
					lists[1] = record(t, dcs[1], bufs[1], bufs[2], nil)
				case 'c':
					lists[2] = record(t, dcs[2], bufs[2], bufs[round], lists[0])
				}
			}
			ctx.ExecuteCommandList(lists[2], false)
			ctx.ExecuteCommandList(lists[1], false)
			ctx.Flush()
			for _, l := range lists {
				l.Release()
			}
		}
		dev.Close()
		require.NoError(t, sys.Close())
		arrived = b.String()
		require.NoError(t, verifier.Merge(&b, &m))
		return arrived, m.String()
	}
	first, want := run("abc")
	assert.Contains(t, want, `"list 1.1:2"`)
	for _, order := range []string{"acb", "bac"} {
		arrived, merged := run(order)
		assert.NotEqual(t, first, arrived, "the lines arrive in another order")
		assert.Equal(t, want, merged)
	}
}

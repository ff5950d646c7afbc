package figures

import (
	"bytes"
	"encoding/binary"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// TestDigest checks that the digest depends on each port as sim.Replay specifies.
func TestDigest(t *testing.T) {
	tooltest.Long(t)
	c := gpu.Small()
	rec, err := Busy(c, 1)
	require.NoError(t, err)
	g, err := gpu.New(c)
	require.NoError(t, err)
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	ports, err := sim.NewPorts(&d.Manifest)
	require.NoError(t, err)
	values, some := make([]uint64, len(factors)), 0
	for _, e := range rec.events {
		if e.sleep > 0 {
			g.Skip(e.sleep)
			continue
		}
		var p sim.Outputs
		p.Cpl, p.ReqReady, p.DataReady = g.Target()
		p.Req, p.Beat = g.Initiator()
		ports.GetOutputs(&p, values)
		want := uint64(0)
		for i, v := range values {
			want += v * sim.DigestFactor(i)
		}
		require.Equal(t, want, outputs(g))
		if p.Beat.Valid && p.Beat.Last {
			some++
		}
		g.Tick(e.in.Req, e.in.Beat, e.in.CplReady, e.in.Cpl, e.in.ReqReady, e.in.DataReady)
	}
	assert.Positive(t, some, "writes of the device")
}

// TestReplay checks that a replay performs the recorded clocks: the GPU ends in the
// same state.
func TestReplay(t *testing.T) {
	r, err := newRecorder(gpu.Small())
	require.NoError(t, err)
	const waking = 25 // clocks in which the nodes clear their register RAMs
	for range waking {
		r.Tick(sim.Inputs{}.Req, sim.Inputs{}.Beat, true, sim.Inputs{}.Cpl, true, true)
	}
	require.GreaterOrEqual(t, r.IdleFor(), uint64(95))
	r.Skip(95)
	rec := r.stop("some")
	assert.Equal(t, uint64(waking+95), rec.Clocks)
	assert.Equal(t, uint64(95), rec.Slept)
	assert.Equal(t, rec.replay(r.GPU), rec.replay(r.GPU))
}

func TestIdleSleeps(t *testing.T) {
	rec, err := Idle(gpu.Small(), 3)
	require.NoError(t, err)
	assert.Greater(t, rec.Clocks, uint64(3*pollClocks))
	assert.Greater(t, float64(rec.Slept), 0.99*float64(rec.Clocks))
}

func TestMixed(t *testing.T) {
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: 16, Height: 16, Contexts: 1, Seed: 1, Sources: sources[:1]})
	require.NoError(t, err)
	rec, err := Mixed(gpu.Small(), plan)
	require.NoError(t, err)
	assert.Greater(t, rec.Clocks, uint64(1000))
}

// TestCompare checks that all sides have the same digest in every run, and that another
// GPU on the Go side is noticed.
func TestCompare(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, sim.Verilator.Tools()...)
	c := gpu.Small()
	b, err := New("../..", c, simtest.Cache())
	require.NoError(t, err)
	matches := []Match{{Go, Usual, 0.001}, {Go, Tuned, 1e9}, {Go, Enabled, 0}, {Awake, Tuned, 0}}
	for name, record := range map[string]func() (*Recording, error){
		"busy": func() (*Recording, error) { return Busy(c, 2) },
		"idle": func() (*Recording, error) { return Idle(c, 1) },
	} {
		rec, err := record()
		require.NoError(t, err)
		rows, err := b.Compare(rec, 3, matches, false)
		require.NoError(t, err)
		require.Len(t, rows, len(matches))
		for i, row := range rows {
			assert.Equal(t, name, row.Name)
			assert.Equal(t, matches[i], Match{row.GoSettings, row.VerilatorSettings, row.Target})
			assert.Equal(t, rec.Clocks, row.Clocks)
			assert.Positive(t, row.Go)
			assert.InEpsilon(t, row.Verilator/row.Go, row.Ratio, 1e-6)
		}
		assert.Equal(t, []bool{true, false, true, true}, []bool{rows[0].Holds, rows[1].Holds, rows[2].Holds, rows[3].Holds})
		assert.Equal(t, rows[0].Go, rows[1].Go, "a side is measured once")
		assert.NotEqual(t, rows[1].Verilator, rows[2].Verilator)
		assert.Equal(t, rows[1].Verilator, rows[3].Verilator)
		assert.NotEqual(t, rows[1].Go, rows[3].Go)
		assert.NotEqual(t, rows[0].Verilator, rows[1].Verilator)
	}
	b.config = gpu.Default()
	other, err := Busy(b.config, 1)
	require.NoError(t, err)
	_, err = b.Compare(other, 1, matches[:1], false)
	assert.ErrorIs(t, err, ErrDigest)
}

// TestAwake checks that the errors of the process with the tag awake have a cause.
func TestAwake(t *testing.T) {
	rec, err := Idle(gpu.Small(), 1)
	require.NoError(t, err)
	_, err = (&Bench{root: t.TempDir(), config: gpu.Small()}).startAwake(rec, t.TempDir(), Awake)
	assert.ErrorIs(t, err, ErrAwake)
	assert.ErrorContains(t, err, "go build")

	file := filepath.Join(t.TempDir(), "recording")
	require.NoError(t, rec.store(file, gpu.Small()))
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	want := rec.replay(g)
	var out bytes.Buffer
	require.NoError(t, Serve(file, bytes.NewReader([]byte{1, 1}), &out))
	require.Equal(t, 32, out.Len())
	assert.Equal(t, want, binary.LittleEndian.Uint64(out.Bytes()[8:]))
	assert.Equal(t, want, binary.LittleEndian.Uint64(out.Bytes()[24:]))
	require.NoError(t, os.WriteFile(file, []byte("no recording"), 0o600))
	assert.Error(t, Serve(file, nil, nil))
}

func TestRow(t *testing.T) {
	rec := &Recording{Name: "x", Clocks: 100, Slept: 40}
	want := Row{Name: "x+waves", GoSettings: Go, VerilatorSettings: Tuned, Clocks: 100, Slept: 40, Go: 2, Verilator: 5, Ratio: 2.5, Target: 2.5, Holds: true}
	m := Match{Go, Tuned, 2.5}
	assert.Equal(t, want, newRow(rec, m, true, 200, 500))
	assert.False(t, newRow(rec, m, true, 200, 499).Holds)
	assert.Equal(t, "x", newRow(rec, m, false, 200, 499).Name)
	assert.True(t, newRow(rec, Match{Go, Usual, 0}, false, 200, 1).Holds)
	assert.Equal(t, Translation{Seconds: 1.5, Target: 2, Holds: true}, newTranslation(1500*time.Millisecond))
	assert.False(t, newTranslation(2*time.Second).Holds)
	assert.Equal(t, time.Duration(3), median([]time.Duration{9, 1, 3, 2, 7}))
	assert.Equal(t, time.Duration(2), median([]time.Duration{3, 2}))
}

func TestEdited(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("../..", editFile))
	require.NoError(t, err)
	a, err := edited(source, 1)
	require.NoError(t, err)
	b, err := edited(source, 2)
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
	_, err = parser.ParseFile(token.NewFileSet(), editFile, a, 0)
	require.NoError(t, err)
	_, err = edited([]byte("package fence\n"), 1)
	assert.ErrorIs(t, err, ErrEdit)
}

func TestCopySource(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"go.mod", "a/b.go", ".git/x", "bin/y", "a/bin/z", ".ci/run"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(name), 0o644))
	}
	require.NoError(t, copySource(from, to))
	for name, want := range map[string]bool{"go.mod": true, "a/b.go": true, "a/bin/z": true, ".git/x": false, "bin/y": false, ".ci/run": false} {
		_, err := os.Stat(filepath.Join(to, name))
		assert.Equal(t, want, err == nil, name)
	}
	_, err := EditLoop(from, 1)
	assert.ErrorIs(t, err, ErrEdit)
}

func TestTranslate(t *testing.T) {
	tooltest.Long(t)
	tr, err := Translate("../..", gpu.Small(), 1)
	require.NoError(t, err)
	assert.Positive(t, tr.Seconds)
	_, err = Translate(t.TempDir(), gpu.Small(), 1)
	assert.ErrorIs(t, err, verilog.ErrSource)
}

// A DDI call without verifiers allocates nothing. Its time is not tested, since it
// depends on the load of the machine.
func TestCallsDoNotAllocate(t *testing.T) {
	c, err := MeasureCall(3)
	require.NoError(t, err)
	assert.Zero(t, c.Allocs)
	all, err := Calls(1)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"at most 2", "at most 0"}, []string{all[0].Want, all[1].Want})
}

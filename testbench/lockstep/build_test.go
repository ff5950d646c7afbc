package lockstep

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

func TestMissingToolsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct {
		sim  Sim
		want string
	}{
		{Verilator, "verilator (Debian package verilator)"},
		{Icarus, "iverilog (Debian package iverilog)"},
	} {
		err := tt.sim.Check()
		assert.ErrorIs(t, err, ErrTool)
		assert.ErrorContains(t, err, tt.want)
		_, err = Build(twinDesign(t), BuildOptions{Sim: tt.sim, Cache: t.TempDir()})
		assert.ErrorIs(t, err, ErrTool)
	}
	assert.ErrorIs(t, Sim("spice").Check(), ErrBuild)
	assert.Equal(t, "g++", debian("g++"))
	assert.Equal(t, "iverilog", debian("vvp"))
}

func TestBadVerilogIsAnError(t *testing.T) {
	d := twinDesign(t, "assign sum = acc", "assign sum = = acc")
	for _, s := range sims(t) {
		cache := t.TempDir()
		_, err := Build(d, BuildOptions{Sim: s, Cache: cache})
		assert.ErrorIs(t, err, ErrBuild)
		assert.ErrorContains(t, err, "twin.v:")
		left, err := os.ReadDir(cache)
		require.NoError(t, err)
		assert.Empty(t, left, "nothing half-built stays")
	}
}

// A model is built once for the same input, and again for another.
func TestCache(t *testing.T) {
	if !need(t, Icarus) {
		t.Skip("no Icarus")
	}
	o := BuildOptions{Sim: Icarus, Cache: t.TempDir(), Probes: true}
	a, err := Build(twinDesign(t), o)
	require.NoError(t, err)
	mark := filepath.Join(a.dir, "mark")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	b, err := Build(twinDesign(t), o)
	require.NoError(t, err)
	assert.Equal(t, a.dir, b.dir)
	assert.FileExists(t, mark)
	c, err := Build(twinDesign(t, "12'd5", "12'd7"), o)
	require.NoError(t, err)
	assert.NotEqual(t, a.dir, c.dir)
	o.Probes = false
	p, err := Build(twinDesign(t), o)
	require.NoError(t, err)
	assert.NotEqual(t, a.dir, p.dir)
}

// Without probes the records have the output ports alone.
func TestPortsOnly(t *testing.T) {
	for _, s := range sims(t) {
		m, err := Build(twinDesign(t), BuildOptions{Sim: s, Cache: testCache()})
		require.NoError(t, err)
		p, err := m.Start()
		require.NoError(t, err)
		in := make([]byte, 3*m.layout.inBytes)
		m.layout.packInputs(in, true, []uint64{0, 0})
		m.layout.packInputs(in[m.layout.inBytes:], false, []uint64{1, 1 << 40})
		m.layout.packInputs(in[2*m.layout.inBytes:], false, []uint64{1, 3})
		out := make([]byte, 3*12)
		require.Equal(t, 12, m.layout.outBytes)
		require.NoError(t, p.run(in, out, make([]byte, len(out))))
		assert.Equal(t, []byte{
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, // 5, the reset value, is odd
			3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
		}, out, s)
		assert.NoError(t, p.Close())
	}
}

func TestAModelThatStopsIsAnError(t *testing.T) {
	for _, s := range sims(t) {
		l, err := New(twinDesign(t), newTwin(), Options{Sim: s, Cache: testCache(), Batch: 4})
		require.NoError(t, err)
		require.NoError(t, l.worker.process.cmd.Process.Kill())
		for range 100 {
			if err = l.Clock(false, []uint64{0, 9}); err != nil {
				break
			}
		}
		assert.ErrorIs(t, err, ErrModel, s)
		assert.ErrorIs(t, l.Close(), ErrModel, s)
		assert.NoError(t, l.Close(), "closed already")
	}
}

func TestManifestThatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *verilog.Manifest)
		says   string
	}{
		{"no ports", func(m *verilog.Manifest) { m.Ports = nil }, "clk"},
		{"no reset", func(m *verilog.Manifest) { m.Ports[1].Name = "reset" }, "port 1 is reset"},
		{"wide port", func(m *verilog.Manifest) { m.Ports[3].Width = 65 }, "data has 65 bits"},
		{"no width", func(m *verilog.Manifest) { m.Registers[0].Width = 0 }, "acc has 0 bits"},
		{"no such field", func(m *verilog.Manifest) { m.Registers[3].Go = "child.gone" }, "no field gone"},
		{"field of a scalar", func(m *verilog.Manifest) { m.Registers[0].Go = "acc.x" }, "no field x"},
		{"a struct", func(m *verilog.Manifest) { m.Registers[3].Go = "child" }, "child is a"},
		{"index out of range", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[2]" }, "bad index"},
		{"negative index", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[-1]" }, "bad index"},
		{"open index", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[1" }, "bad index"},
		{"index of a scalar", func(m *verilog.Manifest) { m.Registers[0].Go = "acc[0]" }, "bad index"},
		{"words", func(m *verilog.Manifest) { m.Memories[0].Words = 15 }, "want 15 words"},
		{"not a memory", func(m *verilog.Manifest) { m.Memories[0].Go = "acc" }, "want 16 words"},
		{"width of a word", func(m *verilog.Manifest) { m.Memories[1].Width = 71 }, "has 70 bits, want 71"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := twinDesign(t)
			tt.change(&d.Manifest)
			_, err := New(d, newTwin(), Options{Cache: t.TempDir()})
			assert.ErrorIs(t, err, ErrManifest)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

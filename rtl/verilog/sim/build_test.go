package sim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
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
		_, err = Build(simtest.TwinDesign(t), BuildOptions{Sim: tt.sim, Cache: t.TempDir()})
		assert.ErrorIs(t, err, ErrTool)
	}
	assert.ErrorIs(t, Sim("spice").Check(), ErrSim)
}

func TestBadVerilogIsAnError(t *testing.T) {
	d := simtest.TwinDesign(t, "assign sum = acc", "assign sum = = acc")
	eachSim(t, func(t *testing.T, s Sim) {
		cache := t.TempDir()
		_, err := Build(d, BuildOptions{Sim: s, Cache: cache})
		assert.ErrorIs(t, err, ErrBuild)
		assert.ErrorContains(t, err, "twin.v:")
		left, err := os.ReadDir(cache)
		require.NoError(t, err)
		assert.Empty(t, left, "a failed build leaves no files")
	})
}

// A simulation is built once for the same input, and again for different input.
func TestCache(t *testing.T) {
	tooltest.Need(t, Icarus.Tools()...)
	o := BuildOptions{Sim: Icarus, Cache: t.TempDir(), Probes: true}
	a, err := Build(simtest.TwinDesign(t), o)
	require.NoError(t, err)
	mark := filepath.Join(a.dir, "mark")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	b, err := Build(simtest.TwinDesign(t), o)
	require.NoError(t, err)
	assert.Equal(t, a.dir, b.dir)
	assert.FileExists(t, mark)
	c, err := Build(simtest.TwinDesign(t, "12'd5", "12'd7"), o)
	require.NoError(t, err)
	assert.NotEqual(t, a.dir, c.dir)
	o.Probes = false
	p, err := Build(simtest.TwinDesign(t), o)
	require.NoError(t, err)
	assert.NotEqual(t, a.dir, p.dir)
}

// Without probes the records have only the output ports.
func TestPortsOnly(t *testing.T) {
	eachSim(t, func(t *testing.T, s Sim) {
		m, err := Build(simtest.TwinDesign(t), BuildOptions{Sim: s, Cache: simtest.Cache()})
		require.NoError(t, err)
		p, err := m.Start()
		require.NoError(t, err)
		in := make([]byte, 3*m.layout.InBytes)
		m.layout.PackInputs(in, true, []uint64{0, 0})
		m.layout.PackInputs(in[m.layout.InBytes:], false, []uint64{1, 1 << 40})
		m.layout.PackInputs(in[2*m.layout.InBytes:], false, []uint64{1, 3})
		out := make([]byte, 3*12)
		require.Equal(t, 12, m.layout.OutBytes)
		require.NoError(t, p.Run(in, out, make([]byte, len(out))))
		assert.Equal(t, []byte{
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, // 5, the reset value, is odd
			3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
		}, out, s)
		assert.NoError(t, p.Close())
	})
}

// Held inputs are clocked up to the limit, or until a port changes.
func TestHold(t *testing.T) {
	eachSim(t, func(t *testing.T, s Sim) {
		m, err := Build(simtest.TwinDesign(t), BuildOptions{Sim: s, Cache: simtest.Cache()})
		require.NoError(t, err)
		p, err := m.Start()
		require.NoError(t, err)
		in, out := make([]byte, m.Layout().InBytes), make([]byte, 12)
		if s == Icarus {
			_, err := p.Hold(in, out, 1)
			assert.ErrorIs(t, err, ErrSimulation)
			assert.NoError(t, p.Close())
			return
		}
		m.Layout().PackInputs(in, true, []uint64{0, 0})
		require.NoError(t, p.Run(in, out, nil))
		for _, tt := range []struct {
			en, data, limit uint64
			clocks          uint64
			sum, odd        byte
		}{
			{0, 9, 1, 1, 0, 1},     // odd follows the reset value, 5, after one clock
			{0, 9, 100, 100, 0, 1}, // and nothing changes after that
			{1, 3, 100, 1, 3, 1},
			{1, 0, 100, 1, 3, 0}, // count is 6, so odd falls
			{0, 0, 100, 1, 3, 1},
			{0, 0, 7, 7, 3, 1},
		} {
			m.Layout().PackInputs(in, false, []uint64{tt.en, tt.data})
			n, err := p.Hold(in, out, tt.limit)
			require.NoError(t, err)
			assert.Equal(t, tt.clocks, n, tt)
			assert.Equal(t, []byte{tt.sum, 0, 0, 0, 0, 0, 0, 0, tt.odd, 0, 0, 0}, out, tt)
		}
		assert.NoError(t, p.Close())
	})
}

// eachSim runs a test with both simulators.
func eachSim(t *testing.T, test func(t *testing.T, s Sim)) {
	t.Helper()
	for _, s := range []Sim{Verilator, Icarus} {
		t.Run(string(s), func(t *testing.T) {
			tooltest.Need(t, s.Tools()...)
			test(t, s)
		})
	}
}

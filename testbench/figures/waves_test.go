package figures

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// goWave replays a recording in Go and returns its wave, with times in clocks.
func goWave(t *testing.T, rec *Recording, c gpu.Config) *vcdtest.Dump {
	t.Helper()
	g, err := gpu.New(c)
	require.NoError(t, err)
	s := &goSide{rec: rec, g: g, dir: t.TempDir(), waves: true}
	_, err = s.once()
	require.NoError(t, err)
	f, err := os.Open(filepath.Join(s.dir, "go.vcd"))
	require.NoError(t, err)
	defer f.Close()
	d, err := vcdtest.Parse(f)
	require.NoError(t, err)
	d, err = d.Clocks("gpu.clk", uint64(c.ClockHz))
	require.NoError(t, err)
	return d
}

// tunedWave replays a recording with Verilator and returns its wave.
func tunedWave(t *testing.T, b *Bench, rec *Recording) *simtest.Wave {
	t.Helper()
	dir := t.TempDir()
	s, err := b.start(Tuned, rec, dir, true)
	require.NoError(t, err)
	_, _, err = s.Run()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return simtest.ReadWave(t, filepath.Join(dir, "verilator.vcd"))
}

// plainName returns a path with _ for every punctuation mark.
func plainName(s string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(s, "_"), "_")
}

// TestWavesOfTheSameSignals checks that the rows with waves compare like with like: the
// waves of both sides have the same signals and values. Go also declares constants, and
// the names of opcodes.
func TestWavesOfTheSameSignals(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, sim.Verilator.Tools()...)
	c := gpu.Small()
	b, err := New("../..", c, simtest.Cache())
	require.NoError(t, err)
	rec, err := Busy(c, 2)
	require.NoError(t, err)
	ours, theirs := goWave(t, rec, c), tunedWave(t, b, rec)
	names := map[string]string{} // Verilator's, by name in Go
	goNames := map[string]string{}
	for name := range ours.Vars {
		goNames[plainName(name)] = name
	}
	for _, p := range b.design.Manifest.Ports[2:] {
		names[goNames["gpu_"+plainName(p.Go)]] = p.Name
	}
	for _, r := range b.design.Manifest.Registers {
		names[goNames["gpu_"+plainName(r.Go)]] = r.Verilog
	}
	assert.NotContains(t, names, "", "a signal that Go does not have")
	assert.Len(t, theirs.Values, len(names)+1, "and the clock")
	changes := 0
	now := map[string]string{}
	for i, at := range ours.Times[:len(ours.Times)-1] { // Go also shows the end of the last clock
		for name, v := range ours.Changes[i] {
			if _, both := names[name]; !both && i > 0 {
				assert.True(t, strings.HasSuffix(name, ".op"), "%s changes only in Go", name)
			}
			if now[name] != v {
				changes++
			}
		}
		maps.Copy(now, ours.Changes[i])
		for name, verilog := range names {
			if ours.Vars[name].Kind == "string" {
				continue
			}
			values := theirs.Values["TOP.hilgpu_tuned.gpu."+verilog]
			// Verilator's first clock is the reset. Go leaves out skipped clocks.
			require.Equal(t, now[name], values[at+1], "%s in clock %d", name, at)
		}
	}
	assert.Greater(t, changes, 1000)
}

package lockstep

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// renamed matches the suffix that makes a duplicate Verilog name unique.
var renamed = regexp.MustCompile(`_(r|\d)$`)

// The wave of the Go side has every register of the Verilog, in the same instance and
// with the same width.
func TestWaveHasTheRegistersOfTheVerilog(t *testing.T) {
	tooltest.Long(t)
	for config, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		g := newGPU(t, c)
		d, err := verilog.Translate("../..", g)
		require.NoError(t, err)
		var out bytes.Buffer
		r, err := wave.New(&out, wave.Options{})
		require.NoError(t, err)
		r.Attach(g)
		require.NoError(t, r.Close())
		w, err := vcdtest.Parse(&out)
		require.NoError(t, err)
		for _, reg := range d.Manifest.Registers {
			name := "gpu." + reg.Verilog
			v, ok := w.Vars[name]
			if short := renamed.ReplaceAllString(name, ""); !ok {
				v, ok = w.Vars[short]
			}
			if assert.True(t, ok, "%s, %s", config, name) && v.Kind == "reg" {
				assert.Equal(t, reg.Width, v.Width, name)
			}
		}
		for name := range w.Vars {
			if config == "small" {
				assert.False(t, strings.HasPrefix(name, "gpu.cp1."), name)
			}
		}
	}
}

// The wave of both sides has the clock's period and the signals of each clock.
func TestDump(t *testing.T) {
	l := &sim.Layout{Out: []sim.Signal{{Name: "a[3]", Width: 8}, {Name: "b.c", Width: 1, At: 4}}, OutBytes: 8}
	record := func(a, c byte) []byte { return []byte{a, 0, 0, 0, c, 0, 0, 0} }
	var out bytes.Buffer
	require.NoError(t, dump(&out, l, 12_000_000, []sample{
		{clock: 1_000_000_000, want: record(1, 0), got: record(1, 0), x: record(0, 1)},
		{clock: 1_000_000_001, want: record(2, 0), got: record(3, 0), x: record(0, 0)},
	}))
	w, err := vcdtest.Parse(&out)
	require.NoError(t, err)
	assert.EqualValues(t, 1, w.Unit, "a period of 12 MHz is 83333333 1/3 fs")
	w, err = w.Clocks("clk", 12_000_000)
	require.NoError(t, err)
	assert.Equal(t, []uint64{1_000_000_000, 1_000_000_001, 1_000_000_002}, w.Times)
	assert.Equal(t, map[string]string{"go.a_3": "1", "go.b.c": "0", "verilog.a_3": "1", "verilog.b.c": "x"}, w.At(1_000_000_000))
	assert.Equal(t, map[string]string{"go.a_3": "10", "go.b.c": "0", "verilog.a_3": "11", "verilog.b.c": "0"}, w.At(1_000_000_001))
}

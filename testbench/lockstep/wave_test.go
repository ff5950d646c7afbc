package lockstep

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// renamed is what is behind a name in the Verilog that another one has too.
var renamed = regexp.MustCompile(`_(r|\d)$`)

// A wave of the Go side has every register of the Verilog, in the same instance
// and of the same width.
func TestWaveHasTheRegistersOfTheVerilog(t *testing.T) {
	for _, config := range []string{"default", "small"} {
		g := newGPU(t, config)
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

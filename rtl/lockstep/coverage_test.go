package lockstep

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// leaves calls f with the path of each scalar below a struct, except those in slices
// and naps, which the hardware does not have.
func leaves(t reflect.Type, path string, f func(path string)) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			leaves(t.Field(i).Type, strings.TrimPrefix(path+"."+t.Field(i).Name, "."), f)
		}
	case reflect.Array:
		for i := range t.Len() {
			leaves(t.Elem(), fmt.Sprintf("%s[%d]", path, i), f)
		}
	case reflect.Slice:
	default:
		if t != reflect.TypeFor[hdl.Nap]() {
			f(path)
		}
	}
}

// A scalar that lockstep does not compare must not change: each scalar of the GPU is
// a register of the manifest or keeps its value through a random run. The count of
// moved bytes belongs to the emulator's statistics, not to the hardware.
func TestEveryChangingScalarIsCompared(t *testing.T) {
	tooltest.Long(t)
	for config, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		g := newGPU(t, c)
		d, err := verilog.Translate("../..", g)
		require.NoError(t, err)
		seen := map[string]bool{"moved": true}
		layout, err := sim.NewLayout(&d.Manifest)
		require.NoError(t, err)
		for _, s := range layout.Out[layout.Outputs:] {
			seen[s.GoPath] = true
		}
		read := func() map[string]string {
			values := map[string]string{}
			leaves(reflect.TypeOf(*g), "", func(path string) {
				v, err := resolve(g, path)
				require.NoError(t, err)
				if !seen[path] {
					values[path] = fmt.Sprint(v)
				}
			})
			return values
		}
		before := read()
		require.NotEmpty(t, before, "no parameters found")
		h := hostbfm.NewStimulus(g, 3)
		for range 200 {
			for range 500 {
				h.Step()
			}
			require.Equal(t, before, read(), config)
		}
		assert.Contains(t, before, "config.VRAMBytes")
	}
}

//go:build timer

package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// ecp5MCU is the most LUT4 of an ECP5 that a microcontroller adds to the configuration default.
const ecp5MCU = 3500

// TestMCUInDefault checks the size that a microcontroller adds to the configuration default. That one has
// the second master too, but nothing asks there, so synthesis drops most of it.
func TestMCUInDefault(t *testing.T) {
	tooltest.Need(t, "yosys")
	size := func(c gpu.Config) Cells {
		g, err := gpu.New(Shrink(c))
		require.NoError(t, err)
		d, err := verilog.Translate("../..", g)
		require.NoError(t, err)
		s := Of(d)
		n, err := synthesise(s, ECP5, false)
		require.NoError(t, err)
		all, err := blocks(n.stat, s.Top)
		require.NoError(t, err)
		return all[0].Cells
	}
	c := gpu.Default()
	c.Caps |= caps.Master
	without := size(c)
	t.Logf("without %+v", without)
	c.Caps |= caps.MCU
	with := size(c)
	t.Logf("with    %+v", with)
	assert.LessOrEqual(t, with.LUT-without.LUT, ecp5MCU)
}

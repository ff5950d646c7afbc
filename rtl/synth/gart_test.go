package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The most cells of the aperture on ECP5, with host addresses of 48 bits.
const (
	gartLUT = 1600
	gartRAM = 2
)

// TestGART checks the size of the aperture, and the log of its synthesis.
func TestGART(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	m := gart.New(gart.Params{HostBits: 48, VRAMBytes: 16 << 20, LengthBits: 32})
	d, err := verilog.TranslateModule("../..", &m, gart.Outputs...)
	require.NoError(t, err)
	s := Of(d)
	n, err := synthesise(s, ECP5, false)
	require.NoError(t, err)
	all, err := blocks(n.stat, s.Top)
	require.NoError(t, err)
	t.Logf("%+v", all[0].Cells)
	for _, f := range findings(n.log) {
		t.Error(f)
	}
	assert.LessOrEqual(t, all[0].LUT, gartLUT)
	assert.LessOrEqual(t, all[0].RAM, gartRAM)
}

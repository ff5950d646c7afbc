package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/vsec"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// vsecLUT is the most LUTs of the registers of a link on ECP5.
const vsecLUT = 160

// TestVSEC checks the size of the registers of a link, and the log of its synthesis.
func TestVSEC(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	for name, c := range map[string]vsec.Config{"uart": {Hz: 25_000_000, UART: true}, "ethernet": {Hz: 25_000_000, MAC: true, At: vsec.Station{MAC: 0x0268_696c_0005, IP: 0x0a00_0005, Port: 4000}}} {
		m := vsec.New(c)
		d, err := verilog.TranslateModule("../..", &m, vsec.Outputs...)
		require.NoError(t, err)
		s := Of(d)
		n, err := synthesise(s, ECP5, false)
		require.NoError(t, err)
		all, err := blocks(n.stat, s.Top)
		require.NoError(t, err)
		t.Logf("%s: %+v", name, all[0].Cells)
		for _, f := range findings(n.log) {
			t.Error(f)
		}
		assert.LessOrEqual(t, all[0].LUT, vsecLUT)
	}
}

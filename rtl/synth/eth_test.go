package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The most cells of the Ethernet station on ECP5.
const (
	ethLUT = 1500
	ethRAM = 8
)

// TestEth checks the size of the Ethernet station, and the log of its synthesis.
func TestEth(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	p := ip.Params{MAC: [6]byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}, IP: [4]byte{10, 0, 0, 2}, Port: 0x7c21, EtherType: 0x88b5}
	d, err := verilog.TranslateModule("../..", eth.New(p), eth.Outputs...)
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
	assert.LessOrEqual(t, all[0].LUT, ethLUT)
	assert.LessOrEqual(t, all[0].RAM, ethRAM)
}

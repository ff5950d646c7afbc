package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/uart"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The most logic cells, packed, and block RAMs of a link with a sequencer and its UART on an
// iCE40.
const (
	linkCells = 1300
	linkRAM   = 11
)

// TestLink checks the size of a link with a sequencer and of its UART, and the log of their
// synthesis.
func TestLink(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "nextpnr-ice40")
	p, err := seq.Program(seq.Options{MapHash: regmap.Hash(), Replay: 6, Slow: 7})
	require.NoError(t, err)
	sequencer, line := link.New(p.Words, 21_000), uart.New()
	cells, ram := 0, 0
	for _, tt := range []struct {
		name    string
		top     any
		outputs []string
	}{{"link", &sequencer, link.Outputs}, {"uart", &line, []string{"Line", "Received", "Errors", "Noise", "Ready"}}} {
		d, err := verilog.TranslateModule("../..", tt.top, tt.outputs...)
		require.NoError(t, err)
		s := Of(d)
		n, err := synthesise(s, ICE40, false)
		require.NoError(t, err)
		for _, f := range findings(n.log) {
			t.Error(f)
		}
		all, err := blocks(n.stat, s.Top)
		require.NoError(t, err)
		k, err := pack(n)
		require.NoError(t, err)
		t.Logf("%s: %d logic cells, %d block RAMs", tt.name, k, all[0].RAM)
		cells += k
		ram += all[0].RAM
	}
	assert.LessOrEqual(t, cells, linkCells)
	assert.LessOrEqual(t, ram, linkRAM)
}

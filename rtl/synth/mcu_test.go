package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The most logic cells of a core on an iCE40, packed, without its debug inputs: without
// counters, and with them, which leaves 300 cells of 2,000 for the timer, as TestTimer measures.
const (
	coreCells    = 1600
	coreCounters = 1700
)

// TestCore checks the size of a core with 8 KiB, and the log of its synthesis.
func TestCore(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "nextpnr-ice40")
	for _, tt := range []struct {
		c    core.Config
		most int
	}{
		{core.Config{Bytes: core.MinBytes}, coreCells},
		{core.Config{Bytes: core.MinBytes, Counters: true}, coreCounters},
	} {
		m := core.New(tt.c)
		d, err := verilog.TranslateModule("../..", &m, core.Outputs...)
		require.NoError(t, err)
		n, err := synthesise(Of(d), ICE40, false)
		require.NoError(t, err)
		for _, f := range findings(n.log) {
			t.Error(f)
		}
		cells, err := pack(n)
		require.NoError(t, err)
		t.Logf("counters %v: %d logic cells", tt.c.Counters, cells)
		assert.LessOrEqual(t, cells, tt.most)
	}
}

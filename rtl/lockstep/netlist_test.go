package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The netlist that yosys makes of a design behaves like the Go side at its ports, and
// a mistake in the Verilog is visible there.
func TestNetlist(t *testing.T) {
	need(t, Netlist)
	require.NoError(t, runTwin(t, twinDesign(t), Options{Sim: Netlist, Batch: 64}, 5, 3000))

	const at = 40
	d := plantedRun(t, Netlist, "", at, plantInput{en: true, data: plantPort})
	require.NotNil(t, d)
	assert.Equal(t, uint64(at), d.Clock)
	assert.Equal(t, []Difference{{Register: "odd", GoPath: "Odd", Verilog: "odd", Width: 1, Want: 0, Got: 1}}, d.Differences)
}

// A VRAM too large for any iCE40 is refused before yosys runs.
func TestNetlistIsTooLarge(t *testing.T) {
	tooltest.Long(t)
	need(t, Netlist)
	c := gpu.Default()
	require.Greater(t, c.VRAMBytes, uint64(16<<10))
	_, err := NewDevice("../..", c, Options{Sim: Netlist, Cache: t.TempDir()})
	assert.ErrorIs(t, err, ErrBuild)
	assert.ErrorIs(t, err, synth.ErrSize)
}

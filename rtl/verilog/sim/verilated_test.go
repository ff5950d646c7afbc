package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// After its process stops, a device has idle outputs and the cause in Err.
func TestVerilatedThatStops(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, Verilator.Tools()...)
	v, err := NewVerilated("../../..", gpu.Small(), BuildOptions{Cache: simtest.Cache()})
	require.NoError(t, err)
	_, ready, _ := v.Target()
	assert.True(t, ready)
	require.NoError(t, v.Kill())
	v.Skip(3)
	_, ready, _ = v.Target()
	assert.False(t, ready)
	assert.ErrorIs(t, v.Err(), ErrSimulation)
	assert.ErrorIs(t, v.Close(), ErrSimulation)
}

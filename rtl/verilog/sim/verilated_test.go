package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
)

// smallGPU is the smallest configuration.
func smallGPU() gpu.Config {
	c := gpu.Default()
	c.Nodes, c.VRAMBytes, c.HostBits, c.LengthBits, c.Tags = 1, 8<<10, 40, 16, 4
	return c
}

// A process that stops leaves a device that drives nothing, and the cause.
func TestVerilatedThatStops(t *testing.T) {
	if !simtest.Installed(t, Verilator.Check()) {
		t.Skip("no Verilator")
	}
	v, err := NewVerilated("../../..", smallGPU(), simtest.Cache())
	require.NoError(t, err)
	_, ready, _ := v.Target()
	assert.True(t, ready)
	require.NoError(t, v.Kill())
	v.Skip(3)
	_, ready, _ = v.Target()
	assert.False(t, ready)
	assert.ErrorIs(t, v.Err(), ErrModel)
	assert.ErrorIs(t, v.Close(), ErrModel)
}

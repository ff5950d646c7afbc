package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// configured adds the configuration that a random host asks for.
type configured struct {
	*Verilated
	c gpu.Config
}

func (c configured) Config() gpu.Config { return c.c }

// The Verilog without the Go side does to a host what the Go side does, also
// under the driver stack.
func TestVerilated(t *testing.T) {
	if !need(t, Verilator) {
		t.Skip("no Verilator")
	}
	c, err := Config("small")
	require.NoError(t, err)
	v, err := NewVerilated("../..", c, testCache())
	require.NoError(t, err)
	a, b := newHost(configured{v, c}, 4), newHost(newGPU(t, "small"), 4)
	for range 30000 {
		a.clock()
		b.clock()
	}
	assert.Equal(t, b.saw, a.saw)
	assert.Equal(t, b.mem, a.mem)
	v.Reset()
	assert.NoError(t, session(v, uint64(c.ClockHz), samplePlan(t, 16, 16)))
	assert.NoError(t, v.Close())
}

// A process that stops leaves a device that drives nothing, and the cause.
func TestVerilatedThatStops(t *testing.T) {
	if !need(t, Verilator) {
		t.Skip("no Verilator")
	}
	c, err := Config("small")
	require.NoError(t, err)
	v, err := NewVerilated("../..", c, testCache())
	require.NoError(t, err)
	_, ready, _ := v.Target()
	assert.True(t, ready)
	require.NoError(t, v.process.cmd.Process.Kill())
	v.Skip(3)
	_, ready, _ = v.Target()
	assert.False(t, ready)
	assert.ErrorIs(t, v.Err(), ErrModel)
	assert.ErrorIs(t, v.Close(), ErrModel)
}

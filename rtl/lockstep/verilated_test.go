package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// configured adds the configuration that a random host asks for.
type configured struct {
	*sim.Verilated
	c gpu.Config
}

func (c configured) Config() gpu.Config { return c.c }

// The Verilog without the Go side does to a host what the Go side does.
func TestVerilated(t *testing.T) {
	need(t, Verilator)
	c := gpu.Small()
	v, err := sim.NewVerilated("../..", c, testCache())
	require.NoError(t, err)
	a, b := newHost(configured{v, c}, 4), newHost(newGPU(t, c), 4)
	for range 30000 {
		a.clock()
		b.clock()
	}
	assert.Equal(t, b.saw, a.saw)
	assert.Equal(t, b.mem, a.mem)
	assert.NoError(t, v.Close())
}

package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// configured is a device with the configuration that the random host needs.
type configured struct {
	*sim.Verilated
	c gpu.Config
}

func (c configured) Config() gpu.Config { return c.c }

// The Verilog without the Go side drives a host exactly as the Go side does.
func TestVerilated(t *testing.T) {
	tooltest.Long(t)
	need(t, Verilator)
	c := gpu.Small()
	v, err := sim.NewVerilated("../..", c, sim.BuildOptions{Cache: testCache()})
	require.NoError(t, err)
	a, b := hostbfm.NewStimulus(configured{v, c}, 4), hostbfm.NewStimulus(newGPU(t, c), 4)
	for range 30000 {
		a.Step()
		b.Step()
	}
	assert.Equal(t, b.Saw, a.Saw)
	assert.Equal(t, b.Mem, a.Mem)
	assert.NoError(t, v.Close())
}

package session

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

func samplePlan(t *testing.T, w, h int) *compose.Plan {
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: w, Height: h, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(t, err)
	return plan
}

func newGPU(t *testing.T, c gpu.Config) *gpu.GPU {
	g, err := gpu.New(c)
	require.NoError(t, err)
	return g
}

// flipped inverts one bit of every long write of the device.
type flipped struct{ port.Device }

func (f flipped) Initiator() (port.Request, port.Beat) {
	req, beat := f.Device.Initiator()
	if beat.Enable == 0xff && !beat.Last {
		beat.Data ^= 1
	}
	return req, beat
}

func TestSession(t *testing.T) {
	plan := samplePlan(t, 16, 16)
	for _, c := range []gpu.Config{gpu.Default(), gpu.Small()} {
		assert.NoError(t, Compose(newGPU(t, c), 100_000_000, plan))
		assert.ErrorIs(t, Compose(flipped{newGPU(t, c)}, 100_000_000, plan), ErrFailed)
	}
}

// The driver stack runs on the Verilog. make lockstep runs it on both sides.
func TestVerilog(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	c, plan := gpu.Small(), samplePlan(t, 16, 16)
	v, err := sim.NewVerilated("../..", c, sim.BuildOptions{Cache: simtest.Cache()})
	require.NoError(t, err)
	assert.NoError(t, Compose(v, uint64(c.ClockHz), plan))
	assert.NoError(t, v.Close())
}

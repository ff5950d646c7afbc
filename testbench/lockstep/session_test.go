package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

func samplePlan(t *testing.T, w, h int) *compose.Plan {
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: w, Height: h, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(t, err)
	return plan
}

// flipped breaks one bit of every long write of the device.
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
	for _, config := range []string{"default", "small"} {
		assert.NoError(t, Compose(newGPU(t, config), 100_000_000, plan), config)
		assert.ErrorIs(t, Compose(flipped{newGPU(t, config)}, 100_000_000, plan), ErrSession, config)
	}
}

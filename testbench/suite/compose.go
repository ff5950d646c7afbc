package suite

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

func composeSamples(t *T) {
	samples, err := compose.Samples()
	require.NoError(t, err, "the sample images can be read")
	plan, err := compose.NewPlan(compose.Options{Width: 64, Height: 48, Contexts: 2, Seed: t.Seed, Sources: samples})
	require.NoError(t, err, "the plan can be made")
	sys := t.Open(testbench.Options{})
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err, "compose.Run: every call of the API succeeds")
	at, n := compose.Diff(frame, plan.Reference())
	if n > 0 {
		t.differs(frame, plan.Reference())
	}
	require.Zero(t, n, "pixels differ, the first at %v", at)
	stats := sys.Stats()
	assert.Equal(t, stats.DMABuffers+stats.PagingBuffers, stats.Fences, "every submission is retired")
}

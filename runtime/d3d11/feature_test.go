package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// TestFeatures: the threading capabilities are the driver's.
func TestFeatures(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fakeDriver, *Config)
		want   FeatureDataThreading
	}{
		"serialized":    {func(f *fakeDriver, _ *Config) { f.caps = 0 }, FeatureDataThreading{}},
		"free-threaded": {func(*fakeDriver, *Config) {}, FeatureDataThreading{DriverConcurrentCreates: true}},
		"command lists": {natively, FeatureDataThreading{DriverConcurrentCreates: true, DriverCommandLists: true}},
	} {
		b := newBench(t, tt.change)
		var got FeatureDataThreading
		require.NoError(t, b.dev.CheckFeatureSupport(FeatureThreading, &got))
		assert.Equal(t, tt.want, got, name)
		err := b.dev.CheckFeatureSupport(1, &got)
		check(t, ddi.EInvalidArg, err)
		assert.EqualError(t, err, "CheckFeatureSupport: E_INVALIDARG: Feature is 1, want 0")
		err = b.dev.CheckFeatureSupport(FeatureThreading, nil)
		assert.EqualError(t, err, "CheckFeatureSupport: E_INVALIDARG: pFeatureSupportData is a <nil>, want a *d3d11.FeatureDataThreading")
		assert.EqualValues(t, 0xb000, b.dev.GetFeatureLevel())
		assert.Zero(t, b.dev.GetCreationFlags())
	}
	single := newBench(t, func(_ *fakeDriver, c *Config) { c.SingleThreaded = true })
	assert.EqualValues(t, 1, single.dev.GetCreationFlags())
}

package compose

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlanOf(t *testing.T) {
	o := Options{Width: 64, Height: 48, Contexts: 2, Seed: 3}
	got, err := PlanOf(o, nil)
	require.NoError(t, err)
	want, err := SamplePlan(o)
	require.NoError(t, err)
	assert.Equal(t, want, got, "the samples")

	bars, rings := filepath.Join("samples", "bars.png"), filepath.Join("samples", "rings.png")
	got, err = PlanOf(o, []string{bars, rings})
	require.NoError(t, err)
	require.Len(t, got.Sources, 2)
	for i, path := range []string{bars, rings} {
		s, err := Load(path)
		require.NoError(t, err)
		assert.Equal(t, s, got.Sources[i], path)
	}
	_, err = PlanOf(o, []string{bars, "missing.png"})
	assert.ErrorIs(t, err, ErrInput)
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string][2]int{"320x240": {320, 240}, "1x0": {1, 0}, "-1x2": {-1, 2}} {
		w, h, ok := ParseSize(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, [2]int{w, h}, text)
	}
	for _, text := range []string{"", "320", "x", "320x", "x240", "320x240x1", "320X240", "a x b"} {
		_, _, ok := ParseSize(text)
		assert.False(t, ok, text)
	}
}

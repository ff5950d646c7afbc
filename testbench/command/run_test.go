package command

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestCheckFindsADifference(t *testing.T) {
	want := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	got := image.NewNRGBA(want.Rect)
	require.NoError(t, checkFrame(got, want))
	got.SetNRGBA(3, 1, color.NRGBA{1, 0, 0, 0})
	err := checkFrame(got, want)
	require.ErrorIs(t, err, exit.ErrCheck)
	assert.ErrorContains(t, err, "1 of 16 pixels differ, the first at 3,1")
	assert.Equal(t, exit.Check, exit.Code(err))
}

package still_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/still"
)

func TestClock(t *testing.T) {
	var c still.Clock
	for _, deadline := range []uint64{5, 3, 5, 1e9} {
		event, err := c.Wait(deadline)
		require.NoError(t, err)
		assert.False(t, event)
	}
	assert.EqualValues(t, c.Hz(), c.Now(), "a second, and never back")
	first := errors.New("first")
	assert.Equal(t, first, c.Fail(first))
	assert.Equal(t, first, c.Fail(errors.New("second")))
	_, err := c.Wait(2e9)
	assert.Equal(t, first, err)
	assert.NoError(t, c.Close())
	assert.Equal(t, bus.ErrClosed, c.Usable())
	assert.EqualValues(t, 1e9, c.Now())
}

package transfer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

// A stopper cancels a context after a number of waits.
type stopper struct {
	bus.Clock
	left   int
	cancel func()
}

func (s *stopper) Wait(deadline uint64) (bool, error) {
	if s.left--; s.left == 0 {
		s.cancel()
	}
	return s.Clock.Wait(deadline)
}

// stopAfter runs packets of 1 MiB until the context is done, after a number of waits.
func stopAfter(t *testing.T, waits int, fill bool) (*transfer.Report, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := transfer.Options{Board: "emu", Size: 1 << 20, Count: transfer.MaxCount, Fill: fill, Nodes: 2}
	o.Open = func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		l, c, err := boards.Open(selector, host)
		return l, &stopper{c, waits, cancel}, err
	}
	return transfer.Run(ctx, o)
}

// A run that is interrupted reports the packets that have retired until then. The waits are short
// on the clock of the board, because an emulator is slower than it.
func TestInterrupted(t *testing.T) {
	for _, fill := range []bool{false, true} {
		r, err := stopAfter(t, 10, fill)
		require.ErrorIs(t, err, context.Canceled)
		require.NotNil(t, r)
		assert.True(t, r.Interrupted)
		assert.Positive(t, r.Bytes)
		assert.Zero(t, r.Bytes%(1<<20), "complete packets")
		assert.InDelta(t, 8, r.Rate, 2, "%d bytes in %d clocks", r.Bytes, r.Clocks)
		assert.Less(t, r.Clocks, uint64(20_000_000))
		assert.Zero(t, r.Checked)
		assert.Contains(t, r.Text(), " clocks before the run was interrupted, ")
		assert.Contains(t, r.Text(), "checked  no memory, because the run was interrupted\n")
	}
}

// A run that is interrupted before the doorbells has moved nothing.
func TestInterruptedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := transfer.Options{Board: "emu?config=small", Size: 64, Count: 1, Open: boards.Open}
	o.Progress = func(int, int) { cancel() }
	r, err := transfer.Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.True(t, r.Interrupted)
	assert.Zero(t, r.Bytes+r.Clocks)
}

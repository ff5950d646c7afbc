package bringup_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// stopIn returns a context that is cancelled when a stage begins, and the options for it.
func stopIn(t *testing.T, stage string) (context.Context, bringup.Options) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, bringup.Options{Board: "emu?config=small", Only: []string{"link.trips", "regs.data", "cp.start", "fence.order"}, Began: func(name string, _, _ int) {
		if name == stage {
			cancel()
		}
	}}
}

// A run that is interrupted has a report: the stages that are complete, the one in which the run
// ended, and the others.
func TestInterrupted(t *testing.T) {
	ctx, o := stopIn(t, "cp.start")
	var told []string
	o.Progress = func(r bringup.Result) { told = append(told, r.Stage) }
	r, err := bringup.Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.Equal(t, o.Only, told)
	assert.Equal(t, []int{2, 0, 2}, []int{r.Passed, r.Failed, r.Skipped}, text(r))
	assert.Equal(t, "interrupted before its end", result(t, r, "cp.start").Summary)
	assert.Equal(t, "not run: the run was interrupted in cp.start", result(t, r, "fence.order").Summary)
	assert.False(t, r.OK())
	assert.False(t, r.LinkFailed())
	var junit, page bytes.Buffer
	require.NoError(t, r.WriteJUnit(&junit))
	assert.Contains(t, junit.String(), `skipped="2"`)
	require.NoError(t, r.WriteHTML(&page))
	assert.Contains(t, page.String(), "0 failed, 2 passed, 2 not run")
}

// A soak that is interrupted in its first round has the report of that round.
func TestInterruptedSoak(t *testing.T) {
	ctx, o := stopIn(t, "regs.data")
	rounds := 0
	r, bad, err := bringup.Soak(ctx, o, bringup.Limit{Rounds: 3}, func(int, int) {}, func(bringup.Round) error { rounds++; return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.Equal(t, 1, r.Passed)
	assert.Zero(t, rounds+bad, "the round is not complete")
}

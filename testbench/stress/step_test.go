package stress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each round tells its frames from 0 on, also those whose device was lost. The digest does not depend on it.
func TestSteps(t *testing.T) {
	o := small(t, "emu?vram=64KiB")
	o.Rounds, o.Frames = 1, 4
	fault(BadPacket, 0.05)(&o)
	want, err := Run(o)
	require.NoError(t, err)
	require.Positive(t, want.Guilty)

	var steps, all []Step
	for round := range 3 {
		for done := range 3*4 + 1 {
			all = append(all, Step{Seed: 1, Round: round, Done: done, Of: 12})
		}
	}
	o = small(t, "emu?vram=64KiB")
	o.Rounds, o.Frames = 1, 4
	fault(BadPacket, 0.05)(&o)
	o.Step = func(s Step) { steps = append(steps, s) }
	got, err := Run(o)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, all, steps)
	assert.Equal(t, "seed 1: round 0: 5 of 12 frames", steps[5].String())
}

// The last step is told after 2 seconds and then every 10, unless the line of a round was printed meanwhile.
func TestTell(t *testing.T) {
	var due func()
	var waits []time.Duration
	stopped := 0
	after := func(d time.Duration, f func()) func() bool {
		due, waits = f, append(waits, d)
		return func() bool { stopped++; return true }
	}
	var told []Step
	step, end := Tell(after, func(s Step) { told = append(told, s) })
	assert.Empty(t, waits, "the board is being opened")
	at := func(round, done int) Step { return Step{Seed: 1, Round: round, Done: done, Of: 12} }
	for _, tt := range []struct {
		name string
		at   Step
		want bool
	}{
		{"round 0", at(0, 3), true},
		{"round 1, since round 0 has no line", at(1, 0), true},
		{"the same step", at(1, 0), true},
		{"the next round", at(2, 1), false},
		{"the same round", at(2, 2), true},
		{"two rounds later", at(4, 2), false},
	} {
		told = nil
		step(at(0, 0))
		step(tt.at)
		due()
		if tt.want {
			assert.Equal(t, []Step{tt.at}, told, tt.name)
		} else {
			assert.Empty(t, told, tt.name)
		}
	}
	assert.Equal(t, []time.Duration{2 * time.Second, 10 * time.Second, 10 * time.Second}, waits[:3])
	assert.Len(t, waits, 7, "one at a time")
	told = nil
	end()
	assert.Equal(t, 1, stopped)
	step(at(4, 3))
	due()
	assert.Empty(t, told)
	assert.Len(t, waits, 7)
}

// Nothing is told of a run that has told no step.
func TestTellNothing(t *testing.T) {
	_, end := Tell(func(time.Duration, func()) func() bool { panic("nothing to tell") }, nil)
	end()
}

package stress

import (
	"fmt"
	"sync"
	"time"
)

// A Step is the state within a round.
type Step struct {
	Seed  uint64
	Round int // from 1; 0: the one before it
	Done  int // frames of the round that were presented, or whose device was lost
	Of    int // frames of a round
}

// String describes the step in a line, the seed first.
func (s Step) String() string {
	return fmt.Sprintf("seed %d: round %d: %d of %d frames", s.Seed, s.Round, s.Done, s.Of)
}

// step tells Options.Step that done frames of the round are done.
func (b *bench) step(done int) {
	if b.done = done; b.Step != nil {
		b.Step(Step{b.Seed, b.round, done, len(b.processes) * b.Frames})
	}
}

// A slow run is told firstTold after its first step, and then every nextTold.
const (
	firstTold = 2 * time.Second
	nextTold  = 10 * time.Second
)

// After calls f once after the time d, unless it is stopped before, as time.AfterFunc does.
type After func(d time.Duration, f func()) (stop func() bool)

// A ticker tells the last step of a run at times.
type ticker struct {
	after After
	tell  func(Step)

	mu    sync.Mutex
	last  Step
	round int // of the step at the last tick, at least 1
	stop  func() bool
	ended bool
}

// Tell returns a function for Options.Step that calls tell with the last step from time to time, for a user who sees nothing
// else. It tells nothing if a round has ended since the last time. end ends that. The run does not depend on the time.
func Tell(after After, tell func(Step)) (step func(Step), end func()) {
	t := &ticker{after: after, tell: tell, round: 1}
	return t.step, t.end
}

func (t *ticker) step(s Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last = s; t.stop == nil && !t.ended {
		t.stop = t.after(firstTold, t.tick)
	}
}

func (t *ticker) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	round := max(t.last.Round, 1) // round 0 has no line
	if round == t.round {
		t.tell(t.last)
	}
	t.round = round
	t.stop = t.after(nextTold, t.tick)
}

func (t *ticker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended = true; t.stop != nil {
		t.stop()
	}
}

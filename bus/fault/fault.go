// Package fault does to the frames of one direction of a line what a bad line
// does: it loses, repeats, damages, shortens and delays them, stops and is
// cut. What it does follows from its seed and the frames alone.
package fault

import (
	"bytes"
	"math/rand/v2"
	"time"
)

// Config says what befalls frames. Probabilities are per frame, 0 to 1, and
// independent of each other. The zero value does nothing.
//
//	Loss      the frame does not arrive
//	Dup       it arrives twice
//	Flip      one of its bits is inverted, of each copy on its own
//	Truncate  only 1 to all but one of its bytes arrive, of each copy on its own
//	Reorder   it arrives behind one to three frames that were sent after it
//	Stall     the line carries nothing for StallFor before this frame
//	Cut       the line is cut each time this many frames have passed; 0 is never
type Config struct {
	Loss     float64
	Dup      float64
	Flip     float64
	Truncate float64
	Reorder  float64
	Stall    float64
	StallFor time.Duration // of a stall; 0 is DefaultStall
	Cut      int
	Seed     uint64
}

// DefaultStall is how long a line stops that is not told how long.
const DefaultStall = 20 * time.Millisecond

// Stats counts what an Injector has done.
type Stats struct {
	Frames    uint64 // that were given
	Lost      uint64 // by Loss; what a cut swallows is not counted here
	Repeated  uint64
	Flipped   uint64 // copies
	Truncated uint64 // copies
	Reordered uint64
	Stalls    uint64
	Cuts      uint64
	Swallowed uint64 // frames that met a line that is cut
}

// An Effect is what befalls the line and not one frame.
type Effect struct {
	Stall time.Duration // the line carries nothing for so long before the frames that came out
	Cut   bool          // the line is cut, in this direction at least
}

// reach is how many frames can overtake one.
const reach = 3

// An Injector is the faults of one direction.
type Injector struct {
	config Config

	rng   *rand.Rand
	held  []delayed
	since int // frames since the line was whole
	cut   bool
	stats Stats
}

// A delayed frame comes out behind the next after ones.
type delayed struct {
	frame []byte
	after int
}

// New returns the injector of one direction of a line. Directions of one seed
// differ in what befalls them and when. Faults are drawn from c.Seed.
func New(c Config, direction uint64) *Injector {
	if c.StallFor == 0 {
		c.StallFor = DefaultStall
	}
	return &Injector{config: c, rng: rand.New(rand.NewPCG(c.Seed, direction))}
}

// Stats returns the counters.
func (j *Injector) Stats() Stats { return j.stats }

// Apply gives the next frame to the line. What comes out of it goes to emit, in
// order; it is valid only during the call. Frame is not changed.
func (j *Injector) Apply(frame []byte, emit func(frame []byte)) Effect {
	j.stats.Frames++
	if j.cut {
		j.stats.Swallowed++
		return Effect{Cut: true}
	}
	if j.since++; j.config.Cut > 0 && j.since > j.config.Cut {
		j.cut, j.held = true, j.held[:0]
		j.stats.Cuts++
		j.stats.Swallowed++
		return Effect{Cut: true}
	}
	var e Effect
	if j.happens(j.config.Stall, &j.stats.Stalls) {
		e.Stall = j.config.StallFor
	}
	if j.happens(j.config.Loss, &j.stats.Lost) {
		j.passed(emit)
		return e
	}
	copies := 1
	if j.happens(j.config.Dup, &j.stats.Repeated) {
		copies = 2
	}
	var late *delayed
	for range copies {
		out := j.damage(frame)
		if late == nil && len(j.held) < reach && j.happens(j.config.Reorder, &j.stats.Reordered) {
			late = &delayed{bytes.Clone(out), 1 + j.rng.IntN(reach)}
			continue
		}
		emit(out)
	}
	j.passed(emit)
	if late != nil {
		j.held = append(j.held, *late)
	}
	return e
}

// passed tells the frames that are held that one more was sent.
func (j *Injector) passed(emit func(frame []byte)) {
	kept := j.held[:0]
	for _, d := range j.held {
		if d.after--; d.after == 0 {
			emit(d.frame)
		} else {
			kept = append(kept, d)
		}
	}
	j.held = kept
}

// Restore makes the line whole again after a cut. Cut counts from here.
func (j *Injector) Restore() { j.cut, j.since = false, 0 }

func (j *Injector) happens(p float64, count *uint64) bool {
	if p == 0 || j.rng.Float64() >= p {
		return false
	}
	*count++
	return true
}

// damage returns what becomes of one copy.
func (j *Injector) damage(frame []byte) []byte {
	if len(frame) == 0 {
		return frame
	}
	if j.happens(j.config.Flip, &j.stats.Flipped) {
		frame = bytes.Clone(frame)
		frame[j.rng.IntN(len(frame))] ^= 1 << j.rng.IntN(8)
	}
	if len(frame) > 1 && j.happens(j.config.Truncate, &j.stats.Truncated) {
		frame = frame[:1+j.rng.IntN(len(frame)-1)]
	}
	return frame
}

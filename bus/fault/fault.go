// Package fault injects the faults of a bad line into the frames of one
// direction: it loses, repeats, damages, truncates, delays and stalls frames,
// and cuts the line. The injected faults depend only on the seed and the
// frames.
package fault

import (
	"bytes"
	"math/rand/v2"
	"time"
)

// Config configures the faults injected into frames. Probabilities are per
// frame, 0 to 1, and independent of each other. The zero value injects nothing.
//
//	Loss      the frame does not arrive
//	Dup       it arrives twice
//	Flip      one of its bits is inverted, in each copy independently
//	Truncate  one or more bytes at its end are lost, in each copy independently
//	Reorder   it arrives after one to three frames that were sent after it
//	Stall     the line carries nothing for StallFor before this frame
//	Cut       the line is cut after every Cut frames; 0 is never
type Config struct {
	Loss     float64
	Dup      float64
	Flip     float64
	Truncate float64
	Reorder  float64
	Stall    float64
	StallFor time.Duration // duration of a stall; 0 is DefaultStall
	Cut      int
	Seed     uint64
}

// DefaultStall is the duration of a stall if none is given.
const DefaultStall = 20 * time.Millisecond

// Stats counts the faults that an Injector has injected.
type Stats struct {
	Frames    uint64 // passed to Apply
	Lost      uint64 // by Loss; frames lost to a cut are not included
	Repeated  uint64
	Flipped   uint64 // copies
	Truncated uint64 // copies
	Reordered uint64
	Stalls    uint64
	Cuts      uint64
	Swallowed uint64 // frames lost to a cut
}

// An Effect is a fault of the line rather than of one frame.
type Effect struct {
	Stall time.Duration // the line carries nothing for this long before the emitted frames
	Cut   bool          // the line is cut, in this direction at least
}

// maxOvertake is the largest number of frames that overtake a delayed one.
const maxOvertake = 3

// An Injector injects the faults of one direction.
type Injector struct {
	config Config

	rng   *rand.Rand
	held  []delayed
	since int // frames since the line was last restored
	cut   bool
	stats Stats
}

// A delayed frame is emitted after the given number of later frames.
type delayed struct {
	frame []byte
	after int
}

// New returns the injector of one direction of a line. Directions with the same
// seed get different faults. The random numbers are drawn from c.Seed.
func New(c Config, direction uint64) *Injector {
	if c.StallFor == 0 {
		c.StallFor = DefaultStall
	}
	return &Injector{config: c, rng: rand.New(rand.NewPCG(c.Seed, direction))}
}

// Stats returns the counters.
func (j *Injector) Stats() Stats { return j.stats }

// Apply injects faults into the next frame. It calls emit with the resulting
// frames in order; each is valid only during the call. Apply does not change
// frame.
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
		if late == nil && len(j.held) < maxOvertake && j.happens(j.config.Reorder, &j.stats.Reordered) {
			late = &delayed{bytes.Clone(out), 1 + j.rng.IntN(maxOvertake)}
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

// passed counts one more sent frame for the delayed frames.
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

// Restore ends a cut. Cut counts frames from here.
func (j *Injector) Restore() { j.cut, j.since = false, 0 }

func (j *Injector) happens(p float64, count *uint64) bool {
	if p == 0 || j.rng.Float64() >= p {
		return false
	}
	*count++
	return true
}

// damage returns one copy of a frame with its injected faults.
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

package lockstep

import (
	"errors"
	"fmt"
)

// ErrPanic is wrapped by the error of a Go side that has panicked.
var ErrPanic = errors.New("lockstep: the Go side panics")

// progressClocks is how many clocks there are between two calls of progress.
const progressClocks = 1000

// Random drives dev for so many clocks as a host that may do anything that is
// legal. It stops at the first divergence, and at an assertion of the Go side,
// with ErrPanic and the clock. Progress, if not nil, is told every now and then
// how many of the clocks are over.
func Random(dev *Device, seed, clocks uint64, progress func(done, total uint64)) (err error) {
	h := newHost(dev, seed)
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(dev.Err(), fmt.Errorf("%w: seed %d, clock %d: %v", ErrPanic, seed, h.saw.clock, r))
		}
	}()
	for h.saw.clock < clocks && dev.Err() == nil {
		h.clock()
		if progress != nil && h.saw.clock%progressClocks == 0 {
			progress(h.saw.clock, clocks)
		}
	}
	return dev.Err()
}

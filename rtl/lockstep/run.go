package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// ErrPanic is wrapped by the error of a Go side that has panicked.
var ErrPanic = errors.New("lockstep: the Go side panics")

// progressClocks is how many clocks there are between two calls of progress.
const progressClocks = 1000

// Random drives dev for so many clocks with hostbfm.Stimulus. It stops at the first
// divergence, with hostbfm.ErrProtocol, and at an assertion of the Go side, with
// ErrPanic and the clock. Progress, if not nil, is told every now and then how many
// of the clocks are over.
func Random(dev *Device, seed, clocks uint64, progress func(done, total uint64)) (err error) {
	h := hostbfm.NewStimulus(dev, seed)
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(dev.Err(), fmt.Errorf("%w: seed %d, clock %d: %v", ErrPanic, seed, h.Clocks, r))
		}
	}()
	for h.Clocks < clocks && dev.Err() == nil && h.Err == nil {
		h.Step()
		if progress != nil && h.Clocks%progressClocks == 0 {
			progress(h.Clocks, clocks)
		}
	}
	return errors.Join(dev.Err(), h.Err)
}

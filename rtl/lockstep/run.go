package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/hostbfm/sweep"
)

// ErrPanic is wrapped by the error that reports a panic of the Go side.
var ErrPanic = errors.New("lockstep: the Go side panics")

// progressClocks is the number of clocks between two calls of progress.
const progressClocks = 1000

// Random drives dev with hostbfm.Stimulus for the given number of clocks. It stops at
// the first divergence, with hostbfm.ErrProtocol if the device broke the protocol,
// and with ErrPanic if an assertion of the Go side failed. progress, if not nil, is
// called from time to time with the clocks done and the total.
func Random(dev *Device, seed, clocks uint64, progress func(done, total uint64)) (err error) {
	return run(dev, hostbfm.NewStimulus(dev, seed), seed, clocks, progress)
}

// Restless is like Random, with a host that resets the device often.
func Restless(dev *Device, seed, clocks uint64) error {
	h := hostbfm.NewStimulus(dev, seed)
	h.Restless = true
	return run(dev, h, seed, clocks, nil)
}

// Sweep drives dev through all meetings of package sweep, after a reset. It fails as Random
// does.
func Sweep(dev *Device, progress func(done, total uint64)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(dev.Err(), fmt.Errorf("%w: clock %d: %v", ErrPanic, dev.Clocks(), r))
		}
	}()
	return sweep.Run(dev, func(done, total int) error {
		if progress != nil {
			progress(uint64(done), uint64(total))
		}
		return dev.Err()
	})
}

func run(dev *Device, h *hostbfm.Stimulus, seed, clocks uint64, progress func(done, total uint64)) (err error) {
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

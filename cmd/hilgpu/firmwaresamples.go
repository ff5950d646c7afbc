package main

import (
	"fmt"

	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

const (
	// lateLeast and lateTimes are how long a sample may be late: lateLeast clocks, then twice as many, and so on.
	lateLeast = 1 << 12
	lateTimes = 14

	// stillMost is how many waits may pass without one clock of ID.TIME.
	stillMost = 1000
)

// sample takes samples. After one in whose period no node has worked, the firmware waits for a doorbell.
func (l *logFlags) sample(s serving) (all []log.Sample, lost uint32, err error) {
	if _, _, err := s.Call(fwabi.OpTelemetry, dword(l.period)); err != nil {
		return nil, 0, err
	}
	for len(all) < l.samples {
		more, n, err := s.samples(l.period)
		if err != nil {
			return nil, 0, err
		}
		all, lost = append(all, more...), n
		if err := s.regs.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages); err != nil {
			return nil, 0, err
		}
	}
	return all[:l.samples], lost, nil
}

// samples waits for at least one sample, which is due after the given period at most.
func (s serving) samples(period uint32) (all []log.Sample, lost uint32, err error) {
	wait := uint64(period)
	for late := range lateTimes {
		if err := s.pass(wait); err != nil {
			return nil, 0, err
		}
		if all, lost, err = log.Samples(s.area); err != nil || len(all) != 0 {
			return all, lost, err
		}
		wait = lateLeast << late
	}
	return nil, 0, fmt.Errorf("%w: no sample %d clocks after it was due", message.ErrTimeout, lateLeast<<(lateTimes-1)-lateLeast)
}

// pass lets clocks of the GPU pass.
func (s serving) pass(clocks uint64) error {
	hz, err := s.regs.Read(idreg.Base + idreg.ClockHz)
	if err != nil {
		return err
	}
	begin, err := gpuTime(s.regs)
	now := begin
	for still := 0; err == nil && now-begin < clocks; still++ {
		if still == stillMost {
			return fmt.Errorf("%w: ID.TIME does not change", message.ErrTimeout)
		}
		seconds := float64(clocks-(now-begin)) / float64(max(hz, 1))
		if _, err := s.clock.Wait(s.clock.Now() + uint64(seconds*float64(s.clock.Hz())) + 1); err != nil {
			return err
		}
		was := now
		if now, err = gpuTime(s.regs); now != was {
			still = 0
		}
	}
	return err
}

// gpuTime returns the clocks since the reset of the GPU.
func gpuTime(r mcu.Registers) (uint64, error) {
	low, err := r.Read(idreg.Base + idreg.TimeLo) // latches the high half
	if err != nil {
		return 0, err
	}
	high, err := r.Read(idreg.Base + idreg.TimeHi)
	return uint64(high)<<32 | uint64(low), err
}

package bringup

import (
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// Of the stage ident.time.
const (
	timeReads   = 8    // of which the fastest counts
	timeTrips   = 200  // round trips of the interval
	leastTime   = 50   // of a second: the shortest interval
	restTime    = 1000 // of a second: the line is idle before a sample
	clocksDrift = 2e-4 // what two crystals of 100 ppm differ in
	simulated   = 0.1  // a difference that no crystal has, but a wrong PLL and a simulation do
)

// A sample is a value of the register TIME, and when it was read.
type sample struct {
	time uint64  // of the board, in its clocks
	at   float64 // of the host, in the middle of the round trip, seconds
	trip float64 // seconds
}

// sample reads TIME a few times, and returns the fastest one. The line is idle before, so that
// no acknowledgement delays the first read, and two samples are alike.
func (s *session) sample() sample {
	s.sleep(restTime)
	best := sample{trip: math.Inf(1)}
	tick := 1 / float64(s.Clock.Hz())
	for range timeReads {
		from := s.Clock.Now()
		lo := s.Reg(idreg.Base + idreg.TimeLo)
		to := s.Clock.Now()
		hi := s.Reg(idreg.Base + idreg.TimeHi)
		if trip := float64(to-from) * tick; trip < best.trip {
			best = sample{uint64(hi)<<32 | uint64(lo), (float64(from) + float64(to)) / 2 * tick, trip}
		}
	}
	return best
}

// identTime compares the clock of the board with that of the host.
func identTime(s *session) outcome {
	hz, build := s.Reg(idreg.Base+idreg.ClockHz), s.Reg(idreg.Base+idreg.Build)
	first := s.sample()
	wait := min(1, max(1.0/leastTime, timeTrips*first.trip))
	s.sleep(uint64(1 / wait))
	second := s.sample()
	if s.Err != nil || hz == 0 {
		return failed("TIME cannot be read", "", nil)
	}
	if second.time < first.time {
		return failed(fmt.Sprintf("TIME went back from %d to %d clocks", first.time, second.time), "the board was reset during the run", nil)
	}
	board, host := float64(second.time-first.time)/float64(hz), second.at-first.at
	off, unknown := board/host-1, math.Abs(second.trip-first.trip)/host
	text := fmt.Sprintf("%s of TIME in %s of the host, %+.3f %% (known to %.3f %%)", seconds(board), seconds(host), 100*off, 100*unknown)
	virtual := boards.Virtual(s.opt.Board)
	switch {
	case math.Abs(off) <= clocksDrift+unknown:
		return outcome{status: OK, summary: text}
	case build == 0 && virtual:
		return outcome{status: OK, summary: text + ": an emulator in virtual time"}
	case !virtual && (build == 0 || math.Abs(off) > simulated):
		return slowOrWrong(text, build)
	}
	return wrongRate(text, off)
}

// wrongRate is the outcome of a clock that another oscillator explains.
func wrongRate(text string, off float64) outcome {
	how := "fast"
	if off < 0 {
		how = "slow"
	}
	return outcome{
		status: Fail, summary: text,
		details: []string{fmt.Sprintf("the board's clock is %.2f %% %s against the host's, and so is the rate of its UART", 100*math.Abs(off), how)},
		likely:  "the rate is off: another oscillator, a PLL that is set wrong, or a wrong ID.CLOCK_HZ",
	}
}

// slowOrWrong is the outcome of a clock that is far off on the wall clock. No register tells gateware in an FPGA
// from the same gateware in a simulation, whose clock is as fast as its machine.
func slowOrWrong(text string, build uint32) outcome {
	o := outcome{
		status: Warn, summary: text,
		details: []string{"if the board is an FPGA, its clock is wrong; if it is a simulation, this is its speed"},
		likely:  "a simulation; or, in an FPGA, a PLL that is set wrong, another oscillator, or a wrong ID.CLOCK_HZ",
	}
	if build == 0 {
		o.details[0] += ". ID.BUILD is 0, as that of an emulator is"
	}
	return o
}

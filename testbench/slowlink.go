package testbench

import (
	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// linkShare is the part of the rate of a slow link that is left for data, in percent: packets
// of 128 bytes have headers, and some are sent again.
const linkShare = 75

// maxLinkDelay bounds what a slow link adds to the time-out of the GPU, in seconds: a board
// that acknowledges slowly sets the measured rate. A line at 115,200 baud needs 971 for 8 MiB.
const maxLinkDelay = 3600

// linkQuantum is how many bytes a context may move over a slow link in a turn, at the rate at
// which the board is opened. In a turn that ends before the first packet has moved something,
// a context would make no progress.
const linkQuantum = 64 << 10

// setTimes sets the time-out and the quantum of the GPU, which depend on the rate of a slow link.
func (s *System) setTimes(o *Options) {
	hz := s.clock.Hz()
	rated, slow := bus.As[boards.Rated](s.link)
	delay := func(bytes uint64) uint64 {
		seconds := min(float64(bytes)*100/linkShare/float64(rated.BytesPerSecond()), maxLinkDelay)
		return uint64(seconds * float64(hz))
	}
	if slow && o.quantum == 0 {
		o.quantum = hz/1000 + delay(linkQuantum)
	}
	if o.Tdr != 0 {
		o.TdrDelay = uint64(o.Tdr.Seconds() * float64(hz))
	} else if slow && o.TdrDelay == 0 {
		o.TdrDelay, o.linkDelay = 2*hz, delay
	}
}

// Hz returns the ticks of the board's time in a second.
func (s *System) Hz() uint64 { return s.clock.Hz() }

// LinkRate returns the approximate rate of a slow link in bytes per second. It reports false if the link is not slow.
func (s *System) LinkRate() (rate uint64, slow bool) {
	rated, slow := bus.As[boards.Rated](s.link)
	if slow {
		rate = rated.BytesPerSecond()
	}
	return rate, slow
}

// MaxLength returns the largest byte count of a linear packet, by ID.CAPS, rounded down to a multiple of 256. The error
// is that of the link.
func (s *System) MaxLength() (uint64, error) {
	word, err := s.device.Read32(&ddi.Thread{}, 0, idreg.Base+idreg.Caps)
	return (1<<reg.Field{Mask: idreg.CapsLength}.Get(word) - 1) &^ 255, err
}

package pins

import (
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// EtherFaults are what goes wrong at a PHY. Each is the probability that it happens with a
// frame to the board, 0 to 1.
//
//	FCS       a bit of the frame has the other value
//	Runt      the frame ends before its 64th byte
//	Oversize  bytes follow the frame, up to more than an Ethernet carries
//	Carrier   the carrier is lost within the frame
//	Unplug    the cable is out for 10 to 1000 frames' time, both ways; this frame is lost
//	Reset     the board is reset
//	Seed      of the random numbers
type EtherFaults struct {
	FCS, Runt, Oversize, Carrier, Unplug, Reset float64
	Seed                                        uint64
}

// fields returns the probabilities with their names in a selector.
func (f *EtherFaults) fields() []field {
	return []field{
		{"fcs", &f.FCS, "Ethernet: a bit of a frame has the other value"},
		{"runt", &f.Runt, "Ethernet: a frame ends before its 64th byte"},
		{"oversize", &f.Oversize, "Ethernet: bytes follow a frame, up to more than an Ethernet carries"},
		{"carrier", &f.Carrier, "Ethernet: the carrier is lost within a frame"},
		{"unplug", &f.Unplug, "Ethernet: the cable is out for 10 to 1000 frames' time"},
		{"reset", &f.Reset, "the board is reset"},
	}
}

// An etherFaulter injects faults.
type etherFaulter struct {
	opt   EtherFaults
	rng   *rand.Rand
	due   bool   // a reset
	in    uint64 // clock in which the cable is in again
	stats FaultStats
}

func newEtherFaulter(f EtherFaults) *etherFaulter {
	return &etherFaulter{opt: f, rng: rand.New(rand.NewPCG(f.Seed, 5))}
}

// hits reports whether a fault happens.
func (e *etherFaulter) hits(p float64) bool { return p > 0 && e.rng.Float64() < p }

// change returns a frame with its FCS as it is after faults.
func (e *etherFaulter) change(f []byte) []byte {
	o := &e.opt
	if e.hits(o.FCS) {
		e.stats.FCS++
		i := e.rng.IntN(8 * len(f))
		f[i/8] ^= 1 << (i % 8)
	}
	if e.hits(o.Runt) {
		e.stats.Runts++
		f = f[:1+e.rng.IntN(mac.MinFrame-1)]
	}
	if e.hits(o.Oversize) {
		e.stats.Oversizes++
		for n := mac.MaxFrame + 1 + e.rng.IntN(1000); len(f) < n; {
			f = append(f, byte(e.rng.Uint32()))
		}
	}
	if e.hits(o.Carrier) {
		e.stats.Carriers++
		f = f[:e.rng.IntN(len(f))]
	}
	if e.hits(o.Reset) {
		e.due = true
	}
	return f
}

// out reports whether the cable is out when a frame begins in a clock, at the host's end.
func (e *etherFaulter) out(clock uint64) bool {
	if clock >= e.in && e.hits(e.opt.Unplug) {
		e.stats.Unplugs++
		e.in = clock + uint64(10+e.rng.IntN(991))*leastFrame
	}
	return clock < e.in
}

// leastFrame is the time of the smallest frame on the line, in clocks.
const leastFrame = mac.PreambleBytes + mac.MinFrame + mac.GapBytes

// resets reports whether the board is reset now.
func (e *etherFaulter) resets() bool {
	due := e.due
	if e.due = false; due {
		e.stats.Resets++
	}
	return due
}

// reset resets a board in Go.
func reset(top any) error {
	r, ok := top.(interface{ Reset() })
	if !ok {
		return fmt.Errorf("pins: a board of type %T has no reset", top)
	}
	r.Reset()
	return nil
}

package link

import (
	"math/rand/v2"
	"testing"

	"github.com/hilgpu/hilgpu/rtl/link/datagram"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

// clocksOf returns the clocks of a traffic.
func clocksOf(first bool, all uint64) uint64 {
	if first {
		return all / 10
	}
	return all
}

// shortBreak is the clocks of most breaks in ofUART, at most.
const shortBreak = 1500

// ofUART has bytes in both directions with periods that change, on a line that is disturbed.
func ofUART(*testing.T) mutant.Traffic {
	return func(_ any, both *lockstep.Module, first bool) {
		r := rand.New(rand.NewPCG(*seedFlag, 7))
		host, period, off := uart.New(), uint32(uart.MinPeriod), uint32(0)
		noise, pause, breaks, left := 0, 0, 0, 0
		for both.Clocks() < clocksOf(first, 2_000_000) && both.Err() == nil {
			if left--; left < 0 {
				period = uart.MinPeriod + min(r.Uint32N(400), r.Uint32N(400))
				left = 1000 + r.IntN(4000)
				switch r.IntN(20) {
				case 0:
					period, left = uart.MaxPeriod-r.Uint32N(60_000), 100_000
				case 1: // a multiple of 256 clocks, to the carry of its counter
					period, left = 32+4096*(1+r.Uint32N(4))+r.Uint32N(16), 50_000
				case 2: // a break of more than two bytes after a pause, to the last bits of its counter
					period = uart.MaxPeriod - min(r.Uint32N(52_000), r.Uint32N(52_000))
					pause, breaks = int(period)*3/4, int(period)*17/8
					left = breaks
				default:
				}
				off = period / 64 * r.Uint32N(3)
			}
			event := r.IntN(4000)
			switch {
			case breaks > shortBreak: // it is not disturbed
			case event < 3:
				noise = 1 + r.IntN(12)
			case event == 3:
				breaks = r.IntN(shortBreak)
			case event == 4:
				both.Reset()
			default:
			}
			noise, pause, breaks = max(noise-1, 0), max(pause-1, 0), max(breaks-1, 0)
			line := pause > 0 || (host.Line() != (noise > 0)) && breaks == 0
			host.Tick(true, min(max(period+period/64-off, uart.MinPeriod), uart.MaxPeriod), r.IntN(20) == 0, uint8(r.Uint32()))
			both.Tick(line, period, r.IntN(60) == 0 || left%1000 < 500, uint8(r.Uint32()))
		}
	}
}

// ofDecoder has datagrams of frames, half of them damaged, and some longer than those of a
// link.
func ofDecoder(*testing.T) mutant.Traffic {
	return func(_ any, both *lockstep.Module, first bool) {
		r := rand.New(rand.NewPCG(*seedFlag, 8))
		for both.Clocks() < clocksOf(first, 600_000) && both.Err() == nil {
			d := datagramOf(r)
			if r.IntN(20) == 0 {
				d = append([]byte{byte(r.Uint32()) >> r.IntN(8), byte(r.Uint32())}, make([]byte, r.IntN(70_000)>>r.IntN(8))...)
			}
			if r.IntN(50) == 0 {
				both.Reset()
			}
			foreign, cut := r.IntN(6) == 0, r.IntN(3)
			for i, b := range d {
				both.Tick(datagram.Arrived{Valid: true, Last: i == len(d)-1, Foreign: foreign == (cut > 0 || i == 0), Data: b})
				for r.IntN(8) == 0 {
					both.Tick(datagram.Arrived{Last: r.IntN(2) == 0, Foreign: r.IntN(2) == 0, Data: byte(r.Uint32())})
				}
			}
		}
	}
}

// ofEncoder has frames with and without pauses, and a line that is fast, slow or stopped.
func ofEncoder(*testing.T) mutant.Traffic {
	return func(top any, both *lockstep.Module, first bool) {
		m := top.(*datagram.Encoder)
		r := rand.New(rand.NewPCG(*seedFlag, 9))
		left, whole, slow, wait, pauses, largest := 0, 0, 1, 0, 1, uint16(1472)
		for both.Clocks() < clocksOf(first, 600_000) && both.Err() == nil {
			if r.IntN(3000) == 0 {
				slow, pauses = 1+r.IntN(3)*r.IntN(60), 1+r.IntN(2)*r.IntN(200)
			}
			if r.IntN(20_000) == 0 {
				both.Reset()
				left, wait, largest = 0, 0, uint16(leastDatagram+r.IntN(1472-leastDatagram+1))
			}
			if left == 0 {
				left, wait = 1+r.IntN(152)>>r.IntN(6), r.IntN(pauses)
				whole = left
			}
			wait = max(wait-1, 0)
			in := linkport.Sent{Valid: wait == 0 && r.IntN(20) != 0, Last: left == 1, Size: uint8(whole), Data: byte(r.Uint32())}
			takes := in.Valid && m.Ready()
			both.Tick(in, largest, r.IntN(slow) == 0)
			if takes {
				left--
			}
		}
	}
}

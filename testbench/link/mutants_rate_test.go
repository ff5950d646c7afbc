package link

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/link/vsec"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
)

// slowRates is a clock with few clocks in a tick, so that the times of the rate pass soon.
var slowRates = rate.Config{Hz: 3 * rate.TicksPerSecond, Rates: []uint32{
	3750, 3600, 3400, 3200, 3000, 2800, 2600, 2400, 1200, 600, 300, 120, 60, 30, 16, 8,
}}

func freshRate() any {
	m := rate.New(slowRates)
	return &m
}

// A talker is a host that sends messages of a rate to a board, most of them good.
type talker struct {
	r    *rand.Rand
	m    *rate.Module
	both *lockstep.Module

	up     bool
	quiet  int // clocks in which nothing disturbs
	left   int // bytes of the frame of the data link
	chosen uint32
}

// tick is a clock with a piece for the board.
func (h *talker) tick(in linkport.Piece) {
	if h.left == 0 && h.r.IntN(100) == 0 && h.quiet == 0 {
		h.left = 1 + h.r.IntN(8)
	}
	h.quiet = max(h.quiet-1, 0)
	if often := 6000 - 5700*h.session(); h.r.IntN(often) == 0 {
		h.up = !h.up
	}
	link := linkport.Sent{Valid: h.left > 0 && h.r.IntN(8) != 0, Last: h.left == 1, Size: uint8(h.r.Uint32()), Data: byte(h.r.Uint32())}
	talks, _ := h.m.Answer()
	takes := h.r.IntN(3) != 0
	h.both.Tick(in, h.up, link, takes, h.r.IntN(6) == 0)
	if link.Valid && takes && !talks {
		h.left--
	}
}

// session is 1 in a session.
func (h *talker) session() int {
	if h.up {
		return 1
	}
	return 0
}

func (h *talker) run(clocks int) {
	for range clocks {
		h.tick(linkport.Piece{Data: byte(h.r.Uint32())})
	}
}

// message returns a message, mostly one that the board answers at its present rate.
func (h *talker) message() []byte {
	kind, at := byte(h.r.IntN(8)), h.chosen
	atFirst := h.m.Period() == slowRates.Period(slowRates.Rates[0])
	switch h.r.IntN(8) {
	case 0:
		at = h.r.Uint32()
	case 1:
		at ^= 1 << h.r.IntN(32)
	case 5:
		at = slowRates.Rates[h.r.IntN(2)*h.r.IntN(len(slowRates.Rates))]
	case 2, 3, 4:
		if kind = 3 + 2*byte(h.r.IntN(2)); atFirst {
			kind = 0
			at = slowRates.Rates[h.r.IntN(len(slowRates.Rates))]
		}
	default:
	}
	if atFirst && kind == 0 {
		h.chosen = at
	}
	if h.r.IntN(40) == 0 {
		kind = byte(h.r.Uint32())
	}
	b := binary.BigEndian.AppendUint32([]byte{'B', 'R', kind}, at)
	for range h.r.IntN(4) * h.r.IntN(24) {
		b = append(b, byte(h.r.Uint32()))
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	switch h.r.IntN(16) {
	case 0:
		b[h.r.IntN(len(b))] ^= 1 << h.r.IntN(8)
	case 1:
		b = b[:h.r.IntN(len(b))]
	case 2:
		b = append(b, b[:h.r.IntN(len(b))]...)
	default:
	}
	return b
}

// send sends a message, with pauses after the bytes of the rate so that the board finds it.
func (h *talker) send(b []byte) {
	fast := h.r.IntN(20) == 0
	h.quiet = h.r.IntN(2) * 1000
	for i, v := range b {
		h.tick(linkport.Piece{Valid: true, Data: v})
		switch {
		case fast:
		case i == 6:
			h.run(h.r.IntN(50))
		default:
			h.run(h.r.IntN(3))
		}
	}
	if h.quiet > 0 {
		for h.left > 0 {
			h.run(1)
		}
	}
	end := h.r.IntN(20)
	h.tick(linkport.Piece{End: end != 0, Damaged: end < 2, Data: byte(h.r.Uint32())})
}

// ofRate has messages, sessions, frames of the data link and silence.
func ofRate(*testing.T) mutant.Traffic {
	return func(top any, both *lockstep.Module, first bool) {
		h := &talker{r: rand.New(rand.NewPCG(*seedFlag, 10)), m: top.(*rate.Module), both: both, chosen: slowRates.Rates[0]}
		for both.Clocks() < clocksOf(first, 3_000_000) && both.Err() == nil {
			h.send(h.message())
			h.run(h.r.IntN(4) * h.r.IntN(150))
			switch h.r.IntN(60) {
			case 0, 1, 2:
				h.up = false
				h.tick(linkport.Piece{End: true})
			case 3: // about the times of the board
				h.run(h.r.IntN(2) * (600 + h.r.IntN(20)))
			case 4:
				h.run(12_000 + h.r.IntN(30))
			case 5:
				h.run(h.r.IntN(40_000))
			case 6:
				both.Reset()
				h.left = 0
			default:
			}
		}
	}
}

func freshVSEC() any {
	m := vsec.New(vsec.Config{Hz: 0x9e3779b1, UART: true, MAC: true, At: vsec.Station{MAC: 0x0268_696c_0005, IP: 0x0a00_0105, Port: 4000}})
	return &m
}

// ofVSEC has events as often as they come, and headers of all kinds at all addresses.
func ofVSEC(*testing.T) mutant.Traffic {
	return func(_ any, both *lockstep.Module, first bool) {
		r := rand.New(rand.NewPCG(*seedFlag, 11))
		often := 4
		event := func() bool { return r.IntN(often) == 0 }
		for both.Clocks() < clocksOf(first, 1_500_000) && both.Err() == nil {
			if r.IntN(1000) == 0 {
				often = 1 + r.IntN(100)
			}
			// In the middle there is none for so long that counters wrap.
			if n := both.Clocks(); (n < 100_000 || n > 1_300_000) && r.IntN(500) == 0 {
				both.Reset()
			}
			s := linkport.Status{
				Up: event(), Cause: linkport.Cause(r.IntN(8)),
				Began: event(), Received: event(), Refused: event(), Repeated: event(), Nak: event(), Packet: event(),
			}
			l := vsec.Line{Framing: event(), Glitch: event(), Break: event(), Valid: r.IntN(4) == 0, Count: uint16(r.Uint32())}
			q := vsec.Asked{Req: port.Request{Kind: port.Kind(r.IntN(5)), Tag: uint8(r.Uint32()), Len: 1, Addr: uint64(4 * r.IntN(1024))}, Taken: r.IntN(30) == 0}
			if r.IntN(3) != 0 {
				q.Req.Kind, q.Req.Addr = port.CfgRead, uint64(0x100+4*r.IntN(32))
			}
			both.Tick(s, l, uint16(r.Uint32()), q)
		}
	}
}

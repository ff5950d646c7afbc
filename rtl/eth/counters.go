package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Counters of frames since the reset, modulo 2^32. Each received carrier counts in one of the
// first five, and a good frame in at most one of the last three.
const (
	Runts     = iota // below mac.MinFrame, or a carrier without a delimiter
	Oversized        // above mac.MaxFrame
	Bad              // wrong FCS, or an error of the PHY
	Filtered         // for another station or a group
	Good             // right frames for this station or for all
	NoRoom           // dropped, because the buffer was full
	Ignored          // for others, or of another protocol
	Invalid          // fragments, IP options, and wrong lengths and checksums
	NumCounters
)

// counters counts in a memory. An event waits while another one is counted, which takes two
// clocks. Runts are first: a carrier has at least two clocks, and all other events have at
// least mac.MinFrame clocks between two of a kind.
type counters struct {
	ram   hdl.RAM
	clear uint8 `w:"4"` // words that are cleared after a reset
	due   uint8 // bit i: counter i has an event
	index uint8 `w:"3"` // the counter that was read
	adds  bool  // it counts an event
	fresh bool  // it is the selected one
}

func newCounters() counters {
	c := counters{ram: hdl.NewNarrowRAM(NumCounters, 32)}
	c.reset()
	return c
}

func (c *counters) reset() { c.clear, c.due, c.adds, c.fresh = 0, 0, false, false }

// advance counts the events of a clock. selected is the counter that is read.
func (c *counters) advance(e mac.Events, d ip.Events, selected uint8) {
	due := c.due | dues(e, d)
	clears := c.clear != NumCounters
	enable, next := uint8(0), lowest(due)
	reads := !clears && !c.adds
	where, what := c.index, uint64(uint32(c.ram.Out())+1)
	if clears {
		where, what = c.clear&(NumCounters-1), 0
		c.clear = (c.clear + 1) & 0xf
	}
	if !reads {
		enable = 0xf
	}
	counts := reads && due != 0
	c.due = due
	if counts {
		c.due = due &^ (1 << next)
	} else {
		next = selected & (NumCounters - 1)
	}
	c.ram.Tick(reads, uint32(next), enable, uint32(where), what)
	c.index, c.adds, c.fresh = next, counts, reads && !counts
}

// dues returns the events of a clock, a bit for each counter.
func dues(e mac.Events, d ip.Events) uint8 {
	return due(e.Runt, Runts) | due(e.Oversized, Oversized) | due(e.Bad, Bad) | due(e.Filtered, Filtered) | due(e.Good, Good) |
		due(d.NoRoom, NoRoom) | due(d.Ignored, Ignored) | due(d.Invalid, Invalid)
}

// due returns the bit of a counter if it has an event.
func due(event bool, i uint8) uint8 {
	if event {
		return 1 << (i & 7)
	}
	return 0
}

// lowest returns the lowest bit that is set, 7 if none is.
func lowest(v uint8) uint8 {
	i := uint8(7)
	for k := range uint8(7) {
		if v>>(6-k)&1 != 0 {
			i = 6 - k
		}
	}
	return i
}

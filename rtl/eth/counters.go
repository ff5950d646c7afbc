package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// Counters count frames since the reset, modulo 2^32. Each received carrier counts in one of
// Good, Bad, Runts, Oversized and Filtered, and a good frame in at most one of the last three.
//
//	Good       right frames for this station or for all
//	Bad        wrong FCS, or an error of the PHY
//	Runts      below mac.MinFrame, or a carrier without a delimiter
//	Oversized  above mac.MaxFrame
//	Filtered   for another station or a group
//	NoRoom     dropped, because the ring was full
//	Ignored    for others, or of another protocol
//	Invalid    fragments, IP options, and wrong lengths and checksums
type Counters struct {
	Good      uint32
	Bad       uint32
	Runts     uint32
	Oversized uint32
	Filtered  uint32
	NoRoom    uint32
	Ignored   uint32
	Invalid   uint32
}

// count counts the events of a clock.
func (c *Counters) count(e mac.Events, d ip.Events) {
	if e.Good {
		c.Good++
	}
	if e.Bad {
		c.Bad++
	}
	if e.Runt {
		c.Runts++
	}
	if e.Oversized {
		c.Oversized++
	}
	if e.Filtered {
		c.Filtered++
	}
	if d.NoRoom {
		c.NoRoom++
	}
	if d.Ignored {
		c.Ignored++
	}
	if d.Invalid {
		c.Invalid++
	}
}

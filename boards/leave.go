package boards

import (
	"math"

	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Longest idle time of an earlier host in clocks. The emulator skips idle
// clocks; the simulated Verilog ticks each.
const (
	longIdle  = 1 << 40
	shortIdle = 1 << 16
)

// An earlierUse is the use of a device by an earlier host, before it was
// opened.
type earlierUse struct {
	dirty bool // an earlier host has used it
	seed  uint64
}

// earlierUse parses the option dirty.
func (o *values) earlierUse() earlierUse {
	p := earlierUse{dirty: o.Has("dirty")}
	o.number("dirty", &p.seed, 0, math.MaxUint64)
	return p
}

// apply lets the earlier host, if there was one, use dev and leave it.
func (p earlierUse) apply(dev port.Device, idle uint64) error {
	if !p.dirty {
		return nil
	}
	return dirty.Leave(dev, dirty.Options{Seed: p.seed, Idle: idle})
}

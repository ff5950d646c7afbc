package boards

import (
	"math"

	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// How long an earlier host may leave the device alone, in clocks: an emulator
// skips them, a model of the Verilog ticks each.
const (
	longIdle  = 1 << 40
	shortIdle = 1 << 16
)

// A past is what a device went through before it was opened.
type past struct {
	dirty bool // an earlier host has used it
	seed  uint64
}

// past reads the option dirty.
func (o *values) past() past {
	p := past{dirty: o.Has("dirty")}
	o.number("dirty", &p.seed, 0, math.MaxUint64)
	return p
}

// befall has the earlier host, if there was one, use dev and leave it.
func (p past) befall(dev port.Device, idle uint64) error {
	if !p.dirty {
		return nil
	}
	return dirty.Leave(dev, dirty.Options{Seed: p.seed, Idle: idle})
}

package d3d11

import (
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// relocatePeriod is the mean number of functions of a context after which its
// table moves.
const relocatePeriod = 8

// newMoves returns the random numbers that decide when a context's table moves,
// nil for the seed 0. All contexts have the same numbers, so that the calls of
// a context do not depend on those of others.
func newMoves(seed uint64) *rand.Rand {
	if seed == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(seed, 0))
}

// relocate moves the context's table at random, if its driver wants to know. The
// entries of the old table become nil, so that a driver that still uses it
// fails at once.
//
//	DDI     pfnRelocateDeviceFuncs
//	Caller  the context's thread, between two functions of the driver. Other
//	        threads use Device.funcs, a copy of the entries that never change
//	Source  learn.microsoft.com, nc-d3d10umddi-pfnd3d10ddi_relocatedevicefuncs;
//	        WDK, "Supporting Threading, Command Lists, and 3D Pipeline"
func (c *Context) relocate() {
	if c.moves == nil || c.funcs.RelocateDeviceFuncs == nil || c.moves.IntN(relocatePeriod) != 0 {
		return
	}
	if !c.deferred && c.dev.mapped.Load() > 0 {
		return // another thread may release the mapped resource, which unmaps it
	}
	old, table := c.funcs, new(umddi.DeviceFuncs)
	*table, *old = *old, umddi.DeviceFuncs{}
	c.funcs, c.native.createArg.ContextFuncs = table, table
	table.RelocateDeviceFuncs(c.call.begin("pfnRelocateDeviceFuncs", maySet), c.h, table)
	c.call.end()
}

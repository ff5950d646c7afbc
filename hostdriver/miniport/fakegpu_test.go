package miniport_test

import "github.com/hilgpu/hilgpu/rtl/abi/regmap"

// Offsets in BAR0, written out so that the driver's arithmetic is tested.
const (
	idMagic, idVersion, idCaps, idHash, idVRAM, idClock, idHostBits = 0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x40

	idReset = 0x44

	intcStatus, intcMask = 0x100, 0x104

	cp0Ctl, cp0Rptr, cp0Wptr, cp0Fence, cp0FaultInfo = 0x1000, 0x1014, 0x1018, 0x101c, 0x1020
	cp1Ctl, cp1Fence                                 = 0x1100, 0x111c
	cpStride                                         = 0x100

	deviceControl = 0x68 // in configuration space; the status is the upper half
)

// fakeGPU answers register accesses, and executes the rings on request.
type fakeGPU struct {
	regs       map[uint32]uint32
	resetReads int    // remaining reads of CTL with RESET set
	wholeReads int    // remaining reads of ID.RESET with WHOLE set
	ignores    int    // remaining resets of nodes and of the device that have no effect
	trip       uint32 // clocks from a read of TIME_LO to the next
}

func newGPU(nodes uint32) *fakeGPU {
	return &fakeGPU{regs: map[uint32]uint32{
		idMagic: 0x47504c48, idVersion: 0x10000, idCaps: nodes | 16<<8 | 16<<16 | 1<<29, idHash: regmap.Hash(),
		idVRAM: 1 << 20, idClock: 100_000_000, idHostBits: 40,
	}}
}

func (g *fakeGPU) read(off uint32) uint32 {
	if off&0xeff == 0 && off >= cp0Ctl && g.resetReads > 0 {
		g.resetReads--
		return 2
	}
	if off == idReset && g.wholeReads > 0 {
		g.wholeReads--
		return 1
	}
	if off == 0x18 {
		g.regs[off] += g.trip
	}
	return g.regs[off]
}

func (g *fakeGPU) write(off, v uint32) {
	node := off == cp0Ctl || off == cp1Ctl
	if g.ignores > 0 && (off == idReset || node && v&2 != 0) {
		g.ignores--
		if node {
			g.regs[off] = 0
		}
		return
	}
	switch {
	case off == idReset:
		for r := range g.regs {
			if r >= intcStatus || r >= 0x20 && r < idHostBits {
				g.regs[r] = 0
			}
		}
	case off == intcStatus:
		g.regs[off] &^= v
	case node:
		if v&2 != 0 {
			for _, r := range []uint32{0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x20} {
				g.regs[off+r] = 0
			}
		}
		g.regs[off] = v & 1
	default:
		g.regs[off] = v
	}
}

// complete makes id the last completed fence of a node, as the fence unit does.
func (g *fakeGPU) complete(node, id uint32) {
	g.regs[cp0Fence+node*cpStride] = id
	g.regs[intcStatus] |= 1 << node
}

// fault stops a node with a cause.
func (g *fakeGPU) fault(node, cause uint32) {
	g.regs[cp0FaultInfo+node*cpStride] = cause
	g.regs[cp0Ctl+node*cpStride] = 0
	g.regs[intcStatus] |= 0x100 << node
}

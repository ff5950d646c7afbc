package miniport_test

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// Offsets in BAR0, written out so that the driver's arithmetic is tested.
const (
	idMagic, idVersion, idCaps, idHash, idVRAM, idClock, idHostBits = 0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x40

	idReset = 0x44
	idTime  = 0x18

	intcStatus, intcMask = 0x100, 0x104

	cp0Ctl, cp0Rptr, cp0Wptr, cp0Fence, cp0FaultInfo = 0x1000, 0x1014, 0x1018, 0x101c, 0x1020
	cp1Ctl, cp1Fence                                 = 0x1100, 0x111c
	cp0IBLo, cp0IBHi, cp0IBLeft                      = 0x103c, 0x1040, 0x1044
	cp0Preempt, cp0Preempted, cp0Progress            = 0x1050, 0x1054, 0x1058
	cpStride                                         = 0x100

	idCaps2 = 0x48

	mcuInfo, mcuCtl, mcuLoadAddr, mcuLoadData, mcuCRC, mcuBlocks = 0x600, 0x604, 0x610, 0x614, 0x618, 0x620
	mcuStatus, mcuDebug, mcuExec, mcuPC                          = 0x608, 0x704, 0x708, 0x710
	mcuCheckpoint, mcuResult, mcuTest, mcuBuild                  = 0x640, 0x644, 0x658, 0x65c
	mcuDoorbell, mcuDetail                                       = 0x61c, 0x648

	arbOwner = 0x404

	gartCap                                                    = 1 << 5 // in CAPS2
	gartCtl, gartTableLo, gartTableHi, gartPages, gartFlushReg = 0x500, 0x504, 0x508, 0x50c, 0x510

	deviceControl = 0x68 // in configuration space; the status is the upper half
)

// fakeGPU answers register accesses, and executes the rings on request.
type fakeGPU struct {
	regs       map[uint32]uint32
	resetReads int    // remaining reads of CTL with RESET set
	wholeReads int    // remaining reads of ID.RESET with WHOLE set
	ignores    int    // remaining resets of nodes and of the device that have no effect
	trip       uint32 // clocks from a read of TIME_LO to the next

	loaded []byte // of the memory of the microcontroller
	boot   uint32 // RESULT after RUN; 0: the boot hangs

	vram       map[uint64]uint32 // what the CPU has written
	flushReads int               // remaining reads of GART.FLUSH as busy after a flush; -1: without end
	flushes    int

	bell func(v uint32) // called when doorbells of the firmware ring; nil: it serves no messages
}

func newGPU(nodes uint32) *fakeGPU {
	return &fakeGPU{vram: map[uint64]uint32{}, regs: map[uint32]uint32{
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
	if off == gartFlushReg && g.regs[off] != 0 {
		if g.flushReads != 0 {
			g.flushReads--
			return 1
		}
		g.regs[off] = 0
	}
	if off == idTime {
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
			if r >= intcStatus && r != mcuInfo || r >= 0x20 && r < idHostBits {
				g.regs[r] = 0
			}
		}
	case off == mcuLoadAddr:
		g.loaded, g.regs[mcuCRC] = nil, 0
	case off == mcuLoadData:
		g.loaded = binary.LittleEndian.AppendUint32(g.loaded, v)
		g.regs[mcuCRC] = crc32.ChecksumIEEE(g.loaded)
	case off == mcuExec:
		g.regs[mcuDebug] = 1 | 5<<4
	case off == mcuCtl:
		g.regs[mcuStatus], g.regs[mcuDebug] = 0, 0
		if g.regs[off] = v; v == 1 {
			g.regs[mcuCheckpoint], g.regs[mcuResult], g.regs[mcuBuild] = 5, g.boot, 0x1234abcd
			if g.bell != nil {
				g.regs[mcuDetail] = 1
			}
		}
	case off == mcuDoorbell && g.bell != nil:
		g.bell(v)
	case off == intcStatus:
		g.regs[off] &^= v
	case node:
		if v&2 != 0 {
			for _, r := range []uint32{0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x20, 0x3c, 0x40, 0x44, 0x50, 0x54, 0x58} {
				g.regs[off+r] = 0
			}
		}
		g.regs[off] = v & 1
	case off == gartFlushReg:
		g.flushes++
		g.regs[off] = v & 1
	default:
		g.regs[off] = v
	}
}

// hang lets the watchdog halt the firmware at an address. The debug unit completes each instruction,
// and all that it reads is 0.
func (g *fakeGPU) hang(pc uint32) {
	g.regs[mcuStatus], g.regs[mcuDebug], g.regs[mcuPC] = 6, 1|1<<4, pc
	g.regs[intcStatus] |= 1 << 7
}

// complete makes id the last completed fence of a node, as the fence unit does.
func (g *fakeGPU) complete(node, id uint32) {
	g.regs[cp0Fence+node*cpStride] = id
	g.regs[intcStatus] |= 1 << node
}

// stop makes a node answer PREEMPT at a dword of the ring, outside of a buffer.
func (g *fakeGPU) stop(node, rptr uint32) { g.stopIn(node, rptr, 0, 0, 0) }

// stopIn makes a node answer PREEMPT in a buffer, whose INDIRECT is at a dword of the ring.
func (g *fakeGPU) stopIn(node, rptr uint32, addr uint64, left, progress uint32) {
	for off, v := range map[uint32]uint32{
		cp0Preempted: g.regs[cp0Preempt+node*cpStride], cp0Ctl: 0, cp0Rptr: rptr,
		cp0IBLo: uint32(addr), cp0IBHi: uint32(addr >> 32), cp0IBLeft: left, cp0Progress: progress,
	} {
		g.regs[off+node*cpStride] = v
	}
	g.regs[intcStatus] |= 1 << node
}

// fault stops a node with a cause.
func (g *fakeGPU) fault(node, cause uint32) {
	g.regs[cp0FaultInfo+node*cpStride] = cause
	g.regs[cp0Ctl+node*cpStride] = 0
	g.regs[intcStatus] |= 0x100 << node
}

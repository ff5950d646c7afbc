package gpu_test

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
)

// counters returns the counters of all nodes from a snapshot.
func (g *rig) counters() (all [][6]uint64) {
	if g.g.Config().Caps.Has(caps.Counters) {
		g.perf(perfreg.CtlRun | perfreg.CtlSnapshot)
		for i := range g.nodes {
			all = append(all, g.nodeCounters(i))
			require.Equal(g.t, g.nodes[i].Retired, all[i][5], "PACKETS%d, seed %d", i, g.seed)
			require.LessOrEqual(g.t, all[i][0], g.counter(perfreg.Cycles))
			for stall := 1; stall <= 3; stall++ {
				require.LessOrEqual(g.t, all[i][stall], all[i][0], "a stalled node is busy, seed %d", g.seed)
			}
		}
	}
	return all
}

// compare compares the device with the reference model.
func (g *rig) compare() {
	vram := make([]byte, len(g.model.Mem.VRAM))
	g.g.PeekVRAM(0, vram)
	for i, n := range g.nodes {
		for a, v := range n.Unclear {
			if want := &g.model.Mem.Bytes(a, 1)[0]; a&host != 0 {
				if got := g.mem[a&^host-memBase]; got == v {
					*want = v
				}
			} else if vram[a] == v {
				*want = v
			}
		}
		copy(g.model.Mem.VRAM[n.stamps.At:][:n.stamps.N], vram[n.stamps.At:])
		g.compareNode(i)
	}
	g.sameBytes("VRAM", g.model.Mem.VRAM, vram)
	g.sameBytes("host memory", g.model.Mem.Host, g.mem)
	for i, v := range g.model.Scratch {
		require.Equal(g.t, v, g.readReg(uint64(0x20+4*i)), "SCRATCH%d, seed %d", i, g.seed)
	}
	g.compareInterrupts()
	g.counters()
}

func (g *rig) sameBytes(what string, want, got []byte) {
	for i := range want {
		if want[i] != got[i] {
			require.FailNow(g.t, what, "byte %#x is %#x, want %#x, seed %d, clock %d", i, got[i], want[i], g.seed, g.clock)
		}
	}
}

func (g *rig) compareNode(i int) {
	n := g.nodes[i]
	why := fmt.Sprintf("seed %d, node %d, clock %d", g.seed, i, g.clock)
	reg := func(off uint64) uint32 { return g.node(i, off) }
	wide := func(off uint64) uint64 { return uint64(reg(off)) | uint64(reg(off+4))<<32 }
	require.Equal(g.t, n.Fault.Cause, reg(cpreg.FaultInfo), "FAULT_INFO, %s", why)
	require.Equal(g.t, n.Fault.Addr, wide(cpreg.FaultLo), "FAULT_ADDR, %s", why)
	require.Equal(g.t, n.Fault.Op, reg(cpreg.FaultOp), "FAULT_OP, %s", why)
	if n.Fault.Known {
		require.Equal(g.t, n.Fault.Bad, wide(cpreg.FaultBad), "FAULT_BAD, %s", why)
	}
	require.Equal(g.t, n.Ring.Rptr, reg(cpreg.Rptr), "RPTR, %s", why)
	require.Equal(g.t, n.Packets, reg(cpreg.Packets), "PACKETS, %s", why)
	require.Equal(g.t, uint32(n.Fence), reg(cpreg.Fence), "FENCE, %s", why)
	require.Equal(g.t, n.Fence, wide(cpreg.LineLo), "TIMELINE, %s", why)
	status := uint32(cpreg.StatusIdle)
	if n.Fault.Cause != 0 {
		status |= cpreg.StatusFault
		require.Zero(g.t, reg(cpreg.Ctl)&cpreg.CtlRun, "RUN, %s", why)
	}
	require.Equal(g.t, status, reg(cpreg.Status)&(cpreg.StatusIdle|cpreg.StatusFault), "STATUS, %s", why)
	if !g.preempts {
		require.Equal(g.t, n.Progress, reg(cpreg.Progress), "PROGRESS, %s", why)
	}
	require.Equal(g.t, n.IBLeft, reg(cpreg.IBLeft), "IB_LEFT, %s", why)
	require.Equal(g.t, n.Protect, reg(cpreg.Ctl)&cpreg.CtlProtect != 0, "PROTECT, %s", why)
}

// compareInterrupts checks STATUS, and that a vector with events has sent messages, at
// most one per event.
func (g *rig) compareInterrupts() {
	var status, events [2]uint32
	for i, n := range g.nodes {
		if n.Done > 0 {
			status[0] |= intcreg.Done0 << i
			events[0] += uint32(n.Done)
		}
		if n.Fault.Cause != 0 {
			status[1] |= intcreg.Fault0 << i
			events[1]++
		}
	}
	require.Equal(g.t, status[0]|status[1], g.readReg(intcreg.Base+intcreg.Status), "INTC.STATUS, seed %d", g.seed)
	g.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
	var got [2]uint32
	for _, v := range g.msgs {
		got[v-0x50]++
	}
	for v := range events {
		require.LessOrEqual(g.t, got[v], events[v], "messages of vector %d, seed %d", v, g.seed)
		require.Equal(g.t, events[v] > 0, got[v] > 0, "messages of vector %d, seed %d", v, g.seed)
	}
}

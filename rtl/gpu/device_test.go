package gpu_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
)

var (
	deviceSeed = flag.Uint64("device.seed", 1, "first seed of TestRandomDevice")
	deviceRuns = flag.Uint64("device.runs", 12, "seeds of TestRandomDevice")

	deviceCycles = flag.Uint64("device.cycles", 0, "clocks of each seed of TestRandomDevice; 0: 40 rounds")
)

// Layout of the half of a memory that a node may use: its ring, indirect buffers, time
// stamps, and data.
const (
	ringOff   = 0
	ibOff     = 0x1000
	stampOff  = 0x2000
	dataOff   = 0x2100
	hostHalf  = 0x20000
	hostArena = 0x10000

	bufferSize = 400 // bytes of an indirect buffer that ends with a packet
)

// A rig is a machine and the reference model of its nodes.
type rig struct {
	*machine
	seed  uint64
	model *refmodel.Device
	nodes []*rigNode

	preempts  bool // nodes are preempted; then no state is saved or restored
	preemptID uint32
}

// newRig returns a rig with a random configuration and a random host. If steady is true,
// the host's readies and answers are not random.
func newRig(t *testing.T, seed uint64, steady bool) *rig {
	r := rand.New(rand.NewPCG(seed, 11))
	c := gpu.Config{
		Nodes: 1 + r.IntN(2), VRAMBytes: 1 << (16 + r.IntN(3)), VRAMPorts: 1 + r.IntN(2), HostBits: 34 + r.IntN(29),
		LengthBits: 16 + r.IntN(17), Tags: 2 << r.IntN(4), MaxPayload: 128 << r.IntN(6), ClockHz: 1,
	}
	for _, have := range caps.Table {
		if r.IntN(3) != 0 {
			c.Caps |= have.Bit | have.With
		}
	}
	g := &rig{machine: boot(t, c, seed), seed: seed}
	g.stall, g.shuffle, g.skip = r.IntN(3)*r.IntN(30), r.IntN(2) == 0, r.IntN(2) == 0
	g.latency = 1 + r.Uint64N(100)
	if steady {
		g.stall, g.shuffle, g.skip = 0, false, false
	}
	g.preempts = c.Caps.Has(caps.Preemption) && r.IntN(2) == 0
	g.model = refmodel.New(hostbfm.ModelConfig(c), &refmodel.Memory{VRAM: make([]byte, c.VRAMBytes), Host: slices.Clone(g.mem), HostBase: memBase})
	for i := range g.model.Mem.VRAM {
		g.model.Mem.VRAM[i] = byte(r.Uint32())
	}
	g.g.PokeVRAM(0, g.model.Mem.VRAM)
	g.watch()
	for i, m := range g.model.Nodes {
		half := c.VRAMBytes / 2
		v, h := uint64(i)*half, at(hostArena+uint64(i)*hostHalf)
		n := &rigNode{
			Node: m, own: span(v+dataOff, half-dataOff), hostOwn: span(h+dataOff, hostHalf-dataOff), stamps: span(v+stampOff, 0x100),
			readable: []refmodel.Range{span(v+ibOff, 0x1000), span(h+ibOff, 0x1000), span(at(memSize-0x1000), 0x1000)},
		}
		g.nodes = append(g.nodes, n)
		n.Fence = uint64(r.Uint32()) // any value
		if r.IntN(2) == 0 {
			n.Fence = 1<<32 - 1 - r.Uint64N(200)
		}
		if n.Caps.Has(caps.Timeline) {
			n.Fence |= r.Uint64N(3) << 32
		}
		base := uint64(cpreg.Base + i*cpreg.Stride)
		g.writeReg(base+cpreg.Fence, uint32(n.Fence))
		g.writeReg(base+cpreg.LineHi, uint32(n.Fence>>32))
		g.start(i)
	}
	g.mapAperture()
	return g
}

// start resets a node and gives it a ring at a random place.
func (g *rig) start(i int) {
	n, base := g.nodes[i], uint64(cpreg.Base+i*cpreg.Stride)
	g.writeReg(base+cpreg.Ctl, cpreg.CtlReset)
	g.run(20000, func() bool { return g.node(i, cpreg.Ctl) == 0 })
	n.Reset()
	log2 := 8 + g.rng.Uint32N(5)
	n.Ring.Dwords = 1 << (log2 - 2)
	n.Ring.Base = n.stamps.At - stampOff + ringOff
	if g.rng.IntN(2) == 0 {
		n.Ring.Base = n.hostOwn.At - dataOff + ringOff
	}
	g.writeReg(base+cpreg.RingLo, uint32(n.Ring.Base))
	g.writeReg(base+cpreg.RingHi, uint32(n.Ring.Base>>32))
	g.writeReg(base+cpreg.RingSize, log2)
	g.release(i)
	if g.rng.IntN(4) != 0 {
		g.submit(i, g.windows(n))
		n.run(n.Node)
		g.idle()
	}
}

// release starts a node, with or without protection.
func (g *rig) release(i int) {
	n, ctl := g.nodes[i], uint32(cpreg.CtlRun)
	if g.rng.IntN(3) != 0 {
		ctl |= cpreg.CtlProtect
	}
	n.Protect = n.Caps.Has(caps.Protection) && ctl&cpreg.CtlProtect != 0
	g.writeReg(uint64(cpreg.Base+i*cpreg.Stride+cpreg.Ctl), ctl)
}

// store writes memory as the host does. VRAM that the host cannot access is changed
// directly.
func (g *rig) store(addr uint64, p []byte) {
	g.model.Mem.Store(addr, p)
	if addr&host != 0 {
		copy(g.mem[addr&^host-memBase:], p)
		return
	}
	if g.g.Config().Caps.Has(caps.Aperture) {
		g.writeBAR2(addr, p)
		return
	}
	poked, ok := g.dev.(interface{ PokeVRAM(off uint64, p []byte) })
	require.True(g.t, ok)
	poked.PokeVRAM(addr, p)
}

// preempt stops a node and lets it continue where it stopped.
func (g *rig) preempt(i int) {
	n, base := g.nodes[i], uint64(cpreg.Base+i*cpreg.Stride)
	g.preemptID++
	g.writeReg(base+cpreg.Preempt, g.preemptID)
	for polls := 0; g.node(i, cpreg.Preempted) != g.preemptID; polls++ {
		require.Less(g.t, polls, 10_000, "the node does not stop, seed %d", g.seed)
	}
	n.Done++
	if left := g.node(i, cpreg.IBLeft); left != 0 && g.node(i, cpreg.FaultInfo) == 0 {
		at := g.node(i, cpreg.Rptr)
		for k, v := range []uint32{g.node(i, cpreg.IBLo), g.node(i, cpreg.IBHi), left | 1<<20} {
			g.store(n.Ring.Base+4*uint64((at+1+uint32(k))%n.Ring.Dwords), put(nil, v))
		}
	}
	ctl := uint32(cpreg.CtlRun)
	if n.Protect {
		ctl |= cpreg.CtlProtect
	}
	g.writeReg(base+cpreg.Ctl, ctl)
}

// submit writes a batch into the ring as the host does, rings the doorbell and runs the
// reference model.
func (g *rig) submit(i int, b []byte) {
	n := g.nodes[i]
	for k := 0; k < len(b); k += 4 {
		g.store(n.Ring.Base+4*uint64(n.Ring.Wptr), b[k:k+4])
		n.Ring.Wptr = (n.Ring.Wptr + 1) % n.Ring.Dwords
	}
	g.writeReg(uint64(cpreg.Base+i*cpreg.Stride+cpreg.Wptr), n.Ring.Wptr)
}

// coalesce turns the coalescing of messages on or off.
func (g *rig) coalesce() {
	if g.g.Config().Caps.Has(caps.Coalescing) && g.rng.IntN(3) == 0 {
		g.writeReg(intcreg.Base+intcreg.CoalesceCount, g.rng.Uint32N(5))
		g.writeReg(intcreg.Base+intcreg.CoalesceTime, g.rng.Uint32N(2)*g.rng.Uint32N(2000))
	}
}

// round submits a batch to each node and compares everything when the nodes have stopped.
func (g *rig) round() {
	g.msgs = nil
	g.coalesce()
	g.remap()
	reset := g.rng.IntN(10) == 0
	for i, n := range g.nodes {
		if g.rng.IntN(4) == 0 {
			g.buffers(n)
		}
		n.Done, n.Stamps = 0, nil
		clear(n.Unclear)
		b := g.batch(n)
		g.submit(i, b)
		require.True(g.t, n.run(n.Node), "seed %d", g.seed)
	}
	for range g.rng.IntN(6) {
		n := g.rng.Uint64N(200)
		end := g.clock + n
		g.run(n, func() bool { return g.clock == end })
		g.node(0, cpreg.Status)
		if g.preempts && g.rng.IntN(2) == 0 {
			g.preempt(g.rng.IntN(len(g.nodes)))
		}
	}
	if reset {
		g.resetMidway()
		return
	}
	g.idle()
	g.compare()
	g.recover()
}

// resetMidway resets the device while it works. Only memory of the nodes may have changed.
func (g *rig) resetMidway() {
	if g.rng.IntN(2) == 0 {
		g.wholeReset()
	} else {
		g.functionReset()
	}
	g.configure()
	vram := make([]byte, len(g.model.Mem.VRAM))
	g.g.PeekVRAM(0, vram)
	for i, n := range g.nodes {
		copy(g.model.Mem.VRAM[n.own.At:][:n.own.N], vram[n.own.At:])
		copy(g.model.Mem.VRAM[n.stamps.At:][:n.stamps.N], vram[n.stamps.At:])
		off := n.hostOwn.At&^host - memBase
		copy(g.model.Mem.Host[off:][:n.hostOwn.N], g.mem[off:])
		n.Fence, n.Retired = 0, 0
		require.Zero(g.t, g.node(i, cpreg.Fence))
	}
	g.model.Scratch = [4]uint32{}
	g.sameBytes("VRAM", g.model.Mem.VRAM, vram)
	g.sameBytes("host memory", g.model.Mem.Host, g.mem)
	g.watch()
	g.mapAperture()
	for i := range g.nodes {
		g.start(i)
	}
}

// watch starts the counters, and a watchdog with a long limit.
func (g *rig) watch() {
	if g.g.Config().Caps.Has(caps.Counters) {
		g.perf(perfreg.CtlRun)
	}
	if g.g.Config().Caps.Has(caps.Watchdog) {
		g.writeReg(wdogreg.Base+wdogreg.Limit, 100000)
	}
}

// recover makes stopped nodes continue: by a reset, or by clearing the fault and replacing
// the rest of the ring with NOPs.
func (g *rig) recover() {
	for i, n := range g.nodes {
		if n.Fault.Cause == 0 {
			continue
		}
		if g.rng.IntN(2) == 0 {
			g.start(i)
			continue
		}
		base := uint64(cpreg.Base + i*cpreg.Stride)
		for p := n.Ring.Rptr; p != n.Ring.Wptr; p = (p + 1) % n.Ring.Dwords {
			g.store(n.Ring.Base+4*uint64(p), []byte{0, 0, 0, pkt.OpNOP})
		}
		g.writeReg(base+cpreg.FaultInfo, 0)
		g.release(i)
		n.Fault, n.IBAddr, n.IBLeft = refmodel.Fault{}, 0, 0
		n.run(n.Node)
	}
	g.idle()
}

// TestRandomDevice drives the device through its rings only, with every packet and random
// faults, and compares it with the reference model of docs/packets.md.
func TestRandomDevice(t *testing.T) {
	tooltest.Long(t)
	flight := wavetest.New(t)
	for seed := *deviceSeed; seed < *deviceSeed+*deviceRuns; seed++ {
		g := newRig(t, seed, false)
		g.dev = flight.Attach(g.g)
		for n := 0; n < 40 && *deviceCycles == 0 || g.clock < *deviceCycles; n++ {
			g.round()
		}
	}
}

// TestRandomDeviceSleeps compares a device that sleeps when it can with one that does not.
// Each write of theirs happens in the same clock.
func TestRandomDeviceSleeps(t *testing.T) {
	flight := wavetest.New(t)
	for seed := *deviceSeed; seed < *deviceSeed+*deviceRuns/2; seed++ {
		var rigs [2]*rig
		var counters [2][][6]uint64
		for i := range rigs {
			g := newRig(t, seed, true)
			g.dev = flight.Attach(g.g)
			g.skip = i == 1
			for range 30 {
				g.round()
			}
			rigs[i] = g
			counters[i] = g.counters()
		}
		require.Equal(t, rigs[0].log, rigs[1].log, "seed %d", seed)
		require.Equal(t, rigs[0].clock, rigs[1].clock, "seed %d", seed)
		require.Equal(t, counters[0], counters[1], "seed %d", seed)
	}
}

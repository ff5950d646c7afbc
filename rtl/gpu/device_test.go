package gpu_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
)

var (
	deviceSeed = flag.Uint64("device.seed", 1, "first seed of TestRandomDevice")
	deviceRuns = flag.Uint64("device.runs", 12, "seeds of TestRandomDevice")

	deviceCycles = flag.Uint64("device.cycles", 0, "clocks of each seed of TestRandomDevice; 0: 40 rounds")
)

// A half is what a node may use of a memory: its ring, indirect buffers, time
// stamps, and data. Data lies in front of the time stamps.
const (
	ringOff   = 0
	ibOff     = 0x1000
	stampOff  = 0x2000
	dataOff   = 0x2100
	hostHalf  = 0x20000
	hostArena = 0x10000

	bufferSize = 400 // bytes of an indirect buffer that ends with a packet
)

// A rig is a machine and the model of its nodes.
type rig struct {
	*machine
	seed  uint64
	model *memory
	nodes []*mNode

	preempts bool // nodes are preempted; then no state is saved or restored
	asked    uint32
}

// newRig returns a rig of a random configuration, behind a random host, or one
// whose readies and answers do not depend on chance.
func newRig(t *testing.T, seed uint64, steady bool) *rig {
	r := rand.New(rand.NewPCG(seed, 11))
	c := gpu.Config{
		Nodes: 1 + r.IntN(2), VRAMBytes: 1 << (16 + r.IntN(3)), VRAMPorts: 1 + r.IntN(2), HostBits: 34 + r.IntN(29),
		LengthBits: 16 + r.IntN(17), Tags: 2 << r.IntN(4), ClockHz: 1,
	}
	for _, have := range caps.Table {
		if r.IntN(3) != 0 {
			c.Caps |= have.Bit
		}
	}
	g := &rig{machine: boot(t, c, seed), seed: seed}
	g.stall, g.shuffle, g.skip = r.IntN(3)*r.IntN(30), r.IntN(2) == 0, r.IntN(2) == 0
	g.latency = 1 + r.Uint64N(100)
	if steady {
		g.stall, g.shuffle, g.skip = 0, false, false
	}
	g.preempts = c.Caps.Has(caps.Preemption) && r.IntN(2) == 0
	g.model = &memory{vram: make([]byte, c.VRAMBytes), mem: append([]byte(nil), g.mem...)}
	for i := range g.model.vram {
		g.model.vram[i] = byte(r.Uint32())
	}
	g.g.PokeVRAM(0, g.model.vram)
	g.watch()
	for i := range c.Nodes {
		half := c.VRAMBytes / 2
		v, h := uint64(i)*half, at(hostArena+uint64(i)*hostHalf)
		n := &mNode{
			id: uint32(i), hostBits: c.HostBits, lengthBits: c.LengthBits, protection: c.Caps.Has(caps.Protection), timeline: c.Caps.Has(caps.Timeline),
			contexts: c.Caps.Has(caps.Contexts), preemption: c.Caps.Has(caps.Preemption),
			own: span{v + dataOff, half - dataOff}, hostOwn: span{h + dataOff, hostHalf - dataOff},
			stamps:  span{v + stampOff, 0x100},
			unclear: map[uint64]byte{},
		}
		n.readable = []span{{v + ibOff, 0x1000}, {h + ibOff, 0x1000}, {at(memSize - 0x1000), 0x1000}}
		g.nodes = append(g.nodes, n)
		if i == 1 {
			n.peer, g.nodes[0].peer = g.nodes[0], n
		}
		n.fence = uint64(r.Uint32()) // anywhere
		if r.IntN(2) == 0 {
			n.fence = 1<<32 - 1 - r.Uint64N(200)
		}
		if n.timeline {
			n.fence |= r.Uint64N(3) << 32
		}
		base := uint64(cpreg.Base + i*cpreg.Stride)
		g.writeReg(base+cpreg.Fence, uint32(n.fence))
		g.writeReg(base+cpreg.LineHi, uint32(n.fence>>32))
		g.start(i)
	}
	return g
}

// start resets a node and gives it a ring somewhere.
func (g *rig) start(i int) {
	n, base := g.nodes[i], uint64(cpreg.Base+i*cpreg.Stride)
	g.writeReg(base+cpreg.Ctl, cpreg.CtlReset)
	g.run(20000, func() bool { return g.node(i, cpreg.Ctl) == 0 })
	n.reset()
	log2 := 8 + g.rng.Uint32N(5)
	n.size = 1 << (log2 - 2)
	n.base = n.stamps.at - stampOff + ringOff
	if g.rng.IntN(2) == 0 {
		n.base = n.hostOwn.at - dataOff + ringOff
	}
	g.writeReg(base+cpreg.RingLo, uint32(n.base))
	g.writeReg(base+cpreg.RingHi, uint32(n.base>>32))
	g.writeReg(base+cpreg.RingSize, log2)
	g.release(i)
	if g.rng.IntN(4) != 0 {
		g.submit(i, g.windows(n))
		n.run(g.model)
		g.idle()
	}
}

// release lets a node run, with protection or without.
func (g *rig) release(i int) {
	n, ctl := g.nodes[i], uint32(cpreg.CtlRun)
	if g.rng.IntN(3) != 0 {
		ctl |= cpreg.CtlProtect
	}
	n.protect = n.protection && ctl&cpreg.CtlProtect != 0
	g.writeReg(uint64(cpreg.Base+i*cpreg.Stride+cpreg.Ctl), ctl)
}

// windows returns packets that open what the node owns, now and then to read
// only, and the place of its time stamps.
func (g *rig) windows(n *mNode) []byte {
	if !n.protection {
		return nil
	}
	b := windowBytes(nil, 4*min(1, g.rng.Uint32N(4)), n.own)
	b = windowBytes(b, 1+4*min(1, g.rng.Uint32N(4)), n.hostOwn)
	return windowBytes(b, 6+g.rng.Uint32N(2), n.stamps)
}

func windowBytes(b []byte, index uint32, s span) []byte {
	return put64(put64(put(b, mSetWindow<<24|5, index), s.at), s.n)
}

// windowAnywhere returns a SET_WINDOW of a part of what the node owns, or of
// something else.
func (g *rig) windowAnywhere(n *mNode, b []byte) []byte {
	s := span{g.addr(n, 1), g.rng.Uint64N(0x20000)}
	if g.rng.IntN(20) == 0 {
		s.n = g.rng.Uint64() >> g.rng.IntN(64)
	}
	return windowBytes(b, g.rng.Uint32N(8), s)
}

// store is a write of the host to memory, as the host reaches it; VRAM that it
// does not reach is changed from outside.
func (g *rig) store(addr uint64, p []byte) {
	for i, v := range p {
		*g.model.at(addr + uint64(i)) = v
	}
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

func put(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

func put64(b []byte, v uint64) []byte { return le.AppendUint64(b, v) }

// addr is where a packet may look: mostly inside of what the node owns.
func (g *rig) addr(n *mNode, align uint64) uint64 {
	s := n.own
	switch g.rng.IntN(120) {
	case 0:
		return g.rng.Uint64() >> g.rng.IntN(64)
	case 1:
		return host | 1<<n.hostBits + g.rng.Uint64N(600) - 300
	case 2, 3:
		return at(memSize - g.rng.Uint64N(300))
	case 4:
		return uint64(len(g.model.vram)) - g.rng.Uint64N(300)
	}
	if g.rng.IntN(2) == 0 {
		s = n.hostOwn
	}
	a := s.at + g.rng.Uint64N(s.n-600)
	if g.rng.IntN(60) == 0 {
		return a
	}
	return a - a%align
}

func (g *rig) pair(n int) uint32 {
	if g.rng.IntN(200) == 0 {
		return g.rng.Uint32() >> g.rng.IntN(32)
	}
	return uint32(g.rng.IntN(n)) | uint32(g.rng.IntN(n))<<16
}

// packetBytes returns one packet, mostly a good one.
func (g *rig) packetBytes(n *mNode, b []byte, inIB bool) []byte {
	r := g.rng
	size := r.Uint32N(200)
	if r.IntN(20) == 0 {
		size = r.Uint32N(5000)
	}
	if !n.surf[1].set && r.IntN(4) != 0 {
		b = g.stateBytes(n, b)
	}
	start := len(b)
	switch r.IntN(23) {
	case 0:
		skip := r.Uint32N(8)
		b = put(b, mNOP<<24|skip)
		for range skip {
			b = put(b, r.Uint32())
		}
	case 1, 2, 3:
		b = put(b, mCopy<<24|5)
		b = put(put64(put64(b, g.addr(n, 1)), g.addr(n, 1)), size)
	case 4, 5:
		b = put64(put(put64(put(b, mFill<<24|5), g.addr(n, 1)), size), r.Uint64())
	case 6, 7:
		b = g.stateBytes(n, b)
	case 8, 9, 10, 11:
		b = put(b, mCopy2D<<24|3, g.pair(16), g.pair(16), g.pair(24))
	case 12:
		b = put64(put(b, mFill2D<<24|4, g.pair(16), g.pair(24)), r.Uint64())
	case 13:
		b = put(b, mWriteReg<<24|2, 0x20+8*n.id+4*r.Uint32N(2), r.Uint32())
	case 14:
		b = put64(put(b, mTimestamp<<24|2), n.stamps.at+8*r.Uint64N(32))
	case 15, 16:
		b = g.predicated(n, b, inIB)
	case 17, 18:
		if !inIB {
			b = g.indirectBytes(n, b)
		}
	case 19:
		if !inIB && (n.protection || r.IntN(20) == 0) {
			b = g.windowAnywhere(n, b)
			if r.IntN(2) == 0 {
				b = append(b, g.windows(n)...)
			}
		}
	case 21:
		if !inIB && !g.preempts && (n.contexts || r.IntN(20) == 0) {
			b = g.contextBytes(n, b)
		}
	case 20:
		if !inIB && (n.timeline || r.IntN(20) == 0) {
			b = g.waitBytes(n, b)
		}
	default:
		if !inIB {
			b = put(put64(put(b, mFence<<24|4), g.addr(n, 8)), uint32(n.fence)+r.Uint32N(3), r.Uint32N(2))
		}
	}
	if len(b) > start && r.IntN(120) == 0 { // one bit
		b[start+r.IntN(len(b)-start)] ^= 1 << r.IntN(8)
	}
	return b
}

// waitBytes returns a wait for a value that is there, or that the other node will
// have, which has been given its work of the round before.
func (g *rig) waitBytes(n *mNode, b []byte) []byte {
	of := n
	if g.rng.IntN(2) == 0 && n.peer != nil {
		of = n.peer
	}
	id := of.id
	if n.peer == nil && g.rng.IntN(20) == 0 {
		id ^= 1
	}
	return put64(put(b, mWaitFence<<24|3, id), of.fence-min(of.fence, g.rng.Uint64N(3)))
}

// contextBytes saves the state and restores it, or what has become of one.
func (g *rig) contextBytes(n *mNode, b []byte) []byte {
	addr := g.addr(n, 128)
	if g.rng.IntN(3) != 0 {
		b = put64(put(b, mSave<<24|2), addr)
	}
	if g.rng.IntN(3) == 0 {
		b = put64(put(b, mFill<<24|5), addr+8*g.rng.Uint64N(16))
		b = put64(put(b, 8), g.rng.Uint64()>>g.rng.IntN(64))
	}
	if g.rng.IntN(2) == 0 {
		b = put64(put(b, mRestore<<24|2), addr)
	}
	return b
}

// predicated is a packet that the value at an address may skip.
func (g *rig) predicated(n *mNode, b []byte, inIB bool) []byte {
	at := len(b)
	b = put(put64(put(b, mPredicate<<24|3), g.addr(n, 8)), 0)
	from := len(b)
	if g.rng.IntN(4) != 0 {
		b = g.packetBytes(n, b, inIB)
	}
	binary.LittleEndian.PutUint32(b[at+12:], uint32(len(b)-from)/4|g.rng.Uint32N(2)<<16)
	return b
}

// stateBytes sets both surfaces.
func (g *rig) stateBytes(n *mNode, b []byte) []byte {
	format := uint32(g.rng.IntN(9) / 2)
	for s := range uint32(2) {
		b = put64(put(b, mSetState<<24|7, s), g.addr(n, 1))
		b = put(b, g.rng.Uint32N(300), format, g.pair(20), g.pair(40))
	}
	return b
}

// indirectBytes returns an INDIRECT of what is in the node's buffers.
func (g *rig) indirectBytes(n *mNode, b []byte) []byte {
	s := n.readable[g.rng.IntN(2)]
	if g.rng.IntN(10) == 0 {
		s = n.readable[2] // ends where memory ends
	}
	off, dwords := uint64(0), uint32(bufferSize/4)
	if g.rng.IntN(10) == 0 {
		off, dwords = 4*g.rng.Uint64N(8), g.rng.Uint32N(60)
	}
	if n.preemption && !g.preempts && g.rng.IntN(3) == 0 {
		dwords |= 1 << 20
	}
	return put(put64(put(b, mIndirect<<24|3), s.at+off), dwords)
}

// preempt stops a node and lets it go on where it has stopped.
func (g *rig) preempt(i int) {
	n, base := g.nodes[i], uint64(cpreg.Base+i*cpreg.Stride)
	g.asked++
	g.writeReg(base+cpreg.Preempt, g.asked)
	for polls := 0; g.node(i, cpreg.Preempted) != g.asked; polls++ {
		require.Less(g.t, polls, 10_000, "it does not stop, seed %d", g.seed)
	}
	n.done++
	if left := g.node(i, cpreg.IBLeft); left != 0 && g.node(i, cpreg.FaultInfo) == 0 {
		at := g.node(i, cpreg.Rptr)
		for k, v := range []uint32{g.node(i, cpreg.IBLo), g.node(i, cpreg.IBHi), left | 1<<20} {
			g.store(n.base+4*uint64((at+1+uint32(k))%n.size), put(nil, v))
		}
	}
	ctl := uint32(cpreg.CtlRun)
	if n.protect {
		ctl |= cpreg.CtlProtect
	}
	g.writeReg(base+cpreg.Ctl, ctl)
}

// buffers fills the node's indirect buffers, most from a random dword on.
func (g *rig) buffers(n *mNode) {
	for _, s := range n.readable[:2] {
		b := make([]byte, 0, bufferSize)
		for len(b) < bufferSize-64 {
			b = g.packetBytes(n, b, g.rng.IntN(60) != 0)
		}
		b = put(b, mNOP<<24|uint32(bufferSize-4-len(b))/4)
		g.store(s.at, b[:bufferSize])
	}
}

// batch returns packets whose outcome is defined and that fit into the ring.
func (g *rig) batch(n *mNode) []byte {
	room := 4 * int((n.rptr-n.wptr-1)%n.size)
	for range 40 {
		var b []byte
		for range 1 + g.rng.IntN(12) {
			if more := g.packetBytes(n, b, false); len(more) <= room {
				b = more
			}
		}
		mem, try := g.model.clone(), *n
		try.unclear = map[uint64]byte{}
		writeRing(&try, mem, b)
		try.run(mem)
		if !try.wild {
			return b
		}
	}
	return nil
}

func writeRing(n *mNode, m *memory, b []byte) {
	for i, v := range b {
		*m.at(n.base + (4*uint64(n.wptr)+uint64(i))%(4*uint64(n.size))) = v
	}
	n.wptr = (n.wptr + uint32(len(b)/4)) % n.size
}

// submit puts a batch into the ring, as the host reaches it, rings the doorbell
// and runs the model.
func (g *rig) submit(i int, b []byte) {
	n := g.nodes[i]
	for k := 0; k < len(b); k += 4 {
		g.store(n.base+4*uint64(n.wptr), b[k:k+4])
		n.wptr = (n.wptr + 1) % n.size
	}
	g.writeReg(uint64(cpreg.Base+i*cpreg.Stride+cpreg.Wptr), n.wptr)
}

// coalesce makes messages wait for more events, or no longer.
func (g *rig) coalesce() {
	if g.g.Config().Caps.Has(caps.Coalescing) && g.rng.IntN(3) == 0 {
		g.writeReg(intcreg.Base+intcreg.CoalesceCount, g.rng.Uint32N(5))
		g.writeReg(intcreg.Base+intcreg.CoalesceTime, g.rng.Uint32N(2)*g.rng.Uint32N(2000))
	}
}

// round submits a batch to each node and compares everything when they rest.
func (g *rig) round() {
	g.msgs = nil
	g.coalesce()
	reset := g.rng.IntN(10) == 0
	for i, n := range g.nodes {
		if g.rng.IntN(4) == 0 {
			g.buffers(n)
		}
		n.done, n.cost = 0, 0
		clear(n.unclear)
		b := g.batch(n)
		g.submit(i, b)
		n.run(g.model)
		require.False(g.t, n.wild)
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

// resetMidway resets the device while it works: what a node owns may have been
// written or not, and nothing else.
func (g *rig) resetMidway() {
	if g.rng.IntN(2) == 0 {
		g.wholeReset()
	} else {
		g.functionReset()
	}
	g.configure()
	vram := make([]byte, len(g.model.vram))
	g.g.PeekVRAM(0, vram)
	for i, n := range g.nodes {
		copy(g.model.vram[n.own.at:][:n.own.n], vram[n.own.at:])
		copy(g.model.vram[n.stamps.at:][:n.stamps.n], vram[n.stamps.at:])
		off := n.hostOwn.at&^host - memBase
		copy(g.model.mem[off:][:n.hostOwn.n], g.mem[off:])
		n.fence, n.retired = 0, 0
		require.Zero(g.t, g.node(i, cpreg.Fence))
	}
	g.model.scratch = [4]uint32{}
	g.sameBytes("VRAM", g.model.vram, vram)
	g.sameBytes("host memory", g.model.mem, g.mem)
	g.watch()
	for i := range g.nodes {
		g.start(i)
	}
}

// watch lets counters count, and a watchdog look on that has patience.
func (g *rig) watch() {
	if g.g.Config().Caps.Has(caps.Counters) {
		g.perf(perfreg.CtlRun)
	}
	if g.g.Config().Caps.Has(caps.Watchdog) {
		g.writeReg(wdogreg.Base+wdogreg.Limit, 100000)
	}
}

// counters returns what a snapshot finds, of all nodes.
func (g *rig) counters() (all [][6]uint64) {
	if g.g.Config().Caps.Has(caps.Counters) {
		g.perf(perfreg.CtlRun | perfreg.CtlSnapshot)
		for i := range g.nodes {
			all = append(all, g.nodeCounters(i))
			require.Equal(g.t, g.nodes[i].retired, all[i][5], "PACKETS%d, seed %d", i, g.seed)
			require.LessOrEqual(g.t, all[i][0], g.counter(perfreg.Cycles))
			for stall := 1; stall <= 3; stall++ {
				require.LessOrEqual(g.t, all[i][stall], all[i][0], "a stalled node is busy, seed %d", g.seed)
			}
		}
	}
	return all
}

// compare holds the device against the model.
func (g *rig) compare() {
	vram := make([]byte, len(g.model.vram))
	g.g.PeekVRAM(0, vram)
	for i, n := range g.nodes {
		for a, v := range n.unclear {
			if want := g.model.at(a); a&host != 0 {
				if got := g.mem[a&^host-memBase]; got == v {
					*want = v
				}
			} else if vram[a] == v {
				*want = v
			}
		}
		copy(g.model.vram[n.stamps.at:][:n.stamps.n], vram[n.stamps.at:])
		g.compareNode(i)
	}
	g.sameBytes("VRAM", g.model.vram, vram)
	g.sameBytes("host memory", g.model.mem, g.mem)
	for i, v := range g.model.scratch {
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
	require.Equal(g.t, n.fault.cause, reg(cpreg.FaultInfo), "FAULT_INFO, %s", why)
	require.Equal(g.t, n.fault.addr, wide(cpreg.FaultLo), "FAULT_ADDR, %s", why)
	require.Equal(g.t, n.fault.op, reg(cpreg.FaultOp), "FAULT_OP, %s", why)
	if n.fault.badKnown {
		require.Equal(g.t, n.fault.bad, wide(cpreg.FaultBad), "FAULT_BAD, %s", why)
	}
	require.Equal(g.t, n.rptr, reg(cpreg.Rptr), "RPTR, %s", why)
	require.Equal(g.t, n.packets, reg(cpreg.Packets), "PACKETS, %s", why)
	require.Equal(g.t, uint32(n.fence), reg(cpreg.Fence), "FENCE, %s", why)
	require.Equal(g.t, n.fence, wide(cpreg.LineLo), "TIMELINE, %s", why)
	status := uint32(cpreg.StatusIdle)
	if n.fault.cause != 0 {
		status |= cpreg.StatusFault
		require.Zero(g.t, reg(cpreg.Ctl)&cpreg.CtlRun, "RUN, %s", why)
	}
	require.Equal(g.t, status, reg(cpreg.Status)&(cpreg.StatusIdle|cpreg.StatusFault), "STATUS, %s", why)
	if !g.preempts {
		require.Equal(g.t, n.progress, reg(cpreg.Progress), "PROGRESS, %s", why)
	}
	require.Equal(g.t, n.ibLeft, reg(cpreg.IBLeft), "IB_LEFT, %s", why)
	require.Equal(g.t, n.protect, reg(cpreg.Ctl)&cpreg.CtlProtect != 0, "PROTECT, %s", why)
}

// compareInterrupts checks STATUS, and that a vector sent messages if it had
// events, at most one for each.
func (g *rig) compareInterrupts() {
	var status, events [2]uint32
	for i, n := range g.nodes {
		if n.done > 0 {
			status[0] |= intcreg.Done0 << i
			events[0] += uint32(n.done)
		}
		if n.fault.cause != 0 {
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

// recover makes nodes that have stopped go on, by a reset or by clearing the
// fault and making the rest of the ring NOPs.
func (g *rig) recover() {
	for i, n := range g.nodes {
		if n.fault.cause == 0 {
			continue
		}
		if g.rng.IntN(2) == 0 {
			g.start(i)
			continue
		}
		base := uint64(cpreg.Base + i*cpreg.Stride)
		for p := n.rptr; p != n.wptr; p = (p + 1) % n.size {
			g.store(n.base+4*uint64(p), []byte{0, 0, 0, mNOP})
		}
		g.writeReg(base+cpreg.FaultInfo, 0)
		g.release(i)
		n.fault, n.ibAddr, n.ibLeft = mFault{}, 0, 0
		n.run(g.model)
	}
	g.idle()
}

// TestRandomDevice drives the device through its rings alone, with every packet
// and random faults, and holds it against a model made from docs/packets.md.
func TestRandomDevice(t *testing.T) {
	flight := wavetest.New(t)
	for seed := *deviceSeed; seed < *deviceSeed+*deviceRuns; seed++ {
		g := newRig(t, seed, false)
		g.dev = flight.Attach(g.g)
		for n := 0; n < 40 && *deviceCycles == 0 || g.clock < *deviceCycles; n++ {
			g.round()
		}
	}
}

// TestRandomDeviceSleeps compares a device that sleeps where it may with one
// that does not: each write of theirs is in the same clock.
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

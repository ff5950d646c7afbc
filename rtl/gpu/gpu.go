// Package gpu is the top of the GPU: it builds the blocks that a [Config] asks
// for and wires them. [New] returns a [GPU], which is a [port.Device].
//
//	            target port                        initiator port
//	                 │                                   │
//	               pcie ── register bus to all        initiator
//	                 │                                   │
//	cp0, cp1 ── descriptors ── dma ── reads and writes ──┤
//	                 │                                   │
//	               gart ── reads of the table ───────────┤
//	   │                                                 │
//	fence0, fence1 ── writes ────────────────────────────┤
//	                                                     │
//	regram ── intc ── messages ──────────────────────────┤
//	                                                     │
//	mcu ── reads and writes of a dword ──────────────────┤
//	                                                     │
//	               pcie ── aperture ─────────────────── vram
//
// The beats of all writes except those of the aperture share one channel, for which the block beats arbitrates.
package gpu

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/cp"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/intc"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mem"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/pcie"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
	"github.com/hilgpu/hilgpu/rtl/reset"
	"github.com/hilgpu/hilgpu/rtl/watchdog"
)

// GPU is the complete device with its two ports; it is a port.Device. A GPU with
// one node has no cp1 and no fence1: they are never ticked and their registers
// are unmapped.
type GPU struct {
	config Config

	// cmd/gen/blocks.go makes blocks.go from these fields, their methods and tags.
	pcie   pcie.Module   `slept:"pcieSlept"`
	ident  ident.Module  `plane:"control"` // its time never sleeps
	regram regram.Module `plane:"control" slept:"controlSlept"`
	intc   intc.Module   `plane:"control" slept:"controlSlept"`
	cp0    cp.Module     `slept:"cp0Slept"`
	cp1    cp.Module     `if:"hasNode1" slept:"cp1Slept"`
	fence0 fence.Module  `plane:"control" slept:"controlSlept"`
	fence1 fence.Module  `if:"hasNode1" plane:"control" slept:"controlSlept"`
	dma    dma.Module    `idle:"first" slept:"dmaSlept"` // the block that usually keeps a GPU busy
	vram   mem.Module    `idle:"first" slept:"vramSlept"`

	reset    reset.Module    `plane:"control" slept:"controlSlept"`
	perf     perf.Module     `if:"hasCounters" plane:"control" slept:"controlSlept"`
	watchdog watchdog.Module `if:"hasWatchdog" plane:"control" slept:"controlSlept"`
	arbiter  arbiter.Module  `if:"hasMaster" plane:"control" slept:"controlSlept"`

	mcu mcu.Module `if:"hasMCU" slept:"mcuSlept"`

	gart gart.Module `if:"hasGART" slept:"gartSlept"`

	initiator noc.Initiator `idle:"first" slept:"initiatorSlept"`
	vramRead  noc.Reads     `idle:"-"`
	vramWrite noc.Writes    `idle:"-"`
	beats     noc.Beats     `idle:"-"`
	descs     noc.Reads     `idle:"-"`

	ask regbus.Req // the next access of the second master during a Tick of Shared

	controlIdle hdl.Nap // the control plane has nothing to do in the next clock
	hostQuiet   hdl.Nap // no header is for host memory in the next clock
	moved       uint64  // bytes that the DMA engine has written, for Stats

	// The blocks that the last clock did not change, for Update.
	pcieSlept      hdl.Nap
	cp0Slept       hdl.Nap
	cp1Slept       hdl.Nap
	controlSlept   hdl.Nap // the control plane
	dmaSlept       hdl.Nap
	vramSlept      hdl.Nap
	initiatorSlept hdl.Nap
	mcuSlept       hdl.Nap
	gartSlept      hdl.Nap
}

var _ port.Device = (*GPU)(nil)

// New builds a GPU in its state after power on. It fails with ErrConfig.
func New(c Config) (*GPU, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	params := cp.Params{
		HostBits: c.HostBits, VRAMBytes: c.VRAMBytes, LengthBits: c.LengthBits, Nodes: c.Nodes, Caps: c.Caps,
		Withdraws: dma.Queues(c.Tags),
	}
	return &GPU{
		config: c,
		pcie:   pcie.New(c.VRAMBytes, c.Caps, uint32(bits.Len(uint(c.MaxPayload))-8)),
		ident: ident.New(ident.Params{
			Nodes: c.Nodes, Tags: c.Tags, LengthBits: c.LengthBits, HostBits: c.HostBits,
			VRAMBytes: c.VRAMBytes, VRAMPorts: c.VRAMPorts, ClockHz: c.ClockHz, MapHash: regmap.Hash(),
			Build: c.Build, Caps: c.Caps,
		}),
		regram: regram.New(c.Nodes),
		intc:   intc.New(c.Caps.Has(caps.Coalescing), c.Caps.Has(caps.MCU), c.HostBits),
		cp0:    cp.New(0, params),
		cp1:    cp.New(1, params),
		fence0: fence.New(0, c.Caps.Has(caps.Timeline), c.Caps.Has(caps.Signal)),
		fence1: fence.New(1, c.Caps.Has(caps.Timeline), c.Caps.Has(caps.Signal)),
		dma:    dma.New(dma.Params{Nodes: c.Nodes, Tags: c.Tags, HostBits: c.HostBits, LengthBits: c.LengthBits}),
		vram:   mem.New(c.VRAMBytes, c.VRAMPorts),

		perf:      perf.New(c.Nodes),
		arbiter:   arbiter.New(c.Nodes),
		mcu:       mcu.New(mcu.Params{Bytes: c.mcuBytes(), HostBits: c.HostBits, VRAMBytes: c.VRAMBytes}),
		gart:      gart.New(gart.Params{HostBits: c.HostBits, VRAMBytes: c.VRAMBytes, LengthBits: c.LengthBits}),
		initiator: noc.NewInitiator(c.Nodes, c.Tags, c.Caps.Has(caps.ReadTimeout), c.otherTags()...),
	}, nil
}

// Config returns the configuration of the GPU.
func (g *GPU) Config() Config { return g.config }

// Target returns the outputs of the target port.
func (g *GPU) Target() (cpl port.Completion, reqReady, dataReady bool) {
	cpl, reqReady, dataReady = g.pcie.Target()
	if g.config.Caps.Has(caps.Aperture) && g.pcie.Streams() {
		route, _ := g.engineRoute()
		dataReady = g.streams(route)
	}
	return cpl, reqReady, dataReady
}

// Initiator returns the outputs of the initiator port.
func (g *GPU) Initiator() (req port.Request, beat port.Beat) {
	offer, req, _ := g.hostHeader()
	if offer.Refuse {
		req.Kind = port.None
	}
	route, writer := g.engineRoute()
	beat = g.engineBeat(route, writer)
	if !route.Out || g.initiator.Owner().Drop {
		beat.Valid = false
	}
	return req, beat
}

// Tick advances one clock. It samples the outputs of all blocks, then ticks every
// block.
func (g *GPU) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	offer, hostReq, own := g.hostHeader()
	hostTaken := noc.Taken(offer, reqReady)
	hostReady := bit(hostTaken, offer.Source)
	route, sender := g.engineRoute()
	engineBeat := g.engineBeat(route, sender)
	room := g.vram.WriteReady()
	fromTarget := beat.Valid && g.streams(route)
	vramBeat := engineBeat
	if fromTarget {
		vramBeat = beat
	} else if !route.In {
		vramBeat.Valid = false
	}
	dropped := route.Out && g.initiator.Owner().Drop
	beatTaken := route.Out && dataReady || dropped || route.In && room && !fromTarget
	beatReady := bit(beatTaken, sender)
	last := beatTaken && engineBeat.Last
	refused := bit(dropped && last, sender)

	reads, reader, readReq := g.vramReadHeader()
	vacant := noc.Vacant(g.vramWrite.Owner(), last && route.In)
	writes, writer, writeReq := g.vramWriteHeader(vacant)
	writeTaken := writes != 0 && vacant
	if !writeTaken {
		writeReq.Kind = port.None
	}
	headerReady := hostReady>>noc.HostWrite | bit(writeTaken, writer)

	sweep := g.sweep()
	awaited := noc.Awaits(cpl, g.initiator.Awaited())
	fromHost, fromVRAM := noc.Arrival(cpl, awaited, g.initiator.Refusal(), g.initiator.Spares()), g.vram.Completion()
	cpl0, cpl1, cplDMA, cplFirst := g.completions(fromHost, fromVRAM)
	cplMCU := port.Completion{}
	if g.hasMCU() && !hdl.Asleep(cpl0.Tag != noc.TagMCU) {
		cplMCU, cpl0 = noc.Split(cpl0, noc.TagMCU)
	}
	cplGART := port.Completion{}
	if g.hasGART() && !hdl.Asleep(cpl0.Tag != noc.TagGART) {
		cplGART, cpl0 = noc.Split(cpl0, noc.TagGART)
	}
	cplTaken := cplFirst && (fromVRAM.Tag>>4 != noc.ReadTarget || pcie.Takes(g.pcie.Full(), cplReady))
	readReady := bit(reads != 0 && mem.ReadReady(g.vram.Reader(), cplTaken), reader)

	if g.asksMCU() {
		g.ask = g.mcu.Ask()
	}
	regs, turn := g.access(beat)
	master := pcie.Master{Pending: g.initiator.Pending()}
	if awaited {
		master.Status = cpl.Status
	}
	bytes := written(beatReady, dropped, engineBeat)
	takes := taken{header: headerReady, beat: beatReady, refused: refused, bytes: bytes}
	if g.writing() {
		others := ^uint8(1 << noc.WriteMessage)
		takes.header, takes.beat, takes.refused = headerReady&others, beatReady&others, refused&others
	}
	g.moved += uint64(bytes)
	var ctl control
	if !hdl.Asleep(bool(g.controlIdle) && g.ask.Op == regbus.None) {
		ctl = g.controlSignals(regs, takes)
	}

	descs, node, desc := g.desc()
	descReady := bit(descs != 0 && g.takesDesc(), node)
	dma0 := g.dmaFor(0, descReady)
	dma1 := g.dmaFor(1, descReady)
	cancel := g.cancel()
	line0, line1 := g.fence0.Timeline(), g.fence1.Timeline()
	done0 := cp.Fence{Ready: g.fence0.Ready(), Result: g.fence0.Result(), Node0: line0, Node1: line1}
	done1 := cp.Fence{Ready: g.fence1.Ready(), Result: g.fence1.Result(), Node0: line0, Node1: line1}

	var aperture pcie.VRAM
	var target port.Request
	if g.config.Caps.Has(caps.Aperture) {
		aperture = pcie.VRAM{
			ReadReady: has(readReady, noc.ReadTarget), Cpl: noc.Own(fromVRAM, noc.ReadTarget),
			BeatTaken: fromTarget,
		}
		target = g.pcie.VRAMWrite()
	}

	g.pcieSlept = hdl.Nap(hdl.Asleep(g.pcie.Sleeps(pcie.Target{Req: req, Beat: beat}, master, ctl.rst.Function)))
	if !hdl.Asleep(bool(g.pcieSlept)) {
		g.pcie.Tick(pcie.Target{Req: req, Beat: beat}, cplReady, ctl.hostRsp, aperture, master, g.share(turn), ctl.rst.Function)
	}
	mem0 := cp.Mem{Ready: has(hostReady|readReady, noc.ReadCP0), Cpl: cpl0, Scratch: ctl.free && !ctl.s1.Valid}
	g.cp0Slept = hdl.Nap(hdl.Asleep(g.cp0.Sleeps(mem0, dma0, done0, regs, ctl.rst.Whole)))
	if !hdl.Asleep(bool(g.cp0Slept)) {
		g.cp0.Tick(mem0, dma0, done0, uint32(g.ident.Time()), regs, ctl.rst.Whole)
	}
	mem1 := cp.Mem{Ready: has(hostReady|readReady, noc.ReadCP1), Cpl: cpl1, Scratch: ctl.free}
	g.cp1Slept = hdl.Nap(hdl.Asleep(g.cp1.Sleeps(mem1, dma1, done1, regs, ctl.rst.Whole)))
	if g.hasNode1() && !hdl.Asleep(bool(g.cp1Slept)) {
		g.cp1.Tick(mem1, dma1, done1, uint32(g.ident.Time()), regs, ctl.rst.Whole)
	}
	if g.hasMCU() && !hdl.Asleep(bool(g.mcuSlept) && g.mcu.Stays(regs, g.ident.Time(), g.arbiter.Pending(), ctl.rst)) {
		g.tickMCU(regs, ctl, fabric{
			host: hostReady, vram: readReady, header: headerReady, beat: beatReady, refused: refused, cpl: cplMCU,
		})
	}
	g.ident.Tick(regs, ctl.err, ctl.rst)
	if !hdl.Asleep(bool(g.controlIdle) && g.ask.Op == regbus.None) {
		g.tickControl(ctl, takes, regs, turn)
	}
	read, ofTable := has(hostReady|readReady, noc.ReadDMA), g.readsTable()
	engineDesc, engineNode := g.tickGART(regs, desc, node, read, cplGART, cancel, ctl.rst.Whole)
	dmaIn := dma.In{
		ReadReady: read && !ofTable,
		Cpl:       cplDMA,
		ReqReady:  has(headerReady, noc.WriteDMA),
		BeatReady: has(beatReady, noc.WriteDMA),
	}
	g.dmaSlept = hdl.Nap(hdl.Asleep(g.dma.Sleeps(engineDesc, dmaIn, cancel, ctl.rst.Whole)))
	if !hdl.Asleep(bool(g.dmaSlept)) {
		g.dma.Tick(engineDesc, engineNode, dmaIn, has(refused, noc.WriteDMA), cancel, ctl.rst.Whole)
	}
	g.vramSlept = hdl.Nap(hdl.Asleep(g.vram.Sleeps(readReq, writeReq, target, vramBeat)))
	if !hdl.Asleep(bool(g.vramSlept)) {
		g.vram.Tick(readReq, cplTaken, writeReq, target, vramBeat, fromTarget)
	}

	g.initiatorSlept = hdl.Nap(hdl.Asleep(g.initiator.Sleeps(offer, ctl.rst.Whole)))
	if !hdl.Asleep(bool(g.initiatorSlept)) {
		g.initiator.Tick(offer, hostReq.Tag, own, hostTaken, last && route.Out, cpl, sweep, ctl.rst.Whole)
	}
	g.vramRead.Tick(reads, reader, readReady != 0, false)
	g.vramWrite.Tick(writes, writer, writeTaken, last && route.In)
	g.beats.Tick(route, beatTaken, fromTarget)
	if g.hasNode1() {
		g.descs.Tick(descs, node, descReady != 0, ctl.rst.Whole)
	}
	g.controlSlept = hdl.Nap(hdl.Asleep(bool(g.controlIdle) && g.ask.Op == regbus.None))
	g.controlIdle = hdl.Nap(hdl.Asleep((bool(g.controlIdle) || g.controlQuiet()) && !g.controlWanted()))
	g.hostQuiet = hdl.Nap(hdl.Asleep(!g.outward()))
}

// inTransit reports whether something is in transit between blocks that do nothing: a
// descriptor that is accepted, or a level.
func (g *GPU) inTransit() bool {
	offered, _, _ := g.desc()
	return offered != 0 && g.accepts() || g.sendsPart() || g.pcie.Pending() != g.initiator.Pending() || g.dma.Cancel() != g.cancel()
}

// idleInitiator is IdleFor of the initiator.
func (g *GPU) idleInitiator() uint64 { return g.initiator.IdleFor(g.ident.UntilSweep()) }

// idleWatchdog is IdleFor of the watchdog.
func (g *GPU) idleWatchdog() uint64 {
	return g.watchdog.IdleFor(g.levels(0).Busy, g.levels(1).Busy)
}

// skipPerf skips clocks of the counters.
func (g *GPU) skipPerf(n uint64) { g.perf.Skip(n, g.levels(0), g.levels(1)) }

// skipWatchdog skips clocks of the watchdog.
func (g *GPU) skipWatchdog(n uint64) {
	g.watchdog.Skip(n, g.levels(0).Busy, g.levels(1).Busy)
}

// hasNode1 reports whether the GPU has a node 1.
func (g *GPU) hasNode1() bool { return g.config.Nodes == 2 }

// hasCounters reports whether the GPU has performance counters.
func (g *GPU) hasCounters() bool { return g.config.Caps.Has(caps.Counters) }

// hasWatchdog reports whether the GPU has a watchdog.
func (g *GPU) hasWatchdog() bool { return g.config.Caps.Has(caps.Watchdog) }

// hasMaster reports whether the register bus has a second master.
func (g *GPU) hasMaster() bool { return g.config.Caps.Has(caps.Master) }

// hasMCU reports whether the GPU has a microcontroller.
func (g *GPU) hasMCU() bool { return g.config.Caps.Has(caps.MCU) }

// hasGART reports whether the GPU has an aperture.
func (g *GPU) hasGART() bool { return g.config.Caps.Has(caps.GART) }

// bit returns 1<<i if v, for use with has.
func bit(v bool, i uint8) uint8 {
	if v {
		return 1 << i
	}
	return 0
}

// has reports whether bit i of mask is set.
func has(mask, i uint8) bool { return mask>>i&1 != 0 }

package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/cp"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// hostHeader returns the decision of the initiator port's arbiter and the header
// it grants, none if there is none. Of a read, own is the reader's tag.
func (g *GPU) hostHeader() (o noc.Offer, req port.Request, own uint8) {
	if hdl.Asleep(bool(g.hostQuiet)) {
		return noc.Offer{}, port.Request{}, 0
	}
	busy, state := g.initiator.Busy(), g.initiator.State()
	cp0, cp1 := g.cp0.Fetch(), g.cp1.Fetch()
	rd, rdTag := g.engineRead()
	wr := g.dma.Header()
	fence0, fence1 := g.fenceHeaders()
	message, look := g.message(), port.Request{}
	if g.asksMCU() {
		look = g.mcu.Read()
	}

	tagless := bit(noc.Tagless(noc.Tag(cp0, noc.ReadCP0), state, busy), noc.ReadCP0) |
		bit(noc.Tagless(noc.Tag(cp1, noc.ReadCP1), state, busy), noc.ReadCP1) |
		bit(noc.Tagless(rdTag, state, busy), noc.ReadDMA) |
		bit(g.hasMCU() && noc.Tagless(noc.TagMCU, state, busy), noc.HostReadMCU)
	o = noc.Decide(bit(noc.Outward(cp0), noc.ReadCP0)|bit(noc.Outward(cp1), noc.ReadCP1)|bit(noc.Outward(rd), noc.ReadDMA)|
		bit(noc.Outward(look), noc.HostReadMCU)|bit(noc.Outward(wr), noc.HostWriteDMA)|bit(noc.Outward(fence0), noc.HostWriteFence0)|
		bit(noc.Outward(fence1), noc.HostWriteFence1)|bit(noc.Outward(message), noc.HostWriteMessage),
		tagless, state, g.pcie.BusMaster(), g.closed(), g.sweep().Open)
	source := o.Source
	if o.Sources == 0 {
		source = noc.HostNone
	}
	switch source {
	case noc.ReadCP0:
		req = cp0
	case noc.ReadCP1:
		req = cp1
	case noc.ReadDMA:
		req = rd
	case noc.HostWriteDMA:
		req = wr
	case noc.HostWriteFence0:
		req = fence0
	case noc.HostWriteFence1:
		req = fence1
	case noc.HostWriteMessage:
		req = message
	default:
		if o.Sources != 0 {
			req = look
		}
	}
	if req.Kind == port.MemRead {
		own = noc.Tag(req, o.Source)
		if o.Source == noc.HostReadMCU {
			own = noc.TagMCU
		}
		if g.hasGART() && o.Source == noc.ReadDMA {
			own = rdTag
		}
		req.Tag = noc.Sent(own, state, busy)
	}
	req.Addr &^= noc.Host
	return o, req, own
}

// sweep returns the time of the sweeps for reads without an answer.
func (g *GPU) sweep() noc.Sweep {
	open, at := g.ident.Sweep()
	return noc.Sweep{Open: open, At: at & 0x3f}
}

// outward reports whether a source may have a header for host memory.
func (g *GPU) outward() bool {
	var messages bool
	if !hdl.Asleep(bool(g.controlIdle)) {
		fence0, _ := g.fence0.Write()
		fence1, _ := g.fence1.Write()
		message, _ := g.intc.Message()
		messages = fence0.Kind != port.None || fence1.Kind != port.None || message.Kind != port.None
	}
	if g.asksMCU() {
		write, _ := g.mcu.Write()
		messages = messages || noc.Outward(g.mcu.Read()) || noc.Outward(write)
	}
	return messages || noc.Outward(g.cp0.Fetch()) || noc.Outward(g.cp1.Fetch()) || g.dma.Outward() || g.readsTable()
}

// fenceHeaders returns the headers of the fence units. Their addresses are held
// by the nodes.
func (g *GPU) fenceHeaders() (fence0, fence1 port.Request) {
	if hdl.Asleep(bool(g.controlIdle)) {
		return port.Request{}, port.Request{}
	}
	fence0, _ = g.fence0.Write()
	fence1, _ = g.fence1.Write()
	fence0.Addr, fence1.Addr = g.cp0.Fence().Addr, g.cp1.Fence().Addr
	return fence0, fence1
}

// engineRoute returns the destination and the writer of the engines' beat. A
// writer has beats for one memory at a time, so the owners determine the
// destination.
func (g *GPU) engineRoute() (route noc.Route, writer uint8) {
	host, vram := g.initiator.Owner(), g.vramWrite.Owner()
	if hdl.Asleep(!host.Valid && !vram.Valid) {
		return noc.Route{}, 0
	}
	offers := g.offers()
	route = noc.Choose(host.Valid && has(offers, host.Source), vram.Valid && has(offers, vram.Source), g.beats.Inward())
	writer = vram.Source
	if route.Out {
		writer = host.Source
	}
	return route, writer
}

// offers returns bit i for writer i that has a beat.
func (g *GPU) offers() uint8 {
	if hdl.Asleep(bool(g.controlIdle) && !g.writing()) {
		return bit(g.dma.Offers(), noc.WriteDMA)
	}
	_, fence0 := g.fence0.Write()
	_, fence1 := g.fence1.Write()
	return bit(g.dma.Offers(), noc.WriteDMA) | bit(fence0.Valid, noc.WriteFence0) |
		bit(fence1.Valid, noc.WriteFence1) | bit(g.messageBeat().Valid, noc.WriteMessage)
}

// engineBeat returns the beat of writer, an invalid one if route leads nowhere.
// Inputs that are not chosen are 0 before the DMA engine's rotation, so an OR
// selects after it.
func (g *GPU) engineBeat(route noc.Route, writer uint8) port.Beat {
	if hdl.Asleep(!route.Out && !route.In) {
		return port.Beat{}
	}
	of := bit(route.Out || route.In, writer)
	var beat, fence, message port.Beat
	var shift uint8
	if has(of, noc.WriteDMA) {
		beat, shift = g.dma.Beat()
	}
	if has(of, noc.WriteFence0) {
		_, fence = g.fence0.Write()
	}
	if has(of, noc.WriteFence1) {
		_, fence = g.fence1.Write()
	}
	if has(of, noc.WriteMessage) {
		message = g.messageBeat()
	}
	return port.Beat{
		Valid:  beat.Valid || fence.Valid || message.Valid,
		Last:   beat.Last || fence.Last || message.Last,
		Enable: beat.Enable | fence.Enable | message.Enable,
		Data:   dma.Rotate(beat.Data, shift) | (fence.Data | message.Data),
	}
}

// vramReadHeader returns bit i for reader i with a header for VRAM, the granted
// reader, and its header.
func (g *GPU) vramReadHeader() (valid, reader uint8, req port.Request) {
	cp0, cp1 := g.cp0.Fetch(), g.cp1.Fetch()
	rd, rdTag := g.engineRead()
	valid = bit(noc.Inward(cp0), noc.ReadCP0) | bit(noc.Inward(cp1), noc.ReadCP1) | bit(noc.Inward(rd), noc.ReadDMA)
	var target port.Request
	if g.config.Caps.Has(caps.Aperture) {
		target = g.pcie.VRAM()
		valid |= bit(target.Kind != port.None, noc.ReadTarget)
	}
	look := port.Request{}
	if g.asksMCU() {
		look = g.mcu.Read()
		valid |= bit(noc.Inward(look), noc.VRAMReadMCU)
	}
	valid = noc.Open(valid, g.vramRead.Turn(), g.closed(), 1<<noc.ReadTarget)
	reader = noc.Grant(valid, g.vramRead.Turn())
	switch reader {
	case noc.ReadCP0:
		req = cp0
	case noc.ReadCP1:
		req = cp1
	case noc.ReadDMA:
		req = rd
	case noc.VRAMReadMCU:
		req = look
	default:
		req = target
	}
	req.Tag = noc.Tag(req, reader&3)
	if reader == noc.VRAMReadMCU {
		req.Tag = noc.TagMCU
	}
	if g.hasGART() && reader == noc.ReadDMA {
		req.Tag = rdTag
	}
	if valid == 0 {
		req.Kind = port.None
	}
	return valid, reader, req
}

// vramWriteHeader returns bit i for writer i with a header for VRAM, the granted
// writer, and its header, none if there is none. vacant reports whether a header
// can be taken.
func (g *GPU) vramWriteHeader(vacant bool) (valid, writer uint8, req port.Request) {
	if hdl.Asleep(!vacant && g.vramWrite.Turn().Hold) {
		return 0, 0, port.Request{}
	}
	wr := g.dma.Header()
	fence0, fence1 := g.fenceHeaders()
	own := port.Request{}
	if g.asksMCU() {
		own, _ = g.mcu.Write()
	}
	valid = noc.Open(bit(noc.Inward(wr), noc.WriteDMA)|bit(noc.Inward(fence0), noc.WriteFence0)|
		bit(noc.Inward(fence1), noc.WriteFence1)|bit(noc.Inward(own), noc.WriteMessage), g.vramWrite.Turn(), g.closed(), 0)
	writer = noc.Grant(valid, g.vramWrite.Turn())
	switch writer {
	case noc.WriteFence0:
		req = fence0
	case noc.WriteFence1:
		req = fence1
	case noc.WriteMessage:
		req = own
	default:
		req = wr
	}
	if valid == 0 {
		req.Kind = port.None
	}
	return valid, writer, req
}

// streams reports whether VRAM takes the host's beat of an aperture write in this
// clock, if there is one. It may have to wait for an engine's beat.
func (g *GPU) streams(route noc.Route) bool {
	return g.config.Caps.Has(caps.Aperture) && g.pcie.Streams() && g.pcie.VRAMWrite().Kind == port.None &&
		g.vram.WriteReady() && !noc.Yields(route, g.beats.Next())
}

// completions returns the completions for the readers other than the target,
// given the two that arrive, and whether VRAM's is not blocked by the host's.
// With a single node, the node and the DMA engine share one completion per clock:
// the node reads little while the engine works for it.
func (g *GPU) completions(host, vram port.Completion) (cp0, cp1, rd port.Completion, ready bool) {
	if hdl.Asleep(host.Status == port.CplNone && vram.Status == port.CplNone) {
		return cp0, cp1, rd, true
	}
	if hdl.Asleep(vram.Status == port.CplNone) { // in most clocks of a copy from the host
		return noc.Own(host, noc.ReadCP0), noc.Own(host, noc.ReadCP1), noc.Own(host, noc.ReadDMA), true
	}
	if g.hasNode1() {
		return noc.Completion(host, vram, noc.ReadCP0), noc.Completion(host, vram, noc.ReadCP1),
			noc.Completion(host, vram, noc.ReadDMA), noc.CompletionReady(host, vram)
	}
	first := noc.First(host, vram)
	return noc.Own(first, noc.ReadCP0), cp1, noc.Own(first, noc.ReadDMA), noc.FirstReady(host, vram)
}

// desc returns bit i for node i with a descriptor, the granted node, and its
// descriptor, none if there is none. In the emulator it may also return none
// while no descriptor can be accepted.
func (g *GPU) desc() (valid, node uint8, d dma.Desc) {
	if hdl.Asleep(!g.accepts()) {
		return 0, 0, dma.Desc{}
	}
	d0, d1 := g.cp0.Desc(), g.cp1.Desc()
	valid = bit(d0.Op != dma.None, 0) | bit(d1.Op != dma.None, 1)
	node = noc.Grant(valid, g.descs.Turn())
	switch node {
	case 0:
		d = d0
	case 1:
		d = d1
	default:
	}
	return valid, node, d
}

// accepts reports whether an offered descriptor changes anything: the DMA engine, or the
// aperture before it, acts on it, or its node gets the grant and holds it. A single node needs
// no grant.
func (g *GPU) accepts() bool {
	acts := g.dma.Wakes()
	if g.hasGART() {
		acts = g.gart.Ready()
	}
	return acts || !g.descs.Turn().Hold && g.hasNode1()
}

// dmaFor returns the DMA engine's inputs of a node.
func (g *GPU) dmaFor(node, ready uint8) cp.DMA {
	d := g.ended(node)
	d.Ready = has(ready, node)
	return d
}

// cancel returns bit i for node i that cancels its descriptors.
func (g *GPU) cancel() uint8 { return bit(g.cp0.Resetting(), 0) | bit(g.cp1.Resetting(), 1) }

// closed reports whether the engines get no new grants because a reset is
// pending.
func (g *GPU) closed() bool {
	s := g.reset.State()
	return s.Whole || s.Function
}

// resets returns the reset inputs of this clock. A reset ends when the engines
// owe no beat and read nothing from VRAM, and no register is accessed.
func (g *GPU) resets() reset.Signals {
	owed := g.initiator.Owed() || g.vramWrite.Owed()
	reads := g.vram.Reading() || g.vramRead.Turn().Hold
	return reset.Now(g.reset.State(), !owed && !reads && !g.accesses())
}

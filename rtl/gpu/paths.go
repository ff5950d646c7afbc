package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/cp"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// hostHeader returns what the arbiter of the initiator port decides and the
// header it grants, no request if there is none.
func (g *GPU) hostHeader() (o noc.Offer, req port.Request) {
	if hdl.Asleep(bool(g.hostQuiet)) {
		return noc.Offer{}, port.Request{}
	}
	busy := g.initiator.Busy()
	cp0, cp1, rd := g.cp0.Fetch(), g.cp1.Fetch(), g.dma.Read()
	wr := g.dma.Header()
	fence0, fence1 := g.fenceHeaders()
	message, _ := g.intc.Message()

	o = noc.Decide(bit(noc.Outward(cp0) && noc.Free(noc.Tag(cp0, noc.ReadCP0), busy), noc.ReadCP0)|
		bit(noc.Outward(cp1) && noc.Free(noc.Tag(cp1, noc.ReadCP1), busy), noc.ReadCP1)|
		bit(noc.Outward(rd) && noc.Free(noc.Tag(rd, noc.ReadDMA), busy), noc.ReadDMA)|
		bit(noc.Outward(wr), noc.HostWriteDMA)|bit(noc.Outward(fence0), noc.HostWriteFence0)|
		bit(noc.Outward(fence1), noc.HostWriteFence1)|bit(noc.Outward(message), noc.HostWriteMessage),
		g.initiator.State(), g.pcie.BusMaster(), g.closed())
	source := o.Source
	if o.Sources == 0 {
		source = noc.HostNobody
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
	}
	if req.Kind == port.MemRead {
		req.Tag = noc.Tag(req, o.Source)
	}
	req.Addr &^= noc.Host
	return o, req
}

// outward returns whether a source may have a header for host memory.
func (g *GPU) outward() bool {
	fence0, _ := g.fence0.Write()
	fence1, _ := g.fence1.Write()
	message, _ := g.intc.Message()
	beside := !hdl.Asleep(bool(g.controlRests)) && (fence0.Kind != port.None || fence1.Kind != port.None || message.Kind != port.None)
	return beside || noc.Outward(g.cp0.Fetch()) || noc.Outward(g.cp1.Fetch()) || g.dma.Outward()
}

// fenceHeaders returns the headers of the fence units, with the addresses, which the
// nodes hold.
func (g *GPU) fenceHeaders() (fence0, fence1 port.Request) {
	fence0, _ = g.fence0.Write()
	fence1, _ = g.fence1.Write()
	fence0.Addr, fence1.Addr = g.cp0.Fence().Addr, g.cp1.Fence().Addr
	return fence0, fence1
}

// engineWay returns where a beat of the engines goes, and whose it is. A writer has
// beats for one memory at a time, so the owners are enough to know where they go.
func (g *GPU) engineWay() (way noc.Way, writer uint8) {
	host, vram := g.initiator.Owner(), g.vramWrite.Owner()
	if hdl.Asleep(!host.Valid && !vram.Valid) {
		return noc.Way{}, 0
	}
	_, fence0 := g.fence0.Write()
	_, fence1 := g.fence1.Write()
	_, message := g.intc.Message()
	offers := bit(g.dma.Offers(), noc.WriteDMA) | bit(fence0.Valid, noc.WriteFence0) |
		bit(fence1.Valid, noc.WriteFence1) | bit(message.Valid, noc.WriteMessage)
	way = noc.Choose(host.Valid && has(offers, host.Source), vram.Valid && has(offers, vram.Source), g.beats.Inward())
	writer = vram.Source
	if way.Out {
		writer = host.Source
	}
	return way, writer
}

// engineBeat returns the beat of writer, an invalid one if way leads nowhere.
// What is not chosen is 0 in front of the DMA engine's rotation, and an OR behind it.
func (g *GPU) engineBeat(way noc.Way, writer uint8) port.Beat {
	if hdl.Asleep(!way.Out && !way.In) {
		return port.Beat{}
	}
	of := bit(way.Out || way.In, writer)
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
		_, message = g.intc.Message()
	}
	return port.Beat{
		Valid:  beat.Valid || fence.Valid || message.Valid,
		Last:   beat.Last || fence.Last || message.Last,
		Enable: beat.Enable | fence.Enable | message.Enable,
		Data:   dma.Rotate(beat.Data, shift) | (fence.Data | message.Data),
	}
}

// vramReadHeader returns bit i for reader i with a header for VRAM, the reader
// that is granted, and its header.
func (g *GPU) vramReadHeader() (valid, reader uint8, req port.Request) {
	cp0, cp1, rd := g.cp0.Fetch(), g.cp1.Fetch(), g.dma.Read()
	valid = bit(noc.Inward(cp0), noc.ReadCP0) | bit(noc.Inward(cp1), noc.ReadCP1) | bit(noc.Inward(rd), noc.ReadDMA)
	var target port.Request
	if g.config.Caps.Has(caps.Aperture) {
		target = g.pcie.VRAM()
		valid |= bit(target.Kind != port.None, noc.ReadTarget)
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
	default:
		req = target
	}
	req.Tag = noc.Tag(req, reader)
	if valid == 0 {
		req.Kind = port.None
	}
	return valid, reader, req
}

// vramWriteHeader returns bit i for writer i with a header for VRAM, the writer that
// is granted, and its header, no request if there is none; vacant says that one can be
// taken.
func (g *GPU) vramWriteHeader(vacant bool) (valid, writer uint8, req port.Request) {
	if hdl.Asleep(!vacant && g.vramWrite.Turn().Hold) {
		return 0, 0, port.Request{}
	}
	wr := g.dma.Header()
	fence0, fence1 := g.fenceHeaders()
	valid = noc.Open(bit(noc.Inward(wr), noc.WriteDMA)|bit(noc.Inward(fence0), noc.WriteFence0)|
		bit(noc.Inward(fence1), noc.WriteFence1), g.vramWrite.Turn(), g.closed(), 0)
	writer = noc.Grant(valid, g.vramWrite.Turn())
	switch writer {
	case noc.WriteFence0:
		req = fence0
	case noc.WriteFence1:
		req = fence1
	default:
		req = wr
	}
	if valid == 0 {
		req.Kind = port.None
	}
	return valid, writer, req
}

// streams returns whether VRAM takes a beat of an aperture write in this clock, behind
// the header, if the host has one; it may have to wait for one of an engine.
func (g *GPU) streams(way noc.Way) bool {
	return g.config.Caps.Has(caps.Aperture) && g.pcie.Streams() && g.pcie.VRAMWrite().Kind == port.None &&
		g.vram.WriteReady() && !noc.Yields(way, g.beats.Next())
}

// completions returns what the readers but the target get of the two completions
// that arrive, and whether nothing comes before VRAM's. A single node and the DMA
// engine get one in a clock: the node has little to read while the engine works
// for it.
func (g *GPU) completions(host, vram port.Completion) (cp0, cp1, rd port.Completion, ready bool) {
	if hdl.Asleep(host.Status == port.CplNone && vram.Status == port.CplNone) {
		return cp0, cp1, rd, true
	}
	if g.second() {
		return noc.Completion(host, vram, noc.ReadCP0), noc.Completion(host, vram, noc.ReadCP1),
			noc.Completion(host, vram, noc.ReadDMA), noc.CompletionReady(host, vram)
	}
	first := noc.First(host, vram)
	return noc.Own(first, noc.ReadCP0), cp1, noc.Own(first, noc.ReadDMA), noc.FirstReady(host, vram)
}

// desc returns bit i for node i with a descriptor, the node that is granted,
// and its descriptor, none if there is none. The emulation may say so too while
// nothing is accepted.
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

// accepts returns whether a descriptor that is offered changes anything: the DMA engine
// acts on it, or the grant goes to its node, which then holds it. A single node needs
// no grant.
func (g *GPU) accepts() bool {
	return g.dma.Wakes() || !g.descs.Turn().Hold && g.second()
}

// dmaFor returns what the DMA engine tells a node.
func (g *GPU) dmaFor(node, ready uint8) cp.DMA {
	r, owner := g.dma.Result()
	mine := owner == node
	return cp.DMA{
		Ready: has(ready, node), Done: mine && r == dma.ResultDone,
		Err: mine && r == dma.ResultReadError, WriteErr: mine && r == dma.ResultWriteError,
	}
}

// cancel returns bit i for node i that wants its descriptors given up.
func (g *GPU) cancel() uint8 { return bit(g.cp0.Resetting(), 0) | bit(g.cp1.Resetting(), 1) }

// closed returns whether nothing of the engines is granted, because a reset is
// under way.
func (g *GPU) closed() bool {
	s := g.reset.State()
	return s.Whole || s.Function
}

// resets returns what a reset does in this clock. It ends when the engines owe no
// beat and read nothing of VRAM, and no register is accessed.
func (g *GPU) resets() reset.Signals {
	owed := g.initiator.Owed() || g.vramWrite.Owed()
	reads := g.vram.Reading() || g.vramRead.Turn().Hold
	return reset.Now(g.reset.State(), !owed && !reads && g.pcie.Regs().Op == regbus.None)
}

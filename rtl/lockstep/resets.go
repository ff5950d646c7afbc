package lockstep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// resets resets the device or the function, mostly waits until that has ended,
// and brings it up again.
func (h *host) resets() {
	if h.percent(50) {
		h.setReg(idreg.Reset, h.rng.Uint32()|idreg.ResetWhole)
		h.untilZero(idreg.ResetWhole, func(done func(v uint32)) { h.reg(idreg.Reset, done) })
		return
	}
	h.setConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	h.untilZero(pcicfg.CommandMemory, func(done func(v uint32)) { h.getConfig(pcicfg.Command, done) })
}

// untilZero reads until the bits of mask are 0, or the host has had enough of
// it, and boots.
func (h *host) untilZero(mask uint32, read func(done func(v uint32))) {
	read(func(v uint32) {
		if v&mask != 0 && h.percent(98) {
			h.untilZero(mask, read)
			return
		}
		if v&mask == 0 {
			h.saw.restarts++
		}
		h.boot()
	})
}

// burst has a node execute one kind of packet again and again, and resets, or turns
// bus mastering off, in the middle of it. Reads that are under way then are answered
// late, when the device is up again and has sent others.
func (h *host) burst(n int) {
	h.mood = mood{until: h.saw.clock + 1000, latency: 8}
	h.start(n)
	d := &h.nodes[n]
	kind := h.rng.IntN(4)
	for {
		p := h.good(func() encoder { return h.busy(n, kind) })
		if d.wptr+uint32(len(p)/4) >= d.size() {
			break
		}
		h.store(d.base+4*uint64(d.wptr), p)
		d.wptr += uint32(len(p) / 4)
	}
	h.setReg(h.cpReg(n, cpreg.Wptr), d.wptr)
	h.midway(n)
}

// midway waits until the node has retired a packet, or the host has had enough of
// it, and then a little longer.
func (h *host) midway(n int) {
	h.reg(h.cpReg(n, cpreg.Rptr), func(v uint32) {
		if v == 0 && h.percent(99) {
			h.midway(n)
			return
		}
		for range h.rng.IntN(4) {
			h.anyReg()
		}
		for _, r := range h.reads {
			r.due += h.rng.Uint64N(4000)
			h.saw.late++
		}
		if h.percent(30) {
			h.unmaster()
		} else {
			h.resets()
		}
	})
}

// busy returns a packet of a kind that keeps a node, or the DMA engine, at work.
func (h *host) busy(n, kind int) encoder {
	switch kind {
	case 0:
		return pkt.WriteReg{Off: idreg.Scratch0 + 4*h.rng.Uint32N(4), Value: h.rng.Uint32()}
	case 1:
		return pkt.Copy{Src: h.address(), Dst: h.address(), Bytes: h.rng.Uint32N(2000)}
	case 2:
		h.nodes[n].id++
		return pkt.Fence{Addr: pkt.Host | memBase + fencesAt + 16*uint64(n), ID: h.nodes[n].id}
	default:
		return h.surface(pkt.Surface(h.rng.IntN(2)))
	}
}

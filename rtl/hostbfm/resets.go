package hostbfm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// resets resets the device or the function, perhaps writes parts of the command register
// at the same time, usually waits until the reset has ended, and boots the function again.
func (h *Stimulus) resets() {
	if h.percent(50) {
		h.SetReg(idreg.Reset, h.Rng.Uint32()|idreg.ResetWhole)
		h.partOfCommand()
		h.untilZero(idreg.ResetWhole, func(done func(v uint32)) { h.Reg(idreg.Reset, done) })
		return
	}
	h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	h.partOfCommand()
	h.untilZero(pcicfg.CommandMemory, func(done func(v uint32)) { h.GetConfig(pcicfg.Command, done) })
}

// partOfCommand writes some bytes of the command register, up to five times.
func (h *Stimulus) partOfCommand() {
	for range h.Rng.IntN(6) {
		h.SetConfig(pcicfg.Command, h.Rng.Uint32())
		h.trimLanes(h.Last().Beats)
	}
}

// untilZero polls until the bits of mask are 0, or until a limit of polls, and then
// boots.
func (h *Stimulus) untilZero(mask uint32, read func(done func(v uint32))) {
	read(func(v uint32) {
		if v&mask != 0 && h.percent(98) {
			h.untilZero(mask, read)
			return
		}
		if v&mask == 0 {
			h.Saw.Restarts++
		}
		h.boot()
	})
}

// burst makes a node execute one kind of packet repeatedly and resets it, or turns
// bus mastering off, in the middle. Reads in flight at that time are answered late,
// when the device is up again and has issued others.
func (h *Stimulus) burst(n int) {
	h.phase, h.Timing = h.Clocks+1001, Timing{Jitter: 8, Shuffle: true}
	h.start(n)
	d := &h.nodes[n]
	kind := h.Rng.IntN(4)
	for {
		p := h.encode(func() encoder { return h.workload(n, kind) })
		if d.wptr+uint32(len(p)/4) >= d.size() {
			break
		}
		h.Store(d.base+4*uint64(d.wptr), p)
		d.wptr += uint32(len(p) / 4)
	}
	h.SetReg(h.cpReg(n, cpreg.Wptr), d.wptr)
	h.waitMidway(n)
}

// waitMidway waits until the node has retired a packet, or until a limit of polls, and
// then a little longer.
func (h *Stimulus) waitMidway(n int) {
	h.Reg(h.cpReg(n, cpreg.Rptr), func(v uint32) {
		if v == 0 && h.percent(99) {
			h.waitMidway(n)
			return
		}
		for range h.Rng.IntN(4) {
			h.anyReg()
		}
		for _, r := range h.Reads {
			r.Due += h.Rng.Uint64N(4000)
			h.Saw.Late++
		}
		if h.percent(30) {
			h.masterOff()
		} else {
			h.resets()
		}
	})
}

// workload returns a packet that keeps a node or the DMA engine at work.
func (h *Stimulus) workload(n, kind int) encoder {
	switch kind {
	case 0:
		return pkt.WriteReg{Off: idreg.Scratch0 + 4*h.Rng.Uint32N(4), Value: h.Rng.Uint32()}
	case 1:
		return pkt.Copy{Src: h.address(), Dst: h.address(), Bytes: h.Rng.Uint32N(2000)}
	case 2:
		h.nodes[n].id++
		return pkt.Fence{Addr: pkt.Host | memBase + fencesAt + 16*uint64(n), ID: h.nodes[n].id}
	default:
		return h.surface(pkt.Surface(h.Rng.IntN(2)))
	}
}

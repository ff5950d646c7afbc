package hostbfm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// resets resets the device or the function, perhaps requests the other reset or writes parts
// of the command register at the same time, usually waits until the reset has ended, and
// boots the function again.
func (h *Stimulus) resets() {
	whole, both := h.percent(50), h.percent(20)
	if whole {
		h.SetReg(idreg.Reset, h.Rng.Uint32()|idreg.ResetWhole)
	}
	if both || !whole {
		h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	}
	if both && !whole {
		h.SetReg(idreg.Reset, idreg.ResetWhole)
	}
	h.partOfCommand()
	if whole && !both {
		h.untilZero(idreg.ResetWhole, func(done func(v uint32)) { h.Reg(idreg.Reset, done) })
		return
	}
	h.untilZero(pcicfg.CommandMemory, func(done func(v uint32)) { h.GetConfig(pcicfg.Command, done) })
}

// bootBriefly assigns the BARs, perhaps starts the nodes, and picks the clock of the next
// reset, which is soon: mostly in the middle of an access.
func (h *Stimulus) bootBriefly() {
	h.brief = h.Clocks + 30 + h.Rng.Uint64N(32<<h.Rng.IntN(5))
	h.BARs = BARs{BAR0: 0xe000_0000, BAR2: 0x4_0000_0000}
	h.assign()
	h.SetConfig(pcicfg.Command, commandOn)
	for n := range h.nodes {
		if h.nodes[n] = (node{}); h.percent(30) {
			h.start(n)
		}
	}
}

// probe queues an access to any register or to VRAM, or, after a start, packets.
func (h *Stimulus) probe() {
	off := uint64(h.regs[h.Rng.IntN(len(h.regs))].Off())
	n := h.Rng.IntN(len(h.nodes))
	switch p := h.Rng.IntN(100); {
	case p < 40:
		h.Reg(off, func(uint32) {})
	case p < 65:
		h.SetReg(off, h.Rng.Uint32())
		h.Reg(off, func(uint32) {})
	case p < 75:
		h.randomConfig()
	case p < 85 || h.nodes[n].log2 == 0:
		h.randomRequest(h.BAR2, []uint64{h.config.VRAM, hot}[h.Rng.IntN(2)])
	default:
		h.submit(n, 16)
	}
}

// partOfCommand writes some bytes of the command register, up to twice.
func (h *Stimulus) partOfCommand() {
	for range h.Rng.IntN(3) {
		h.SetConfig(pcicfg.Command, h.Rng.Uint32()|commandOn)
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

// burst makes a node, or all, execute one kind of packet repeatedly and resets them, or turns
// bus mastering off, in the middle. Reads in flight at that time are answered late,
// when the device is up again and has issued others.
func (h *Stimulus) burst(n int) {
	h.phase, h.Timing = h.Clocks+1001, Timing{Jitter: 8, Shuffle: true}
	kind := h.Rng.IntN(4)
	h.load(n, kind)
	if both := h.percent(50); both && len(h.nodes) > 1 {
		h.load(1-n, kind)
		h.SetReg(h.cpReg(1-n, cpreg.Wptr), h.nodes[1-n].wptr)
	}
	h.SetReg(h.cpReg(n, cpreg.Wptr), h.nodes[n].wptr)
	h.waitMidway(n)
}

// load starts a node and fills its ring with one kind of packet.
func (h *Stimulus) load(n, kind int) {
	h.start(n)
	d := &h.nodes[n]
	for {
		p := h.encode(func() encoder { return h.workload(n, kind) })
		if d.wptr+uint32(len(p)/4) >= d.size() {
			return
		}
		h.Store(d.base+4*uint64(d.wptr), p)
		d.wptr += uint32(len(p) / 4)
	}
}

// hang makes a node wait for a fence, and is quiet until the watchdog may report it.
func (h *Stimulus) hang(n int) {
	limit := 1 + h.Rng.Uint32N(1<<(5+h.Rng.IntN(7)))
	if h.percent(40) {
		limit += 4000
	}
	h.start(n)
	d := &h.nodes[n]
	p := h.encode(func() encoder { return pkt.WaitFence{Node: uint8(n), Value: 1 << 60} })
	h.Store(d.base, p)
	d.wptr, d.polls = uint32(len(p)/4), 190 // the host gives up soon after it
	h.SetReg(wdogreg.Base+wdogreg.Limit, limit)
	h.SetReg(h.cpReg(n, cpreg.Wptr), d.wptr)
	h.Reg(wdogreg.Base+wdogreg.Status, func(uint32) { h.quiet = h.Clocks + uint64(limit) })
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

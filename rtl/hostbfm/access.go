package hostbfm

import (
	mathbits "math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// randomRequest queues a legal request of random address, length, alignment and lanes.
func (h *Stimulus) randomRequest(base, size uint64) {
	addr := base + h.Rng.Uint64N(size)&^3
	n := min(1+h.Rng.Uint64N(port.MaxLen), (128-addr%128)/4)
	if h.percent(50) {
		n = 1
	}
	tag := uint8(h.Rng.Uint32())
	if h.percent(50) {
		h.Queue(Op{Req: port.Request{Kind: port.MemRead, Tag: tag, Len: uint8(n), Addr: addr}})
		return
	}
	p := make([]byte, 4*n)
	for i := range p {
		p[i] = byte(h.Rng.Uint32())
	}
	o := Write(addr, p)
	if h.percent(40) {
		h.trimLanes(o.Beats)
	}
	h.Queue(o)
}

// trimLanes disables lanes at the start of the first beat and at the end of the last.
func (h *Stimulus) trimLanes(beats []port.Beat) {
	first, last := &beats[0], &beats[len(beats)-1]
	for range h.Rng.IntN(4) {
		first.Enable &= first.Enable - 1
	}
	for range h.Rng.IntN(4) {
		last.Enable &^= uint8(uint(1) << mathbits.Len8(last.Enable) >> 1)
	}
}

// randomConfig queues an access to a random offset in configuration space.
func (h *Stimulus) randomConfig() {
	off := h.Rng.Uint64N(0x100) &^ 3
	if h.percent(10) {
		off = h.Rng.Uint64N(0x1000) &^ 3
	}
	if h.percent(60) {
		h.GetConfig(off, func(uint32) {})
		return
	}
	if off == pcicfg.Command || off >= pcicfg.BAR0 && off <= pcicfg.BAR3 || off == pcicfg.MSIX {
		off = pcicfg.IntLine
	}
	h.SetConfig(off, h.Rng.Uint32())
	if h.percent(40) {
		h.trimLanes(h.Last().Beats)
	}
}

package lockstep

import (
	mathbits "math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// An op is a request of the host with its beats. done, if there is one, is told
// the last completion.
type op struct {
	req   port.Request
	beats []port.Beat
	done  func(s port.Status, data uint32)
}

// offer returns what the target port is offered in this clock. What was offered
// and not taken is offered again.
func (h *host) offer() (req port.Request, beat port.Beat) {
	if len(h.ops) == 0 || !h.shown && h.percent(h.mood.gap) {
		return req, beat
	}
	h.shown = true
	o := &h.ops[0]
	if !h.sent {
		req = o.req
	}
	if len(o.beats) > 0 {
		beat = o.beats[0]
	}
	return req, beat
}

// sentOne notes what was taken of the offer.
func (h *host) sentOne(header, beat bool) {
	if header {
		h.sent, h.shown = true, false
		if k := h.ops[0].req.Kind; k != port.MemWrite {
			h.await = append(h.await, h.ops[0])
		}
	}
	if beat {
		h.ops[0].beats = h.ops[0].beats[1:]
		h.shown = false
	}
	if h.sent && len(h.ops[0].beats) == 0 {
		h.ops, h.sent, h.shown = h.ops[1:], false, false
	}
}

// completed takes a completion of the target port. They come in order.
func (h *host) completed(c port.Completion) {
	if !c.Last || len(h.await) == 0 {
		return
	}
	h.saw.status[c.Status]++
	o := h.await[0]
	h.await = h.await[1:]
	if o.done != nil {
		o.done(c.Status, uint32(c.Data>>(8*(o.req.Addr&4))))
	}
}

// bars is where the host has put the BARs.
type bars struct {
	bar0, bar2 uint64
}

// write returns a write of whole dwords at a bus address, a multiple of 4, that
// stays inside 128 bytes.
func (b bars) write(addr uint64, p []byte) op {
	o := op{req: port.Request{Kind: port.MemWrite, Len: uint8(len(p) / 4), Addr: addr}}
	for a := addr &^ 7; a < addr+uint64(len(p)); a += 8 {
		v := port.Beat{Valid: true, Last: a+8 >= addr+uint64(len(p))}
		for i := range uint64(8) {
			if at := a + i - addr; at < uint64(len(p)) {
				v.Enable |= 1 << i
				v.Data |= uint64(p[at]) << (8 * i)
			}
		}
		o.beats = append(o.beats, v)
	}
	return o
}

// setReg queues a write of a register, reg a read.
func (h *host) setReg(off uint64, v uint32) {
	h.ops = append(h.ops, h.bars.write(h.bars.bar0+off, dword(v)))
}

func (h *host) reg(off uint64, done func(v uint32)) {
	req := port.Request{Kind: port.MemRead, Tag: uint8(h.rng.Uint32()), Len: 1, Addr: h.bars.bar0 + off}
	h.ops = append(h.ops, op{req: req, done: func(s port.Status, v uint32) {
		if s == port.CplSuccess {
			done(v)
		}
	}})
}

// setConfig queues a write of a dword of configuration space.
func (h *host) setConfig(off uint64, v uint32) {
	o := h.bars.write(off, dword(v))
	o.req.Kind, o.req.Tag = port.CfgWrite, uint8(h.rng.Uint32())
	h.ops = append(h.ops, o)
}

// getConfig queues a read of one.
func (h *host) getConfig(off uint64, done func(v uint32)) {
	req := port.Request{Kind: port.CfgRead, Tag: uint8(h.rng.Uint32()), Len: 1, Addr: off}
	h.ops = append(h.ops, op{req: req, done: func(_ port.Status, v uint32) { done(v) }})
}

// wild is a request to anywhere: any length, alignment and lanes that are legal.
func (h *host) wild(base, size uint64) {
	off := h.rng.Uint64N(size) &^ 3
	n := min(1+h.rng.Uint64N(port.MaxLen), (128-off%128)/4)
	if h.percent(50) {
		n = 1
	}
	tag := uint8(h.rng.Uint32())
	if h.percent(50) {
		h.ops = append(h.ops, op{req: port.Request{Kind: port.MemRead, Tag: tag, Len: uint8(n), Addr: base + off}})
		return
	}
	p := make([]byte, 4*n)
	for i := range p {
		p[i] = byte(h.rng.Uint32())
	}
	o := h.bars.write(base+off, p)
	if h.percent(40) {
		h.thin(o.beats)
	}
	h.ops = append(h.ops, o)
}

// thin turns lanes off at the start of the first beat and the end of the last.
func (h *host) thin(beats []port.Beat) {
	first, last := &beats[0], &beats[len(beats)-1]
	for range h.rng.IntN(4) {
		first.Enable &= first.Enable - 1
	}
	for range h.rng.IntN(4) {
		last.Enable &^= uint8(uint(1) << mathbits.Len8(last.Enable) >> 1)
	}
}

// cfg is an access to anywhere in configuration space.
func (h *host) cfg() {
	off := h.rng.Uint64N(0x100) &^ 3
	if h.percent(10) {
		off = h.rng.Uint64N(0x1000) &^ 3
	}
	if h.percent(60) {
		h.getConfig(off, func(uint32) {})
		return
	}
	if off == pcicfg.Command || off >= pcicfg.BAR0 && off <= pcicfg.BAR3 || off == pcicfg.MSIX {
		off = pcicfg.IntLine
	}
	h.setConfig(off, h.rng.Uint32())
	if h.percent(40) {
		h.thin(h.ops[len(h.ops)-1].beats)
	}
}

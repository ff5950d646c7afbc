package hostbfm

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Offsets in the low half of the host's memory, in bytes.
const (
	ringsAt  = 0x1000 // a ring of at most 4 KiB for each node
	buffers  = 0x4000 // an indirect buffer of at most 1 KiB for each node
	fencesAt = 0x6000 // 16 bytes for each node
	statesAt = 0x6400 // 4 states for each node
)

// hot is the size of the start of VRAM that is accessed often, so that accesses meet.
const hot = 64

// node is the driver's view of a command processor.
type node struct {
	base    uint64 // GPU address of the ring
	log2    uint   // log2 of the ring's size in bytes
	wptr    uint32 // dwords
	rptr    uint32 // read pointer at the last poll
	id      uint32 // ID of the last fence
	polls   int    // consecutive polls without progress
	faulted bool   // the driver has seen a fault
	unset   int    // surfaces not yet set since the reset
}

// size returns the size of the ring in dwords.
func (n *node) size() uint32 { return 1 << n.log2 / 4 }

func (h *Stimulus) cpReg(n int, off uint64) uint64 { return cpreg.Base + uint64(n)*cpreg.Stride + off }

// start resets a node, as a driver does after a hang, and assigns a ring. The ring
// is sometimes in VRAM if the host can access VRAM.
func (h *Stimulus) start(n int) {
	d := &h.nodes[n]
	*d = node{log2: cpreg.MinRingLog2 + uint(h.Rng.IntN(5)), id: d.id, base: pkt.Host | memBase + ringsAt + uint64(n)<<12, unset: 2}
	if h.percent(10) && h.aperture {
		d.base = h.config.VRAM - uint64(n+1)<<12
	}
	h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlReset)
	for range h.Rng.IntN(4) {
		h.Reg(h.cpReg(n, cpreg.Wptr), func(uint32) {}) // perhaps as the reset ends
	}
	h.SetReg(h.cpReg(n, cpreg.RingLo), uint32(d.base))
	h.SetReg(h.cpReg(n, cpreg.RingHi), uint32(d.base>>32))
	h.SetReg(h.cpReg(n, cpreg.RingSize), uint32(d.log2))
	switch h.Rng.IntN(30) {
	case 0:
		h.SetReg(h.cpReg(n, cpreg.RingSize), h.Rng.Uint32())
	case 1:
		h.SetReg(h.cpReg(n, cpreg.RingSize), cpreg.MinRingLog2-h.Rng.Uint32N(2))
	case 2:
		h.SetReg(h.cpReg(n, cpreg.RingSize), cpreg.MaxRingLog2+h.Rng.Uint32N(2))
	default:
	}
	h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlRun|cpreg.CtlProtect*h.Rng.Uint32N(2))
}

// drive does one step of a node's driver: it submits packets or polls.
func (h *Stimulus) drive(n int) {
	d := &h.nodes[n]
	room := (d.rptr - d.wptr - 1) & (d.size() - 1)
	switch {
	case d.faulted:
		h.repair(n)
	case room >= 16 && h.percent(50):
		h.submit(n, room)
	case h.percent(5):
		h.preempt(n)
	case h.percent(2):
		h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlRun*h.Rng.Uint32N(2))
		for range h.Rng.IntN(6) {
			h.Reg(h.cpReg(n, cpreg.Ctl+4*h.Rng.Uint64N(cpreg.Stride/4)), func(uint32) {})
		}
		h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlRun)
	default:
		h.poll(n)
	}
}

// preempt asks the node to stop and lets it run again, with or without reading
// where it stopped.
func (h *Stimulus) preempt(n int) {
	h.SetReg(h.cpReg(n, cpreg.Preempt), h.Rng.Uint32())
	for range h.Rng.IntN(4) {
		h.Reg(h.cpReg(n, cpreg.Preempted), func(uint32) {})
	}
	h.Reg(h.cpReg(n, cpreg.Progress), func(v uint32) {
		if h.percent(10) {
			h.SetReg(h.cpReg(n, cpreg.Progress), h.Rng.Uint32()&3)
		}
	})
	h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlRun|cpreg.CtlProtect*h.Rng.Uint32N(2))
}

// poll reads the ring's read pointer and, if the ring is stuck, the fault registers.
func (h *Stimulus) poll(n int) {
	d := &h.nodes[n]
	h.Reg(h.cpReg(n, cpreg.Rptr), func(v uint32) {
		d.polls++
		if v != d.rptr {
			d.polls = 0
			if d.base>>63 == 0 {
				h.Saw.InVRAM++
			}
		}
		d.rptr = v & (d.size() - 1)
	})
	if h.percent(30) {
		h.Reg(h.cpReg(n, cpreg.Status), func(uint32) {})
	}
	if d.polls < 3 {
		return
	}
	h.Reg(h.cpReg(n, cpreg.FaultInfo), func(v uint32) {
		if v&cpreg.FaultCause != 0 {
			h.Saw.Causes[v&cpreg.FaultCause]++
			d.faulted = true
			for off := uint64(cpreg.FaultLo); off <= cpreg.FaultBadH; off += 4 {
				h.Reg(h.cpReg(n, off), func(uint32) {})
			}
		} else if d.polls > 200 {
			h.start(n)
		}
	})
}

// repair continues after a fault: by a reset, or by skipping the packet. The next
// packet need not start where the driver expects.
func (h *Stimulus) repair(n int) {
	d := &h.nodes[n]
	d.faulted, d.polls = false, 0
	if h.percent(60) {
		h.start(n)
		h.SetReg(h.cpReg(n, cpreg.Fence), d.id)
		return
	}
	h.SetReg(h.cpReg(n, cpreg.FaultInfo), 0)
	if h.percent(50) {
		h.SetReg(h.cpReg(n, cpreg.Fence), d.id)
		h.SetReg(h.cpReg(n, cpreg.Ctl), 0)
		h.SetReg(h.cpReg(n, cpreg.RingLo), uint32(d.base))
	}
	h.SetReg(h.cpReg(n, cpreg.Ctl), cpreg.CtlRun)
}

// submit writes packets of at most room dwords into the ring and rings the
// doorbell.
func (h *Stimulus) submit(n int, room uint32) {
	d := &h.nodes[n]
	var p []byte
	for range 1 + h.Rng.IntN(8) {
		more := h.packet(n, false)
		if len(p)+len(more) > int(4*room) {
			break
		}
		p = append(p, more...)
	}
	for len(p) > 0 {
		k := min(len(p), int(4*(d.size()-d.wptr)))
		h.Store(d.base+4*uint64(d.wptr), p[:k])
		d.wptr = (d.wptr + uint32(k/4)) & (d.size() - 1)
		p = p[k:]
	}
	if h.Rng.IntN(500) == 0 {
		h.SetReg(h.cpReg(n, cpreg.Wptr), h.Rng.Uint32())
		return
	}
	h.SetReg(h.cpReg(n, cpreg.Wptr), d.wptr)
}

// packet returns a random packet; a few percent are malformed. inside is whether
// the packet goes into an indirect buffer.
func (h *Stimulus) packet(n int, inside bool) []byte {
	p := h.encode(func() encoder { return h.choose(n, inside) })
	if p[3] == pkt.OpWriteReg && h.percent(3) {
		p[4] = byte(h.Rng.Uint32()) &^ 3
	}
	h.spoil(p)
	if h.Rng.IntN(60) == 0 {
		h.spoil(p)
		h.spoil(p)
	}
	return p
}

// spoil makes one packet in seventeen malformed, or extreme.
func (h *Stimulus) spoil(p []byte) {
	dword := p[4*h.Rng.IntN(len(p)/4):]
	switch h.Rng.IntN(120) {
	case 0:
		p[h.Rng.IntN(len(p))] ^= 1 << h.Rng.IntN(8)
	case 1:
		p[2+h.Rng.IntN(2)] = byte(h.Rng.Uint32())
	case 2:
		binary.LittleEndian.PutUint32(p[len(p)-4:], h.Rng.Uint32())
	case 3, 4:
		p[min(4, len(p)-1)] = byte(h.Rng.Uint32())
	case 5:
		limit := uint16(pkt.MaxCoord - 1 + h.Rng.Uint32N(3))
		binary.LittleEndian.PutUint16(p[2*h.Rng.IntN(len(p)/2):], limit)
	case 6:
		dword[0] ^= 1 << h.Rng.IntN(4)
	}
}

// encode returns the first packet from choose that can be encoded.
func (h *Stimulus) encode(choose func() encoder) []byte {
	for {
		p, err := choose().Append(nil)
		if err == nil && len(p) > 0 {
			return p
		}
	}
}

// encoder is any packet of package pkt.
type encoder interface {
	Append(b []byte) ([]byte, error)
}

// choose returns a random packet for a node.
func (h *Stimulus) choose(n int, inside bool) encoder {
	if p := h.rare(n, inside); p != nil {
		return p
	}
	d := &h.nodes[n]
	size := uint32(h.Rng.IntN(300))
	if h.percent(3) {
		size = uint32(h.Rng.IntN(3000))
	}
	coord := func(k int) uint16 { return uint16(h.Rng.IntN(k)) }
	if d.unset > 0 && !inside && !h.percent(2) {
		d.unset--
		return h.surface(pkt.Surface(d.unset))
	}
	switch k := h.Rng.IntN(24); k {
	case 0, 1, 2:
		return pkt.Copy{Src: h.address(), Dst: h.address(), Bytes: size}
	case 3, 4:
		return pkt.Fill{Dst: h.address(), Bytes: size, Value: h.Rng.Uint64()}
	case 5, 6, 7:
		return h.surface(pkt.Surface(h.Rng.IntN(2)))
	case 8, 9:
		return pkt.Copy2D{SrcX: coord(10), SrcY: coord(5), DstX: coord(10), DstY: coord(5), W: coord(20), H: coord(8)}
	case 10, 11:
		return pkt.Fill2D{X: coord(10), Y: coord(5), W: coord(20), H: coord(8), Value: h.Rng.Uint64()}
	case 12, 13, 14:
		return h.optional(k-12, n, inside)
	case 15, 16:
		return pkt.Predicate{Addr: h.address() &^ 7, Dwords: coord(8), NonZero: h.percent(50)}
	case 17, 18:
		if inside && !h.percent(10) {
			return pkt.NOP{}
		}
		return h.indirect(n, inside)
	case 19, 20, 21:
		return h.fence(n, inside)
	default:
		return pkt.NOP{Skip: coord(6)}
	}
}

// optional returns a packet that requires a capability, or another packet. It
// sometimes returns the packet without the capability.
func (h *Stimulus) optional(which, n int, inside bool) encoder {
	switch which {
	case 0:
		if there := h.config.Caps.Has(caps.Contexts) || h.percent(10); there && !inside && h.percent(60) {
			return h.context(n)
		}
	case 1:
		if there := h.config.Caps.Has(caps.Timeline) || h.percent(10); there && !inside && h.percent(70) {
			return h.wait()
		}
	default:
		if there := h.config.Caps.Has(caps.Protection) || h.percent(10); there && !inside && h.percent(70) {
			return h.window()
		}
		if there := h.config.Caps.Has(caps.Signal) || h.percent(10); there && h.percent(50) {
			return pkt.Signal{Addr: h.address() &^ 7, Value: h.Rng.Uint64(), IRQ: h.percent(50)}
		}
		return pkt.Timestamp{Addr: h.address() &^ 7}
	}
	return pkt.WriteReg{Off: idreg.Scratch0 + 4*h.Rng.Uint32N(4), Value: h.Rng.Uint32()}
}

// fence returns the next fence of a node; in an indirect buffer usually a NOP.
func (h *Stimulus) fence(n int, inside bool) encoder {
	if inside && !h.percent(10) {
		return pkt.NOP{Skip: uint16(h.Rng.IntN(3))}
	}
	d := &h.nodes[n]
	d.id += h.Rng.Uint32N(3)
	if h.percent(2) {
		d.id = h.Rng.Uint32()
	}
	return pkt.Fence{Addr: pkt.Host | memBase + fencesAt + 16*uint64(n), ID: d.id, IRQ: h.percent(70)}
}

// surface sets one of the surfaces, usually with the same format: COPY_2D needs
// equal formats.
func (h *Stimulus) surface(which pkt.Surface) encoder {
	format := pkt.Format32
	if h.percent(5) {
		format = pkt.Format(h.Rng.IntN(5))
	}
	return pkt.SetState{
		Surface: which, Base: h.address() &^ 15, Pitch: h.Rng.Uint32N(16) * 16, Format: format,
		X0: uint16(h.Rng.IntN(8)), Y0: uint16(h.Rng.IntN(4)), X1: uint16(4 + h.Rng.IntN(40)), Y1: uint16(2 + h.Rng.IntN(20)),
	}
}

// context saves or restores one of the node's four states, or one at a random
// address.
func (h *Stimulus) context(n int) encoder {
	addr := pkt.Host | memBase + statesAt + uint64(n)<<9 + h.Rng.Uint64N(4)*pkt.StateBytes
	if h.percent(20) {
		addr = h.address() &^ (pkt.StateBytes - 1)
	}
	if h.percent(60) {
		return pkt.SaveState{Addr: addr}
	}
	return pkt.RestoreState{Addr: addr}
}

// wait waits for a node's fence, usually one near its last ID.
func (h *Stimulus) wait() encoder {
	of := h.Rng.IntN(len(h.nodes))
	w := pkt.WaitFence{Node: uint8(of), Value: uint64(h.nodes[of].id) - min(uint64(h.nodes[of].id), h.Rng.Uint64N(4))}
	if h.percent(3) {
		w.Node, w.Value = uint8(h.Rng.IntN(2)), h.Rng.Uint64()>>h.Rng.IntN(64)
	}
	return w
}

// window opens a window, usually over an entire memory, or closes one.
func (h *Stimulus) window() encoder {
	w := pkt.SetWindow{Index: uint8(h.Rng.IntN(pkt.Windows)), Writable: h.percent(70), Size: h.config.VRAM}
	switch h.Rng.IntN(4) {
	case 0:
		w.Base, w.Size = pkt.Host|memBase, memSize
	case 1:
		w.Base, w.Size = h.address(), h.Rng.Uint64N(1<<14)
		if h.percent(20) {
			w.Size = h.Rng.Uint64() >> h.Rng.IntN(64)
		}
	default:
	}
	return w
}

// indirect fills the node's indirect buffer, which may be in use, and returns the
// packet that executes it.
func (h *Stimulus) indirect(n int, inside bool) encoder {
	addr := pkt.Host | memBase + buffers + uint64(n)<<10 + 4*h.Rng.Uint64N(32)
	var p []byte
	for range h.Rng.IntN(5) {
		if !inside {
			p = append(p, h.packet(n, true)...)
		}
	}
	if h.percent(2) && len(p) > 4 {
		p = p[:len(p)-4]
	}
	h.Store(addr, p)
	h.Saw.Odd += int(addr >> 2 & 1)
	return pkt.Indirect{Addr: addr, Dwords: uint32(len(p) / 4), Resume: h.config.Caps.Has(caps.Preemption) && h.percent(20)}
}

// address returns a random data address in VRAM or in host memory, rarely at the end
// of either or out of range.
func (h *Stimulus) address() uint64 {
	vram := h.config.VRAM
	switch {
	case h.hasGART() && h.percent(30):
		return h.mapped()
	case h.Rng.IntN(100) == 0:
		return h.Rng.Uint64() >> h.Rng.IntN(64)
	case h.Rng.IntN(100) == 0:
		return vram - 1 - h.Rng.Uint64N(4096)
	case h.Rng.IntN(100) == 0:
		return pkt.Host | uint64(1)<<h.config.HostBits - 1 - h.Rng.Uint64N(4096)
	case h.percent(5):
		return h.Rng.Uint64N(hot)
	case h.percent(50):
		return h.Rng.Uint64N(min(vram, 1<<16) - 4096)
	default:
		return pkt.Host | memBase + dataFrom + h.Rng.Uint64N(memSize-dataFrom-4096)
	}
}

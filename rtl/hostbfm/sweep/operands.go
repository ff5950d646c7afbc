package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// operands returns the sweeps of the bits of packets.
func operands() []Sweep {
	return []Sweep{
		{
			Name: "bit in the ring", Why: "one bit of a packet is another one: an operand far away, large or reserved, or another packet",
			Cases: len(samples()), Distances: longest * 32, before: func(h *host, _ int) { h.open() }, meet: flipped,
		},
		{
			Name: "bit in a window", Why: "one bit of a packet that accesses memory through windows is another one",
			Needs: caps.Protection, Cases: len(samples()) - privileged, Distances: longest*32 - 32, before: func(h *host, _ int) { h.openWindows() }, meet: guarded,
		},
		{
			Name: "carry", Why: "an address, a position in the ring or the number of packets passes a power of two",
			Cases: 7, Distances: 48, before: func(h *host, _ int) { h.settle() }, meet: carried,
		},
		{
			Name: "formats", Why: "the surfaces of a copy have any two formats, also reserved ones",
			Cases: formats, Distances: formats, before: func(h *host, _ int) { h.open() }, meet: formatted,
		},
	}
}

const (
	longest    = 8 // dwords of the longest of samples
	privileged = 7 // samples at the end that are legal in the ring only
	shortRun   = 200
	formats    = 8 // values of the field of a format
)

// samples returns a small packet of each kind.
func samples() []packet {
	return []packet{
		pkt.NOP{Skip: 1},
		pkt.SetState{Surface: pkt.Dest, Base: data(dataFrom), Pitch: 64, Format: pkt.Format32, X1: 8, Y1: 8},
		pkt.Copy{Src: data(dataFrom), Dst: data(dataFrom + 0x1000), Bytes: 24},
		pkt.Copy2D{W: 3, H: 2},
		pkt.Fill{Dst: data(dataFrom), Bytes: 20, Value: 0x0123_4567_89ab_cdef},
		pkt.Fill2D{X: 1, Y: 1, W: 3, H: 2, Value: 0x0123_4567_89ab_cdef},
		pkt.WriteReg{Off: idreg.Scratch0, Value: 5},
		pkt.Timestamp{Addr: data(dataFrom)},
		pkt.Predicate{Addr: data(dataFrom), Dwords: 1},
		pkt.Predicate{Addr: data(dataFrom), NonZero: true}, // its dwords are a power of two
		pkt.Signal{Addr: data(dataFrom), Value: 6},
		pkt.Indirect{Addr: data(buffers), Dwords: 2},
		pkt.Fence{Addr: data(fencesAt), ID: 1},
		pkt.SetWindow{Index: 1, Base: data(0), Size: memSize},
		pkt.WaitFence{},
		pkt.SaveState{Addr: data(statesAt)},
		pkt.RestoreState{Addr: data(statesAt)},
		pkt.Fence{Addr: data(fencesAt), ID: 1, IRQ: true},
	}
}

// flip returns a sample with one bit inverted, and false if it has no such bit.
func flip(which, at int) (raw, bool) {
	b := encode(samples()[which])
	if at/8 >= len(b) {
		return nil, false
	}
	b[at/8] ^= 1 << (at % 8)
	return b, true
}

// raw is the bytes of a packet that need not be valid.
type raw []byte

// Append implements packet.
func (p raw) Append(b []byte) ([]byte, error) { return append(b, p...), nil }

// reset resets a node, waits until the reset has ended, and gives the node an empty ring.
func (h *host) reset(n int) {
	h.SetReg(cp(n, cpreg.Ctl), cpreg.CtlReset)
	resetting := true
	h.until(func() bool {
		if !h.Busy() && resetting {
			h.Reg(cp(n, cpreg.Ctl), func(v uint32) { resetting = v&cpreg.CtlReset != 0 })
		}
		return !h.Busy() && !resetting
	})
	h.start(n)
}

// surfaces loads packets that set both surfaces of node 0.
func (h *host) surfaces() {
	for i := range pkt.Surface(2) {
		h.load(0, pkt.SetState{Surface: i, Base: data(dataFrom + 0x1000*uint64(i)), Pitch: 64, Format: pkt.Format32, X1: 4096, Y1: 4096})
	}
}

// execute makes node 0 execute what is loaded, for a while. If it then has a fault or is not
// idle, or if the ring is almost full, execute reads the registers of the fault and calls again.
func (h *host) execute(again func()) {
	h.ring(0)
	h.drain()
	for n := 0; n < shortRun && h.dev.IdleFor() == 0; n++ {
		h.Step()
	}
	state := uint32(0)
	h.Reg(cp(0, cpreg.Status), func(v uint32) { state = v & (cpreg.StatusIdle | cpreg.StatusFault) })
	h.drain()
	if state == cpreg.StatusIdle && h.wptr[0] < 1<<ringLog2/4-64 {
		h.settle()
		return
	}
	if state&cpreg.StatusFault != 0 {
		h.look(cp(0, cpreg.FaultInfo), cp(0, cpreg.FaultLo), cp(0, cpreg.FaultHi), cp(0, cpreg.FaultOp), cp(0, cpreg.FaultBad), cp(0, cpreg.FaultBadH))
	}
	again()
	h.settle()
}

// open resets node 0 and sets its surfaces.
func (h *host) open() {
	h.reset(0)
	h.surfaces()
}

// openWindows does what open does, and guards indirect buffers with windows.
func (h *host) openWindows() {
	h.open()
	h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlRun|cpreg.CtlProtect)
	h.load(0, pkt.SetWindow{Index: 0, Writable: true, Base: data(0), Size: memSize - 1},
		pkt.SetWindow{Index: 2, Base: 0, Size: 1 << 10}, pkt.SetWindow{Index: 3, Writable: true, Base: 1 << 10, Size: 1 << 10})
}

// flipped executes a sample with another bit in the ring.
func flipped(h *host, which, at int) {
	if p, ok := flip(which, at); ok {
		h.load(0, p, pkt.NOP{}, pkt.NOP{})
		h.execute(h.open)
	}
}

// guarded executes a sample with another bit after its header in an indirect buffer, with windows.
func guarded(h *host, which, at int) {
	if p, ok := flip(which, at+32); ok {
		h.load(0, h.indirect(0, false, p, pkt.NOP{}, pkt.NOP{}))
		h.execute(h.openWindows)
	}
}

// descriptor returns the bytes of the longest descriptor.
func (h *host) descriptor() uint64 {
	if h.config.Caps.Has(caps.Preemption) {
		return 1 << 12
	}
	return 1 << (min(h.config.LengthBits, 19) - 1)
}

// formatted copies between surfaces of two formats.
func formatted(h *host, src, dst int) {
	for i, f := range []int{src, dst} {
		p := encode(pkt.SetState{Surface: pkt.Surface(i), Base: data(dataFrom + 0x1000*uint64(i)), Pitch: 64, X1: 8, Y1: 8})
		p[4*5] = uint8(f)
		h.load(0, raw(p))
	}
	h.load(0, pkt.Copy2D{W: 2, H: 2}, pkt.NOP{})
	h.execute(h.open)
}

// carried executes a packet whose range, or whose place, passes a power of two.
func carried(h *host, which, at int) {
	power := uint64(1) << at
	if power < 16 || power>>h.config.HostBits != 0 {
		return
	}
	before := pkt.Host | power - 12
	h.reset(0)
	switch which {
	case 0:
		h.load(0, pkt.Fill{Dst: before, Bytes: 40, Value: 1})
	case 1:
		h.load(0, pkt.Copy{Src: before, Dst: data(dataFrom), Bytes: 40})
	case 2:
		buffer := encode(pkt.NOP{}, pkt.NOP{}, pkt.NOP{Skip: 21})
		copy(h.Mem[dataFrom-12:], buffer) // read if the power is that of its address
		h.load(0, pkt.Indirect{Addr: before, Dwords: uint32(len(buffer) / 4)}, pkt.Indirect{Addr: data(dataFrom - 12), Dwords: uint32(len(buffer) / 4)})
	case 3: // rows
		h.surfaces()
		for i := range pkt.Surface(2) {
			h.load(0, pkt.SetState{Surface: pkt.Dest - i, Base: before, Pitch: 8, Format: pkt.Format32, X1: 8, Y1: 8}, pkt.Fill2D{W: 2, H: 4},
				pkt.Copy2D{W: 2, H: 4})
			h.surfaces()
		}
	case 4: // an INDIRECT at each place around it in the ring
		if power >= 1<<ringLog2/4 {
			return
		}
		h.load(0, pkt.NOP{Skip: uint16(power) - 8})
		for range 4 {
			h.load(0, h.indirect(0, false, pkt.NOP{}), pkt.NOP{})
		}
	case 5: // the second descriptor of a copy
		n := h.descriptor()
		if power < n {
			return
		}
		h.load(0, pkt.Copy{Src: pkt.Host | power - n, Dst: data(dataFrom), Bytes: uint32(n + 64)})
	default: // as many packets
		if power > 256 {
			return
		}
		for range power + 2 {
			h.load(0, pkt.NOP{})
		}
	}
	h.ring(0)
	h.settle()
	h.look(cp(0, cpreg.Status), cp(0, cpreg.FaultInfo), cp(0, cpreg.FaultLo), cp(0, cpreg.FaultBad), cp(0, cpreg.FaultBadH), cp(0, cpreg.Packets))
	h.settle()
}

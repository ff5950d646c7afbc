package hostbfm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// rare returns a packet that is larger or further away than most, or nil, usually.
func (h *Stimulus) rare(n int, inside bool) encoder {
	switch p := h.Rng.IntN(800); {
	case p < 1:
		return h.long()
	case p < 2:
		return h.power()
	case p < 4:
		return h.edge()
	case p < 11:
		return h.wide()
	case p < 15 && h.config.Caps.Has(caps.Preemption) && !inside:
		return h.resumed(n)
	case p < 23:
		return h.overlapping()
	}
	return nil
}

// long returns a packet that needs several DMA descriptors.
func (h *Stimulus) long() encoder {
	at, size := pkt.Host|memBase+dataFrom+h.Rng.Uint64N(4096), 1<<15+h.Rng.Uint32N(1<<15)
	if h.percent(50) {
		return pkt.Copy{Src: pkt.Host | memBase, Dst: at, Bytes: size}
	}
	return pkt.Fill{Dst: at, Bytes: size, Value: h.Rng.Uint64()}
}

// power returns a packet of 4 to 32 KiB, a power of two, as pieces of a packet are.
func (h *Stimulus) power() encoder {
	size := uint32(1) << (12 + h.Rng.IntN(4))
	if h.percent(50) {
		return pkt.Copy{Src: pkt.Host | memBase, Dst: pkt.Host | memBase + dataFrom, Bytes: size}
	}
	return pkt.Fill{Dst: pkt.Host | memBase + dataFrom, Bytes: size, Value: h.Rng.Uint64()}
}

// edge returns a packet for a range that begins in VRAM and ends exactly where a multiple of
// the size of VRAM does.
func (h *Stimulus) edge() encoder {
	at := h.config.VRAM - 1 - h.Rng.Uint64N(min(h.config.VRAM, 1<<14))
	size := h.config.VRAM<<h.Rng.IntN(3) - at
	if size > 1<<16-1 && h.config.LengthBits < 32 || h.percent(20) {
		size = h.config.VRAM - at
	}
	if h.percent(50) {
		return pkt.Copy{Src: at, Dst: pkt.Host | memBase + dataFrom, Bytes: uint32(size)}
	}
	return pkt.Fill{Dst: at, Bytes: uint32(size), Value: h.Rng.Uint64()}
}

// overlapping returns a packet that writes to VRAM near what it reads, so that its reads and
// writes meet at a word.
func (h *Stimulus) overlapping() encoder {
	const near = 1 << 10
	at := h.Rng.Uint64N(min(h.config.VRAM, 1<<12)-near) &^ (7 * h.Rng.Uint64N(2))
	return pkt.Copy{Src: at, Dst: at + h.Rng.Uint64N(near/2)&^(7*h.Rng.Uint64N(2)), Bytes: 1 + h.Rng.Uint32N(near/2)}
}

// resumed returns a packet that executes one again from the end of what it has done, or from
// near to it or far after it, as PROGRESS says.
func (h *Stimulus) resumed(n int) encoder {
	addr := pkt.Host | memBase + buffers + uint64(n)<<10
	before, cut := sequence{}, encoder(nil)
	done := h.Rng.Uint32N(4)
	switch h.Rng.IntN(4) {
	case 0:
		cut = pkt.Copy{Src: pkt.Host | memBase, Dst: pkt.Host | memBase + dataFrom, Bytes: h.Rng.Uint32N(4)<<12 + h.Rng.Uint32N(2)}
	case 1:
		cut = pkt.Fill{Dst: pkt.Host | memBase + dataFrom, Bytes: h.Rng.Uint32N(4)<<12 + h.Rng.Uint32N(2), Value: h.Rng.Uint64()}
	case 2: // rows of some pieces
		before, done = h.spacious(), h.Rng.Uint32N(4)|h.Rng.Uint32N(4)<<pkt.RowBits
		cut = pkt.Fill2D{W: uint16(h.Rng.IntN(4)) << 10, H: 3, Value: h.Rng.Uint64()}
	default: // many rows
		rows := 250 + h.Rng.Uint32N(300)
		before, done = h.spacious(), rows-h.Rng.Uint32N(60)
		cut = pkt.Fill2D{W: 1, H: uint16(rows), Value: h.Rng.Uint64()}
	}
	p := h.encode(func() encoder { return cut })
	h.Store(addr, p)
	h.SetReg(h.cpReg(n, cpreg.Progress), done)
	return append(before, pkt.Indirect{Addr: addr, Dwords: uint32(len(p) / 4), Resume: true})
}

// A sequence is several packets as one.
type sequence []encoder

// Append appends all packets.
func (s sequence) Append(b []byte) ([]byte, error) {
	for _, p := range s {
		var err error
		if b, err = p.Append(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// wide returns a packet for a rectangle that is at least 256 wide or high, or far from the
// corner of its surface, after those that make the surfaces large enough for it.
func (h *Stimulus) wide() encoder {
	all := h.spacious()
	long, short := uint16(256)<<h.Rng.IntN(3), uint16(1+h.Rng.IntN(3))
	at := uint16(h.Rng.IntN(1 << h.Rng.IntN(12)))
	switch h.Rng.IntN(5) {
	case 0:
		return append(all, pkt.Copy2D{W: long, H: short})
	case 1:
		return append(all, pkt.Fill2D{W: long, H: short, Value: h.Rng.Uint64()})
	case 2:
		return append(all, pkt.Fill2D{W: short, H: long, Value: h.Rng.Uint64()})
	case 3:
		return append(all, pkt.Fill2D{X: at, Y: long, W: short, H: short, Value: h.Rng.Uint64()})
	default:
		return append(all, pkt.Copy2D{SrcX: at, SrcY: at, DstX: long, DstY: at, W: short, H: short})
	}
}

// spacious returns the packets that make both surfaces large.
func (h *Stimulus) spacious() sequence {
	var all sequence
	for i := range pkt.Surface(2) {
		all = append(all, pkt.SetState{
			Surface: i, Base: pkt.Host | memBase + dataFrom, Pitch: 16 << h.Rng.IntN(4), Format: pkt.Format32, X1: 4096, Y1: 4096,
		})
	}
	return all
}

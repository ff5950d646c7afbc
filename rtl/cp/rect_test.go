package cp

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A rect is a 2D packet and the state that it uses.
type rect struct {
	src, dst pkt.SetState
	copy     pkt.Copy2D // for a fill: destination and size
	fill     bool
	value    uint64
}

// dwords encodes SET_STATE of the surfaces, and the packet.
func (r rect) dwords() []uint32 {
	state := func(s pkt.SetState) []uint32 {
		return []uint32{0x03000007, uint32(s.Surface), uint32(s.Base), uint32(s.Base >> 32), s.Pitch, uint32(s.Format),
			uint32(s.X0) | uint32(s.Y0)<<16, uint32(s.X1) | uint32(s.Y1)<<16}
	}
	c := r.copy
	d := append(state(r.src), state(r.dst)...)
	if r.fill {
		return append(d, 0x07000004, uint32(c.DstX)|uint32(c.DstY)<<16, uint32(c.W)|uint32(c.H)<<16,
			uint32(r.value), uint32(r.value>>32))
	}
	return append(d, 0x05000003, uint32(c.SrcX)|uint32(c.SrcY)<<16, uint32(c.DstX)|uint32(c.DstY)<<16, uint32(c.W)|uint32(c.H)<<16)
}

// execute executes packets in VRAM with the reference model.
func execute(vram []byte, dwords []uint32) {
	c := refmodel.Config{Nodes: 1, HostBits: 48, LengthBits: 32, VRAM: uint64(len(vram))}
	n := refmodel.New(c, &refmodel.Memory{VRAM: vram}).Nodes[0]
	for len(dwords) > 0 {
		p := dwords[:1+dwords[0]&pkt.HeaderBody]
		n.Do(p, n.Judge(p, refmodel.Site{}))
		dwords = dwords[len(p):]
	}
}

// compare runs the rect and compares all of memory with the reference model.
func (b *bench) compare(r rect) {
	vram := append([]byte(nil), b.vram...)
	execute(vram, r.dwords())
	b.run(r.dwords()...)
	require.Zero(b.t, b.faults, "%+v: %s", r, cpreg.Causes[b.cp.decode.cause])
	require.Equal(b.t, vram, b.vram, "%+v", r)
}

// TestClip tries every position, size and clip in each direction and compares the result
// with the definition.
func TestClip(t *testing.T) {
	tooltest.Long(t)
	const max = 3
	for _, vertical := range []bool{false, true} {
		b := newBench(t)
		b.dmaTime, b.latency = 0, 1
		b.start(ringAt, 8)
		src := pkt.SetState{Surface: pkt.Source, Base: 0x100, Pitch: 8, X1: 1, Y1: 1}
		dst := pkt.SetState{Surface: pkt.Dest, Base: 0x200, Pitch: 8, X1: 1, Y1: 1}
		each(max, 7, func(v []uint16) {
			r := rect{src: src, dst: dst}
			if vertical {
				r.src.Y0, r.src.Y1, r.dst.Y0, r.dst.Y1 = v[0], v[1], v[2], v[3]
				r.copy = pkt.Copy2D{SrcY: v[4], DstY: v[5], H: v[6], W: 1}
			} else {
				r.src.X0, r.src.X1, r.dst.X0, r.dst.X1 = v[0], v[1], v[2], v[3]
				r.copy = pkt.Copy2D{SrcX: v[4], DstX: v[5], W: v[6], H: 1}
			}
			b.sweep(r)
		})
	}
}

// sweep is like compare for surfaces in the first KiB of VRAM.
func (b *bench) sweep(r rect) {
	for i := range 0x80 {
		b.vram[0x100+i] = byte(i + 1)
		b.vram[0x200+i] = 0
	}
	var want [0x400]byte
	copy(want[:], b.vram)
	execute(want[:], r.dwords())
	b.run(r.dwords()...)
	if b.faults != 0 || [0x400]byte(b.vram[:0x400]) != want {
		require.Equal(b.t, want[:], b.vram[:0x400], "%+v", r)
	}
}

// each calls f with every vector of n values from 0 to max.
func each(max uint16, n int, f func(v []uint16)) {
	v := make([]uint16, n)
	for {
		f(v)
		i := 0
		for i < n && v[i] == max {
			v[i] = 0
			i++
		}
		if i == n {
			return
		}
		v[i]++
	}
}

func TestRandomRects(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t)
	b.rng = rng
	b.start(ringAt, 9)
	for i := range b.vram {
		b.vram[i] = byte(rng.Uint32())
	}
	u := func(n int) uint16 { return uint16(rng.IntN(n)) }
	for range 500 {
		format := pkt.Format(rng.IntN(5))
		surface := func(which pkt.Surface, base uint64) pkt.SetState {
			return pkt.SetState{Surface: which, Base: base + uint64(u(64)), Pitch: uint32(320 + u(64)),
				Format: format, X0: u(8), Y0: u(8), X1: u(20), Y1: u(24)}
		}
		r := rect{src: surface(pkt.Source, 0x1000), dst: surface(pkt.Dest, 0x8000)}
		r.copy = pkt.Copy2D{SrcX: u(18), SrcY: u(18), DstX: u(18), DstY: u(18), W: u(20), H: u(20)}
		r.fill = rng.IntN(3) == 0 && format <= pkt.Format64
		if r.fill {
			r.value = repeat(rng.Uint64(), format)
		}
		b.compare(r)
	}
	assert.NotZero(t, len(b.descs), "seed %d", seed)
}

// repeat returns the lowest element of v, repeated.
func repeat(v uint64, f pkt.Format) uint64 {
	n := 8 << f
	v &= 1<<n - 1
	for ; n < 64; n *= 2 {
		v |= v << n
	}
	return v
}

// TestRandomStreams runs random packets in the ring and in indirect buffers, with random
// stalls, doorbells, stops and latencies, and compares the result with the reference model.
func TestRandomStreams(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.rng = rng
		b.check = true
		b.latency, b.dmaTime = rng.IntN(40), rng.IntN(30)
		log2 := uint32(8 + rng.IntN(2))
		b.start(ringAt+0x4000, log2)
		want := append([]byte(nil), b.vram...)
		ids := uint32(0)
		for range 60 {
			p := randomPacket(rng, want, &ids)
			if rng.IntN(3) == 0 && p[0]>>24 != pkt.OpFence {
				p = indirect(b, rng, p)
			}
			room := func() uint32 { return (b.cp.ring.rptr - b.wptr - 1) & (b.slots - 1) }
			for room() < uint32(len(p)) {
				b.tick(regbus.Req{})
			}
			b.push(p...)
			b.doorbell()
			for range rng.IntN(30) {
				b.tick(regbus.Req{})
			}
			if rng.IntN(6) == 0 {
				b.write(cpreg.Ctl, 0)
				b.tick(regbus.Req{})
				b.write(cpreg.Ctl, cpreg.CtlRun)
			}
			widths(t, reflect.ValueOf(b.cp))
		}
		b.idle()
		require.Zero(t, b.faults, "seed %d: %s", seed, cpreg.Causes[b.cp.decode.cause])
		require.Equal(t, want[:0x8000], b.vram[:0x8000], "seed %d", seed)
		require.Equal(t, ids, b.read(cpreg.Fence), "seed %d", seed)
	}
}

// randomPacket returns a packet and executes it in mem with the reference model.
func randomPacket(rng *rand.Rand, mem []byte, id *uint32) (p []uint32) {
	src, dst, n := rng.Uint32N(0x4000), 0x4000+rng.Uint32N(0x3f00), rng.Uint32N(200)
	switch rng.IntN(4) {
	case 0:
		p = pkt.Dwords(pkt.OpNOP, make([]uint32, rng.Uint32N(20))...)
	case 1:
		p = pkt.Dwords(pkt.OpCopy, src, 0, dst, 0, n)
	case 2:
		p = pkt.Dwords(pkt.OpFill, src, 0, n, rng.Uint32(), rng.Uint32())
	default:
		*id++
		p = pkt.Dwords(pkt.OpFence, dst&^7, 0, *id, 1)
	}
	execute(mem, p)
	return p
}

// indirect moves a packet into its own buffer, after a NOP, and returns the INDIRECT that
// executes it.
func indirect(b *bench, rng *rand.Rand, p []uint32) []uint32 {
	skip := rng.Uint32N(40)
	p = append(append([]uint32{0x01000000 | skip}, make([]uint32, skip)...), p...)
	at := 0x8000 + 4*(rng.Uint64N(0x1000)+uint64(b.cp.regs.packets&1)*0x1000)%0x7c00
	for b.cp.ring.inIB || b.cp.ring.rptr != b.wptr {
		b.tick(regbus.Req{})
	}
	b.put(at, p...)
	return []uint32{0x02000003, uint32(at), 0, uint32(len(p))}
}

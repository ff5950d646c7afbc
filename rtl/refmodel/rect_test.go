package refmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/refmodel/vectors"
)

// element returns element (x, y) of a surface, or nil if it is outside the clip.
func element(m *refmodel.Memory, s refmodel.Surface, x, y int64) []byte {
	if x < s.X0 || x >= s.X1 || y < s.Y0 || y >= s.Y1 {
		return nil
	}
	size := uint64(1) << s.Format
	return m.Bytes(s.Base+uint64(y)*s.Pitch+uint64(x)*size, size)
}

// define executes a COPY_2D, or a FILL_2D of equal bytes, element by element, as its
// section of docs/packets.md defines it.
func define(m *refmodel.Memory, s [2]refmodel.Surface, p []uint32) {
	low := func(v uint32) int64 { return int64(v & 0xffff) }
	high := func(v uint32) int64 { return int64(v >> 16) }
	fill := p[0]>>24 == pkt.OpFill2D
	from, to, size := p[1], p[2], p[3]
	if fill {
		to, size = p[1], p[2]
	}
	for y := range high(size) {
		for x := range low(size) {
			dst := element(m, s[pkt.Dest], low(to)+x, high(to)+y)
			if fill {
				for i := range dst {
					dst[i] = byte(p[3])
				}
				continue
			}
			if src := element(m, s[pkt.Source], low(from)+x, high(from)+y); src != nil {
				copy(dst, src)
			}
		}
	}
}

// The result by rows and clips equals the definition, element by element.
func TestRectsMatchDefinition(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	pair := func(x, y uint32) uint32 { return rng.Uint32N(x) | rng.Uint32N(y)<<16 }
	d := newDevice("")
	vectors.Vector{}.Load(d.Mem.VRAM, d.Mem.Host)
	n, want := d.Nodes[0], d.Mem.Clone()
	do := func(p []uint32) {
		v := n.Judge(p, refmodel.Site{})
		require.Zero(t, v.Cause, "%#x", p)
		require.Empty(t, v.Undefined, "%#x", p)
		n.Do(p, v)
	}
	for range 3000 {
		format := rng.Uint32N(5)
		for i, base := range []uint32{0x1000, 0x8000} {
			do(pkt.Dwords(pkt.OpSetState, uint32(i), base+rng.Uint32N(64), 0, 320+rng.Uint32N(64), format, pair(8, 8), pair(20, 24)))
		}
		p := pkt.Dwords(pkt.OpCopy2D, pair(18, 18), pair(18, 18), pair(20, 20))
		if format != uint32(pkt.Format128) && rng.IntN(3) == 0 {
			value := rng.Uint32N(256) * 0x01010101
			p = pkt.Dwords(pkt.OpFill2D, pair(18, 18), pair(20, 20), value, value)
		}
		do(p)
		define(want, n.Surfaces, p)
		require.Equal(t, want.VRAM, d.Mem.VRAM, "%#x", p)
	}
	require.Greater(t, n.Moved, uint64(10000))
}

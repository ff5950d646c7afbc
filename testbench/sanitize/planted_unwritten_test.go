package sanitize_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// Sizes of the resources of a gap, in bytes and texels.
const gapBytes, gapWidth, gapHeight = 1000, 20, 12

// A gap is what an application or a driver leaves unwritten. none leaves nothing.
type gap int

const (
	none         gap = iota
	bufferPart       // an application updates a part of a buffer
	texturePart      // an application updates a part of a texture
	shortPacket      // a driver makes a COPY shorter
	shortSurface     // a driver makes a COPY_2D narrower or lower
	gaps
)

// opOf returns the packets of which a driver with a mistake makes one smaller.
func (g gap) opOf() uint8 {
	return map[gap]uint8{shortPacket: pkt.OpCopy, shortSurface: pkt.OpCopy2D}[g]
}

// shrink makes one of the first two packets of a kind smaller.
func (g gap) shrink(b []byte, r *rand.Rand) {
	skip := r.IntN(2)
	for len(b) > 0 {
		l, p, rest, err := pkt.Next(b)
		if err != nil {
			return
		}
		switch {
		case l.Op != g.opOf():
		case skip > 0:
			skip--
		case g == shortPacket:
			add32(p, 5, -(4 + 4*r.Uint32N(8)))
			return
		default:
			size := p[4*(1+pkt.Copy2DBody)-4:] // width, height
			i := 2 * r.IntN(2)
			binary.LittleEndian.PutUint16(size[i:], binary.LittleEndian.Uint16(size[i:])-1)
			return
		}
		b = rest
	}
}

// work updates a buffer and a texture, copies them, and copies the copies.
func (g gap) work(t *testing.T, s *testbench.System, r *rand.Rand) {
	t.Helper()
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	defer dev.Close()
	var buffers, textures [3]d3d11.Resource
	for i, usage := range []d3d11.Usage{d3d11.UsageDefault, d3d11.UsageDefault, d3d11.UsageStaging} {
		b, v, access := uint32(d3d11.BindVertexBuffer), uint32(d3d11.BindShaderResource), uint32(0)
		if usage == d3d11.UsageStaging {
			b, v, access = 0, 0, d3d11.CPUAccessRead
		}
		buffer, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: gapBytes, Usage: usage, BindFlags: b, CPUAccessFlags: access}, nil)
		require.NoError(t, err)
		defer buffer.Release()
		texture, err := dev.CreateTexture2D(d3d11.Texture2DDesc{
			Width: gapWidth, Height: gapHeight, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm, SampleDesc: dxgi.SampleDesc{Count: 1},
			Usage: usage, BindFlags: v, CPUAccessFlags: access,
		}, nil)
		require.NoError(t, err)
		defer texture.Release()
		buffers[i], textures[i] = buffer, texture
	}
	line := d3d11.Box{Right: gapBytes, Bottom: 1, Back: 1}
	area := d3d11.Box{Right: gapWidth, Bottom: gapHeight, Back: 1}
	switch g {
	case bufferPart:
		cut(&line.Left, &line.Right, r)
	case texturePart:
		cut(&area.Left, &area.Right, r)
		cut(&area.Top, &area.Bottom, r)
	}
	data := make([]byte, 4*gapWidth*gapHeight+gapBytes)
	ctx.UpdateSubresource(buffers[0], 0, &line, data, 0, 0)
	ctx.UpdateSubresource(textures[0], 0, &area, data, 4*gapWidth, 0)
	for i := range 2 {
		ctx.CopySubresourceRegion(buffers[i+1], 0, 0, 0, 0, buffers[i], 0, nil)
		ctx.CopySubresourceRegion(textures[i+1], 0, 0, 0, 0, textures[i], 0, nil)
	}
	ctx.Flush()
}

// cut makes a range shorter at one of its ends.
func cut(from, to *uint32, r *rand.Rand) {
	by := 1 + r.Uint32N((*to-*from)/2)
	if r.IntN(2) == 0 {
		*from += by
	} else {
		*to -= by
	}
}

// gapRules returns the rules that are broken if something is left unwritten.
func gapRules(t *testing.T, g gap, seed uint64) (rules []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 24))
	d := testbench.HostDrivers()
	if g.opOf() != 0 {
		entry := d.KernelMode
		d.KernelMode = func() kmddi.DriverInitializationData {
			table := entry()
			onRender(func(arg kmddi.Render, out *kmddi.RenderOut) { g.shrink(arg.DmaBuffer[:out.DmaBufferUsed], r) })(&table, r)
			return table
		}
	}
	board := [...]string{"emu?vram=64KiB", "emu?config=small&vram=16KiB", "emu?nodes=1&vram=64KiB"}[seed%3]
	s, err := testbench.Open(board, d, testbench.Options{Sanitize: true, Seed: seed})
	require.NoError(t, err)
	g.work(t, s, r)
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())
	for _, f := range s.Findings() {
		rules = append(rules, f.Rule)
	}
	return slices.Compact(rules)
}

// Each read of a part that nobody wrote is named, and no other read.
func TestPlantedUnwritten(t *testing.T) {
	for seed := range uint64(24) {
		g := 1 + gap(seed%uint64(gaps-1))
		assert.Equal(t, []string{"access-unwritten"}, gapRules(t, g, seed), "gap %d, seed %d", g, seed)
		assert.Empty(t, gapRules(t, none, seed), "no gap, seed %d", seed)
	}
}

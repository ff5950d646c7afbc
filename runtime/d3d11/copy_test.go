package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// plain creates a DEFAULT texture with p in subresource 0.
func (b *bench) plain(w, h, mips, layers uint32, f dxgi.Format, p []byte) *Texture2D {
	b.Helper()
	t, err := b.dev.CreateTexture2D(Texture2DDesc{Width: w, Height: h, MipLevels: mips, ArraySize: layers, Format: f,
		SampleDesc: dxgi.SampleDesc{Count: 1}}, nil)
	require.NoError(b, err)
	copy(b.drv.content(t, 0), p)
	return t
}

// each runs f on the immediate context, and on a deferred context whose list is
// then executed.
func (b *bench) each(f func(c *Context)) []func() {
	return []func(){
		func() { f(b.ctx) },
		func() {
			def := b.deferred()
			f(def)
			b.ctx.ExecuteCommandList(b.finish(def, false), true)
		},
	}
}

// TestBoxSequence copies a sequence of boxes on a 4x4 texture. The result was
// worked out by hand.
func TestBoxSequence(t *testing.T) {
	b := newBench(t)
	src := b.plain(4, 4, 1, 1, dxgi.R8UNorm, []byte("abcdefghijklmnop"))
	for _, run := range b.each(func(c *Context) {
		dst := b.plain(4, 4, 1, 1, dxgi.R8UNorm, []byte("................"))
		c.CopySubresourceRegion(dst, 0, 1, 1, 0, src, 0, &Box{Right: 3, Bottom: 3, Back: 1})
		c.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, &Box{Left: 3, Top: 3, Right: 4, Bottom: 4, Back: 1})
		c.CopySubresourceRegion(dst, 0, 0, 3, 0, src, 0, &Box{Left: 1, Top: 1, Right: 2, Bottom: 2, Back: 1})
		c.CopySubresourceRegion(dst, 0, 3, 0, 0, src, 0, &Box{Left: 2, Right: 3, Bottom: 2, Back: 1})
		t.Cleanup(func() { assert.Equal(t, "p..c.abg.efgfijk", string(b.drv.content(dst, 0)), "context %d", c.GetType()) })
	}) {
		run()
	}
}

func TestCopySubresourceRegion(t *testing.T) {
	box := func(l, top, r, bottom uint32) *Box { return &Box{Left: l, Top: top, Right: r, Bottom: bottom, Back: 1} }
	for _, tt := range []struct {
		name           string
		dstSub, srcSub uint32
		x, y, z        uint32
		box            *Box
		want           bool
	}{
		{"all of it", 0, 0, 0, 0, 0, nil, true},
		{"to a position", 0, 0, 2, 1, 0, box(0, 0, 2, 3), true},
		{"all of it at another position", 0, 0, 1, 0, 0, nil, false},
		{"one texel too far right", 0, 0, 3, 0, 0, box(0, 0, 2, 1), false},
		{"one texel too far down", 0, 0, 0, 3, 0, box(0, 0, 1, 2), false},
		{"in the next slice", 0, 0, 0, 0, 1, box(0, 0, 1, 1), false},
		{"far outside", 0, 0, ^uint32(0), 0, 0, box(0, 0, 2, 1), false},
		{"a box outside the source", 0, 0, 0, 0, 0, box(3, 0, 5, 1), false},
		{"a box under the source", 0, 0, 0, 0, 0, box(0, 3, 1, 5), false},
		{"a box past the source", 0, 0, 0, 0, 0, &Box{Right: 1, Bottom: 1, Back: 2}, false},
		{"an empty box", 0, 0, 0, 0, 0, box(1, 1, 1, 2), false},
		{"an empty box, by rows", 0, 0, 0, 0, 0, box(1, 1, 2, 1), false},
		{"an empty box, by slices", 0, 0, 0, 0, 0, &Box{Right: 1, Bottom: 1}, false},
		{"an inverted box", 0, 0, 0, 0, 0, box(2, 0, 1, 1), false},
		{"another mip", 1, 1, 0, 0, 0, nil, true},
		{"a mip into a larger one", 0, 1, 2, 2, 0, nil, true},
		{"another slice", 2, 0, 0, 0, 0, nil, true},
		{"no such source", 0, 4, 0, 0, 0, nil, false},
		{"no such destination", 4, 0, 0, 0, 0, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst, src := b.plain(4, 4, 2, 2, dxgi.R8UNorm, nil), b.plain(4, 4, 2, 2, dxgi.R8UNorm, nil)
			for i, run := range b.each(func(c *Context) {
				c.CopySubresourceRegion(dst, tt.dstSub, tt.x, tt.y, tt.z, src, tt.srcSub, tt.box)
			}) {
				b.drv.log = nil
				run()
				assert.Equal(t, tt.want, b.drv.count("ResourceCopyRegion") == 1, "context %d", i)
			}
		})
	}
}

func TestCopyInsideAResource(t *testing.T) {
	b := newBench(t)
	tex := b.plain(4, 1, 1, 2, dxgi.R8UNorm, []byte("abcd"))
	left := &Box{Right: 2, Bottom: 1, Back: 1}
	b.ctx.CopySubresourceRegion(tex, 0, 1, 0, 0, tex, 0, left)
	assert.Equal(t, "abcd", string(b.drv.content(tex, 0)), "regions that overlap")
	b.ctx.CopySubresourceRegion(tex, 0, 2, 0, 0, tex, 0, left)
	assert.Equal(t, "abab", string(b.drv.content(tex, 0)))
	b.ctx.CopySubresourceRegion(tex, 1, 0, 0, 0, tex, 0, nil)
	assert.Equal(t, "abab", string(b.drv.content(tex, 1)))
	b.drv.log = nil
	b.ctx.CopyResource(tex, tex)
	assert.Empty(t, b.drv.log)
}

func TestCopyOfNothing(t *testing.T) {
	b, other := newBench(t), newBench(t)
	buf, gone := b.constant(), b.constant()
	gone.Release()
	tex := b.plain(16, 1, 1, 1, dxgi.R8UNorm, nil)
	immutable := b.buffer(UsageImmutable, BindVertexBuffer, 0)
	for name, p := range map[string][2]Resource{
		"NULL source": {buf, nil}, "NULL destination": {nil, buf}, "typed NULL": {buf, (*Buffer)(nil)},
		"released source": {buf, gone}, "released destination": {gone, buf}, "of another device": {buf, other.constant()},
		"a texture to a buffer": {buf, tex}, "a buffer to a texture": {tex, buf}, "to immutable": {immutable, buf},
	} {
		for _, run := range b.each(func(c *Context) {
			c.CopyResource(p[0], p[1])
			c.CopySubresourceRegion(p[0], 0, 0, 0, 0, p[1], 0, nil)
		}) {
			b.drv.log = nil
			run()
			assert.Empty(t, b.drv.log, name)
		}
	}
	b.ctx.CopyResource(buf, immutable)
	assert.Equal(t, []string{"ResourceCopy"}, b.drv.log, "from immutable")
}

func TestCopyResourceShapes(t *testing.T) {
	for _, tt := range []struct {
		name               string
		w, h, mips, layers uint32
		want               bool
	}{
		{"the same", 8, 4, 2, 2, true},
		{"wider", 9, 4, 2, 2, false},
		{"higher", 8, 5, 2, 2, false},
		{"fewer mips", 8, 4, 1, 2, false},
		{"more slices", 8, 4, 2, 3, false},
	} {
		b := newBench(t)
		b.ctx.CopyResource(b.plain(8, 4, 2, 2, dxgi.R8UNorm, nil), b.plain(tt.w, tt.h, tt.mips, tt.layers, dxgi.R8UNorm, nil))
		assert.Equal(t, tt.want, b.drv.count("ResourceCopy") == 1, tt.name)
	}
	b := newBench(t)
	long, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 17}, nil)
	require.NoError(t, err)
	b.ctx.CopyResource(b.constant(), long)
	assert.Zero(t, b.drv.count("ResourceCopy"))
}

func TestCopyFormats(t *testing.T) {
	rgba := []dxgi.Format{dxgi.R8G8B8A8Typeless, dxgi.R8G8B8A8UNorm, dxgi.R8G8B8A8UNormSRGB, dxgi.R8G8B8A8UInt, dxgi.R8G8B8A8SNorm, dxgi.R8G8B8A8SInt}
	rg := []dxgi.Format{dxgi.R16G16Typeless, dxgi.R16G16Float, dxgi.R16G16UNorm, dxgi.R16G16UInt, dxgi.R16G16SNorm, dxgi.R16G16SInt}
	wide := []dxgi.Format{dxgi.R32G32Typeless, dxgi.R32G32Float, dxgi.R32G32UInt, dxgi.R32G32SInt}
	type pair struct {
		dst, src dxgi.Format
		want     bool
	}
	rows := []pair{
		{dxgi.B8G8R8A8UNorm, dxgi.R8G8B8A8UNorm, false},
		{dxgi.R16G16UInt, dxgi.R8G8B8A8UInt, false},
		{dxgi.R32Typeless, dxgi.R16G16Typeless, false},
		{dxgi.R8G8B8A8UNorm, dxgi.R9G9B9E5SharedExp, false},
		{dxgi.B8G8R8A8UNorm, dxgi.R9G9B9E5SharedExp, false},
		{dxgi.R16G16UInt, dxgi.R9G9B9E5SharedExp, false},
		{dxgi.R32Float, dxgi.R9G9B9E5SharedExp, true},
		{dxgi.R32UInt, dxgi.R9G9B9E5SharedExp, true},
		{dxgi.R32SInt, dxgi.R9G9B9E5SharedExp, true},
		{dxgi.R9G9B9E5SharedExp, dxgi.R32UInt, true},
		{dxgi.D32Float, dxgi.R9G9B9E5SharedExp, false},
		{dxgi.R9G9B9E5SharedExp, dxgi.R9G9B9E5SharedExp, true},
		{dxgi.R8UNorm, dxgi.R8UInt, false},
		{dxgi.R8G8B8A8UNorm, dxgi.R32G32Float, false},
	}
	for _, family := range [][]dxgi.Format{rgba, rg, wide} {
		for _, a := range family {
			for _, c := range family {
				rows = append(rows, pair{a, c, true})
			}
		}
	}
	b := newBench(t)
	for _, tt := range rows {
		b.drv.log = nil
		b.ctx.CopyResource(b.plain(1, 1, 1, 1, tt.dst, nil), b.plain(1, 1, 1, 1, tt.src, nil))
		assert.Equal(t, tt.want, b.drv.count("ResourceCopy") == 1, "%v from %v", tt.dst, tt.src)
	}
}

func TestCopyWithoutSupport(t *testing.T) {
	b := newBench(t, func(f *fakeDriver, _ *Config) { f.noFormat[dxgi.R8UNorm] = umddi.FormatCopy })
	b.ctx.CopyResource(b.plain(1, 1, 1, 1, dxgi.R8UNorm, nil), b.plain(1, 1, 1, 1, dxgi.R8UNorm, nil))
	assert.Zero(t, b.drv.count("ResourceCopy"))
}

func TestCopyOfStructures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		dst, src uint32 // strides
		x        uint32
		box      *Box
		want     bool
	}{
		{"the same stride", 8, 8, 0, nil, true},
		{"other strides", 8, 4, 0, nil, false},
		{"from an unstructured buffer", 8, 0, 0, nil, true},
		{"to an unstructured buffer", 0, 8, 4, &Box{Right: 8, Bottom: 1, Back: 1}, true},
		{"an entire structure", 8, 8, 8, &Box{Left: 8, Right: 16, Bottom: 1, Back: 1}, true},
		{"half a structure", 8, 8, 0, &Box{Right: 4, Bottom: 1, Back: 1}, false},
		{"from inside a structure", 0, 8, 0, &Box{Left: 4, Right: 8, Bottom: 1, Back: 1}, false},
		{"to inside a structure", 8, 8, 4, &Box{Right: 8, Bottom: 1, Back: 1}, false},
	} {
		b := newBench(t)
		make := func(stride uint32) *Buffer {
			desc := BufferDesc{ByteWidth: 16}
			if stride != 0 {
				desc = BufferDesc{ByteWidth: 16, BindFlags: BindShaderResource, MiscFlags: MiscBufferStructured, StructureByteStride: stride}
			}
			buf, err := b.dev.CreateBuffer(desc, nil)
			require.NoError(t, err)
			return buf
		}
		b.ctx.CopySubresourceRegion(make(tt.dst), 0, tt.x, 0, 0, make(tt.src), 0, tt.box)
		assert.Equal(t, tt.want, b.drv.count("ResourceCopyRegion") == 1, tt.name)
	}
}

func TestCopyOfDepth(t *testing.T) {
	b := newBench(t)
	depth := func() *Texture2D {
		tex, err := b.dev.CreateTexture2D(Texture2DDesc{Width: 4, Height: 4, MipLevels: 1, ArraySize: 1, Format: dxgi.D32Float,
			SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: BindDepthStencil}, nil)
		require.NoError(t, err)
		return tex
	}
	dst, src := depth(), depth()
	b.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, &Box{Right: 2, Bottom: 4, Back: 1})
	b.ctx.UpdateSubresource(dst, 0, nil, make([]byte, 64), 16, 0)
	assert.Zero(t, b.drv.count("ResourceCopyRegion")+b.drv.count("ResourceUpdateSubresourceUP"))
	b.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, nil)
	assert.Equal(t, 1, b.drv.count("ResourceCopyRegion"))
}

func TestMappedResourceIsNotCopied(t *testing.T) {
	b := newBench(t)
	tex, other := b.stagingTexture(4, 4, 2, dxgi.R8UNorm), b.stagingTexture(4, 4, 2, dxgi.R8UNorm)
	require.NoError(t, b.ctx.Map(tex, 1, MapRead, 0, new(MappedSubresource)))
	b.drv.log = nil
	b.ctx.CopyResource(other, tex)
	b.ctx.CopyResource(tex, other)
	b.ctx.CopySubresourceRegion(tex, 1, 0, 0, 0, other, 1, nil)
	b.ctx.CopySubresourceRegion(other, 1, 0, 0, 0, tex, 1, nil)
	assert.Empty(t, b.drv.log)
	b.ctx.CopySubresourceRegion(tex, 0, 0, 0, 0, other, 0, nil)
	assert.Equal(t, []string{"ResourceCopyRegion"}, b.drv.log, "another subresource")
	b.ctx.Unmap(tex, 1)
	b.ctx.CopyResource(other, tex)
	assert.Equal(t, 1, b.drv.count("ResourceCopy"))
}

func TestMappedOnADeferredContextIsNotCopied(t *testing.T) {
	b := newBench(t)
	vb, buf, def := b.dynamic(BindVertexBuffer), b.constant(), b.deferred()
	require.NoError(t, def.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	def.CopyResource(buf, vb)
	def.CopySubresourceRegion(vb, 0, 0, 0, 0, buf, 0, nil)
	b.ctx.ExecuteCommandList(b.finish(def, false), false)
	assert.Zero(t, b.drv.count("ResourceCopy")+b.drv.count("ResourceCopyRegion"))
}

func TestStagingToDefault(t *testing.T) {
	b := newBench(t)
	s, d := b.staging(CPUAccessWrite), b.constant()
	b.write(b.ctx, s, MapWrite, 0, "written by a CPU")
	b.ctx.CopyResource(d, s)
	assert.Equal(t, "written by a CPU", string(b.drv.content(d, 0)))
	b.ctx.UpdateSubresource(s, 0, nil, ramp(0, 16), 0, 0)
	assert.Equal(t, "written by a CPU", string(b.drv.content(s, 0)), "an update of staging is ignored")
}

func TestClearRenderTargetView(t *testing.T) {
	b := newBench(t)
	tex := b.texture(2, 1, 2, 4, dxgi.R8G8B8A8UNorm)
	middle, err := b.dev.CreateRenderTargetView(tex, &RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 1, ArraySize: 2})
	require.NoError(t, err)
	gone := b.view(tex)
	gone.Release()
	for _, run := range b.each(func(c *Context) {
		c.RSSetScissorRects([]Rect{{Right: 1, Bottom: 1}})
		c.ClearRenderTargetView(nil, [4]float32{1, 1, 1, 1})
		c.ClearRenderTargetView(gone, [4]float32{1, 1, 1, 1})
		c.ClearRenderTargetView(middle, [4]float32{.1, .5, .3, .75})
	}) {
		for i := range uint32(8) {
			clear(b.drv.content(tex, i))
		}
		run()
		for sub := range uint32(8) {
			want := make([]byte, 8)
			if sub%2 == 1 {
				want = make([]byte, 4)
			}
			if sub == 2 || sub == 4 {
				want = []byte{0x1a, 0x80, 0x4d, 0xbf, 0x1a, 0x80, 0x4d, 0xbf}
			}
			assert.Equal(t, want, b.drv.content(tex, sub), "subresource %d", sub)
		}
	}
}

// TestOutOfMemory: when the driver has no memory, a function without a result
// loses its work but not the device.
func TestOutOfMemory(t *testing.T) {
	b := newBench(t)
	buf, src, vb := b.constant(), b.staging(CPUAccessRead), b.dynamic(BindVertexBuffer)
	def := b.deferred()
	b.write(def, vb, MapWriteDiscard, 0, "lost")
	list := b.finish(def, false)
	b.drv.fail["ResourceCopy"] = ddi.EOutOfMemory
	b.drv.fail["DynamicIABufferMapDiscard"] = ddi.EOutOfMemory
	b.ctx.CopyResource(buf, src)
	b.ctx.ExecuteCommandList(list, false)
	check(t, ddi.EOutOfMemory, b.ctx.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	assert.NoError(t, b.dev.GetDeviceRemovedReason())
	assert.Equal(t, make([]byte, 16), b.drv.content(vb, 0))
}

package suite

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

const rgba8 = dxgi.R8G8B8A8UNorm

// clearTo clears mip level 0 of all slices of a texture to one colour.
func (d *d3d) clearTo(c *d3d11.Context, tex *d3d11.Texture2D, color [4]float32) {
	v := d.target(tex, 0, 0, tex.GetDesc().ArraySize)
	c.ClearRenderTargetView(v, color)
	v.Release()
}

var (
	red  = [4]float32{1, 0, 0, 1}
	blue = [4]float32{0, 0, 1, 1}
)

// solid returns n texels of an opaque red or blue.
func solid(color [4]float32, n int) []byte {
	return bytes.Repeat([]byte{byte(255 * color[0]), 0, byte(255 * color[2]), 255}, n)
}

// words returns dwords in little-endian order.
func words(v ...uint32) []byte {
	var p []byte
	for _, w := range v {
		p = binary.LittleEndian.AppendUint32(p, w)
	}
	return p
}

// A sequence of box copies on 4x4 texels. The expected texels were computed by
// hand.
func copyBoxes(t *T) {
	d := newD3D(t)
	src := d.texture(rgba8, 4, 4, 1, 1, d3d11.UsageImmutable, d3d11.BindShaderResource, words(
		0xff0000ff, 0xff00ffff, 0xff00ff00, 0xffffff00,
		0xffff0000, 0xffff00ff, 0xff000000, 0xff7f7f7f,
		0xffffffff, 0xffffffff, 0xffffffff, 0xff000000,
		0xffffffff, 0xff000000, 0xff000000, 0xff000000))
	dst := d.texture(rgba8, 4, 4, 1, 1, d3d11.UsageDefault, d3d11.BindShaderResource, make([]byte, 64))
	b := func(l, t, r, bot uint32) *d3d11.Box {
		return &d3d11.Box{Left: l, Top: t, Right: r, Bottom: bot, Back: 1}
	}
	d.ctx.CopySubresourceRegion(dst, 0, 1, 1, 0, src, 0, b(0, 0, 2, 2))
	d.ctx.CopySubresourceRegion(dst, 0, 1, 1, 0, src, 0, b(1, 2, 4, 3))
	d.ctx.CopySubresourceRegion(dst, 0, 0, 3, 0, src, 0, b(0, 3, 4, 4))
	d.ctx.CopySubresourceRegion(dst, 0, 3, 0, 0, src, 0, b(3, 0, 4, 2))
	d.ctx.CopySubresourceRegion(dst, 0, 3, 2, 0, src, 0, b(3, 2, 4, 4))
	want := words(
		0x00000000, 0x00000000, 0x00000000, 0xffffff00,
		0x00000000, 0xffffffff, 0xffffffff, 0xff7f7f7f,
		0x00000000, 0xffff0000, 0xffff00ff, 0xff000000,
		0xffffffff, 0xff000000, 0xff000000, 0xff000000)
	same(t, want, d.texels(dst, 0), "boxes are copied in order, each after the one before")

	// None of these has an effect.
	d.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, b(2, 2, 2, 3))
	d.ctx.CopySubresourceRegion(dst, 0, 1, 0, 0, src, 0, nil)
	d.ctx.CopySubresourceRegion(dst, 0, 0, 0, 1, src, 0, nil)
	d.ctx.CopySubresourceRegion(dst, 0, math.MaxUint32, 0, 0, src, 0, b(0, 0, 1, 1))
	d.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, b(3, 3, 5, 4))
	d.ctx.CopySubresourceRegion(dst, 1, 0, 0, 0, src, 0, nil)
	d.ctx.CopySubresourceRegion(nil, 0, 0, 0, 0, src, 0, nil)
	d.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, nil, 0, nil)
	d.ctx.CopySubresourceRegion(src, 0, 0, 0, 0, dst, 0, nil)
	same(t, want, d.texels(dst, 0), "an empty box, a box outside of its resource, a missing resource and an immutable destination have no effect")
	d.ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, nil)
	same(t, d.texels(src, 0), d.texels(dst, 0), "a copy without a box copies the entire subresource")
}

// Copies within a typeless family keep the bits. Other copies between formats are
// ignored.
func copyBetweenFormats(t *T) {
	d := newD3D(t)
	for _, tt := range []struct {
		from, to dxgi.Format
		copies   bool
	}{
		{dxgi.R8G8B8A8Typeless, rgba8, true},
		{rgba8, dxgi.R8G8B8A8UNormSRGB, true},
		{dxgi.R8G8B8A8UNormSRGB, dxgi.R8G8B8A8UInt, true},
		{dxgi.R8G8B8A8UInt, dxgi.R8G8B8A8SNorm, true},
		{dxgi.R8G8B8A8SNorm, dxgi.R8G8B8A8SInt, true},
		{dxgi.R16G16Typeless, dxgi.R16G16Float, true},
		{dxgi.R32G32Typeless, dxgi.R32G32SInt, true},
		{dxgi.R9G9B9E5SharedExp, dxgi.R32UInt, true},
		{rgba8, dxgi.B8G8R8A8UNorm, false},
		{dxgi.R8G8B8A8UInt, dxgi.R16G16UInt, false},
		{dxgi.R16G16Typeless, dxgi.R32Typeless, false},
		{dxgi.R9G9B9E5SharedExp, rgba8, false},
		{dxgi.R9G9B9E5SharedExp, dxgi.R16G16UInt, false},
	} {
		info, _ := tt.from.Info()
		n := 6 * info.Bytes
		src := d.texture(tt.from, 3, 2, 1, 1, d3d11.UsageDefault, 0, count(100, n))
		dst := d.texture(tt.to, 3, 2, 1, 1, d3d11.UsageDefault, 0, count(0, n))
		want := count(0, n)
		if tt.copies {
			want = count(100, n)
		}
		d.ctx.CopyResource(dst, src)
		same(t, want, d.texels(dst, 0), "CopyResource from %v to %v: copies the bits within a family: %v", tt.from, tt.to, tt.copies)
	}
}

// Clears convert to the format, clear exactly the view's slices and level, and
// ignore the viewport.
func clears(t *T) {
	d := newD3D(t)
	d.ctx.RSSetViewports([]d3d11.Viewport{{Width: 1, Height: 1, MaxDepth: 1}})
	d.ctx.RSSetScissorRects([]d3d11.Rect{{Right: 1, Bottom: 1}})
	color := [4]float32{.1, .5, .3, .75}
	for _, tt := range []struct {
		f    dxgi.Format
		want uint32
	}{
		{rgba8, 0xbf4c7f19}, {dxgi.R8G8B8A8UNormSRGB, 0xbf95bc59}, {dxgi.B8G8R8A8UNorm, 0xbf197f4c},
	} {
		tex := d.texture(tt.f, 5, 3, 1, 1, d3d11.UsageDefault, d3d11.BindRenderTarget)
		d.clearTo(d.ctx, tex, color)
		near(t, bytes.Repeat(words(tt.want), 15), d.texels(tex, 0), 1, "a clear of %v to %v rounds each component to the nearest value", tt.f, color)
	}
	one := func(f dxgi.Format, color [4]float32) []byte {
		tex := d.texture(f, 1, 1, 1, 1, d3d11.UsageDefault, d3d11.BindRenderTarget)
		d.clearTo(d.ctx, tex, color)
		return d.texels(tex, 0)
	}
	inf := float32(math.Inf(1))
	same(t, []byte{0, 255, 0, 255}, one(rgba8, [4]float32{float32(math.NaN()), 7, -3, inf}), "UNORM: NaN is 0, and values are clamped to 0..1")
	same(t, words(math.Float32bits(-.25)), one(dxgi.R32Float, [4]float32{-.25}), "FLOAT: the value is kept")
	same(t, words(4_000_000_000), one(dxgi.R32UInt, [4]float32{4e9}), "UINT: the value is rounded to an integer")
	same(t, []byte{0x00, 0x3c, 0x00, 0xc0}, one(dxgi.R16G16Float, [4]float32{1, -2}), "half FLOAT: the value is rounded to the nearest")
	same(t, []byte{0x81, 0x7f, 0, 127}, one(dxgi.R8G8B8A8SNorm, [4]float32{-1, 1, 0, 2}), "SNORM: values are clamped to -1..1, and -1 is -127")
	same(t, []byte{51}, one(dxgi.A8UNorm, [4]float32{1, 1, 1, .2}), "A8: alpha is the only component")

	data := make([][]byte, 15)
	for i := range data {
		data[i] = make([]byte, 4*max(1, 6>>(i%3))*max(1, 5>>(i%3)))
	}
	tex := d.texture(rgba8, 6, 5, 3, 5, d3d11.UsageDefault, d3d11.BindRenderTarget, data...)
	v := d.target(tex, 1, 1, 3)
	d.ctx.ClearRenderTargetView(v, red)
	d.ctx.ClearRenderTargetView(nil, blue)
	for i := range data {
		want := data[i]
		if slice := i / 3; i%3 == 1 && slice >= 1 && slice <= 3 {
			want = solid(red, len(want)/4)
		}
		same(t, want, d.texels(tex, uint32(i)), "a clear changes the slices and the level of its view only: subresource %d", i)
	}
}

// A list reads contents when it executes, any number of times, in the order of
// execution, nested or not. Recording has no effect.
func listsOnTheGPU(t *T) {
	d := newD3D(t)
	tex := func() *d3d11.Texture2D {
		return d.texture(rgba8, 8, 8, 1, 1, d3d11.UsageDefault, d3d11.BindRenderTarget, make([]byte, 256))
	}
	a, b, c := tex(), tex(), tex()
	def, outer := d.deferred(), d.deferred()
	d.clearTo(d.ctx, a, red)
	def.CopyResource(b, a)
	inner := d.finish(def, false)
	outer.ExecuteCommandList(inner, true)
	outer.CopyResource(c, b) // reads what the inner list wrote
	nested := d.finish(outer, false)
	inner.Release()
	same(t, make([]byte, 256), d.texels(b, 0), "recording executes nothing")
	d.clearTo(d.ctx, a, blue)
	d.ctx.ExecuteCommandList(nested, false)
	same(t, solid(blue, 64), d.texels(c, 0), "a nested list reads what the first wrote, when it executes")
	d.clearTo(d.ctx, a, red)
	d.ctx.ExecuteCommandList(nested, false)
	same(t, solid(red, 64), d.texels(c, 0), "a list that executes again reads the contents of then")

	d.clearTo(def, a, red)
	first := d.finish(def, false)
	d.clearTo(def, a, blue)
	second := d.finish(def, true)
	d.ctx.ExecuteCommandList(second, true)
	d.ctx.ExecuteCommandList(first, true)
	same(t, solid(red, 64), d.texels(a, 0), "lists take effect in the order of execution, not of recording")
}

// The restore flags of Finish and Execute.
func restoreFlags(t *T) {
	d := newD3D(t)
	cb := d.buffer(d3d11.UsageDefault, d3d11.BindConstantBuffer, count(0, 16))
	bound := func(c *d3d11.Context) bool {
		var got [1]*d3d11.Buffer
		c.PSGetConstantBuffers(0, got[:])
		return got[0] == cb
	}
	def := d.deferred()
	d.ctx.PSSetConstantBuffers(0, []*d3d11.Buffer{cb})
	assert.False(t, bound(def), "a deferred context begins without state")
	def.PSSetConstantBuffers(0, []*d3d11.Buffer{cb})
	d.finish(def, true)
	assert.True(t, bound(def), "FinishCommandList(TRUE) keeps the state of the context")
	l := d.finish(def, false)
	assert.False(t, bound(def), "FinishCommandList(FALSE) clears the state of the context")
	for _, c := range []*d3d11.Context{d.ctx, def} {
		c.PSSetConstantBuffers(0, []*d3d11.Buffer{cb})
		c.ExecuteCommandList(l, true)
		assert.True(t, bound(c), "ExecuteCommandList(TRUE) restores the state of the context")
		c.ExecuteCommandList(l, false)
		assert.False(t, bound(c), "ExecuteCommandList(FALSE) clears the state of the context")
	}
}

// Memory that a deferred context maps belongs to the list: it becomes visible when
// the list executes, at each execution.
func discardInAList(t *T) {
	d := newD3D(t)
	dyn := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, count(0, 64))
	x := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(1, 64))
	y := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(1, 64))
	def := d.deferred()
	m := d3d11.MappedSubresource{RowPitch: 7, DepthPitch: 8}
	assert.ErrorIs(t, def.Map(dyn, 0, d3d11.MapWriteNoOverwrite, 0, &m), ddi.D3D11MapNoDiscard, "the first map of a buffer in a list is a discard, so NO_OVERWRITE fails with D3D11_ERROR_DEFERRED_CONTEXT_MAP_WITHOUT_INITIAL_DISCARD")
	assert.Equal(t, d3d11.MappedSubresource{RowPitch: 7, DepthPitch: 8}, m, "a Map that fails leaves its result unchanged")
	def.CopyResource(x, dyn)
	d.write(def, dyn, d3d11.MapWriteDiscard, count(50, 64))
	d.write(def, dyn, d3d11.MapWriteNoOverwrite, count(90, 32))
	def.CopyResource(y, dyn)
	l := d.finish(def, false)
	same(t, count(0, 64), d.contents(dyn), "recording a discard changes no contents")
	for _, first := range []int{30, 130} {
		d.write(d.ctx, dyn, d3d11.MapWriteDiscard, count(first, 64))
		d.ctx.ExecuteCommandList(l, false)
		same(t, count(first, 64), d.contents(x), "a copy before the discard reads the contents from before the list")
		same(t, slices.Concat(count(90, 32), count(82, 32)), d.contents(y), "NO_OVERWRITE after the discard adds to the memory of the list")
		same(t, d.contents(y), d.contents(dyn), "the buffer keeps the contents of the discard after the list")
	}
}

// A discard neither waits for nor changes data that the GPU has yet to read.
func renaming(t *T) {
	d := newD3D(t)
	dyn := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, count(0, 64))
	all := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64*64))
	var want []byte
	for i := range 64 {
		typ := d3d11.MapWriteNoOverwrite
		if i%8 == 0 {
			typ = d3d11.MapWriteDiscard
		}
		var m d3d11.MappedSubresource
		require.NoError(t, d.ctx.Map(dyn, 0, typ, 0, &m), "Map(type %d) of a dynamic buffer succeeds, and does not wait for the GPU", typ)
		at := uint32(i % 8 * 8)
		copy(m.Data[at:], count(3*i, 8))
		want = append(want, count(3*i, 8)...)
		if i%5 == 0 {
			d.ctx.Flush() // recorded commands may be flushed while it is mapped
		}
		d.ctx.Unmap(dyn, 0)
		d.ctx.CopySubresourceRegion(all, 0, uint32(8*i), 0, 0, dyn, 0, &d3d11.Box{Left: at, Right: at + 8, Bottom: 1, Back: 1})
	}
	same(t, want, d.contents(all)[:512], "each copy reads what was mapped before it, although later discards and writes follow at once")
}

func stagingMaps(t *T) {
	d := newD3D(t)
	var m d3d11.MappedSubresource
	tex := d.texture(rgba8, 512, 512, 1, 1, d3d11.UsageStaging, 0)
	require.NoError(t, d.ctx.Map(tex, 0, d3d11.MapReadWrite, 0, &m), "Map(READ_WRITE) of a staging texture succeeds")
	assert.EqualValues(t, 2048, m.RowPitch, "the row pitch of 512 texels of 4 bytes has no padding")
	assert.EqualValues(t, 1048576, m.DepthPitch, "the depth pitch is the size of the rows")
	assert.ErrorIs(t, d.ctx.Map(tex, 0, d3d11.MapReadWrite, 0, &m), ddi.EInvalidArg, "Map of a mapped subresource returns E_INVALIDARG")
	assert.Nil(t, m.Data, "a Map that fails returns no memory")
	assert.EqualValues(t, 2048, m.RowPitch, "a call that fails leaves its result unchanged")
	d.ctx.Unmap(tex, 0)
	assert.ErrorIs(t, d.ctx.Map(tex, 1, d3d11.MapRead, 0, &m), ddi.EInvalidArg, "Map of a subresource that does not exist returns E_INVALIDARG")
	buf := d.buffer(d3d11.UsageStaging, 0, count(0, 100))
	require.NoError(t, d.ctx.Map(buf, 0, d3d11.MapWrite, 0, &m), "Map(WRITE) of a staging buffer succeeds")
	assert.EqualValues(t, []uint32{100, 100}, []uint32{m.RowPitch, m.DepthPitch}, "the pitches of a buffer are its size")
	copy(m.Data, count(40, 100))
	other := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(0, 100))
	d.ctx.CopyResource(other, buf) // ignored: the source is mapped
	d.ctx.Unmap(buf, 0)
	same(t, count(0, 100), d.contents(other), "a copy from a mapped resource is ignored")
	d.ctx.UpdateSubresource(buf, 0, nil, make([]byte, 100), 0, 0)
	same(t, count(40, 100), d.read(buf, 0, 100, 1), "an update of a staging buffer is ignored")
}

// A map with DO_NOT_WAIT and a query return busy until the GPU is done. Polling is
// enough to complete the work.
func pollingInsteadOfWaiting(t *T) {
	d := newD3D(t)
	src := d.texture(rgba8, 64, 16, 1, 1, d3d11.UsageStaging, 0, count(9, 4096))
	dst := d.texture(rgba8, 64, 16, 1, 1, d3d11.UsageStaging, 0, make([]byte, 4096))
	q, err := d.dev.CreateQuery(&d3d11.QueryDesc{Query: d3d11.QueryEvent})
	require.NoError(t, err, "CreateQuery succeeds for an event")
	data := []byte{0xaa, 0xaa, 0xaa, 0xaa}
	assert.ErrorIs(t, d.ctx.GetData(q, data, 0), ddi.DXGIInvalidCall, "GetData of a query without End returns DXGI_ERROR_INVALID_CALL")
	def := d.deferred()
	def.CopyResource(dst, src)
	def.End(q)
	l := d.finish(def, false)
	assert.ErrorIs(t, d.ctx.GetData(q, data, 0), ddi.DXGIInvalidCall, "GetData of a query whose End is in a list that was not executed returns DXGI_ERROR_INVALID_CALL")
	d.ctx.ExecuteCommandList(l, false)
	for range 3 { // nothing is submitted: a loop until done would not end
		assert.ErrorIs(t, d.ctx.GetData(q, data, d3d11.GetDataDoNotFlush), ddi.False, "GetData(DONOTFLUSH) returns S_FALSE while the work is not submitted")
	}
	m := d3d11.MappedSubresource{RowPitch: 5}
	require.ErrorIs(t, d.ctx.Map(dst, 0, d3d11.MapRead, d3d11.MapDoNotWait, &m), ddi.DXGIStillDrawing, "Map(DO_NOT_WAIT) of a texture that the GPU writes returns DXGI_ERROR_WAS_STILL_DRAWING, and submits the work")
	assert.Equal(t, d3d11.MappedSubresource{RowPitch: 5}, m, "a Map that fails leaves its result unchanged")
	assert.ErrorIs(t, d.ctx.GetData(q, data, 0), ddi.False, "GetData returns S_FALSE right after the submission")
	same(t, []byte{0xaa, 0xaa, 0xaa, 0xaa}, data, "a call that fails leaves its result unchanged")
	for n := 0; ; n++ {
		err := d.ctx.GetData(q, data, 0)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, ddi.False, "GetData returns S_FALSE until the work is done")
		require.Less(t, n, 1_000_000, "GetData returns S_OK after finitely many calls: polling completes the work")
	}
	same(t, words(1), data, "the data of an event is TRUE")
	require.NoError(t, d.ctx.Map(dst, 0, d3d11.MapRead, d3d11.MapDoNotWait, &m), "Map(DO_NOT_WAIT) succeeds: the copy precedes the query, which is done")
	same(t, count(9, 4096), m.Data[:4096], "the copy before the query is complete")
	d.ctx.Unmap(dst, 0)
}

// Present copies the back buffer as it is at the call, after all earlier work.
func present(t *T) {
	d := newD3D(t)
	chain, err := d.dev.CreateSwapChain(d3d11.SwapChainDesc{Width: 30, Height: 20, Format: rgba8, BufferCount: 1})
	require.NoError(t, err, "CreateSwapChain succeeds")
	back, err := chain.GetBuffer(0)
	require.NoError(t, err, "GetBuffer(0) succeeds")
	primary, err := chain.GetPrimary()
	require.NoError(t, err, "GetPrimary succeeds")
	for _, color := range [][4]float32{red, blue} {
		d.clearTo(d.ctx, back, color)
		require.NoError(t, chain.Present(0, 0), "Present succeeds")
		d.clearTo(d.ctx, back, [4]float32{})
		require.NoError(t, chain.Present(0, d3d11.PresentTest), "Present(TEST) succeeds, and shows nothing")
		same(t, solid(color, 600), d.texels(primary, 0), "the primary shows the back buffer as it was at Present")
	}
}

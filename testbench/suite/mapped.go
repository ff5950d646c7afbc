package suite

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// A list is refused only for what the API forbids: not because it copies from a
// staging buffer that is mapped for reading, but because it maps a dynamic buffer
// that is mapped. Its effect on the state is the same.
func executeWhileMapped(t *T) {
	d := newD3D(t)
	cb := d.buffer(d3d11.UsageDefault, d3d11.BindConstantBuffer, count(0, 16))
	from, to := d.buffer(d3d11.UsageStaging, 0, count(3, 64)), d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	dyn := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, count(0, 64))
	def := d.deferred()
	def.CopyResource(to, from)
	copies := d.finish(def, false)
	d.write(def, dyn, d3d11.MapWriteDiscard, count(9, 64))
	def.CopyResource(to, dyn)
	maps := d.finish(def, false)

	var m d3d11.MappedSubresource
	require.NoError(t, d.ctx.Map(from, 0, d3d11.MapRead, 0, &m), "Map(READ) of a staging buffer succeeds")
	d.ctx.ExecuteCommandList(copies, false)
	same(t, count(3, 64), m.Data[:64], "the mapped memory does not change while it is mapped")
	d.ctx.Unmap(from, 0)
	same(t, count(3, 64), d.contents(to), "a list may copy from a staging buffer that is mapped for reading")

	require.NoError(t, d.ctx.Map(dyn, 0, d3d11.MapWriteDiscard, 0, &m), "Map(DISCARD) succeeds")
	for _, restore := range []bool{true, false} {
		d.ctx.PSSetConstantBuffers(0, []*d3d11.Buffer{cb})
		d.ctx.ExecuteCommandList(maps, restore)
		var got [1]*d3d11.Buffer
		d.ctx.PSGetConstantBuffers(0, got[:])
		assert.Equal(t, restore, got[0] == cb, "a refused list leaves the state that RestoreContextState asks for: %v", restore)
	}
	d.ctx.Unmap(dyn, 0)
	same(t, count(3, 64), d.contents(to), "a list that discards a mapped buffer is refused, and has no effect")
	d.ctx.ExecuteCommandList(maps, false)
	same(t, count(9, 64), d.contents(to), "the list executes after Unmap")
}

// A list that has discarded a dynamic buffer may continue to fill it, also after a copy
// to it and after a list that discards it.
func noOverwriteInAList(t *T) {
	d := newD3D(t)
	dyn, src := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, count(0, 64)), d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(100, 64))
	copyTo := func(c *d3d11.Context, x, n uint32) {
		c.CopySubresourceRegion(dyn, 0, x, 0, 0, src, 0, &d3d11.Box{Right: n, Bottom: 1, Back: 1})
	}
	more := func(c *d3d11.Context, at int, data []byte) {
		var m d3d11.MappedSubresource
		require.NoError(t, c.Map(dyn, 0, d3d11.MapWriteNoOverwrite, 0, &m), "Map(NO_OVERWRITE) of a buffer that the list has discarded succeeds")
		copy(m.Data[at:], data)
		c.Unmap(dyn, 0)
	}
	other, def := d.deferred(), d.deferred()
	d.write(other, dyn, d3d11.MapWriteDiscard, count(200, 16))
	copyTo(other, 16, 8)
	inner := d.finish(other, false)

	d.write(def, dyn, d3d11.MapWriteDiscard, count(1, 8))
	copyTo(def, 32, 4)
	more(def, 8, count(50, 4))
	first := d.finish(def, false)
	d.write(def, dyn, d3d11.MapWriteDiscard, count(1, 8))
	def.ExecuteCommandList(inner, true)
	more(def, 40, count(60, 4))
	copyTo(def, 60, 4)
	more(def, 44, count(70, 4))
	second := d.finish(def, false)

	want := func(parts map[int][]byte) []byte {
		p := make([]byte, 64)
		for at, part := range parts {
			copy(p[at:], part)
		}
		return p
	}
	for range 2 {
		d.ctx.ExecuteCommandList(first, false)
		same(t, want(map[int][]byte{0: count(1, 8), 8: count(50, 4), 32: count(100, 4)}), d.contents(dyn), "the list keeps its discard, the copy and the addition")
		d.ctx.ExecuteCommandList(second, false)
		same(t, want(map[int][]byte{0: count(200, 16), 16: count(100, 8), 40: count(60, 4), 44: count(70, 4), 60: count(100, 4)}), d.contents(dyn), "the list keeps what the inner list left, and its own additions")
		d.ctx.ExecuteCommandList(inner, false)
		same(t, want(map[int][]byte{0: count(200, 16), 16: count(100, 8)}), d.contents(dyn), "a list that was executed in another has not changed")
	}
}

// Each map begins at a multiple of 16 bytes: of each subresource, of sizes and pitches
// that are no multiples of 16, and of memory that belongs to a list.
func mapAlignment(t *T) {
	d := newD3D(t)
	aligned := func(c *d3d11.Context, r d3d11.Resource, sub uint32, typ d3d11.MapType, what string) {
		var m d3d11.MappedSubresource
		require.NoError(t, c.Map(r, sub, typ, 0, &m), "Map(type %d) of %s succeeds", typ, what)
		at := fmt.Sprintf("%p", m.Data)
		assert.Equal(t, "0", at[len(at)-1:], "the last hexadecimal digit of the address of subresource %d of %s, mapped with type %d", sub, what, typ)
		c.Unmap(r, sub)
	}
	for _, f := range []dxgi.Format{rgba8, dxgi.R8UNorm} {
		tex := d.texture(f, 5, 3, 3, 3, d3d11.UsageStaging, 0)
		for sub := range uint32(9) {
			for _, typ := range []d3d11.MapType{d3d11.MapRead, d3d11.MapWrite} {
				aligned(d.ctx, tex, sub, typ, fmt.Sprintf("a staging texture of 5 x 3, 3 mip levels and 3 slices in %v", f))
			}
		}
		aligned(d.ctx, d.texture(f, 5, 3, 1, 1, d3d11.UsageDynamic, d3d11.BindShaderResource), 0, d3d11.MapWriteDiscard, "a dynamic texture of 5 x 3")
	}
	def := d.deferred()
	for n := 1; n <= 3; n++ {
		bytes := count(n, n)
		aligned(d.ctx, d.buffer(d3d11.UsageStaging, 0, bytes), 0, d3d11.MapRead, fmt.Sprintf("a staging buffer of %d bytes", n))
		dyn := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, bytes)
		for _, typ := range []d3d11.MapType{d3d11.MapWriteDiscard, d3d11.MapWriteNoOverwrite} {
			aligned(d.ctx, dyn, 0, typ, fmt.Sprintf("a dynamic buffer of %d bytes", n))
			aligned(def, dyn, 0, typ, fmt.Sprintf("a dynamic buffer of %d bytes in a list", n))
		}
	}
	d.ctx.ExecuteCommandList(d.finish(def, false), false)
}

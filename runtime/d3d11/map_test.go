package d3d11

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// stagingTexture creates a texture with read and write CPU access.
func (b *bench) stagingTexture(w, h, mips uint32, f dxgi.Format) *Texture2D {
	b.Helper()
	t, err := b.dev.CreateTexture2D(Texture2DDesc{Width: w, Height: h, MipLevels: mips, ArraySize: 1, Format: f,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: UsageStaging, CPUAccessFlags: CPUAccessRead | CPUAccessWrite}, nil)
	require.NoError(b, err)
	return t
}

func (b *bench) dynamicTexture() *Texture2D {
	b.Helper()
	t, err := b.dev.CreateTexture2D(Texture2DDesc{Width: 3, Height: 2, MipLevels: 1, ArraySize: 1, Format: dxgi.R8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: UsageDynamic, BindFlags: BindShaderResource, CPUAccessFlags: CPUAccessWrite}, nil)
	require.NoError(b, err)
	return t
}

// TestMapTable tries every map type on each kind of resource.
func TestMapTable(t *testing.T) {
	const (
		r  = 1 << MapRead
		w  = 1 << MapWrite
		rw = 1 << MapReadWrite
		d  = 1 << MapWriteDiscard
		no = 1 << MapWriteNoOverwrite
	)
	b := newBench(t)
	for _, tt := range []struct {
		name                string
		res                 Resource
		immediate, deferred int // allowed map types; a deferred context has no discarded memory yet
	}{
		{"default", b.constant(), 0, 0},
		{"immutable", b.buffer(UsageImmutable, BindVertexBuffer, 0), 0, 0},
		{"staging, read", b.staging(CPUAccessRead), r, 0},
		{"staging, write", b.staging(CPUAccessWrite), w, 0},
		{"staging, both", b.staging(CPUAccessRead | CPUAccessWrite), r | w | rw, 0},
		{"staging texture", b.stagingTexture(4, 4, 1, dxgi.R8UNorm), r | w | rw, 0},
		{"dynamic vertex buffer", b.dynamic(BindVertexBuffer), d | no, d},
		{"dynamic index buffer", b.dynamic(BindIndexBuffer), d | no, d},
		{"dynamic constant buffer", b.dynamic(BindConstantBuffer), d, d},
		{"dynamic shader resource", b.dynamic(BindShaderResource), d, d},
		{"dynamic vertex buffer and shader resource", b.dynamic(BindVertexBuffer | BindShaderResource), d, d},
		{"dynamic texture", b.dynamicTexture(), d, d},
	} {
		for typ := MapType(0); typ <= MapWriteNoOverwrite+1; typ++ {
			for i, c := range []*Context{b.ctx, b.deferred()} {
				allowed := []int{tt.immediate, tt.deferred}[i]
				want := ddi.EInvalidArg
				if allowed&(1<<typ) != 0 {
					want = ddi.OK
				} else if i == 1 && typ == MapWriteNoOverwrite && tt.immediate&no != 0 {
					want = ddi.D3D11MapNoDiscard
				}
				out := MappedSubresource{Data: []byte{1}, RowPitch: 7, DepthPitch: 8}
				check(t, want, c.Map(tt.res, 0, typ, 0, &out), "%s type %d context %d", tt.name, typ, i)
				if want != ddi.OK {
					assert.Equal(t, MappedSubresource{Data: nil, RowPitch: 7, DepthPitch: 8}, out, "only Data changes")
				} else {
					assert.NotNil(t, out.Data)
					c.Unmap(tt.res, 0)
				}
			}
		}
	}
}

func TestMapArguments(t *testing.T) {
	b, other := newBench(t), newBench(t)
	staging, vb := b.staging(CPUAccessRead), b.dynamic(BindVertexBuffer)
	gone := b.staging(CPUAccessRead)
	gone.Release()
	out := new(MappedSubresource)
	for _, tt := range []struct {
		name string
		res  Resource
		sub  uint32
		typ  MapType
		flag MapFlags
		out  *MappedSubresource
		want ddi.HRESULT
	}{
		{"no resource", nil, 0, MapRead, 0, out, ddi.EInvalidArg},
		{"NULL", (*Buffer)(nil), 0, MapRead, 0, out, ddi.EInvalidArg},
		{"released", gone, 0, MapRead, 0, out, ddi.EInvalidArg},
		{"a resource of another device", other.staging(CPUAccessRead), 0, MapRead, 0, out, ddi.EInvalidArg},
		{"no result pointer", staging, 0, MapRead, 0, nil, ddi.EInvalidArg},
		{"subresource 1 of a buffer", staging, 1, MapRead, 0, out, ddi.EInvalidArg},
		{"subresource 1 of a texture", b.stagingTexture(4, 4, 1, dxgi.R8UNorm), 1, MapRead, 0, out, ddi.EInvalidArg},
		{"subresource 1 of two", b.stagingTexture(4, 4, 2, dxgi.R8UNorm), 1, MapRead, 0, out, ddi.OK},
		{"an unknown flag", staging, 0, MapRead, 1, out, ddi.EInvalidArg},
		{"do not wait", staging, 0, MapRead, MapDoNotWait, out, ddi.OK},
		{"twice", staging, 0, MapRead, 0, out, ddi.EInvalidArg},
		{"do not wait to discard", vb, 0, MapWriteDiscard, MapDoNotWait, out, ddi.EInvalidArg},
		{"do not wait to append", vb, 0, MapWriteNoOverwrite, MapDoNotWait, out, ddi.EInvalidArg},
	} {
		check(t, tt.want, b.ctx.Map(tt.res, tt.sub, tt.typ, tt.flag, tt.out), tt.name)
	}
}

func TestMapPitches(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name       string
		res        Resource
		row, depth uint32
	}{
		{"a buffer", b.staging(CPUAccessRead), 16, 16},
		{"512x512 RGBA8", b.stagingTexture(512, 512, 1, dxgi.R8G8B8A8UNorm), 2048, 1048576},
	} {
		var out MappedSubresource
		require.NoError(t, b.ctx.Map(tt.res, 0, MapRead, 0, &out))
		assert.Equal(t, tt.row, out.RowPitch, tt.name)
		assert.Equal(t, tt.depth, out.DepthPitch, tt.name)
		assert.Len(t, out.Data, int(tt.depth), tt.name)
		b.ctx.Unmap(tt.res, 0)
	}
}

func TestMapFunctions(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		res  Resource
		typ  MapType
		want []string
	}{
		{b.staging(CPUAccessWrite), MapWrite, []string{"StagingResourceMap", "StagingResourceUnmap"}},
		{b.dynamic(BindVertexBuffer), MapWriteDiscard, []string{"DynamicIABufferMapDiscard", "DynamicIABufferUnmap"}},
		{b.dynamic(BindIndexBuffer), MapWriteNoOverwrite, []string{"DynamicIABufferMapNoOverwrite", "DynamicIABufferUnmap"}},
		{b.dynamic(BindConstantBuffer), MapWriteDiscard, []string{"DynamicConstantBufferMapDiscard", "DynamicConstantBufferUnmap"}},
		{b.dynamic(BindShaderResource), MapWriteDiscard, []string{"DynamicResourceMapDiscard", "DynamicResourceUnmap"}},
		{b.dynamicTexture(), MapWriteDiscard, []string{"DynamicResourceMapDiscard", "DynamicResourceUnmap"}},
	} {
		b.drv.log = nil
		require.NoError(t, b.ctx.Map(tt.res, 0, tt.typ, 0, new(MappedSubresource)))
		b.ctx.Unmap(tt.res, 0)
		b.ctx.Unmap(tt.res, 0)
		assert.Equal(t, tt.want, b.drv.log)
	}
}

func TestStagingReadsBackWhatWasWritten(t *testing.T) {
	b := newBench(t)
	tex := b.stagingTexture(3, 2, 1, dxgi.R8UNorm)
	var out MappedSubresource
	require.NoError(t, b.ctx.Map(tex, 0, MapWrite, 0, &out))
	copy(out.Data, "abc")
	copy(out.Data[out.RowPitch:], "def")
	b.ctx.Unmap(tex, 0)
	assert.Equal(t, "abcdef", string(b.drv.content(tex, 0)))
	require.NoError(t, b.ctx.Map(tex, 0, MapRead, 0, &out))
	assert.Equal(t, "def", string(out.Data[out.RowPitch:][:3]))
}

func TestMapOfABusyResource(t *testing.T) {
	b := newBench(t)
	s := b.staging(CPUAccessRead)
	b.drv.fail["StagingResourceMap"] = ddi.DDIStillDrawing
	out := MappedSubresource{Data: []byte{1}, RowPitch: 5}
	check(t, ddi.DXGIStillDrawing, b.ctx.Map(s, 0, MapRead, MapDoNotWait, &out))
	assert.Equal(t, MappedSubresource{RowPitch: 5}, out)
	clear(b.drv.fail)
	check(t, ddi.OK, b.ctx.Map(s, 0, MapRead, 0, &out), "it is not mapped")
}

func TestDriverMapsTooLittle(t *testing.T) {
	b := newBench(t)
	s := b.staging(CPUAccessRead)
	res := b.drv.resources[id(&s.obj)]
	res.arg.MipInfoList[0].TexelWidth = 15
	check(t, ddi.DXGIDeviceRemoved, b.ctx.Map(s, 0, MapRead, 0, new(MappedSubresource)))
	check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
	clear(res.maps)
}

// write maps r with typ on c and copies p to offset off.
func (b *bench) write(c *Context, r Resource, typ MapType, off int, p string) []byte {
	b.Helper()
	var out MappedSubresource
	require.NoError(b, c.Map(r, 0, typ, 0, &out))
	copy(out.Data[off:], p)
	c.Unmap(r, 0)
	return out.Data
}

func TestDeferredMap(t *testing.T) {
	b := newBench(t)
	vb, copied := b.dynamic(BindVertexBuffer), b.buffer(UsageDefault, BindVertexBuffer, 0)
	b.write(b.ctx, vb, MapWriteDiscard, 0, "................")
	def := b.deferred()
	var out MappedSubresource
	check(t, ddi.D3D11MapNoDiscard, def.Map(vb, 0, MapWriteNoOverwrite, 0, &out))
	first := b.write(def, vb, MapWriteDiscard, 0, "0123456789abcdef")
	for _, typ := range []MapType{MapRead, MapWrite, MapReadWrite} {
		check(t, ddi.EInvalidArg, def.Map(vb, 0, typ, 0, &out), "also after a DISCARD")
	}
	require.NoError(t, def.Map(vb, 0, MapWriteNoOverwrite, 0, &out))
	assert.Same(t, &first[0], &out.Data[0], "the same memory")
	assert.Equal(t, "0123456789abcdef", string(out.Data))
	assert.EqualValues(t, 16, out.RowPitch)
	assert.EqualValues(t, 16, out.DepthPitch)
	check(t, ddi.EInvalidArg, def.Map(vb, 0, MapWriteNoOverwrite, 0, new(MappedSubresource)), "it is mapped")
	check(t, ddi.EInvalidArg, def.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource)), "it is mapped")
	copy(out.Data[4:], "XY")
	def.Unmap(vb, 0)
	b.write(def, vb, MapWriteNoOverwrite, 8, "Z")
	def.CopyResource(copied, vb)
	second := b.write(def, vb, MapWriteDiscard, 0, "second")
	assert.NotSame(t, &first[0], &second[0])
	list := b.finish(def, false)
	assert.Equal(t, "................", string(b.drv.content(vb, 0)), "nothing before it executes")
	for range 2 {
		b.write(b.ctx, vb, MapWriteDiscard, 0, "----------------")
		b.ctx.ExecuteCommandList(list, false)
		assert.Equal(t, "0123XY67Z9abcdef", string(b.drv.content(copied, 0)))
		assert.Equal(t, "second\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", string(b.drv.content(vb, 0)))
	}
	check(t, ddi.D3D11MapNoDiscard, def.Map(vb, 0, MapWriteNoOverwrite, 0, &out), "the next list needs a discard again")
}

func TestDeferredMapOfATexture(t *testing.T) {
	b := newBench(t)
	tex, def := b.dynamicTexture(), b.deferred()
	var out MappedSubresource
	require.NoError(t, def.Map(tex, 0, MapWriteDiscard, 0, &out))
	copy(out.Data, "abc")
	copy(out.Data[out.RowPitch:], "def")
	b.ctx.ExecuteCommandList(b.finish(def, false), false)
	assert.Equal(t, "abcdef", string(b.drv.content(tex, 0)), "Finish unmaps")
}

func TestDeferredMemoryIsAligned(t *testing.T) {
	b := newBench(t)
	def := b.deferred()
	for _, n := range []uint32{1, 3, 16, 17, 70000, 65535, 65535, 5} {
		vb, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: n, Usage: UsageDynamic, BindFlags: BindVertexBuffer,
			CPUAccessFlags: CPUAccessWrite}, nil)
		require.NoError(t, err)
		var out MappedSubresource
		require.NoError(t, def.Map(vb, 0, MapWriteDiscard, 0, &out))
		assert.Len(t, out.Data, int(n))
		assert.Regexp(t, "0$", fmt.Sprintf("%p", &out.Data[0]), "a multiple of 16")
	}
}

func TestUnmapOnAnotherContext(t *testing.T) {
	b := newBench(t)
	vb, def := b.dynamic(BindVertexBuffer), b.deferred()
	var out MappedSubresource
	require.NoError(t, b.ctx.Map(vb, 0, MapWriteDiscard, 0, &out))
	def.Unmap(vb, 0)
	assert.Zero(t, b.drv.count("DynamicIABufferUnmap"))
	copy(out.Data, "still mapped")
	b.ctx.Unmap(nil, 0)
	b.ctx.Unmap(vb, 1)
	b.ctx.Unmap(b.constant(), 0)
	b.ctx.Unmap(vb, 0)
	assert.Equal(t, "still mapped", string(b.drv.content(vb, 0)[:12]))
}

// TestNoOverwriteAfterDiscard: MapWriteNoOverwrite is legal after a discard in
// the same list, also after a copy to the buffer, and after a list that discards
// it. What it writes is there after the execution, beside what the copy and the
// list have written.
func TestNoOverwriteAfterDiscard(t *testing.T) {
	b := newBench(t)
	vb, src := b.dynamic(BindVertexBuffer), b.constant()
	inner := b.deferred()
	check(t, ddi.D3D11MapNoDiscard, inner.Map(vb, 0, MapWriteNoOverwrite, 0, new(MappedSubresource)))
	b.write(inner, vb, MapWriteDiscard, 0, "inner")
	inner.CopySubresourceRegion(vb, 0, 12, 0, 0, src, 0, &Box{Right: 4, Bottom: 1, Back: 1})
	list := b.finish(inner, false)
	inner.ExecuteCommandList(list, true)
	check(t, ddi.D3D11MapNoDiscard, inner.Map(vb, 0, MapWriteNoOverwrite, 0, new(MappedSubresource)), "the list's discard")
	nest := b.finish(inner, false)
	for name, tt := range map[string]struct {
		do   func(*Context)
		seen string // the memory of the map
		want string // the content after the execution, of which 0 to 3 are the source
	}{
		"nothing": {func(*Context) {}, "outer\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "outer\x00\x00!!\x00\x00\x00\x00\x00\x00\x00"},
		"a copy of a region": {func(c *Context) {
			c.CopySubresourceRegion(vb, 0, 0, 0, 0, src, 0, &Box{Right: 4, Bottom: 1, Back: 1})
		}, "outer\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x01\x02\x03r\x00\x00!!\x00\x00\x00\x00\x00\x00\x00"},
		"a list that maps it": {func(c *Context) { c.ExecuteCommandList(list, true) },
			"inner\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "inner\x00\x00!!\x00\x00\x00\x00\x01\x02\x03"},
		"a nest that maps it": {func(c *Context) { c.ExecuteCommandList(nest, false) },
			"inner\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "inner\x00\x00!!\x00\x00\x00\x00\x01\x02\x03"},
	} {
		def := b.deferred()
		b.write(def, vb, MapWriteDiscard, 0, "outer")
		tt.do(def)
		for range 2 {
			var m MappedSubresource
			require.NoError(t, def.Map(vb, 0, MapWriteNoOverwrite, 0, &m), name)
			assert.Equal(t, tt.seen, strings.ReplaceAll(string(m.Data), "!", "\x00"), name)
			copy(m.Data[7:], "!!")
			def.Unmap(vb, 0)
		}
		l := b.finish(def, false)
		for range 2 {
			b.ctx.ExecuteCommandList(l, false)
			assert.Equal(t, tt.want, string(b.drv.content(vb, 0)), name)
			b.write(b.ctx, vb, MapWriteDiscard, 0, "between")
		}
		b.ctx.ExecuteCommandList(list, false)
		assert.Equal(t, "inner\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03", string(b.drv.content(vb, 0)), "the inner list has not changed")
	}
}

func TestDiscardedMemoryIsClear(t *testing.T) {
	b := newBench(t)
	vb, def := b.dynamic(BindVertexBuffer), b.deferred()
	b.write(def, vb, MapWriteDiscard, 0, "of an earlier on")
	b.finish(def, false).Release()
	b.finish(def, false).Release()
	var out MappedSubresource
	require.NoError(t, def.Map(vb, 0, MapWriteDiscard, 0, &out))
	assert.Equal(t, make([]byte, 16), out.Data)
}

package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A dropped is a call without a result that has no effect, and its message.
type dropped struct {
	call func(b *bench, o *objects, c *Context)
	want string
	id   MessageID
}

// drops has calls that are dropped on immediate and deferred contexts.
func drops() []dropped {
	box := func(l, r uint32) *Box { return &Box{Left: l, Right: r, Bottom: 1, Back: 1} }
	return []dropped{
		{func(b *bench, o *objects, c *Context) { c.CopyResource(o.cb, nil) }, "CopyResource: dropped: SrcResource is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) { c.CopyResource(o.cb, o.cb) }, "CopyResource: dropped: SrcResource is DstResource", 284},
		{func(b *bench, o *objects, c *Context) { c.CopyResource(o.cb, o.tex) },
			"CopyResource: dropped: one resource is a buffer and the other a texture", 284},
		{func(b *bench, o *objects, c *Context) {
			c.CopyResource(b.texture(4, 4, 1, 1, dxgi.R16G16Float), o.tex)
		}, "CopyResource: dropped: SrcResource has format R8G8B8A8_UNORM, which cannot be copied to R16G16_FLOAT", 284},
		{func(b *bench, o *objects, c *Context) {
			c.CopyResource(b.texture(4, 2, 1, 1, dxgi.R8G8B8A8UNorm), o.tex)
		},
			"CopyResource: dropped: SrcResource has 4 x 4 elements, 1 mip levels and 1 slices, DstResource 4 x 2, 1 and 1", 284},
		{func(b *bench, o *objects, c *Context) {
			c.CopyResource(b.buffer(UsageImmutable, BindVertexBuffer, 0), o.cb)
		}, "CopyResource: dropped: DstResource is immutable", 285},
		{func(b *bench, o *objects, c *Context) { c.CopySubresourceRegion(o.cb, 1, 0, 0, 0, o.staging, 0, nil) },
			"CopySubresourceRegion: dropped: DstSubresource is 1, want less than 1", 278},
		{func(b *bench, o *objects, c *Context) { c.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 2, nil) },
			"CopySubresourceRegion: dropped: SrcSubresource is 2, want less than 1", 279},
		{func(b *bench, o *objects, c *Context) {
			c.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 0, box(3, 3))
		},
			"CopySubresourceRegion: dropped: pSrcBox is empty: (3,0,0)-(3,1,1)", 0x30015e},
		{func(b *bench, o *objects, c *Context) {
			c.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 0, box(3, 17))
		},
			"CopySubresourceRegion: dropped: pSrcBox is (3,0,0)-(17,1,1), want it in (0,0,0)-(16,1,1)", 280},
		{func(b *bench, o *objects, c *Context) {
			c.CopySubresourceRegion(o.cb, 0, 9, 0, 0, o.staging, 0, box(0, 8))
		},
			"CopySubresourceRegion: dropped: (0,0,0)-(8,1,1) at DstX 9, DstY 0, DstZ 0 does not fit in (0,0,0)-(16,1,1)", 280},
		{func(b *bench, o *objects, c *Context) { c.CopySubresourceRegion(o.cb, 0, 1, 0, 0, o.cb, 0, box(0, 2)) },
			"CopySubresourceRegion: dropped: source (0,0,0)-(2,1,1) and destination (1,0,0)-(3,1,1) overlap in subresource 0", 281},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(nil, 0, nil, nil, 0, 0) },
			"UpdateSubresource: dropped: DstResource is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.cb, 1, nil, ramp(0, 16), 0, 0) },
			"UpdateSubresource: dropped: DstSubresource is 1, want less than 1", 287},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.staging, 0, nil, ramp(0, 16), 0, 0) },
			"UpdateSubresource: dropped: Usage of DstResource is 3, want 0", 289},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.cb, 0, box(0, 8), ramp(0, 16), 0, 0) },
			"UpdateSubresource: dropped: pDstBox is (0,0,0)-(8,1,1), want all of a constant buffer, (0,0,0)-(16,1,1)", 288},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.tex, 0, box(2, 2), ramp(0, 64), 16, 0) },
			"UpdateSubresource: dropped: pDstBox is empty: (2,0,0)-(2,1,1)", 0x30015d},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.tex, 0, box(2, 5), ramp(0, 64), 16, 0) },
			"UpdateSubresource: dropped: pDstBox is (2,0,0)-(5,1,1), want it in (0,0,0)-(4,4,1)", 288},
		{func(b *bench, o *objects, c *Context) { c.UpdateSubresource(o.tex, 0, nil, ramp(0, 63), 16, 0) },
			"UpdateSubresource: dropped: pSrcData has 63 bytes, want 64 for 4 rows with a pitch of 16", MessageInvalidArgument},
		{func(b *bench, o *objects, c *Context) { c.ClearRenderTargetView(nil, [4]float32{}) },
			"ClearRenderTargetView: dropped: RenderTargetView is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) { c.Unmap(o.vb, 0) }, "Unmap: dropped: subresource 0 is not mapped", 0x200042},
		{func(b *bench, o *objects, c *Context) { c.Unmap(o.vb, 7) }, "Unmap: dropped: Subresource is 7, want less than 1", 0x200041},
		{func(b *bench, o *objects, c *Context) { c.Unmap(nil, 0) }, "Unmap: dropped: Resource is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) { c.Begin(o.query) }, "Begin: dropped: Async is a query of type 0, which has no Begin", 405},
		{func(b *bench, o *objects, c *Context) { c.Begin(nil) }, "Begin: dropped: Async is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) { c.End(nil) }, "End: dropped: Async is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) {
			p := b.predicate()
			b.ctx.End(p)
			c.SetPredication(p, true)
			c.Begin(p)
		}, "Begin: dropped: Async is the predicate of the context", 406},
		{func(b *bench, o *objects, c *Context) {
			p := b.predicate()
			b.ctx.End(p)
			c.SetPredication(p, true)
			c.End(p)
		}, "End: dropped: Async is the predicate of the context", 409},
		{func(b *bench, o *objects, c *Context) { c.SetPredication(o.query, true) },
			"SetPredication: dropped: Predicate is a query of type 0, want 5 or 7", 404},
		{func(b *bench, o *objects, c *Context) {
			p := b.predicate()
			c.Begin(p)
			c.SetPredication(p, true)
		}, "SetPredication: dropped: Predicate is begun and not ended", 404},
		{func(b *bench, o *objects, c *Context) { c.IASetPrimitiveTopology(6) },
			"IASetPrimitiveTopology: dropped: Topology is 6, want 0 to 5, 10 to 13 or 33 to 64", 236},
		{func(b *bench, o *objects, c *Context) {
			c.IASetVertexBuffers(31, make([]*Buffer, 2), make([]uint32, 2), make([]uint32, 2))
		},
			"IASetVertexBuffers: dropped: StartSlot is 31 for 2 slots, want at least 1 slot below 32", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) {
			c.IASetVertexBuffers(0, make([]*Buffer, 2), make([]uint32, 1), make([]uint32, 2))
		},
			"IASetVertexBuffers: dropped: there are 1 strides and 2 offsets, want 2, as many as buffers", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) {
			c.IASetVertexBuffers(0, []*Buffer{o.vb}, []uint32{2049}, []uint32{0})
		},
			"IASetVertexBuffers: dropped: stride 0 is 2049, want at most 2048", MessageInvalidArgument},
		{func(b *bench, o *objects, c *Context) {
			c.IASetVertexBuffers(0, []*Buffer{o.cb}, []uint32{4}, []uint32{0})
		},
			"IASetVertexBuffers: dropped: BindFlags of buffer 0 is 0x4, want the flag 0x1", 238},
		{func(b *bench, o *objects, c *Context) {
			c.IAGetVertexBuffers(32, make([]*Buffer, 1), make([]uint32, 1), make([]uint32, 1))
		},
			"IAGetVertexBuffers: dropped: StartSlot is 32 for 1 slots, want at least 1 slot below 32", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) { c.IASetIndexBuffer(o.cb, dxgi.R32UInt, 0) },
			"IASetIndexBuffer: dropped: BindFlags of the buffer is 0x4, want the flag 0x2", 241},
		{func(b *bench, o *objects, c *Context) { c.IASetIndexBuffer(nil, dxgi.R8UNorm, 0) },
			"IASetIndexBuffer: dropped: Format is R8_UNORM (61), want R16_UINT or R32_UINT", MessageInvalidArgument},
		{func(b *bench, o *objects, c *Context) { c.HSSetConstantBuffers(0, []*Buffer{o.cb, o.vb}) },
			"HSSetConstantBuffers: dropped: BindFlags of buffer 1 is 0x1, want the flag 0x4", 0x20001f},
		{func(b *bench, o *objects, c *Context) { c.PSGetConstantBuffers(14, make([]*Buffer, 1)) },
			"PSGetConstantBuffers: dropped: StartSlot is 14 for 1 slots, want at least 1 slot below 14", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) { c.OMSetRenderTargets(make([]*RenderTargetView, 9)) },
			"OMSetRenderTargets: dropped: NumViews is 9, want at most 8", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) { c.RSSetViewports(make([]Viewport, 17)) },
			"RSSetViewports: dropped: NumViewports is 17, want at most 16", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) { c.RSSetViewports([]Viewport{{Width: -1}}) },
			"RSSetViewports: dropped: viewport 0 is {0 0 -1 0 0 0}, want sizes of at least 0 and depths from 0 to 1", 259},
		{func(b *bench, o *objects, c *Context) { c.RSSetScissorRects(make([]Rect, 17)) },
			"RSSetScissorRects: dropped: NumRects is 17, want at most 16", MessageInvalidSlots},
		{func(b *bench, o *objects, c *Context) { c.ExecuteCommandList(nil, false) },
			"ExecuteCommandList: dropped: CommandList is nil", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) {
			o.list.Release()
			c.ExecuteCommandList(o.list, false)
		}, "ExecuteCommandList: dropped: CommandList was released", MessageInvalidObject},
		{func(b *bench, o *objects, c *Context) {
			if c.SwapDeviceContextState(nil); c.deferred {
				return
			}
			b.dev.InfoQueue().ClearStoredMessages()
			o.def.SwapDeviceContextState(o.state)
		}, "SwapDeviceContextState: dropped: the context is deferred, want the immediate one", MessageInvalidState},
		{func(b *bench, o *objects, c *Context) {
			o.cb.Release()
			c.UpdateSubresource(o.cb, 0, nil, ramp(0, 16), 0, 0)
		}, "UpdateSubresource: dropped: DstResource was released", MessageInvalidObject},
	}
}

// TestDroppedCalls: each call without a result that has no effect adds one
// message with call, argument, value and limit.
func TestDroppedCalls(t *testing.T) {
	for _, tt := range drops() {
		for _, deferred := range []bool{false, true} {
			b := newBench(t, predicated)
			o := newObjects(b)
			c := b.ctx
			if deferred {
				c = o.def
			}
			tt.call(b, o, c)
			m := b.last()
			assert.Equal(t, Message{m.Category, SeverityError, tt.id, tt.want}, m, "deferred %v", deferred)
			assert.EqualValues(t, 1, b.dev.InfoQueue().NumStoredMessages(), "%s: deferred %v", tt.want, deferred)
			assert.NoError(t, b.dev.GetDeviceRemovedReason())
		}
	}
}

// TestDroppedExecution: the message of a list that is not executed tells why.
func TestDroppedExecution(t *testing.T) {
	b := newBench(t, predicated)
	dyn, x, def := b.dynamic(BindVertexBuffer), b.buffer(UsageDefault, BindVertexBuffer, 0), b.deferred()
	p := b.predicate()
	b.write(def, dyn, MapWriteDiscard, 0, "x")
	def.CopyResource(x, dyn)
	copies := b.finish(def, false)
	def.End(p)
	queries := b.finish(def, false)
	require.NoError(t, b.ctx.Map(dyn, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	b.ctx.ExecuteCommandList(copies, false)
	assert.Equal(t, Message{CategoryExecution, SeverityError, MessageExecuteCommandListMapped,
		"ExecuteCommandList: dropped: the list maps a resource that the context has mapped"}, b.last())
	b.ctx.Begin(p)
	b.ctx.ExecuteCommandList(queries, false)
	assert.Equal(t, Message{CategoryExecution, SeverityError, MessageExecuteCommandListActiveQuery,
		"ExecuteCommandList: dropped: the list uses a query of type 5 that is active"}, b.last())
}

// TestDroppedByTheDriver: work that the driver drops on the immediate context,
// where no result can tell, adds a message.
func TestDroppedByTheDriver(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	for function, tt := range map[string]struct {
		call string
		do   func()
	}{
		"ResourceCopy":                {"CopyResource", func() { b.ctx.CopyResource(o.cb, b.constant()) }},
		"ResourceCopyRegion":          {"CopySubresourceRegion", func() { b.ctx.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 0, nil) }},
		"ResourceUpdateSubresourceUP": {"UpdateSubresource", func() { b.ctx.UpdateSubresource(o.cb, 0, nil, ramp(0, 16), 0, 0) }},
		"ClearRenderTargetView":       {"ClearRenderTargetView", func() { b.ctx.ClearRenderTargetView(o.rtv, [4]float32{}) }},
	} {
		b.drv.fail[function] = ddi.EOutOfMemory
		tt.do()
		assert.Equal(t, Message{CategoryResourceManipulation, SeverityError, MessageDriverFailed,
			tt.call + ": dropped: pfn" + function + " reported E_OUTOFMEMORY"}, b.last())
	}
	def := b.deferred()
	require.NoError(t, def.Map(o.vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	l := b.finish(def, false)
	b.drv.fail["DynamicIABufferMapDiscard"] = ddi.EOutOfMemory
	b.ctx.ExecuteCommandList(l, false)
	assert.Equal(t, "ExecuteCommandList: dropped: pfnDynamicIABufferMapDiscard reported E_OUTOFMEMORY", b.last().Description)
	assert.NoError(t, b.dev.GetDeviceRemovedReason())
}

// TestPredicationWithoutSupport: a driver without pfnSetPredication makes no
// difference for nil, and drops the rest.
func TestPredicationWithoutSupport(t *testing.T) {
	b := newBench(t)
	b.ctx.SetPredication(nil, false)
	assert.Zero(t, b.dev.InfoQueue().NumStoredMessages())
	b.ctx.SetPredication(newObjects(b).query, false)
	assert.Equal(t, "SetPredication: dropped: the driver does not support predication: pfnSetPredication is nil", b.last().Description)
}

// TestStaleReferences: a reference too few is a message of the worst severity.
func TestStaleReferences(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	o.cb.Release()
	assert.Zero(t, o.cb.Release())
	assert.Equal(t, Message{CategoryCleanup, SeverityCorruption, MessageCorruptedThis,
		"Release: dropped: the application has no reference to the *d3d11.Buffer"}, b.last())
	o.list.Release()
	assert.Zero(t, o.list.AddRef())
	assert.Equal(t, "AddRef: dropped: the application has no reference to the *d3d11.CommandList", b.last().Description)
}

// TestSuccessLeavesNoMessage: the calls of a whole frame add no message.
func TestSuccessLeavesNoMessage(t *testing.T) {
	b := newBench(t, predicated)
	o := newObjects(b)
	for _, c := range []*Context{b.ctx, o.def} {
		c.IASetPrimitiveTopology(TopologyTriangleList)
		c.OMSetRenderTargets([]*RenderTargetView{o.rtv})
		c.RSSetViewports([]Viewport{{Width: 4, Height: 4, MaxDepth: 1}})
		c.IASetIndexBuffer(nil, dxgi.Unknown, 0)
		c.UpdateSubresource(o.cb, 0, nil, ramp(0, 16), 0, 0)
		require.NoError(t, c.Map(o.vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
		c.Unmap(o.vb, 0)
		c.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.vb, 0, &umddi.Box{Right: 16, Bottom: 1, Back: 1})
		c.ClearState()
	}
	b.ctx.ExecuteCommandList(b.finish(o.def, true), true)
	assert.Zero(t, b.dev.InfoQueue().NumMessagesAllowedByStorageFilter())
}

package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// rgba describes a render target of the given size.
func rgba(w, h, mips, layers uint32) Texture2DDesc {
	return Texture2DDesc{Width: w, Height: h, MipLevels: mips, ArraySize: layers, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: BindRenderTarget}
}

// A refused is a failing call, the text of its error and the ID of its message.
type refused struct {
	call func(*bench, *objects) error
	want string
	id   MessageID
}

func refusedBuffer(desc BufferDesc, init *SubresourceData, want string, id MessageID) refused {
	return refused{func(b *bench, _ *objects) error { _, err := b.dev.CreateBuffer(desc, init); return err },
		"CreateBuffer: E_INVALIDARG: " + want, id}
}

func refusedTexture(change func(*Texture2DDesc), want string, id MessageID) refused {
	desc := rgba(8, 8, 1, 1)
	change(&desc)
	return refused{func(b *bench, _ *objects) error { _, err := b.dev.CreateTexture2D(desc, nil); return err },
		"CreateTexture2D: E_INVALIDARG: " + want, id}
}

func refusedView(desc RTVDesc, want string, id MessageID) refused {
	return refused{func(b *bench, o *objects) error { _, err := b.dev.CreateRenderTargetView(o.tex, &desc); return err },
		"CreateRenderTargetView: E_INVALIDARG: " + want, id}
}

func refusedMap(typ MapType, sub uint32, flags MapFlags, resource func(*objects) Resource, want string, id MessageID) refused {
	return refused{func(b *bench, o *objects) error {
		return b.ctx.Map(resource(o), sub, typ, flags, new(MappedSubresource))
	}, "Map: E_INVALIDARG: " + want, id}
}

// refusals has the numbers of the limits from d3d11.h and the documents of the
// functions.
func refusals() []refused {
	staging := func(o *objects) Resource { return o.staging }
	dynamic := func(o *objects) Resource { return o.vb }
	vertex := func(o *objects) Resource { return o.cb }
	return []refused{
		refusedBuffer(BufferDesc{}, nil, "ByteWidth is 0, want 1 to 2147483648", 66),
		refusedBuffer(BufferDesc{ByteWidth: 4, BindFlags: 0x40}, nil, "BindFlags is 0x40, want bits of 0x13f", 60),
		refusedBuffer(BufferDesc{ByteWidth: 4, Usage: 7}, nil, "Usage is 7, want 0 to 3", 59),
		refusedBuffer(BufferDesc{ByteWidth: 4, CPUAccessFlags: 1}, nil, "CPUAccessFlags is 0x1, want bits of 0x30000", 61),
		refusedBuffer(BufferDesc{ByteWidth: 4, CPUAccessFlags: CPUAccessRead}, nil, "CPUAccessFlags is 0x20000, want 0 for usage 0", 63),
		refusedBuffer(BufferDesc{ByteWidth: 4, Usage: UsageDynamic}, nil, "BindFlags is 0x0, want flags of 0xf for usage 2", 64),
		refusedBuffer(BufferDesc{ByteWidth: 4, Usage: UsageStaging, BindFlags: 1}, nil, "BindFlags is 0x1, want 0 for usage 3", 64),
		refusedBuffer(BufferDesc{ByteWidth: 24, BindFlags: BindConstantBuffer}, nil,
			"ByteWidth of a constant buffer is 24, want a multiple of 16 up to 65536", 66),
		refusedBuffer(BufferDesc{ByteWidth: 16, BindFlags: BindConstantBuffer | BindVertexBuffer}, nil,
			"BindFlags is 0x5, want a constant buffer to have no flag but 0x4", 72),
		refusedBuffer(BufferDesc{ByteWidth: 16, BindFlags: BindShaderResource, MiscFlags: MiscBufferStructured, StructureByteStride: 12}, nil,
			"StructureByteStride is 12, want a multiple of 4 up to 2048 that divides ByteWidth 16", 0x2000bb),
		refusedBuffer(BufferDesc{ByteWidth: 16, MiscFlags: MiscBufferAllowRawViews}, nil,
			"BindFlags is 0x0, want a flag of 0x108 for a buffer with raw views", 68),
		refusedBuffer(BufferDesc{ByteWidth: 6, BindFlags: BindShaderResource, MiscFlags: MiscBufferAllowRawViews}, nil,
			"ByteWidth is 6, want a multiple of 4 for a buffer with raw views", 68),
		refusedBuffer(BufferDesc{ByteWidth: 4, BindFlags: BindVertexBuffer, MiscFlags: MiscBufferStructured, StructureByteStride: 4}, nil,
			"BindFlags is 0x1, want flags of 0x108 for a structured buffer", 68),
		refusedBuffer(BufferDesc{ByteWidth: 4, MiscFlags: 1}, nil, "MiscFlags is 0x1, want 0, 0x20 or 0x40", 62),
		refusedBuffer(BufferDesc{ByteWidth: 4, Usage: UsageImmutable, BindFlags: 1}, nil,
			"InitialData is nil, want data for an immutable resource", 65),
		refusedBuffer(BufferDesc{ByteWidth: 4}, &SubresourceData{SysMem: make([]byte, 3)}, "SysMem of subresource 0 has 3 bytes, want 4", 65),
		refusedTexture(func(d *Texture2DDesc) { d.Width = 20000 }, "Width is 20000, want 1 to 16384", 101),
		refusedTexture(func(d *Texture2DDesc) { d.Height = 0 }, "Height is 0, want 1 to 16384", 101),
		refusedTexture(func(d *Texture2DDesc) { d.ArraySize = 2049 }, "ArraySize is 2049, want 1 to 2048", 101),
		refusedTexture(func(d *Texture2DDesc) { d.MipLevels = 5 }, "MipLevels is 5, want at most 4 for 8 x 8 texels", 102),
		refusedTexture(func(d *Texture2DDesc) { d.SampleDesc.Count = 4 }, "SampleDesc is {4, 0}, want {1, 0}", 93),
		refusedTexture(func(d *Texture2DDesc) { d.MiscFlags = MiscTextureCube; d.ArraySize = 5 },
			"a cube has ArraySize 5 and 8 x 8 texels, want a multiple of 6 and a square", 103),
		refusedTexture(func(d *Texture2DDesc) { d.MiscFlags = 1 }, "MiscFlags is 0x1, want 0 or 0x4", 97),
		refusedTexture(func(d *Texture2DDesc) { d.Format = 200 }, "Format is UNKNOWN (200), want one that a 2D texture can have", 92),
		refusedTexture(func(d *Texture2DDesc) { d.BindFlags = BindVertexBuffer }, "BindFlags is 0x1, want bits of 0x168", 95),
		refusedTexture(func(d *Texture2DDesc) { d.Usage = 7 }, "Usage is 7, want 0 to 3", 94),
		refusedTexture(func(d *Texture2DDesc) { d.Usage = UsageStaging }, "BindFlags is 0x20, want 0 for usage 3", 99),
		refusedTexture(func(d *Texture2DDesc) { d.BindFlags = BindDepthStencil },
			"BindFlags is 0x40, which format R8G8B8A8_UNORM does not support", 99),
		refusedTexture(func(d *Texture2DDesc) { d.Width, d.Height, d.ArraySize = 16384, 16384, 3 },
			"the size is 3221225472 bytes, want at most 2147483648", 101),
		refusedView(RTVDesc{ViewDimension: 1}, "ViewDimension is 1, want 4 or 5", 135),
		refusedView(RTVDesc{ViewDimension: RTVTexture2D, MipSlice: 1}, "MipSlice is 1, want less than 1", 137),
		refusedView(RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 3}, "FirstArraySlice is 3, want less than 1", 137),
		refusedView(RTVDesc{ViewDimension: RTVTexture2DArray, ArraySize: 2}, "ArraySize is 2, want 1 to 1", 137),
		refusedView(RTVDesc{ViewDimension: RTVTexture2D, Format: dxgi.R8G8B8A8SNorm},
			"Format is R8G8B8A8_SNORM, which a view of R8G8B8A8_UNORM cannot have", 136),
		{func(b *bench, o *objects) error { _, err := b.dev.CreateRenderTargetView(o.cb, nil); return err },
			"CreateRenderTargetView: E_INVALIDARG: Resource is a buffer, want a 2D texture", 138},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateRenderTargetView(nil, nil); return err },
			"CreateRenderTargetView: E_INVALIDARG: Resource is nil", 138},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateQuery(&QueryDesc{Query: 4}); return err },
			"CreateQuery: E_INVALIDARG: Query is 4, which is not supported", 232},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateQuery(nil); return err }, "CreateQuery: E_INVALIDARG: QueryDesc is nil", 235},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateQuery(&QueryDesc{MiscFlags: 2}); return err },
			"CreateQuery: E_INVALIDARG: MiscFlags is 0x2, want 0 or 0x1", 233},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateQuery(&QueryDesc{MiscFlags: 1}); return err },
			"CreateQuery: E_INVALIDARG: MiscFlags is 0x1, want 0 for query type 0", 234},
		{func(b *bench, o *objects) error { _, err := b.dev.CreatePredicate(&QueryDesc{}); return err },
			"CreatePredicate: E_INVALIDARG: Query is 0, want 5 or 7", 232},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateDeferredContext(2); return err },
			"CreateDeferredContext: E_INVALIDARG: ContextFlags is 0x2, want 0", 0x200009},
		{func(b *bench, o *objects) error { _, err := b.dev.CreateDeviceContextState(2); return err },
			"CreateDeviceContextState: E_INVALIDARG: Flags is 0x2, want 0 or 1", 0x300016},
		{func(b *bench, o *objects) error {
			_, err := b.dev.CreateSwapChain(SwapChainDesc{BufferCount: 2, Format: dxgi.R8G8B8A8UNorm})
			return err
		},
			"CreateSwapChain: E_INVALIDARG: BufferCount is 2, want 1 to 1", MessageInvalidArgument},
		{func(b *bench, o *objects) error {
			_, err := b.dev.CreateSwapChain(SwapChainDesc{Width: 20000, Height: 1, BufferCount: 1, Format: dxgi.R8G8B8A8UNorm})
			return err
		}, "CreateSwapChain: E_INVALIDARG: Width is 20000, want 1 to 16384", 101},
		{func(b *bench, o *objects) error { return o.chain.Present(5, 0) },
			"Present: DXGI_ERROR_INVALID_CALL: SyncInterval is 5, want 0 to 4", MessageInvalidArgument},
		{func(b *bench, o *objects) error { return o.chain.Present(0, 2) },
			"Present: DXGI_ERROR_INVALID_CALL: Flags is 0x2, want 0 or 0x1", MessageInvalidArgument},
		{func(b *bench, o *objects) error { _, err := o.chain.GetBuffer(1); return err },
			"GetBuffer: E_INVALIDARG: Buffer is 1, want 0 to 0", MessageInvalidArgument},
		{func(b *bench, o *objects) error { _, err := b.dev.CheckFormatSupport(200); return err },
			"CheckFormatSupport: E_FAIL: Format is UNKNOWN (200), which is not supported", 0x2000f9},
		{func(b *bench, o *objects) error {
			_, err := b.dev.CheckMultisampleQualityLevels(dxgi.R8G8B8A8UNorm, 0)
			return err
		}, "CheckMultisampleQualityLevels: E_FAIL: SampleCount is 0, want at least 1", MessageInvalidArgument},
		{func(b *bench, o *objects) error {
			_, err := b.texture(8, 8, 2, 1, dxgi.R8G8B8A8UNorm).GetSurface()
			return err
		},
			"GetSurface: E_NOINTERFACE: the texture has 2 subresources, want 1", MessageInvalidState},
		{func(b *bench, o *objects) error { _, err := b.ctx.FinishCommandList(false); return err },
			"FinishCommandList: DXGI_ERROR_INVALID_CALL: the context is immediate, want a deferred one", 0x20000e},
		refusedMap(MapRead, 1, 0, staging, "Subresource is 1, want less than 1", 0x20003b),
		refusedMap(9, 0, 0, staging, "MapType is 9, want 1 to 5", 0x20003a),
		refusedMap(MapRead, 0, 4, staging, "MapFlags is 0x4, want bits of 0x100000 for map type 1", 0x20003c),
		refusedMap(MapRead, 0, 0, vertex, "Usage of the resource is 0, want 3 for map type 1", 0x20003a),
		refusedMap(MapWriteDiscard, 0, MapDoNotWait, dynamic, "MapFlags is 0x100000, want bits of 0x0 for map type 4", 0x20003c),
		{func(b *bench, o *objects) error {
			return b.ctx.Map(b.staging(CPUAccessRead), 0, MapWrite, 0, new(MappedSubresource))
		}, "Map: E_INVALIDARG: CPUAccessFlags of the resource is 0x20000, want 0x10000 for map type 2", 0x20003a},
		{func(b *bench, o *objects) error {
			return b.ctx.Map(b.dynamic(BindConstantBuffer), 0, MapWriteNoOverwrite, 0, new(MappedSubresource))
		}, "Map: E_INVALIDARG: MapType is 5, which only vertex and index buffers allow, and BindFlags is 0x4", 0x20003a},
		{func(b *bench, o *objects) error { return b.ctx.Map(nil, 0, MapRead, 0, new(MappedSubresource)) },
			"Map: E_INVALIDARG: Resource is nil", MessageInvalidObject},
		{func(b *bench, o *objects) error { return b.ctx.Map(o.staging, 0, MapRead, 0, nil) },
			"Map: E_INVALIDARG: MappedResource is nil", MessageInvalidArgument},
		{func(b *bench, o *objects) error {
			require.NoError(b, b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource)))
			return b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource))
		}, "Map: E_INVALIDARG: subresource 0 is mapped already", 0x20003d},
		{func(b *bench, o *objects) error { return o.def.Map(o.staging, 0, MapRead, 0, new(MappedSubresource)) },
			"Map: E_INVALIDARG: MapType is 1, want 4 or 5 on a deferred context", 0x20003a},
		{func(b *bench, o *objects) error {
			return o.def.Map(o.vb, 0, MapWriteNoOverwrite, 0, new(MappedSubresource))
		},
			"Map: D3D11_ERROR_DEFERRED_CONTEXT_MAP_WITHOUT_INITIAL_DISCARD: MapType is 5, want 4 first in each list", 0x200040},
		{func(b *bench, o *objects) error {
			o.staging.Release()
			return b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource))
		}, "Map: E_INVALIDARG: Resource was released", MessageInvalidObject},
		{func(b *bench, o *objects) error { return o.def.GetData(o.query, nil, 0) },
			"GetData: DXGI_ERROR_INVALID_CALL: the context is deferred, want the immediate one", 414},
		{func(b *bench, o *objects) error { return b.ctx.GetData(o.query, nil, 0) },
			"GetData: DXGI_ERROR_INVALID_CALL: Async has no End since its last Begin", 414},
		{func(b *bench, o *objects) error { return b.ctx.GetData(o.query, make([]byte, 3), 0) },
			"GetData: E_INVALIDARG: DataSize is 3, want 0 or 4", 412},
		{func(b *bench, o *objects) error { return b.ctx.GetData(o.query, nil, 2) },
			"GetData: E_INVALIDARG: GetDataFlags is 0x2, want 0 or 0x1", 413},
		{func(b *bench, o *objects) error { return b.ctx.GetData(nil, nil, 0) }, "GetData: E_INVALIDARG: Async is nil", MessageInvalidObject},
	}
}

// TestErrorTexts: an error names call, argument, value and limit, and its text is
// the last message of the queue.
func TestErrorTexts(t *testing.T) {
	for _, tt := range refusals() {
		t.Run(tt.want, func(t *testing.T) {
			b := newBench(t)
			o := newObjects(b)
			err := tt.call(b, o)
			require.EqualError(t, err, tt.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, e.HRESULT)
			m := b.last()
			assert.Equal(t, Message{m.Category, SeverityError, tt.id, tt.want}, m)
		})
	}
}

// last returns the newest message.
func (b *bench) last() Message {
	b.Helper()
	q := b.dev.InfoQueue()
	m, err := q.GetMessage(q.NumStoredMessages() - 1)
	require.NoError(b, err)
	return m
}

// TestDriverFailureTexts: an error of the driver names the function that
// reported it.
func TestDriverFailureTexts(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	b.drv.fail["CreateResource"] = ddi.EOutOfMemory
	_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
	assert.EqualError(t, err, "CreateBuffer: E_OUTOFMEMORY: pfnCreateResource of the driver failed")
	assert.EqualValues(t, 70, b.last().ID)
	b.drv.fail["StagingResourceMap"] = ddi.EOutOfMemory
	err = b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource))
	assert.EqualError(t, err, "Map: E_OUTOFMEMORY: pfnStagingResourceMap of the driver failed")
	assert.EqualValues(t, 0x20003f, b.last().ID)
	n := b.dev.InfoQueue().NumStoredMessages()
	b.drv.fail["StagingResourceMap"] = ddi.DDIStillDrawing
	err = b.ctx.Map(o.staging, 0, MapRead, MapDoNotWait, new(MappedSubresource))
	assert.EqualError(t, err, "Map: DXGI_ERROR_WAS_STILL_DRAWING: the GPU still uses the resource")
	assert.Equal(t, n, b.dev.InfoQueue().NumStoredMessages(), "the answer to a poll is no message")
	b.drv.presentErr = ddi.EOutOfMemory
	assert.EqualError(t, o.chain.Present(0, 0), "Present: E_OUTOFMEMORY: pfnPresent of the driver failed")
}

// TestDroppedListText: the error of a dropped list names the function that
// failed, in FinishCommandList and in a map of the list.
func TestDroppedListText(t *testing.T) {
	for _, name := range []string{"ResourceCopy", "CreateCommandList", "RecycleCreateDeferredContext"} {
		b := nativeBench(t)
		x, y, vb, dc := b.constant(), b.constant(), b.dynamic(BindVertexBuffer), b.deferred()
		failing(b, name)
		if name == "RecycleCreateDeferredContext" {
			b.finish(dc, false).Release()
			failing(b, name)
		}
		dc.CopyResource(x, y)
		if name == "ResourceCopy" {
			err := dc.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource))
			assert.EqualError(t, err, "Map: E_OUTOFMEMORY: the list is dropped, because pfnResourceCopy of the driver failed")
		}
		_, err := dc.FinishCommandList(false)
		assert.EqualError(t, err, "FinishCommandList: E_OUTOFMEMORY: the list is dropped, because pfn"+name+" of the driver failed")
		assert.EqualValues(t, 0x20000f, b.last().ID)
	}
}

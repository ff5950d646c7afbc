package umddi

import "github.com/hilgpu/hilgpu/runtime/ddi/dxgi"

// Dimension is D3D10DDIRESOURCE_TYPE.
type Dimension uint32

// The supported dimensions.
const (
	Buffer    Dimension = 1
	Texture2D Dimension = 3
)

// Usage is D3D10_DDI_RESOURCE_USAGE.
type Usage uint32

// The usages.
const (
	UsageDefault Usage = iota
	UsageImmutable
	UsageDynamic
	UsageStaging
)

// Bits of BindFlags (D3D10_DDI_RESOURCE_BIND_FLAG).
const (
	BindVertexBuffer    = 0x1
	BindIndexBuffer     = 0x2
	BindConstantBuffer  = 0x4
	BindShaderResource  = 0x8
	BindStreamOutput    = 0x10
	BindRenderTarget    = 0x20
	BindDepthStencil    = 0x40
	BindPresent         = 0x80
	BindUnorderedAccess = 0x100
)

// CPUAccess bits of MapFlags (D3D10_DDI_CPU_ACCESS).
const (
	CPUWrite = 0x1
	CPURead  = 0x2
)

// MipInfo is D3D10DDI_MIPINFO: the size of one mip level, in elements.
type MipInfo struct {
	TexelWidth, TexelHeight uint32
}

// SubresourceUP is D3D10_DDIARG_SUBRESOURCE_UP: initial data of a subresource.
type SubresourceUP struct {
	SysMem     []byte
	RowPitch   uint32 // bytes
	SlicePitch uint32 // bytes
}

// CreateResource is D3D11DDIARG_CREATERESOURCE. Subresource i is mip level
// i%MipLevels of array slice i/MipLevels.
type CreateResource struct {
	MipInfoList       []MipInfo       // MipLevels elements; a buffer has one, its width in bytes
	InitialDataUP     []SubresourceUP // one for each subresource, or nil
	ResourceDimension Dimension
	Usage             Usage
	BindFlags         uint32
	MapFlags          uint32 // CPUWrite, CPURead
	MiscFlags         uint32
	Format            dxgi.Format
	SampleDesc        dxgi.SampleDesc
	MipLevels         uint32
	ArraySize         uint32
	ByteStride        uint32
	Primary           bool // pPrimaryDesc is not NULL: the destination of presents
}

// CreateRenderTargetView is D3D10DDIARG_CREATERENDERTARGETVIEW for a 2D texture
// or texture array.
type CreateRenderTargetView struct {
	Resource        HResource
	Format          dxgi.Format
	MipSlice        uint32
	FirstArraySlice uint32
	ArraySize       uint32
}

// QueryType is D3D10DDI_QUERY.
type QueryType uint32

// The supported queries and the results of QueryGetData (D3D10DDI_QUERY).
// Event, timestamp and disjoint queries use the GPU's clock. The others count
// the effects of draws, which are not supported.
const (
	QueryEvent              QueryType = 0 // BOOL, 4 bytes
	QueryOcclusion          QueryType = 1 // UINT64, samples
	QueryTimestamp          QueryType = 2 // UINT64, ticks
	QueryTimestampDisjoint  QueryType = 3 // UINT64 ticks per second, BOOL, 4 bytes of 0
	QueryOcclusionPredicate QueryType = 5 // BOOL, 4 bytes
	QueryOverflowPredicate  QueryType = 7 // BOOL, 4 bytes: D3D10DDI_QUERY_STREAMOVERFLOWPREDICATE
)

// CreateQuery is D3D10DDIARG_CREATEQUERY.
type CreateQuery struct {
	Query     QueryType
	MiscFlags uint32
}

// GetDataFlags is D3D10_DDI_GET_DATA_DO_NOT_FLUSH.
type GetDataFlags uint32

// DoNotFlush asks QueryGetData not to submit pending work.
const DoNotFlush GetDataFlags = 1

// Map is D3D10_DDI_MAP.
type Map uint32

// The map types.
const (
	MapRead Map = iota + 1
	MapWrite
	MapReadWrite
	MapWriteDiscard
	MapWriteNoOverwrite
)

// MapFlags is D3D10_DDI_MAP_FLAG.
type MapFlags uint32

// MapDoNotWait is D3D10_DDI_MAP_FLAG_DONOTWAIT.
const MapDoNotWait MapFlags = 0x100000

// Mapped is D3D10DDI_MAPPED_SUBRESOURCE. Data starts at a multiple of 16 bytes
// of the allocation and is nil on failure.
type Mapped struct {
	Data       []byte
	RowPitch   uint32 // bytes
	DepthPitch uint32 // bytes
}

// Box is D3D10_DDI_BOX: half-open, in elements; in bytes for a buffer.
type Box struct {
	Left, Top, Front, Right, Bottom, Back uint32
}

// Rect is D3D10_DDI_RECT, half-open, in pixels.
type Rect struct{ Left, Top, Right, Bottom int32 }

// Viewport is D3D10_DDI_VIEWPORT, in pixels.
type Viewport struct {
	TopLeftX, TopLeftY, Width, Height, MinDepth, MaxDepth float32
}

// Topology is D3D10_DDI_PRIMITIVE_TOPOLOGY; 0 is undefined.
type Topology uint32

// Slot counts of the pipeline (d3d11.h).
const (
	MaxRenderTargets   = 8
	MaxViewports       = 16
	MaxConstantBuffers = 14
	MaxVertexBuffers   = 32
)

// HandleType is D3D11DDI_HANDLETYPE.
type HandleType uint32

// The types of the handles that a deferred context opens.
const (
	HandleResource         HandleType = 0
	HandleRenderTargetView HandleType = 2
	HandleQuery            HandleType = 10
	HandleCommandList      HandleType = 11
)

// HandleSize is D3D11DDI_HANDLESIZE: a size in bytes of the private memory of
// handles of a type that a deferred context opens.
type HandleSize struct {
	Type HandleType
	Size int
}

// CreateCommandList is D3D11DDIARG_CREATECOMMANDLIST.
type CreateCommandList struct {
	DeferredContext HDevice
}

// CreateDeferredContext is D3D11DDIARG_CREATEDEFERREDCONTEXT. The driver sets
// Context.Driver and fills in ContextFuncs, with nil for excluded functions. It
// reports errors of the context's functions to RTCoreLayer, except those of
// Create functions, which go to the device's core layer like those of
// CreateDeferredContext ("Using Context-Local DDI Handles").
type CreateDeferredContext struct {
	Context      HDevice // hDrvContext
	RTCoreLayer  HRTCoreLayer
	ContextFuncs *DeviceFuncs
	UMCallbacks  *CoreLayerCallbacks
	Flags        uint32
}

package umddi

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// DeviceFuncs is D3D11DDI_DEVICEFUNCS: the functions of a device, which are
// those of its immediate context. Field X is pfnX. docs/design.md lists the
// fields of the WDK's table that are left out.
//
// A function without a result reports errors through SetErrorCb; what it may
// report is in its comment: removed (DDIDeviceRemoved), memory (EOutOfMemory),
// map (DDIStillDrawing, if asked not to wait). All allow removed but Check*
// and Calc*. All run on the immediate context's thread; with CapsFreeThreaded,
// Calc*, Create* and Destroy* may also run on any other, and
// CalcDeferredContextHandleSize always may.
//
// A deferred context has a table of its own. Its functions run on the context's
// thread, and those that record may also report memory, which drops what was
// recorded. It lacks StagingResource*, ResourceIsStagingBusy, QueryGetData,
// Flush, Check*, Calc*, CreateDeferredContext and its kin, which are nil
// ("Excluding DDI Functions for Deferred Contexts"). Its Create* functions open
// an object: arg is nil, or has only the local handle of the object that it
// depends on; rt holds the driver's handle of the object as the device knows
// it, the handle that is opened is local to the context and has private memory
// of the size that CalcDeferredContextHandleSize returned. Its Destroy*
// functions close it.
type DeviceFuncs struct {
	// Resources. Create: memory.
	CalcPrivateResourceSize func(t *ddi.Thread, h HDevice, arg *CreateResource) int
	CreateResource          func(t *ddi.Thread, h HDevice, arg *CreateResource, res HResource, rt HRTResource)
	DestroyResource         func(t *ddi.Thread, h HDevice, res HResource)

	// Mapping. The memory is valid until the matching unmap; memory, map.
	// ResourceMap serves DEFAULT resources with CPU access, which 11.0 has
	// none of; StagingResource* serve STAGING, Dynamic* DYNAMIC ones: IABuffer
	// for vertex and index buffers, ConstantBuffer for constant buffers,
	// Resource for the others.
	StagingResourceMap              func(t *ddi.Thread, h HDevice, res HResource, sub uint32, typ Map, flags MapFlags) Mapped
	StagingResourceUnmap            func(t *ddi.Thread, h HDevice, res HResource, sub uint32)
	DynamicResourceMapDiscard       func(t *ddi.Thread, h HDevice, res HResource, sub uint32, typ Map, flags MapFlags) Mapped
	DynamicResourceUnmap            func(t *ddi.Thread, h HDevice, res HResource, sub uint32)
	DynamicIABufferMapDiscard       func(t *ddi.Thread, h HDevice, res HResource, sub uint32, typ Map, flags MapFlags) Mapped
	DynamicIABufferMapNoOverwrite   func(t *ddi.Thread, h HDevice, res HResource, sub uint32, typ Map, flags MapFlags) Mapped
	DynamicIABufferUnmap            func(t *ddi.Thread, h HDevice, res HResource, sub uint32)
	DynamicConstantBufferMapDiscard func(t *ddi.Thread, h HDevice, res HResource, sub uint32, typ Map, flags MapFlags) Mapped
	DynamicConstantBufferUnmap      func(t *ddi.Thread, h HDevice, res HResource, sub uint32)
	ResourceIsStagingBusy           func(t *ddi.Thread, h HDevice, res HResource) bool

	// Data movement. A nil box is the whole subresource. The source data of an
	// update is copied before the call returns. Memory is allowed.
	ResourceUpdateSubresourceUP func(t *ddi.Thread, h HDevice, dst HResource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32)
	ResourceCopy                func(t *ddi.Thread, h HDevice, dst, src HResource)
	ResourceCopyRegion          func(t *ddi.Thread, h HDevice, dst HResource, dstSub, x, y, z uint32, src HResource, srcSub uint32, box *Box)
	ClearRenderTargetView       func(t *ddi.Thread, h HDevice, v HRenderTargetView, color [4]float32)

	// Views and queries. Create: memory. QueryGetData: map; it fills data and
	// returns without an error once the query has its result.
	CalcPrivateRenderTargetViewSize func(t *ddi.Thread, h HDevice, arg *CreateRenderTargetView) int
	CreateRenderTargetView          func(t *ddi.Thread, h HDevice, arg *CreateRenderTargetView, v HRenderTargetView, rt HRTRenderTargetView)
	DestroyRenderTargetView         func(t *ddi.Thread, h HDevice, v HRenderTargetView)
	CalcPrivateQuerySize            func(t *ddi.Thread, h HDevice, arg CreateQuery) int
	CreateQuery                     func(t *ddi.Thread, h HDevice, arg CreateQuery, q HQuery, rt HRTQuery)
	DestroyQuery                    func(t *ddi.Thread, h HDevice, q HQuery)
	QueryBegin                      func(t *ddi.Thread, h HDevice, q HQuery)
	QueryEnd                        func(t *ddi.Thread, h HDevice, q HQuery)
	QueryGetData                    func(t *ddi.Thread, h HDevice, q HQuery, data []byte, flags GetDataFlags)

	// SetPredication makes data movement and clears depend on q: they are
	// skipped if its result is value. Without a query they are not.
	SetPredication func(t *ddi.Thread, h HDevice, q HQuery, value bool)

	// Pipeline state. A nil handle unbinds. Slices are valid during the call.
	IaSetTopology        func(t *ddi.Thread, h HDevice, topology Topology)
	IaSetVertexBuffers   func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource, strides, offsets []uint32)
	IaSetIndexBuffer     func(t *ddi.Thread, h HDevice, buf HResource, format dxgi.Format, offset uint32)
	VsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	HsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	DsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	GsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	PsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	CsSetConstantBuffers func(t *ddi.Thread, h HDevice, start uint32, bufs []HResource)
	SetRenderTargets     func(t *ddi.Thread, h HDevice, views []HRenderTargetView)
	SetViewports         func(t *ddi.Thread, h HDevice, vps []Viewport)
	SetScissorRects      func(t *ddi.Thread, h HDevice, rects []Rect)

	// Command lists, for drivers with CapsCommandListsBuild2 ("Supporting
	// Command Lists"). The size that CalcPrivateCommandListSize returned stays
	// that of the handle through recycling. CreateCommandList: memory, also for
	// the whole device; after an error the runtime does not destroy the handle.
	// The Recycle functions with a result return EOutOfMemory, and report
	// nothing else but removed. The list becomes what the deferred context has
	// recorded, and nothing is bound to that context any more.
	//
	// In a deferred context's table, CreateCommandList opens and
	// DestroyCommandList closes a local handle; arg is nil.
	CalcPrivateCommandListSize func(t *ddi.Thread, h HDevice, arg *CreateCommandList) int
	CreateCommandList          func(t *ddi.Thread, h HDevice, arg *CreateCommandList, list HCommandList, rt HRTCommandList)
	RecycleCreateCommandList   func(t *ddi.Thread, h HDevice, arg *CreateCommandList, list HCommandList, rt HRTCommandList) ddi.HRESULT
	DestroyCommandList         func(t *ddi.Thread, h HDevice, list HCommandList)

	// RecycleDestroyCommandList retires a list; its memory stays. Any thread.
	RecycleDestroyCommandList func(t *ddi.Thread, h HDevice, list HCommandList)

	// RecycleCommandList, of a deferred context, takes back what belongs to a
	// list that was retired. List is the device's handle.
	RecycleCommandList func(t *ddi.Thread, h HDevice, list HCommandList)

	// CommandListExecute executes a list, or records its execution, and puts
	// the context in the state of its creation. Memory.
	CommandListExecute func(t *ddi.Thread, h HDevice, list HCommandList)

	// AbandonCommandList, of a deferred context, drops what is recorded.
	AbandonCommandList func(t *ddi.Thread, h HDevice)

	// Deferred contexts. CreateDeferredContext: memory, also for the whole
	// device. RecycleCreateDeferredContext makes a context whose list has been
	// created, or abandoned, new again; it returns EOutOfMemory.
	// DestroyDevice of the context's table ends it.
	CalcPrivateDeferredContextSize func(t *ddi.Thread, h HDevice, flags uint32) int
	CreateDeferredContext          func(t *ddi.Thread, h HDevice, arg *CreateDeferredContext)
	RecycleCreateDeferredContext   func(t *ddi.Thread, h HDevice, arg *CreateDeferredContext) ddi.HRESULT

	// CheckDeferredContextHandleSizes returns how many sizes of local handles
	// there are and fills sizes, if it is not nil, with them. It is called
	// twice, first without sizes. CalcDeferredContextHandleSize returns the one
	// for an object, whose driver handle is h. It reports nothing.
	CheckDeferredContextHandleSizes func(t *ddi.Thread, h HDevice, sizes []HandleSize) int
	CalcDeferredContextHandleSize   func(t *ddi.Thread, h HDevice, typ HandleType, object *ddi.Object) int

	// Flush submits what is recorded, and frees what was destroyed, also when
	// nothing is recorded.
	Flush func(t *ddi.Thread, h HDevice)

	// CheckFormatSupport returns FormatSupport bits. CheckMultisampleQualityLevels
	// returns the number of quality levels, 0 if the count is not supported.
	CheckFormatSupport            func(t *ddi.Thread, h HDevice, f dxgi.Format) uint32
	CheckMultisampleQualityLevels func(t *ddi.Thread, h HDevice, f dxgi.Format, count uint32) uint32

	// RelocateDeviceFuncs tells that the table has moved to funcs.
	RelocateDeviceFuncs func(t *ddi.Thread, h HDevice, funcs *DeviceFuncs)

	DestroyDevice func(t *ddi.Thread, h HDevice)
}

// Bits of CheckFormatSupport (D3D10_DDI_FORMAT_SUPPORT). The last two are our
// own: the WDK has no bits for them, as they hold for each format it lists.
const (
	FormatShaderSample = 0x1
	FormatRenderTarget = 0x2
	FormatBlendable    = 0x4
	FormatMultisample  = 0x8
	FormatTexture2D    = 0x100
	FormatCopy         = 0x200
)

// DXGIBaseFuncs is DXGI_DDI_BASE_FUNCTIONS. Field X is pfnX.
type DXGIBaseFuncs struct {
	// Present submits pending work through RenderCb, then calls PresentCb.
	Present func(t *ddi.Thread, arg Present) ddi.HRESULT
}

// Present is DXGI_DDI_ARG_PRESENT for a blit (Flags.Blt).
type Present struct {
	Device           HDevice
	SurfaceToPresent HResource
	SrcSubResource   uint32
	DstResource      HResource // the primary
	DstSubResource   uint32
	DXGIContext      DXGIContext
}

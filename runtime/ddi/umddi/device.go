package umddi

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// DeviceFuncs is D3D11DDI_DEVICEFUNCS: the functions of a device and its
// immediate context. Field X is pfnX. docs/design.md lists the fields of the
// WDK's table that are missing here.
//
// A function without a result reports errors through SetErrorCb. Its comment
// lists the errors it may report: removed (DDIDeviceRemoved), memory
// (EOutOfMemory), map (DDIStillDrawing, if asked not to wait). All except
// Check* and Calc* may report removed. All must run on the immediate context's
// thread. With CapsFreeThreaded, Calc*, Create* and Destroy* may run on any
// thread; CalcDeferredContextHandleSize always may.
//
// A deferred context has a separate table. Its functions run on the context's
// thread, and recording functions may also report memory, which drops the
// recording. StagingResource*, ResourceIsStagingBusy, QueryGetData, Flush,
// Check*, Calc*, CreateDeferredContext and related functions are nil
// ("Excluding DDI Functions for Deferred Contexts"). Its Create* functions open
// an object: arg is nil, or has only the local handle of the object that it
// depends on; rt holds the device's driver handle of the object. The opened
// handle is local to the context and has private memory of the size returned by
// CalcDeferredContextHandleSize. Its Destroy* functions close the handle.
type DeviceFuncs struct {
	// Resources. Create: memory.
	CalcPrivateResourceSize func(t *ddi.Thread, h HDevice, arg *CreateResource) int
	CreateResource          func(t *ddi.Thread, h HDevice, arg *CreateResource, res HResource, rt HRTResource)
	DestroyResource         func(t *ddi.Thread, h HDevice, res HResource)

	// Mapping. The memory is valid until the matching unmap; memory, map.
	// ResourceMap is for DEFAULT resources with CPU access, which do not exist
	// in 11.0. StagingResource* are for STAGING resources, Dynamic* for DYNAMIC
	// ones: IABuffer for vertex and index buffers, ConstantBuffer for constant
	// buffers, Resource for others.
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

	// Data movement. A nil box is the entire subresource. The source data of an
	// update is copied before the call returns. All: memory.
	ResourceUpdateSubresourceUP func(t *ddi.Thread, h HDevice, dst HResource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32)
	ResourceCopy                func(t *ddi.Thread, h HDevice, dst, src HResource)
	ResourceCopyRegion          func(t *ddi.Thread, h HDevice, dst HResource, dstSub, x, y, z uint32, src HResource, srcSub uint32, box *Box)
	ClearRenderTargetView       func(t *ddi.Thread, h HDevice, v HRenderTargetView, color [4]float32)

	// Views and queries. Create: memory. QueryGetData: map; it fills in data
	// and returns without an error when the result is available.
	CalcPrivateRenderTargetViewSize func(t *ddi.Thread, h HDevice, arg *CreateRenderTargetView) int
	CreateRenderTargetView          func(t *ddi.Thread, h HDevice, arg *CreateRenderTargetView, v HRenderTargetView, rt HRTRenderTargetView)
	DestroyRenderTargetView         func(t *ddi.Thread, h HDevice, v HRenderTargetView)
	CalcPrivateQuerySize            func(t *ddi.Thread, h HDevice, arg CreateQuery) int
	CreateQuery                     func(t *ddi.Thread, h HDevice, arg CreateQuery, q HQuery, rt HRTQuery)
	DestroyQuery                    func(t *ddi.Thread, h HDevice, q HQuery)
	QueryBegin                      func(t *ddi.Thread, h HDevice, q HQuery)
	QueryEnd                        func(t *ddi.Thread, h HDevice, q HQuery)
	QueryGetData                    func(t *ddi.Thread, h HDevice, q HQuery, data []byte, flags GetDataFlags)

	// SetPredication makes data movement and clears conditional: they are
	// skipped if the result of q is value. A nil query makes them
	// unconditional.
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
	// Command Lists"). The size returned by CalcPrivateCommandListSize is kept
	// when the handle is recycled. CreateCommandList: memory, also for the
	// device; after an error the runtime does not destroy the handle. The
	// Recycle functions with a result return EOutOfMemory and report only
	// removed. The list takes over the recording of the deferred context, after
	// which nothing is bound to that context.
	//
	// In a deferred context's table, CreateCommandList opens and
	// DestroyCommandList closes a local handle; arg is nil.
	CalcPrivateCommandListSize func(t *ddi.Thread, h HDevice, arg *CreateCommandList) int
	CreateCommandList          func(t *ddi.Thread, h HDevice, arg *CreateCommandList, list HCommandList, rt HRTCommandList)
	RecycleCreateCommandList   func(t *ddi.Thread, h HDevice, arg *CreateCommandList, list HCommandList, rt HRTCommandList) ddi.HRESULT
	DestroyCommandList         func(t *ddi.Thread, h HDevice, list HCommandList)

	// RecycleDestroyCommandList retires a list but keeps its memory. Any thread.
	RecycleDestroyCommandList func(t *ddi.Thread, h HDevice, list HCommandList)

	// RecycleCommandList, of a deferred context, reclaims the resources of a
	// retired list. list is the device's handle.
	RecycleCommandList func(t *ddi.Thread, h HDevice, list HCommandList)

	// CommandListExecute executes a list, or records its execution, and resets
	// the context to its initial state. Memory.
	CommandListExecute func(t *ddi.Thread, h HDevice, list HCommandList)

	// AbandonCommandList, of a deferred context, drops the recording.
	AbandonCommandList func(t *ddi.Thread, h HDevice)

	// Deferred contexts. CalcPrivateDeferredContextSize returns the size of the
	// private memory in the context's Root, in bytes.
	// CreateDeferredContext: memory, also for the device.
	// RecycleCreateDeferredContext resets a context whose list was created or
	// abandoned; it returns EOutOfMemory. DestroyDevice of the context's table
	// destroys it.
	CalcPrivateDeferredContextSize func(t *ddi.Thread, h HDevice, flags uint32) int
	CreateDeferredContext          func(t *ddi.Thread, h HDevice, arg *CreateDeferredContext)
	RecycleCreateDeferredContext   func(t *ddi.Thread, h HDevice, arg *CreateDeferredContext) ddi.HRESULT

	// CheckDeferredContextHandleSizes returns the number of sizes of local
	// handles and fills in sizes unless it is nil. It is called twice, first
	// with nil. CalcDeferredContextHandleSize returns the size for an object
	// with driver handle h. It reports nothing.
	CheckDeferredContextHandleSizes func(t *ddi.Thread, h HDevice, sizes []HandleSize) int
	CalcDeferredContextHandleSize   func(t *ddi.Thread, h HDevice, typ HandleType, object *ddi.Object) int

	// Flush submits the recorded work and frees destroyed objects, even if nothing is recorded.
	Flush func(t *ddi.Thread, h HDevice)

	// CheckFormatSupport returns Format bits, 0 for a format that is not supported.
	// CheckMultisampleQualityLevels returns the number of quality levels, 0 if the
	// count is not supported. A driver without multisampling returns 1 for a count of
	// 1, else 0.
	CheckFormatSupport            func(t *ddi.Thread, h HDevice, f dxgi.Format) uint32
	CheckMultisampleQualityLevels func(t *ddi.Thread, h HDevice, f dxgi.Format, count uint32) uint32

	// RelocateDeviceFuncs tells the driver that the table has moved to funcs.
	RelocateDeviceFuncs func(t *ddi.Thread, h HDevice, funcs *DeviceFuncs)

	DestroyDevice func(t *ddi.Thread, h HDevice)
}

// Bits of CheckFormatSupport (D3D10_DDI_FORMAT_SUPPORT). The last two are
// specific to this interface: the WDK has no bits for them, since they apply to
// each format it lists.
const (
	FormatShaderSample = 0x1
	FormatRenderTarget = 0x2
	FormatBlendable    = 0x4
	FormatMultisample  = 0x8
	FormatTexture2D    = 0x100
	FormatCopy         = 0x200
)

// DXGIBaseFuncs is DXGI1_2_DDI_BASE_FUNCTIONS. Field X is pfnX.
type DXGIBaseFuncs struct {
	// Present submits pending work through RenderCb, then calls PresentCb.
	Present func(t *ddi.Thread, arg Present) ddi.HRESULT

	// SetResourcePriority sets the eviction priority of a resource through SetPriorityCb.
	// It returns OK or DDIDeviceRemoved. It may be nil: priorities are hints.
	SetResourcePriority func(t *ddi.Thread, arg SetResourcePriority) ddi.HRESULT

	// OfferResources offers the allocations of resources through OfferAllocationsCb, after the
	// recorded work that uses them. ReclaimResources ends that through ReclaimAllocationsCb. They
	// return OK or DDIDeviceRemoved. Both may be nil: then nothing is offered. They are
	// functions of DXGI1_2_DDI_BASE_FUNCTIONS of WDDM 1.2.
	OfferResources   func(t *ddi.Thread, arg OfferResources) ddi.HRESULT
	ReclaimResources func(t *ddi.Thread, arg ReclaimResources) ddi.HRESULT
}

// OfferResources is DXGI_DDI_ARG_OFFERRESOURCES.
type OfferResources struct {
	Device    HDevice
	Resources []HResource
	Priority  OfferPriority
}

// ReclaimResources is DXGI_DDI_ARG_RECLAIMRESOURCES.
type ReclaimResources struct {
	Device    HDevice
	Resources []HResource
	Discarded []bool // out, one for each resource
}

// SetResourcePriority is DXGI_DDI_ARG_SETRESOURCEPRIORITY.
type SetResourcePriority struct {
	Device   HDevice
	Resource HResource
	Priority uint32 // of eviction
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

package umddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// CoreLayerCallbacks is D3D11DDI_CORELAYER_DEVICECALLBACKS. Field X is pfnX.
type CoreLayerCallbacks struct {
	// SetErrorCb reports the error of the DDI function that is running. A
	// result that the function may not report removes the device.
	SetErrorCb func(t *ddi.Thread, h HRTCoreLayer, hr ddi.HRESULT)

	// State refresh: the runtime calls the driver's function that sets the
	// state, with what is bound to the context of h, before the callback
	// returns. During a function that sets state that is the new one; during
	// CommandListExecute the one before it, and during the next function after
	// it none; during CreateCommandList and RecycleCreateCommandList that of the
	// deferred context; while handles are closed and the context is destroyed
	// none; after AbandonCommandList what is not unbound yet.
	StateIaPrimitiveTopologyCb func(t *ddi.Thread, h HRTCoreLayer)
	StateIaVertexBufCb         func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateIaIndexBufCb          func(t *ddi.Thread, h HRTCoreLayer)
	StateVsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateHsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateDsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateGsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StatePsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateCsConstBufCb          func(t *ddi.Thread, h HRTCoreLayer, r Range)
	StateOmRenderTargetsCb     func(t *ddi.Thread, h HRTCoreLayer)
	StateRsViewportsCb         func(t *ddi.Thread, h HRTCoreLayer)
	StateRsScissorCb           func(t *ddi.Thread, h HRTCoreLayer)

	// PerformAmortizedProcessingCb lets the runtime do what it has put off. The
	// driver calls it after it has submitted a command buffer, and from a
	// deferred context when that is out of room, before it refreshes state.
	PerformAmortizedProcessingCb func(t *ddi.Thread, h HRTCoreLayer)
}

// A Range is a range of slots of a state-refresh callback. In the WDK it is two
// UINTs, which the callbacks of Direct3D 10 take in the other order than those
// of Direct3D 11.
type Range struct {
	Base  int
	Count int // -1: up to the highest slot that is in use
}

// DeviceCallbacks is D3DDDI_DEVICECALLBACKS. Field X is pfnX. Members marked
// out are set by the callee.
type DeviceCallbacks struct {
	AllocateCb       func(t *ddi.Thread, h HRTDevice, arg *Allocate) ddi.HRESULT
	DeallocateCb     func(t *ddi.Thread, h HRTDevice, arg *Deallocate) ddi.HRESULT
	CreateContextCb  func(t *ddi.Thread, h HRTDevice, arg *CreateContext) ddi.HRESULT
	DestroyContextCb func(t *ddi.Thread, h HRTDevice, ctx ddi.KMHandle) ddi.HRESULT

	// LockCb maps an allocation. It waits until no submitted work uses it, or
	// with DoNotWait returns DDIStillDrawing; work that is still in a command
	// buffer is the driver's to submit first. Errors: EOutOfMemory,
	// EInvalidArg, DDIDeviceRemoved, DDINotAvailable.
	LockCb   func(t *ddi.Thread, h HRTDevice, arg *Lock) ddi.HRESULT
	UnlockCb func(t *ddi.Thread, h HRTDevice, arg *Unlock) ddi.HRESULT

	// RenderCb submits a command buffer and returns the next one.
	RenderCb func(t *ddi.Thread, h HRTDevice, arg *Render) ddi.HRESULT
}

// DXGIBaseCallbacks is DXGI_DDI_BASE_CALLBACKS. Field X is pfnX.
type DXGIBaseCallbacks struct {
	// PresentCb copies an allocation to another; from Present only.
	PresentCb func(t *ddi.Thread, h HRTDevice, arg *PresentCB) ddi.HRESULT
}

// AllocationInfo is D3DDDI_ALLOCATIONINFO.
type AllocationInfo struct {
	Allocation        ddi.KMHandle // out
	PrivateDriverData []byte       // for the miniport
	Primary           bool
}

// Allocate is D3DDDICB_ALLOCATE.
type Allocate struct {
	Resource       HRTResource
	AllocationInfo []AllocationInfo
}

// Deallocate is D3DDDICB_DEALLOCATE. The kernel keeps the memory until
// submitted work is done with it.
type Deallocate struct {
	Allocations []ddi.KMHandle
}

// AllocationList is D3DDDI_ALLOCATIONLIST.
type AllocationList struct {
	Allocation     ddi.KMHandle
	WriteOperation bool
}

// PatchLocation is D3DDDI_PATCHLOCATIONLIST, as in package kmddi.
type PatchLocation struct {
	AllocationIndex  uint32
	SlotID           uint32
	DriverID         uint32
	AllocationOffset uint32 // bytes
	PatchOffset      uint32 // bytes from the start of the command
	SplitOffset      uint32 // bytes, not decreasing
}

// CreateContext is D3DDDICB_CREATECONTEXT. The three buffers are the first to
// record into.
type CreateContext struct {
	NodeOrdinal       uint32
	PrivateDriverData []byte

	Context           ddi.KMHandle     // out
	CommandBuffer     []byte           // out
	AllocationList    []AllocationList // out
	PatchLocationList []PatchLocation  // out
}

// Lock is D3DDDICB_LOCK. Data is the allocation's memory, from its start. An
// allocation in VRAM is copied out of VRAM at Lock, unless WriteOnly, and back
// at Unlock, unless ReadOnly.
type Lock struct {
	Allocation ddi.KMHandle
	ReadOnly   bool
	WriteOnly  bool // the whole allocation is written before Unlock
	DoNotWait  bool
	IgnoreSync bool // do not wait: the caller guarantees not to touch what the GPU uses

	Data []byte // out
}

// Unlock is D3DDDICB_UNLOCK.
type Unlock struct {
	Allocations []ddi.KMHandle
}

// Render is D3DDDICB_RENDER. On success the old buffers are the kernel's and
// the New ones must be used from then on; on failure the old ones stay.
type Render struct {
	Context           ddi.KMHandle
	CommandOffset     uint32 // bytes
	CommandLength     uint32 // bytes
	NumAllocations    uint32
	NumPatchLocations uint32

	NewCommandBuffer     []byte           // out
	NewAllocationList    []AllocationList // out
	NewPatchLocationList []PatchLocation  // out
	QueuedBufferCount    uint32           // out
}

// PresentCB is DXGIDDICB_PRESENT.
type PresentCB struct {
	SrcAllocation ddi.KMHandle
	DstAllocation ddi.KMHandle
	DXGIContext   DXGIContext
	Context       ddi.KMHandle
}

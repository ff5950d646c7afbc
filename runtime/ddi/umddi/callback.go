package umddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// CoreLayerCallbacks is D3D11DDI_CORELAYER_DEVICECALLBACKS. Field X is pfnX.
type CoreLayerCallbacks struct {
	// SetErrorCb reports an error of the running DDI function. A result that
	// the function may not report breaks the rule error-status and removes the
	// device.
	SetErrorCb func(t *ddi.Thread, h HRTCoreLayer, hr ddi.HRESULT)

	// State refresh: before the callback returns, the runtime calls the
	// driver's Set function with the state of the context of h. That is the new
	// state in a Set function; the old state in CommandListExecute, and no
	// state in the next function; the deferred context's state in
	// CreateCommandList and RecycleCreateCommandList; no state while handles
	// are closed and the context is destroyed; and after AbandonCommandList the
	// state that is not yet unbound.
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

	// PerformAmortizedProcessingCb lets the runtime do deferred work. The
	// driver calls it before it refreshes state: after it has submitted a
	// command buffer, or when a deferred context is out of room.
	PerformAmortizedProcessingCb func(t *ddi.Thread, h HRTCoreLayer)
}

// A Range is a range of slots in a state-refresh callback. The WDK has two
// UINTs, whose order differs between the callbacks of Direct3D 10 and 11.
type Range struct {
	Base  int
	Count int // -1: up to the highest slot in use
}

// DeviceCallbacks is D3DDDI_DEVICECALLBACKS. Field X is pfnX. Fields marked out
// are set by the callee.
type DeviceCallbacks struct {
	AllocateCb       func(t *ddi.Thread, h HRTDevice, arg *Allocate) ddi.HRESULT
	DeallocateCb     func(t *ddi.Thread, h HRTDevice, arg *Deallocate) ddi.HRESULT
	CreateContextCb  func(t *ddi.Thread, h HRTDevice, arg *CreateContext) ddi.HRESULT
	DestroyContextCb func(t *ddi.Thread, h HRTDevice, ctx ddi.KMHandle) ddi.HRESULT

	// LockCb maps an allocation. It waits until no submitted work uses it; with
	// DoNotWait it returns DDIStillDrawing instead. The driver must submit its
	// command buffer first if that uses the allocation. Errors: EOutOfMemory,
	// EInvalidArg, DDIDeviceRemoved, DDINotAvailable.
	LockCb   func(t *ddi.Thread, h HRTDevice, arg *Lock) ddi.HRESULT
	UnlockCb func(t *ddi.Thread, h HRTDevice, arg *Unlock) ddi.HRESULT

	// SetPriorityCb sets the eviction priority of each allocation, or of none if it fails.
	// Errors: EInvalidArg for a priority of 0 and for another number of priorities.
	SetPriorityCb func(t *ddi.Thread, h HRTDevice, arg *SetPriority) ddi.HRESULT

	// OfferAllocationsCb offers the memory of allocations for other uses, after the work that
	// was submitted before. Then none may be locked or submitted before ReclaimAllocationsCb.
	// Errors of both: EInvalidArg, DDIDeviceRemoved.
	OfferAllocationsCb   func(t *ddi.Thread, h HRTDevice, arg *OfferAllocations) ddi.HRESULT
	ReclaimAllocationsCb func(t *ddi.Thread, h HRTDevice, arg *ReclaimAllocations) ddi.HRESULT

	// RenderCb submits a command buffer and returns the next one.
	RenderCb func(t *ddi.Thread, h HRTDevice, arg *Render) ddi.HRESULT
}

// Eviction priorities (D3DDDI_ALLOCATIONPRIORITY, d3dukmdt.h). Values between them are legal.
// Allocations of a lower priority leave a segment first, and the least recently used one of
// one priority.
const (
	AllocationPriorityMinimum = 0x28000000
	AllocationPriorityLow     = 0x50000000
	AllocationPriorityNormal  = 0x78000000 // at first
	AllocationPriorityHigh    = 0xa0000000
	AllocationPriorityMaximum = 0xc8000000
)

// SetPriority is D3DDDICB_SETPRIORITY.
type SetPriority struct {
	Allocations []ddi.KMHandle
	Priorities  []uint32 // one for each allocation, not 0
}

// OfferPriority is D3DDDI_OFFER_PRIORITY of d3dukmdt.h: the value of the content of offered memory.
type OfferPriority uint32

// The priorities of offers. OfferPriorityNone is for what is not offered.
const (
	OfferPriorityNone   OfferPriority = 0
	OfferPriorityLow    OfferPriority = 1 // useless: it is discarded first
	OfferPriorityNormal OfferPriority = 2 // useful, and easy to make again
	OfferPriorityHigh   OfferPriority = 3 // hard to make again
)

// OfferAllocations is D3DDDICB_OFFERALLOCATIONS.
type OfferAllocations struct {
	Allocations []ddi.KMHandle
	Priority    OfferPriority // not OfferPriorityNone
}

// ReclaimAllocations is D3DDDICB_RECLAIMALLOCATIONS.
type ReclaimAllocations struct {
	Allocations []ddi.KMHandle
	Discarded   []bool // out: whether the content of each is lost; nil: the driver does not need it
}

// DXGIBaseCallbacks is DXGI_DDI_BASE_CALLBACKS. Field X is pfnX.
type DXGIBaseCallbacks struct {
	// PresentCb copies an allocation to another. It must be called from Present.
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
// submitted work no longer uses it.
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
	PatchOffset      uint32 // in bytes from the start of the command
	SplitOffset      uint32 // bytes, not decreasing
}

// CreateContext is D3DDDICB_CREATECONTEXT. The driver records to the three
// returned buffers first.
type CreateContext struct {
	NodeOrdinal       uint32
	PrivateDriverData []byte

	Context           ddi.KMHandle     // out
	CommandBuffer     []byte           // out
	AllocationList    []AllocationList // out
	PatchLocationList []PatchLocation  // out
}

// Lock is D3DDDICB_LOCK. Data is the allocation's memory, from its start.
// Memory in VRAM is copied from VRAM at Lock, unless WriteOnly is set, and back
// at Unlock, unless ReadOnly is set.
type Lock struct {
	Allocation ddi.KMHandle
	ReadOnly   bool
	WriteOnly  bool // the entire allocation is written before Unlock
	DoNotWait  bool
	IgnoreSync bool // do not wait: the caller does not touch memory that the GPU uses

	Data []byte // out
}

// Unlock is D3DDDICB_UNLOCK.
type Unlock struct {
	Allocations []ddi.KMHandle
}

// Render is D3DDDICB_RENDER. On success the kernel owns the old buffers and the
// driver must use the New ones. After EOutOfMemory or DDIDeviceRemoved the old ones
// remain, and the driver reports DDIDeviceRemoved. Any other
// failure is a command that the kernel or the miniport refuses, which breaks the rule
// callback-refused.
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

// Package kmt declares the thunks through which the runtime calls the graphics
// kernel: the D3DKMT functions of gdi32. Structures shared with the user-mode
// callbacks are those of package umddi.
package kmt

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Thunks is the table of D3DKMT functions of one adapter. Field X is D3DKMTX.
// An invalid handle returns StatusInvalidHandle. After the GPU has faulted or
// stopped responding, every function that needs it returns StatusDeviceRemoved;
// after the connection to it has failed, StatusIODeviceError. After recovery,
// functions on an earlier device still return these, and the device can only be
// destroyed, with its objects.
type Thunks struct {
	// QueryAdapterInfo fills p with the miniport's UMDRIVERPRIVATE data.
	QueryAdapterInfo func(t *ddi.Thread, p []byte) ddi.Status

	CreateDevice   func(t *ddi.Thread) (ddi.KMHandle, ddi.Status)
	DestroyDevice  func(t *ddi.Thread, dev ddi.KMHandle) ddi.Status
	CreateContext  func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.CreateContext) ddi.Status
	DestroyContext func(t *ddi.Thread, ctx ddi.KMHandle) ddi.Status

	// SetContextSchedulingPriority sets the priority of a context, -7 to 7; it is 0 at first.
	// Work of a higher priority goes first, also before work that is queued already.
	// Another value returns StatusInvalidParameter.
	SetContextSchedulingPriority func(t *ddi.Thread, ctx ddi.KMHandle, priority int) ddi.Status

	// CreateAllocation creates all of arg's allocations or none.
	CreateAllocation  func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Allocate) ddi.Status
	DestroyAllocation func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Deallocate) ddi.Status

	// Lock returns StatusAllocationBusy if arg.DoNotWait is set and work uses the allocation.
	Lock   func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Lock) ddi.Status
	Unlock func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Unlock) ddi.Status

	// SetAllocationPriority returns StatusInvalidParameter for a priority of 0 and for another
	// number of priorities. Then it changes nothing.
	SetAllocationPriority func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.SetPriority) ddi.Status

	// OfferAllocations offers the memory of allocations for other uses. Until they are reclaimed
	// Lock and Render return StatusInvalidParameter for them. Work that was queued before may
	// still use them. ReclaimAllocations reports whose content is lost; it then is zero.
	//
	// Both return StatusInvalidParameter and change nothing for a wrong priority, an allocation
	// that is locked or offered already, and to reclaim for one that is not offered.
	OfferAllocations   func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.OfferAllocations) ddi.Status
	ReclaimAllocations func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.ReclaimAllocations) ddi.Status

	Render      func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Render) ddi.Status
	Present     func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.PresentCB) ddi.Status
	WaitForIdle func(t *ddi.Thread, dev ddi.KMHandle) ddi.Status

	// QueryVideoMemoryInfo describes the memory of the process of the thread. It returns
	// StatusInvalidParameter for another group.
	QueryVideoMemoryInfo func(t *ddi.Thread, arg *QueryVideoMemoryInfo) ddi.Status

	// Escape gives private data to the miniport, and gets them back with what it changed if
	// it returns StatusSuccess. It returns StatusNotSupported if the miniport has no
	// DxgkDdiEscape, and StatusInvalidParameter for more than 1 MiB.
	Escape func(t *ddi.Thread, arg *Escape) ddi.Status
}

// Escape holds the arguments of D3DKMTEscape of the type DRIVERPRIVATE.
type Escape struct {
	Device            ddi.KMHandle // 0: none
	Context           ddi.KMHandle // of Device; 0: none
	Flags             kmddi.EscapeFlags
	PrivateDriverData []byte // in and out
}

// SegmentGroup is D3DKMT_MEMORY_SEGMENT_GROUP.
type SegmentGroup uint32

// The groups: memory of the device, and host memory.
const (
	SegmentGroupLocal    SegmentGroup = 0
	SegmentGroupNonLocal SegmentGroup = 1
)

// QueryVideoMemoryInfo is D3DKMT_QUERYVIDEOMEMORYINFO, of WDDM 2.0. Numbers are in bytes. A
// process that uses more than its budget loses memory first when others need it.
type QueryVideoMemoryInfo struct {
	MemorySegmentGroup SegmentGroup

	Budget                  uint64 // out: an equal part for each process that uses the group
	CurrentUsage            uint64 // out
	CurrentReservation      uint64 // out: 0, nothing can be reserved
	AvailableForReservation uint64 // out: 0
}

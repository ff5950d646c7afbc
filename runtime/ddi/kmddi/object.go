package kmddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// CreateDevice is DXGKARG_CREATEDEVICE.
type CreateDevice struct {
	SystemDevice bool // the kernel's own device
}

// CreateContext holds the in fields of DXGKARG_CREATECONTEXT.
type CreateContext struct {
	NodeOrdinal       uint32
	EngineAffinity    uint32
	SystemContext     bool
	PrivateDriverData []byte // from the user-mode driver, untrusted
}

// ContextInfo is DXGK_CONTEXTINFO: the sizes that the driver requests. DMA
// buffers are contiguous host memory (DmaBufferSegmentSet is 0).
type ContextInfo struct {
	DmaBufferSize            uint32 // bytes
	DmaBufferPrivateDataSize uint32 // bytes
	AllocationListSize       uint32 // elements
	PatchLocationListSize    uint32 // elements
}

// CreateAllocation is DXGKARG_CREATEALLOCATION for one allocation. The driver
// returns StatusInvalidParameter for private data that its own user-mode driver
// does not write, and StatusNoMemory for a request that it cannot satisfy.
type CreateAllocation struct {
	PrivateDriverData []byte // from the user-mode driver, untrusted; valid during the call
}

// AllocationInfo is DXGK_ALLOCATIONINFO, the out fields.
type AllocationInfo struct {
	Alignment           uint32 // bytes, a power of two
	Size                uint64 // bytes, not 0
	PreferredSegment    uint32 // ID of the segment to try first
	SupportedSegmentSet uint32 // bit i: segment i+1
	CPUVisible          bool   // may be locked
	Cached              bool
}

// OpenAllocation is DXGKARG_OPENALLOCATION for one allocation.
type OpenAllocation struct {
	Allocation        HAllocation
	PrivateDriverData []byte
	Create            bool // part of the creation, not a later open
}

// AllocationList is DXGK_ALLOCATIONLIST: one allocation used by a DMA buffer.
type AllocationList struct {
	DeviceSpecificAllocation HDeviceAllocation // nil: no allocation at this index
	WriteOperation           bool
	SegmentID                uint32 // 0: paged out, PhysicalAddress is invalid
	PhysicalAddress          uint64 // GPU address: the segment's base plus the offset
}

// PatchLocation is D3DDDI_PATCHLOCATIONLIST: a location in a DMA buffer that
// needs the GPU address of an allocation.
type PatchLocation struct {
	AllocationIndex  uint32
	SlotID           uint32 // 24 bits
	DriverID         uint32
	AllocationOffset uint32 // bytes, added to the allocation's address
	PatchOffset      uint32 // in bytes from the start of the buffer
	SplitOffset      uint32 // in bytes: the buffer may be split there; not decreasing
}

// UserPatchList is the user-mode driver's patch location list, in user memory.
type UserPatchList interface {
	// Len returns the number of elements.
	Len() int

	// At reads element i. It returns StatusInvalidUserBuffer if the element cannot be read.
	At(i int) (PatchLocation, ddi.Status)
}

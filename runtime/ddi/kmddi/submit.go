package kmddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// Render is DXGKARG_RENDER. Command and PatchLocationListIn are user memory:
// the driver must copy them once and validate the copy. Each call gets an empty
// DMA buffer: DmaBuffer and PatchLocationListOut are complete, and offsets are
// relative to their start. The result is StatusSuccess, StatusInsufficientDMABuffer,
// or a reason to refuse the command: StatusIllegalInstruction for a packet that does
// not exist, StatusPrivilegedInstruction for one that applications may not use,
// StatusInvalidParameter for other contents, StatusInvalidUserBuffer for memory that
// cannot be read. The rule return-status lists all legal results.
//
// In DxgkDdiRenderKm Command is memory of the kernel with an array of RenderKmCommand, and
// PatchLocationListIn is empty. The context is one of the kernel. The driver returns
// StatusIllegalInstruction for an operation that it does not support, StatusInvalidParameter
// for parameters that it does not support, and StatusInvalidUserBuffer for a command that
// runs past its end.
type Render struct {
	Command              ddi.UserMemory
	PatchLocationListIn  UserPatchList
	AllocationList       []AllocationList
	DmaBuffer            []byte
	DmaBufferPrivateData []byte
	PatchLocationListOut []PatchLocation

	// MultipassOffset is 0 in the first call for a command, then the value last returned.
	MultipassOffset uint32
}

// RenderOut holds the in/out fields of DXGKARG_RENDER and DXGKARG_PRESENT: how
// much the driver wrote. After StatusInsufficientDMABuffer the written part is
// submitted and the driver is called again with MultipassOffset.
type RenderOut struct {
	DmaBufferUsed   uint32 // bytes
	PatchesUsed     uint32 // elements of PatchLocationListOut
	MultipassOffset uint32
}

// Rect is RECT, half-open.
type Rect struct{ Left, Top, Right, Bottom int32 }

// Elements of AllocationList in DxgkDdiPresent.
const (
	PresentSourceIndex      = 1 // DXGK_PRESENT_SOURCE_INDEX
	PresentDestinationIndex = 2 // DXGK_PRESENT_DESTINATION_INDEX
)

// Present is DXGKARG_PRESENT for a blit from element PresentSourceIndex of the
// allocation list to element PresentDestinationIndex. The driver copies the
// complete source allocation. The kernel does not know the size of the surface,
// and DstRect and SrcRect are empty: the driver needs the size in the private data
// of the allocation. The DMA buffer is empty, as in Render.
type Present struct {
	DmaBuffer            []byte
	DmaBufferPrivateData []byte
	AllocationList       []AllocationList
	PatchLocationListOut []PatchLocation
	DstRect, SrcRect     Rect // always empty
	MultipassOffset      uint32
}

// PagingOperation is DXGK_BUILDPAGINGBUFFER_OPERATION.
type PagingOperation uint32

// The operations in use.
const (
	PagingTransfer       PagingOperation = 0
	PagingFill           PagingOperation = 1
	PagingDiscardContent PagingOperation = 2

	PagingMapApertureSegment   PagingOperation = 5
	PagingUnmapApertureSegment PagingOperation = 6
)

// MDL is the physical address of each page of some host memory, in order. It belongs to the
// system and does not change.
type MDL []uint64

// PagingLocation is the Source or Destination of a transfer. If SegmentID is 0, it is
// host memory, and Address is its physical address (pMdl in the WDK). That of an
// allocation that may be in an aperture segment need not be contiguous: it has an MDL, whose
// first page is at Address. Without MDL it is contiguous. Otherwise Address is a GPU
// address in the segment.
type PagingLocation struct {
	SegmentID uint32
	Address   uint64
	MDL       MDL
}

// BuildPagingBuffer is DXGKARG_BUILDPAGINGBUFFER. DmaBuffer is the unused part
// of the buffer: several operations may share one.
//
// Source and Destination of a TRANSFER may be in the same segment. They do not overlap.
//
// DISCARD_CONTENT tells the driver that an allocation leaves Destination and that nobody needs
// its content there. It moves nothing, so the driver may leave the buffer empty. An empty
// buffer is submitted too, and its fence completes.
//
// MAP_APERTURE_SEGMENT gives pages of an aperture segment the pages of MDL, and UNMAP gives
// them the dummy page, which the GPU may access. The driver may do so at once, or by what it
// writes to the buffer. No work that uses these pages of the segment is in the hardware
// when an UNMAP is built, and none that uses those of a MAP is before its buffer has
// completed. Afterwards the GPU must not use an older mapping. Pages that were never
// mapped may be inaccessible, and so are all pages after a reset.
type BuildPagingBuffer struct {
	Operation            PagingOperation
	Allocation           HAllocation // nil: a raw copy
	DmaBuffer            []byte
	DmaBufferPrivateData []byte
	MultipassOffset      uint32

	Source, Destination PagingLocation // TRANSFER; FILL and DISCARD use Destination
	Size                uint64         // bytes, TransferSize or FillSize
	FillPattern         uint32         // FILL

	SegmentID     uint32 // MAP and UNMAP: the aperture segment
	OffsetInPages uint64 // MAP and UNMAP: the first page of the segment
	NumberOfPages uint64 // MAP and UNMAP
	MDL           MDL    // MAP: as many pages of host memory
	DummyPage     uint64 // UNMAP: physical address of the dummy page
}

// BuildPagingBufferOut holds the in/out fields. After
// StatusInsufficientDMABuffer the buffer is submitted and the driver is called
// again with MultipassOffset. The only other legal results are StatusSuccess
// and StatusAllocationBusy (bugcheck 0x10E/0xB, or 0x10E/0xE for a MAP and 0x10E/3
// for an UNMAP).
type BuildPagingBufferOut struct {
	DmaBufferUsed   uint32 // bytes
	MultipassOffset uint32
}

// Patch is DXGKARG_PATCH. The driver must patch elements [Start, Start+Length)
// of PatchLocationList; PatchOffset is relative to the start of DmaBuffer. The
// call must be idempotent and cannot fail (bugcheck 0x119/3).
type Patch struct {
	Device                            HDevice
	Context                           HContext
	DmaBuffer                         []byte
	DmaBufferPrivateData              []byte
	DmaBufferPhysicalAddress          uint64
	DmaBufferSubmissionStartOffset    uint32 // bytes
	DmaBufferSubmissionEndOffset      uint32 // bytes
	AllocationList                    []AllocationList
	PatchLocationList                 []PatchLocation
	PatchLocationListSubmissionStart  uint32
	PatchLocationListSubmissionLength uint32
	SubmissionFenceID                 uint32
	NodeOrdinal                       uint32
	Flags                             SubmitFlags
}

// SubmitCommand is DXGKARG_SUBMITCOMMAND: the part [Start, End) of a patched
// DMA buffer and its fence ID, one more than the last one on the node, or after a
// preemption more than the last completed one. The first
// fence of a node since the device started or was reset may be any number. The call
// cannot fail (bugcheck 0x119/2) and cannot wait: at most HwQueuePacketCap
// submissions are outstanding. An empty part completes its fence as well. The driver
// may use DmaBufferPrivateData until the fence has completed or was preempted.
type SubmitCommand struct {
	Device                         HDevice  // nil for paging
	Context                        HContext // nil for paging
	DmaBufferPhysicalAddress       uint64   // host address of the buffer's start
	DmaBufferPrivateData           []byte
	DmaBufferSize                  uint32 // bytes
	DmaBufferSubmissionStartOffset uint32 // bytes, a multiple of 4
	DmaBufferSubmissionEndOffset   uint32 // bytes, a multiple of 4
	SubmissionFenceID              uint32
	NodeOrdinal                    uint32
	EngineOrdinal                  uint32
	Flags                          SubmitFlags
}

// SubmitFlags is DXGK_SUBMITCOMMANDFLAGS and DXGK_PATCHFLAGS.
type SubmitFlags struct {
	Paging       bool
	Present      bool
	Resubmission bool // after a preemption: it may have been executed in part
}

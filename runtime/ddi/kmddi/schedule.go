package kmddi

// PreemptCommand is DXGKARG_PREEMPTCOMMAND: a request to stop a node. The node
// stops at the next point that DriverCaps.PreemptionCaps claims, and the driver
// reports InterruptDMAPreempted, at once if the node has no work. Until then the
// kernel submits nothing to the node. The call cannot fail (bugcheck 0x119/2) and
// cannot wait.
//
// Every submission after the last completed one is then preempted: the driver
// forgets it. The kernel submits it again, paging buffers first and with their
// fences, other buffers with new fences, after another Patch, since allocations may
// have moved. A driver that resumes a buffer in its middle keeps the place in the
// DmaBufferPrivateData.
type PreemptCommand struct {
	PreemptionFenceID uint32 // one more than the last fence of the node
	NodeOrdinal       uint32
	EngineOrdinal     uint32
}

// CancelCommand is DXGKARG_CANCELCOMMAND: a DMA buffer that Render or Present wrote,
// and maybe Patch changed, and that the GPU will not execute, or not to its end. The
// driver frees what it keeps for the buffer. The call cannot fail (bugcheck 0x119/9).
type CancelCommand struct {
	Context                           HContext
	DmaBuffer                         []byte
	DmaBufferPrivateData              []byte
	DmaBufferSubmissionStartOffset    uint32 // bytes
	DmaBufferSubmissionEndOffset      uint32 // bytes
	AllocationList                    []AllocationList
	PatchLocationList                 []PatchLocation
	PatchLocationListSubmissionStart  uint32
	PatchLocationListSubmissionLength uint32
}

// QueryEngineStatus holds the in fields of DXGKARG_QUERYENGINESTATUS.
type QueryEngineStatus struct {
	NodeOrdinal   uint32
	EngineOrdinal uint32
}

// QueryEngineStatusOut holds its out field, DXGK_ENGINESTATUS. A node is responsive
// if it makes progress: then the kernel gives it more time.
type QueryEngineStatusOut struct {
	Responsive bool
}

// QueryDependentEngineGroup holds the in fields of
// DXGKARG_QUERYDEPENDENTENGINEGROUP.
type QueryDependentEngineGroup struct {
	NodeOrdinal   uint32
	EngineOrdinal uint32
}

// QueryDependentEngineGroupOut holds its out field: the nodes whose work is lost if
// the node is reset, the node itself included. Bit i is node i.
type QueryDependentEngineGroupOut struct {
	DependentNodeOrdinalMask uint64
}

// ResetEngine holds the in fields of DXGKARG_RESETENGINE.
type ResetEngine struct {
	NodeOrdinal   uint32
	EngineOrdinal uint32
}

// ResetEngineOut holds its out field: the fence of the submission that was aborted in
// the middle of its execution, or the last completed fence if none was. It is at
// least the last completed fence and at most the last submitted one (bugcheck
// 0x119/0xA). All submissions after the last completed one are lost.
type ResetEngineOut struct {
	LastAbortedFenceID uint32
}

// PreemptionCaps is D3DKMDT_PREEMPTION_CAPS: where a node stops for
// DxgkDdiPreemptCommand.
type PreemptionCaps struct {
	GraphicsPreemptionGranularity GraphicsPreemptionGranularity
	ComputePreemptionGranularity  ComputePreemptionGranularity
}

// GraphicsPreemptionGranularity is D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY.
type GraphicsPreemptionGranularity uint32

// The granularities of nodes without shaders. A rectangle that is copied or filled
// counts as a primitive.
const (
	GraphicsPreemptionNone              GraphicsPreemptionGranularity = 0
	GraphicsPreemptionDMABufferBoundary GraphicsPreemptionGranularity = 100
	GraphicsPreemptionPrimitiveBoundary GraphicsPreemptionGranularity = 200
	GraphicsPreemptionPixelBoundary     GraphicsPreemptionGranularity = 400
)

// ComputePreemptionGranularity is D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY.
type ComputePreemptionGranularity uint32

// The granularities of nodes without shaders.
const (
	ComputePreemptionNone              ComputePreemptionGranularity = 0
	ComputePreemptionDMABufferBoundary ComputePreemptionGranularity = 100
)

package kmddi

// StartInfo is DXGK_START_INFO.
type StartInfo struct {
	RequiredDmaQueueEntry uint32 // always 0
	AdapterLUID           uint64
}

// StartDeviceOut holds the out parameters of DxgkDdiStartDevice. An adapter
// without displays reports 0 and 0.
type StartDeviceOut struct {
	NumberOfVideoPresentSources uint32
	NumberOfChildren            uint32
}

// DeviceInfo is DXGK_DEVICE_INFO with the translated resource list.
type DeviceInfo struct {
	VendorID, DeviceID uint16
	Settings           []Setting // of the driver; DeviceRegistryPath in the WDK
	BARs               [6]uint64 // sizes in bytes, 0 for none
	Messages           int       // number of interrupt messages of the device
	SystemMemoryBytes  uint64
}

// Setting is a value of the driver's registry key.
type Setting struct {
	Name  string
	Value uint32
}

// InfoType is DXGK_QUERYADAPTERINFOTYPE.
type InfoType uint32

// The types that the kernel queries.
const (
	InfoUMDriverPrivate InfoType = 0 // DXGKQAITYPE_UMDRIVERPRIVATE
	InfoDriverCaps      InfoType = 1 // DXGKQAITYPE_DRIVERCAPS
	InfoQuerySegment    InfoType = 2 // DXGKQAITYPE_QUERYSEGMENT
)

// QueryAdapterInfo is DXGKARG_QUERYADAPTERINFO. InputData is the private data
// of a UMDRIVERPRIVATE query from user mode.
type QueryAdapterInfo struct {
	Type      InfoType
	InputData []byte
}

// QueryAdapterInfoOut has the field for its Type filled in.
type QueryAdapterInfoOut struct {
	UMDriverPrivate []byte
	DriverCaps      DriverCaps
	Segments        QuerySegment
}

// Escape is DXGKARG_ESCAPE: data of a tool, or of another part of the driver, for the miniport.
type Escape struct {
	Device            HDevice // no Root: of no device
	Context           HContext
	Flags             EscapeFlags
	PrivateDriverData []byte // in and out
}

// EscapeFlags is D3DDDI_ESCAPEFLAGS. With HardwareAccess the GPU is idle, and no other thread is in
// the miniport. A miniport that needs that fails without it.
type EscapeFlags struct {
	HardwareAccess bool
}

// DriverCaps is the part of DXGK_DRIVERCAPS that the kernel uses.
type DriverCaps struct {
	HighestAcceptableAddress uint64 // highest host address that the device can access
	MaxAllocationListSlotID  uint32 // size of the scheduler's slot table; 0: slots are not used
	WDDMVersion              uint32 // must be 1300, WDDM 1.3
	NumberOfNodes            uint32 // GpuEngineTopology.NbAsymetricProcessingNodes
	PagingNode               uint32 // node for paging buffers
	HwQueuePacketCap         uint32 // SchedulingCaps: maximum submissions at a time, at least 1
	MultiEngineAware         bool   // SchedulingCaps; true with more than one node
	PreemptionAware          bool   // SchedulingCaps: DxgkDdiPreemptCommand is supported
	CancelCommandAware       bool   // SchedulingCaps: DxgkDdiCancelCommand is supported
	PreemptionCaps           PreemptionCaps
	SupportPerEngineTDR      bool // DxgkDdiResetEngine and the two queries for it are supported
}

// QuerySegment is DXGK_QUERYSEGMENTOUT3.
type QuerySegment struct {
	Segments                    []SegmentDescriptor // segment ids count from 1
	PagingBufferSegmentID       uint32              // 0: contiguous host memory
	PagingBufferSize            uint32              // bytes
	PagingBufferPrivateDataSize uint32
}

// SegmentDescriptor is DXGK_SEGMENTDESCRIPTOR3. BaseAddress and Size are multiples
// of a page, 4096 bytes.
type SegmentDescriptor struct {
	BaseAddress uint64 // GPU address of the segment's first byte
	Size        uint64 // bytes
	Flags       SegmentFlags
	BAR         int    // where it is mapped, if CpuVisible
	BAROffset   uint64 // bytes
}

// SegmentFlags is DXGK_SEGMENTFLAGS. An Aperture is a range of GPU addresses to which the
// kernel maps pages of host memory. Its allocations need no contiguous host memory. System
// is specific to this interface: the segment is pinned, contiguous host memory whose GPU
// address is BaseAddress plus the physical address, so that nothing must be mapped. An
// Aperture and a System segment have no BAR and need no CPUVisible, and a segment is not
// both. A segment that is only CPUVisible must be inside its BAR. One without a flag is
// memory that the CPU cannot access.
type SegmentFlags struct {
	Aperture   bool
	CPUVisible bool
	System     bool
}

// Segment ids that have a fixed meaning.
const (
	SegmentNone = 0 // paged out
)

// NotifyType is DXGK_INTERRUPT_TYPE.
type NotifyType uint32

// The supported types of DxgkCbNotifyInterrupt.
const (
	InterruptDMACompleted NotifyType = 1 // DXGK_INTERRUPT_DMA_COMPLETED
	InterruptDMAPreempted NotifyType = 2 // DXGK_INTERRUPT_DMA_PREEMPTED
	InterruptDMAFaulted   NotifyType = 4 // DXGK_INTERRUPT_DMA_FAULTED
)

// NotifyInterrupt is DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaCompleted, DmaPreempted or
// DmaFaulted.
type NotifyInterrupt struct {
	InterruptType        NotifyType
	FenceID              uint32 // SubmissionFenceId, PreemptionFenceId or FaultedFenceId
	LastCompletedFenceID uint32 // for a preemption, as it is when the node has stopped; else 0
	Status               uint32 // for a fault, the NTSTATUS; else 0
	NodeOrdinal          uint32
	EngineOrdinal        uint32 // always 0
}

// QueryCurrentFence holds the in fields of DXGKARG_QUERYCURRENTFENCE.
type QueryCurrentFence struct {
	NodeOrdinal   uint32
	EngineOrdinal uint32
}

// QueryCurrentFenceOut holds its out field: the last completed fence of the
// node, read from the GPU. Before the first one since the device started or was
// reset it is 0, or the fence before the first that was submitted.
type QueryCurrentFenceOut struct {
	CurrentFence uint32
}

// CollectDbgInfo is DXGKARG_COLLECTDBGINFO. The driver fills Buffer with text.
// It may be called at any level, even if the link is dead.
type CollectDbgInfo struct {
	Reason uint32 // bugcheck code
	Buffer []byte
}

// CollectDbgInfoOut holds the number of bytes used in Buffer.
type CollectDbgInfoOut struct {
	Length int
}

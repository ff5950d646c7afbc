package kmddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// DriverInitializationData is DRIVER_INITIALIZATION_DATA: the functions of a
// display miniport. Field X is DxgkDdiX. A nil field is a missing function;
// docs/design.md lists the functions that the kernel never calls.
//
// Synchronization (WDK, "Threading and Synchronization"): AddDevice to
// RemoveDevice, ResetFromTimeout and RestartFromTimeout run exclusively.
// BuildPagingBuffer, Patch, SubmitCommand, PreemptCommand and the functions of the
// engines belong to the GPU scheduler class: one thread at a time. Render, RenderKm, Present, Create, Destroy, Open, Close and Query
// are reentrant. All run at PASSIVE_LEVEL, except SubmitCommand, PreemptCommand and
// DpcRoutine at DISPATCH_LEVEL and InterruptRoutine at DIRQL.
type DriverInitializationData struct {
	Version uint32 // DXGKDDI_INTERFACE_VERSION, InterfaceVersion

	AddDevice func(t *ddi.Thread, h HAdapter) ddi.Status

	// StartDevice gets a device with assigned addresses, memory decode, bus
	// mastering and interrupt messages enabled. Otherwise the device may be in
	// any state: another driver may have used it, and it keeps its registers
	// between sessions. Nodes may be running, waiting or faulted, FENCE may
	// have any value, events may be pending and limits set. Before the driver
	// allocates memory that the device can access, it must set or reset
	// everything it relies on; ID.RESET resets all but VRAM. An interrupt of an
	// earlier driver may arrive: InterruptRoutine returns false for it. The status
	// of another device is StatusNoSuchDevice, that of another register map
	// StatusRevisionMismatch. After a failure the driver holds nothing.
	StartDevice  func(t *ddi.Thread, h HAdapter, info StartInfo, cb *DxgkrnlInterface) (StartDeviceOut, ddi.Status)
	StopDevice   func(t *ddi.Thread, h HAdapter) ddi.Status
	RemoveDevice func(t *ddi.Thread, h HAdapter) ddi.Status

	InterruptRoutine func(t *ddi.Thread, h HAdapter, messageNumber uint32) bool
	DpcRoutine       func(t *ddi.Thread, h HAdapter)

	QueryAdapterInfo func(t *ddi.Thread, h HAdapter, arg QueryAdapterInfo) (QueryAdapterInfoOut, ddi.Status)

	CreateDevice      func(t *ddi.Thread, h HAdapter, dev HDevice, arg CreateDevice) ddi.Status
	DestroyDevice     func(t *ddi.Thread, dev HDevice) ddi.Status
	CreateContext     func(t *ddi.Thread, dev HDevice, ctx HContext, arg CreateContext) (ContextInfo, ddi.Status)
	DestroyContext    func(t *ddi.Thread, ctx HContext) ddi.Status
	CreateAllocation  func(t *ddi.Thread, h HAdapter, alloc HAllocation, arg CreateAllocation) (AllocationInfo, ddi.Status)
	DestroyAllocation func(t *ddi.Thread, h HAdapter, alloc HAllocation) ddi.Status
	OpenAllocation    func(t *ddi.Thread, dev HDevice, open HDeviceAllocation, arg OpenAllocation) ddi.Status
	CloseAllocation   func(t *ddi.Thread, dev HDevice, open HDeviceAllocation) ddi.Status

	Render            func(t *ddi.Thread, ctx HContext, arg Render) (RenderOut, ddi.Status)
	RenderKm          func(t *ddi.Thread, ctx HContext, arg Render) (RenderOut, ddi.Status)
	Present           func(t *ddi.Thread, ctx HContext, arg Present) (RenderOut, ddi.Status)
	BuildPagingBuffer func(t *ddi.Thread, h HAdapter, arg BuildPagingBuffer) (BuildPagingBufferOut, ddi.Status)
	Patch             func(t *ddi.Thread, h HAdapter, arg Patch) ddi.Status
	SubmitCommand     func(t *ddi.Thread, h HAdapter, arg SubmitCommand) ddi.Status
	PreemptCommand    func(t *ddi.Thread, h HAdapter, arg PreemptCommand) ddi.Status
	CancelCommand     func(t *ddi.Thread, h HAdapter, arg CancelCommand) ddi.Status
	QueryCurrentFence func(t *ddi.Thread, h HAdapter, arg QueryCurrentFence) (QueryCurrentFenceOut, ddi.Status)
	CollectDbgInfo    func(t *ddi.Thread, h HAdapter, arg CollectDbgInfo) (CollectDbgInfoOut, ddi.Status)

	// Escape answers a tool or another part of the driver. The kernel takes the private data
	// back if it returns StatusSuccess.
	Escape func(t *ddi.Thread, h HAdapter, arg Escape) ddi.Status

	// ResetEngine stops one node: afterwards the node accesses no memory, and is ready
	// for new submissions. The other nodes go on. After an error the kernel calls
	// ResetFromTimeout.
	QueryEngineStatus         func(t *ddi.Thread, h HAdapter, arg QueryEngineStatus) (QueryEngineStatusOut, ddi.Status)
	QueryDependentEngineGroup func(t *ddi.Thread, h HAdapter, arg QueryDependentEngineGroup) (QueryDependentEngineGroupOut, ddi.Status)
	ResetEngine               func(t *ddi.Thread, h HAdapter, arg ResetEngine) (ResetEngineOut, ddi.Status)

	// ResetFromTimeout stops all nodes: afterwards the GPU accesses no memory,
	// and submitted work and the content of memory segments are lost. The
	// kernel then reports each allocation in a memory segment by a TRANSFER of
	// 0 bytes from it, drops all submissions, and calls RestartFromTimeout,
	// after which the nodes accept work again. Both may fail with the status of
	// an access that the device did not answer, or StatusIOTimeout if the device
	// does not obey. The kernel then calls ResetFromTimeout again later.
	ResetFromTimeout   func(t *ddi.Thread, h HAdapter) ddi.Status
	RestartFromTimeout func(t *ddi.Thread, h HAdapter) ddi.Status
}

// InterfaceVersion is DXGKDDI_INTERFACE_VERSION_WDDM1_3.
const InterfaceVersion = 0x4002

// DxgkrnlInterface is DXGKRNL_INTERFACE: the callbacks for the miniport. Field
// X is DxgkCbX, except for the accessors at the end, which replace services of
// the operating system. The kernel passes it to StartDevice; it is valid until
// StopDevice returns.
type DxgkrnlInterface struct {
	DeviceHandle HDxgkrnl

	// GetDeviceInformation returns DXGK_DEVICE_INFO.
	GetDeviceInformation func(t *ddi.Thread, h HDxgkrnl) (DeviceInfo, ddi.Status)

	// MapMemory maps [off, off+length) of a BAR, in bytes, both multiples of 4. It
	// returns StatusInvalidParameter for a range that is not in the BAR.
	MapMemory   func(t *ddi.Thread, h HDxgkrnl, bar int, off, length uint64) (HMapping, ddi.Status)
	UnmapMemory func(t *ddi.Thread, h HDxgkrnl, m HMapping) ddi.Status

	// ReadDeviceSpace and WriteDeviceSpace access a dword of configuration space. off
	// is in bytes, a multiple of 4. The base addresses and memory decode are the
	// system's.
	ReadDeviceSpace  func(t *ddi.Thread, h HDxgkrnl, off int) (uint32, ddi.Status)
	WriteDeviceSpace func(t *ddi.Thread, h HDxgkrnl, off int, v uint32) ddi.Status

	// NotifyInterrupt reports the reason of an interrupt to the scheduler. It
	// must be called at DIRQL, from InterruptRoutine or inside
	// SynchronizeExecution, and followed by QueueDpc.
	NotifyInterrupt func(t *ddi.Thread, h HDxgkrnl, arg NotifyInterrupt)

	// QueueDpc requests a call of DpcRoutine. It returns false if one is already queued.
	QueueDpc func(t *ddi.Thread, h HDxgkrnl) bool

	// NotifyDpc retires completed work. It must be called from DpcRoutine.
	NotifyDpc func(t *ddi.Thread, h HDxgkrnl)

	// SynchronizeExecution runs fn at DIRQL, so that no interrupt routine runs
	// concurrently, and returns its result. It runs on the goroutine of the caller,
	// as InterruptRoutine does: a mutex that fn or InterruptRoutine takes must not be
	// held during any callback.
	SynchronizeExecution func(t *ddi.Thread, h HDxgkrnl, messageNumber uint32, fn func(t *ddi.Thread) bool) (bool, ddi.Status)

	// ReadRegister and WriteRegister are READ_REGISTER_ULONG and
	// WRITE_REGISTER_ULONG on a mapping; off is in bytes, a multiple of 4. The
	// status is StatusIODeviceError if the device did not answer; the value is
	// then not from the device. A write is posted.
	ReadRegister  func(t *ddi.Thread, h HDxgkrnl, m HMapping, off uint32) (uint32, ddi.Status)
	WriteRegister func(t *ddi.Thread, h HDxgkrnl, m HMapping, off uint32, v uint32) ddi.Status

	// AllocateContiguousMemory is MmAllocateContiguousMemory: page-aligned,
	// zeroed, pinned memory that the device may read and write. size is in bytes, at
	// least 1. FreeContiguousMemory gets what it returned, or that without its Bytes.
	AllocateContiguousMemory func(t *ddi.Thread, h HDxgkrnl, size int) (ContiguousMemory, ddi.Status)
	FreeContiguousMemory     func(t *ddi.Thread, h HDxgkrnl, m ContiguousMemory)

	// LogEtwEvent logs an event, which is one line of text here. It may be called at
	// any level.
	LogEtwEvent func(t *ddi.Thread, h HDxgkrnl, text string)
}

// ContiguousMemory is host memory that the CPU and the device can access.
type ContiguousMemory struct {
	PhysicalAddress uint64 // address for the device, without pkt.Host
	Bytes           []byte
}

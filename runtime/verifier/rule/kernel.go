package rule

import "slices"

// Sources of the rules of the kernel-mode interface.
const (
	srcScheduler = "Bug Check 0x119: VIDEO_SCHEDULER_INTERNAL_ERROR"
	srcMemory    = "Bug Check 0x10E: VIDEO_MEMORY_MANAGEMENT_INTERNAL"
	srcLevels    = "Threading and Synchronization Zero Level; IRQL of each function's page"
	srcNotify    = "DXGKCB_NOTIFY_INTERRUPT; DXGKCB_QUEUE_DPC; DXGKCB_NOTIFY_DPC"
	srcKernel    = "documentation of kmddi.DriverInitializationData"
	srcClasses   = "Threading and Synchronization: Zero, First, Second and Third Level"
	srcReturns   = "Return value of each function's page"
	srcCallbacks = "documentation of kmddi.DxgkrnlInterface"
	srcRoutine   = "DXGKDDI_INTERRUPT_ROUTINE; DXGKCB_NOTIFY_INTERRUPT; DXGKCB_NOTIFY_DPC"
	srcSafety    = "Go: a panic, or a goroutine of the driver"
)

// Names of the rules whose violation no call survives.
const (
	driverPanic = "driver-panic"
	systemPanic = "system-panic"
	callHang    = "call-hang"
	driverExit  = "driver-exit"
	goexit      = "goroutine-exit"
)

// Calls returns the rules of calls of either interface, which verifier.Monitor
// checks.
func Calls() []Rule {
	return []Rule{
		{Name: driverPanic, Title: "A driver does not panic.", Fault: Driver, Source: srcSafety,
			Catches: "a panic in a function of the driver or in code that it calls, on the thread of the call: for example an index out of range or a nil pointer.",
			Example: "DxgkDdiRender: runtime error: index out of range [8] with length 8"},
		{Name: systemPanic, Title: "The runtime and the graphics kernel do not panic.", Fault: Runtime, Source: srcSafety,
			Catches: "a panic in a callback or in the graphics kernel. It is an error of this program, or a contract that it does not check.",
			Example: "pfnRenderCb: runtime error: invalid memory address or nil pointer dereference"},
		{Name: "callback-goroutine", Title: "The driver makes callbacks on the goroutine that called it.", Fault: Driver, Source: srcThreads,
			Catches: "a callback on a goroutine that the driver started, with the thread of a running call. The callback is not made and returns an error.",
			Example: "DxgkCbNotifyDpc: called on a goroutine that is in no function of the driver, with the thread 0:0 of another"},
		{Name: "callback-thread", Title: "The driver makes callbacks with the thread of the call that makes them.", Fault: Driver, Source: srcThreads,
			Catches: "a callback in a function of the driver with the thread of another call that is running at the same time, for example one that the driver has kept. The callback is not made and returns an error.",
			Example: "pfnLockCb: called with the thread 1:2, which another call uses, want that of the call that makes it"},
		{Name: callHang, Title: "A call returns.", Fault: Either, Source: "Timeout Detection and Recovery (TDR), TdrDdiDelay",
			Catches: "a function of a driver that has not returned after the limit of the wall clock: a deadlock, or a loop without a callback.",
			Example: "pfnFlush: no return for 1m0s; the outermost call on thread 1:1 is pfnFlush"},
		{Name: driverExit, Title: "A driver does not end its process.", Fault: Either, Source: srcSafety,
			Catches: "a panic in a goroutine that the driver started, a fatal error such as a concurrent write to a map, or os.Exit. The process under test ends, so its parent reports the violation, with the last call in its trace: only the test command of a program for other drivers starts one.",
			Example: "pfnFlush: the process ended in this call: exit status 2, panic: runtime error: index out of range [8] with length 8"},
		{Name: goexit, Title: "A driver does not end the goroutine that calls it.", Fault: Driver, Source: srcSafety,
			Catches: "runtime.Goexit in a function of a driver, which FailNow and SkipNow of package testing and functions such as those of testify's require call. The functions on the thread never return.",
			Example: "pfnFlush: the function ended its goroutine, want it to return"},
		{Name: "thread-stack", Title: "A driver does not change the list of DDI functions on its thread.", Fault: Driver, Source: srcThreads,
			Catches: "Thread.Push, Pop or Unwind, which are for the system. It is seen when the function returns.",
			Example: "pfnFlush: the stack of the thread is empty at the return, want pfnFlush as its last entry"},
		{Name: "irql-change", Title: "Raise does not lower the interrupt request level, and Lower does not raise it.", Fault: Driver, Source: srcLevels,
			Catches: "Thread.Raise to a lower level; Thread.Lower to a higher one (bugcheck 0xA on Windows).",
			Example: "DxgkDdiInterruptRoutine: Raise from DIRQL to DISPATCH_LEVEL, want a level that is not lower"},
	}
}

// KernelMode returns the rules of the kernel-mode interface. A rule with a code is
// checked by the graphics kernel, with or without a verifier. The others are
// checked by package kmcheck.
func KernelMode() []Rule {
	return slices.Concat(bugchecks(), levelRules(), resultRules(), objectRules(), fenceRules(), budgetRules(), infoRules(), workRules())
}

// levelRules are the rules on levels, threads and the order of calls.
func levelRules() []Rule {
	return []Rule{
		{Name: "entry-level", Title: "The kernel calls each function of a miniport at its level.", Fault: Runtime, Source: srcLevels,
			Catches: "a function at a level other than PASSIVE_LEVEL; DxgkDdiSubmitCommand and DxgkDdiDpcRoutine at one other than DISPATCH_LEVEL; DxgkDdiInterruptRoutine at one other than DIRQL. DxgkDdiCollectDbgInfo may be called at any level.",
			Example: "DxgkDdiSubmitCommand: called at PASSIVE_LEVEL, want DISPATCH_LEVEL"},
		{Name: "level-return", Title: "A function of a driver returns at the level at which it was called.", Fault: Driver, Source: srcLevels,
			Catches: "Thread.Raise without Thread.Lower, or the reverse, seen when the function returns.",
			Example: "DxgkDdiRender: returns at DISPATCH_LEVEL, want PASSIVE_LEVEL as at its entry"},
		{Name: "callback-irql", Title: "A callback is made at or below the level on its page.", Fault: Driver, Source: srcLevels,
			Catches: "DxgkCbGetDeviceInformation, MapMemory, UnmapMemory, ReadDeviceSpace or WriteDeviceSpace above PASSIVE_LEVEL; DxgkCbSynchronizeExecution, MmAllocateContiguousMemory or MmFreeContiguousMemory above DISPATCH_LEVEL; a callback of the user-mode driver above PASSIVE_LEVEL.",
			Example: "DxgkCbMapMemory: at DISPATCH_LEVEL in DxgkDdiSubmitCommand, want PASSIVE_LEVEL or below"},
		{Name: "interrupt-callback", Title: "DxgkDdiInterruptRoutine calls only DxgkCbQueueDpc and DxgkCbNotifyInterrupt.", Fault: Driver, Source: srcRoutine,
			Catches: "any other callback made by the routine. Register accesses are allowed.",
			Example: "DxgkCbSynchronizeExecution: called in DxgkDdiInterruptRoutine, which may call only DxgkCbQueueDpc and DxgkCbNotifyInterrupt"},
		{Name: "notify-place", Title: "NotifyInterrupt belongs in the interrupt routine or in SynchronizeExecution, and NotifyDpc in the DPC.", Fault: Driver, Source: srcRoutine,
			Catches: "DxgkCbNotifyInterrupt at DIRQL elsewhere, for example after Thread.Raise, which does not keep the interrupt routine out; DxgkCbNotifyDpc at DISPATCH_LEVEL elsewhere.",
			Example: "DxgkCbNotifyDpc: called in DxgkDdiSubmitCommand, want DxgkDdiDpcRoutine"},
		{Name: "callback-stopped", Title: "Callbacks are made only between StartDevice and StopDevice.", Fault: Driver, Source: srcCallbacks,
			Catches: "a callback after StopDevice returned, or after a StartDevice that failed, for example in DxgkDdiRemoveDevice or in an interrupt.",
			Example: "DxgkCbUnmapMemory: called in DxgkDdiRemoveDevice, but the device is not started"},
		{Name: "class-overlap", Title: "Functions of one synchronization class do not overlap.", Fault: Runtime, Source: srcClasses,
			Catches: "DxgkDdiBuildPagingBuffer, DxgkDdiPatch or DxgkDdiSubmitCommand while one of them runs; AddDevice to RemoveDevice and the reset functions while any other runs. The interrupt routine, the DPC and DxgkDdiCollectDbgInfo may overlap.",
			Example: "DxgkDdiPatch: thread 1:2 is in DxgkDdiSubmitCommand (GPU scheduler class)"},
		{Name: "adapter-state", Title: "The kernel adds, starts, stops and removes a device in this order.", Fault: Runtime, Source: srcKernel,
			Catches: "a function before StartDevice succeeded or after StopDevice; StartDevice of a started device; RemoveDevice of one that is not stopped. The interrupt routine may run from AddDevice on.",
			Example: "DxgkDdiCreateDevice: the adapter is added, want started"},
	}
}

// resultRules are the rules on what functions return.
func resultRules() []Rule {
	return []Rule{
		{Name: "return-status", Title: "A function returns a status that its page lists.", Fault: Driver, Source: srcReturns,
			Catches: "a status that is neither STATUS_SUCCESS nor an error, such as STATUS_PENDING; from DxgkDdiRender, RenderKm, Present, CreateDevice, CreateContext, CreateAllocation and OpenAllocation any status outside the list of the page. The status of a callback may be passed on.",
			Example: "DxgkDdiCreateDevice: returned STATUS_INVALID_PARAMETER, want STATUS_SUCCESS or STATUS_NO_MEMORY"},
		{Name: "call-failed", Title: "A function of a device that answers succeeds.", Fault: DriverOrDevice, Source: srcReturns + "; DXGKDDI_START_DEVICE; DXGKDDI_QUERYCURRENTFENCE",
			Catches: "an error of DxgkDdiAddDevice, StartDevice, StopDevice, RemoveDevice, QueryCurrentFence, CloseAllocation or a Destroy function, or of DxgkDdiQueryAdapterInfo for the kernel, although no callback that it made failed because memory or an answer was missing. DxgkDdiStartDevice may return STATUS_NO_SUCH_DEVICE or STATUS_REVISION_MISMATCH for a device that the driver does not support, after DxgkCbGetDeviceInformation and, if it has mapped registers, a READ_REGISTER_ULONG. In the same way a driver with settings may return STATUS_NOT_SUPPORTED, STATUS_INVALID_PARAMETER or STATUS_DEVICE_NOT_READY for a device that does not support them. Its other errors are reported when the device is removed, unless the driver leaks something.",
			Example: "DxgkDdiStartDevice: returned STATUS_UNSUCCESSFUL, but each of its accesses to the device was answered; its last callbacks are READ_REGISTER_ULONG 0x0 = 0x0; it has not reached WRITE_REGISTER_ULONG, MmAllocateContiguousMemory"},
		{Name: "debug-length", Title: "DxgkDdiCollectDbgInfo uses at most the buffer that it gets.", Fault: Driver, Source: "DXGKDDI_COLLECTDBGINFO",
			Catches: "a Length that is negative or more than the size of Buffer.",
			Example: "DxgkDdiCollectDbgInfo: Length is 65537, want 0 to 65536, the size of Buffer"},
		{Name: "start-displays", Title: "DxgkDdiStartDevice reports no displays.", Fault: Driver, Source: "DXGKDDI_START_DEVICE; documentation of kmddi.StartDeviceOut",
			Catches: "a number of video present sources or children that is not 0.",
			Example: "DxgkDdiStartDevice: NumberOfVideoPresentSources is 1 and NumberOfChildren is 0, want 0 and 0: displays are not supported"},
	}
}

// objectRules are the rules on objects and on what a driver holds.
func objectRules() []Rule {
	return []Rule{
		{Name: "handle-kind", Title: "A handle is of the kind and the owner that the function wants.", Fault: Runtime, Source: srcKernel,
			Catches: "a device given as a context; an opened allocation or a context of another device; the adapter of another kernel; a handle that refers to no object.",
			Example: "DxgkDdiCloseAllocation: opened allocation 5 belongs to device 2, want one of device 3"},
		{Name: "object-life", Title: "An object is used only from its creation to its destruction.", Fault: Runtime, Source: srcKernel,
			Catches: "any use of an object that is destroyed or whose Create function failed, also a call of its Destroy function.",
			Example: "DxgkDdiDestroyDevice: device 2 is not created: its Create function failed"},
		{Name: "object-children", Title: "An object is destroyed after everything that depends on it.", Fault: Runtime, Source: srcKernel,
			Catches: "a device with contexts or opened allocations; an allocation that is open; StopDevice with devices or allocations.",
			Example: "DxgkDdiDestroyDevice: device 2 still has context 4"},
		{Name: "driver-replaced", Title: "Root.Driver changes only in the functions that create and destroy the object.", Fault: Driver, Source: "documentation of ddi.Root",
			Catches: "another value of Driver at the entry or the return of a function that gets the handle. The adapter's may also change in the functions that start, stop and reset the device. Values that Go cannot compare are not checked.",
			Example: "DxgkDdiCreateContext: Driver of device 2 has changed in the function, want that of its Create function"},
		{Name: "memory-leak", Title: "A stopped miniport holds no memory.", Fault: Driver, Source: "DXGKDDI_STOP_DEVICE; DXGKDDI_START_DEVICE; MmAllocateContiguousMemory",
			Catches: "memory of MmAllocateContiguousMemory that is not freed when DxgkDdiRemoveDevice is called, also after a DxgkDdiStartDevice that failed.",
			Example: "DxgkDdiRemoveDevice: the miniport still holds 4096 bytes at 0x100000 of MmAllocateContiguousMemory, from DxgkDdiStartDevice at miniport.startDevice (start.go:88), want MmFreeContiguousMemory before the end of DxgkDdiStopDevice"},
		{Name: "mapping-leak", Title: "A stopped miniport holds no mapping.", Fault: Driver, Source: "DXGKDDI_STOP_DEVICE; DXGKDDI_START_DEVICE; DXGKCB_MAP_MEMORY",
			Catches: "a mapping of DxgkCbMapMemory that is not unmapped when DxgkDdiRemoveDevice is called, also after a DxgkDdiStartDevice that failed.",
			Example: "DxgkDdiRemoveDevice: the miniport still holds the mapping of 0x1000 bytes at 0x0 of BAR 0 of DxgkCbMapMemory, from DxgkDdiStartDevice at miniport.startDevice (start.go:88), want DxgkCbUnmapMemory before the end of DxgkDdiStopDevice"},
		{Name: "handle-refused", Title: "A driver accepts the handles that it created.", Fault: Driver, Source: "documentation of ddi.Root",
			Catches: "STATUS_INVALID_HANDLE from a function that gets a live handle whose Driver is nil, since the function that creates the object did not set it. DxgkDdiRender and DxgkDdiPresent may refuse a handle in a command, so for them another handle of the kind must have a Driver.",
			Example: "DxgkDdiCreateContext: returned STATUS_INVALID_HANDLE: Driver of device 2 is nil, since DxgkDdiCreateDevice did not set it"},
		{Name: "config-write", Title: "A driver does not change the fields of configuration space that the system sets.", Fault: Driver, Source: "DXGKCB_WRITE_DEVICE_SPACE; PCI 3.0 §6.2.2 and §6.2.5",
			Catches: "DxgkCbWriteDeviceSpace to a base address; a value of Command without memory decode, except in DxgkDdiStopDevice. The device would no longer answer where the system expects it.",
			Example: "DxgkCbWriteDeviceSpace: writes 0x4 to Command in DxgkDdiStartDevice, which turns memory decode (0x2) off, want it as DxgkCbReadDeviceSpace returns it"},
		{Name: "callback-argument", Title: "A callback gets a valid handle, offset, size and message number.", Fault: Driver, Source: srcCallbacks,
			Catches: "a callback that returns STATUS_INVALID_HANDLE or STATUS_INVALID_PARAMETER: for example a register outside its mapping, or a mapping that was unmapped (DxgkCbMapMemory may be tried); a mapping that does not begin and end at a multiple of 4; an offset in configuration space that is no multiple of 4 or after its end; an allocation of 0 bytes; MmFreeContiguousMemory of another number of bytes than was allocated.",
			Example: "DxgkCbSynchronizeExecution: returns STATUS_INVALID_PARAMETER, called in DxgkDdiQueryCurrentFence with messageNumber 0x9"},
	}
}

// fenceRules are the rules on fences.
func fenceRules() []Rule {
	return []Rule{
		{Name: "fence-twice", Title: "A fence is reported once.", Fault: Driver, Source: "DXGKDDI_QUERYCURRENTFENCE; DXGKCB_NOTIFY_INTERRUPT",
			Catches: "DxgkCbNotifyInterrupt with the fence that was reported last on the node, or that a reset lost.",
			Example: "DxgkCbNotifyInterrupt: node 0: fence 7 reported, which was reported before or lost in a reset"},
		{Name: "fence-early", Title: "A fence is reported after an event from the GPU.", Fault: Driver, Source: "DXGK_INTERRUPT_TYPE, DXGK_INTERRUPT_DMA_COMPLETED; DXGKDDI_QUERYCURRENTFENCE",
			Catches: "a fence of a buffer with commands, if since DxgkDdiSubmitCommand no interrupt routine ran, no register was read, and the GPU wrote nothing to the memory of the miniport. Without these a driver cannot know that the buffer has completed. An empty buffer may complete at once.",
			Example: "DxgkCbNotifyInterrupt: node 0: fence 7 reported, but since its submission there was no interrupt, no register was read and the GPU wrote nothing"},
		{Name: "fence-unseen", Title: "A reported fence was written by the GPU or read from a register.", Fault: Driver, Warning: true, Source: "DXGKDDI_QUERYCURRENTFENCE, remarks on fences",
			Catches: "a fence whose value, or that of a later one, was in no register that the driver read, and that the GPU did not write to the memory of the miniport. It is a warning, since a driver may use its own numbers on the GPU and translate them.",
			Example: "DxgkCbNotifyInterrupt: node 0: fence 7 reported, but no register had the value and the GPU did not write it"},
		{Name: "preempt-completed", Title: "LastCompletedFenceId of DMA_PREEMPTED is a fence that has completed.", Fault: Driver, Source: "DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaPreempted.LastCompletedFenceId",
			Catches: "a fence of a buffer with commands, if neither its value nor that of a later one was in a register that the driver read, and the GPU did not write it to the memory of the miniport, although fences of the node that the driver reported before were there. The work after the last completed fence is submitted again, so work up to this one is lost. A driver that uses its own numbers on the GPU is not checked.",
			Example: "DxgkCbNotifyInterrupt: node 0: LastCompletedFenceID is 13, but of the fences that were not reported the GPU has none from 13 on"},
		{Name: "fence-query", Title: "DxgkDdiQueryCurrentFence reports a fence that it finds.", Fault: Driver, Source: "DXGKDDI_QUERYCURRENTFENCE",
			Catches: "a CurrentFence that has not been reported by DxgkCbNotifyInterrupt when the function returns.",
			Example: "DxgkDdiQueryCurrentFence: node 0: CurrentFence is 7, but the last fence reported is 6, want it reported by DxgkCbNotifyInterrupt before the return"},
		{Name: "fence-faulted", Title: "A fence that faulted is submitted and has not completed.", Fault: Driver, Source: "DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaFaulted",
			Catches: "DXGK_INTERRUPT_DMA_FAULTED with a fence that the node was not given, or that was reported as completed.",
			Example: "DxgkCbNotifyInterrupt: node 0: fence 7 has faulted, want one that is submitted and not reported"},
		{Name: "interrupt-engine", Title: "DxgkCbNotifyInterrupt names an engine of the node.", Fault: Driver, Source: "DXGKARGCB_NOTIFY_INTERRUPT_DATA",
			Catches: "an EngineOrdinal other than 0. A node of this interface has one engine.",
			Example: "DxgkCbNotifyInterrupt: node 0: EngineOrdinal is 1, want 0, the only engine"},
		{Name: "interrupt-status", Title: "DxgkCbNotifyInterrupt has a nonzero Status only for a fault.", Fault: Driver, Source: "DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaCompleted and DmaFaulted; documentation of kmddi.NotifyInterrupt",
			Catches: "DXGK_INTERRUPT_DMA_COMPLETED with a Status other than 0.",
			Example: "DxgkCbNotifyInterrupt: node 0: Status is 0x1 for fence 7, which completed, want 0"},
		{Name: "interrupt-ignored", Title: "The interrupt routine claims the interrupt of a completed fence.", Fault: DriverOrDevice, Warning: true, Source: "DXGKDDI_INTERRUPT_ROUTINE",
			Catches: "a fence that DxgkDdiQueryCurrentFence finds and reports, if after the GPU wrote it the interrupt routine ran and returned FALSE each time. It is a warning, since the interrupts may have been others and the link may have lost the one of the fence.",
			Example: "DxgkDdiInterruptRoutine: returned FALSE for each of 2 interrupts since the GPU wrote fence 7 of node 1, which DxgkDdiQueryCurrentFence then found completed"},
		{Name: "interrupt-claim", Title: "The interrupt routine returns TRUE for an interrupt of its adapter.", Fault: Driver, Source: "DXGKDDI_INTERRUPT_ROUTINE",
			Catches: "a routine that returns FALSE although it called DxgkCbNotifyInterrupt.",
			Example: "DxgkDdiInterruptRoutine: returned FALSE after DxgkCbNotifyInterrupt, want TRUE"},
		{Name: "submit-ignored", Title: "A submission is given to the device.", Fault: Driver, Source: "DXGKDDI_SUBMITCOMMAND",
			Catches: "a node without progress for TdrDelay, if the driver has written no register since it got the oldest submission. It is not for devices that poll memory for work.",
			Example: "DxgkDdiSubmitCommand: node 0: fence 7 timed out, and the driver has written no register since its submission"},
		{Name: "interrupt-lost", Title: "A completed fence is reported by an interrupt.", Fault: Either, Warning: true, Source: "DXGKDDI_QUERYCURRENTFENCE, remarks on missed fences",
			Catches: "a fence that the kernel finds by DxgkDdiQueryCurrentFence after a node made no progress for TdrDelay, without an interrupt. The device, the link or the miniport lost it. The graphics kernel checks this.",
			Example: "DxgkDdiQueryCurrentFence: node 0: fence 7 completed, but no interrupt reported it in 200000000 clocks"},
	}
}

// infoRules are the rules on what a miniport says of the adapter and of its
// objects. The graphics kernel checks them.
func infoRules() []Rule {
	return []Rule{
		{Name: "command-twice", Title: "A miniport reads the memory of an application once.", Fault: Driver, Source: "DXGKDDI_RENDER, remarks on the validation of command buffers",
			Catches: "a byte of Command or an element of PatchLocationListIn that one call of DxgkDdiRender reads twice. Another thread of the application can change it in between, after the miniport has checked it.",
			Example: "DxgkDdiRender: byte 0 of Command was read twice"},
		{Name: "miniport-table", Title: "The table of a miniport has all required functions.", Fault: Driver, Source: "DRIVER_INITIALIZATION_DATA; documentation of kmddi.DriverInitializationData",
			Catches: "a version other than DXGKDDI_INTERFACE_VERSION_WDDM1_3; a function that is nil, except DxgkDdiResetFromTimeout and DxgkDdiRestartFromTimeout, of which a miniport has both or none. The device does not start.",
			Example: "DriverEntry: the miniport has no DxgkDdiRender"},
		{Name: "adapter-info", Title: "The capabilities and segments of an adapter are valid and consistent.", Fault: Driver, Source: "DXGK_DRIVERCAPS; DXGK_QUERYSEGMENTOUT3; DXGK_SEGMENTDESCRIPTOR3",
			Catches: "a number of nodes, a queue length, an address, a version or a size out of range; a paging node that does not exist; more than one node without MultiEngineAware; a capability whose function the interface lacks; a segment that is empty, overlaps another, lies outside its BAR, or does not begin and end at a page. The device does not start.",
			Example: "DxgkDdiQueryAdapterInfo: PagingNode is 2, want less than NumberOfNodes, 2"},
		{Name: "context-info", Title: "The sizes of a context are valid.", Fault: Driver, Source: "DXGK_CONTEXTINFO",
			Catches: "a DMA buffer that is empty, no multiple of 4 bytes or more than 64 MiB; private data of more than 1 MiB; a list that is empty or has more than 1,048,576 elements. The context is not created. The limits are those of this kernel.",
			Example: "DxgkDdiCreateContext: DmaBufferSize is 6, want a multiple of 4"},
		{Name: "allocation-info", Title: "The description of an allocation is valid and names segments that exist.", Fault: Driver, Source: "DXGK_ALLOCATIONINFO; Specifying Segments When Creating Allocations",
			Catches: "a size of 0; an alignment that is not a power of two (0 means any); a SupportedSegmentSet that is empty or names a segment that does not exist; a PreferredSegment outside it. The allocation is not created.",
			Example: "DxgkDdiCreateAllocation: PreferredSegment is 3, want at most 2, the number of segments"},
	}
}

// budgetRules are the rules on time.
func budgetRules() []Rule {
	return []Rule{
		{Name: "call-budget", Title: "A function does not wait long for the device.", Fault: Driver,
			Source:  "DXGKDDI_INTERRUPT_ROUTINE; Sharing Processor Resources During Startup; Timeout Detection and Recovery, TdrDdiDelay",
			Catches: "accesses to the device that take, together, more than 25 us in DxgkDdiInterruptRoutine, 100 us in DxgkDdiDpcRoutine and DxgkDdiSubmitCommand, or 5 s in another function; more than 25 us in the function of DxgkCbSynchronizeExecution, which runs at DIRQL; more than 262,144 accesses in any. It is virtual time: boards whose clock is that of the host are not checked. An access counts as at most 1 us, so that a slow link is not charged.",
			Example: "DxgkDdiInterruptRoutine: has spent 2537 clocks on 61 accesses to the device, want at most 2500 clocks (25µs)"},
	}
}

// bugchecks are the rules that the graphics kernel checks.
func bugchecks() []Rule {
	return []Rule{
		{Name: "fence-reported", Title: "A reported fence is submitted and not older than the last one reported.", Fault: Driver, Source: srcScheduler,
			Catches: "NotifyInterrupt or QueryCurrentFence with a fence that the node has not been given, or that is before the last reported one; a preemption that was not asked for, or whose LastCompletedFenceID is such a fence; a node that does not exist.",
			Example: "DxgkCbNotifyInterrupt: node 0: fence 9 reported, want 4 to 7, which DxgkDdiSubmitCommand was given", Code: 0x119, P1: 0x1},
		{Name: "submit-result", Title: "DxgkDdiSubmitCommand and DxgkDdiPreemptCommand return STATUS_SUCCESS.", Fault: Driver, Source: srcScheduler,
			Catches: "any other status for a DMA buffer, or for a preemption.",
			Example: "DxgkDdiSubmitCommand: fence 7 to node 0 returned STATUS_INVALID_PARAMETER", Code: 0x119, P1: 0x2},
		{Name: "patch-result", Title: "DxgkDdiPatch returns STATUS_SUCCESS.", Fault: Driver, Source: srcScheduler,
			Catches: "any other status.",
			Example: "DxgkDdiPatch: fence 7 returned STATUS_UNSUCCESSFUL", Code: 0x119, P1: 0x3},
		{Name: "submit-paging-result", Title: "DxgkDdiSubmitCommand of a paging buffer returns STATUS_SUCCESS.", Fault: Driver, Source: srcScheduler,
			Catches: "any other status for a paging buffer.",
			Example: "DxgkDdiSubmitCommand: fence 7 to node 1 returned STATUS_NO_MEMORY", Code: 0x119, P1: 0x5},
		{Name: "cancel-result", Title: "DxgkDdiCancelCommand returns STATUS_SUCCESS.", Fault: Driver, Source: srcScheduler,
			Catches: "any other status.",
			Example: "DxgkDdiCancelCommand: returned STATUS_INVALID_PARAMETER, want STATUS_SUCCESS", Code: 0x119, P1: 0x9},
		{Name: "reset-fence", Title: "DxgkDdiResetEngine returns the fence of a submission, or the last completed one.", Fault: Driver, Source: srcScheduler,
			Catches: "a LastAbortedFenceID that is neither the last completed fence of the node nor that of a submission after it, such as the fence of a preemption.",
			Example: "DxgkDdiResetEngine: node 0: LastAbortedFenceID is 12, want 7 to 9: the last completed fence, or that of a submission after it", Code: 0x119, P1: 0xa},
		{Name: "reset-interrupt", Title: "A node that is reset reports nothing before its next work.", Fault: Driver, Source: srcScheduler,
			Catches: "NotifyInterrupt for a node after its DxgkDdiResetEngine and before it goes on.",
			Example: "DxgkCbNotifyInterrupt: node 0: type 1, fence 7 after DxgkDdiResetEngine and before the node goes on", Code: 0x119, P1: 0x10},
		{Name: "reset-limit", Title: "An adapter is not reset more than five times in a minute.", Fault: DriverOrDevice, Source: srcTDR,
			Catches: "one more reset of the adapter in TdrLimitTime than TdrLimitCount allows. A reset of a node does not count.",
			Example: "DxgkDdiResetFromTimeout: 6 resets of the adapter in 3120000 clocks, want at most 5 in 6000000000", Code: 0x116, P1: 0x1},
		{Name: "reset-time", Title: "A function that resets returns in five seconds.", Fault: Driver, Source: srcTDR,
			Catches: "DxgkDdiResetEngine, DxgkDdiResetFromTimeout or DxgkDdiRestartFromTimeout that takes longer than TdrDdiDelay, in virtual time. A slow link has the time that it needs for the largest allocation in addition.",
			Example: "DxgkDdiResetEngine: took 612000000 clocks, want at most 500000000", Code: 0x116, P1: 0x2},
		{Name: "patch-list", Title: "A patch list refers to listed allocations and to places in the DMA buffer, with split offsets that do not decrease.", Fault: Driver, Source: srcMemory,
			Catches: "an allocation index past the list; a patch offset past the used bytes; a split offset that is less than the one before, more than its patch offset, or not a multiple of 4.",
			Example: "DxgkDdiRender: patch 3: AllocationIndex is 9, want less than 4", Code: 0x10e, P1: 0x8},
		{Name: "paging-result", Title: "DxgkDdiBuildPagingBuffer succeeds, is busy, or needs a new buffer.", Fault: Driver, Source: srcMemory,
			Catches: "another status, except of MAP_APERTURE_SEGMENT and UNMAP_APERTURE_SEGMENT; STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER without progress in an empty buffer; STATUS_GRAPHICS_ALLOCATION_BUSY of an idle allocation.",
			Example: "DxgkDdiBuildPagingBuffer: operation 0 returned STATUS_NO_MEMORY", Code: 0x10e, P1: 0xb},
		{Name: "aperture-map-result", Title: "DxgkDdiBuildPagingBuffer maps the pages of an aperture segment.", Fault: Driver, Source: srcMemory,
			Catches: "an error of MAP_APERTURE_SEGMENT other than STATUS_GRAPHICS_ALLOCATION_BUSY and STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER.",
			Example: "DxgkDdiBuildPagingBuffer: operation 5 returned STATUS_NO_MEMORY", Code: 0x10e, P1: 0xe},
		{Name: "aperture-unmap-result", Title: "DxgkDdiBuildPagingBuffer unmaps the pages of an aperture segment.", Fault: Driver, Source: srcMemory,
			Catches: "an error of UNMAP_APERTURE_SEGMENT other than STATUS_GRAPHICS_ALLOCATION_BUSY and STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, also after a reset.",
			Example: "DxgkDdiBuildPagingBuffer: operation 6 returned STATUS_INVALID_PARAMETER", Code: 0x10e, P1: 0x3},
		{Name: "private-overflow", Title: "The private data of a DMA buffer are not used beyond their ends.", Fault: Driver, Source: srcMemory,
			Catches: "with a verifier, a write to the memory before and after the private data, seen after each call and when the buffer retires. Go checks the indices of the miniport, so only code without these checks can write there.",
			Example: "DxgkDdiRender: memory after the private data was written, at byte 0x0 of the guard", Code: 0x10e, P1: 0x13},
		{Name: "buffer-overflow", Title: "A DMA buffer and a patch list are not used beyond their ends.", Fault: Driver, Source: srcMemory,
			Catches: "more used bytes or patch locations than the buffer or the list has; with a verifier also a write to the pages before and after the buffer, seen after each call and when the buffer retires. The GPU can write there; Go checks the indices of the miniport.",
			Example: "DxgkDdiRender: 8196 bytes used of a DMA buffer of 8192", Code: 0x10e, P1: 0x12},
		{Name: "render-progress", Title: "DxgkDdiRender makes progress in an empty DMA buffer.", Fault: Driver, Source: srcMemory,
			Catches: "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER with MultipassOffset unchanged.",
			Example: "DxgkDdiRender: an empty DMA buffer of 64 bytes and 8 patches is insufficient at MultipassOffset 0", Code: 0x10e, P1: 0x16},
		{Name: "aperture-write", Title: "The GPU does not write to pages of an aperture segment that are not mapped.", Fault: Driver, Source: srcMemory,
			Catches: "a changed byte of the dummy page, seen when a submission has completed: the GPU has written to an address of the aperture after UNMAP_APERTURE_SEGMENT, because the driver did not map pages, mapped others, or let the GPU use an older entry.",
			Example: "DxgkDdiBuildPagingBuffer: the GPU has written byte 0x40 of the dummy page at 0x204000 by node 0 fence 3, want no writes to pages of an aperture segment that are not mapped", Code: 0x10e, P1: 0x25},
		{Name: "interrupt-dpc", Title: "NotifyInterrupt is followed by QueueDpc.", Fault: Driver, Source: srcNotify,
			Catches: "DxgkDdiInterruptRoutine that returns after NotifyInterrupt without a later QueueDpc.",
			Example: "DxgkDdiInterruptRoutine: message 0: DxgkCbNotifyInterrupt without a later DxgkCbQueueDpc", Code: 0xc4, P1: 0x10001},
		{Name: "dpc-notify", Title: "DxgkDdiDpcRoutine calls NotifyDpc.", Fault: Driver, Source: srcNotify,
			Catches: "DxgkDdiDpcRoutine that returns without NotifyDpc.",
			Example: "DxgkDdiDpcRoutine: returned without DxgkCbNotifyDpc", Code: 0xc4, P1: 0x10002},
		{Name: "callback-level", Title: "NotifyInterrupt is called at DIRQL and NotifyDpc at DISPATCH_LEVEL.", Fault: Driver, Source: srcNotify,
			Catches: "a callback at another level.",
			Example: "DxgkCbNotifyInterrupt: at PASSIVE_LEVEL, want DIRQL", Code: 0xc4, P1: 0x10003},
		{Name: "callback-handle", Title: "Callbacks get the handle of their adapter.", Fault: Driver, Source: srcKernel,
			Catches: "a callback without a status that gets the handle of another adapter; memory that is freed and not allocated.",
			Example: "DxgkCbQueueDpc: the handle of another adapter", Code: 0xc4, P1: 0x10004},
		{Name: "buffer-kept", Title: "Buffers and lists are used only during the call that lends them.", Fault: Driver, Source: "DXGKARG_RENDER; DXGKARG_PATCH; DXGKARG_BUILDPAGINGBUFFER",
			Catches: "a DMA buffer, private data or a patch list that changes between the return of DxgkDdiRender, Present, BuildPagingBuffer or Patch and the submission; a buffer that is written, by the CPU or the GPU, after it was given back, when it holds a pattern; an allocation list that the miniport changes. Checked with a verifier only.",
			Example: "DxgkDdiRender: byte 0x40 of the buffer changed after the function returned, by the GPU or through a pointer that was kept", Code: 0xc4, P1: 0x10008},
		{Name: "patch-range", Title: "DxgkDdiPatch changes only the part of the DMA buffer that is submitted.", Fault: Driver, Source: "DXGKARG_PATCH, DmaBufferSubmissionStartOffset and DmaBufferSubmissionEndOffset",
			Catches: "a byte outside the part that differs after the call: for example patches [0, Length) instead of [Start, Start+Length), or an offset to which the start of the part was added. The GPU may execute the rest of the buffer meanwhile. Checked with a verifier only.",
			Example: "DxgkDdiPatch: byte 0x8 of the buffer changed, want changes in [0x40, 0x80) only", Code: 0xc4, P1: 0x10009},
		{Name: "buffer-align", Title: "The used part of a DMA buffer is a multiple of 4 bytes.", Fault: Driver, Source: srcKernel,
			Catches: "another number of bytes, from DxgkDdiRender, DxgkDdiPresent or DxgkDdiBuildPagingBuffer.",
			Example: "DxgkDdiRender: 13 bytes of a DMA buffer used, want a multiple of 4", Code: 0xc4, P1: 0x10005},
		{Name: "interrupt-type", Title: "NotifyInterrupt has a type that the kernel knows.", Fault: Driver, Source: srcNotify,
			Catches: "a type other than DXGK_INTERRUPT_DMA_COMPLETED and DXGK_INTERRUPT_DMA_FAULTED.",
			Example: "DxgkCbNotifyInterrupt: type 9", Code: 0xc4, P1: 0x10006},
		{Name: "synchronize-level", Title: "The function of SynchronizeExecution returns at DIRQL.", Fault: Driver, Source: srcLevels,
			Catches: "Thread.Lower, or Thread.Raise, in the function without the reverse.",
			Example: "DxgkCbSynchronizeExecution: the function returned at DISPATCH_LEVEL, want DIRQL", Code: 0xc4, P1: 0x10007},
	}
}

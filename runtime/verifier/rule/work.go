package rule

// srcTDR is the source of the rules on work that the GPU does not do.
const srcTDR = "Timeout Detection and Recovery (TDR); DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaFaulted"

// srcPatch is the source of the rules on DxgkDdiPatch.
const srcPatch = "DXGKDDI_PATCH; DXGKARG_PATCH, PatchLocationListSubmissionStart"

// workRules are the rules on the work that a miniport gives to the GPU.
func workRules() []Rule {
	return []Rule{
		{Name: "gpu-fault", Title: "The GPU executes each submission without a fault.", Fault: DriverOrDevice, Warning: true, Source: srcTDR,
			Catches: "DXGK_INTERRUPT_DMA_FAULTED. The text names the calls that wrote, patched and submitted the buffer. It is a warning, since broken hardware, or commands of an application that the miniport may pass on, can cause it. The node is reset, or the adapter stops.",
			Example: "DxgkDdiSubmitCommand: node 0: fence 12 faulted with STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE: its DMA buffer of 96 bytes was written by DxgkDdiRender, patched by DxgkDdiPatch (7 of 7 locations), submitted by DxgkDdiSubmitCommand from 0x0 to 0x60, which wrote a register, 0x110 = 0x40 (WRITE_REGISTER_ULONG); since then the driver wrote no register"},
		{Name: "gpu-time-out", Title: "The GPU completes each submission in time.", Fault: DriverOrDevice, Warning: true, Source: srcTDR,
			Catches: "a node without progress for TdrDelay, whose fence DxgkDdiQueryCurrentFence does not report either. The text names the calls that made the submission. It is a warning, as gpu-fault is; submit-ignored is the rule for a driver that did not tell the GPU. The node is reset, or the adapter stops.",
			Example: "DxgkDdiSubmitCommand: node 1: fence 3 made no progress in 200000000 clocks: its paging buffer of 20 bytes was written by DxgkDdiBuildPagingBuffer (FILL of 4096 bytes of allocation 0x100004 to 0x1000 in segment 1), submitted by DxgkDdiSubmitCommand from 0x0 to 0x14, which wrote a register, 0x110 = 0x14 (WRITE_REGISTER_ULONG); since then the driver wrote no register"},
		{Name: "gpu-late", Title: "A submission makes progress without a preemption.", Fault: DriverOrDevice, Warning: true, Source: srcTDR,
			Catches: "a submission that completes, but only after its node made no progress for TdrDelay, was asked to stop, and got its work again. A doorbell was lost, or the work takes longer than TdrDelay. It is a warning, and nothing is lost.",
			Example: "DxgkDdiSubmitCommand: node 0: fence 21, which was fence 12, ended after a time of 200000000 clocks without progress and a preemption"},
		{Name: "preempt-time-out", Title: "A node answers a preemption in time.", Fault: DriverOrDevice, Warning: true, Source: "DXGKDDI_PREEMPTCOMMAND; DXGKARGCB_NOTIFY_INTERRUPT_DATA, DmaPreempted",
			Catches: "a DxgkDdiPreemptCommand that succeeds, without DXGK_INTERRUPT_DMA_PREEMPTED of its fence in TdrDelay, also if the node had no work left; that report without DxgkCbQueueDpc. It is a warning, since a node that hangs can cause it. The node is reset, or the adapter stops, unless only the DPC was missing.",
			Example: "DxgkDdiPreemptCommand: node 0: preemption fence 13 was accepted, but DMA_PREEMPTED was not reported in 200000000 clocks"},
		{Name: "paging-content", Title: "A paging operation moves or fills exactly the bytes of its allocation.", Fault: DriverOrDevice, Source: "DXGKARG_BUILDPAGINGBUFFER, Transfer and Fill",
			Catches: "after the fence of a TRANSFER or a FILL: a byte of the destination that differs from the source or from FillPattern. The kernel compares host memory with a memory segment that is visible to the CPU, on a GPU that is emulated in this process, where that takes no time. It does not compare if the application had the allocation locked, if a later operation or submission may have written the allocation, or, after a TRANSFER to host memory, if the place in the segment was given away. Faulty memory can cause it too.",
			Example: "DxgkDdiBuildPagingBuffer: node 1: fence 3: TRANSFER of 5000 bytes of allocation 0x100004 to 0x1000 in segment 1 from host memory 0x142000: byte 0x1387 of the destination is 0x88, want 0x05"},
		{Name: "aperture-unmap", Title: "UNMAP_APERTURE_SEGMENT gives each page the dummy page.", Fault: DriverOrDevice, Source: "DXGKARG_BUILDPAGINGBUFFER, UnmapApertureSegment.DummyPage",
			Catches: "after the fence of an UNMAP_APERTURE_SEGMENT, and before the next operation on the page: a page of the aperture that an access of the GPU takes for other host memory, because the driver left the entry in the table, wrote another one or did not flush, or one that it cannot write. The kernel looks at the table and the entries that the GPU has kept, on a GPU that is emulated in this process, where that takes no time. Faulty memory can cause it too.",
			Example: "DxgkDdiBuildPagingBuffer: node 1: fence 3: UNMAP_APERTURE_SEGMENT of 4096 bytes of allocation 0x100004 to host memory 0x102000 from 0x10000001000 in segment 2: the GPU has page 0x142000 of host memory at 0x10000001000, want the dummy page"},
		{Name: "patch-ignored", Title: "DxgkDdiPatch writes the address of each allocation that has patch locations.", Fault: Driver, Source: srcPatch,
			Catches: "an allocation of which no location in the submission depends on its address: locations that are left out, an address of another allocation, an address that is written elsewhere. An allocation may have several locations, for example for the low and the high half of its address, of which not each must change. A location has at most 8 bytes and ends at the next one. The checker calls DxgkDdiPatch twice before each submission, first with other addresses, as the scheduler does when allocations move after the first call. An allocation that fits at one place of its segment only is not checked.",
			Example: "DxgkDdiPatch: patch 3 of DxgkDdiRender, PatchOffset 0x20, AllocationIndex 2: the bytes of each location of the allocation are the same for its addresses 0x1000 and 0x2000"},
		{Name: "patch-repeat", Title: "DxgkDdiPatch can be called again.", Fault: Driver, Source: srcPatch,
			Catches: "a byte outside the 8 bytes of each location that differs after the second call: for example a value that is added to, or a location that is not in the submission. The first call has other addresses of the allocations, and is otherwise the same.",
			Example: "DxgkDdiPatch: byte 0x0 of the buffer is 0x01 after the call and 0x02 after a second one with other addresses, want the same, since no patch of the submission is there"},
	}
}

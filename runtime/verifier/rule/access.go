package rule

// srcList is the source of the rules on the memory of a submission.
const srcList = "DXGKARG_RENDER; D3DDDI_ALLOCATIONLIST, D3DDDI_PATCHLOCATIONLIST"

// Access returns the rules on the GPU's accesses to memory, which package sanitize of the test
// bench checks.
func Access() []Rule {
	return []Rule{
		{Name: "access-unpatched", Title: "Each address in a DMA buffer has a patch location.", Fault: Driver, Source: srcList,
			Catches: "a packet whose address is at a place of the buffer that no patch location of the submission names: the kernel does not know which allocation it uses, and cannot move it. Checked when the submission enters its queue, in the buffer that the GPU gets.",
			Example: "DxgkDdiRender: COPY at 0x18 of submission 3 (node 0, fence 2) writes VRAM+0x0 to VRAM+0x40, an address that no patch location names"},
		{Name: "access-address", Title: "Each address in a DMA buffer is that of its patch location.", Fault: Driver, Source: srcList,
			Catches: "an address other than that of the allocation plus AllocationOffset, and an allocation that is neither in a segment nor pinned.",
			Example: "DxgkDdiPatch: COPY at 0x18 of submission 3 (node 0, fence 2) writes VRAM+0x0 to VRAM+0x40, want VRAM+0x100, offset 0x100 of allocation 0x100004"},
		{Name: "access-bounds", Title: "A packet accesses only bytes of its allocation.", Fault: Driver, Source: srcList,
			Catches: "a packet that reads or writes before or after the allocation of its patch location; of a 2D packet the rows together with what is between them.",
			Example: "DxgkDdiRender: FILL at 0x0 of submission 3 (node 0, fence 2) writes VRAM+0x100 to VRAM+0x1100, want at most VRAM+0x1000, the end of allocation 0x100004"},
		{Name: "access-write", Title: "A packet writes only allocations whose list element has WriteOperation.", Fault: Driver, Source: srcList,
			Catches: "a packet that writes an allocation that the list of the submission has for reading only, so that the kernel does not order other work after it.",
			Example: "DxgkDdiRender: FILL at 0x0 of submission 3 (node 0, fence 2) writes VRAM+0x100 to VRAM+0x200 of allocation 0x100004 (resource 2, a buffer of 4096 bytes), whose list element does not have WriteOperation"},
		{Name: "access-device", Title: "A submission uses only allocations of its device.", Fault: Runtime, Source: srcList,
			Catches: "an allocation that another device made, or that was freed while the GPU may use it.",
			Example: "DxgkDdiRender: COPY at 0x18 of submission 3 (node 0, fence 2) uses allocation 0x100004 of device 0x100001, want one of device 0x100009"},
		{Name: "access-paging", Title: "A paging buffer accesses only what its operations name.", Fault: Driver, Source: "DXGKARG_BUILDPAGINGBUFFER, Transfer and Fill",
			Catches: "a packet of a paging buffer that reads outside the source or writes outside the destination of each of its operations.",
			Example: "DxgkDdiBuildPagingBuffer: FILL at 0x0 of submission 1 (node 1, fence 1) writes VRAM+0x0 to VRAM+0x2000, want a part of a destination of its operations"},
		{Name: "access-outside", Title: "The GPU accesses host memory, and executes packets, only of submissions that it was given.", Fault: DriverOrDevice, Source: "DXGKARG_SUBMITCOMMAND, DmaBufferSubmissionStartOffset and DmaBufferSubmissionEndOffset",
			Catches: "a read or write of host memory that belongs neither to the memory of the miniport nor to a submission in the hardware, as a buffer, an allocation or a paging operation, and one where no memory is; a packet that a node executes outside the part of the buffer that was submitted, where the GPU is emulated in this process. It is told at the next step of the kernel.",
			Example: "DxgkDdiSubmitCommand: node 0 executed the packet at HOST+0x142000, which is in no submission in the hardware"},
		{Name: "access-stopped", Title: "A node that is asked to stop does so where the capabilities claim.", Fault: DriverOrDevice, Source: "D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY; DXGKDDI_PREEMPTCOMMAND",
			Catches: "a node that stops inside a DMA buffer, after one of its packets and before its last one, although GraphicsPreemptionGranularity is D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY or NONE. The scheduler takes all work in the hardware for whole. Checked where the GPU is emulated in this process.",
			Example: "DxgkDdiPreemptCommand: node 0 has stopped at HOST+0x142018, inside submission 3 (fence 2), whose buffer ends at HOST+0x142060, but GraphicsPreemptionGranularity is 100, want a stop between buffers"},
		{Name: "access-mdl", Title: "The pages of an MDL are used only for the operation that has it.", Fault: Driver, Source: "DXGKARG_BUILDPAGINGBUFFER, pMdl",
			Catches: "an access of the GPU to the page that the kernel puts into an MDL when DxgkDdiBuildPagingBuffer has returned, and where no memory is: the driver has kept the MDL, and used it for later work. It is told at the next step of the kernel.",
			Example: "DxgkDdiBuildPagingBuffer: the GPU read HOST+0xff000 to HOST+0xff040, a page that was in no MDL when its operation was built"},
		{Name: "access-driver", Title: "The GPU uses the memory of the miniport as rings and registers say.", Fault: DriverOrDevice, Source: "DXGKARG_SUBMITCOMMAND, SubmissionFenceId; MmAllocateContiguousMemory",
			Catches: "a packet of a ring that writes a ring, the table of the aperture or a window of the firmware; a FENCE, SIGNAL, TIMESTAMP or SAVE_STATE of a ring that goes to other host memory than the miniport's, or to an allocation; a read of the miniport's memory that is no ring, table or window and that no packet of a ring names, and such a write. The packets of a ring are known if it is in host memory. Packets are checked at the doorbell, accesses when they are made, and both are told at the next step of the kernel.",
			Example: "DxgkDdiSubmitCommand: FENCE at HOST+0x105018 in the ring of node 0 writes HOST+0x106000 to HOST+0x106004, the ring of node 1"},
		{Name: "access-dropped", Title: "A command buffer with work becomes a submission with work.", Fault: Driver, Source: "DXGKDDI_RENDER; DXGKARG_RENDER, pDmaBuffer",
			Catches: "a Render that succeeds, whose command buffer has packets that move data, and whose DMA buffers have none.",
			Example: "DxgkDdiRender: the command buffer has 6 packets that move data, and no submission has one"},
		{Name: "access-hazard", Title: "A submission waits for those of other nodes whose memory it uses.", Fault: Runtime, Source: "D3DDDI_ALLOCATIONLIST, WriteOperation",
			Catches: "a packet that reads what an unfinished submission of another node writes, or writes what one reads or writes, where neither waits for the other. A DMA buffer that was preempted and has not continued is unfinished work of every node, but needs no places: paging buffers may move its allocations.",
			Example: "DxgkDdiSubmitCommand: COPY at 0x18 of submission 3 (node 0, fence 2) reads VRAM+0x0 to VRAM+0x40 of allocation 0x100004, which submission 2 of node 1 writes, and does not wait for it"},
		{Name: "access-cpu-write", Title: "The CPU does not write memory that the GPU owns.", Fault: Either, Source: "D3DDDICB_LOCK, IgnoreSync; D3D11_MAP_WRITE_NO_OVERWRITE",
			Catches: "bytes of host memory that a submission accesses, and that change after it enters its queue and before it ends, though no GPU access wrote them: a pointer that is used after the unlock, or a lock with IgnoreSync that does not keep its promise. Checked at each read of the GPU and at the end of the submission. A write of the value that is there already is not seen.",
			Example: "pfnLockCb: byte 0x100 of allocation 0x100004 is 0x25 and was 0x00: the CPU wrote it before submission 3 ended, whose COPY at 0x18 reads HOST+0x142000 to HOST+0x142200"},
		{Name: "access-lock", Title: "A lock waits for the GPU.", Fault: Runtime, Source: "D3DDDICB_LOCK, IgnoreSync",
			Catches: "a lock without IgnoreSync that returns while an unfinished submission writes the allocation, or accesses one that is locked for writing.",
			Example: "pfnLockCb: allocation 0x100004 is locked while FILL at 0x0 of submission 3 (node 0, fence 2) writes HOST+0x142000 to HOST+0x142200"},
		{Name: "access-eviction", Title: "An evicted allocation returns with its content.", Fault: Runtime, Source: "DXGKARG_BUILDPAGINGBUFFER, Transfer, Fill and DiscardContent",
			Catches: "an allocation that packets have written in a segment and that loses its place without a copy to host memory, a copy to or from other memory than its own, a fill instead of a copy, a place that is used before the copy, a move within a segment from another place than the last one, a DISCARD_CONTENT of what is neither offered nor destroyed, and host memory that changes between the end of the copy and the way back. If the application has locked the allocation for writing before, the last one is access-cpu-write. Checked when a submission enters its queue.",
			Example: "DxgkDdiBuildPagingBuffer: byte 0x40 of allocation 0x100004 (resource 2, a buffer of 4096 bytes) is 0x00 and was 0x25 when it was evicted"},
		{Name: "access-unwritten", Title: "A packet reads memory that somebody wrote.", Fault: Either, Warning: true, Source: "D3D11 functional specification, resource creation without initial data",
			Catches: "a packet that reads a byte of an allocation that neither a packet nor a lock for writing covers; of a rectangle row by row. A present may read such bytes. A COPY of a texture may too, unless nobody has written a byte of the texture, since a driver may copy what is between the rows: the bytes stay unwritten in the copy. The kernel clears such memory, so the values are 0 here; elsewhere they are undefined.",
			Example: "DxgkDdiRender: COPY at 0x18 of submission 3 (node 0, fence 2) reads VRAM+0x0 to VRAM+0x40 of allocation 0x100004 (resource 2, a buffer of 64 bytes), of which nobody has written byte 0x20"},
	}
}

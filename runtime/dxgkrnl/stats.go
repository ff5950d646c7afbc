package dxgkrnl

// Stats holds counters of the kernel.
type Stats struct {
	DMABuffers     uint64 // portions of DMA buffers submitted; a preempted one counts once
	PagingBuffers  uint64 // paging buffers submitted; a preempted one counts once
	Splits         uint64 // portions of a DMA buffer after its first
	Fences         uint64 // submissions retired
	Interrupts     uint64 // calls of InterruptRoutine
	Unclaimed      uint64 // calls of InterruptRoutine that returned false
	DPCs           uint64 // calls of DpcRoutine
	LostInterrupts uint64 // fences found only by QueryCurrentFence
	Evictions      uint64 // allocations evicted from a segment
	Discards       uint64 // of them, those whose content in a memory segment was worthless
	PagesMapped    uint64 // of aperture segments
	PagesUnmapped  uint64 // of aperture segments
	BytesPagedIn   uint64 // moved from host memory to a segment
	BytesPagedOut  uint64 // moved from a segment to host memory
	BytesFilled    uint64 // zeroed in a segment
	Moves          uint64 // allocations moved within their segment
	BytesMoved     uint64 // by these moves
	Late           uint64 // submissions that completed after a time without progress and a preemption
	Preemptions    uint64 // calls of PreemptCommand
	NodeResets     uint64 // resets of a node, after which the rest of the adapter went on
	Recoveries     uint64 // successful resets of the adapter
}

// Stats returns the current counters.
func (k *Kernel) Stats() Stats {
	var s Stats
	k.gate.peek(func() { s = k.stats })
	return s
}

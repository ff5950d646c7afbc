package breaks

// A Pitfall is a mistake that real drivers for Windows have made.
type Pitfall struct {
	Number   int
	Text     string
	Mistakes []string // the different mistakes that it is, of which each has a Break
	Test     string   // where it is tested if no Break has its number, and why
}

// The mistakes of pitfalls that are several.
const (
	preemptIdle  = "the last completed fence is that of the preemption"
	preemptAhead = "the last completed fence is one that has not completed"
	preemptAsked = "nothing asked for it"

	answerNone  = "DxgkDdiPreemptCommand does nothing"
	answerLost  = "DMA_PREEMPTED is not reported"
	answerNoDpc = "DMA_PREEMPTED is reported without QueueDpc"

	emptyRender = "a DMA buffer of an application"
	emptyPaging = "a paging buffer"

	pagingStatus = "the status is illegal"
	pagingMDL    = "the MDL is kept after the return"

	capsTable = "a function is missing that a capability needs"
	capsStop  = "nodes stop elsewhere than claimed"

	unmapNothing = "the pages stay as they were"
	unmapOther   = "the pages are others than the dummy page"
	unmapStale   = "the GPU keeps old entries"
)

// Pitfalls returns the pitfalls, numbered from 1.
func Pitfalls() []Pitfall {
	all := []Pitfall{
		{Text: "Fences are reported out of order, since they are taken and reported in two steps."},
		{Text: "The last completed fence is read outside the lock when a preemption is acknowledged.", Mistakes: []string{preemptIdle, preemptAhead, preemptAsked}},
		{Text: "Preemption is claimed, or DxgkDdiPreemptCommand succeeds, without a report.", Mistakes: []string{answerNone, answerLost, answerNoDpc}},
		{Text: "An interrupt is lost or stands for several fences."},
		{Text: "NotifyInterrupt without QueueDpc; a DPC without NotifyDpc."},
		{Text: "DxgkDdiSubmitCommand returns an error."},
		{Text: "Patch range starts at 0; PatchOffset is outside the part that is submitted."},
		{Text: "The patch list is empty, so the allocation is not resident."},
		{Text: "The pointers to the DMA buffer and the patch list are not advanced, or too far."},
		{Text: "AllocationIndex and PatchOffset are not checked."},
		{Text: "pNewCommandBuffer is ignored."},
		{Text: "Pointers in tables are kept, and a table that has moved is used."},
		{Text: "pfnSetErrorCb reports an illegal status, or success."},
		{Text: "An error of a deferred context is reported to the device's core layer."},
		{Text: "A handle that is recycled changes its size, or its function fails otherwise."},
		{Text: "State is stale after a list was executed, or refreshed in the wrong place."},
		{Text: "Abandoned commands are in the next list."},
		{Text: "A list that maps with DISCARD is executed twice, and both executions use the same memory."},
		{Text: "Uninitialized private memory is used as a pointer."},
		{Text: "A refresh callback gets its base and its count in the wrong order."},
		{Text: "Objects that were destroyed are never freed."},
		{Text: "A buffer without commands is never fenced, or before it ends.", Mistakes: []string{emptyRender, emptyPaging}},
		{Text: "DxgkDdiBuildPagingBuffer returns an illegal status, or keeps an MDL.", Mistakes: []string{pagingStatus, pagingMDL}},
		{Text: "An aperture is unmapped without a dummy page.", Mistakes: []string{unmapNothing, unmapOther, unmapStale}},
		{Text: "After a reset a TRANSFER of 0 bytes is refused, or a fence is reported that was lost."},
		{Text: "The state of the GPU is not set again at a split."},
		{Text: "A resubmission has the wrong fence."},
		{Text: "A fence wraps around."},
		{Text: "The handles of a device, a context and an adapter are confused."},
		{Text: "Capabilities are claimed that the driver lacks.", Mistakes: []string{capsTable, capsStop}},
		{Text: "A start or a creation that fails leaves what it has got."},
		{Text: "The runtime destroys an object whose creation failed.", Test: "of the runtime: the rules handle-failed and object-life in runtime/verifier and its package kmcheck"},
		{Text: "The fixed cost of a command list is high.", Test: "a cost and no contract: testbench/lists and BenchmarkLists in testbench"},
		{Text: "A deferred context or a list outlives its device."},
		{Text: "The memory of an application changes while it is checked."},
	}
	for i := range all {
		all[i].Number = i + 1
	}
	return all
}

package miniport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// submitCommand queues one DMA buffer followed by a fence.
//
//	DDI     DxgkDdiSubmitCommand, d3dkmddi.h
//	Caller  the GPU scheduler, at DISPATCH_LEVEL: must not block, allocate or
//	        touch pageable memory; at most HwQueuePacketCap are outstanding
//	In      arg.DmaBuffer*: the part [Start, End) of the buffer, in bytes, both
//	        multiples of 4; the physical address is that of the buffer's start
//	        arg.SubmissionFenceID: greater than the previous one on the node
//	Effect  one INDIRECT packet unless the part is empty, one FENCE packet, one
//	        doorbell write. A part in which a node was stopped continues there: a
//	        RESTORE_STATE packet precedes the INDIRECT for the rest. With the queues of the firmware, an entry of the
//	        queue of the context and one doorbell write; at once, or when
//	        earlier submissions have completed
//	Order   buffers execute in submission order; the fence register becomes
//	        SubmissionFenceID once the buffer's last write is visible. With
//	        queues only the work of a device, and that of the system, keep the
//	        order. Fences are reported in order
//	Returns always StatusSuccess: the system bugchecks (0x119/2) on any other
//	        value. A bad argument marks the ring as failed; the fence never
//	        completes and the scheduler's timeout handles it
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_submitcommand, 2024-03
func submitCommand(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
	a, ok := adapterOf(h)
	if !ok {
		return ddi.StatusSuccess
	}
	r, ok := a.ring(arg.NodeOrdinal)
	if err := a.checkSubmission(arg); !ok || err != nil {
		a.fail(arg.NodeOrdinal, err)
		return ddi.StatusSuccess
	}
	if a.queues != nil {
		a.queues.submit(t, r, arg)
		return ddi.StatusSuccess
	}
	if err := a.enter(t, r, arg); err != nil {
		r.Fail(err)
	}
	return ddi.StatusSuccess
}

// checkSubmission checks the arguments for the part to submit. The address of
// an empty part is ignored.
func (a *adapter) checkSubmission(arg kmddi.SubmitCommand) error {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	switch {
	case uint64(arg.NodeOrdinal) >= uint64(len(a.rings)) || arg.EngineOrdinal != 0:
		return fmt.Errorf("%w: node %d, engine %d", ErrArgument, arg.NodeOrdinal, arg.EngineOrdinal)
	case start > end || end > arg.DmaBufferSize || start%4 != 0 || end%4 != 0:
		return fmt.Errorf("%w: part [%#x, %#x) of a DMA buffer of %#x bytes", ErrArgument, start, end, arg.DmaBufferSize)
	case start < end && (arg.DmaBufferPhysicalAddress%4 != 0 || !a.caps.reachable(arg.DmaBufferPhysicalAddress, uint64(arg.DmaBufferSize))):
		return fmt.Errorf("%w: DMA buffer of %#x bytes at %#x", ErrArgument, arg.DmaBufferSize, arg.DmaBufferPhysicalAddress)
	}
	return nil
}

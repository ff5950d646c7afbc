package miniport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// patch writes the addresses of a submission into its DMA buffer. It may be
// called again for the same buffer and writes the same bytes for the same
// addresses.
//
//	DDI     DxgkDdiPatch, d3dkmddi.h
//	Caller  the GPU scheduler, PASSIVE_LEVEL, one thread at a time
//	In      elements [Start, Start+Length) of PatchLocationList, as written by
//	        Render or Present; PatchOffset in the part to be submitted
//	Effect  a firmware that hangs is loaded again. If the part was stopped, the
//	        surfaces in its private data get the new addresses
//	Returns always StatusSuccess: the system bugchecks (0x119/3) on any other
//	        value. An element that is out of range, or whose allocation is
//	        paged out, marks the ring as failed, so that nothing is submitted
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_patch
func patch(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
	a, ok := adapterOf(h)
	if !ok {
		return ddi.StatusSuccess
	}
	a.recoverHang(t)
	err := patchRange(arg)
	if err == nil {
		err = locate(arg)
	}
	if err != nil {
		a.fail(arg.NodeOrdinal, err)
	}
	return ddi.StatusSuccess
}

func patchRange(arg kmddi.Patch) error {
	first, n := uint64(arg.PatchLocationListSubmissionStart), uint64(arg.PatchLocationListSubmissionLength)
	if first+n > uint64(len(arg.PatchLocationList)) {
		return fmt.Errorf("%w: patches %d to %d of %d", ErrArgument, first, first+n, len(arg.PatchLocationList))
	}
	for _, p := range arg.PatchLocationList[first : first+n] {
		end := uint64(p.PatchOffset) + addressBytes
		if p.PatchOffset < arg.DmaBufferSubmissionStartOffset || end > uint64(arg.DmaBufferSubmissionEndOffset) || end > uint64(len(arg.DmaBuffer)) {
			return fmt.Errorf("%w: patch at %#x, want in [%#x, %#x) of %#x bytes", ErrArgument, p.PatchOffset,
				arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset, len(arg.DmaBuffer))
		}
		if uint64(p.AllocationIndex) >= uint64(len(arg.AllocationList)) {
			return fmt.Errorf("%w: patch of allocation %d of %d", ErrArgument, p.AllocationIndex, len(arg.AllocationList))
		}
		al := arg.AllocationList[p.AllocationIndex]
		if al.DeviceSpecificAllocation.Root == nil || al.SegmentID == 0 {
			return fmt.Errorf("%w: patch of allocation %d, which is paged out", ErrArgument, p.AllocationIndex)
		}
		le.PutUint64(arg.DmaBuffer[p.PatchOffset:], al.PhysicalAddress+uint64(p.AllocationOffset))
	}
	return nil
}

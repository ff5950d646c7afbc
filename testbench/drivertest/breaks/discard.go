package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// discardBreaks are mistakes in DISCARD_CONTENT, and with the buffers that it leaves empty.
func discardBreaks() []Break {
	return []Break{
		{
			Name: "DISCARD refused", Doc: "DxgkDdiBuildPagingBuffer refuses DISCARD_CONTENT.", Rule: "paging-result", Function: "DxgkDdiBuildPagingBuffer", Work: Draw,
			Drivers: paging(func(arg kmddi.BuildPagingBuffer, _ *kmddi.BuildPagingBufferOut, s *ddi.Status) {
				if arg.Operation == kmddi.PagingDiscardContent {
					*s = ddi.StatusInvalidParameter
				}
			}),
		},
		{
			Name: "DISCARD written past the buffer", Doc: "DxgkDdiBuildPagingBuffer moves pDmaBuffer past the end of the buffer for DISCARD_CONTENT.", Rule: "buffer-overflow",
			Function: "DxgkDdiBuildPagingBuffer", Work: Draw,
			Drivers: paging(func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut, _ *ddi.Status) {
				if arg.Operation == kmddi.PagingDiscardContent {
					out.DmaBufferUsed = uint32(len(arg.DmaBuffer)) + 4
				}
			}),
		},
		{
			Name: "empty paging buffer dropped", Pitfall: 22, Mistake: emptyPaging, Doc: "DxgkDdiSubmitCommand drops a paging buffer without bytes, as DISCARD_CONTENT leaves it, with its fence.", Rule: "gpu-time-out",
			Function: "DxgkDdiSubmitCommand", Work: Draw,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.SubmitCommand
				d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
					if arg.Flags.Paging && arg.DmaBufferSubmissionStartOffset == arg.DmaBufferSubmissionEndOffset {
						return ddi.StatusSuccess
					}
					return f(t, h, arg)
				}
			}),
		},
	}
}

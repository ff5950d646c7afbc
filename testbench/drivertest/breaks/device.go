package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// addressBytes is the size of an address in a DMA buffer.
const addressBytes = 8

// deviceBreaks are mistakes in the work for the GPU.
func deviceBreaks() []Break {
	const submit = "DxgkDdiSubmitCommand"
	work := func(name, doc, rule, function string, drivers change) Break {
		return Break{Name: name, Doc: doc, Rule: rule, Function: function, Work: Draw, Drivers: drivers}
	}
	patched := func(name, doc, rule string, edit func(arg *kmddi.Patch)) Break {
		return work(name, doc, rule, "DxgkDdiPatch", miniport(func(d *kmddi.DriverInitializationData) {
			f := d.Patch
			d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
				edit(&arg)
				return f(t, h, arg)
			}
		}))
	}
	paging := func(name, doc string, edit func(arg *kmddi.BuildPagingBuffer)) Break {
		return Break{
			Name: name, Doc: doc, Rule: "paging-content", Function: "DxgkDdiBuildPagingBuffer", Work: Draw,
			Own: true, // a node for paging: on one node a submission that writes the allocation follows at once
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.BuildPagingBuffer
				d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
					edit(&arg)
					return f(t, h, arg)
				}
			}),
		}
	}
	all := []Break{
		work("command that does not exist", "DxgkDdiRender writes a command that the GPU does not have.", "gpu-fault", submit,
			miniport(func(d *kmddi.DriverInitializationData) {
				f := d.Render
				d.Render = func(t *ddi.Thread, c kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
					out, s := f(t, c, arg)
					arg.DmaBuffer[0] = 0xff
					return out, s
				}
			})),
		work("registers written with 0", "DxgkDdiSubmitCommand writes 0 to the registers that tell the GPU of its work.", "gpu-time-out", submit, miniport(zeroDoorbell)),
		paging("fill with a pattern of its own", "DxgkDdiBuildPagingBuffer does not use FillPattern.", func(arg *kmddi.BuildPagingBuffer) { arg.FillPattern = 0xdddddddd }),
		patched("last patch left out", "DxgkDdiPatch leaves out the last location.", "patch-ignored", func(arg *kmddi.Patch) {
			arg.PatchLocationListSubmissionLength--
		}),
		patched("patches past Start left out", "DxgkDdiPatch takes PatchLocationListSubmissionLength for the number of bytes.", "patch-ignored", func(arg *kmddi.Patch) {
			arg.PatchLocationListSubmissionLength /= addressBytes
		}),
		patched("counter in the DMA buffer", "DxgkDdiPatch counts its calls in the DMA buffer.", "patch-repeat", func(arg *kmddi.Patch) {
			arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset]++
		}),
	}
	all[0].Own = true // the small miniport does not report faults
	return all
}

// zeroDoorbell makes DxgkDdiSubmitCommand write 0 to registers.
func zeroDoorbell(d *kmddi.DriverInitializationData) {
	submitting := false
	submit := d.SubmitCommand
	d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
		submitting = true
		defer func() { submitting = false }()
		return submit(t, h, arg)
	}
	kernelTable(d, func(cb *kmddi.DxgkrnlInterface) {
		write := cb.WriteRegister
		cb.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
			if submitting {
				v = 0
			}
			return write(t, h, m, off, v)
		}
	})
}

package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// deviceBreaks are mistakes in the work for the GPU.
func deviceBreaks() []Break {
	const submit = "DxgkDdiSubmitCommand"
	work := func(name, doc, rule, function string, drivers change) Break {
		return Break{Name: name, Doc: doc, Rule: rule, Function: function, Work: Draw, Drivers: drivers}
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

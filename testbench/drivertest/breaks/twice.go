package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// twiceBreaks are miniports that check the memory of an application and read it
// again, and other breaks that a test of a well-known mistake needs.
func twiceBreaks() []Break {
	reads := func(name, doc string, read func(arg kmddi.Render)) Break {
		return Break{
			Name: name, Pitfall: 35, Doc: doc, Rule: "command-twice", Function: "DxgkDdiRender",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.Render
				d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
					out, s := f(t, h, arg)
					read(arg)
					return out, s
				}
			}),
		}
	}
	return drawn(
		reads("command read twice", "The miniport checks the command and copies it afterwards.", func(arg kmddi.Render) {
			arg.Command.Read(0, make([]byte, arg.Command.Size()))
		}),
		reads("header read twice", "The miniport reads the first dword of the command again.", func(arg kmddi.Render) { arg.Command.Read(0, make([]byte, 4)) }),
		reads("patch location read twice", "The miniport reads the last patch location again.", func(arg kmddi.Render) {
			arg.PatchLocationListIn.At(arg.PatchLocationListIn.Len() - 1)
		}),
		Break{
			Name: "map without waiting", Doc: "The driver locks memory with IgnoreSync for a map that reads what the GPU writes.",
			Rule: "content", Function: "pfnStagingResourceMap",
			Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				f := kt.LockCb
				kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
					arg.DoNotWait, arg.IgnoreSync = false, true
					return f(t, h, arg)
				}
			}),
		},
	)
}

package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// refused completes breaks that the kernel refuses in a callback.
func refused(function, name, doc string, pitfall int, edit func(kt *umddi.DeviceCallbacks)) Break {
	return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: "callback-refused", Function: function, Drivers: callbacks(edit)}
}

// callbackBreaks are wrong arguments of callbacks, except of pfnRenderCb.
func callbackBreaks() []Break {
	return drawn(
		refused("pfnAllocateCb", "allocation of no device", "The driver passes the handle of no device to pfnAllocateCb.", 29, func(kt *umddi.DeviceCallbacks) {
			f := kt.AllocateCb
			kt.AllocateCb = func(t *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT { return f(t, umddi.HRTDevice{}, arg) }
		}),
	)
}

func commandBreaks() []Break { return nil }
func lifeBreaks() []Break { return nil }

package verifier

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// answers are what the callbacks told a driver that opens an adapter or a device.
type answers struct {
	bytes   int // of the miniport's private data
	asked   bool
	refused bool // one failed
}

// opens reports whether a function opens an adapter or a device.
func opens(f *Func) bool { return f.Name == "OpenAdapter10_2" || f.Name == "pfnCreateDevice" }

// noteAnswer notes what a callback returned to a driver that opens.
func noteAnswer(fr *frame, rets []any) {
	if fr.outer == nil || !opens(fr.outer.f) {
		return
	}
	a := &fr.th.answers
	a.refused = a.refused || !succeeded(rets)
	if fr.f.Name == "pfnQueryAdapterInfoCb" && succeeded(rets) {
		a.asked, a.bytes = true, a.bytes+len(fr.args[1].([]byte))
	}
}

// checkOpened checks that a driver opens if no callback failed.
func (k *Checker) checkOpened(fr *frame, rets []any) {
	if !opens(fr.f) {
		return
	}
	a := fr.th.answers
	fr.th.answers = answers{}
	hr := rets[0].(ddi.HRESULT)
	if !hr.Failed() || a.refused || hr == ddi.EOutOfMemory || hr == ddi.DDIDeviceRemoved {
		return
	}
	after := ""
	if a.asked {
		after = fmt.Sprintf(" after pfnQueryAdapterInfoCb returned %d bytes of DxgkDdiQueryAdapterInfo", a.bytes)
	}
	r := Report{Rule: "open-failed", Thread: fr.t, Func: fr.f, Cause: hr, Text: fmt.Sprintf("returns %v%s, but no callback failed", hr, after)}
	if a.asked {
		r.Culprit = &Culprit{Function: "DxgkDdiQueryAdapterInfo", Argument: "result UMDriverPrivate", Why: "is the only answer that the driver got"}
	}
	k.m.Report(r)
}

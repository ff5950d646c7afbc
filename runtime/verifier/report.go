package verifier

import (
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// isCreate and isRecycleCreate report whether a function creates an object.
func isCreate(name string) bool { return strings.HasPrefix(name, "pfnCreate") }

func isRecycleCreate(name string) bool { return strings.HasPrefix(name, "pfnRecycleCreate") }

// report checks SetErrorCb.
func (k *Checker) report(fr *frame) {
	in := fr.outer
	hr := fr.args[1].(ddi.HRESULT)
	in.errors = append(in.errors, hr)
	k.checkLayer(in, fr.args[0].(umddi.HRTCoreLayer))
	allowed := in.legal
	switch {
	case !hr.Failed():
		k.failBy(in, fr.self("argument hr", "is %v", hr), "error-success", "reports %v", hr)
	case isRecycleCreate(in.f.Name) && hr == ddi.EOutOfMemory:
		k.fail(in, "recycle-result", "reports %v, want it returned", hr)
	case !allowed.has(hr):
		k.failBy(in, fr.self("argument hr", "is %v", hr), "error-status", "reports %v, may report %v", hr, allowed)
	case hr == ddi.DDIDeviceRemoved:
		k.checkRemoved(in, "reports")
	}
}

// checkCallbackLevel checks the level at which the driver makes a callback.
func (k *Checker) checkCallbackLevel(fr *frame) {
	if fr.level > ddi.PassiveLevel && fr.outer != nil {
		k.fail(fr, "callback-irql", "at %v in %s, want %v", fr.level, fr.outer.f.Name, ddi.PassiveLevel)
	}
}

// CheckReturnLevel checks the level at which a function of a driver returns on t, which
// called it at level entry. It calls fail for a violation, and then restores the level,
// so that one mistake is one violation if violations are collected.
func CheckReturnLevel(t *ddi.Thread, entry ddi.IRQL, fail func(broken, format string, args ...any)) {
	at := t.IRQL()
	if at == entry {
		return
	}
	fail("level-return", "returns at %v, want %v as at its entry", at, entry)
	if at < entry {
		t.Raise(entry)
	} else {
		t.Lower(entry)
	}
}

// checkLayer checks the core layer to which the function of in reports.
func (k *Checker) checkLayer(in *frame, h umddi.HRTCoreLayer) {
	if in.ctx == nil {
		return
	}
	want := in.ctx
	create := want.deferred && isCreate(in.f.Name)
	if create {
		want = want.device
	}
	got := k.layer(h.Runtime)
	switch {
	case got == want:
	case create && got == in.ctx:
		k.fail(in, "error-create-layer", "an error of an open goes to the core layer of %v, not to the device's", got)
	case got == nil:
		k.fail(in, "error-layer", "on %v, but the error goes to a core layer that does not exist", in.ctx)
	default:
		k.fail(in, "error-layer", "on %v, but the error goes to the core layer of %v", in.ctx, got)
	}
}

// succeeded reports whether a function returned no error.
func succeeded(rets []any) bool {
	for _, r := range rets {
		if hr, ok := r.(ddi.HRESULT); ok && hr.Failed() {
			return false
		}
	}
	return true
}

// checkRecycled checks the result of a Recycle function and reports whether it
// was success.
func (k *Checker) checkRecycled(fr *frame, rets []any) bool {
	hr := rets[0].(ddi.HRESULT)
	if hr != ddi.OK && hr != ddi.EOutOfMemory {
		k.failBy(fr, k.failedBy(fr), "recycle-result", "returns %v, want S_OK or E_OUTOFMEMORY%s", hr, k.got(fr))
	}
	return hr == ddi.OK
}

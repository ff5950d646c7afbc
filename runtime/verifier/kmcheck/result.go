package kmcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Failures that the pages of the functions list. Both functions that write a DMA
// buffer share one set: the page of DxgkDdiPresent has no
// STATUS_INVALID_PARAMETER, but a present of this interface comes from an
// application as a render does.
var (
	createDeviceErrors     = []ddi.Status{ddi.StatusNoMemory}
	createContextErrors    = []ddi.Status{ddi.StatusInvalidParameter, ddi.StatusNoMemory, ddi.StatusDriverMismatch}
	createAllocationErrors = []ddi.Status{ddi.StatusInvalidParameter, ddi.StatusNoMemory, ddi.StatusDriverMismatch}
	escapeErrors           = []ddi.Status{
		ddi.StatusInvalidParameter, ddi.StatusNoMemory, ddi.StatusPrivilegedInstruction, ddi.StatusIllegalInstruction, ddi.StatusDriverMismatch, ddi.StatusInvalidHandle,
	}
	renderKmErrors = []ddi.Status{ // an instruction that the GPU does not support is illegal, as the page says in a row of another status
		ddi.StatusNoMemory, ddi.StatusInsufficientDMABuffer, ddi.StatusInvalidParameter, ddi.StatusIllegalInstruction,
		ddi.StatusInvalidUserBuffer, ddi.StatusInvalidHandle, ddi.StatusGPUExceptionOnDevice,
	}
	renderErrors = []ddi.Status{
		ddi.StatusNoMemory, ddi.StatusInsufficientResources, ddi.StatusInsufficientDMABuffer, ddi.StatusPrivilegedInstruction,
		ddi.StatusIllegalInstruction, ddi.StatusInvalidParameter, ddi.StatusInvalidUserBuffer, ddi.StatusInvalidHandle,
		ddi.StatusCannotColorConvert, ddi.StatusDriverMismatch, ddi.StatusGPUExceptionOnDevice,
	}
)

// checkStatus checks that a function returned a status of its page. A function
// may also pass on the status of a callback that it made.
func (k *Checker) checkStatus(fr *frame, s ddi.Status) {
	switch {
	case s == ddi.StatusSuccess || fr.spec.judged || slices.Contains(fr.passed, s):
	case fr.spec.returns == nil && s.Failed():
	case fr.spec.returns == nil:
		k.fail(fr, "return-status", "returned %v, want STATUS_SUCCESS or an error", s)
	case !slices.Contains(fr.spec.returns, s):
		k.fail(fr, "return-status", "returned %v%s, want STATUS_SUCCESS or %s", s, handlesOf(fr, s), oneOf(fr.spec.returns))
	}
}

// handlesOf tells which functions created the objects of a function that refuses a
// handle.
func handlesOf(fr *frame, s ddi.Status) string {
	if s != ddi.StatusInvalidHandle {
		return ""
	}
	var from []string
	for _, o := range fr.objects {
		from = append(from, fmt.Sprintf("%v of %s", o, creators[o.kind]))
	}
	return " for " + strings.Join(from, " and ")
}

// oneOf lists statuses.
func oneOf(all []ddi.Status) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Error())
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// pass remembers the status of a callback, which the function that made it may
// return.
func (k *Checker) pass(fr *frame, s ddi.Status) {
	for c := fr.caller; c != nil; c = c.caller {
		if !c.f.Callback {
			c.passed = append(c.passed, s)
			return
		}
	}
}

// checkOutput checks what a function returned besides its status.
func (k *Checker) checkOutput(fr *frame, results []any) {
	switch out := results[0].(type) {
	case kmddi.CollectDbgInfoOut:
		if n := len(fr.args[1].(kmddi.CollectDbgInfo).Buffer); out.Length < 0 || out.Length > n {
			k.fail(fr, "debug-length", "Length is %d, want 0 to %d, the size of Buffer", out.Length, n)
		}
	case kmddi.StartDeviceOut:
		if out != (kmddi.StartDeviceOut{}) {
			k.fail(fr, "start-displays", "NumberOfVideoPresentSources is %d and NumberOfChildren is %d, want 0 and 0: displays are not supported",
				out.NumberOfVideoPresentSources, out.NumberOfChildren)
		}
	}
}

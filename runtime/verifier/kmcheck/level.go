package kmcheck

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// The functions whose names are used more than once.
const (
	interruptRoutine = "DxgkDdiInterruptRoutine"
	dpcRoutine       = "DxgkDdiDpcRoutine"
	startDevice      = "DxgkDdiStartDevice"
	stopDevice       = "DxgkDdiStopDevice"
	synchronize      = "DxgkCbSynchronizeExecution"
)

// checkEntryLevel checks the level at which the system calls a function.
func (k *Checker) checkEntryLevel(fr *frame) {
	if !fr.spec.any && fr.level != fr.spec.level {
		k.fail(fr, "entry-level", "called at %v, want %v", fr.level, fr.spec.level)
	}
}

// checkCallbackLevel checks the level of a callback.
func (k *Checker) checkCallbackLevel(fr *frame) {
	if fr.level <= fr.spec.level {
		return
	}
	if fr.in(interruptRoutine) {
		k.fail(fr, "interrupt-callback", "called in %s, which may call only DxgkCbQueueDpc and DxgkCbNotifyInterrupt", interruptRoutine)
		return
	}
	k.fail(fr, "callback-irql", "at %v in %s, want %v or below", fr.level, fr.place(), fr.spec.level)
}

// in reports whether the driver makes the callback in the named function, or in
// one that it passed to the named callback.
func (fr *frame) in(name string) bool { return fr.caller != nil && fr.caller.f.Name == name }

// place names the code that makes a callback.
func (fr *frame) place() string {
	switch {
	case fr.caller == nil:
		return "no function"
	case fr.caller.f.Callback:
		return "the function of " + fr.caller.f.Name
	}
	return fr.caller.f.Name
}

// checkPlace checks that a callback of the interrupt path is made by the code
// that it is for.
func (k *Checker) checkPlace(fr *frame) {
	switch fr.f.Name {
	case "DxgkCbNotifyInterrupt":
		if fr.level == ddi.DIRQL && !fr.in(interruptRoutine) && !fr.in(synchronize) {
			k.fail(fr, "notify-place", "called in %s, want %s or the function of %s", fr.place(), interruptRoutine, synchronize)
		}
	case "DxgkCbNotifyDpc":
		if fr.level == ddi.DispatchLevel && !fr.in(dpcRoutine) {
			k.fail(fr, "notify-place", "called in %s, want %s", fr.place(), dpcRoutine)
		}
	}
}

// checkClass checks that the system calls no function of a synchronization class
// while another of the class runs.
func (k *Checker) checkClass(fr *frame) {
	if fr.spec.class == free {
		return
	}
	i := slices.IndexFunc(k.active, func(a *frame) bool {
		return a.spec.class != free && (fr.spec.class == exclusive || a.spec.class == exclusive ||
			fr.spec.class == scheduler && a.spec.class == scheduler)
	})
	if i >= 0 {
		a := k.active[i]
		k.fail(fr, "class-overlap", "thread %d:%d is in %s (%v)", a.t.Process, a.t.ID, a.f.Name, a.spec.class)
	}
}

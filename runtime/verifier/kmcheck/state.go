package kmcheck

// A state is the state of the adapter. The values are bits, so that a set of them
// is a state too.
type state uint8

// The states.
const (
	added   state = 1 << iota // after AddDevice or StopDevice
	started                   // from the return of StartDevice to that of StopDevice
	removed                   // before AddDevice and after RemoveDevice
)

// String describes a set of states.
func (s state) String() string {
	switch s {
	case added:
		return "added"
	case started:
		return "started"
	case added | started:
		return "added or started"
	}
	return "not added"
}

// now returns the state of the adapter.
func (k *Checker) now() state {
	if k.state == 0 {
		return removed
	}
	return k.state
}

// checkState checks that the system calls a function in the right state of the
// adapter, and reports whether it does.
func (k *Checker) checkState(fr *frame) bool {
	ok := k.now()&fr.spec.in != 0
	if !ok {
		k.fail(fr, "adapter-state", "the adapter is %v, want %v", k.now(), fr.spec.in)
	}
	return ok
}

// changeState updates the state of the adapter after a function that succeeded
// or failed.
func (k *Checker) changeState(fr *frame, ok bool) {
	switch fr.f.Name {
	case "DxgkDdiAddDevice":
		if ok {
			k.state, k.ran = added, false
		}
	case startDevice:
		if ok {
			k.state, k.ran = started, true
		}
	case stopDevice:
		k.state = added
	case "DxgkDdiRemoveDevice":
		k.state = removed
	}
}

// checkStopped checks that callbacks are used only while the table is valid:
// from StartDevice to StopDevice.
func (k *Checker) checkStopped(fr *frame) {
	if k.now() == started {
		return
	}
	for _, a := range k.active {
		if a.f.Name == startDevice {
			return
		}
	}
	k.fail(fr, "callback-stopped", "called in %s, but the device is not started", fr.place())
}

package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// results is a set of errors that a DDI function may report through SetErrorCb
// (WDK, "Handling Errors"). Check* and Calc* have the empty set.
type results uint8

const (
	mayRemove         results = 1 << iota // DDIDeviceRemoved
	mayRunOutOfMemory                     // EOutOfMemory
	mayStillDraw                          // DDIStillDrawing

	// Not results, but other permissions of the running function: to refresh
	// the context's state, and to report to the device's core layer from a
	// function of a deferred context.
	inContext
	atDevice

	mayCreate  = mayRemove | mayRunOutOfMemory
	maySet     = mayRemove | inContext
	mayMap     = mayRemove | mayRunOutOfMemory | inContext
	mayMove    = mayRemove | mayRunOutOfMemory | inContext
	mayGet     = mayRemove | mayStillDraw | inContext
	mayOpen    = mayCreate | atDevice | inContext
	mayRecycle = mayRemove | atDevice | inContext
)

// has reports whether hr is in the set.
func (s results) has(hr ddi.HRESULT) bool {
	switch hr {
	case ddi.DDIDeviceRemoved:
		return s&mayRemove != 0
	case ddi.EOutOfMemory:
		return s&mayRunOutOfMemory != 0
	case ddi.DDIStillDrawing:
		return s&mayStillDraw != 0
	}
	return false
}

// result returns hr as an error, nil for S_OK.
func result(hr ddi.HRESULT) error {
	if hr == ddi.OK {
		return nil
	}
	return hr
}

// A call is a thread of the runtime and the DDI function running on it. It is
// used by one goroutine at a time, or by the holder of the device's serial
// lock.
type call struct {
	dev    *Device
	ctx    *Context // the deferred context of this thread, or nil
	thread ddi.Thread

	running    bool
	presenting bool
	allowed    results
	hr         ddi.HRESULT // the first error, or DXGIDeviceRemoved
}

// begin enters a DDI function that may report the results in allowed.
func (k *call) begin(allowed results) *ddi.Thread {
	if k.dev.serialized {
		k.dev.serial.Lock()
	}
	k.running = true
	k.allowed = allowed
	k.hr = ddi.OK
	return &k.thread
}

// end leaves the DDI function and returns the reported error.
func (k *call) end() ddi.HRESULT {
	k.running = false
	hr := k.hr
	if k.dev.serialized {
		k.dev.serial.Unlock()
	}
	return hr
}

// contractBroken removes the device because the driver broke its contract
// without reporting an error.
func (k *call) contractBroken() ddi.HRESULT {
	k.dev.remove(ddi.DXGIInternalError)
	return ddi.DXGIDeviceRemoved
}

// report implements SetErrorCb for a function running on k. k is nil if there
// is none.
func (d *Device) report(k *call, hr ddi.HRESULT) {
	if k == nil || !k.running || !k.allowed.has(hr) {
		d.remove(ddi.DXGIInternalError)
	} else if hr == ddi.DDIDeviceRemoved {
		d.remove(d.lost())
	} else {
		if k.hr == ddi.OK {
			k.hr = hr
		}
		return
	}
	if k != nil {
		k.hr = ddi.DXGIDeviceRemoved
	}
}

// lost returns why the GPU was lost: whether it hung is known from the kernel.
func (d *Device) lost() ddi.HRESULT {
	if d.hung.Load() {
		return ddi.DXGIDeviceHung
	}
	return ddi.DXGIDeviceRemoved
}

// A removal is the reason why a device was removed, if it was.
type removal struct{ reason atomic.Uint32 }

func (r *removal) set(hr ddi.HRESULT) { r.reason.CompareAndSwap(0, uint32(hr)) }

func (r *removal) get() ddi.HRESULT { return ddi.HRESULT(r.reason.Load()) }

// remove removes the device. The first reason is kept.
func (d *Device) remove(reason ddi.HRESULT) { d.removal.set(reason) }

// removed reports whether the device was removed.
func (d *Device) removed() bool { return d.removal.get() != ddi.OK }

// GetDeviceRemovedReason returns nil while the device works. Afterwards it
// returns DXGIDeviceHung (the GPU faulted or stopped responding),
// DXGIDeviceRemoved (the GPU was lost or the device closed) or
// DXGIInternalError (the driver broke its contract).
func (d *Device) GetDeviceRemovedReason() error { return result(d.removal.get()) }

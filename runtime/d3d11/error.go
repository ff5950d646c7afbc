package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// results is a set of errors that a DDI function may report through SetErrorCb
// (WDK, "Handling Errors"). The empty set is that of Check* and Calc*.
type results uint8

const (
	mayRemove results = 1 << iota // DDIDeviceRemoved
	mayLack                       // EOutOfMemory
	mayBeBusy                     // DDIStillDrawing

	// Not results, but what else the function that is running may do: refresh
	// the context's state, and report to the device's core layer although it
	// runs for a deferred context.
	inContext
	atDevice

	mayCreate  = mayRemove | mayLack
	maySet     = mayRemove | inContext
	mayMap     = mayRemove | mayLack | inContext
	mayMove    = mayRemove | mayLack | inContext
	mayGet     = mayRemove | mayBeBusy | inContext
	mayOpen    = mayCreate | atDevice | inContext
	mayRecycle = mayRemove | atDevice | inContext
)

// has says whether hr is in the set.
func (s results) has(hr ddi.HRESULT) bool {
	switch hr {
	case ddi.DDIDeviceRemoved:
		return s&mayRemove != 0
	case ddi.EOutOfMemory:
		return s&mayLack != 0
	case ddi.DDIStillDrawing:
		return s&mayBeBusy != 0
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

// A call is a thread of the runtime and the DDI function it is in. It belongs
// to one goroutine at a time, or to the holder of the device's serial lock.
type call struct {
	dev    *Device
	ctx    *Context // the deferred context whose thread this is, or nil
	thread ddi.Thread

	running    bool
	presenting bool
	allowed    results
	hr         ddi.HRESULT // first error, or DXGIDeviceRemoved
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

// end leaves the DDI function and returns what it reported.
func (k *call) end() ddi.HRESULT {
	k.running = false
	hr := k.hr
	if k.dev.serialized {
		k.dev.serial.Unlock()
	}
	return hr
}

// broken removes the device because the driver has broken the contract in a
// way that it did not report itself.
func (k *call) broken() ddi.HRESULT {
	k.dev.remove(ddi.DXGIInternalError)
	return ddi.DXGIDeviceRemoved
}

// report is SetErrorCb for a function that runs on k, which is nil if none
// does.
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

// lost returns why the GPU is gone: the kernel knows whether it hung.
func (d *Device) lost() ddi.HRESULT {
	if d.hung.Load() {
		return ddi.DXGIDeviceHung
	}
	return ddi.DXGIDeviceRemoved
}

// A removal is the reason for which a device was removed, once it has been.
type removal struct{ reason atomic.Uint32 }

func (r *removal) set(hr ddi.HRESULT) { r.reason.CompareAndSwap(0, uint32(hr)) }

func (r *removal) get() ddi.HRESULT { return ddi.HRESULT(r.reason.Load()) }

// remove removes the device. The first reason stays.
func (d *Device) remove(reason ddi.HRESULT) { d.removal.set(reason) }

// removed says whether the device is gone.
func (d *Device) removed() bool { return d.removal.get() != ddi.OK }

// GetDeviceRemovedReason returns nil while the device works, and after that
// DXGIDeviceHung (the GPU faulted or stopped answering), DXGIDeviceRemoved (the
// GPU is gone, or the device is closed) or DXGIInternalError (the driver broke
// its contract).
func (d *Device) GetDeviceRemovedReason() error { return result(d.removal.get()) }

package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// deviceCallbacks is the table of callbacks that call the kernel.
func deviceCallbacks() umddi.DeviceCallbacks {
	return umddi.DeviceCallbacks{
		AllocateCb:       allocateCb,
		DeallocateCb:     deallocateCb,
		CreateContextCb:  createContextCb,
		DestroyContextCb: destroyContextCb,
		LockCb:           lockCb,
		UnlockCb:         unlockCb,
		SetPriorityCb:    setPriorityCb,

		OfferAllocationsCb:   offerAllocationsCb,
		ReclaimAllocationsCb: reclaimAllocationsCb,

		RenderCb: renderCb,
	}
}

// hresult converts the status of a thunk to the result of a callback. A device that
// the kernel reports as removed has hung or faulted, see package kmt; a device
// whose connection failed is lost.
//
//	Source  WDK, return values of pfnAllocateCb, pfnLockCb, pfnRenderCb
func (d *Device) hresult(thunk string, s ddi.Status) ddi.HRESULT {
	switch s {
	case ddi.StatusSuccess:
		return ddi.OK
	case ddi.StatusNoMemory, ddi.StatusNoVideoMemory, ddi.StatusInsufficientResources:
		return ddi.EOutOfMemory
	case ddi.StatusInvalidHandle, ddi.StatusInvalidParameter, ddi.StatusInvalidUserBuffer,
		ddi.StatusCantRenderLocked:
		return ddi.EInvalidArg
	case ddi.StatusAllocationBusy:
		return ddi.DDIStillDrawing
	case ddi.StatusCantLockMemory:
		return ddi.DDINotAvailable
	case ddi.StatusNotSupported:
		return ddi.DDIUnsupported
	case ddi.StatusDeviceRemoved, ddi.StatusGPUExceptionOnDevice:
		d.lose(thunk, s, ddi.DXGIDeviceHung)
		return ddi.DDIDeviceRemoved
	case ddi.StatusIOTimeout, ddi.StatusIODeviceError:
		d.lose(thunk, s, ddi.DXGIDeviceRemoved)
		return ddi.DDIDeviceRemoved
	}
	if !s.Failed() {
		return ddi.OK
	}
	return ddi.EFail
}

// queryAdapterInfoCb is pfnQueryAdapterInfoCb.
func queryAdapterInfoCb(t *ddi.Thread, h umddi.HRTAdapter, p []byte) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("QueryAdapterInfo", d.kernel.QueryAdapterInfo(t, p))
}

// setErrorCb is pfnSetErrorCb. A function of a deferred context reports to the
// context's core layer; a Create function reports to the device's, and the
// context's is accepted there too.
//
//	Source  WDK, "Using Context-Local DDI Handles"
func setErrorCb(t *ddi.Thread, h umddi.HRTCoreLayer, hr ddi.HRESULT) {
	switch x := h.Runtime.(type) {
	case *Device:
		k := x.callOf(t)
		if k != nil && k.running && k.ctx != nil && k.allowed&atDevice == 0 {
			x.removeBroken(k, "%s of a deferred context reported %v to the core layer of the device, want its own", k.entry, hr)
			k.hr = ddi.DXGIDeviceRemoved
			return
		}
		x.report(k, hr)
	case *Context:
		k := x.call
		if k != nil && &k.thread != t {
			k = nil
		}
		x.dev.report(k, hr)
	}
}

// allocateCb is pfnAllocateCb.
func allocateCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("CreateAllocation", d.kernel.CreateAllocation(t, d.km, arg))
}

// deallocateCb is pfnDeallocateCb.
func deallocateCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Deallocate) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("DestroyAllocation", d.kernel.DestroyAllocation(t, d.km, arg))
}

// createContextCb is pfnCreateContextCb.
func createContextCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	s := d.kernel.CreateContext(t, d.km, arg)
	if !s.Failed() {
		d.priorities.made(arg.Context)
		if d.GetGPUThreadPriority() != 0 {
			d.setPriority(t, arg.Context)
		}
	}
	return d.hresult("CreateContext", s)
}

// destroyContextCb is pfnDestroyContextCb.
func destroyContextCb(t *ddi.Thread, h umddi.HRTDevice, ctx ddi.KMHandle) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	d.priorities.destroyed(ctx)
	return d.hresult("DestroyContext", d.kernel.DestroyContext(t, ctx))
}

// lockCb is pfnLockCb.
func lockCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("Lock", d.kernel.Lock(t, d.km, arg))
}

// unlockCb is pfnUnlockCb.
func unlockCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Unlock) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("Unlock", d.kernel.Unlock(t, d.km, arg))
}

// setPriorityCb is pfnSetPriorityCb.
func setPriorityCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.SetPriority) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("SetAllocationPriority", d.kernel.SetAllocationPriority(t, d.km, arg))
}

// offerAllocationsCb is pfnOfferAllocationsCb.
func offerAllocationsCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.OfferAllocations) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("OfferAllocations", d.kernel.OfferAllocations(t, d.km, arg))
}

// reclaimAllocationsCb is pfnReclaimAllocationsCb.
func reclaimAllocationsCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.ReclaimAllocations) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("ReclaimAllocations", d.kernel.ReclaimAllocations(t, d.km, arg))
}

// renderCb is pfnRenderCb.
func renderCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	return d.hresult("Render", d.kernel.Render(t, d.km, arg))
}

// presentCb is pfnPresentCb. It returns EInvalidArg outside Present.
func presentCb(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.PresentCB) ddi.HRESULT {
	d, ok := h.Runtime.(*Device)
	if !ok {
		return ddi.EInvalidArg
	}
	if k := d.callOf(t); k == nil || !k.presenting {
		return ddi.EInvalidArg
	}
	return d.hresult("Present", d.kernel.Present(t, d.km, arg))
}

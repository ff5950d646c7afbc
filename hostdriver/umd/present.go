package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// present copies a surface to the primary, after all recorded work.
//
//	DDI     PresentDXGI, dxgiddi.h
//	Caller  the immediate context's thread
//	Effect  RenderCb if anything is recorded, then PresentCb
//	Returns OK; DDIUnsupported for a subresource other than the first, which
//	        the miniport does not support; EOutOfMemory and DDIStillDrawing if
//	        a callback returned them; DDIDeviceRemoved for any other failure
//	        and for a handle of a resource that does not exist
func present(t *ddi.Thread, arg umddi.Present) ddi.HRESULT {
	d := deviceOf(arg.Device)
	if arg.SrcSubResource != 0 || arg.DstSubResource != 0 {
		return ddi.DDIUnsupported
	}
	src, hr := d.use(t, arg.SurfaceToPresent)
	if hr.Failed() {
		return presentError(hr)
	}
	dst, hr := d.use(t, arg.DstResource)
	if hr.Failed() {
		return presentError(hr)
	}
	if hr := d.submit(t); hr.Failed() {
		return presentError(hr)
	}
	d.presentArg = umddi.PresentCB{
		SrcAllocation: src.alloc().handle, DstAllocation: dst.alloc().handle,
		DXGIContext: arg.DXGIContext, Context: d.batch.ctx,
	}
	return presentError(d.dxgi.PresentCb(t, d.rt, &d.presentArg))
}

// presentError converts a failure to a result that Present may return: anything
// except lack of memory and DDIStillDrawing removes the device.
func presentError(hr ddi.HRESULT) ddi.HRESULT {
	if !hr.Failed() || hr == ddi.EOutOfMemory || hr == ddi.DDIStillDrawing {
		return hr
	}
	return ddi.DDIDeviceRemoved
}

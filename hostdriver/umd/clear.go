package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// clearRenderTargetView sets every element of a view to a colour.
//
//	DDI     PFND3D10DDI_CLEARRENDERTARGETVIEW, d3d10umddi.h
//	In      color: red, green, blue, alpha, converted to the view's format;
//	        linear for an _SRGB view
//	Effect  SET_STATE and FILL_2D for each slice of the view. Viewports and
//	        scissor rectangles do not apply
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func clearRenderTargetView(t *ddi.Thread, h umddi.HDevice, v umddi.HRenderTargetView, color [4]float32) {
	d := deviceOf(h)
	d.report(t, d.clear(t, d.views.get(v.Object), color), ddi.EOutOfMemory)
}

func (d *device) clear(t *ddi.Thread, v *view, color [4]float32) ddi.HRESULT {
	if v == nil {
		return ddi.EFail
	}
	r := d.resources.at(v.resource)
	if hr := d.ensureInitialData(t, r); hr.Failed() {
		return hr
	}
	value := v.info.Pattern(color)
	for i := v.first; i < v.first+v.count; i++ {
		if hr := d.recordFill2D(t, r.surface(i*r.mips+v.mip), value); hr.Failed() {
			return hr
		}
	}
	return ddi.OK
}

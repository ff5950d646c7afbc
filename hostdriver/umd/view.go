package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A view is a render-target view: slices [first, first+count) of one mip level.
type view struct {
	resource id // not found after the resource is destroyed
	mip      uint32
	first    uint32
	count    uint32
	info     dxgi.Info
}

func calcPrivateRenderTargetViewSize(*ddi.Thread, umddi.HDevice, *umddi.CreateRenderTargetView) int {
	return privateBytes
}

// createRenderTargetView creates a view.
//
//	DDI     PFND3D10DDI_CREATERENDERTARGETVIEW, d3d10umddi.h
//	Caller  any thread
//	Returns through SetErrorCb: DDIDeviceRemoved if the resource does not exist
//	        or the view is invalid, which the runtime must prevent
func createRenderTargetView(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateRenderTargetView, v umddi.HRenderTargetView, _ umddi.HRTRenderTargetView) {
	d := deviceOf(h)
	obj := d.newView(arg)
	if obj == nil {
		d.report(t, ddi.EFail)
		return
	}
	d.views.put(v.Object, obj)
}

// newView returns the view that arg describes, or nil if it is invalid.
func (d *device) newView(arg *umddi.CreateRenderTargetView) *view {
	k := d.resources.id(arg.Resource.Object)
	r := d.resources.at(k)
	info, ok := arg.Format.Info()
	if r == nil || !ok || !info.Renderable() || r.dim != umddi.Texture2D || elementFormat(info) != r.format {
		return nil
	}
	layers := uint32(len(r.subs)) / r.mips
	if arg.MipSlice >= r.mips || arg.ArraySize == 0 || arg.ArraySize > layers || arg.FirstArraySlice > layers-arg.ArraySize {
		return nil
	}
	return &view{k, arg.MipSlice, arg.FirstArraySlice, arg.ArraySize, info}
}

func destroyRenderTargetView(t *ddi.Thread, h umddi.HDevice, v umddi.HRenderTargetView) {
	d := deviceOf(h)
	if d.views.remove(v.Object) == nil {
		d.report(t, ddi.EFail)
	}
}

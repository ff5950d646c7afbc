package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// RTVDimension is D3D11_RTV_DIMENSION.
type RTVDimension uint32

// The supported dimensions.
const (
	RTVTexture2D      RTVDimension = 4
	RTVTexture2DArray RTVDimension = 5
)

// RTVDesc is D3D11_RENDER_TARGET_VIEW_DESC.
type RTVDesc struct {
	Format          dxgi.Format // Unknown means the format of the resource
	ViewDimension   RTVDimension
	MipSlice        uint32
	FirstArraySlice uint32 // RTVTexture2DArray only
	ArraySize       uint32 // RTVTexture2DArray only; ^uint32(0) means all remaining slices
}

// A RenderTargetView is ID3D11RenderTargetView.
type RenderTargetView struct {
	child

	obj  ddi.Object
	res  *Texture2D
	desc RTVDesc
}

// usable is that of the view and of its texture.
func (v *RenderTargetView) usable(d *Device) bool {
	return v.child.usable(d) && !v.res.offered.Load()
}

// misuse is that of the view and of its texture.
func (v *RenderTargetView) misuse(d *Device) string {
	text := v.child.misuse(d)
	if text == "" && v.res.offered.Load() {
		text = "has a texture that is offered, want ReclaimResources before its use"
	}
	return text
}

// CreateRenderTargetView creates a view of a texture with BindRenderTarget. A
// nil desc means all slices of mip level 0 in the resource's format.
//
//	DDI     pfnCalcPrivateRenderTargetViewSize, pfnCreateRenderTargetView
//	Returns EInvalidArg, EOutOfMemory, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11device-createrendertargetview
func (d *Device) CreateRenderTargetView(res Resource, desc *RTVDesc) (*RenderTargetView, error) {
	const api = "CreateRenderTargetView"
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	t, _ := res.(*Texture2D)
	if p := d.targetProblem(res, t); p.found() {
		return nil, d.refuse(nil, api, p)
	}
	v := &RenderTargetView{res: t, desc: t.wholeView()}
	if desc != nil {
		v.desc = *desc
	}
	if p := d.resolveView(t, &v.desc); p.found() {
		return nil, d.refuse(nil, api, p)
	}
	if err := v.create(d, api); err != nil {
		return nil, err
	}
	t.hold()
	v.adopt(d, v)
	return v, nil
}

// targetProblem returns why res, which is the texture t or no texture, cannot
// have a render target view.
func (d *Device) targetProblem(res Resource, t *Texture2D) problem {
	const id = MessageCreateRenderTargetViewInvalidResource
	switch {
	case coreOf(res) == nil:
		return problem{id, "Resource is nil"}
	case t == nil:
		return problem{id, "Resource is a buffer, want a 2D texture"}
	case t.bind&BindRenderTarget == 0:
		return problemf(id, "BindFlags of the texture is %#x, want the flag %#x", t.bind, BindRenderTarget)
	}
	return t.misused(d, id, "Resource")
}

// wholeView describes all slices of mip level 0.
func (t *Texture2D) wholeView() RTVDesc {
	if t.layers == 1 {
		return RTVDesc{ViewDimension: RTVTexture2D}
	}
	return RTVDesc{ViewDimension: RTVTexture2DArray, ArraySize: t.layers}
}

// resolveView fills in the defaults of v. It returns why v is invalid for t.
func (d *Device) resolveView(t *Texture2D, v *RTVDesc) problem {
	const id = MessageCreateRenderTargetViewInvalidDimensions
	if v.Format == dxgi.Unknown {
		v.Format = t.format
	}
	if v.ViewDimension == RTVTexture2D {
		v.FirstArraySlice, v.ArraySize = 0, 1
	}
	if v.ViewDimension != RTVTexture2D && v.ViewDimension != RTVTexture2DArray {
		return problemf(MessageCreateRenderTargetViewInvalidDesc, "ViewDimension is %d, want %d or %d",
			v.ViewDimension, RTVTexture2D, RTVTexture2DArray)
	}
	if v.MipSlice >= t.mips {
		return problemf(id, "MipSlice is %d, want less than %d", v.MipSlice, t.mips)
	}
	if v.FirstArraySlice >= t.layers {
		return problemf(id, "FirstArraySlice is %d, want less than %d", v.FirstArraySlice, t.layers)
	}
	left := t.layers - v.FirstArraySlice
	if v.ArraySize == ^uint32(0) {
		v.ArraySize = left
	}
	if p := limits(id, "ArraySize", uint64(v.ArraySize), 1, uint64(left)); p.found() {
		return p
	}
	if !d.renderable(v.Format) {
		return problemf(MessageCreateRenderTargetViewUnsupportedFormat, "Format is %v (%d), want one that a render target can have", v.Format, v.Format)
	}
	if !t.viewable(v.Format) {
		return problemf(MessageCreateRenderTargetViewInvalidFormat, "Format is %v, which a view of %v cannot have", v.Format, t.format)
	}
	return problem{}
}

// viewable reports whether a view of t may have format f: the texture's format,
// a member of its family if it is typeless, or UNORM and SRGB for a back
// buffer.
func (t *Texture2D) viewable(f dxgi.Format) bool {
	if f == t.format {
		return true
	}
	own, _ := t.format.Info()
	view, _ := f.Info()
	if own.Family != view.Family {
		return false
	}
	colour := func(k dxgi.Kind) bool { return k == dxgi.UNorm || k == dxgi.UNormSRGB }
	return own.Kind == dxgi.Typeless || t.castable && colour(own.Kind) && colour(view.Kind)
}

// create creates the driver's object of v for a call of the API. On failure
// there is none.
func (v *RenderTargetView) create(d *Device, api string) error {
	arg := &umddi.CreateRenderTargetView{
		Resource:        v.res.handle(),
		Format:          v.desc.Format,
		MipSlice:        v.desc.MipSlice,
		FirstArraySlice: v.desc.FirstArraySlice,
		ArraySize:       v.desc.ArraySize,
	}
	k := d.acquireCall()
	defer d.releaseCall(k)
	k.enter(api)
	defer k.leave(api)
	return k.failed(api, v.createOn(k, arg))
}

// createOn is create with the thread and the description.
func (v *RenderTargetView) createOn(k *call, arg *umddi.CreateRenderTargetView) ddi.HRESULT {
	d := k.dev
	n := d.funcs.CalcPrivateRenderTargetViewSize(k.begin("pfnCalcPrivateRenderTargetViewSize", 0), d.h, arg)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	var ok bool
	if v.obj, ok = private(n); !ok {
		return k.sizeBroken(n)
	}
	d.funcs.CreateRenderTargetView(k.begin("pfnCreateRenderTargetView", mayCreate), d.h, arg, v.handle(), umddi.HRTRenderTargetView{Runtime: v})
	hr := k.end()
	if hr != ddi.OK {
		return hr
	}
	if v.localSize, hr = k.localSize(umddi.HandleRenderTargetView, &v.obj); hr != ddi.OK {
		v.destroyHandle(k, d)
	}
	return hr
}

// GetDesc returns the view's description with defaults filled in.
func (v *RenderTargetView) GetDesc() RTVDesc { return v.desc }

// GetResource returns a reference to the texture.
func (v *RenderTargetView) GetResource() *Texture2D {
	v.res.addRef()
	return v.res
}

// handle returns the driver's handle of v. A nil v has no object.
func (v *RenderTargetView) handle() umddi.HRenderTargetView {
	if v == nil {
		return umddi.HRenderTargetView{}
	}
	return umddi.HRenderTargetView{Object: &v.obj}
}

func (v *RenderTargetView) destroy() {
	d := v.dev
	k := d.acquireCall()
	k.enter("Release")
	v.destroyHandle(k, d)
	k.leave("Release")
	d.releaseCall(k)
	v.res.drop()
}

func (v *RenderTargetView) destroyHandle(k *call, d *Device) {
	d.funcs.DestroyRenderTargetView(k.begin("pfnDestroyRenderTargetView", mayRemove), d.h, v.handle())
	k.end()
}

package umd

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// rig is a device with a fake kernel, called as the runtime calls it.
type rig struct {
	tb
	*kernel
	th *ddi.Thread
	a  umddi.HAdapter
	af umddi.AdapterFuncs
	h  umddi.HDevice
	f  umddi.DeviceFuncs
	dx umddi.DXGIBaseFuncs

	kt   *umddi.DeviceCallbacks
	um   *umddi.CoreLayerCallbacks
	dxcb *umddi.DXGIBaseCallbacks
}

func newRig(t tb) *rig { return newRigOn(newKernel(t)) }

func newRigOn(k *kernel) *rig {
	r := openRig(k)
	require.Equal(r, ddi.OK, r.createDevice())
	return r
}

// openRig opens an adapter without a device.
func openRig(k *kernel) *rig { return openRigWith(k, Options{}) }

// openRigWith opens an adapter of a driver with options.
func openRigWith(k *kernel, o Options) *rig {
	r := &rig{tb: k.t, kernel: k, th: &ddi.Thread{Process: 1, ID: 1}}
	arg := &umddi.OpenAdapter{
		Adapter: umddi.HAdapter{Root: &ddi.Root{}}, Interface: umddi.Interface,
		Callbacks: &umddi.AdapterCallbacks{QueryAdapterInfoCb: k.queryAdapterInfo}, Funcs: &r.af,
	}
	require.Equal(r, ddi.OK, New(o)(r.th, arg))
	r.a = arg.Adapter
	return r
}

func (r *rig) createDevice() ddi.HRESULT {
	r.h = umddi.HDevice{Root: &ddi.Root{}}
	r.kt, r.um, r.dxcb = r.callbacks(), &umddi.CoreLayerCallbacks{}, &umddi.DXGIBaseCallbacks{PresentCb: r.presentCB}
	r.um.SetErrorCb = func(_ *ddi.Thread, h umddi.HRTCoreLayer, hr ddi.HRESULT) {
		require.Equal(r, "core", h.Runtime)
		r.errs = append(r.errs, hr)
	}
	return r.af.CreateDevice(r.th, r.a, &umddi.CreateDevice{
		RTDevice: umddi.HRTDevice{Runtime: "device"}, RTCoreLayer: umddi.HRTCoreLayer{Runtime: "core"},
		Device: r.h, Interface: umddi.Interface,
		KTCallbacks: r.kt, UMCallbacks: r.um, DXGICallbacks: r.dxcb, DeviceFuncs: &r.f, DXGIFuncs: &r.dx,
	})
}

// driver returns the driver's object, to check state that no DDI function
// shows.
func (r *rig) driver() *device { return r.h.Driver.(*device) }

// errors returns the errors reported since the last call.
func (r *rig) errors() []ddi.HRESULT {
	es := r.errs
	r.errs = nil
	return es
}

// garbage returns uninitialized private memory as the runtime passes it to a
// Create function.
func garbage(n int) *ddi.Object {
	return &ddi.Object{Private: slices.Repeat([]byte{0xa5}, n)}
}

// tex describes a texture.
func tex(w, h uint32, f dxgi.Format, u umddi.Usage, bind uint32) *umddi.CreateResource {
	return &umddi.CreateResource{
		MipInfoList: []umddi.MipInfo{{TexelWidth: w, TexelHeight: h}}, ResourceDimension: umddi.Texture2D,
		Usage: u, BindFlags: bind, Format: f, SampleDesc: dxgi.SampleDesc{Count: 1}, MipLevels: 1, ArraySize: 1,
	}
}

// mips adds levels down to 1 x 1 and slices to a texture.
func mips(arg *umddi.CreateResource, slices uint32) *umddi.CreateResource {
	m := arg.MipInfoList[0]
	for m.TexelWidth > 1 || m.TexelHeight > 1 {
		m = umddi.MipInfo{TexelWidth: max(1, m.TexelWidth/2), TexelHeight: max(1, m.TexelHeight/2)}
		arg.MipInfoList = append(arg.MipInfoList, m)
	}
	arg.MipLevels, arg.ArraySize = uint32(len(arg.MipInfoList)), slices
	return arg
}

// buf describes a buffer.
func buf(n uint32, u umddi.Usage) *umddi.CreateResource {
	return &umddi.CreateResource{
		MipInfoList: []umddi.MipInfo{{TexelWidth: n, TexelHeight: 1}}, ResourceDimension: umddi.Buffer,
		Usage: u, MipLevels: 1, ArraySize: 1,
	}
}

// create creates a resource, which must succeed.
func (r *rig) create(arg *umddi.CreateResource) umddi.HResource {
	r.Helper()
	res, ok := r.tryCreate(arg)
	require.True(r, ok, "create failed: %v", r.errs)
	return res
}

func (r *rig) tryCreate(arg *umddi.CreateResource) (umddi.HResource, bool) {
	before := len(r.errs)
	res := umddi.HResource{Object: garbage(r.f.CalcPrivateResourceSize(r.th, r.h, arg))}
	r.f.CreateResource(r.th, r.h, arg, res, umddi.HRTResource{Runtime: "resource"})
	return res, len(r.errs) == before
}

func (r *rig) view(res umddi.HResource, f dxgi.Format, mip, first, n uint32) umddi.HRenderTargetView {
	r.Helper()
	arg := &umddi.CreateRenderTargetView{Resource: res, Format: f, MipSlice: mip, FirstArraySlice: first, ArraySize: n}
	v := umddi.HRenderTargetView{Object: garbage(r.f.CalcPrivateRenderTargetViewSize(r.th, r.h, arg))}
	r.f.CreateRenderTargetView(r.th, r.h, arg, v, umddi.HRTRenderTargetView{})
	require.Empty(r, r.errs)
	return v
}

func (r *rig) query() umddi.HQuery { return r.queryOf(umddi.QueryEvent) }

func (r *rig) queryOf(typ umddi.QueryType) umddi.HQuery {
	r.Helper()
	arg := umddi.CreateQuery{Query: typ}
	q := umddi.HQuery{Object: garbage(r.f.CalcPrivateQuerySize(r.th, r.h, arg))}
	r.f.CreateQuery(r.th, r.h, arg, q, umddi.HRTQuery{})
	require.Empty(r, r.errs)
	return q
}

func (r *rig) copy(dst, src umddi.HResource) { r.f.ResourceCopy(r.th, r.h, dst, src) }

func (r *rig) flush() { r.f.Flush(r.th, r.h) }

// stagingCopy describes a STAGING copy of a resource.
func stagingCopy(arg *umddi.CreateResource) *umddi.CreateResource {
	twin := *arg
	twin.Usage, twin.BindFlags, twin.MapFlags, twin.InitialDataUP, twin.Primary = umddi.UsageStaging, 0, umddi.CPURead|umddi.CPUWrite, nil, false
	return &twin
}

// read returns the content of a subresource as the application sees it: through
// a staging copy, rows without padding.
func (r *rig) read(res umddi.HResource, arg *umddi.CreateResource, sub uint32) []byte {
	r.Helper()
	twin := r.create(stagingCopy(arg))
	r.copy(twin, res)
	m := r.f.StagingResourceMap(r.th, r.h, twin, sub, umddi.MapRead, 0)
	require.NotNil(r, m.Data, "map failed: %v", r.errs)
	mip := arg.MipInfoList[sub%arg.MipLevels]
	row := elementBytes(arg) * int(mip.TexelWidth)
	var out []byte
	for y := range int(mip.TexelHeight) {
		out = append(out, m.Data[y*int(m.RowPitch):][:row]...)
	}
	r.f.StagingResourceUnmap(r.th, r.h, twin, sub)
	r.f.DestroyResource(r.th, r.h, twin)
	require.Empty(r, r.errs)
	return out
}

func elementBytes(arg *umddi.CreateResource) int {
	if i, ok := arg.Format.Info(); ok && arg.ResourceDimension == umddi.Texture2D {
		return i.Bytes
	}
	return 1
}

// update writes a part of a subresource from rows without padding.
func (r *rig) update(res umddi.HResource, arg *umddi.CreateResource, sub uint32, box *umddi.Box, data []byte) {
	w := arg.MipInfoList[sub%arg.MipLevels].TexelWidth
	if box != nil {
		w = box.Right - box.Left
	}
	pitch := uint32(elementBytes(arg)) * w
	r.f.ResourceUpdateSubresourceUP(r.th, r.h, res, sub, box, data, pitch, 0)
}

// seq returns n bytes that count up from first.
func seq(first, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(first + i + i>>8)
	}
	return p
}

func box(l, t, rt, b uint32) *umddi.Box {
	return &umddi.Box{Left: l, Top: t, Right: rt, Bottom: b, Back: 1}
}

const rgba = dxgi.R8G8B8A8UNorm

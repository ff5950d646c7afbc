package umd

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func TestOpenAdapter(t *testing.T) {
	good := privdata.Adapter{MapHash: regmap.Hash(), Nodes: 2, LengthBits: 24}
	with := func(f func(a *privdata.Adapter)) []byte {
		a := good
		f(&a)
		return a.Append(nil)
	}
	for _, tt := range []struct {
		name  string
		data  []byte
		hr    ddi.HRESULT // result of the callback
		iface uint32
		want  ddi.HRESULT
	}{
		{"good", good.Append(nil), ddi.OK, umddi.Interface, ddi.OK},
		{"fewest length bits", with(func(a *privdata.Adapter) { a.LengthBits = 9 }), ddi.OK, umddi.Interface, ddi.OK},
		{"most length bits", with(func(a *privdata.Adapter) { a.LengthBits = 32 }), ddi.OK, umddi.Interface, ddi.OK},
		{"another interface", good.Append(nil), ddi.OK, umddi.Interface + 1, ddi.DXGIUnsupported},
		{"another register map", with(func(a *privdata.Adapter) { a.MapHash++ }), ddi.OK, umddi.Interface, ddi.EFail},
		{"no node", with(func(a *privdata.Adapter) { a.Nodes = 0 }), ddi.OK, umddi.Interface, ddi.EFail},
		{"too few length bits", with(func(a *privdata.Adapter) { a.LengthBits = 8 }), ddi.OK, umddi.Interface, ddi.EFail},
		{"too many length bits", with(func(a *privdata.Adapter) { a.LengthBits = 33 }), ddi.OK, umddi.Interface, ddi.EFail},
		{"no data", make([]byte, privdata.AdapterBytes), ddi.OK, umddi.Interface, ddi.EFail},
		{"the callback fails", good.Append(nil), ddi.DDIDeviceRemoved, umddi.Interface, ddi.DDIDeviceRemoved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var funcs umddi.AdapterFuncs
			h := umddi.HAdapter{Root: &ddi.Root{}}
			query := func(_ *ddi.Thread, h umddi.HRTAdapter, p []byte) ddi.HRESULT {
				assert.Equal(t, "adapter", h.Runtime)
				copy(p, tt.data)
				return tt.hr
			}
			got := OpenAdapter(&ddi.Thread{}, &umddi.OpenAdapter{
				RTAdapter: umddi.HRTAdapter{Runtime: "adapter"}, Adapter: h, Interface: tt.iface,
				Callbacks: &umddi.AdapterCallbacks{QueryAdapterInfoCb: query}, Funcs: &funcs,
			})
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want == ddi.OK, h.Driver != nil)
			assert.Equal(t, tt.want == ddi.OK, funcs.CreateDevice != nil)
		})
	}
}

func TestAdapterFuncs(t *testing.T) {
	r := openRig(newKernel(t))
	versions, hr := r.af.GetSupportedVersions(r.th, r.a)
	assert.Equal(t, ddi.OK, hr)
	assert.Equal(t, []uint32{11<<16 | 10}, versions)

	caps, hr := r.af.GetCaps(r.th, r.a, umddi.CapsThreading)
	assert.Equal(t, ddi.OK, hr)
	assert.Equal(t, uint32(1|4), caps, "free-threaded, command lists")
	_, hr = r.af.GetCaps(r.th, r.a, 2)
	assert.Equal(t, ddi.DXGIUnsupported, hr)

	assert.Equal(t, ddi.OK, r.af.CloseAdapter(r.th, r.a))
	assert.Nil(t, r.a.Driver)
}

// nilFuncs returns the names of the functions that a table does not have.
func nilFuncs(table any) []string {
	var names []string
	v := reflect.ValueOf(table)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

func TestCreateDevice(t *testing.T) {
	t.Run("fills every function", func(t *testing.T) {
		r := newRig(t)
		assert.ElementsMatch(t, []string{"RecycleCommandList", "AbandonCommandList"}, nilFuncs(r.f), "those of deferred contexts")
		assert.Empty(t, nilFuncs(r.dx))
		assert.Empty(t, nilFuncs(r.af))
	})
	t.Run("without command lists", func(t *testing.T) {
		r := openRigWith(newKernel(t), Options{EmulatedLists: true})
		require.Equal(t, ddi.OK, r.createDevice())
		caps, _ := r.af.GetCaps(r.th, r.a, umddi.CapsThreading)
		assert.Equal(t, uint32(1), caps, "free-threaded")
		assert.ElementsMatch(t, []string{
			"CalcPrivateCommandListSize", "CreateCommandList", "RecycleCreateCommandList", "DestroyCommandList",
			"RecycleDestroyCommandList", "RecycleCommandList", "CommandListExecute", "AbandonCommandList",
			"CalcPrivateDeferredContextSize", "CreateDeferredContext", "RecycleCreateDeferredContext",
			"CheckDeferredContextHandleSizes", "CalcDeferredContextHandleSize",
		}, nilFuncs(r.f))
	})
	t.Run("CreateContextCb fails", func(t *testing.T) {
		r := openRig(newKernel(t))
		r.failAt, r.failHR = 1, ddi.EOutOfMemory
		assert.Equal(t, ddi.EOutOfMemory, r.createDevice())
		assert.Nil(t, r.h.Driver)
		assert.Nil(t, r.f.CreateResource)
	})
	t.Run("another interface", func(t *testing.T) {
		r := openRig(newKernel(t))
		hr := r.af.CreateDevice(r.th, r.a, &umddi.CreateDevice{Device: umddi.HDevice{Root: &ddi.Root{}}})
		assert.Equal(t, ddi.DXGIUnsupported, hr)
	})
}

func TestDestroyDevice(t *testing.T) {
	r := newRig(t)
	arg := tex(8, 8, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(0, 256), RowPitch: 32}}
	res := r.create(arg)
	r.update(res, arg, 0, nil, seq(1, 256))
	r.create(arg) // its initial data is not yet copied
	gone := r.create(buf(64, umddi.UsageDefault))
	r.update(gone, buf(64, umddi.UsageDefault), 0, nil, seq(0, 64))
	r.f.DestroyResource(r.th, r.h, gone) // its allocation is freed after the batch
	r.f.QueryEnd(r.th, r.h, r.query())
	staging := r.create(buf(64, umddi.UsageStaging))
	r.f.StagingResourceMap(r.th, r.h, staging, 0, umddi.MapRead, 0)
	require.NotEmpty(t, r.handles)

	r.f.DestroyDevice(r.th, r.h)
	assert.Empty(t, r.errs)
	assert.Empty(t, r.handles, "allocations left")
	assert.Zero(t, r.ctx.Context, "the context is left")
	assert.Nil(t, r.h.Driver)
	assert.NotContains(t, r.log, "Render")
}

// The runtime may change its tables while the driver runs.
func TestCallbackTablesAreNotCopied(t *testing.T) {
	r := newRig(t)
	removed := 0
	r.um.SetErrorCb = func(_ *ddi.Thread, _ umddi.HRTCoreLayer, hr ddi.HRESULT) {
		assert.Equal(t, ddi.DDIDeviceRemoved, hr)
		removed++
	}
	r.kt.RenderCb = func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { return ddi.DDIDeviceRemoved }
	r.dxcb.PresentCb = func(*ddi.Thread, umddi.HRTDevice, *umddi.PresentCB) ddi.HRESULT { return ddi.EOutOfMemory }
	src, dst := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	r.copy(dst, src)
	r.f.RelocateDeviceFuncs(r.th, r.h, &umddi.DeviceFuncs{})
	r.flush()
	assert.Equal(t, 1, removed)
	hr := r.dx.Present(r.th, umddi.Present{Device: r.h, SurfaceToPresent: src, DstResource: dst})
	assert.Equal(t, ddi.EOutOfMemory, hr)
}

func TestCheckFormatSupport(t *testing.T) {
	r := newRig(t)
	const copied, target = umddi.FormatTexture2D | umddi.FormatCopy, umddi.FormatTexture2D | umddi.FormatCopy | umddi.FormatRenderTarget
	for _, tt := range []struct {
		f    dxgi.Format
		want uint32
	}{
		{dxgi.Unknown, 0}, {5, 0}, {dxgi.R8G8B8A8UNorm, target}, {dxgi.B8G8R8A8UNormSRGB, target}, {dxgi.A8UNorm, target},
		{dxgi.R16G16B16A16Float, target}, {dxgi.R32G32UInt, target}, {dxgi.R8G8B8A8SInt, target}, {dxgi.R16G16SNorm, target},
		{dxgi.R32G32B32A32Float, copied}, {dxgi.R32G32B32A32UInt, copied}, {dxgi.R8G8B8A8Typeless, copied},
		{dxgi.D32Float, copied}, {dxgi.D24UNormS8UInt, copied}, {dxgi.R9G9B9E5SharedExp, copied},
	} {
		assert.Equal(t, tt.want, r.f.CheckFormatSupport(r.th, r.h, tt.f), "%v", tt.f)
	}
	assert.Equal(t, uint32(1), r.f.CheckMultisampleQualityLevels(r.th, r.h, rgba, 1))
	assert.Zero(t, r.f.CheckMultisampleQualityLevels(r.th, r.h, rgba, 2))
	assert.Zero(t, r.f.CheckMultisampleQualityLevels(r.th, r.h, dxgi.Unknown, 1))
}

// The offsets of address fields match the packet tables.
func TestAddressFields(t *testing.T) {
	want := map[string]int{
		"SET_STATE Base": setStateBase, "COPY Src": copySrc, "COPY Dst": copyDst, "TIMESTAMP Addr": timestampAddr,
	}
	size := map[string]int{
		"SET_STATE": setStateBytes, "COPY": copyBytes, "COPY_2D": copy2DBytes, "FILL_2D": fill2DBytes, "TIMESTAMP": timestampBytes,
	}
	for _, l := range pkt.Table {
		n, used := size[l.Name]
		if !used {
			continue
		}
		delete(size, l.Name)
		assert.Equal(t, 4+4*int(l.Body), n, l.Name)
		for _, f := range l.Fields {
			if at, ok := want[l.Name+" "+f.Name]; ok || f.Kind.Address() {
				assert.Equal(t, 4*f.Dword, at, "%s %s", l.Name, f.Name)
				delete(want, l.Name+" "+f.Name)
			}
		}
	}
	assert.Empty(t, want)
	assert.Empty(t, size)
}

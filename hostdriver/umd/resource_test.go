package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// last returns the most recent allocation.
func (r *rig) last() *memory { return r.handles[r.next] }

func TestAllocationDescription(t *testing.T) {
	primary := tex(640, 480, dxgi.B8G8R8A8UNorm, umddi.UsageDefault, 0)
	primary.Primary = true
	texture := func(w, h, pitch uint32, f pkt.Format, bytes uint64, p privdata.Place) privdata.Allocation {
		return privdata.Allocation{Place: p, Bytes: bytes, Width: w, Height: h, Pitch: pitch, Format: f}
	}
	for _, tt := range []struct {
		name string
		arg  *umddi.CreateResource
		want privdata.Allocation
	}{
		{"rows that are aligned are tight", tex(512, 512, rgba, umddi.UsageStaging, 0), texture(512, 512, 2048, pkt.Format32, 1<<20, privdata.System)},
		{"rows are aligned to 16", tex(5, 3, rgba, umddi.UsageDefault, 0), texture(5, 3, 32, pkt.Format32, 96, privdata.Local)},
		{"one byte per element", tex(17, 2, dxgi.R8UNorm, umddi.UsageDefault, 0), texture(17, 2, 32, pkt.Format8, 64, privdata.Local)},
		{"16 bytes per element", tex(3, 2, dxgi.R32G32B32A32Float, umddi.UsageDefault, 0), texture(3, 2, 48, pkt.Format128, 96, privdata.Local)},
		{"the widest", tex(16384, 1, dxgi.R32G32B32A32UInt, umddi.UsageImmutable, 0), texture(16384, 1, 262144, pkt.Format128, 262144, privdata.Local)},
		{"a render target", tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget), texture(4, 4, 16, pkt.Format32, 64, privdata.Either)},
		{"presentable", tex(4, 4, rgba, umddi.UsageDefault, umddi.BindPresent), texture(4, 4, 16, pkt.Format32, 64, privdata.Either)},
		{"primary", primary, texture(640, 480, 2560, pkt.Format32, 640*480*4, privdata.Either)},
		{"dynamic texture", tex(4, 4, rgba, umddi.UsageDynamic, 0), texture(4, 4, 16, pkt.Format32, 64, privdata.System)},
		{"buffer", buf(100, umddi.UsageDefault), privdata.Allocation{Place: privdata.Local, Bytes: 100}},
		{"half of VRAM", buf(2<<20, umddi.UsageDefault), privdata.Allocation{Place: privdata.Local, Bytes: 2 << 20}},
		{"more than half of VRAM", buf(2<<20+1, umddi.UsageDefault), privdata.Allocation{Place: privdata.Either, Bytes: 2<<20 + 1}},
		{"larger than VRAM", buf(4<<20+1, umddi.UsageDefault), privdata.Allocation{Place: privdata.Either, Bytes: 4<<20 + 1}},
		{"all of VRAM", buf(4<<20, umddi.UsageDefault), privdata.Allocation{Place: privdata.Either, Bytes: 4 << 20}},
		{"staging buffer", buf(1, umddi.UsageStaging), privdata.Allocation{Place: privdata.System, Bytes: 1}},
		// 5 x 3 (3 rows of 32), 2 x 1 and 1 x 1 at multiples of 256, twice.
		{"levels and slices", mips(tex(5, 3, rgba, umddi.UsageDefault, 0), 2), texture(5, 3, 32, pkt.Format32, 5*256+16, privdata.Local)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.create(tt.arg)
			assert.Equal(t, tt.want, r.last().desc)
			assert.Equal(t, tt.arg.Primary, r.last().primary)
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	change := func(arg *umddi.CreateResource, f func(a *umddi.CreateResource)) *umddi.CreateResource {
		f(arg)
		return arg
	}
	def := umddi.UsageDefault
	for _, tt := range []struct {
		name string
		arg  *umddi.CreateResource
		want ddi.HRESULT
	}{
		{"too large", change(tex(16384, 16384, dxgi.R32G32B32A32Float, def, 0), func(a *umddi.CreateResource) { a.ArraySize = 2 }), ddi.EOutOfMemory},
		{"a format without layout", tex(4, 4, dxgi.Unknown, def, 0), ddi.DDIDeviceRemoved},
		{"multisampled", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) { a.SampleDesc.Count = 2 }), ddi.DDIDeviceRemoved},
		{"too wide", tex(16385, 4, rgba, def, 0), ddi.DDIDeviceRemoved},
		{"too high", tex(4, 16385, rgba, def, 0), ddi.DDIDeviceRemoved},
		{"no width", tex(0, 4, rgba, def, 0), ddi.DDIDeviceRemoved},
		{"no slices", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) { a.ArraySize = 0 }), ddi.DDIDeviceRemoved},
		{"fewer sizes than levels", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) { a.MipLevels = 2 }), ddi.DDIDeviceRemoved},
		{"no bytes", buf(0, def), ddi.DDIDeviceRemoved},
		{"an array of buffers", change(buf(4, def), func(a *umddi.CreateResource) { a.ArraySize = 2 }), ddi.DDIDeviceRemoved},
		{"another dimension", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) { a.ResourceDimension = 2 }), ddi.DDIDeviceRemoved},
		{"initial data of another number of subresources", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) {
			a.InitialDataUP = make([]umddi.SubresourceUP, 2)
		}), ddi.DDIDeviceRemoved},
		{"initial data that is too short", change(tex(4, 4, rgba, def, 0), func(a *umddi.CreateResource) {
			a.InitialDataUP = []umddi.SubresourceUP{{SysMem: make([]byte, 63), RowPitch: 16}}
		}), ddi.DDIDeviceRemoved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			res, ok := r.tryCreate(tt.arg)
			assert.False(t, ok)
			assert.Equal(t, []ddi.HRESULT{tt.want}, r.errors())
			assert.Empty(t, r.handles, "allocations left")
			assert.Nil(t, r.driver().resources.get(res.Object), "the object is kept")
		})
	}
}

func TestInitialData(t *testing.T) {
	for _, u := range []umddi.Usage{umddi.UsageDefault, umddi.UsageImmutable, umddi.UsageDynamic, umddi.UsageStaging} {
		r := newRig(t)
		arg := mips(tex(5, 3, rgba, u, 0), 2)
		for i := range uint32(6) {
			m := arg.MipInfoList[i%3]
			pitch := 4*m.TexelWidth + 3
			arg.InitialDataUP = append(arg.InitialDataUP, umddi.SubresourceUP{SysMem: seq(int(i), int(pitch*m.TexelHeight)), RowPitch: pitch})
		}
		res := r.create(arg)
		for i, init := range arg.InitialDataUP {
			want := []byte(nil)
			m := arg.MipInfoList[i%3]
			for y := range m.TexelHeight {
				want = append(want, seq(i, int(init.RowPitch*m.TexelHeight))[y*init.RowPitch:][:4*m.TexelWidth]...)
			}
			clear(init.SysMem) // the driver has its own copy
			assert.Equal(t, want, r.read(res, arg, uint32(i)), "usage %d, subresource %d", u, i)
		}
		r.f.DestroyResource(r.th, r.h, res)
		r.flush()
		assert.Empty(t, r.handles, "usage %d: allocations left", u)
		assert.Empty(t, r.errs)
	}
}

// Initial data goes to the GPU before the first use of the resource.
func TestInitialDataBeforeFirstUse(t *testing.T) {
	init := func(arg *umddi.CreateResource) *umddi.CreateResource {
		arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(1, 64), RowPitch: 16}}
		return arg
	}
	want := seq(1, 64)
	arg := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	r := newRig(t)
	res := r.create(init(arg))
	r.update(res, arg, 0, box(0, 0, 1, 1), []byte{9, 9, 9, 9})
	copy(want, []byte{9, 9, 9, 9})
	assert.Equal(t, want, r.read(res, arg, 0), "update")

	res = r.create(arg)
	r.f.ClearRenderTargetView(r.th, r.h, r.view(res, rgba, 0, 0, 1), [4]float32{})
	assert.Equal(t, make([]byte, 64), r.read(res, arg, 0), "clear")

	res = r.create(arg)
	primary := r.create(tex(4, 4, rgba, umddi.UsageDefault, 0))
	r.flush()
	queued := len(r.queue)
	hr := r.dx.Present(r.th, umddi.Present{Device: r.h, SurfaceToPresent: res, DstResource: primary})
	require.Equal(t, ddi.OK, hr)
	assert.Len(t, r.queue, queued+1, "a present submits the copy")
}

func TestDestroyWithoutUse(t *testing.T) {
	r := newRig(t)
	arg := tex(4, 4, rgba, umddi.UsageDefault, 0)
	arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(1, 64), RowPitch: 16}}
	res := r.create(arg)
	assert.Len(t, r.handles, 2)
	r.f.DestroyResource(r.th, r.h, res)
	assert.Empty(t, r.handles, "nothing recorded uses them")
}

func TestDeferredDestruction(t *testing.T) {
	for _, tt := range []struct {
		name   string
		submit func(r *rig)
	}{
		{"flush", (*rig).flush},
		{"a map of something else in the batch", func(r *rig) {
			s, b := r.create(buf(64, umddi.UsageStaging)), r.create(buf(64, umddi.UsageDefault))
			r.copy(s, b)
			r.f.StagingResourceMap(r.th, r.h, s, 0, umddi.MapRead, 0)
		}},
		{"a refused batch", func(r *rig) {
			r.failAt, r.failHR = 1, ddi.DDIDeviceRemoved
			r.flush()
			require.Equal(r, "Render", r.failed)
			require.Equal(r, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			dst, src := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
			m := r.last()
			q := r.query()
			qm := r.last()
			r.copy(dst, src)
			r.f.QueryEnd(r.th, r.h, q)
			r.f.DestroyResource(r.th, r.h, src)
			r.f.DestroyQuery(r.th, r.h, q)
			assert.False(t, m.freed || qm.freed, "the batch uses them")
			tt.submit(r)
			assert.True(t, m.freed && qm.freed)
			r.run(len(r.queue))
			assert.Empty(t, r.errs)
		})
	}
}

// A resource destroyed on another thread while its batch is submitted is freed
// at the next submission, which may be empty.
func TestEmptyFlushFrees(t *testing.T) {
	r := newRig(t)
	r.create(buf(64, umddi.UsageDefault))
	m, h := r.last(), r.next
	r.driver().retired = append(r.driver().retired, h)
	r.flush()
	assert.True(t, m.freed)
	assert.NotContains(t, r.log, "Render")
}

func TestDestroyMapped(t *testing.T) {
	r := newRig(t)
	res := r.create(buf(64, umddi.UsageStaging))
	r.f.StagingResourceMap(r.th, r.h, res, 0, umddi.MapWrite, 0)
	r.f.DestroyResource(r.th, r.h, res)
	assert.Empty(t, r.handles)
	assert.Equal(t, []string{"Unlock", "Deallocate"}, r.log[len(r.log)-2:])
}

// Each function that takes a handle detects a stale or invalid one.
func TestBadHandles(t *testing.T) {
	r := newRig(t)
	live := r.create(buf(64, umddi.UsageDefault))
	gone := r.create(buf(64, umddi.UsageDefault))
	r.f.DestroyResource(r.th, r.h, gone)
	orphan := r.create(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget))
	view := r.view(orphan, rgba, 0, 0, 1)
	r.f.DestroyResource(r.th, r.h, orphan)
	trash := umddi.HResource{Object: garbage(privateBytes)}
	trashView, trashQuery := umddi.HRenderTargetView(trash), umddi.HQuery(trash)
	for _, bad := range []umddi.HResource{gone, trash, {}} {
		for name, call := range map[string]func(){
			"destroy":     func() { r.f.DestroyResource(r.th, r.h, bad) },
			"copy to":     func() { r.copy(bad, live) },
			"copy from":   func() { r.copy(live, bad) },
			"region to":   func() { r.f.ResourceCopyRegion(r.th, r.h, bad, 0, 0, 0, 0, live, 0, nil) },
			"region from": func() { r.f.ResourceCopyRegion(r.th, r.h, live, 0, 0, 0, 0, bad, 0, nil) },
			"update":      func() { r.f.ResourceUpdateSubresourceUP(r.th, r.h, bad, 0, nil, make([]byte, 64), 64, 0) },
			"map":         func() { r.f.StagingResourceMap(r.th, r.h, bad, 0, umddi.MapRead, 0) },
			"discard":     func() { r.f.DynamicResourceMapDiscard(r.th, r.h, bad, 0, umddi.MapWriteDiscard, 0) },
			"no overwrite": func() {
				r.f.DynamicIABufferMapNoOverwrite(r.th, r.h, bad, 0, umddi.MapWriteNoOverwrite, 0)
			},
			"unmap":        func() { r.f.StagingResourceUnmap(r.th, r.h, bad, 0) },
			"busy":         func() { r.f.ResourceIsStagingBusy(r.th, r.h, bad) },
			"clear":        func() { r.f.ClearRenderTargetView(r.th, r.h, trashView, [4]float32{}) },
			"clear orphan": func() { r.f.ClearRenderTargetView(r.th, r.h, view, [4]float32{}) },
			"destroy view": func() { r.f.DestroyRenderTargetView(r.th, r.h, trashView) },
			"begin":        func() { r.f.QueryBegin(r.th, r.h, trashQuery) },
			"end":          func() { r.f.QueryEnd(r.th, r.h, trashQuery) },
			"get data":     func() { r.f.QueryGetData(r.th, r.h, trashQuery, make([]byte, 4), 0) },
			"destroy query": func() {
				r.f.DestroyQuery(r.th, r.h, trashQuery)
			},
			"view of": func() {
				r.f.CreateRenderTargetView(r.th, r.h, &umddi.CreateRenderTargetView{Resource: bad, Format: rgba, ArraySize: 1},
					umddi.HRenderTargetView{Object: garbage(privateBytes)}, umddi.HRTRenderTargetView{})
			},
		} {
			call()
			assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors(), name)
		}
		for _, p := range []umddi.Present{{SurfaceToPresent: bad, DstResource: live}, {SurfaceToPresent: live, DstResource: bad}} {
			p.Device = r.h
			assert.Equal(t, ddi.DDIDeviceRemoved, r.dx.Present(r.th, p))
		}
	}
	assert.Len(t, r.handles, 1, "the live one")
}

package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// "Excluding DDI Functions for Deferred Contexts", and functions that only a
// device has.
func TestDeferredTable(t *testing.T) {
	r := newRig(t)
	c := r.recorder()
	assert.ElementsMatch(t, []string{
		"StagingResourceMap", "StagingResourceUnmap", "ResourceIsStagingBusy", "QueryGetData", "Flush",
		"CheckFormatSupport", "CheckMultisampleQualityLevels", "CheckDeferredContextHandleSizes",
		"CalcPrivateResourceSize", "CalcPrivateRenderTargetViewSize", "CalcPrivateQuerySize",
		"CalcPrivateCommandListSize", "CalcPrivateDeferredContextSize", "CalcDeferredContextHandleSize",
		"CreateDeferredContext", "RecycleCreateDeferredContext", "RecycleCreateCommandList", "RecycleDestroyCommandList",
	}, nilFuncs(c.f))
}

func TestHandleSizes(t *testing.T) {
	r := newRig(t)
	n := r.f.CheckDeferredContextHandleSizes(r.th, r.h, nil)
	sizes := make([]umddi.HandleSize, n)
	assert.Equal(t, n, r.f.CheckDeferredContextHandleSizes(r.th, r.h, sizes))
	var types []umddi.HandleType
	for _, s := range sizes {
		types = append(types, s.Type)
		assert.Equal(t, s.Size, r.f.CalcDeferredContextHandleSize(r.th, r.h, s.Type, nil))
	}
	assert.Equal(t, []umddi.HandleType{0, 2, 10, 11}, types)
	assert.Zero(t, r.f.CalcDeferredContextHandleSize(r.th, r.h, 3, nil), "a depth-stencil view")
}

// A context whose table has moved keeps it when it is recycled: entries that were
// replaced there stay.
func TestMovedTableIsKept(t *testing.T) {
	r, _ := newListRig(t)
	c := r.recorder()
	moved := c.f
	c.f = umddi.DeviceFuncs{}
	moved.RelocateDeviceFuncs(c.th, c.h, &moved)
	called := 0
	moved.IaSetTopology = func(*ddi.Thread, umddi.HDevice, umddi.Topology) { called++ }
	c.arg.ContextFuncs = &moved
	moved.AbandonCommandList(c.th, c.h)
	require.Equal(t, ddi.OK, c.recycle())
	moved.IaSetTopology(c.th, c.h, 4)
	assert.Equal(t, 1, called)
	assert.Nil(t, c.f.ResourceCopy, "the old table is not filled in")
}

// The runtime may replace a context's tables and callbacks each time it is
// recycled.
func TestRecycledContext(t *testing.T) {
	r, m := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	c.f.IaSetTopology(c.th, c.h, 4)
	c.copy(a, a)
	c.f.AbandonCommandList(c.th, c.h)
	assert.Equal(t, umddi.Topology(4), c.driver().state.topology, "the runtime unbinds it")
	before := c.um
	um := before
	c.um.SetErrorCb = nil
	um.SetErrorCb = func(_ *ddi.Thread, h umddi.HRTCoreLayer, hr ddi.HRESULT) {
		assert.Equal(t, "another", h.Runtime)
		c.errs = append(c.errs, hr)
	}
	other := umddi.DeviceFuncs{}
	c.arg.RTCoreLayer.Runtime, c.arg.ContextFuncs, c.arg.UMCallbacks = "another", &other, &um
	require.Equal(t, ddi.OK, c.recycle())
	assert.Zero(t, c.driver().state.topology, "the initial state")
	c.f = other
	c.f.ResourceCopy(c.th, c.h, a, a) // handles of the device
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved, ddi.DDIDeviceRemoved}, c.errors())

	other = umddi.DeviceFuncs{}
	c.f.AbandonCommandList(c.th, c.h)
	require.Equal(t, ddi.OK, c.recycle())
	assert.NotNil(t, other.ResourceCopy, "a cleared table is filled in again")

	c.f.AbandonCommandList(c.th, c.h)
	c.f.DestroyDevice(c.th, c.h)
	assert.Nil(t, c.h.Driver)
	assert.Empty(t, m.live)
	require.Equal(t, ddi.OK, c.recycle(), "a handle without a context gets one")
	assert.Len(t, m.live, 1)
	c.f.DestroyDevice(c.th, c.h)
	m.failAt = 1
	require.Equal(t, ddi.EOutOfMemory, c.recycle())
	assert.Nil(t, c.h.Driver)
	assert.Empty(t, c.errors(), "it returns its error")

	c = r.recorder()
	there, _ := newListRig(t)
	c.f.AbandonCommandList(c.th, c.h)
	assert.Equal(t, ddi.DDIDeviceRemoved, there.f.RecycleCreateDeferredContext(c.th, there.h, &c.arg))
}

func TestCreateDeferredContextWithoutMemory(t *testing.T) {
	r, m := newListRig(t)
	m.failAt = 1
	c := r.tryRecorder()
	assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors(), "reported to the device")
	assert.Empty(t, c.errs)
	assert.Nil(t, c.h.Driver)
	assert.Nil(t, c.f.ResourceCopy)
	assert.Empty(t, m.live)
}

// A context records nothing between its list and its recycling.
func TestClosedContext(t *testing.T) {
	r, _ := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	for name, end := range map[string]func(c *recorder){
		"a list was created": func(c *recorder) { c.makeList() },
		"abandoned":          func(c *recorder) { c.f.AbandonCommandList(c.th, c.h) },
	} {
		c := r.recorder()
		c.copy(a, a)
		end(c)
		c.f.IaSetTopology(c.th, c.h, 0)
		c.f.SetRenderTargets(c.th, c.h, nil)
		require.Empty(t, c.errors())
		c.copy(a, a)
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors(), name)
		_, hr := c.makeList()
		assert.Equal(t, ddi.DDIDeviceRemoved, hr, "%s: no other list", name)
		require.Equal(t, ddi.OK, c.recycle())
		c.copy(a, a)
		assert.Empty(t, c.errors(), name)
	}
}

// A context accepts only handles that are open on it.
func TestLocalHandles(t *testing.T) {
	removed := []ddi.HRESULT{ddi.DDIDeviceRemoved}
	r, _ := newListRig(t)
	res := r.create(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget))
	view, query := r.view(res, rgba, 0, 0, 1), r.query()
	maker := r.recorder()
	list := maker.done()
	c := r.recorder()
	use := map[string]func(o *ddi.Object){
		"copy to":   func(o *ddi.Object) { c.f.ResourceCopy(c.th, c.h, umddi.HResource{Object: o}, c.res(res)) },
		"copy from": func(o *ddi.Object) { c.f.ResourceCopy(c.th, c.h, c.res(res), umddi.HResource{Object: o}) },
		"region to": func(o *ddi.Object) {
			c.f.ResourceCopyRegion(c.th, c.h, umddi.HResource{Object: o}, 0, 0, 0, 0, c.res(res), 0, nil)
		},
		"region from": func(o *ddi.Object) {
			c.f.ResourceCopyRegion(c.th, c.h, c.res(res), 0, 0, 0, 0, umddi.HResource{Object: o}, 0, nil)
		},
		"update": func(o *ddi.Object) {
			c.f.ResourceUpdateSubresourceUP(c.th, c.h, umddi.HResource{Object: o}, 0, nil, seq(0, 64), 16, 0)
		},
		"discard":      func(o *ddi.Object) { c.f.DynamicResourceMapDiscard(c.th, c.h, umddi.HResource{Object: o}, 0, 4, 0) },
		"no overwrite": func(o *ddi.Object) { c.f.DynamicIABufferMapNoOverwrite(c.th, c.h, umddi.HResource{Object: o}, 0, 5, 0) },
		"unmap":        func(o *ddi.Object) { c.f.DynamicResourceUnmap(c.th, c.h, umddi.HResource{Object: o}, 0) },
		"bind":         func(o *ddi.Object) { c.f.VsSetConstantBuffers(c.th, c.h, 0, []umddi.HResource{{Object: o}}) },
		"clear": func(o *ddi.Object) {
			c.f.ClearRenderTargetView(c.th, c.h, umddi.HRenderTargetView{Object: o}, [4]float32{})
		},
		"target":    func(o *ddi.Object) { c.f.SetRenderTargets(c.th, c.h, []umddi.HRenderTargetView{{Object: o}}) },
		"begin":     func(o *ddi.Object) { c.f.QueryBegin(c.th, c.h, umddi.HQuery{Object: o}) },
		"end":       func(o *ddi.Object) { c.f.QueryEnd(c.th, c.h, umddi.HQuery{Object: o}) },
		"predicate": func(o *ddi.Object) { c.f.SetPredication(c.th, c.h, umddi.HQuery{Object: o}, true) },
		"execute":   func(o *ddi.Object) { c.f.CommandListExecute(c.th, c.h, umddi.HCommandList{Object: o}) },

		"close a resource": func(o *ddi.Object) { c.f.DestroyResource(c.th, c.h, umddi.HResource{Object: o}) },
		"close a view":     func(o *ddi.Object) { c.f.DestroyRenderTargetView(c.th, c.h, umddi.HRenderTargetView{Object: o}) },
		"close a query":    func(o *ddi.Object) { c.f.DestroyQuery(c.th, c.h, umddi.HQuery{Object: o}) },
		"close a list":     func(o *ddi.Object) { c.f.DestroyCommandList(c.th, c.h, umddi.HCommandList{Object: o}) },
	}
	closed := garbage(localBytes)
	c.f.CreateResource(c.th, c.h, nil, umddi.HResource{Object: closed}, umddi.HRTResource{Runtime: res})
	c.f.DestroyResource(c.th, c.h, umddi.HResource{Object: closed})
	for name, f := range use {
		for kind, o := range map[string]*ddi.Object{
			"garbage": garbage(localBytes), "closed": closed, "short": garbage(4),
			"the device's resource": res.Object, "the device's view": view.Object, "the device's query": query.Object, "the device's list": list.Object,
		} {
			f(o)
			assert.Equal(t, removed, c.errors(), "%s, %s", name, kind)
		}
	}
	for name, open := range map[string]func(o *ddi.Object){
		"resource": func(o *ddi.Object) {
			c.f.CreateResource(c.th, c.h, nil, umddi.HResource{Object: o}, umddi.HRTResource{Runtime: umddi.HResource(view)})
		},
		"view": func(o *ddi.Object) {
			c.f.CreateRenderTargetView(c.th, c.h, nil, umddi.HRenderTargetView{Object: o}, umddi.HRTRenderTargetView{Runtime: res})
		},
		"query": func(o *ddi.Object) {
			c.f.CreateQuery(c.th, c.h, umddi.CreateQuery{}, umddi.HQuery{Object: o}, umddi.HRTQuery{})
		},
		"list": func(o *ddi.Object) {
			c.f.CreateCommandList(c.th, c.h, nil, umddi.HCommandList{Object: o}, umddi.HRTCommandList{Runtime: "list"})
		},
	} {
		open(garbage(localBytes))
		assert.Empty(t, c.errs, "%s: nothing to the context's core layer", name)
		assert.Equal(t, removed, r.errors(), name)
	}
	c.f.CreateResource(c.th, c.h, nil, umddi.HResource{Object: garbage(localBytes - 1)}, umddi.HRTResource{Runtime: res})
	assert.Equal(t, removed, c.errors(), "too little private memory")
}

// A local handle is invalid on the device.
func TestLocalHandleOnTheDevice(t *testing.T) {
	r, _ := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	r.copy(c.res(a), c.res(a))
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors())
}

// Each context has its own state, initially the default.
func TestDeferredState(t *testing.T) {
	r, _ := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	r.f.PsSetConstantBuffers(r.th, r.h, 0, []umddi.HResource{a})
	c := r.recorder()
	assert.Zero(t, c.driver().state)
	c.f.IaSetVertexBuffers(c.th, c.h, 1, []umddi.HResource{c.res(a)}, []uint32{4}, []uint32{8})
	c.f.SetViewports(c.th, c.h, []umddi.Viewport{{Width: 1}})
	d := r.driver()
	assert.Equal(t, vertexBuffer{d.resources.id(a.Object), 4, 8}, c.driver().state.vertex[1])
	assert.Zero(t, d.state.vertex[1])
	assert.NotZero(t, d.state.constants[pixelShader][0])
	l := c.done()
	assert.Zero(t, c.driver().state.vertex[1], "a list was created")
	assert.Empty(t, c.driver().state.viewports)
	r.execute(l)
	assert.Zero(t, d.state.constants[pixelShader][0], "a list was executed")
	assert.Empty(t, c.errors())

	c.f.IaSetTopology(c.th, c.h, 3)
	c.execute(l)
	assert.Zero(t, c.driver().state.topology, "and on a deferred context")
}

package verifier

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Sizes that the rig's driver returns, in bytes.
const (
	rigPrivate = 12
	rigLocal   = 8
)

// A body implements a function of the driver or the runtime in a test. It gets
// the arguments, the thread first, and may set results.
type body func(args, results []any)

// A rig is a test driver and a test runtime with a Checker between them. Both
// do only what the test puts in their tables.
type rig struct {
	t      *testing.T
	m      *Monitor
	k      *Checker
	driver map[string]body // driver functions
	system map[string]body // callbacks
	caps   uint32

	th, dth, other *ddi.Thread // for the immediate context, for deferred contexts, for others

	adapter umddi.HAdapter
	top     umddi.AdapterFuncs
	dev     umddi.HDevice
	arg     umddi.CreateDevice // from which dev was created
	inner   umddi.CreateDevice // as passed to the driver
	funcs   *umddi.DeviceFuncs
}

// A deferredRig is a deferred context of a rig.
type deferredRig struct {
	*rig
	h     umddi.HDevice
	arg   umddi.CreateDeferredContext
	inner *umddi.CreateDeferredContext // as passed to the driver
	funcs umddi.DeviceFuncs
}

// newRig opens a device of a driver with the capabilities caps.
func newRig(t *testing.T, o Options, caps uint32) *rig {
	t.Helper()
	m, err := NewMonitor(o)
	require.NoError(t, err)
	r := &rig{
		t: t, m: m, k: New(m), driver: map[string]body{}, system: map[string]body{}, caps: caps,
		th: &ddi.Thread{Process: 1, ID: 1}, dth: &ddi.Thread{Process: 1, ID: 2}, other: &ddi.Thread{Process: 1, ID: 3},
	}
	r.openAdapter()
	r.dev = umddi.HDevice{Root: new(ddi.Root)}
	r.arg = r.createDevice(r.dev, "device")
	r.funcs = r.arg.DeviceFuncs
	return r
}

func (r *rig) openAdapter() {
	r.adapter = umddi.HAdapter{Root: new(ddi.Root)}
	open := WrapUserMode(func(_ *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		arg.Funcs.GetCaps = func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) { return r.caps, ddi.OK }
		arg.Funcs.CreateDevice = func(_ *ddi.Thread, _ umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			r.inner = *arg
			r.fill(arg.DeviceFuncs, r.driver, true)
			r.fill(arg.DXGIFuncs, r.driver, true)
			if strip := r.driver["CreateDevice"]; strip != nil {
				strip([]any{arg}, nil)
			}
			return ddi.OK
		}
		return ddi.OK
	}, r.m, Hooks(r.m, r.k))
	require.Equal(r.t, ddi.OK, open(r.th, &umddi.OpenAdapter{Adapter: r.adapter, Callbacks: &umddi.AdapterCallbacks{}, Funcs: &r.top}))
	_, hr := r.top.GetCaps(r.th, r.adapter, umddi.CapsThreading)
	require.Equal(r.t, ddi.OK, hr)
}

func (r *rig) createDevice(h umddi.HDevice, core any) umddi.CreateDevice {
	arg := umddi.CreateDevice{
		Device: h, RTCoreLayer: umddi.HRTCoreLayer{Runtime: core},
		KTCallbacks: new(umddi.DeviceCallbacks), UMCallbacks: new(umddi.CoreLayerCallbacks), DXGICallbacks: new(umddi.DXGIBaseCallbacks),
		DeviceFuncs: new(umddi.DeviceFuncs), DXGIFuncs: new(umddi.DXGIBaseFuncs),
	}
	r.fill(arg.KTCallbacks, r.system, false)
	r.fill(arg.UMCallbacks, r.system, false)
	r.fill(arg.DXGICallbacks, r.system, false)
	require.Equal(r.t, ddi.OK, r.top.CreateDevice(r.th, r.adapter, &arg))
	return arg
}

// fill puts a function in each entry of a table. It calls the function that
// bodies has at the time of the call; for a deferred context, d.NAME is looked
// up first.
func (r *rig) fill(table any, bodies map[string]body, driver bool, prefix ...string) {
	v := reflect.ValueOf(table).Elem()
	for i := range v.NumField() {
		name, typ := v.Type().Field(i).Name, v.Field(i).Type()
		if typ.Kind() != reflect.Func {
			continue
		}
		v.Field(i).Set(reflect.MakeFunc(typ, func(in []reflect.Value) []reflect.Value {
			var args, results []any
			for _, a := range in {
				args = append(args, a.Interface())
			}
			for j := range typ.NumOut() {
				results = append(results, reflect.Zero(typ.Out(j)).Interface())
			}
			if driver {
				r.answer(name, args, results)
			}
			if b := bodies[name]; b != nil {
				b(args, results)
			}
			var out []reflect.Value
			for _, x := range results {
				out = append(out, reflect.ValueOf(x))
			}
			return out
		}))
	}
}

// answer sets the results of a driver that follows the rules.
func (r *rig) answer(name string, args, results []any) {
	switch name {
	case "CalcDeferredContextHandleSize":
		results[0] = rigLocal
	case "CalcPrivateResourceSize", "CalcPrivateRenderTargetViewSize", "CalcPrivateQuerySize", "CalcPrivateCommandListSize",
		"CalcPrivateDeferredContextSize":
		results[0] = rigPrivate
	case "CheckDeferredContextHandleSizes":
		sizes := []umddi.HandleSize{
			{Type: umddi.HandleResource, Size: rigLocal}, {Type: umddi.HandleRenderTargetView, Size: rigLocal},
			{Type: umddi.HandleQuery, Size: rigLocal}, {Type: umddi.HandleCommandList, Size: rigLocal},
		}
		results[0] = len(sizes)
		copy(args[2].([]umddi.HandleSize), sizes)
	case "CreateDeferredContext", "RecycleCreateDeferredContext":
		arg := args[2].(*umddi.CreateDeferredContext)
		r.fill(arg.ContextFuncs, r.driver, true)
		entries(arg.ContextFuncs, func(name string, entry reflect.Value) {
			if specs[name].excluded {
				entry.SetZero()
			}
		})
	}
}

// sizes asks for the sizes of local handles, as a runtime does once.
func (r *rig) sizes() {
	n := r.funcs.CheckDeferredContextHandleSizes(r.th, r.dev, nil)
	r.funcs.CheckDeferredContextHandleSizes(r.th, r.dev, make([]umddi.HandleSize, n))
}

func memoryOf(n int) *ddi.Object { return &ddi.Object{Private: make([]byte, n)} }

// A maker makes objects of a device on a thread.
type maker struct {
	r *rig
	t *ddi.Thread
}

func (r *rig) make() maker { return maker{r, r.th} }

func (m maker) resource(arg umddi.CreateResource) umddi.HResource {
	r := m.r
	h := umddi.HResource{Object: memoryOf(r.funcs.CalcPrivateResourceSize(m.t, r.dev, &arg))}
	r.funcs.CreateResource(m.t, r.dev, &arg, h, umddi.HRTResource{})
	m.local(umddi.HandleResource, h.Object)
	return h
}

// local asks for the size of a local handle, as a runtime with native command
// lists does once the sizes are known.
func (m maker) local(typ umddi.HandleType, o *ddi.Object) {
	if m.r.k.contexts[m.r.dev.Root].sizes != nil {
		m.r.funcs.CalcDeferredContextHandleSize(m.t, m.r.dev, typ, o)
	}
}

func (m maker) buffer() umddi.HResource { return m.resource(umddi.CreateResource{}) }

// dynamic creates a vertex buffer that can be mapped.
func (m maker) dynamic() umddi.HResource {
	return m.resource(umddi.CreateResource{Usage: umddi.UsageDynamic, BindFlags: umddi.BindVertexBuffer})
}

func (m maker) view(res umddi.HResource) umddi.HRenderTargetView {
	r, arg := m.r, umddi.CreateRenderTargetView{Resource: res}
	h := umddi.HRenderTargetView{Object: memoryOf(r.funcs.CalcPrivateRenderTargetViewSize(m.t, r.dev, &arg))}
	r.funcs.CreateRenderTargetView(m.t, r.dev, &arg, h, umddi.HRTRenderTargetView{})
	m.local(umddi.HandleRenderTargetView, h.Object)
	return h
}

func (m maker) query() umddi.HQuery {
	r, arg := m.r, umddi.CreateQuery{}
	h := umddi.HQuery{Object: memoryOf(r.funcs.CalcPrivateQuerySize(m.t, r.dev, arg))}
	r.funcs.CreateQuery(m.t, r.dev, arg, h, umddi.HRTQuery{})
	m.local(umddi.HandleQuery, h.Object)
	return h
}

// deferred creates a deferred context with the core layer core.
func (r *rig) deferred(core any) *deferredRig {
	d := &deferredRig{rig: r, h: umddi.HDevice{Root: new(ddi.Root)}}
	d.arg = umddi.CreateDeferredContext{
		Context: d.h, RTCoreLayer: umddi.HRTCoreLayer{Runtime: core}, ContextFuncs: &d.funcs, UMCallbacks: new(umddi.CoreLayerCallbacks),
	}
	d.h.Root.Private = make([]byte, r.funcs.CalcPrivateDeferredContextSize(r.th, r.dev, 0))
	r.fill(d.arg.UMCallbacks, r.system, false)
	before := r.driver["CreateDeferredContext"]
	r.driver["CreateDeferredContext"] = func(args, results []any) {
		d.inner = args[2].(*umddi.CreateDeferredContext)
		if before != nil {
			before(args, results)
		}
	}
	r.funcs.CreateDeferredContext(r.th, r.dev, &d.arg)
	r.driver["CreateDeferredContext"] = before
	return d
}

// open opens a resource in the context.
func (d *deferredRig) open(res umddi.HResource) umddi.HResource {
	h := umddi.HResource{Object: memoryOf(rigLocal)}
	d.funcs.CreateResource(d.dth, d.h, nil, h, umddi.HRTResource{Runtime: res})
	return h
}

func (d *deferredRig) openView(v umddi.HRenderTargetView) umddi.HRenderTargetView {
	h := umddi.HRenderTargetView{Object: memoryOf(rigLocal)}
	d.funcs.CreateRenderTargetView(d.dth, d.h, nil, h, umddi.HRTRenderTargetView{Runtime: v})
	return h
}

func (d *deferredRig) openQuery(q umddi.HQuery) umddi.HQuery {
	h := umddi.HQuery{Object: memoryOf(rigLocal)}
	d.funcs.CreateQuery(d.dth, d.h, umddi.CreateQuery{}, h, umddi.HRTQuery{Runtime: q})
	return h
}

func (d *deferredRig) openList(l umddi.HCommandList) umddi.HCommandList {
	h := umddi.HCommandList{Object: memoryOf(rigLocal)}
	d.funcs.CreateCommandList(d.dth, d.h, nil, h, umddi.HRTCommandList{Runtime: l})
	return h
}

// list creates a list of the recorded commands.
func (d *deferredRig) list() umddi.HCommandList {
	arg := &umddi.CreateCommandList{DeferredContext: d.h}
	h := umddi.HCommandList{Object: memoryOf(d.rig.funcs.CalcPrivateCommandListSize(d.dth, d.dev, arg))}
	d.rig.funcs.CreateCommandList(d.dth, d.dev, arg, h, umddi.HRTCommandList{})
	maker{d.rig, d.dth}.local(umddi.HandleCommandList, h.Object)
	return h
}

// again creates a list in the memory of a recycled one.
func (d *deferredRig) again(l umddi.HCommandList) ddi.HRESULT {
	return d.rig.funcs.RecycleCreateCommandList(d.dth, d.dev, &umddi.CreateCommandList{DeferredContext: d.h}, l, umddi.HRTCommandList{})
}

// renew recycles the context.
func (d *deferredRig) renew() ddi.HRESULT {
	return d.rig.funcs.RecycleCreateDeferredContext(d.dth, d.dev, &d.arg)
}

// finish creates a list and recycles the context.
func (d *deferredRig) finish() umddi.HCommandList {
	l := d.list()
	d.renew()
	return l
}

// reports makes a driver function report results to a core layer.
func (r *rig) reports(function string, core any, hrs ...ddi.HRESULT) {
	r.driver[function] = func(args, _ []any) {
		for _, hr := range hrs {
			r.inner.UMCallbacks.SetErrorCb(args[0].(*ddi.Thread), umddi.HRTCoreLayer{Runtime: core}, hr)
		}
	}
}

// calls makes a driver function call f once.
func (r *rig) calls(function string, f func(t *ddi.Thread)) {
	r.driver[function] = func(args, _ []any) {
		delete(r.driver, function)
		f(args[0].(*ddi.Thread))
	}
}

// shows makes a runtime callback call f.
func (r *rig) shows(callback string, f func(t *ddi.Thread)) {
	r.system[callback] = func(args, _ []any) { f(args[0].(*ddi.Thread)) }
}

package verifier

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// seen is a Hook that records the names of calls and their contexts.
type seen struct {
	names    []string
	contexts []*ddi.Root
}

func (s *seen) Enter(_ *ddi.Thread, f *Func, args ...any) {
	s.names = append(s.names, f.Name)
	if h, ok := args[0].(umddi.HDevice); ok {
		s.contexts = append(s.contexts, h.Root)
	}
}

func (s *seen) Leave(*ddi.Thread, *Func, ...any) {}

// openDeferring is a driver whose deferred contexts report an error for each
// topology and support scissor rectangles only after recycling.
func openDeferring(_ *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	fill := func(arg *umddi.CreateDeferredContext) {
		arg.ContextFuncs.IaSetTopology = func(t *ddi.Thread, _ umddi.HDevice, _ umddi.Topology) {
			arg.UMCallbacks.SetErrorCb(t, arg.RTCoreLayer, ddi.EOutOfMemory)
		}
		arg.ContextFuncs.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {}
	}
	arg.Funcs.CreateDevice = func(_ *ddi.Thread, _ umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
		arg.DeviceFuncs.CreateDeferredContext = func(_ *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) { fill(arg) }
		arg.DeviceFuncs.RecycleCreateDeferredContext = func(_ *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
			fill(arg)
			arg.ContextFuncs.SetScissorRects = func(*ddi.Thread, umddi.HDevice, []umddi.Rect) {}
			return ddi.EOutOfMemory
		}
		return ddi.OK
	}
	return ddi.OK
}

func TestDeferredTables(t *testing.T) {
	var hook seen
	th := new(ddi.Thread)
	var adapter umddi.AdapterFuncs
	require.Equal(t, ddi.OK, WrapUserMode(openDeferring, nil, &hook)(th, &umddi.OpenAdapter{Callbacks: &umddi.AdapterCallbacks{}, Funcs: &adapter}))
	dev, ctx := umddi.HDevice{Root: new(ddi.Root)}, umddi.HDevice{Root: new(ddi.Root)}
	funcs := new(umddi.DeviceFuncs)
	require.Equal(t, ddi.OK, adapter.CreateDevice(th, umddi.HAdapter{}, &umddi.CreateDevice{
		Device: dev, KTCallbacks: &umddi.DeviceCallbacks{}, UMCallbacks: &umddi.CoreLayerCallbacks{},
		DXGICallbacks: &umddi.DXGIBaseCallbacks{}, DeviceFuncs: funcs, DXGIFuncs: &umddi.DXGIBaseFuncs{},
	}))
	var reported []umddi.HRTCoreLayer
	table := new(umddi.DeviceFuncs)
	arg := &umddi.CreateDeferredContext{
		Context: ctx, RTCoreLayer: umddi.HRTCoreLayer{Runtime: "deferred"}, ContextFuncs: table,
		UMCallbacks: &umddi.CoreLayerCallbacks{SetErrorCb: func(_ *ddi.Thread, h umddi.HRTCoreLayer, _ ddi.HRESULT) {
			reported = append(reported, h)
		}},
	}
	hook = seen{}
	funcs.CreateDeferredContext(th, dev, arg)
	assert.Nil(t, table.SetScissorRects, "an entry that the driver left nil stays nil")
	table.IaSetTopology(th, ctx, 1)
	assert.Equal(t, []string{"pfnCreateDeferredContext", "pfnIaSetTopology", "pfnSetErrorCb"}, hook.names)
	assert.Equal(t, []*ddi.Root{dev.Root, ctx.Root}, hook.contexts)
	assert.Equal(t, []umddi.HRTCoreLayer{arg.RTCoreLayer}, reported)

	assert.Equal(t, ddi.EOutOfMemory, funcs.RecycleCreateDeferredContext(th, dev, arg))
	assert.NotNil(t, table.SetScissorRects, "an entry that is set later is wrapped then")
	table.SetScissorRects(th, ctx, nil)
	table.DestroyDevice(th, ctx)
	assert.Equal(t, []string{"pfnRecycleCreateDeferredContext", "pfnSetScissorRects", "pfnDestroyDevice"}, hook.names[3:])
	assert.Empty(t, th.Stack())
}

// A context is wrapped once: recycling it allocates no tables.
func TestRecyclingWrapsNothing(t *testing.T) {
	driver := &umddi.DeviceFuncs{
		RecycleCreateDeferredContext: func(_ *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
			arg.ContextFuncs.SetScissorRects = setNoScissors
			return ddi.OK
		},
	}
	outer := *driver
	wrapDeferred(&outer, driver, nil, quiet{})
	th, table := new(ddi.Thread), new(umddi.DeviceFuncs)
	arg := &umddi.CreateDeferredContext{Context: umddi.HDevice{Root: new(ddi.Root)}, ContextFuncs: table, UMCallbacks: &umddi.CoreLayerCallbacks{}}
	dev := umddi.HDevice{Root: new(ddi.Root)}
	recycle := func() { outer.RecycleCreateDeferredContext(th, dev, arg) }
	recycle()
	// The two allocations per call are the hook's arguments.
	assert.LessOrEqual(t, testing.AllocsPerRun(100, recycle), 2.0)
	assert.NotNil(t, table.SetScissorRects)
}

func setNoScissors(*ddi.Thread, umddi.HDevice, []umddi.Rect) {}

// quiet is a Hook that does nothing.
type quiet struct{}

func (quiet) Enter(*ddi.Thread, *Func, ...any) {}
func (quiet) Leave(*ddi.Thread, *Func, ...any) {}

// A trace distinguishes contexts.
func TestTraceOfDeferredContexts(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	r := newRig(t, Options{}, native)
	r.m.stopped.Store(true)
	driver := &umddi.DeviceFuncs{}
	r.fill(driver, r.driver, true)
	outer := *wrapDeviceFuncs(driver, nil, tr)
	wrapDeferred(&outer, driver, nil, tr)
	dev := umddi.HDevice{Root: new(ddi.Root)}
	outer.Flush(r.th, dev)
	for range 2 {
		var table umddi.DeviceFuncs
		c := umddi.HDevice{Root: new(ddi.Root)}
		outer.CreateDeferredContext(r.th, dev, &umddi.CreateDeferredContext{Context: c, ContextFuncs: &table, UMCallbacks: new(umddi.CoreLayerCallbacks)})
		table.IaSetTopology(r.dth, c, 1)
	}
	require.NoError(t, tr.Err())
	var got []string
	for _, ev := range events(t, &b) {
		if ev.At == "enter" {
			got = append(got, fmt.Sprintf("%d %s %v", ev.Context, ev.Name, ev.Args["h"]))
		}
	}
	assert.Equal(t, []string{
		"0 pfnFlush device 1", "0 pfnCreateDeferredContext device 1", "1 pfnIaSetTopology context 1",
		"0 pfnCreateDeferredContext device 1", "2 pfnIaSetTopology context 2",
	}, got)
}

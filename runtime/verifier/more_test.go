package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// More programs that break a rule or none, as named.
func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(r *rig)
		want []string
	}{
		{"a recycled context has its most recent core layer", func(r *rig) {
			d := r.deferred("d")
			d.list()
			d.arg.RTCoreLayer.Runtime = "later"
			d.renew()
			r.reports("IaSetTopology", "later", ddi.EOutOfMemory)
			d.funcs.IaSetTopology(r.dth, d.h, 1)
		}, nil},
		{"a recycled context loses its earlier core layer", func(r *rig) {
			d := r.deferred("d")
			d.list()
			d.arg.RTCoreLayer.Runtime = "later"
			d.renew()
			r.reports("IaSetTopology", "d", ddi.EOutOfMemory)
			d.funcs.IaSetTopology(r.dth, d.h, 1)
		}, []string{"error-layer"}},
		{"a list maps the resources of its nested lists", func(r *rig) {
			res, l := mappingList(r)
			e := r.deferred("e")
			local := e.openList(l)
			e.funcs.CommandListExecute(r.dth, e.h, local)
			outer := e.list()
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, res, 0, umddi.MapWriteDiscard, 0)
			r.funcs.CommandListExecute(r.th, r.dev, outer)
		}, []string{"execute-mapped"}},
		{"an abandoned context has no mapped resource", func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().dynamic())
			d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, local, 0, umddi.MapWriteDiscard, 0)
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.DestroyResource(r.dth, d.h, local)
			d.renew()
			d.list()
		}, nil},
		{"a resource outlives its views", func(r *rig) {
			res := r.make().buffer()
			r.make().view(res)
			r.funcs.DestroyResource(r.th, r.dev, res)
		}, []string{"view-order"}},
		{"a view whose creation failed does not count", func(r *rig) {
			res := r.make().buffer()
			arg := umddi.CreateRenderTargetView{Resource: res}
			r.reports("CreateRenderTargetView", "device", ddi.EOutOfMemory)
			h := umddi.HRenderTargetView{Object: memoryOf(r.funcs.CalcPrivateRenderTargetViewSize(r.th, r.dev, &arg))}
			r.funcs.CreateRenderTargetView(r.th, r.dev, &arg, h, umddi.HRTRenderTargetView{})
			r.funcs.DestroyResource(r.th, r.dev, res)
		}, nil},
		{"memory passed to a function may change", func(r *rig) {
			res := r.make().buffer()
			r.calls("ResourceCopy", func(*ddi.Thread) {
				res.Private[0]++
				maker{r, r.other}.view(res)
			})
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}, nil},
		{"other memory of the same size", func(r *rig) {
			res := r.make().buffer()
			res.Private = make([]byte, rigPrivate)
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}, []string{"private-moved"}},
		{"memory is compared after a Flush", func(r *rig) {
			res := r.make().buffer()
			r.funcs.Flush(r.th, r.dev)
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
			res.Private[0]++
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}, []string{"private-runtime"}},
		{"SetRenderTargets unbinds the views that it omits", func(r *rig) {
			res := r.make().buffer()
			v := r.make().view(res)
			r.funcs.SetRenderTargets(r.th, r.dev, []umddi.HRenderTargetView{v, v})
			r.funcs.SetRenderTargets(r.th, r.dev, []umddi.HRenderTargetView{v})
			r.calls("Flush", func(t *ddi.Thread) { r.inner.UMCallbacks.StateOmRenderTargetsCb(t, r.inner.RTCoreLayer) })
			r.shows("StateOmRenderTargetsCb", func(t *ddi.Thread) {
				r.funcs.SetRenderTargets(t, r.dev, []umddi.HRenderTargetView{v, {}})
			})
			r.funcs.Flush(r.th, r.dev)
		}, nil},
		{"a bound vertex buffer is bound", func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.funcs.IaSetVertexBuffers(r.dth, d.h, 3, []umddi.HResource{local}, []uint32{4}, []uint32{0})
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.DestroyResource(r.dth, d.h, local)
		}, []string{"abandon-bound"}},
		{"a bound constant buffer is bound", func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.funcs.CsSetConstantBuffers(r.dth, d.h, 3, []umddi.HResource{local})
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.DestroyResource(r.dth, d.h, local)
		}, []string{"abandon-bound"}},
		{"a bound view is bound", func(r *rig) {
			res := r.make().buffer()
			v := r.make().view(res)
			d := r.deferred("d")
			d.open(res)
			local := d.openView(v)
			d.funcs.SetRenderTargets(r.dth, d.h, []umddi.HRenderTargetView{local})
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.DestroyRenderTargetView(r.dth, d.h, local)
		}, []string{"abandon-bound"}},
		{"a refresh of a deferred context calls its functions", func(r *rig) {
			d := r.deferred("d")
			r.calls("SetViewports", func(t *ddi.Thread) { d.inner.UMCallbacks.StateIaPrimitiveTopologyCb(t, d.inner.RTCoreLayer) })
			r.shows("StateIaPrimitiveTopologyCb", func(t *ddi.Thread) { r.funcs.IaSetTopology(t, r.dev, 0) })
			d.funcs.SetViewports(r.dth, d.h, nil)
		}, []string{"refresh-function"}},
		{"a refresh that shows none of the bound slots", func(r *rig) {
			r.funcs.SetViewports(r.th, r.dev, make([]umddi.Viewport, 1))
			r.calls("Flush", func(t *ddi.Thread) { r.inner.UMCallbacks.StateRsViewportsCb(t, r.inner.RTCoreLayer) })
			r.funcs.Flush(r.th, r.dev)
		}, []string{"refresh-stale"}},
		{"a Recycle function that reports an error it must return", func(r *rig) {
			d := r.deferred("d")
			d.list()
			r.reports("RecycleCreateDeferredContext", "device", ddi.EOutOfMemory)
			d.renew()
		}, []string{"recycle-result"}},
		{"a Recycle function that returns S_FALSE did not recycle", func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
			d.funcs.RecycleCommandList(r.dth, d.h, l)
			r.driver["RecycleCreateCommandList"] = func(_, results []any) { results[0] = ddi.False }
			d.again(l)
			d.funcs.AbandonCommandList(r.dth, d.h)
		}, []string{"recycle-result"}},
		{"a deferred context's table lacks a recording function", func(r *rig) {
			r.driver["CreateDeferredContext"] = func(args, _ []any) {
				args[2].(*umddi.CreateDeferredContext).ContextFuncs.ResourceCopy = nil
			}
			r.deferred("d")
		}, []string{"table-missing"}},
		{"the sizes differ", func(r *rig) {
			r.driver["CheckDeferredContextHandleSizes"] = func(args, _ []any) {
				if s := args[2].([]umddi.HandleSize); s != nil {
					s[0].Size++
				}
			}
			r.sizes()
		}, []string{"size-check"}},
		{"queries of a list begun on a deferred context", func(r *rig) {
			q := r.make().query()
			d, e := r.deferred("d"), r.deferred("e")
			d.funcs.QueryEnd(r.dth, d.h, d.openQuery(q))
			l := e.openList(d.list())
			e.funcs.QueryBegin(r.dth, e.h, e.openQuery(q))
			e.funcs.CommandListExecute(r.dth, e.h, l)
		}, []string{"execute-begun"}},
	} {
		r := collecting(t)
		tt.run(r)
		assert.Equal(t, tt.want, r.broken(), tt.name)
	}
}

// The table of a failed context is not reused for the next context at its
// address.
func TestTableOfFailedContext(t *testing.T) {
	calls := 0
	driver := &umddi.DeviceFuncs{CreateDeferredContext: func(_ *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) {
		if calls++; calls == 1 {
			arg.ContextFuncs.SetScissorRects = setNoScissors
		}
	}}
	outer := *driver
	wrapDeferred(&outer, driver, nil, quiet{})
	th, table := new(ddi.Thread), new(umddi.DeviceFuncs)
	arg := &umddi.CreateDeferredContext{Context: umddi.HDevice{Root: new(ddi.Root)}, ContextFuncs: table, UMCallbacks: &umddi.CoreLayerCallbacks{}}
	outer.CreateDeferredContext(th, umddi.HDevice{}, arg)
	assert.NotNil(t, table.SetScissorRects)
	outer.CreateDeferredContext(th, umddi.HDevice{}, arg)
	assert.Nil(t, table.SetScissorRects)
}

// A leak message names the oldest object.
func TestLeakMessage(t *testing.T) {
	for n, want := range map[int]string{1: "leaves query 2", 2: "leaves query 2 and 1 other", 3: "leaves query 2 and 2 others"} {
		r := collecting(t)
		for range n {
			r.make().query()
		}
		r.funcs.DestroyDevice(r.th, r.dev)
		assert.Equal(t, want, r.m.Violations()[0].Text)
	}
}

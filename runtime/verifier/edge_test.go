package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// TestEdges runs programs at the boundary of a rule. They break the named rule
// or none.
func TestEdges(t *testing.T) {
	full := uint32(umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2)
	retired := func(r *rig, between func(d *deferredRig, l umddi.HCommandList)) {
		d := r.deferred("core")
		l := d.finish()
		r.funcs.RecycleDestroyCommandList(r.th, r.dev, l)
		between(d, l)
		d.funcs.RecycleCommandList(d.dth, d.h, l)
		d.again(l)
		d.renew()
	}
	for _, tt := range []struct {
		name, rule string
		run        func(r *rig)
	}{
		{"render targets are unbound one by one after Abandon", "", func(r *rig) {
			tex := r.make().buffer()
			v1, v2 := r.make().view(tex), r.make().view(tex)
			d := r.deferred("core")
			lt := d.open(tex)
			a, b := d.openView(v1), d.openView(v2)
			d.funcs.SetRenderTargets(d.dth, d.h, []umddi.HRenderTargetView{a, b})
			d.funcs.AbandonCommandList(d.dth, d.h)
			d.funcs.SetRenderTargets(d.dth, d.h, []umddi.HRenderTargetView{{}, b})
			d.funcs.SetRenderTargets(d.dth, d.h, []umddi.HRenderTargetView{{}, {}})
			d.funcs.DestroyRenderTargetView(d.dth, d.h, b)
			d.funcs.DestroyRenderTargetView(d.dth, d.h, a)
			d.funcs.DestroyResource(d.dth, d.h, lt)
			d.renew()
		}},
		{"a render target moves after Abandon", "context-state", func(r *rig) {
			tex := r.make().buffer()
			v1, v2 := r.make().view(tex), r.make().view(tex)
			d := r.deferred("core")
			d.open(tex)
			a, b := d.openView(v1), d.openView(v2)
			d.funcs.SetRenderTargets(d.dth, d.h, []umddi.HRenderTargetView{a, b})
			d.funcs.AbandonCommandList(d.dth, d.h)
			d.funcs.SetRenderTargets(d.dth, d.h, []umddi.HRenderTargetView{b, {}})
		}},
		{"a predicate is closed while it is bound", "abandon-bound", func(r *rig) {
			q := r.make().query()
			d := r.deferred("core")
			lq := d.openQuery(q)
			d.funcs.SetPredication(d.dth, d.h, lq, true)
			d.funcs.AbandonCommandList(d.dth, d.h)
			d.funcs.DestroyQuery(d.dth, d.h, lq)
		}},
		{"a predicate is unbound and closed", "", func(r *rig) {
			q := r.make().query()
			d := r.deferred("core")
			lq := d.openQuery(q)
			d.funcs.SetPredication(d.dth, d.h, lq, true)
			d.funcs.AbandonCommandList(d.dth, d.h)
			d.funcs.SetPredication(d.dth, d.h, umddi.HQuery{}, false)
			d.funcs.DestroyQuery(d.dth, d.h, lq)
			d.renew()
		}},
		{"a retired list is not written", "", func(r *rig) {
			retired(r, func(*deferredRig, umddi.HCommandList) { r.funcs.Flush(r.th, r.dev) })
		}},
		{"a retired list is written, and then Flush is called", "private-outside", func(r *rig) {
			retired(r, func(_ *deferredRig, l umddi.HCommandList) {
				r.funcs.Flush(r.th, r.dev)
				r.funcs.ResourceCopy(r.th, r.dev, r.make().buffer(), r.make().buffer())
				l.Private[5] ^= 0xff
				r.funcs.Flush(r.th, r.dev)
			})
		}},
		{"Flush itself writes a retired list", "", func(r *rig) {
			retired(r, func(_ *deferredRig, l umddi.HCommandList) {
				r.driver["Flush"] = func(_, _ []any) { l.Private[5] ^= 0xff }
				r.funcs.Flush(r.th, r.dev)
				delete(r.driver, "Flush")
				r.funcs.Flush(r.th, r.dev)
			})
		}},
		{"a resource that was discarded is mapped after a list that discards it too", "", func(r *rig) { nestedDiscard(r, true) }},
		{"a resource is discarded only by an executed list", "map-discard", func(r *rig) { nestedDiscard(r, false) }},
		{"the memory of a context is as large as asked for, and is recycled with it", "", func(r *rig) {
			d := r.deferred("core")
			d.h.Root.Private[0] ^= 0xff
			d.finish()
			d.funcs.DestroyDevice(d.dth, d.h)
		}},
		{"the memory of a context has another size", "size-private", func(r *rig) { contextWith(r, rigPrivate, rigPrivate-1, rigPrivate-1) }},
		{"the driver was not asked for the size of a context", "size-private", func(r *rig) { contextWith(r, -1, 0, 0) }},
		{"the memory of a context has room for more", "private-spare", func(r *rig) { contextWith(r, rigPrivate, rigPrivate, rigPrivate+1) }},
		{"a context without memory", "", func(r *rig) { contextWith(r, 0, 0, 0) }},
		{"the memory of a context moves when it is recycled", "private-moved", func(r *rig) {
			d := r.deferred("core")
			d.list()
			d.h.Root.Private = make([]byte, rigPrivate)
			d.renew()
		}},
		{"the memory of a context shrinks before it is destroyed", "private-moved", func(r *rig) {
			d := r.deferred("core")
			d.h.Root.Private = d.h.Root.Private[:1]
			d.funcs.DestroyDevice(d.dth, d.h)
		}},
		{"two creations interleave on one thread", "", func(r *rig) { interleaved(r, 16, 48) }},
		{"two creations interleave on one thread and one has a wrong size", "size-private", func(r *rig) { interleaved(r, 16, 47) }},
		{"the driver counts references in a nested list", "", func(r *rig) {
			d := r.deferred("core")
			l := d.finish()
			r.driver["CommandListExecute"] = func(_, _ []any) { l.Private[3]++ }
			ll := d.openList(l)
			d.funcs.CommandListExecute(d.dth, d.h, ll)
			delete(r.driver, "CommandListExecute")
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{Collect: true}, full)
			r.sizes()
			tt.run(r)
			var got []string
			for _, v := range r.m.Violations() {
				got = append(got, v.Rule.Name)
			}
			if tt.rule == "" {
				assert.Empty(t, got)
				return
			}
			if assert.NotEmpty(t, got) {
				assert.Equal(t, tt.rule, got[0])
			}
		})
	}
}

// contextWith creates a context whose driver asks for the given number of bytes,
// or is not asked if it is negative.
func contextWith(r *rig, asks, size, room int) {
	if asks >= 0 {
		r.driver["CalcPrivateDeferredContextSize"] = func(_, results []any) { results[0] = asks }
		r.funcs.CalcPrivateDeferredContextSize(r.th, r.dev, 0)
	}
	h := umddi.HDevice{Root: &ddi.Root{Private: make([]byte, size, room)}}
	r.funcs.CreateDeferredContext(r.th, r.dev, &umddi.CreateDeferredContext{
		Context: h, ContextFuncs: new(umddi.DeviceFuncs), UMCallbacks: new(umddi.CoreLayerCallbacks),
	})
}

// nestedDiscard may record a discard of a buffer, executes a list that discards
// it, and then maps the buffer with NO_OVERWRITE.
func nestedDiscard(r *rig, before bool) {
	b := r.make().dynamic()
	d, e := r.deferred("core"), r.deferred("core2")
	discard := func(d *deferredRig, h umddi.HResource) {
		d.funcs.DynamicIABufferMapDiscard(d.dth, d.h, h, 0, umddi.MapWriteDiscard, 0)
		d.funcs.DynamicIABufferUnmap(d.dth, d.h, h, 0)
	}
	le := e.open(b)
	discard(e, le)
	l := e.list()
	e.funcs.DestroyResource(e.dth, e.h, le)
	e.renew()
	lb := d.open(b)
	if before {
		discard(d, lb)
	}
	d.funcs.CommandListExecute(d.dth, d.h, d.openList(l))
	d.funcs.DynamicIABufferMapNoOverwrite(d.dth, d.h, lb, 0, umddi.MapWriteNoOverwrite, 0)
}

// interleaved asks for the sizes of two resources, 48 and 16 bytes, and creates
// them in reverse order with the given sizes.
func interleaved(r *rig, first, second int) {
	size := 0
	r.driver["CalcPrivateResourceSize"] = func(_, results []any) { results[0] = size }
	arg := umddi.CreateResource{}
	for _, size = range []int{48, 16} {
		r.funcs.CalcPrivateResourceSize(r.th, r.dev, &arg)
	}
	for _, n := range []int{first, second} {
		h := umddi.HResource{Object: memoryOf(n)}
		r.funcs.CreateResource(r.th, r.dev, &arg, h, umddi.HRTResource{})
		r.make().local(umddi.HandleResource, h.Object)
	}
}

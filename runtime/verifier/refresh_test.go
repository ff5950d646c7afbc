package verifier

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// State refreshes of slots: the runtime must show the requested slots,
// unchanged, and no others.
func TestRefreshedSlots(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ask   umddi.Range
		start uint32
		show  []int // resources; -1: none
		want  []string
	}{
		{"all slots in use", umddi.Range{Count: -1}, 0, []int{0, -1, 1}, nil},
		{"too few slots", umddi.Range{Count: -1}, 0, []int{0, -1}, []string{"refresh-stale"}},
		{"too many slots", umddi.Range{Count: -1}, 0, []int{0, -1, 1, -1}, nil},
		{"another resource", umddi.Range{Count: -1}, 0, []int{0, -1, 0}, []string{"refresh-stale"}},
		{"another slot", umddi.Range{Count: -1}, 1, []int{0, -1, 1}, []string{"refresh-stale"}},
		{"a range", umddi.Range{Base: 2, Count: 1}, 2, []int{1}, nil},
		{"a range without its end", umddi.Range{Base: 2, Count: 2}, 2, []int{1}, []string{"refresh-stale"}},
		{"a slot after the range", umddi.Range{Base: 1, Count: 1}, 1, []int{-1, 1}, []string{"refresh-stale"}},
		{"a slot before the range", umddi.Range{Base: 1, Count: 1}, 0, []int{0, -1}, []string{"refresh-stale"}},
		{"empty", umddi.Range{Base: 13}, 0, nil, nil},
		{"a range after the last slot", umddi.Range{Base: 14}, 0, nil, []string{"refresh-range"}},
	} {
		r := collecting(t)
		res := []umddi.HResource{r.make().buffer(), r.make().buffer()}
		r.funcs.PsSetConstantBuffers(r.th, r.dev, 0, []umddi.HResource{res[0], {}, res[1]})
		r.calls("Flush", func(th *ddi.Thread) { r.inner.UMCallbacks.StatePsConstBufCb(th, r.inner.RTCoreLayer, tt.ask) })
		r.shows("StatePsConstBufCb", func(th *ddi.Thread) {
			var bufs []umddi.HResource
			for _, i := range tt.show {
				if i < 0 {
					bufs = append(bufs, umddi.HResource{})
				} else {
					bufs = append(bufs, res[i])
				}
			}
			if bufs != nil {
				r.funcs.PsSetConstantBuffers(th, r.dev, tt.start, bufs)
			}
		})
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, tt.want, slices.Compact(r.broken()), tt.name)
	}
}

// A refresh shows the deferred state while the list is created, no state while
// handles are closed, and the remaining state after an abandonment.
func TestRefreshOfDeferredContexts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in       string // function in which the driver asks for a refresh
		show     int
		want     []string
		recycles bool
	}{
		{"the state at creation of the list", "CreateCommandList", 2, nil, false},
		{"no state at creation of the list", "CreateCommandList", 0, []string{"refresh-stale"}, false},
		{"no state at a close", "DestroyResource", 0, nil, false},
		{"the old state at a close", "DestroyResource", 2, []string{"refresh-stale"}, false},
		{"no state at destruction", "DestroyDevice", 0, nil, false},
		{"no state at recycling", "RecycleCreateDeferredContext", 0, nil, true},
		{"the old state at recycling", "RecycleCreateDeferredContext", 2, []string{"refresh-stale"}, true},
	} {
		r := collecting(t)
		d := r.deferred("d")
		local := d.open(r.make().buffer())
		d.funcs.SetScissorRects(r.dth, d.h, make([]umddi.Rect, 2))
		r.calls(tt.in, func(th *ddi.Thread) { d.inner.UMCallbacks.StateRsScissorCb(th, d.inner.RTCoreLayer) })
		r.shows("StateRsScissorCb", func(th *ddi.Thread) { d.funcs.SetScissorRects(th, d.h, make([]umddi.Rect, tt.show)) })
		d.list()
		d.funcs.DestroyResource(r.dth, d.h, local)
		if tt.recycles {
			d.renew()
		} else {
			d.funcs.DestroyDevice(r.dth, d.h)
		}
		assert.Equal(t, tt.want, r.broken(), tt.name)
	}
}

// After AbandonCommandList a refresh shows the handles that are still bound.
func TestRefreshWhileAbandoned(t *testing.T) {
	for _, shown := range []umddi.Topology{0, 7} {
		r := collecting(t)
		d := r.deferred("d")
		d.funcs.IaSetTopology(r.dth, d.h, 7)
		d.funcs.SetScissorRects(r.dth, d.h, make([]umddi.Rect, 1))
		d.funcs.AbandonCommandList(r.dth, d.h)
		r.calls("SetScissorRects", func(th *ddi.Thread) { d.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, d.inner.RTCoreLayer) })
		r.shows("StateIaPrimitiveTopologyCb", func(th *ddi.Thread) { d.funcs.IaSetTopology(th, d.h, shown) })
		d.funcs.SetScissorRects(r.dth, d.h, nil)
		assert.Equal(t, shown == 0, slices.Contains(r.broken(), "refresh-stale"), "%v", shown)
	}
}

// After an abandonment nothing is bound while handles are closed and the
// context is recycled or destroyed, not even state without handles.
func TestRefreshAfterAbandonment(t *testing.T) {
	for _, in := range []string{"DestroyResource", "DestroyDevice", "RecycleCreateDeferredContext"} {
		for _, shown := range []umddi.Topology{0, 7} {
			r := collecting(t)
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.funcs.IaSetTopology(r.dth, d.h, 7)
			d.funcs.SetViewports(r.dth, d.h, make([]umddi.Viewport, 1))
			d.funcs.AbandonCommandList(r.dth, d.h)
			r.calls(in, func(th *ddi.Thread) {
				d.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, d.inner.RTCoreLayer)
				d.inner.UMCallbacks.StateRsViewportsCb(th, d.inner.RTCoreLayer)
			})
			r.shows("StateIaPrimitiveTopologyCb", func(th *ddi.Thread) { d.funcs.IaSetTopology(th, d.h, shown) })
			d.funcs.DestroyResource(r.dth, d.h, local)
			if in == "DestroyDevice" {
				d.funcs.DestroyDevice(r.dth, d.h)
			} else {
				d.renew()
			}
			var want []string
			if shown != 0 {
				want = []string{"refresh-stale"}
			}
			assert.Equal(t, want, r.broken(), "%s, topology %d", in, shown)
		}
	}
}

// A refresh where the driver may not ask is the driver's fault alone: the
// runtime need not answer it.
func TestRefusedRefresh(t *testing.T) {
	primary := umddi.CreateResource{Primary: true}
	for _, tt := range []struct {
		name, in string
		do       func(r *rig)
		want     []string
	}{
		{"CreateResource", "CreateResource", func(r *rig) { r.make().buffer() }, []string{"refresh-place", "refresh-place"}},
		{"DestroyResource", "DestroyResource", func(r *rig) { r.funcs.DestroyResource(r.th, r.dev, r.make().buffer()) }, []string{"refresh-place", "refresh-place"}},
		{"CalcPrivateResourceSize", "CalcPrivateResourceSize", func(r *rig) { r.make().buffer() }, []string{"refresh-place", "refresh-place"}},
		{"a Check function", "CheckFormatSupport", func(r *rig) { r.funcs.CheckFormatSupport(r.th, r.dev, 0) }, []string{"refresh-place", "refresh-place"}},
		{"the creation of a context", "CreateDeferredContext", func(r *rig) { r.deferred("d") }, []string{"refresh-place", "refresh-place"}},
		{"CreateResource of a primary", "CreateResource", func(r *rig) { r.make().resource(primary) }, []string{"refresh-stale", "refresh-stale"}},
		{"DestroyResource of a primary", "DestroyResource", func(r *rig) {
			r.funcs.DestroyResource(r.th, r.dev, r.make().resource(primary))
		}, []string{"refresh-stale", "refresh-stale"}},
	} {
		r := collecting(t)
		r.funcs.IaSetTopology(r.th, r.dev, 7)
		r.funcs.PsSetConstantBuffers(r.th, r.dev, 2, []umddi.HResource{r.make().buffer()})
		r.calls(tt.in, func(th *ddi.Thread) {
			r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, r.inner.RTCoreLayer)
			r.inner.UMCallbacks.StatePsConstBufCb(th, r.inner.RTCoreLayer, umddi.Range{Count: 4})
		})
		tt.do(r)
		assert.Equal(t, tt.want, r.broken(), tt.name)
	}
}

// The creation of a device has no state to refresh.
func TestRefreshInCreateDevice(t *testing.T) {
	r := collecting(t)
	r.driver["CreateDevice"] = func(args, _ []any) {
		arg := args[0].(*umddi.CreateDevice)
		arg.UMCallbacks.StateRsScissorCb(r.th, arg.RTCoreLayer)
	}
	r.createDevice(umddi.HDevice{Root: new(ddi.Root)}, "second")
	assert.Equal(t, []string{"refresh-place"}, r.broken())
}

// A Set function in a refresh may cause another refresh, for example when the
// command buffer is full. Slots shown by the inner refresh count for the outer
// one.
func TestNestedRefresh(t *testing.T) {
	for _, tt := range []struct {
		shown umddi.Topology
		want  []string
	}{{4, nil}, {0, []string{"refresh-stale"}}} {
		r := collecting(t)
		r.funcs.IaSetTopology(r.th, r.dev, 4)
		r.calls("Flush", func(th *ddi.Thread) { r.inner.UMCallbacks.StateRsViewportsCb(th, r.inner.RTCoreLayer) })
		r.shows("StateRsViewportsCb", func(th *ddi.Thread) { r.funcs.SetViewports(th, r.dev, nil) })
		r.calls("SetViewports", func(th *ddi.Thread) { r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, r.inner.RTCoreLayer) })
		r.shows("StateIaPrimitiveTopologyCb", func(th *ddi.Thread) { r.funcs.IaSetTopology(th, r.dev, tt.shown) })
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, tt.want, r.broken())
	}
}

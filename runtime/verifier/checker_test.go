package verifier

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

func collecting(t *testing.T) *rig {
	r := newRig(t, Options{Collect: true}, native)
	r.sizes()
	return r
}

// broken returns the names of the broken rules, in order.
func (r *rig) broken() []string {
	var names []string
	for _, v := range r.k.Violations() {
		names = append(names, v.Rule.Name)
	}
	return names
}

// The complete diagram of "Supporting Command Lists": each function on a handle
// in each state, with the rule that it breaks, if any.
func TestListTransitions(t *testing.T) {
	states := []struct {
		name  string
		reach func(d *deferredRig, l umddi.HCommandList)
	}{
		{"valid", func(*deferredRig, umddi.HCommandList) {}},
		{"retired", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l) }},
		{"cached", func(d *deferredRig, l umddi.HCommandList) {
			d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l)
			d.funcs.RecycleCommandList(d.dth, d.h, l)
		}},
		{"again", func(d *deferredRig, l umddi.HCommandList) {
			d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l)
			d.funcs.RecycleCommandList(d.dth, d.h, l)
			d.again(l)
			d.renew()
		}},
		{"destroyed", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.DestroyCommandList(d.other, d.dev, l) }},
	}
	acts := []struct {
		name string
		act  func(d *deferredRig, l umddi.HCommandList)
		want [5]string
	}{
		{"CommandListExecute", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.CommandListExecute(d.th, d.dev, l) },
			[5]string{"", "list-state", "list-state", "", "handle-destroyed"}},
		{"RecycleDestroyCommandList", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l) },
			[5]string{"", "list-state", "list-state", "", "handle-destroyed"}},
		{"RecycleCommandList", func(d *deferredRig, l umddi.HCommandList) { d.funcs.RecycleCommandList(d.dth, d.h, l) },
			[5]string{"list-state", "", "list-state", "list-state", "handle-destroyed"}},
		{"RecycleCreateCommandList", func(d *deferredRig, l umddi.HCommandList) { d.again(l) },
			[5]string{"list-state", "list-state", "", "list-state", "handle-destroyed"}},
		{"DestroyCommandList", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.DestroyCommandList(d.other, d.dev, l) },
			[5]string{"", "", "", "", "handle-destroyed"}},
		{"an open", func(d *deferredRig, l umddi.HCommandList) { d.openList(l) },
			[5]string{"", "local-open", "local-open", "", "local-open"}},
	}
	for _, a := range acts {
		for i, s := range states {
			t.Run(a.name+" of one that is "+s.name, func(t *testing.T) {
				r := collecting(t)
				d := r.deferred("d")
				l := d.finish()
				s.reach(d, l)
				require.Empty(t, r.broken())
				a.act(d, l)
				var want []string
				if a.want[i] != "" {
					want = []string{a.want[i]}
				}
				assert.Equal(t, want, r.broken())
			})
		}
	}
}

// A failed RecycleCreateCommandList leaves the handle in the cache and the
// context recording.
func TestFailedRecycling(t *testing.T) {
	r := collecting(t)
	d := r.deferred("d")
	l := d.finish()
	r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
	d.funcs.RecycleCommandList(r.dth, d.h, l)
	r.driver["RecycleCreateCommandList"] = func(_, results []any) { results[0] = ddi.EOutOfMemory }
	d.again(l)
	delete(r.driver, "RecycleCreateCommandList")
	d.funcs.AbandonCommandList(r.dth, d.h)
	d.renew()
	d.again(l)
	r.funcs.DestroyCommandList(r.other, r.dev, l)
	assert.Empty(t, r.broken())
}

// The functions of a deferred context in each of its states.
func TestContextTransitions(t *testing.T) {
	states := []func(d *deferredRig){
		func(d *deferredRig) { d.funcs.IaSetTopology(d.dth, d.h, 1) },
		func(d *deferredRig) { d.list() },
		func(d *deferredRig) { d.funcs.AbandonCommandList(d.dth, d.h) },
		func(d *deferredRig) { d.list(); d.funcs.DestroyDevice(d.dth, d.h) },
	}
	for _, a := range []struct {
		name string
		act  func(d *deferredRig)
		want [4]string // recording, finished, abandoned, destroyed
	}{
		{"record", func(d *deferredRig) { d.funcs.SetViewports(d.dth, d.h, make([]umddi.Viewport, 1)) }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"unbind", func(d *deferredRig) { d.funcs.SetViewports(d.dth, d.h, nil) }, [4]string{"", "context-state", "", "handle-destroyed"}},
		{"CreateCommandList", func(d *deferredRig) { d.list() }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"AbandonCommandList", func(d *deferredRig) { d.funcs.AbandonCommandList(d.dth, d.h) }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"RecycleCreateDeferredContext", func(d *deferredRig) { d.renew() }, [4]string{"context-state", "", "", "handle-destroyed"}},
		{"DestroyDevice", func(d *deferredRig) { d.funcs.DestroyDevice(d.dth, d.h) }, [4]string{"context-state", "", "", "handle-destroyed"}},
		{"an immediate function", func(d *deferredRig) { d.rig.funcs.Flush(d.dth, d.h) }, [4]string{"handle-foreign", "handle-foreign", "handle-foreign", "handle-destroyed"}},
	} {
		for i, reach := range states {
			r := collecting(t)
			d := r.deferred("d")
			reach(d)
			require.Empty(t, r.broken())
			a.act(d)
			var first string
			if b := r.broken(); len(b) > 0 {
				first = b[0]
			}
			assert.Equal(t, a.want[i], first, "%s in state %d", a.name, i)
		}
	}
}

// The errors that each function may report, from "Handling Errors" and the
// comments of umddi.DeviceFuncs: R is D3DDDIERR_DEVICEREMOVED, M is
// E_OUTOFMEMORY, B is DXGI_DDI_ERR_WASSTILLDRAWING. The first word is for
// immediate contexts, the second for deferred ones; x means that they lack the
// function.
func TestErrorCategories(t *testing.T) {
	const table = `
CalcPrivateResourceSize - x
CreateResource RM RM
DestroyResource R R
StagingResourceMap RM x
StagingResourceUnmap R x
DynamicResourceMapDiscard RM RM
DynamicResourceUnmap R RM
DynamicIABufferMapDiscard RM RM
DynamicIABufferMapNoOverwrite RM RM
DynamicIABufferUnmap R RM
DynamicConstantBufferMapDiscard RM RM
DynamicConstantBufferUnmap R RM
ResourceIsStagingBusy R x
ResourceUpdateSubresourceUP RM RM
ResourceCopy RM RM
ResourceCopyRegion RM RM
ClearRenderTargetView RM RM
CalcPrivateRenderTargetViewSize - x
CreateRenderTargetView RM RM
DestroyRenderTargetView R R
CalcPrivateQuerySize - x
CreateQuery RM RM
DestroyQuery R R
QueryBegin R RM
QueryEnd R RM
QueryGetData RB x
SetPredication R RM
IaSetTopology R RM
IaSetVertexBuffers R RM
IaSetIndexBuffer R RM
VsSetConstantBuffers R RM
HsSetConstantBuffers R RM
DsSetConstantBuffers R RM
GsSetConstantBuffers R RM
PsSetConstantBuffers R RM
CsSetConstantBuffers R RM
SetRenderTargets R RM
SetViewports R RM
SetScissorRects R RM
CalcPrivateCommandListSize - x
CreateCommandList RM RM
RecycleCreateCommandList R x
DestroyCommandList R R
RecycleDestroyCommandList R x
RecycleCommandList - R
CommandListExecute RM RM
AbandonCommandList - R
CalcPrivateDeferredContextSize - x
CreateDeferredContext RM x
RecycleCreateDeferredContext R x
CheckDeferredContextHandleSizes - x
CalcDeferredContextHandleSize - x
Flush R x
CheckFormatSupport - x
CheckMultisampleQualityLevels - x
RelocateDeviceFuncs R R
DestroyDevice R R`
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		f := strings.Fields(line)
		s := specs["pfn"+f[0]]
		require.NotNil(t, s, f[0])
		seen++
		letters := func(r results) string {
			out := ""
			for i, l := range []string{"R", "M", "B"} {
				if r&(1<<i) != 0 {
					out += l
				}
			}
			if out == "" {
				out = "-"
			}
			return out
		}
		assert.Equal(t, f[1], letters(s.immediate), f[0])
		deferred := letters(s.deferred)
		if s.excluded {
			deferred = "x"
		}
		assert.Equal(t, f[2], deferred, f[0])
	}
	n := 0
	entries(new(umddi.DeviceFuncs), func(string, reflect.Value) { n++ })
	assert.Equal(t, n, seen, "every entry of the table")
	assert.Len(t, specs, n+1, "and Present")
}

// Only a map with DO_NOT_WAIT may report DXGI_DDI_ERR_WASSTILLDRAWING.
func TestBusyMap(t *testing.T) {
	for _, tt := range []struct {
		flags umddi.MapFlags
		want  []string
	}{{umddi.MapDoNotWait, nil}, {0, []string{"error-status"}}} {
		r := collecting(t)
		res := r.make().resource(umddi.CreateResource{Usage: umddi.UsageStaging})
		r.reports("StagingResourceMap", "device", ddi.DDIStillDrawing)
		r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, tt.flags)
		assert.Equal(t, tt.want, r.broken())
	}
}

// A Checker stops at the first violation and reports the function, the stack
// and the calls before it. After that it accepts everything.
func TestStops(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.reports("Flush", "device", ddi.OK)
	var got *Violation
	func() {
		defer func() { got, _ = recover().(*Violation) }()
		r.funcs.Flush(r.th, r.dev)
	}()
	require.NotNil(t, got)
	assert.EqualError(t, got, "verifier: error-success (driver): pfnFlush: reports S_OK")
	assert.Equal(t, []string{"pfnFlush", "pfnSetErrorCb"}, got.Stack)
	assert.Equal(t, []string{
		"#1 thread 1:1 OpenAdapter10_2", "#2 thread 1:1 pfnGetCaps", "#3 thread 1:1 pfnCreateDevice",
		"#4 thread 1:1 pfnFlush on context 1", "#5 thread 1:1   pfnSetErrorCb on context 1",
	}, got.Calls)
	assert.Equal(t, `verifier: error-success (driver): pfnFlush: reports S_OK
  rule    Success is not reported.
  source  Handling Errors
  stack   pfnFlush > pfnSetErrorCb
  calls   #1 thread 1:1 OpenAdapter10_2
          #2 thread 1:1 pfnGetCaps
          #3 thread 1:1 pfnCreateDevice
          #4 thread 1:1 pfnFlush on context 1
          #5 thread 1:1   pfnSetErrorCb on context 1
`, got.Report())
	assert.NotPanics(t, func() { r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{}) })
	assert.Len(t, r.k.Violations(), 1)
}

// A violation shows only the last calls.
func TestLastCalls(t *testing.T) {
	r := collecting(t)
	for range 100 {
		r.funcs.Flush(r.th, r.dev)
	}
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	calls := r.k.Violations()[0].Calls
	assert.Len(t, calls, maxCalls)
	assert.Equal(t, "#106 thread 1:1 pfnDestroyResource on context 1", calls[maxCalls-1])
	assert.Equal(t, "#105 thread 1:1 pfnFlush on context 1", calls[maxCalls-2])
}

func TestWaiver(t *testing.T) {
	_, err := New(Options{Waive: []string{"no-such"}})
	assert.ErrorIs(t, err, rule.ErrName)
	r := newRig(t, Options{Waive: []string{"error-success"}}, native)
	r.reports("Flush", "device", ddi.OK, ddi.OK)
	r.funcs.Flush(r.th, r.dev)
	assert.Empty(t, r.broken())
	assert.Equal(t, []Finding{{Rule: "error-success", Waived: true, Count: 2, First: "pfnFlush: reports S_OK"}}, r.k.Findings())
	assert.Panics(t, func() { r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{}) }, "another rule stops")
}

// A call that the Checker stops has no return line in the Trace.
func TestHooks(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	k, err := New(Options{})
	require.NoError(t, err)
	th, f := new(ddi.Thread), &Func{Name: "pfnFlush"}
	h := Hooks(tr, k)
	th.Push(f.Name)
	assert.Panics(t, func() { h.Enter(th, f, umddi.HDevice{}) })
	require.NoError(t, tr.Err())
	got := events(t, &b)
	require.Len(t, got, 1, "a stopped call has no return line")
	assert.Equal(t, "enter", got[0].At)

	var order []string
	Hooks(noted{"a", &order}, noted{"b", &order}).Leave(th, f)
	assert.Equal(t, []string{"b", "a"}, order)
}

type noted struct {
	name  string
	order *[]string
}

func (n noted) Enter(*ddi.Thread, *Func, ...any) { *n.order = append(*n.order, n.name) }
func (n noted) Leave(*ddi.Thread, *Func, ...any) { *n.order = append(*n.order, n.name) }

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

// Calls of two threads on one deferred context overlap, whatever the functions.
func TestOverlapOnDeferredContexts(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(d *deferredRig, l umddi.HCommandList)
	}{
		{"RecycleCommandList on another thread", func(d *deferredRig, l umddi.HCommandList) { d.funcs.RecycleCommandList(d.other, d.h, l) }},
		{"CreateCommandList on another thread", func(d *deferredRig, _ umddi.HCommandList) {
			d.dth = d.other
			d.list()
		}},
		{"an open on another thread", func(d *deferredRig, _ umddi.HCommandList) {
			d.dth = d.other
			d.open(d.make().buffer())
		}},
	} {
		r := collecting(t)
		d := r.deferred("d")
		l := d.finish()
		r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
		r.calls("IaSetTopology", func(*ddi.Thread) { tt.act(d, l) })
		d.funcs.IaSetTopology(r.dth, d.h, 1)
		assert.Contains(t, r.broken(), "context-overlap", tt.name)
	}
}

// A primary needs the immediate context's thread; other resources may use any.
func TestPrimaryIsNotFreeThreaded(t *testing.T) {
	for _, primary := range []bool{false, true} {
		r := collecting(t)
		r.calls("Flush", func(*ddi.Thread) { maker{r, r.other}.resource(umddi.CreateResource{Primary: primary}) })
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, primary, slices.Contains(r.broken(), "context-overlap"))
	}
}

// A call that unwinds has ended for later calls on its thread.
func TestUnwoundCallIsOver(t *testing.T) {
	r := collecting(t)
	r.calls("IaSetTopology", func(th *ddi.Thread) {
		r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, r.inner.RTCoreLayer)
	})
	r.shows("StateIaPrimitiveTopologyCb", func(*ddi.Thread) { panic("bugcheck") })
	assert.Panics(t, func() { r.funcs.IaSetTopology(r.th, r.dev, 0) })
	r.k.leave(r.th, r.k.threads[r.th].frames[0].f, nil)
	assert.Nil(t, r.k.contexts[r.dev.Root].owner)
	assert.Empty(t, r.k.threads[r.th].frames)
}

// Handles of another device or another context are foreign.
func TestForeignHandles(t *testing.T) {
	r := collecting(t)
	second := *r
	second.dev = umddi.HDevice{Root: new(ddi.Root)}
	second.arg = second.createDevice(second.dev, "second")
	second.funcs = second.arg.DeviceFuncs
	mine, theirs := r.make().buffer(), second.make().buffer()
	require.Empty(t, r.broken())
	d, e := r.deferred("d"), r.deferred("e")
	local := d.open(mine)
	for i, act := range []func(){
		func() { r.funcs.ResourceCopy(r.th, r.dev, mine, theirs) },
		func() { r.funcs.ResourceCopy(r.th, r.dev, mine, local) },
		func() { e.funcs.IaSetIndexBuffer(r.dth, e.h, local, 0, 0) },
		func() { d.funcs.IaSetIndexBuffer(r.dth, d.h, mine, 0, 0) },
	} {
		act()
		assert.Equal(t, i+1, len(r.broken()), "%d", i)
		assert.Equal(t, "handle-foreign", r.broken()[i])
	}
}

// With several threads, private memory is read only while no function uses it.
func TestThreads(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.sizes()
	res := r.make().buffer()
	var mu sync.Mutex
	r.driver["ResourceCopy"] = func([]any, []any) {
		mu.Lock()
		res.Private[0]++
		mu.Unlock()
	}
	var ds []*deferredRig
	for i := range 4 {
		d := r.deferred(fmt.Sprint("d", i))
		d.rig = &rig{t: r.t, k: r.k, th: r.th, dth: &ddi.Thread{Process: 1, ID: uint32(10 + i)}, other: r.other, dev: r.dev, funcs: r.funcs}
		ds = append(ds, d)
	}
	var wg sync.WaitGroup
	for _, d := range ds {
		wg.Go(func() {
			for range 50 {
				local := d.open(res)
				d.funcs.IaSetIndexBuffer(d.dth, d.h, local, 0, 0)
				l := d.list()
				d.funcs.DestroyResource(d.dth, d.h, local)
				d.renew()
				r.funcs.RecycleDestroyCommandList(d.dth, r.dev, l)
				d.funcs.RecycleCommandList(d.dth, d.h, l)
				r.funcs.DestroyCommandList(d.dth, r.dev, l)
			}
		})
	}
	for range 50 {
		r.funcs.ResourceCopy(r.th, r.dev, res, res)
	}
	wg.Wait()
	for _, d := range ds {
		d.funcs.DestroyDevice(d.dth, d.h)
	}
	r.funcs.DestroyResource(r.th, r.dev, res)
	r.funcs.DestroyDevice(r.th, r.dev)
	assert.Empty(t, r.broken())
	assert.LessOrEqual(t, len(r.k.objects), maxDestroyedObjects+1)
}

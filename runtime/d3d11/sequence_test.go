package d3d11

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nativeBench is a bench whose driver has command lists and predication.
func nativeBench(t *testing.T, change ...func(*fakeDriver, *Config)) *bench {
	t.Helper()
	return newBench(t, append([]func(*fakeDriver, *Config){natively, predicated}, change...)...)
}

func predicated(f *fakeDriver, _ *Config) { f.predicated = true }

// calls returns what has been called since the last time, in words.
func (b *bench) calls() string {
	b.drv.mu.Lock()
	defer b.drv.mu.Unlock()
	s := strings.Join(b.drv.native.calls, " ")
	b.drv.native.calls = nil
	return s
}

func (b *bench) predicate() *Query {
	b.Helper()
	q, err := b.dev.CreatePredicate(&QueryDesc{Query: QueryOcclusionPredicate})
	require.NoError(b, err)
	return q
}

// TestSequences holds the calls against "Supporting Command Lists".
func TestSequences(t *testing.T) {
	b := nativeBench(t)
	x, y, dyn := b.constant(), b.constant(), b.dynamic(BindVertexBuffer)
	tex := b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm)
	view, query := b.view(tex), b.predicate()
	dc := b.deferred()
	var list, second *CommandList
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a context is made", func() {}, "CreateDeferredContext"},
		{"the first use opens", func() { dc.CopyResource(x, y) }, "OpenResource OpenResource ResourceCopy"},
		{"the second does not", func() { dc.CopyResource(y, x) }, "ResourceCopy"},
		{"the first list has a handle made", func() { list = b.finish(dc, false) },
			"CalcPrivateCommandListSize CreateCommandList CalcDeferredContextHandleSize CloseResource CloseResource RecycleCreateDeferredContext"},
		{"a list is released", func() { list.Release() }, "RecycleDestroyCommandList"},
		{"its handle is used again", func() { dc.CopyResource(x, y); list = b.finish(dc, false) },
			"OpenResource OpenResource ResourceCopy RecycleCommandList RecycleCreateCommandList CloseResource CloseResource RecycleCreateDeferredContext"},
		{"a second list at a time needs a second", func() { second = b.finish(dc, false) },
			"CalcPrivateCommandListSize CreateCommandList CalcDeferredContextHandleSize RecycleCreateDeferredContext"},
		{"two are released", func() { list.Release(); second.Release() }, "RecycleDestroyCommandList RecycleDestroyCommandList"},
		{"both go back at the next end of a list", func() { list = b.finish(dc, false) },
			"RecycleCommandList RecycleCommandList RecycleCreateCommandList RecycleCreateDeferredContext"},
		{"a view opens its resource", func() { dc.ClearRenderTargetView(view, [4]float32{}) },
			"OpenResource OpenView ClearRenderTargetView"},
		{"closes are in the opposite order", func() { second = b.finish(dc, false); second.Release() },
			"RecycleCreateCommandList CloseView CloseResource RecycleCreateDeferredContext RecycleDestroyCommandList"},
		{"queries end and maps too", func() {
			dc.Begin(query)
			require.NoError(t, dc.Map(dyn, 0, MapWriteDiscard, 0, new(MappedSubresource)))
			second = b.finish(dc, false)
			second.Release()
		}, "OpenQuery QueryBegin OpenResource DynamicIABufferMapDiscard QueryEnd DynamicIABufferUnmap RecycleCommandList " +
			"RecycleCreateCommandList CloseResource CloseQuery RecycleCreateDeferredContext RecycleDestroyCommandList"},
		{"kept state is set again", func() {
			dc.IASetPrimitiveTopology(TopologyLineList)
			dc.VSSetConstantBuffers(1, []*Buffer{x})
			second = b.finish(dc, true)
		}, "IaSetTopology OpenResource VsSetConstantBuffers RecycleCommandList RecycleCreateCommandList CloseResource " +
			"RecycleCreateDeferredContext IaSetTopology OpenResource VsSetConstantBuffers"},
		{"a nested list opens its handle", func() { dc.ExecuteCommandList(list, true) },
			"OpenList CommandListExecute IaSetTopology VsSetConstantBuffers"},
		{"and not twice", func() { dc.ExecuteCommandList(list, false) }, "CommandListExecute"},
		{"an inner list lives as long as the outer one", func() {
			list.Release()
			list = second
			second = b.finish(dc, false)
			list.Release()
		}, "CalcPrivateCommandListSize CreateCommandList CalcDeferredContextHandleSize CloseList CloseResource " +
			"RecycleCreateDeferredContext RecycleDestroyCommandList"},
		{"both end with it", func() { second.Release() }, "RecycleDestroyCommandList RecycleDestroyCommandList"},
		{"a context that is released abandons, unbinds, closes and destroys", func() {
			dc.IASetPrimitiveTopology(TopologyLineList)
			dc.VSSetConstantBuffers(1, []*Buffer{x, y})
			dc.PSSetConstantBuffers(0, []*Buffer{x})
			dc.IASetVertexBuffers(2, []*Buffer{dyn}, []uint32{4}, []uint32{0})
			dc.OMSetRenderTargets([]*RenderTargetView{view})
			dc.SetPredication(query, true)
			b.calls()
			dc.Release()
		}, "AbandonCommandList IaSetVertexBuffers VsSetConstantBuffers VsSetConstantBuffers PsSetConstantBuffers SetRenderTargets " +
			"SetPredication CloseQuery CloseView CloseResource CloseResource CloseResource CloseResource " +
			"DestroyCommandList DestroyCommandList DestroyCommandList DestroyDevice"},
	} {
		step.do()
		require.Equal(t, step.want, b.calls(), step.name)
	}
}

func TestUnusedContextIsNotAbandoned(t *testing.T) {
	b := nativeBench(t)
	dc := b.deferred()
	b.finish(dc, false).Release()
	b.calls()
	dc.Release()
	assert.Equal(t, "DestroyCommandList DestroyDevice", b.calls())
}

// TestListOutlivesItsContext: without a context a handle is destroyed, and not
// retired.
func TestListOutlivesItsContext(t *testing.T) {
	b := nativeBench(t)
	x, y := b.constant(), b.staging(CPUAccessWrite)
	dc := b.deferred()
	dc.CopyResource(x, y)
	l := b.finish(dc, false)
	dc.Release()
	y.Release()
	b.calls()
	b.ctx.ExecuteCommandList(l, false)
	assert.Equal(t, "CommandListExecute", b.calls())
	assert.Equal(t, 1, b.drv.count("ResourceCopy"))
	assert.Zero(t, b.drv.count("DestroyResource"))
	l.Release()
	assert.Equal(t, "DestroyCommandList", b.calls())
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
	assert.Zero(t, l.Release())
	assert.Zero(t, l.AddRef())
	b.ctx.ExecuteCommandList(l, false)
	assert.Empty(t, b.calls(), "stale")
}

// TestStaleListIsNoAlias: what is behind a released list is another list's, but
// not reached through the old one.
func TestStaleListIsNoAlias(t *testing.T) {
	for name, change := range map[string]func(*fakeDriver, *Config){"native": natively, "emulated": predicated} {
		b := newBench(t, change)
		x, y, dc := b.constant(), b.constant(), b.deferred()
		stale := b.finish(dc, false)
		stale.Release()
		dc.CopyResource(x, y)
		fresh := b.finish(dc, false)
		require.Same(t, stale.body, fresh.body, name)
		b.ctx.ExecuteCommandList(stale, false)
		dc.ExecuteCommandList(stale, false)
		assert.Zero(t, stale.Release())
		assert.Zero(t, b.drv.count("ResourceCopy"), name)
		b.ctx.ExecuteCommandList(fresh, false)
		assert.Equal(t, 1, b.drv.count("ResourceCopy"), name)
		assert.EqualValues(t, 2, fresh.AddRef())
		assert.EqualValues(t, 1, fresh.Release())
		assert.Zero(t, fresh.Release())
	}
}

// TestSteadyState: after the first lists nothing is made, sized or destroyed.
func TestSteadyState(t *testing.T) {
	b := nativeBench(t)
	x, y, dc := b.constant(), b.constant(), b.deferred()
	alive := make([]*CommandList, 3)
	for i := range 30 {
		if alive[i%3] != nil {
			alive[i%3].Release()
		}
		dc.CopyResource(x, y)
		alive[i%3] = b.finish(dc, false)
		b.ctx.ExecuteCommandList(alive[i%3], true)
	}
	calls := b.drv.native.calls
	count := func(name string) int {
		n := 0
		for _, c := range calls {
			if c == name {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 3, count("CreateCommandList"))
	assert.Equal(t, 3, count("CalcPrivateCommandListSize"))
	assert.Equal(t, 3, count("CalcDeferredContextHandleSize"))
	assert.Equal(t, 27, count("RecycleCreateCommandList"))
	assert.Equal(t, 27, count("RecycleCommandList"))
	assert.Zero(t, count("DestroyCommandList"))
}

// TestSharedObjectsOutliveTheirContexts releases an object in each order with a
// context and a list that use it.
func TestSharedObjectsOutliveTheirContexts(t *testing.T) {
	for _, order := range []string{"olc", "ocl", "loc", "lco", "col", "clo"} {
		b := nativeBench(t)
		x, y, dc := b.constant(), b.constant(), b.deferred()
		dc.CopyResource(x, y)
		b.finish(dc, false).Release()
		dc.CopyResource(x, y)
		l := b.finish(dc, false)
		for i, what := range order {
			switch what {
			case 'o':
				y.Release()
			case 'l':
				l.Release()
			case 'c':
				dc.Release()
			}
			last := max(strings.IndexByte(order, 'o'), strings.IndexByte(order, 'l'))
			want := 0
			if i >= last {
				want = 1
			}
			assert.Equal(t, want, b.drv.count("DestroyResource"), "%s after %d", order, i)
		}
		assert.Nil(t, x.pins, "%s: nothing is left of the context", order)
	}
}

// shownIn has the fake driver refresh all of its state in a function, and
// returns what is shown each time.
func (b *bench) shownIn(function string) *[]fakeShown {
	seen := new([]fakeShown)
	inside := false
	b.drv.native.recall = func(c *fakeContext, th *ddi.Thread, name string) {
		if name != function || inside {
			return
		}
		inside = true
		defer func() { inside = false }()
		core, funcs, dev := b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device
		if c != nil {
			core, funcs, dev = c.arg.RTCoreLayer, c.arg.ContextFuncs, c.arg.Context
		}
		*seen = append(*seen, shown(th, b.drv.arg.UMCallbacks, core, funcs, dev))
	}
	return seen
}

// fakeShown is what a refresh has shown.
type fakeShown struct {
	Topology  umddi.Topology
	Vertex    int // slots
	Index     bool
	VS, CS    []bool
	Targets   int
	Viewports int
	Scissors  int
}

// shown refreshes state with functions in the table that look at it.
func shown(t *ddi.Thread, cb *umddi.CoreLayerCallbacks, core umddi.HRTCoreLayer, f *umddi.DeviceFuncs, dev umddi.HDevice) fakeShown {
	kept := *f
	defer func() { *f = kept }()
	var s fakeShown
	bound := func(to *[]bool) func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource) {
		return func(_ *ddi.Thread, _ umddi.HDevice, start uint32, bufs []umddi.HResource) {
			for _, b := range bufs {
				*to = append(*to, b.Object != nil)
			}
		}
	}
	f.IaSetTopology = func(_ *ddi.Thread, _ umddi.HDevice, v umddi.Topology) { s.Topology = v }
	f.IaSetVertexBuffers = func(_ *ddi.Thread, _ umddi.HDevice, start uint32, bufs []umddi.HResource, _, _ []uint32) {
		s.Vertex = len(bufs)
	}
	f.IaSetIndexBuffer = func(_ *ddi.Thread, _ umddi.HDevice, b umddi.HResource, _ dxgi.Format, _ uint32) {
		s.Index = b.Object != nil
	}
	f.VsSetConstantBuffers, f.CsSetConstantBuffers = bound(&s.VS), bound(&s.CS)
	f.SetRenderTargets = func(_ *ddi.Thread, _ umddi.HDevice, views []umddi.HRenderTargetView) {
		for _, v := range views {
			if v.Object != nil {
				s.Targets++
			}
		}
	}
	f.SetViewports = func(_ *ddi.Thread, _ umddi.HDevice, v []umddi.Viewport) { s.Viewports = len(v) }
	f.SetScissorRects = func(_ *ddi.Thread, _ umddi.HDevice, r []umddi.Rect) { s.Scissors = len(r) }
	cb.PerformAmortizedProcessingCb(t, core)
	cb.StateIaPrimitiveTopologyCb(t, core)
	cb.StateIaVertexBufCb(t, core, umddi.Range{Count: -1})
	cb.StateIaIndexBufCb(t, core)
	cb.StateVsConstBufCb(t, core, umddi.Range{Count: -1})
	cb.StateCsConstBufCb(t, core, umddi.Range{Base: 1, Count: 2})
	cb.StateOmRenderTargetsCb(t, core)
	cb.StateRsViewportsCb(t, core)
	cb.StateRsScissorCb(t, core)
	return s
}

// TestRefresh holds what a refresh shows against the table of "Supporting
// Command Lists".
func TestRefresh(t *testing.T) {
	none := fakeShown{CS: []bool{false, false}}
	full := fakeShown{Topology: TopologyLineList, Vertex: 3, Index: true, VS: []bool{false, true}, CS: []bool{true, false},
		Targets: 1, Viewports: 1, Scissors: 2}
	without := func(change func(*fakeShown)) fakeShown {
		s := full
		change(&s)
		return s
	}
	for _, tt := range []struct {
		in      string
		restore bool
		want    []fakeShown
	}{
		{"CreateCommandList", false, []fakeShown{full}},
		{"RecycleCreateCommandList", true, []fakeShown{full}},
		{"CloseView", true, []fakeShown{none}},
		{"RecycleCreateDeferredContext", true, []fakeShown{none, none}},
		{"ResourceCopy", true, []fakeShown{full}},
		{"CommandListExecute", true, []fakeShown{full}},
		{"AbandonCommandList", false, []fakeShown{full}},
		{"SetRenderTargets", false, []fakeShown{full, without(func(s *fakeShown) {
			s.Vertex, s.Index, s.VS, s.CS, s.Targets = 0, false, nil, []bool{false, false}, 0
		})}},
	} {
		t.Run(tt.in, func(t *testing.T) {
			b := nativeBench(t)
			dc, empty := b.deferred(), b.deferred()
			inner := b.finish(empty, false)
			x, vb := b.constant(), b.buffer(UsageDefault, BindVertexBuffer|BindIndexBuffer, 0)
			v := b.view(b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm))
			if tt.in == "RecycleCreateCommandList" || tt.in == "RecycleCreateDeferredContext" {
				b.finish(dc, false).Release()
			}
			seen := b.shownIn(tt.in)
			dc.IASetPrimitiveTopology(TopologyLineList)
			dc.IASetVertexBuffers(2, []*Buffer{vb}, []uint32{4}, []uint32{0})
			dc.IASetIndexBuffer(vb, FormatR16UInt, 2)
			dc.VSSetConstantBuffers(1, []*Buffer{x})
			dc.CSSetConstantBuffers(1, []*Buffer{x})
			dc.RSSetViewports([]Viewport{{Width: 1}})
			dc.RSSetScissorRects(make([]Rect, 2))
			dc.OMSetRenderTargets([]*RenderTargetView{v})
			switch tt.in {
			case "ResourceCopy":
				dc.CopyResource(x, b.constant())
			case "CommandListExecute":
				dc.ExecuteCommandList(inner, true)
			case "AbandonCommandList", "SetRenderTargets":
				dc.Release()
			default:
				b.finish(dc, tt.restore)
				b.finish(dc, false)
			}
			b.drv.native.recall = nil
			assert.Equal(t, tt.want, (*seen)[:min(len(tt.want), len(*seen))])
			assert.NoError(t, b.dev.GetDeviceRemovedReason())
		})
	}
}

// TestRefreshAfterExecute: the function after an execution sees nothing, and
// each one after it what has been set again.
func TestRefreshAfterExecute(t *testing.T) {
	for _, immediate := range []bool{false, true} {
		b := nativeBench(t)
		c := b.deferred()
		inner := b.finish(c, false)
		if immediate {
			c = b.ctx
		}
		var seen []umddi.Topology
		var counts []int
		look := func(th *ddi.Thread, core umddi.HRTCoreLayer, f *umddi.DeviceFuncs, dev umddi.HDevice, name string) {
			if name == "CommandListExecute" || name == "IaSetTopology" || name == "SetViewports" {
				s := shown(th, b.drv.arg.UMCallbacks, core, f, dev)
				seen, counts = append(seen, s.Topology), append(counts, s.Viewports)
			}
		}
		c.IASetPrimitiveTopology(TopologyLineList)
		c.RSSetViewports([]Viewport{{Width: 1}})
		b.drv.native.recall = func(dc *fakeContext, th *ddi.Thread, name string) {
			if dc != nil {
				look(th, dc.arg.RTCoreLayer, dc.arg.ContextFuncs, dc.arg.Context, name)
			} else {
				look(th, b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device, name)
			}
		}
		b.drv.hook = func(th *ddi.Thread, name string) {
			look(th, b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device, name)
		}
		c.ExecuteCommandList(inner, true)
		b.drv.native.recall, b.drv.hook = nil, nil
		assert.Equal(t, []umddi.Topology{TopologyLineList, TopologyLineList, TopologyLineList}, seen)
		assert.Equal(t, []int{1, 0, 1}, counts, "immediate %v", immediate)
	}
}

// TestRefreshWhereItMayNot: a refresh outside a function of the context, and of
// slots that do not exist, removes the device.
func TestRefreshWhereItMayNot(t *testing.T) {
	for name, do := range map[string]func(b *bench, dc *Context){
		"between functions": func(b *bench, dc *Context) {
			b.drv.arg.UMCallbacks.StateRsScissorCb(&b.ctx.call.thread, b.drv.arg.RTCoreLayer)
		},
		"in a free-threaded function": func(b *bench, dc *Context) {
			b.drv.hook = func(th *ddi.Thread, n string) {
				if n == "CreateResource" {
					b.drv.arg.UMCallbacks.StateRsScissorCb(th, b.drv.arg.RTCoreLayer)
				}
			}
			b.dev.CreateBuffer(BufferDesc{ByteWidth: 16}, nil)
			b.drv.hook = nil
		},
		"of another context": func(b *bench, dc *Context) {
			b.drv.hook = func(th *ddi.Thread, n string) {
				b.drv.arg.UMCallbacks.StateRsScissorCb(th, umddi.HRTCoreLayer{Runtime: dc})
			}
			b.ctx.Flush()
			b.drv.hook = nil
		},
		"amortized processing between functions": func(b *bench, dc *Context) {
			b.drv.arg.UMCallbacks.PerformAmortizedProcessingCb(&b.ctx.call.thread, b.drv.arg.RTCoreLayer)
		},
		"beyond the slots": func(b *bench, dc *Context) {
			b.drv.hook = func(th *ddi.Thread, n string) {
				b.drv.arg.UMCallbacks.StateHsConstBufCb(th, b.drv.arg.RTCoreLayer, umddi.Range{Base: 13, Count: 2})
			}
			b.ctx.Flush()
			b.drv.hook = nil
		},
		"a negative count": func(b *bench, dc *Context) {
			b.drv.hook = func(th *ddi.Thread, n string) {
				b.drv.arg.UMCallbacks.StateHsConstBufCb(th, b.drv.arg.RTCoreLayer, umddi.Range{Count: -2})
			}
			b.ctx.Flush()
			b.drv.hook = nil
		},
	} {
		b := nativeBench(t)
		do(b, b.deferred())
		check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason(), name)
	}
}

// TestRefreshOnASerializedDevice: there the functions of the device share the
// immediate context's thread, but may not refresh its state.
func TestRefreshOnASerializedDevice(t *testing.T) {
	for name, do := range map[string]func(b *bench){
		"CreateResource":                func(b *bench) { b.dev.CreateBuffer(BufferDesc{ByteWidth: 16}, nil) },
		"CheckMultisampleQualityLevels": func(b *bench) { b.dev.CheckMultisampleQualityLevels(dxgi.R8G8B8A8UNorm, 1) },
		"Flush":                         func(b *bench) { b.ctx.Flush() },
	} {
		b := newBench(t, func(f *fakeDriver, _ *Config) { f.caps = 0 })
		b.drv.hook = func(th *ddi.Thread, n string) {
			if n == name {
				b.drv.arg.UMCallbacks.StateRsScissorCb(th, b.drv.arg.RTCoreLayer)
			}
		}
		do(b)
		b.drv.hook = nil
		want := ddi.DXGIInternalError
		if name == "Flush" {
			want = ddi.OK
		}
		check(t, want, b.dev.GetDeviceRemovedReason(), name)
	}
}

// TestDeviceWithoutEntries: a driver that reports command lists has all of them.
func TestDeviceWithoutEntries(t *testing.T) {
	for name, strip := range map[string]func(*umddi.DeviceFuncs){
		"CalcPrivateCommandListSize":      func(f *umddi.DeviceFuncs) { f.CalcPrivateCommandListSize = nil },
		"CreateCommandList":               func(f *umddi.DeviceFuncs) { f.CreateCommandList = nil },
		"RecycleCreateCommandList":        func(f *umddi.DeviceFuncs) { f.RecycleCreateCommandList = nil },
		"DestroyCommandList":              func(f *umddi.DeviceFuncs) { f.DestroyCommandList = nil },
		"RecycleDestroyCommandList":       func(f *umddi.DeviceFuncs) { f.RecycleDestroyCommandList = nil },
		"CommandListExecute":              func(f *umddi.DeviceFuncs) { f.CommandListExecute = nil },
		"CalcPrivateDeferredContextSize":  func(f *umddi.DeviceFuncs) { f.CalcPrivateDeferredContextSize = nil },
		"CreateDeferredContext":           func(f *umddi.DeviceFuncs) { f.CreateDeferredContext = nil },
		"RecycleCreateDeferredContext":    func(f *umddi.DeviceFuncs) { f.RecycleCreateDeferredContext = nil },
		"CheckDeferredContextHandleSizes": func(f *umddi.DeviceFuncs) { f.CheckDeferredContextHandleSizes = nil },
		"CalcDeferredContextHandleSize":   func(f *umddi.DeviceFuncs) { f.CalcDeferredContextHandleSize = nil },
		"sizes that vary": func(f *umddi.DeviceFuncs) {
			n := 3
			f.CheckDeferredContextHandleSizes = func(*ddi.Thread, umddi.HDevice, []umddi.HandleSize) int { n++; return n }
		},
		"sizes that are none": func(f *umddi.DeviceFuncs) {
			f.CheckDeferredContextHandleSizes = func(_ *ddi.Thread, _ umddi.HDevice, s []umddi.HandleSize) int {
				copy(s, []umddi.HandleSize{{Size: -1}})
				return 1
			}
		},
	} {
		drv, kern := newFakeDriver(), &fakeKernel{}
		natively(drv, nil)
		drv.strip = strip
		_, _, err := CreateDevice(Config{Driver: drv.openAdapter, Kernel: kern.thunks()})
		check(t, ddi.DXGIInternalError, err, name)
		assert.Zero(t, drv.open, name)
	}
}

func TestContextWithoutEntries(t *testing.T) {
	for name, tamper := range map[string]func(*umddi.DeviceFuncs){
		"RecycleCommandList": func(f *umddi.DeviceFuncs) { f.RecycleCommandList = nil },
		"ResourceCopy":       func(f *umddi.DeviceFuncs) { f.ResourceCopy = nil },
		"SetPredication":     func(f *umddi.DeviceFuncs) { f.SetPredication = nil },
		"DestroyDevice":      func(f *umddi.DeviceFuncs) { f.DestroyDevice = nil },
	} {
		b := nativeBench(t)
		b.drv.native.tamper = tamper
		_, err := b.dev.CreateDeferredContext(0)
		check(t, ddi.DXGIDeviceRemoved, err, name)
		check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason(), name)
		if name == "DestroyDevice" {
			clear(b.drv.native.contexts)
		}
	}
}

// TestLocalSizes: a size of a local handle that was not announced removes the
// device and leaves no object.
func TestLocalSizes(t *testing.T) {
	for _, typ := range []umddi.HandleType{umddi.HandleResource, umddi.HandleRenderTargetView, umddi.HandleQuery, umddi.HandleCommandList} {
		b := nativeBench(t)
		tex := b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm)
		dc := b.deferred()
		b.dev.funcs.CalcDeferredContextHandleSize = func(*ddi.Thread, umddi.HDevice, umddi.HandleType, *ddi.Object) int { return 17 }
		var err error
		switch typ {
		case umddi.HandleResource:
			_, err = b.dev.CreateBuffer(BufferDesc{ByteWidth: 16}, nil)
		case umddi.HandleRenderTargetView:
			_, err = b.dev.CreateRenderTargetView(tex, nil)
		case umddi.HandleQuery:
			_, err = b.dev.CreateQuery(&QueryDesc{})
		case umddi.HandleCommandList:
			_, err = dc.FinishCommandList(false)
		}
		check(t, ddi.DXGIDeviceRemoved, err, fmt.Sprint(typ))
		check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
	}
}

// TestEmulationWithoutFreeThreads: command lists need a free-threaded driver.
func TestEmulationWithoutFreeThreads(t *testing.T) {
	for _, caps := range []uint32{0, umddi.CapsFreeThreaded, umddi.CapsCommandListsBuild2, umddi.CapsFreeThreaded | umddi.CapsCommandLists} {
		b := newBench(t, natively, func(f *fakeDriver, _ *Config) { f.caps = caps })
		b.finish(b.deferred(), false).Release()
		assert.Empty(t, b.drv.native.calls, "caps %#x", caps)
	}
	assert.True(t, slices.Contains(nativeBenchCalls(t), "CreateDeferredContext"))
}

func nativeBenchCalls(t *testing.T) []string {
	b := nativeBench(t)
	b.deferred()
	return b.drv.native.calls
}

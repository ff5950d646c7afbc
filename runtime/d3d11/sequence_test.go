package d3d11

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nativeBench is a bench whose driver supports command lists and predication.
func nativeBench(t *testing.T, change ...func(*fakeDriver, *Config)) *bench {
	t.Helper()
	return newBench(t, append([]func(*fakeDriver, *Config){natively, predicated}, change...)...)
}

func predicated(f *fakeDriver, _ *Config) { f.predicated = true }

// calls returns the calls since the last time, separated by spaces.
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

// TestSequences compares the calls with "Supporting Command Lists".
func TestSequences(t *testing.T) {
	b := nativeBench(t)
	x, y, dyn := b.constant(), b.constant(), b.dynamic(BindVertexBuffer)
	tex := b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm)
	view, last, query := b.view(tex), b.view(b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm)), b.predicate()
	dc := b.deferred()
	var list, second *CommandList
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a context is created", func() {}, "CreateDeferredContext"},
		{"the first use opens", func() { dc.CopyResource(x, y) }, "OpenResource OpenResource ResourceCopy"},
		{"the second does not", func() { dc.CopyResource(y, x) }, "ResourceCopy"},
		{"the first list creates a handle", func() { list = b.finish(dc, false) },
			"CalcPrivateCommandListSize CreateCommandList CalcDeferredContextHandleSize CloseResource CloseResource RecycleCreateDeferredContext"},
		{"a list is released", func() { list.Release() }, "RecycleDestroyCommandList"},
		{"its handle is recycled", func() { dc.CopyResource(x, y); list = b.finish(dc, false) },
			"OpenResource OpenResource ResourceCopy RecycleCommandList RecycleCreateCommandList CloseResource CloseResource RecycleCreateDeferredContext"},
		{"a second live list needs a second handle", func() { second = b.finish(dc, false) },
			"CalcPrivateCommandListSize CreateCommandList CalcDeferredContextHandleSize RecycleCreateDeferredContext"},
		{"two are released", func() { list.Release(); second.Release() }, "RecycleDestroyCommandList RecycleDestroyCommandList"},
		{"both go back at the next end of a list", func() { list = b.finish(dc, false) },
			"RecycleCommandList RecycleCommandList RecycleCreateCommandList RecycleCreateDeferredContext"},
		{"a view opens its resource", func() { dc.ClearRenderTargetView(view, [4]float32{}) },
			"OpenResource OpenView ClearRenderTargetView"},
		{"closes are in the opposite order", func() { second = b.finish(dc, false); second.Release() },
			"RecycleCreateCommandList CloseView CloseResource RecycleCreateDeferredContext RecycleDestroyCommandList"},
		{"queries and maps are ended", func() {
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
			dc.OMSetRenderTargets([]*RenderTargetView{view, nil, last})
			dc.SetPredication(query, true)
			b.calls()
			dc.Release()
		}, "AbandonCommandList IaSetVertexBuffers VsSetConstantBuffers VsSetConstantBuffers PsSetConstantBuffers " +
			"SetRenderTargets SetRenderTargets SetPredication CloseQuery CloseView CloseResource CloseView CloseResource CloseResource CloseResource CloseResource " +
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

// TestListOutlivesItsContext: the handle of a list without context is destroyed
// instead of retired.
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

// TestThreadsAreReleased: destroying a context while one of its lists is being
// released leaks no thread.
func TestThreadsAreReleased(t *testing.T) {
	b := nativeBench(t)
	back := func(when string) {
		t.Helper()
		require.Len(t, b.dev.idle, len(b.dev.calls)-1, "all but the immediate context's: %s", when)
	}
	dc := b.deferred()
	l := b.finish(dc, false)
	b.native().contextHook = func(_ *fakeContext, _ *ddi.Thread, name string) {
		if name == "RecycleDestroyCommandList" {
			dc.Release()
		}
	}
	l.Release()
	b.native().contextHook = nil
	back("in the middle")
	for range 500 {
		dc := b.deferred()
		l := b.finish(dc, false)
		var both sync.WaitGroup
		both.Go(func() { l.Release() })
		both.Go(func() { dc.Release() })
		both.Wait()
		back("at once")
	}
}

// TestStaleListIsNoAlias: the body of a released list is reused, but cannot be
// reached through the old list.
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

// TestSteadyState: after the first lists nothing is created, sized or
// destroyed.
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

// TestSharedObjectsOutliveTheirContexts releases an object, a context and a
// list that use it in every order.
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

// TestDeviceWithoutEntries: a driver that reports command lists must have all
// their entries.
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
		"sizes that are invalid": func(f *umddi.DeviceFuncs) {
			f.CheckDeferredContextHandleSizes = func(_ *ddi.Thread, _ umddi.HDevice, s []umddi.HandleSize) int {
				copy(s, []umddi.HandleSize{{Size: -1}})
				return 1
			}
		},
	} {
		drv, kern := newFakeDriver(), &fakeKernel{}
		natively(drv, nil)
		drv.editTable = strip
		_, _, err := CreateDevice(Config{Driver: drv.openAdapter, Kernel: kern.thunks()})
		assert.ErrorIs(t, err, ddi.DXGIInternalError, name)
		if !strings.HasPrefix(name, "sizes") {
			assert.EqualError(t, err, "D3D11CreateDevice: DXGI_ERROR_DRIVER_INTERNAL_ERROR: the driver left pfn"+name+" nil")
		}
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
		b.drv.native.editContextTable = tamper
		_, err := b.dev.CreateDeferredContext(0)
		check(t, ddi.DXGIDeviceRemoved, err, name)
		check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason(), name)
		if name == "DestroyDevice" {
			clear(b.drv.native.contexts)
			b.breaks = []string{"handle-leak"} // the driver lacks the function that destroys it
		}
	}
}

// TestLocalSizes: an unannounced size of a local handle removes the device and
// leaves no object.
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

// TestEmulationWithoutFreeThreads: native command lists need a free-threaded
// driver.
func TestEmulationWithoutFreeThreads(t *testing.T) {
	for _, caps := range []uint32{0, umddi.CapsFreeThreaded, umddi.CapsCommandListsBuild2, umddi.CapsFreeThreaded | umddi.CapsCommandLists} {
		b := newBench(t, natively, func(f *fakeDriver, _ *Config) { f.caps = caps })
		b.breaks = []string{"caps-threading"}
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

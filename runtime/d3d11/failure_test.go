package d3d11

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A callSequence is a sequence of calls that uses every function of a deferred
// context on existing objects.
type callSequence struct {
	*bench
	x, y, dyn, cdyn, tdyn Resource
	view                  *RenderTargetView
	query                 *Query
}

func newCallSequence(t *testing.T) *callSequence {
	b := nativeBench(t)
	w := &callSequence{bench: b, x: b.constant(), y: b.constant(), dyn: b.dynamic(BindVertexBuffer),
		cdyn: b.dynamic(BindConstantBuffer), tdyn: b.dynamic(BindShaderResource), query: b.predicate()}
	w.view = b.view(b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm))
	return w
}

// run makes the calls. It returns the first error of each kind of call.
func (w *callSequence) run() (made, finished error) {
	dc, err := w.dev.CreateDeferredContext(0)
	if err != nil {
		return err, nil
	}
	defer dc.Release()
	note := func(err error) {
		if finished == nil {
			finished = err
		}
	}
	x, y := w.x.(*Buffer), w.y.(*Buffer)
	inner, err := dc.FinishCommandList(false)
	note(err)
	for range 3 {
		for _, r := range []Resource{w.dyn, w.cdyn, w.tdyn} {
			var m MappedSubresource
			if err := dc.Map(r, 0, MapWriteDiscard, 0, &m); err == nil {
				m.Data[0] = 1
			}
			if r != w.tdyn {
				dc.Unmap(r, 0)
			}
		}
		dc.Map(w.dyn, 0, MapWriteNoOverwrite, 0, new(MappedSubresource))
		dc.IASetVertexBuffers(0, []*Buffer{w.dyn.(*Buffer)}, []uint32{4}, []uint32{0})
		dc.VSSetConstantBuffers(0, []*Buffer{x, y})
		dc.OMSetRenderTargets([]*RenderTargetView{w.view})
		dc.RSSetViewports([]Viewport{{Width: 1}})
		dc.Begin(w.query)
		dc.CopyResource(w.x, w.y)
		dc.UpdateSubresource(w.x, 0, nil, ramp(0, 16), 0, 0)
		dc.End(w.query)
		dc.SetPredication(w.query, true)
		dc.ClearRenderTargetView(w.view, [4]float32{})
		if inner != nil {
			dc.ExecuteCommandList(inner, true)
		}
		l, err := dc.FinishCommandList(true)
		note(err)
		if err == nil {
			w.ctx.ExecuteCommandList(l, true)
			l.Release()
		}
	}
	if inner != nil {
		inner.Release()
	}
	return nil, finished
}

// TestFailureAtEachCall makes each call of the sequence in turn report that
// memory is short or the device is lost. The fake driver checks the calls that
// follow and that nothing is left.
func TestFailureAtEachCall(t *testing.T) {
	may := map[string]bool{"CreateDeferredContext": true, "CreateCommandList": true, "CommandListExecute": true,
		"RecycleCreateCommandList": true, "RecycleCreateDeferredContext": true}
	total := 0
	{
		w := newCallSequence(t)
		w.native().failAt = -1
		w.calls()
		made, finished := w.run()
		require.NoError(t, made)
		require.NoError(t, finished)
		total = len(w.drv.native.calls)
		require.Greater(t, total, 100)
	}
	for k := range total {
		w := newCallSequence(t)
		w.calls()
		w.native().failAt, w.native().failWith = k, ddi.DDIDeviceRemoved
		w.run()
		want := ddi.DXGIDeviceRemoved
		switch failed := w.drv.native.failed; failed {
		case "RecycleCreateCommandList", "RecycleCreateDeferredContext":
			want = ddi.DXGIInternalError
		case "CalcPrivateCommandListSize", "CalcDeferredContextHandleSize", "DestroyCommandList", "RecycleDestroyCommandList":
			want = ddi.OK // the fake driver does not report an error there
		}
		check(t, want, w.dev.GetDeviceRemovedReason(), w.drv.native.failed)
		w.dev.Close()
	}
	for k := range total {
		w := newCallSequence(t)
		w.calls()
		w.native().failAt, w.native().failWith = k, ddi.EOutOfMemory
		made, finished := w.run()
		failed := w.drv.native.failed
		reason := w.dev.GetDeviceRemovedReason()
		switch {
		case failed == "CreateDeferredContext":
			check(t, ddi.EOutOfMemory, made)
		case reason != nil:
			// A function that reports nothing, or that may not report this
			// error.
			assert.False(t, may[failed], failed)
			check(t, ddi.DXGIInternalError, reason, failed)
		case finished != nil:
			check(t, ddi.EOutOfMemory, finished, "%d: %s", k, failed)
		}
		if reason == nil {
			w.native().failAt = -1
			_, finished = w.run()
			assert.NoError(t, finished, "%d: %s: the next context works", k, failed)
		}
	}
}

func (b *bench) native() *fakeNative { return &b.drv.native }

// TestOutOfMemoryWhileRecording: a list that runs out of memory is dropped. The
// next list works and has the state that the application sees.
func TestOutOfMemoryWhileRecording(t *testing.T) {
	for _, name := range []string{"OpenResource", "ResourceCopy", "VsSetConstantBuffers", "CreateCommandList",
		"RecycleCreateCommandList"} {
		t.Run(name, func(t *testing.T) {
			b := nativeBench(t)
			x, y, dc := b.constant(), b.constant(), b.deferred()
			if name == "RecycleCreateCommandList" {
				b.finish(dc, false).Release()
			}
			fail := failing(b, name)
			dc.VSSetConstantBuffers(3, []*Buffer{x})
			dc.CopyResource(x, y)
			dc.PSSetConstantBuffers(1, []*Buffer{y})
			_, err := dc.FinishCommandList(true)
			check(t, ddi.EOutOfMemory, err)
			require.True(t, *fail)
			assert.NoError(t, b.dev.GetDeviceRemovedReason())
			bound := make([]*Buffer, 1)
			dc.VSGetConstantBuffers(3, bound)
			assert.Same(t, x, bound[0], "the application continued recording")
			dc.PSGetConstantBuffers(1, bound)
			assert.Same(t, y, bound[0])
			assert.Zero(t, b.drv.count("ResourceCopy"))
			var during fakeState
			b.drv.hook = func(_ *ddi.Thread, n string) {
				if n == "ResourceCopy" {
					during = b.drv.state
				}
			}
			dc.CopyResource(y, x)
			l := b.finish(dc, false)
			b.ctx.ExecuteCommandList(l, false)
			assert.Equal(t, 1, b.drv.count("ResourceCopy"), "and nothing of the dropped list")
			assert.NotZero(t, during.Constant[0][3])
			assert.NotZero(t, during.Constant[4][1])
			b.drv.hook = nil
		})
	}
}

// failing makes the next call of a function fail with EOutOfMemory.
func failing(b *bench, name string) *bool {
	done := new(bool)
	n := b.native()
	n.failNext, n.failWith = name, ddi.EOutOfMemory
	n.onFail = func() { *done = true }
	return done
}

// TestMapOfADroppedList: a map in a dropped list fails, and memory mapped
// earlier remains valid until the list ends.
func TestMapOfADroppedList(t *testing.T) {
	b := nativeBench(t)
	first, second, dc := b.dynamic(BindVertexBuffer), b.dynamic(BindVertexBuffer), b.deferred()
	var m MappedSubresource
	require.NoError(t, dc.Map(first, 0, MapWriteDiscard, 0, &m))
	failing(b, "DynamicIABufferMapDiscard")
	check(t, ddi.EOutOfMemory, dc.Map(second, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	check(t, ddi.EOutOfMemory, dc.Map(second, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	m.Data[0] = 1
	b.calls()
	_, err := dc.FinishCommandList(false)
	check(t, ddi.EOutOfMemory, err)
	assert.Equal(t, "DynamicIABufferUnmap AbandonCommandList CloseResource CloseResource RecycleCreateDeferredContext", b.calls())
	require.NoError(t, dc.Map(second, 0, MapWriteDiscard, 0, &m))
	b.finish(dc, false).Release()
}

// TestContextWithoutMemory: if the driver never has memory to recycle a context,
// the application gets the list that was made. Each list after it fails, and the
// context can be destroyed.
func TestContextWithoutMemory(t *testing.T) {
	b := nativeBench(t)
	x, y, dc := b.constant(), b.constant(), b.deferred()
	b.dev.funcs.RecycleCreateDeferredContext = func(*ddi.Thread, umddi.HDevice, *umddi.CreateDeferredContext) ddi.HRESULT {
		return ddi.EOutOfMemory
	}
	want := ddi.OK
	for range 3 {
		dc.VSSetConstantBuffers(0, []*Buffer{x})
		dc.CopyResource(x, y)
		check(t, want, dc.Map(b.dynamic(BindVertexBuffer), 0, MapWriteDiscard, 0, new(MappedSubresource)))
		l, err := dc.FinishCommandList(true)
		check(t, want, err)
		if l != nil {
			b.ctx.ExecuteCommandList(l, false)
			assert.Equal(t, 1, b.drv.count("ResourceCopy"))
			l.Release()
		}
		want = ddi.EOutOfMemory
	}
	b.calls()
	dc.Release()
	assert.Equal(t, "DestroyCommandList DestroyDevice", b.calls())
}

// TestContextIsMadeAnew: if the context cannot be recycled after its list was
// made, it is recycled at its next use, whichever that is, and has the state
// that the application sees.
func TestContextIsMadeAnew(t *testing.T) {
	for _, restore := range []bool{false, true} {
		for name, use := range map[string]func(dc *Context, x, y, dyn *Buffer){
			"RecycleCreateDeferredContext ResourceCopy": func(dc *Context, x, y, dyn *Buffer) { dc.CopyResource(x, y) },
			"RecycleCreateDeferredContext IaSetTopology": func(dc *Context, x, y, dyn *Buffer) {
				dc.IASetPrimitiveTopology(TopologyLineList)
			},
			"RecycleCreateDeferredContext DynamicIABufferMapDiscard": func(dc *Context, x, y, dyn *Buffer) {
				dc.Map(dyn, 0, MapWriteDiscard, 0, new(MappedSubresource))
			},
			"RecycleCreateDeferredContext CreateCommandList": func(dc *Context, x, y, dyn *Buffer) {
				l, err := dc.FinishCommandList(true)
				assert.NoError(t, err)
				l.Release()
			},
			"DestroyDevice": func(dc *Context, x, y, dyn *Buffer) { dc.Release() },
		} {
			b := nativeBench(t)
			x, y, dyn, dc := b.constant(), b.constant(), b.dynamic(BindVertexBuffer), b.deferred()
			dc.VSSetConstantBuffers(0, []*Buffer{x})
			dc.CopyResource(x, y)
			fail := failing(b, "RecycleCreateDeferredContext")
			l := b.finish(dc, restore)
			require.True(t, *fail)
			b.ctx.ExecuteCommandList(l, false)
			assert.Equal(t, 1, b.drv.count("ResourceCopy"))
			b.calls()
			bound := make([]*Buffer, 1)
			dc.VSGetConstantBuffers(0, bound)
			assert.Equal(t, restore, bound[0] == x)
			assert.Empty(t, b.calls(), "no use")
			use(dc, x, y, dyn)
			got := b.calls()
			want := strings.Fields(name)
			if restore && len(want) > 1 {
				want = slices.Insert(want, 1, "OpenResource", "VsSetConstantBuffers")
			}
			for _, w := range want {
				_, after, found := strings.Cut(got, w)
				require.True(t, found, "%s, restore %v: no %s in %s", name, restore, w, b.calls())
				got = after
			}
		}
	}
}

// TestRecycleResults: the Recycle functions may return EOutOfMemory; any other
// error removes the device, and so does an error on the wrong core layer.
func TestRecycleResults(t *testing.T) {
	for _, name := range []string{"RecycleCreateCommandList", "RecycleCreateDeferredContext"} {
		for _, hr := range []ddi.HRESULT{ddi.EFail, ddi.DDIStillDrawing, ddi.False} {
			b := nativeBench(t)
			dc := b.deferred()
			b.finish(dc, false).Release()
			failing(b, name)
			b.native().failWith = hr
			_, err := dc.FinishCommandList(false)
			check(t, ddi.DXGIDeviceRemoved, err, name)
			check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
		}
	}
}

func TestCoreLayers(t *testing.T) {
	for _, tt := range []struct {
		function    string
		own, device bool // EOutOfMemory is allowed there
	}{
		{"OpenResource", true, true},
		{"ResourceCopy", true, false},
		{"IaSetTopology", true, false},
		{"CreateCommandList", true, true},
		{"AbandonCommandList", false, false},
		{"CloseResource", false, false},
		{"RecycleCreateDeferredContext", false, false},
	} {
		for _, own := range []bool{true, false} {
			b := nativeBench(t)
			b.breaks = []string{"error-layer"} // in CreateCommandList the runtime accepts either
			x, y, dc := b.constant(), b.constant(), b.deferred()
			core := b.drv.arg.RTCoreLayer
			if own {
				core = umddi.HRTCoreLayer{Runtime: dc}
			}
			if tt.function == "RecycleCreateDeferredContext" {
				b.native().contextHook = func(_ *fakeContext, th *ddi.Thread, n string) {
					if n == tt.function {
						b.drv.arg.UMCallbacks.SetErrorCb(th, core, ddi.EOutOfMemory)
					}
				}
			} else {
				failing(b, tt.function)
				b.native().layer = core
			}
			dc.IASetPrimitiveTopology(TopologyLineList)
			dc.CopyResource(x, y)
			if tt.function != "AbandonCommandList" {
				dc.FinishCommandList(false)
			}
			dc.Release()
			b.native().contextHook = nil
			allowed := tt.device
			if own {
				allowed = tt.own
			}
			want := ddi.OK
			if !allowed {
				want = ddi.DXGIInternalError
			}
			check(t, want, b.dev.GetDeviceRemovedReason(), "%s, own %v", tt.function, own)
		}
	}
}

// TestExecuteWithoutMemory: after a failed execution the driver has the bindings
// that the runtime reports.
func TestExecuteWithoutMemory(t *testing.T) {
	for _, restore := range []bool{false, true} {
		b := nativeBench(t)
		dc := b.deferred()
		dc.CopyResource(b.constant(), b.constant())
		l := b.finish(dc, false)
		full := setAll(b, b.ctx)
		failing(b, "CommandListExecute")
		b.ctx.ExecuteCommandList(l, restore)
		assert.Zero(t, b.drv.count("ResourceCopy"))
		if restore {
			assert.Equal(t, full, b.drv.state)
		} else {
			assert.Equal(t, fakeState{}, b.drv.state)
			defaults(t, b.ctx)
		}
		assert.NoError(t, b.dev.GetDeviceRemovedReason())
	}
}

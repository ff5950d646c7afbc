package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// shownIn makes the fake driver refresh all state in a function and returns the
// state shown each time.
func (b *bench) shownIn(function string) *[]fakeShown {
	seen := new([]fakeShown)
	inside := false
	b.drv.native.contextHook = func(c *fakeContext, th *ddi.Thread, name string) {
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

// fakeShown is the state shown by a refresh.
type fakeShown struct {
	Topology  umddi.Topology
	Vertex    int // slots
	Index     bool
	VS, CS    []bool
	Targets   int
	Viewports int
	Scissors  int
}

// shown refreshes state with table functions that record it.
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

// TestRefresh compares the state shown by a refresh with the table of
// "Supporting Command Lists".
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
			b.drv.native.contextHook = nil
			assert.Equal(t, tt.want, (*seen)[:min(len(tt.want), len(*seen))])
			assert.NoError(t, b.dev.GetDeviceRemovedReason())
		})
	}
}

// TestRefreshAfterExecute: the function after an execution sees no state, and
// later functions see the state set since.
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
		b.drv.native.contextHook = func(dc *fakeContext, th *ddi.Thread, name string) {
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
		b.drv.native.contextHook, b.drv.hook = nil, nil
		assert.Equal(t, []umddi.Topology{TopologyLineList, TopologyLineList, TopologyLineList}, seen)
		assert.Equal(t, []int{1, 0, 1}, counts, "immediate %v", immediate)
	}
}

// TestRefreshAfterAFailedExecute: after an execution that ran out of memory a
// refresh shows only the state set since.
func TestRefreshAfterAFailedExecute(t *testing.T) {
	for _, restore := range []bool{false, true} {
		b := nativeBench(t)
		x := b.constant()
		list := b.finish(b.deferred(), false)
		b.ctx.IASetPrimitiveTopology(TopologyLineList)
		b.ctx.VSSetConstantBuffers(0, []*Buffer{x})
		failing(b, "CommandListExecute")
		var seen []fakeShown
		b.drv.hook = func(th *ddi.Thread, name string) {
			seen = append(seen, shown(th, b.drv.arg.UMCallbacks, b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device))
		}
		b.ctx.ExecuteCommandList(list, restore)
		b.drv.hook = nil
		require.NotEmpty(t, seen)
		none := fakeShown{CS: []bool{false, false}}
		assert.Equal(t, none, seen[0], "in the call after it, restore %v", restore)
		want := none
		if restore {
			want.Topology, want.VS = TopologyLineList, []bool{true}
		}
		assert.Equal(t, want, seen[len(seen)-1], "in the last call, restore %v", restore)
		assert.NoError(t, b.dev.GetDeviceRemovedReason())
	}
}

// TestRefreshInUnmap: unmap functions are functions of the context, also in a
// list that the runtime replays.
func TestRefreshInUnmap(t *testing.T) {
	for name, do := range map[string]func(b *bench, dyn *Buffer){
		"Unmap": func(b *bench, dyn *Buffer) { b.write(b.ctx, dyn, MapWriteDiscard, 0, "x") },
		"replay": func(b *bench, dyn *Buffer) {
			dc := b.deferred()
			b.write(dc, dyn, MapWriteDiscard, 0, "x")
			b.ctx.ExecuteCommandList(b.finish(dc, false), true)
		},
	} {
		b := newBench(t)
		b.ctx.IASetPrimitiveTopology(TopologyLineList)
		unmaps := 0
		b.drv.hook = func(th *ddi.Thread, n string) {
			if n == "DynamicIABufferUnmap" {
				unmaps++
				shown(th, b.drv.arg.UMCallbacks, b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device)
			}
		}
		do(b, b.dynamic(BindVertexBuffer))
		b.drv.hook = nil
		assert.Equal(t, 1, unmaps, name)
		assert.NoError(t, b.dev.GetDeviceRemovedReason(), name)
	}
}

// TestForbiddenRefresh: a refresh outside a function of the context, or of
// slots that do not exist, removes the device.
func TestForbiddenRefresh(t *testing.T) {
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
		"in the unmap of a resource that is destroyed": func(b *bench, dc *Context) {
			dyn := b.dynamic(BindVertexBuffer)
			b.ctx.Map(dyn, 0, MapWriteDiscard, 0, new(MappedSubresource))
			b.drv.hook = func(th *ddi.Thread, n string) {
				if n == "DynamicIABufferUnmap" {
					b.drv.arg.UMCallbacks.StateRsScissorCb(th, b.drv.arg.RTCoreLayer)
				}
			}
			dyn.Release()
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

// TestRefreshOnASerializedDevice: functions of the device share the immediate
// context's thread, but may not refresh its state.
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

package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A user makes calls that use each function of the driver with state bound on
// both contexts. It continues after a removal.
type user struct {
	*bench
	q, spare      *Query
	tex           *Texture2D
	x, y, vb, dyn *Buffer
	v             *RenderTargetView
	dc            *Context
	inner         *CommandList
}

func newUser(t *testing.T) *user {
	b := nativeBench(t)
	u := &user{bench: b, q: b.predicate(), spare: b.predicate(), tex: b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm),
		x: b.constant(), y: b.constant(), vb: b.buffer(UsageDefault, BindVertexBuffer|BindIndexBuffer, 0), dyn: b.dynamic(BindVertexBuffer), dc: b.deferred()}
	u.v = b.view(u.tex)
	u.inner = b.finish(b.deferred(), false)
	return u
}

func (u *user) use(abandon bool) {
	for _, c := range []*Context{u.ctx, u.dc} {
		c.IASetPrimitiveTopology(TopologyLineList)
		c.IASetVertexBuffers(2, []*Buffer{u.vb}, []uint32{4}, []uint32{0})
		c.IASetIndexBuffer(u.vb, FormatR16UInt, 2)
		c.VSSetConstantBuffers(1, []*Buffer{u.x})
		c.CSSetConstantBuffers(1, []*Buffer{u.x})
		c.RSSetViewports([]Viewport{{Width: 1}})
		c.RSSetScissorRects(make([]Rect, 2))
		c.OMSetRenderTargets([]*RenderTargetView{u.v})
		c.End(u.q)
		c.SetPredication(u.q, true)
		c.ClearRenderTargetView(u.v, [4]float32{})
		c.CopyResource(u.x, u.y)
		for _, typ := range []MapType{MapWriteDiscard, MapWriteNoOverwrite} {
			c.Map(u.dyn, 0, typ, 0, new(MappedSubresource))
			c.Unmap(u.dyn, 0)
		}
		c.ExecuteCommandList(u.inner, true)
	}
	u.ctx.Flush()
	u.ctx.GetData(u.q, nil, 0)
	u.createAndDestroy()
	for range 3 {
		if abandon {
			break
		}
		if l, err := u.dc.FinishCommandList(true); err == nil {
			u.ctx.ExecuteCommandList(l, true)
			l.Release()
		}
	}
	u.dc.Release()
}

// createAndDestroy uses the functions of the device.
func (u *user) createAndDestroy() {
	u.dev.CheckMultisampleQualityLevels(dxgi.R8G8B8A8UNorm, 1)
	if late, err := u.dev.CreateBuffer(BufferDesc{ByteWidth: 16}, nil); err == nil {
		late.Release()
	}
	if w, err := u.dev.CreateRenderTargetView(u.tex, nil); err == nil {
		w.Release()
	}
	if late, err := u.dev.CreateQuery(&QueryDesc{}); err == nil {
		late.Release()
	}
	if dc, err := u.dev.CreateDeferredContext(0); err == nil {
		if l, err := dc.FinishCommandList(false); err == nil {
			l.Release()
		}
		dc.Release()
	}
}

// refreshIn makes the fake driver refresh its context's state each time at the
// named function, and counts how often.
func refreshIn(b *bench, function string) *int {
	done, inside := new(int), false
	look := func(th *ddi.Thread, c *fakeContext, name string) {
		if name != function || inside {
			return
		}
		*done++
		inside = true
		defer func() { inside = false }()
		core, funcs, dev := b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device
		if c != nil {
			core, funcs, dev = c.arg.RTCoreLayer, c.arg.ContextFuncs, c.arg.Context
		}
		shown(th, b.drv.arg.UMCallbacks, core, funcs, dev)
	}
	b.drv.native.contextHook = func(c *fakeContext, th *ddi.Thread, name string) { look(th, c, name) }
	b.drv.hook = func(th *ddi.Thread, name string) { look(th, nil, name) }
	return done
}

// TestRefreshInEachFunction: runtime and verifier agree where a driver may
// refresh state. Where it may not, the device is removed and the verifier
// blames the driver alone, which newBench checks at the end.
func TestRefreshInEachFunction(t *testing.T) {
	const anyThread = false // functions that are not on a context's thread, or may not use it
	for function, may := range map[string]bool{
		"CreateResource": anyThread, "DestroyResource": anyThread, "CalcPrivateResourceSize": anyThread,
		"CreateRenderTargetView": anyThread, "DestroyRenderTargetView": anyThread, "CreateQuery": anyThread,
		"DestroyQuery": anyThread, "CheckMultisampleQualityLevels": anyThread, "CalcPrivateCommandListSize": anyThread,
		"CalcDeferredContextHandleSize": anyThread, "DestroyCommandList": anyThread, "RecycleDestroyCommandList": anyThread,

		"Flush": true, "QueryGetData": true, "QueryEnd": true, "QueryBegin": true, "SetPredication": true, "ResourceCopy": true,
		"DynamicIABufferMapDiscard": true, "DynamicIABufferUnmap": true, "CommandListExecute": true, "IaSetTopology": true,
		"IaSetVertexBuffers": true, "VsSetConstantBuffers": true, "SetRenderTargets": true, "SetViewports": true, "SetScissorRects": true,
		"OpenResource": true, "OpenView": true, "OpenQuery": true, "OpenList": true, "CloseResource": true, "CloseView": true,
		"CloseQuery": true, "CloseList": true, "CreateCommandList": true, "RecycleCreateCommandList": true, "RecycleCommandList": true,
		"RecycleCreateDeferredContext": true, "AbandonCommandList": true, "DestroyDevice": true,
	} {
		asked := 0
		for _, abandon := range []bool{false, true} {
			u := newUser(t)
			done := refreshIn(u.bench, function)
			u.use(abandon)
			u.drv.native.contextHook, u.drv.hook = nil, nil
			want := ddi.OK
			if *done > 0 && !may {
				want = ddi.DXGIInternalError
			}
			asked += *done
			check(t, want, u.dev.GetDeviceRemovedReason(), "%s, abandoned %v", function, abandon)
		}
		assert.NotZero(t, asked, function)
	}
}

// TestRefreshInFunctionsOfAPrimary: a primary is created and destroyed on the
// immediate context's thread, so its driver may refresh state there.
func TestRefreshInFunctionsOfAPrimary(t *testing.T) {
	for _, function := range []string{"CreateResource", "DestroyResource"} {
		b := newBench(t)
		b.ctx.IASetPrimitiveTopology(TopologyLineList)
		var primaries []*ddi.Object
		var seen []umddi.Topology
		kept := *b.drv.arg.DeviceFuncs
		look := func(th *ddi.Thread, name string) {
			if name == function {
				seen = append(seen, shown(th, b.drv.arg.UMCallbacks, b.drv.arg.RTCoreLayer, b.drv.arg.DeviceFuncs, b.drv.arg.Device).Topology)
			}
		}
		b.drv.arg.DeviceFuncs.CreateResource = func(th *ddi.Thread, h umddi.HDevice, arg *umddi.CreateResource, o umddi.HResource, rt umddi.HRTResource) {
			if arg.Primary {
				primaries = append(primaries, o.Object)
				look(th, "CreateResource")
			}
			kept.CreateResource(th, h, arg, o, rt)
		}
		b.drv.arg.DeviceFuncs.DestroyResource = func(th *ddi.Thread, h umddi.HDevice, o umddi.HResource) {
			if len(primaries) == 1 && o.Object == primaries[0] {
				look(th, "DestroyResource")
			}
			kept.DestroyResource(th, h, o)
		}
		s, err := b.dev.CreateSwapChain(SwapChainDesc{Width: 4, Height: 4, Format: dxgi.R8G8B8A8UNorm, BufferCount: 1})
		require.NoError(t, err)
		s.Release()
		assert.Equal(t, []umddi.Topology{TopologyLineList}, seen, function)
		assert.NoError(t, b.dev.GetDeviceRemovedReason(), function)
	}
}

// TestRefreshInDestroyDevice: nothing is bound when a device is destroyed, and
// the driver may ask.
func TestRefreshInDestroyDevice(t *testing.T) {
	b := newBench(t)
	b.ctx.IASetPrimitiveTopology(TopologyLineList)
	b.ctx.VSSetConstantBuffers(0, []*Buffer{b.constant()})
	calls := 0
	set := b.drv.arg.DeviceFuncs.VsSetConstantBuffers
	b.drv.arg.DeviceFuncs.VsSetConstantBuffers = func(th *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource) {
		calls++
		set(th, h, start, bufs)
	}
	destroy := b.drv.arg.DeviceFuncs.DestroyDevice
	b.drv.arg.DeviceFuncs.DestroyDevice = func(th *ddi.Thread, h umddi.HDevice) {
		before := calls
		b.drv.arg.UMCallbacks.StateVsConstBufCb(th, b.drv.arg.RTCoreLayer, umddi.Range{Count: 4})
		assert.Equal(t, before+1, calls)
		destroy(th, h)
	}
	b.dev.Close()
}

// TestRefreshInTheCreationOfAContext: a context has no state before it exists.
func TestRefreshInTheCreationOfAContext(t *testing.T) {
	b := nativeBench(t)
	create := b.drv.arg.DeviceFuncs.CreateDeferredContext
	b.drv.arg.DeviceFuncs.CreateDeferredContext = func(th *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
		create(th, h, arg)
		arg.UMCallbacks.StateRsScissorCb(th, arg.RTCoreLayer)
	}
	b.dev.CreateDeferredContext(0)
	check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
}

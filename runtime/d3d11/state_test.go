package d3d11

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// setAll binds something in every slot of c and returns the driver's state.
func setAll(b *bench, c *Context) fakeState {
	b.Helper()
	vb, ib, cb := b.dynamic(BindVertexBuffer), b.dynamic(BindIndexBuffer), b.constant()
	rtv := b.view(b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm))
	c.IASetPrimitiveTopology(TopologyTriangleStrip)
	c.IASetVertexBuffers(3, []*Buffer{vb, nil, vb}, []uint32{8, 0, 12}, []uint32{4, 0, 1})
	c.IASetIndexBuffer(ib, FormatR16UInt, 2)
	c.VSSetConstantBuffers(0, []*Buffer{cb})
	c.HSSetConstantBuffers(1, []*Buffer{cb})
	c.DSSetConstantBuffers(2, []*Buffer{cb})
	c.GSSetConstantBuffers(3, []*Buffer{cb})
	c.PSSetConstantBuffers(12, []*Buffer{cb, cb})
	c.CSSetConstantBuffers(5, []*Buffer{nil, cb})
	c.OMSetRenderTargets([]*RenderTargetView{nil, rtv})
	c.RSSetViewports([]Viewport{{Width: 4, Height: 2, MaxDepth: 1}, {TopLeftX: -1}})
	c.RSSetScissorRects([]Rect{{Left: -1, Right: 4, Bottom: 4}})
	n := id(&cb.obj)
	want := fakeState{
		Topology:  5,
		Index:     [3]uint32{id(&ib.obj), 57, 2},
		Viewports: []umddi.Viewport{{Width: 4, Height: 2, MaxDepth: 1}, {TopLeftX: -1}},
		Scissors:  []umddi.Rect{{Left: -1, Right: 4, Bottom: 4}},
	}
	want.Vertex[3] = [3]uint32{id(&vb.obj), 8, 4}
	want.Vertex[5] = [3]uint32{id(&vb.obj), 12, 1}
	want.Constant = [6][14]uint32{{n}, {0, n}, {0, 0, n}, {0, 0, 0, n}, {12: n, 13: n}, {6: n}}
	want.Targets[1] = id(&rtv.obj)
	return want
}

func TestStateReachesTheDriver(t *testing.T) {
	b := newBench(t)
	assert.Equal(t, setAll(b, b.ctx), b.drv.state)
	b.ctx.ClearState()
	assert.Equal(t, fakeState{}, b.drv.state)
	b.drv.log = nil
	b.ctx.ClearState()
	assert.Empty(t, b.drv.log, "defaults are not set again")
}

// defaults asserts that a context has the default state.
func defaults(t *testing.T, c *Context) {
	t.Helper()
	assert.Equal(t, TopologyUndefined, c.IAGetPrimitiveTopology())
	assert.Zero(t, c.RSGetViewports(nil))
	assert.Zero(t, c.RSGetScissorRects(nil))
	ib, f, off := c.IAGetIndexBuffer()
	assert.Nil(t, ib)
	assert.Zero(t, f)
	assert.Zero(t, off)
	var vb [32]*Buffer
	var strides, offsets [32]uint32
	c.IAGetVertexBuffers(0, vb[:], strides[:], offsets[:])
	assert.Zero(t, vb)
	assert.Zero(t, strides)
	assert.Zero(t, offsets)
	for _, get := range []func(uint32, []*Buffer){c.VSGetConstantBuffers, c.HSGetConstantBuffers, c.DSGetConstantBuffers,
		c.GSGetConstantBuffers, c.PSGetConstantBuffers, c.CSGetConstantBuffers} {
		var cb [14]*Buffer
		get(0, cb[:])
		assert.Zero(t, cb)
	}
	var rtv [8]*RenderTargetView
	c.OMGetRenderTargets(rtv[:])
	assert.Zero(t, rtv)
}

func TestGetReturnsWhatWasSet(t *testing.T) {
	b := newBench(t)
	for _, c := range []*Context{b.ctx, b.deferred()} {
		defaults(t, c)
		vb, cb := b.dynamic(BindVertexBuffer|BindIndexBuffer), b.constant()
		rtv, rtv2 := b.view(b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm)), b.view(b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm))
		c.IASetPrimitiveTopology(TopologyPatchList1 + 31)
		assert.EqualValues(t, 64, c.IAGetPrimitiveTopology())
		c.IASetVertexBuffers(30, []*Buffer{vb, vb}, []uint32{2048, 2}, []uint32{3, 4})
		bufs, strides, offsets := make([]*Buffer, 3), make([]uint32, 3), make([]uint32, 3)
		c.IAGetVertexBuffers(29, bufs, strides, offsets)
		assert.Equal(t, []*Buffer{nil, vb, vb}, bufs)
		assert.Equal(t, []uint32{0, 2048, 2}, strides)
		assert.Equal(t, []uint32{0, 3, 4}, offsets)
		c.IASetIndexBuffer(vb, dxgi.R32UInt, 8)
		ib, f, off := c.IAGetIndexBuffer()
		assert.Same(t, vb, ib)
		assert.Equal(t, dxgi.R32UInt, f)
		assert.EqualValues(t, 8, off)
		for _, st := range []struct{ set, get func(uint32, []*Buffer) }{
			{c.VSSetConstantBuffers, c.VSGetConstantBuffers}, {c.HSSetConstantBuffers, c.HSGetConstantBuffers},
			{c.DSSetConstantBuffers, c.DSGetConstantBuffers}, {c.GSSetConstantBuffers, c.GSGetConstantBuffers},
			{c.PSSetConstantBuffers, c.PSGetConstantBuffers}, {c.CSSetConstantBuffers, c.CSGetConstantBuffers},
		} {
			got := make([]*Buffer, 2)
			st.get(12, got)
			assert.Equal(t, []*Buffer{nil, nil}, got)
			st.set(13, []*Buffer{cb})
			st.get(12, got)
			assert.Equal(t, []*Buffer{nil, cb}, got)
		}
		c.OMSetRenderTargets([]*RenderTargetView{rtv, nil, rtv2})
		views := make([]*RenderTargetView, 9)
		c.OMGetRenderTargets(views)
		assert.True(t, slices.Equal([]*RenderTargetView{rtv, nil, rtv2, nil, nil, nil, nil, nil, nil}, views))
		c.RSSetViewports([]Viewport{{Width: 1}, {Width: 2}})
		vps := make([]Viewport, 1)
		assert.Equal(t, 2, c.RSGetViewports(vps))
		assert.Equal(t, []Viewport{{Width: 1}}, vps)
		c.RSSetScissorRects([]Rect{{Right: 1}})
		rects := make([]Rect, 2)
		assert.Equal(t, 1, c.RSGetScissorRects(rects))
		assert.Equal(t, []Rect{{Right: 1}, {}}, rects)
		c.ClearState()
		defaults(t, c)
	}
}

// TestSetIsIgnored makes calls that change nothing, on a context with something
// bound in every slot.
func TestSetIsIgnored(t *testing.T) {
	nan := float32(math.NaN())
	b, other := newBench(t), newBench(t)
	gone := b.constant()
	gone.Release()
	goneView := b.view(b.texture(1, 1, 1, 1, dxgi.R8UNorm))
	goneView.Release()
	cb, vb := b.constant(), b.dynamic(BindVertexBuffer)
	z := []uint32{0}
	for name, f := range map[string]func(c *Context){
		"topology 6":                 func(c *Context) { c.IASetPrimitiveTopology(6) },
		"topology 14":                func(c *Context) { c.IASetPrimitiveTopology(14) },
		"topology 65":                func(c *Context) { c.IASetPrimitiveTopology(65) },
		"vertex slot 32":             func(c *Context) { c.IASetVertexBuffers(32, []*Buffer{vb}, z, z) },
		"vertex slot ~0":             func(c *Context) { c.IASetVertexBuffers(^uint32(0), []*Buffer{vb}, z, z) },
		"no strides":                 func(c *Context) { c.IASetVertexBuffers(0, []*Buffer{vb}, nil, z) },
		"no offsets":                 func(c *Context) { c.IASetVertexBuffers(0, []*Buffer{vb}, z, nil) },
		"stride 2049":                func(c *Context) { c.IASetVertexBuffers(0, []*Buffer{vb}, []uint32{2049}, z) },
		"not a vertex buffer":        func(c *Context) { c.IASetVertexBuffers(0, []*Buffer{cb}, z, z) },
		"not an index buffer":        func(c *Context) { c.IASetIndexBuffer(cb, dxgi.R32UInt, 0) },
		"an index format":            func(c *Context) { c.IASetIndexBuffer(nil, dxgi.R8UInt, 0) },
		"no index format":            func(c *Context) { c.IASetIndexBuffer(b.dynamic(BindIndexBuffer), dxgi.Unknown, 0) },
		"not a constant buffer":      func(c *Context) { c.VSSetConstantBuffers(0, []*Buffer{vb}) },
		"a released buffer":          func(c *Context) { c.VSSetConstantBuffers(0, []*Buffer{cb, gone}) },
		"a buffer of another device": func(c *Context) { c.VSSetConstantBuffers(0, []*Buffer{other.constant()}) },
		"constant slot 14":           func(c *Context) { c.PSSetConstantBuffers(13, []*Buffer{cb, cb}) },
		"no buffers":                 func(c *Context) { c.PSSetConstantBuffers(12, nil) },
		"9 targets":                  func(c *Context) { c.OMSetRenderTargets(make([]*RenderTargetView, 9)) },
		"a released view":            func(c *Context) { c.OMSetRenderTargets([]*RenderTargetView{goneView}) },
		"17 viewports":               func(c *Context) { c.RSSetViewports(make([]Viewport, 17)) },
		"a negative width":           func(c *Context) { c.RSSetViewports([]Viewport{{Width: -1}}) },
		"a negative height":          func(c *Context) { c.RSSetViewports([]Viewport{{Height: -1}}) },
		"a depth above 1":            func(c *Context) { c.RSSetViewports([]Viewport{{MaxDepth: 1.5}}) },
		"a depth below 0":            func(c *Context) { c.RSSetViewports([]Viewport{{MinDepth: -.5}}) },
		"an invalid viewport":        func(c *Context) { c.RSSetViewports([]Viewport{{TopLeftX: nan}}) },
		"17 rectangles":              func(c *Context) { c.RSSetScissorRects(make([]Rect, 17)) },
	} {
		for i, c := range []*Context{b.ctx, b.deferred()} {
			setAll(b, c)
			before := c.state
			b.drv.log = nil
			f(c)
			assert.Equal(t, before, c.state, "%s, context %d", name, i)
			assert.NotContains(t, b.drv.log, "SetConstantBuffers", name)
			c.ClearState()
		}
	}
}

func TestSetUnbindsTheRest(t *testing.T) {
	b := newBench(t)
	setAll(b, b.ctx)
	b.ctx.OMSetRenderTargets(nil)
	b.ctx.RSSetViewports(nil)
	b.ctx.RSSetScissorRects(nil)
	b.ctx.IASetIndexBuffer(nil, dxgi.Unknown, 0)
	assert.Zero(t, b.drv.state.Targets)
	assert.Empty(t, b.drv.state.Viewports)
	assert.Empty(t, b.drv.state.Scissors)
	assert.Zero(t, b.drv.state.Index)
	assert.NotZero(t, b.drv.state.Constant, "other slots do not change")
}

func TestSwapDeviceContextState(t *testing.T) {
	b := newBench(t)
	full := setAll(b, b.ctx)
	assert.Nil(t, b.ctx.SwapDeviceContextState(nil))
	assert.Equal(t, full, b.drv.state)
	fresh, err := b.dev.CreateDeviceContextState(1)
	require.NoError(t, err)
	assert.Nil(t, b.deferred().SwapDeviceContextState(fresh))
	before := b.ctx.SwapDeviceContextState(fresh)
	require.NotNil(t, before)
	assert.Equal(t, fakeState{}, b.drv.state)
	defaults(t, b.ctx)
	assert.Same(t, fresh, b.ctx.SwapDeviceContextState(fresh), "it is in place")
	b.ctx.IASetPrimitiveTopology(TopologyPointList)
	assert.Same(t, fresh, b.ctx.SwapDeviceContextState(before))
	assert.Equal(t, full, b.drv.state)
	assert.Same(t, before, b.ctx.SwapDeviceContextState(fresh))
	assert.Equal(t, fakeState{Topology: 1}, b.drv.state)
	b.dev.immediate.SwapDeviceContextState(before)
	for before.Release() > 0 {
	}
	assert.Nil(t, b.ctx.SwapDeviceContextState(before), "a released one")
	assert.Equal(t, full, b.drv.state)
	_, err = b.dev.CreateDeviceContextState(2)
	check(t, 0x80070057, err)
}

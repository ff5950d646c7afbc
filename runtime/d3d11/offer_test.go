package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// offers is a driver that loses the content of each resource offered with a low priority.
func (b *bench) offers() (log *[]OfferPriority) {
	log = new([]OfferPriority)
	lost := map[uint32]bool{}
	b.dev.dxgiFuncs.OfferResources = func(_ *ddi.Thread, arg umddi.OfferResources) ddi.HRESULT {
		for _, r := range arg.Resources {
			b.drv.res(r)
			lost[id(r.Object)] = arg.Priority == OfferPriorityLow
		}
		*log = append(*log, arg.Priority)
		return ddi.OK
	}
	b.dev.dxgiFuncs.ReclaimResources = func(_ *ddi.Thread, arg umddi.ReclaimResources) ddi.HRESULT {
		for i, r := range arg.Resources {
			arg.Discarded[i] = lost[id(r.Object)]
		}
		*log = append(*log, 0)
		return ddi.OK
	}
	return log
}

func TestOfferAndReclaim(t *testing.T) {
	b := newBench(t)
	log := b.offers()
	x, y := b.constant(), b.buffer(UsageDefault, BindVertexBuffer|BindIndexBuffer, 0)
	tex := b.texture(8, 8, 1, 1, dxgi.R8G8B8A8UNorm)
	view := b.view(tex)
	b.ctx.PSSetConstantBuffers(3, []*Buffer{x})
	b.ctx.IASetVertexBuffers(2, []*Buffer{y}, []uint32{16}, []uint32{0})
	b.ctx.IASetIndexBuffer(y, dxgi.R32UInt, 0)
	b.ctx.OMSetRenderTargets([]*RenderTargetView{view})

	require.NoError(t, b.dev.OfferResources([]Resource{y, tex}, OfferPriorityLow))
	require.NoError(t, b.dev.OfferResources([]Resource{x}, OfferPriorityHigh))
	bound := make([]*Buffer, 1)
	b.ctx.PSGetConstantBuffers(3, bound)
	assert.Nil(t, bound[0])
	b.ctx.IAGetVertexBuffers(2, bound, nil, nil)
	assert.Nil(t, bound[0])
	index, _, _ := b.ctx.IAGetIndexBuffer()
	assert.Nil(t, index)
	views := make([]*RenderTargetView, 1)
	b.ctx.OMGetRenderTargets(views)
	assert.Nil(t, views[0])

	for _, use := range []func(){
		func() { b.ctx.PSSetConstantBuffers(3, []*Buffer{x}) },
		func() { b.ctx.IASetVertexBuffers(0, []*Buffer{y}, []uint32{16}, []uint32{0}) },
		func() { b.ctx.IASetIndexBuffer(y, dxgi.R32UInt, 0) },
		func() { b.ctx.OMSetRenderTargets([]*RenderTargetView{view}) },
		func() { b.ctx.ClearRenderTargetView(view, [4]float32{}) },
		func() { b.ctx.CopyResource(x, y) },
		func() { b.ctx.UpdateSubresource(x, 0, nil, make([]byte, x.width), 0, 0) },
		func() { b.deferred().CopyResource(x, y) },
	} {
		calls := len(b.drv.log)
		use()
		assert.Contains(t, b.last().Description, "offered, want ReclaimResources before its use")
		assert.Len(t, b.drv.log, calls, "the call did not reach the driver")
	}
	lost := []bool{true, false, false}
	require.NoError(t, b.dev.ReclaimResources([]Resource{x, y, tex}, lost))
	assert.Equal(t, []bool{false, true, true}, lost)
	assert.Equal(t, []OfferPriority{OfferPriorityLow, OfferPriorityHigh, 0}, *log)
	b.ctx.OMSetRenderTargets([]*RenderTargetView{view})
	b.ctx.OMGetRenderTargets(views)
	assert.Same(t, view, views[0])
	require.NoError(t, b.dev.OfferResources([]Resource{x}, OfferPriorityNormal))
	require.NoError(t, b.dev.ReclaimResources([]Resource{x}, nil))
}

func TestOfferProblems(t *testing.T) {
	b := newBench(t)
	log := b.offers()
	x, y, gone := b.constant(), b.constant(), b.constant()
	gone.Release()
	mapped := b.staging(CPUAccessWrite)
	var m MappedSubresource
	require.NoError(t, b.ctx.Map(mapped, 0, MapWrite, 0, &m))
	require.NoError(t, b.dev.OfferResources([]Resource{y}, OfferPriorityLow))
	*log = nil
	offer := func(p OfferPriority, rs ...Resource) error { return b.dev.OfferResources(rs, p) }
	reclaim := func(n int, rs ...Resource) error { return b.dev.ReclaimResources(rs, make([]bool, n)) }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{offer(0, x), "OfferResources: E_INVALIDARG: Priority is 0, want 1 to 3"},
		{offer(4, x), "OfferResources: E_INVALIDARG: Priority is 4, want 1 to 3"},
		{offer(1), "OfferResources: E_INVALIDARG: ppResources is empty"},
		{offer(1, x, nil), "OfferResources: E_INVALIDARG: resource 1 is nil"},
		{offer(1, x, gone), "OfferResources: E_INVALIDARG: resource 1 was released"},
		{offer(1, newBench(t).constant()), "OfferResources: E_INVALIDARG: resource 0 belongs to another device"},
		{offer(1, x, x), "OfferResources: E_INVALIDARG: resource 1 is in the list twice"},
		{offer(1, x, y), "OfferResources: E_INVALIDARG: resource 1: offered is true, want false"},
		{offer(1, mapped), "OfferResources: E_INVALIDARG: resource 0 is mapped"},
		{reclaim(2, y, x), "ReclaimResources: E_INVALIDARG: resource 1: offered is false, want true"},
		{reclaim(2, y), "ReclaimResources: E_INVALIDARG: pDiscarded has 2 elements, want 1"},
	} {
		assert.EqualError(t, tt.err, tt.want)
	}
	assert.Empty(t, *log, "nothing reached the driver")
	b.ctx.Unmap(mapped, 0)
	require.NoError(t, offer(1, mapped))
	assert.ErrorIs(t, b.ctx.Map(mapped, 0, MapWrite, 0, &m), ddi.EInvalidArg)
	b.dev.dxgiFuncs.ReclaimResources = func(*ddi.Thread, umddi.ReclaimResources) ddi.HRESULT { return ddi.DDIDeviceRemoved }
	assert.ErrorIs(t, reclaim(1, mapped), ddi.DXGIDeviceRemoved)
	assert.ErrorIs(t, offer(1, x), ddi.DXGIDeviceRemoved)
}

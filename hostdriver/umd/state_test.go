package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func TestState(t *testing.T) {
	r := newRig(t)
	d, s := r.driver(), &r.driver().state
	a, b := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	resource := func(k id) *resource { return d.resources.at(k) }
	ra, rb := d.resources.get(a.Object), d.resources.get(b.Object)

	r.f.IaSetTopology(r.th, r.h, 4)
	assert.Equal(t, umddi.Topology(4), s.topology)

	r.f.IaSetVertexBuffers(r.th, r.h, 30, []umddi.HResource{a, b, a}, []uint32{1, 2, 3}, []uint32{4, 5, 6})
	assert.Same(t, ra, resource(s.vertex[30].buf))
	assert.Same(t, rb, resource(s.vertex[31].buf), "the slot after it is ignored")
	assert.Equal(t, []uint32{1, 4, 2, 5}, []uint32{s.vertex[30].stride, s.vertex[30].offset, s.vertex[31].stride, s.vertex[31].offset})
	r.f.IaSetVertexBuffers(r.th, r.h, 1<<32-1, []umddi.HResource{b, b}, []uint32{0, 0}, []uint32{0, 0})
	assert.Zero(t, s.vertex[0].buf, "the slot number does not wrap")
	r.f.IaSetVertexBuffers(r.th, r.h, 30, []umddi.HResource{{}}, []uint32{0}, []uint32{0})
	assert.Nil(t, resource(s.vertex[30].buf), "a nil handle unbinds")

	r.f.IaSetIndexBuffer(r.th, r.h, b, dxgi.R32UInt, 8)
	assert.Equal(t, indexBuffer{d.resources.id(b.Object), dxgi.R32UInt, 8}, s.index)

	for stage, set := range []func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource){
		r.f.VsSetConstantBuffers, r.f.HsSetConstantBuffers, r.f.DsSetConstantBuffers,
		r.f.GsSetConstantBuffers, r.f.PsSetConstantBuffers, r.f.CsSetConstantBuffers,
	} {
		set(r.th, r.h, uint32(stage), []umddi.HResource{a})
		for other := range shaderStages {
			assert.Equal(t, other <= stage, s.constants[other][other] != id{}, "stage %d after setting %d", other, stage)
		}
		set(r.th, r.h, 14, []umddi.HResource{a})
	}

	r.f.SetViewports(r.th, r.h, make([]umddi.Viewport, 17))
	assert.Len(t, s.viewports, 16)
	r.f.SetViewports(r.th, r.h, []umddi.Viewport{{Width: 3}})
	assert.Equal(t, []umddi.Viewport{{Width: 3}}, s.viewports)
	r.f.SetScissorRects(r.th, r.h, make([]umddi.Rect, 17))
	assert.Len(t, s.scissors, 16)
	r.f.SetScissorRects(r.th, r.h, nil)
	assert.Empty(t, s.scissors)
	assert.Empty(t, r.errs)
	assert.NotContains(t, r.log, "Render")

	r.f.DestroyResource(r.th, r.h, b)
	assert.Nil(t, resource(s.vertex[31].buf), "destroyed")
	assert.Nil(t, resource(s.index.buf))
	c := r.create(buf(64, umddi.UsageDefault)) // reuses the slot in the table
	assert.Equal(t, d.resources.id(c.Object).slot, s.index.buf.slot)
	assert.Nil(t, resource(s.index.buf), "another resource is not bound instead")
	r.f.IaSetIndexBuffer(r.th, r.h, b, dxgi.R32UInt, 0)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors(), "a stale handle")
	assert.Zero(t, s.index.buf)
}

func TestRenderTargets(t *testing.T) {
	r := newRig(t)
	d := r.driver()
	res := r.create(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget))
	v := r.view(res, rgba, 0, 0, 1)
	r.f.SetRenderTargets(r.th, r.h, []umddi.HRenderTargetView{{}, v, v, v, v, v, v, v, v})
	assert.Zero(t, d.state.targets[0])
	assert.Same(t, d.views.get(v.Object), d.views.at(d.state.targets[7]))
	r.f.SetRenderTargets(r.th, r.h, []umddi.HRenderTargetView{v})
	assert.NotZero(t, d.state.targets[0])
	assert.Zero(t, d.state.targets[1], "all others are unbound")
	r.f.DestroyRenderTargetView(r.th, r.h, v)
	assert.Nil(t, d.views.at(d.state.targets[0]))
	assert.Empty(t, r.errs)
}

func TestPresent(t *testing.T) {
	r := newRig(t)
	arg := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget|umddi.BindPresent)
	back := r.create(arg)
	backHandle := r.next
	arg.Primary = true
	primary := r.create(arg)
	p := umddi.Present{Device: r.h, SurfaceToPresent: back, DstResource: primary, DXGIContext: umddi.DXGIContext{Runtime: "dxgi"}}
	r.f.ClearRenderTargetView(r.th, r.h, r.view(back, rgba, 0, 0, 1), [4]float32{})
	r.log = nil
	assert.Equal(t, ddi.OK, r.dx.Present(r.th, p))
	assert.Equal(t, []string{"Render", "Present"}, r.log)
	assert.Equal(t, ddi.OK, r.dx.Present(r.th, p))
	assert.Equal(t, []string{"Render", "Present", "Present"}, r.log, "nothing was recorded between")
	assert.Equal(t, umddi.PresentCB{
		SrcAllocation: backHandle, DstAllocation: r.next, DXGIContext: umddi.DXGIContext{Runtime: "dxgi"}, Context: r.ctx.Context,
	}, r.present[1])

	sub := p
	sub.SrcSubResource = 1
	assert.Equal(t, ddi.DDIUnsupported, r.dx.Present(r.th, sub))
	sub.SrcSubResource, sub.DstSubResource = 0, 1
	assert.Equal(t, ddi.DDIUnsupported, r.dx.Present(r.th, sub))
	for _, tt := range []struct{ hr, want ddi.HRESULT }{
		{ddi.EOutOfMemory, ddi.EOutOfMemory}, {ddi.DDIStillDrawing, ddi.DDIStillDrawing},
		{ddi.DDIDeviceRemoved, ddi.DDIDeviceRemoved}, {ddi.EInvalidArg, ddi.DDIDeviceRemoved},
	} {
		r.failAt, r.failHR = 1, tt.hr
		assert.Equal(t, tt.want, r.dx.Present(r.th, p))
	}
	assert.Empty(t, r.errs, "a present returns its error")
	assert.Len(t, r.present, 2)
}

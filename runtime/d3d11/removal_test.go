package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// objects has one object of each kind.
type objects struct {
	cb, vb, staging *Buffer
	tex             *Texture2D
	rtv             *RenderTargetView
	query           *Query
	chain           *SwapChain
	list            *CommandList
	def             *Context
	state           *DeviceContextState
}

func newObjects(b *bench) *objects {
	o := &objects{cb: b.constant(), vb: b.dynamic(BindVertexBuffer), staging: b.staging(CPUAccessRead | CPUAccessWrite),
		tex: b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm), def: b.deferred()}
	o.rtv = b.view(o.tex)
	var err error
	o.query, err = b.dev.CreateQuery(&QueryDesc{})
	require.NoError(b, err)
	o.chain, err = b.dev.CreateSwapChain(SwapChainDesc{Width: 4, Height: 4, Format: dxgi.R8G8B8A8UNorm, BufferCount: 1})
	require.NoError(b, err)
	o.state, err = b.dev.CreateDeviceContextState(0)
	require.NoError(b, err)
	o.list = b.finish(o.def, false)
	return o
}

func TestReasonOfRemoval(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status ddi.Status
		want   ddi.HRESULT
	}{
		{"the kernel reports removed: it hung", ddi.StatusDeviceRemoved, ddi.DXGIDeviceHung},
		{"a fault", ddi.StatusGPUExceptionOnDevice, ddi.DXGIDeviceHung},
		{"the board does not respond", ddi.StatusIODeviceError, ddi.DXGIDeviceRemoved},
		{"reported by the driver", ddi.StatusSuccess, ddi.DXGIDeviceRemoved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.drv.hook = func(th *ddi.Thread, name string) {
				if name == "Flush" {
					b.kern.status = tt.status
					b.drv.arg.KTCallbacks.RenderCb(th, b.drv.arg.RTDevice, &umddi.Render{})
				}
			}
			b.drv.fail["Flush"] = ddi.DDIDeviceRemoved
			b.ctx.Flush()
			check(t, tt.want, b.dev.GetDeviceRemovedReason())
		})
	}
}

func TestFirstReasonStays(t *testing.T) {
	b := newBench(t)
	b.drv.fail["Flush"] = ddi.DDIDeviceRemoved
	b.drv.hook = func(th *ddi.Thread, name string) {
		if name == "Flush" {
			b.drv.arg.UMCallbacks.SetErrorCb(th, b.drv.arg.RTCoreLayer, ddi.EFail)
		}
	}
	b.ctx.Flush()
	check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
}

// TestAfterRemoval calls everything on a removed device: nothing panics,
// methods with a result fail, and the driver sees only destruction.
func TestAfterRemoval(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	b.ctx.VSSetConstantBuffers(0, []*Buffer{o.cb})
	o.def.VSSetConstantBuffers(0, []*Buffer{o.cb})
	require.NoError(t, b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource)))
	b.ctx.End(o.query)
	b.drv.fail["Flush"] = ddi.EFail
	b.ctx.Flush()
	clear(b.drv.fail)
	b.drv.log = nil

	var errs []error
	note := func(err error) { errs = append(errs, err) }
	_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
	note(err)
	_, err = b.dev.CreateTexture2D(Texture2DDesc{}, nil)
	note(err)
	_, err = b.dev.CreateRenderTargetView(o.tex, nil)
	note(err)
	_, err = b.dev.CreateQuery(&QueryDesc{})
	note(err)
	_, err = b.dev.CreateDeferredContext(0)
	note(err)
	_, err = b.dev.CreateDeviceContextState(0)
	note(err)
	_, err = b.dev.CreateSwapChain(SwapChainDesc{})
	note(err)
	_, err = b.dev.CheckFormatSupport(dxgi.R8UNorm)
	note(err)
	_, err = b.dev.CheckMultisampleQualityLevels(dxgi.R8UNorm, 1)
	note(err)
	note(o.chain.Present(0, 0))
	note(b.ctx.GetData(o.query, nil, 0))
	for _, c := range []*Context{b.ctx, o.def} {
		note(c.Map(o.vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
		_, err = c.FinishCommandList(true)
		note(err)
		useAll(c, o)
	}
	for i, err := range errs {
		check(t, ddi.DXGIDeviceRemoved, err, "call %d", i)
	}
	assert.Empty(t, b.drv.log)
	b.ctx.Unmap(o.staging, 0)
	assert.Equal(t, []string{"StagingResourceUnmap"}, b.drv.log)
	o.cb.Release()
	assert.Zero(t, b.drv.count("DestroyResource"), "it is bound")
	o.staging.Release()
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
}

// useAll calls every method without a result.
func useAll(c *Context, o *objects) {
	c.UpdateSubresource(o.cb, 0, nil, ramp(0, 16), 0, 0)
	c.CopyResource(o.cb, o.staging)
	c.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 0, nil)
	c.ClearRenderTargetView(o.rtv, [4]float32{})
	c.Begin(o.query)
	c.End(o.query)
	c.Flush()
	c.IASetPrimitiveTopology(TopologyLineList)
	c.IASetVertexBuffers(0, []*Buffer{o.vb}, []uint32{4}, []uint32{0})
	c.IASetIndexBuffer(nil, dxgi.Unknown, 0)
	c.PSSetConstantBuffers(0, []*Buffer{o.cb})
	c.OMSetRenderTargets([]*RenderTargetView{o.rtv})
	c.RSSetViewports([]Viewport{{Width: 1}})
	c.RSSetScissorRects([]Rect{{}})
	c.ExecuteCommandList(o.list, true)
	c.SwapDeviceContextState(o.state)
	c.ClearState()
}

package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

func TestReferences(t *testing.T) {
	b := newBench(t)
	buf := b.constant()
	assert.EqualValues(t, 2, buf.AddRef())
	assert.EqualValues(t, 1, buf.Release())
	assert.Same(t, b.dev, buf.GetDevice())
	assert.Zero(t, buf.Release())
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
	assert.Zero(t, buf.Release(), "another Release does nothing")
	assert.Zero(t, buf.AddRef(), "AddRef does not revive it")
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
}

// TestKeptAlive releases an object that something else refers to, and then
// releases the referrer.
func TestKeptAlive(t *testing.T) {
	for name, keep := range map[string]func(b *bench, buf *Buffer) (end func()){
		"a binding": func(b *bench, buf *Buffer) func() {
			b.ctx.VSSetConstantBuffers(3, []*Buffer{buf})
			return func() { b.ctx.VSSetConstantBuffers(3, []*Buffer{nil}) }
		},
		"two bindings": func(b *bench, buf *Buffer) func() {
			b.ctx.VSSetConstantBuffers(3, []*Buffer{buf, buf})
			return b.ctx.ClearState
		},
		"a binding of a deferred context": func(b *bench, buf *Buffer) func() {
			c := b.deferred()
			c.PSSetConstantBuffers(0, []*Buffer{buf})
			return func() { c.Release() }
		},
		"a recorded command": func(b *bench, buf *Buffer) func() {
			c := b.deferred()
			c.CopyResource(buf, b.constant())
			return func() { c.Release() }
		},
		"a list": func(b *bench, buf *Buffer) func() {
			c := b.deferred()
			c.CopyResource(b.constant(), buf)
			l := b.finish(c, false)
			return func() { l.Release() }
		},
		"a list in a list": func(b *bench, buf *Buffer) func() {
			c := b.deferred()
			c.UpdateSubresource(buf, 0, nil, ramp(0, 16), 0, 0)
			inner := b.finish(c, false)
			c.ExecuteCommandList(inner, false)
			inner.Release()
			outer := b.finish(c, false)
			return func() { outer.Release() }
		},
		"a swapped-out state": func(b *bench, buf *Buffer) func() {
			b.ctx.VSSetConstantBuffers(3, []*Buffer{buf})
			s, err := b.dev.CreateDeviceContextState(0)
			require.NoError(b, err)
			before := b.ctx.SwapDeviceContextState(s)
			return func() { before.Release() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			buf := b.constant()
			end := keep(b, buf)
			assert.Zero(t, buf.Release())
			assert.Zero(t, b.drv.count("DestroyResource"))
			end()
			assert.Equal(t, 1, b.drv.count("DestroyResource"))
		})
	}
}

func TestGetRevives(t *testing.T) {
	b := newBench(t)
	buf := b.constant()
	b.ctx.VSSetConstantBuffers(0, []*Buffer{buf})
	buf.Release()
	b.ctx.PSSetConstantBuffers(0, []*Buffer{buf})
	assert.Zero(t, b.drv.state.Constant[4], "no reference, no use")
	got := make([]*Buffer, 1)
	b.ctx.VSGetConstantBuffers(0, got)
	assert.Same(t, buf, got[0])
	b.ctx.ClearState()
	assert.Zero(t, b.drv.count("DestroyResource"))
	got[0].Release()
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
}

func TestViewKeepsItsTexture(t *testing.T) {
	b := newBench(t)
	tex := b.texture(1, 1, 1, 1, dxgi.R8UNorm)
	v := b.view(tex)
	tex.Release()
	assert.Same(t, tex, v.GetResource())
	tex.Release()
	b.ctx.OMSetRenderTargets([]*RenderTargetView{v})
	v.Release()
	assert.Len(t, b.drv.views, 1)
	b.ctx.OMSetRenderTargets(nil)
	assert.Empty(t, b.drv.views)
	assert.Empty(t, b.drv.resources)
}

func TestAMappedResourceIsUnmappedAtItsEnd(t *testing.T) {
	b := newBench(t)
	s := b.staging(CPUAccessRead)
	require.NoError(t, b.ctx.Map(s, 0, MapRead, 0, new(MappedSubresource)))
	s.Release()
	assert.Equal(t, []string{"StagingResourceUnmap", "DestroyResource"}, b.drv.log[len(b.drv.log)-2:])
	b.ctx.Unmap(s, 0)
	assert.Equal(t, 1, b.drv.count("StagingResourceUnmap"))
}

// TestStaleIsNoAlias: a reference to a released object does not reach the next
// object created.
func TestStaleIsNoAlias(t *testing.T) {
	b := newBench(t)
	old := b.staging(CPUAccessRead | CPUAccessWrite)
	old.Release()
	fresh := b.staging(CPUAccessRead | CPUAccessWrite)
	check(t, ddi.EInvalidArg, b.ctx.Map(old, 0, MapRead, 0, new(MappedSubresource)))
	assert.Zero(t, old.Release())
	check(t, ddi.OK, b.ctx.Map(fresh, 0, MapRead, 0, new(MappedSubresource)))
}

func TestReleasedDeferredContext(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	o.def.Release()
	useAll(o.def, o)
	_, err := o.def.FinishCommandList(false)
	check(t, ddi.DXGIInvalidCall, err)
	check(t, ddi.DXGIInvalidCall, o.def.Map(o.vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
}

func TestImmediateContextOutlivesItsReferences(t *testing.T) {
	b := newBench(t)
	assert.Zero(t, b.ctx.Release())
	b.ctx.Flush()
	assert.Same(t, b.ctx, b.dev.GetImmediateContext())
	assert.Equal(t, 1, b.drv.count("Flush"))
}

func TestSwapChain(t *testing.T) {
	b := newBench(t)
	b.breaks = []string{"submit-place", "callback-refused"}
	good := SwapChainDesc{Width: 2, Height: 1, Format: dxgi.R8G8B8A8UNorm, BufferCount: 1}
	for name, change := range map[string]func(*SwapChainDesc){
		"no width":                        func(d *SwapChainDesc) { d.Width = 0 },
		"no height":                       func(d *SwapChainDesc) { d.Height = 0 },
		"no buffers":                      func(d *SwapChainDesc) { d.BufferCount = 0 },
		"two buffers":                     func(d *SwapChainDesc) { d.BufferCount = 2 },
		"a depth format":                  func(d *SwapChainDesc) { d.Format = dxgi.D32Float },
		"a format that is not renderable": func(d *SwapChainDesc) { d.Format = dxgi.R8G8B8A8Typeless },
	} {
		bad := good
		change(&bad)
		_, err := b.dev.CreateSwapChain(bad)
		check(t, ddi.EInvalidArg, err, name)
	}
	s, err := b.dev.CreateSwapChain(good)
	require.NoError(t, err)
	assert.Equal(t, good, s.GetDesc())
	back, err := s.GetBuffer(0)
	require.NoError(t, err)
	_, err = s.GetBuffer(1)
	check(t, ddi.EInvalidArg, err)
	primary, err := s.GetPrimary()
	require.NoError(t, err)
	assert.True(t, b.drv.resources[id(&primary.obj)].arg.Primary)
	assert.EqualValues(t, 0x80, b.drv.resources[id(&primary.obj)].arg.BindFlags)
	assert.EqualValues(t, 0xa0, b.drv.resources[id(&back.obj)].arg.BindFlags)
	assert.False(t, b.drv.resources[id(&back.obj)].arg.Primary)
	assert.EqualValues(t, BindRenderTarget, back.GetDesc().BindFlags)

	_, err = b.dev.CreateRenderTargetView(back, &RTVDesc{Format: dxgi.R8G8B8A8UNormSRGB, ViewDimension: RTVTexture2D})
	assert.NoError(t, err, "a back buffer can be seen as SRGB")
	b.ctx.ClearRenderTargetView(b.view(back), [4]float32{0, 1, 0, 1})
	require.NoError(t, s.Present(4, PresentTest))
	assert.Zero(t, b.drv.count("Present"))
	check(t, ddi.DXGIInvalidCall, s.Present(5, 0))
	check(t, ddi.DXGIInvalidCall, s.Present(0, 2))
	require.NoError(t, s.Present(1, 0))
	assert.Equal(t, []byte{0, 255, 0, 255, 0, 255, 0, 255}, b.drv.content(primary, 0))
	assert.Equal(t, []string{"Present"}, b.kern.calls)
	b.drv.hook = func(th *ddi.Thread, _ string) {
		assert.Equal(t, ddi.EInvalidArg, b.drv.arg.DXGICallbacks.PresentCb(th, b.drv.arg.RTDevice, nil), "outside Present")
	}
	b.ctx.Flush()
	b.drv.hook = nil

	s.Release()
	back.Release()
	primary.Release()
	check(t, ddi.DXGIInvalidCall, s.Present(0, 0))
	_, err = s.GetPrimary()
	check(t, ddi.DXGIInvalidCall, err)
}

func TestPresentResults(t *testing.T) {
	for _, tt := range []struct {
		driver       ddi.HRESULT
		kernel       ddi.Status
		want, reason ddi.HRESULT
	}{
		{ddi.EOutOfMemory, 0, ddi.EOutOfMemory, ddi.OK},
		{ddi.DDIStillDrawing, 0, ddi.DXGIStillDrawing, ddi.OK},
		{ddi.DDIDeviceRemoved, 0, ddi.DXGIDeviceRemoved, ddi.DXGIDeviceRemoved},
		{ddi.EFail, 0, ddi.DXGIDeviceRemoved, ddi.DXGIInternalError},
		{ddi.OK, ddi.StatusDeviceRemoved, ddi.DXGIDeviceRemoved, ddi.DXGIDeviceHung},
		{ddi.OK, ddi.StatusNoVideoMemory, ddi.EOutOfMemory, ddi.OK},
	} {
		b := newBench(t)
		s := newObjects(b).chain
		b.drv.presentErr, b.kern.status = tt.driver, tt.kernel
		check(t, tt.want, s.Present(0, 0), "%v %v", tt.driver, tt.kernel)
		check(t, tt.reason, b.dev.GetDeviceRemovedReason())
	}
}

func TestArenaReset(t *testing.T) {
	var a arena
	first := a.take(10)
	assert.Len(t, first, 10)
	assert.Equal(t, 10, cap(first))
	a.take(chunkSize * 3)
	for range keptChunks + 2 {
		a.take(chunkSize)
	}
	assert.NotSame(t, &first[0], &a.take(1)[0])
	a.reset()
	assert.Len(t, a.chunks, keptChunks)
	assert.Same(t, &first[0], &a.take(1)[0])
	assert.Empty(t, a.take(0))
}

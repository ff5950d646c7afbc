package d3d11

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// openIdle opens a device with two buffers. Its driver does nothing in lists.
func openIdle(tb testing.TB) (*Device, *Context, *Buffer, *Buffer) {
	drv, kern := newFakeDriver(), &fakeKernel{}
	natively(drv, nil)
	drv.editTable = func(f *umddi.DeviceFuncs) {
		f.RecycleCreateCommandList = func(*ddi.Thread, umddi.HDevice, *umddi.CreateCommandList, umddi.HCommandList, umddi.HRTCommandList) ddi.HRESULT {
			return ddi.OK
		}
		f.RecycleDestroyCommandList = func(*ddi.Thread, umddi.HDevice, umddi.HCommandList) {}
		f.CommandListExecute = func(*ddi.Thread, umddi.HDevice, umddi.HCommandList) {}
		f.RecycleCreateDeferredContext = func(*ddi.Thread, umddi.HDevice, *umddi.CreateDeferredContext) ddi.HRESULT { return ddi.OK }
		f.ResourceCopy = func(*ddi.Thread, umddi.HDevice, umddi.HResource, umddi.HResource) {}
	}
	drv.native.editContextTable = func(f *umddi.DeviceFuncs) {
		f.CreateResource = func(*ddi.Thread, umddi.HDevice, *umddi.CreateResource, umddi.HResource, umddi.HRTResource) {}
		f.DestroyResource = func(*ddi.Thread, umddi.HDevice, umddi.HResource) {}
		f.ResourceCopy = func(*ddi.Thread, umddi.HDevice, umddi.HResource, umddi.HResource) {}
		f.VsSetConstantBuffers = func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource) {}
		f.IaSetVertexBuffers = func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource, []uint32, []uint32) {}
		f.RecycleCommandList = func(*ddi.Thread, umddi.HDevice, umddi.HCommandList) {}
	}
	dev, ctx, err := CreateDevice(Config{Driver: drv.openAdapter, Kernel: kern.thunks()})
	require.NoError(tb, err)
	tb.Cleanup(dev.Close)
	buf := func() *Buffer {
		b, err := dev.CreateBuffer(BufferDesc{ByteWidth: 16, BindFlags: BindVertexBuffer}, nil)
		require.NoError(tb, err)
		return b
	}
	return dev, ctx, buf(), buf()
}

// recordCopy records, finishes and releases a list of one copy.
func recordCopy(c *Context, dst, src *Buffer) bool {
	c.CopyResource(dst, src)
	l, err := c.FinishCommandList(false)
	if err != nil {
		return false
	}
	return l.Release() == 0
}

// BenchmarkListOverhead measures the runtime's overhead for a list of one copy.
// The driver does nothing.
func BenchmarkListOverhead(b *testing.B) {
	b.Run("record", func(b *testing.B) {
		dev, _, dst, src := openIdle(b)
		c, err := dev.CreateDeferredContext(0)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			recordCopy(c, dst, src)
		}
	})
	b.Run("execute", func(b *testing.B) {
		dev, ctx, dst, src := openIdle(b)
		c, err := dev.CreateDeferredContext(0)
		require.NoError(b, err)
		c.CopyResource(dst, src)
		l, err := c.FinishCommandList(false)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			ctx.ExecuteCommandList(l, false)
		}
	})
	b.Run("immediate", func(b *testing.B) {
		_, ctx, dst, src := openIdle(b)
		b.ReportAllocs()
		for b.Loop() {
			ctx.CopyResource(dst, src)
		}
	})
}

// BenchmarkRecordParallel records the same buffers on one context per
// processor.
func BenchmarkRecordParallel(b *testing.B) {
	dev, _, dst, src := openIdle(b)
	b.RunParallel(func(pb *testing.PB) {
		c, err := dev.CreateDeferredContext(0)
		if err != nil {
			b.Error(err)
			return
		}
		for pb.Next() {
			recordCopy(c, dst, src)
		}
	})
}

// TestListsDoNotAllocate: in the steady state a list allocates no memory,
// except one slab of CommandLists per slabSize lists.
func TestListsDoNotAllocate(t *testing.T) {
	dev, ctx, dst, src := openIdle(t)
	c, err := dev.CreateDeferredContext(0)
	require.NoError(t, err)
	recordCopy(c, dst, src)
	assert.Zero(t, testing.AllocsPerRun(500, func() { recordCopy(c, dst, src) }), "record, finish, release")
	assert.Zero(t, testing.AllocsPerRun(500, func() {
		c.CopyResource(dst, src)
		l, _ := c.FinishCommandList(true)
		ctx.ExecuteCommandList(l, true)
		l.Release()
	}), "with execution")
	bound, strides := []*Buffer{src, dst}, []uint32{4, 4}
	assert.Zero(t, testing.AllocsPerRun(500, func() {
		c.IASetVertexBuffers(0, bound, strides, strides)
		l, _ := c.FinishCommandList(true)
		l.Release()
		c.ClearState()
	}), "with state")
	alive := make([]*CommandList, 100)
	churn := func() {
		for i := range alive {
			if alive[i] != nil {
				alive[i].Release()
			}
			c.CopyResource(dst, src)
			alive[i], _ = c.FinishCommandList(false)
		}
	}
	churn()
	churn()
	assert.LessOrEqual(t, testing.AllocsPerRun(10, churn), 1.0, "with a hundred live lists")
}

// TestSealRace releases lists on other goroutines while their contexts are
// destroyed. The fake driver checks the state of each handle.
func TestSealRace(t *testing.T) {
	b := nativeBench(t)
	x, y := b.constant(), b.constant()
	for range 30 {
		var all sync.WaitGroup
		for range 2 {
			dc := b.deferred()
			lists := make([]*CommandList, 8)
			for i := range lists {
				dc.CopyResource(x, y)
				lists[i] = b.finish(dc, false)
			}
			for i := range 4 {
				all.Go(func() {
					lists[2*i].Release()
					lists[2*i+1].Release()
				})
			}
			all.Go(func() { dc.Release() })
		}
		all.Wait()
		assert.Empty(t, b.drv.native.lists)
		assert.Nil(t, b.dev.lists)
	}
}

// TestListsOfManyThreads releases lists on goroutines other than the recording
// one, while contexts are created and destroyed. It is for the race detector.
func TestListsOfManyThreads(t *testing.T) {
	dev, ctx, dst, src := openIdle(t)
	lists := make(chan *CommandList, 16)
	var record, release sync.WaitGroup
	for range 4 {
		release.Go(func() {
			for l := range lists {
				l.Release()
			}
		})
		record.Go(func() {
			for range 20 {
				c, err := dev.CreateDeferredContext(0)
				if !assert.NoError(t, err) {
					return
				}
				for range 20 {
					c.CopyResource(dst, src)
					l, err := c.FinishCommandList(false)
					if !assert.NoError(t, err) {
						return
					}
					lists <- l
				}
				c.Release()
			}
		})
	}
	for range 200 {
		ctx.CopyResource(dst, src)
	}
	record.Wait()
	close(lists)
	release.Wait()
	assert.Nil(t, dev.lists, "no list is left of destroyed contexts")
}

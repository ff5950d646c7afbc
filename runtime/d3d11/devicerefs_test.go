package d3d11

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// TestDeviceReferences: each object that the application refers to keeps the
// device, and the last Release of any closes it.
func TestDeviceReferences(t *testing.T) {
	for name, last := range map[string]func(b *bench, o *objects) interface{ Release() uint32 }{
		"the device":            func(b *bench, o *objects) interface{ Release() uint32 } { return b.dev },
		"the immediate context": func(b *bench, o *objects) interface{ Release() uint32 } { return b.ctx },
		"a buffer":              func(b *bench, o *objects) interface{ Release() uint32 } { return o.cb },
		"a view":                func(b *bench, o *objects) interface{ Release() uint32 } { return o.rtv },
		"a query":               func(b *bench, o *objects) interface{ Release() uint32 } { return o.query },
		"a swap chain":          func(b *bench, o *objects) interface{ Release() uint32 } { return o.chain },
		"a context state":       func(b *bench, o *objects) interface{ Release() uint32 } { return o.state },
		"a deferred context":    func(b *bench, o *objects) interface{ Release() uint32 } { return o.def },
		"a list":                func(b *bench, o *objects) interface{ Release() uint32 } { return o.list },
	} {
		for _, change := range []func(*fakeDriver, *Config){func(*fakeDriver, *Config) {}, natively} {
			b := newBench(t, change)
			b.breaks = []string{"submit-place"}
			o := newObjects(b)
			end := last(b, o)
			for _, x := range []interface{ Release() uint32 }{
				b.dev, b.ctx, o.cb, o.vb, o.staging, o.tex, o.rtv, o.query, o.chain, o.state, o.def, o.list,
			} {
				if x != end {
					x.Release()
					require.NoError(t, b.dev.GetDeviceRemovedReason(), "%s is left", name)
				}
			}
			assert.Zero(t, end.Release(), name)
			check(t, ddi.DXGIDeviceRemoved, b.dev.GetDeviceRemovedReason(), name)
			assert.Zero(t, b.drv.open, "%s: the driver is closed", name)
			assert.Zero(t, b.kern.devices, name)
			assert.Zero(t, b.dev.Release(), "the device is closed")
			assert.Zero(t, b.dev.AddRef())
		}
	}
}

// TestDeviceReferenceCount: the count is COM's: one of the application, and one
// for each object it refers to, however often.
func TestDeviceReferenceCount(t *testing.T) {
	b := newBench(t)
	count := func() uint32 { b.dev.AddRef(); return b.dev.Release() }
	require.EqualValues(t, 2, count(), "the device and the immediate context")
	buf := b.constant()
	buf.AddRef()
	assert.EqualValues(t, 3, count())
	buf.Release()
	b.ctx.VSSetConstantBuffers(0, []*Buffer{buf})
	buf.Release()
	assert.EqualValues(t, 2, count(), "a binding holds the buffer, not the device")
	got := make([]*Buffer, 1)
	b.ctx.VSGetConstantBuffers(0, got)
	assert.EqualValues(t, 3, count(), "the application has a reference again")
	assert.Same(t, b.dev, got[0].GetDevice())
	assert.EqualValues(t, 4, count(), "GetDevice adds a reference")
	b.dev.Release()
	got[0].Release()
	assert.EqualValues(t, 2, count())
}

// TestDeviceOfLists: the lists of a released context keep the device, whichever
// goroutine releases them.
func TestDeviceOfLists(t *testing.T) {
	for _, change := range []func(*fakeDriver, *Config){func(*fakeDriver, *Config) {}, natively} {
		b := newBench(t, change)
		dc := b.deferred()
		x, y := b.constant(), b.constant()
		lists := make([]*CommandList, 64)
		for i := range lists {
			dc.CopyResource(x, y)
			lists[i] = b.finish(dc, false)
		}
		x.Release()
		y.Release()
		dc.Release()
		b.ctx.Release()
		b.dev.Release()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for _, l := range lists[8*i : 8*i+8] {
					l.Release()
				}
			})
		}
		all.Wait()
		check(t, ddi.DXGIDeviceRemoved, b.dev.GetDeviceRemovedReason())
		assert.Zero(t, b.drv.open)
	}
}

package verifier

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Calls of two threads on one deferred context overlap, whatever the functions.
func TestOverlapOnDeferredContexts(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(d *deferredRig, l umddi.HCommandList)
	}{
		{"RecycleCommandList on another thread", func(d *deferredRig, l umddi.HCommandList) { d.funcs.RecycleCommandList(d.other, d.h, l) }},
		{"CreateCommandList on another thread", func(d *deferredRig, _ umddi.HCommandList) {
			d.dth = d.other
			d.list()
		}},
		{"an open on another thread", func(d *deferredRig, _ umddi.HCommandList) {
			d.dth = d.other
			d.open(d.make().buffer())
		}},
	} {
		r := collecting(t)
		d := r.deferred("d")
		l := d.finish()
		r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
		r.calls("IaSetTopology", func(*ddi.Thread) { tt.act(d, l) })
		d.funcs.IaSetTopology(r.dth, d.h, 1)
		assert.Contains(t, r.broken(), "context-overlap", tt.name)
	}
}

// A primary needs the immediate context's thread; other resources may use any.
func TestPrimaryIsNotFreeThreaded(t *testing.T) {
	for _, primary := range []bool{false, true} {
		r := collecting(t)
		r.calls("Flush", func(*ddi.Thread) { maker{r, r.other}.resource(umddi.CreateResource{Primary: primary}) })
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, primary, slices.Contains(r.broken(), "context-overlap"))
	}
}

// With several threads, private memory is read only while no function uses it.
func TestThreads(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.sizes()
	res := r.make().buffer()
	var mu sync.Mutex
	r.driver["ResourceCopy"] = func([]any, []any) {
		mu.Lock()
		res.Private[0]++
		mu.Unlock()
	}
	var ds []*deferredRig
	for i := range 4 {
		d := r.deferred(fmt.Sprint("d", i))
		d.rig = &rig{t: r.t, k: r.k, th: r.th, dth: &ddi.Thread{Process: 1, ID: uint32(10 + i)}, other: r.other, dev: r.dev, funcs: r.funcs}
		ds = append(ds, d)
	}
	var wg sync.WaitGroup
	for _, d := range ds {
		wg.Go(func() {
			for range 50 {
				local := d.open(res)
				d.funcs.IaSetIndexBuffer(d.dth, d.h, local, 0, 0)
				l := d.list()
				d.funcs.DestroyResource(d.dth, d.h, local)
				d.renew()
				r.funcs.RecycleDestroyCommandList(d.dth, r.dev, l)
				d.funcs.RecycleCommandList(d.dth, d.h, l)
				r.funcs.DestroyCommandList(d.dth, r.dev, l)
			}
		})
	}
	for range 50 {
		r.funcs.ResourceCopy(r.th, r.dev, res, res)
	}
	wg.Wait()
	for _, d := range ds {
		d.funcs.DestroyDevice(d.dth, d.h)
	}
	r.funcs.DestroyResource(r.th, r.dev, res)
	r.funcs.DestroyDevice(r.th, r.dev)
	assert.Empty(t, r.broken())
	assert.LessOrEqual(t, len(r.k.objects), maxDestroyedObjects+1)
}

// The checker forgets a thread after its call, unless the driver has told it a size that no object has yet.
func TestThreadsAreForgotten(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.sizes()
	for i := range uint32(100) {
		th := &ddi.Thread{Process: 1, ID: 10 + i}
		maker{r, th}.buffer()
	}
	require.False(t, r.m.Stopped(), "%v", r.m.Violations())
	assert.Empty(t, r.k.threads)
	arg := umddi.CreateResource{}
	private := memoryOf(r.funcs.CalcPrivateResourceSize(r.other, r.dev, &arg))
	assert.Len(t, r.k.threads, 1)
	r.funcs.CreateResource(r.other, r.dev, &arg, umddi.HResource{Object: private}, umddi.HRTResource{})
	assert.Empty(t, r.k.threads)
	assert.LessOrEqual(t, len(r.k.idle), 2, "they are used again")
}

package suite

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// claims returns the capabilities that the driver claims.
func (d *d3d) claims() (f d3d11.FeatureDataThreading) {
	d.t.Helper()
	require.NoError(d.t, d.dev.CheckFeatureSupport(d3d11.FeatureThreading, &f), "CheckFeatureSupport always succeeds")
	return f
}

// A free-threaded driver creates and destroys resources on several threads at a
// time, while the immediate context works.
func concurrentCreates(t *T) {
	d := newD3D(t)
	if !d.claims().DriverConcurrentCreates {
		t.Skipf("the driver does not claim CapsFreeThreaded")
	}
	const threads, rounds = 4, 25
	kept := make([]*d3d11.Buffer, threads)
	errs := make([]error, threads)
	var all sync.WaitGroup
	for n := range threads {
		all.Go(func() {
			for i := range rounds {
				b, err := d.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer},
					&d3d11.SubresourceData{SysMem: count(n+i, 64)})
				if err != nil {
					errs[n] = fmt.Errorf("buffer %d of thread %d: %w", i, n, err)
					return
				}
				if kept[n] != nil {
					kept[n].Release()
				}
				kept[n] = b
			}
		})
	}
	to := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	from := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(7, 64))
	for range rounds {
		d.ctx.CopyResource(to, from)
		d.ctx.Flush()
	}
	all.Wait()
	for n, err := range errs {
		require.NoError(t, err, "threads create at the same time")
		same(t, count(n+rounds-1, 64), d.contents(kept[n]), "the last buffer of thread %d has its initial contents", n)
	}
	same(t, count(7, 64), d.contents(to), "the immediate context copies meanwhile")
}

// executions counts the calls of pfnCommandListExecute.
type executions struct{ n atomic.Int32 }

func (e *executions) Enter(_ *ddi.Thread, f *verifier.Func, _ ...any) {
	if f.Name == "pfnCommandListExecute" {
		e.n.Add(1)
	}
}

func (e *executions) Leave(*ddi.Thread, *verifier.Func, ...any) {}

// A driver with command lists gets one call for each execution of a list.
func driverCommandLists(t *T) {
	calls := new(executions)
	d := d3dOf(t, t.Open(testbench.Options{Hook: calls}))
	if !d.claims().DriverCommandLists {
		t.Skipf("the driver does not claim CapsCommandListsBuild2")
	}
	dst := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	src := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(1, 64))
	def := d.deferred()
	def.CopyResource(dst, src)
	l := d.finish(def, false)
	assert.Zero(t, calls.n.Load(), "recording executes nothing")
	for n := range int32(3) {
		d.ctx.UpdateSubresource(src, 0, nil, count(int(n), 64), 0, 0)
		d.ctx.ExecuteCommandList(l, n%2 == 0)
		assert.Equal(t, n+1, calls.n.Load(), "each execution calls pfnCommandListExecute once")
		same(t, count(int(n), 64), d.contents(dst), "the list copies what its source has when it executes")
	}
}

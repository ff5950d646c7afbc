package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A job that finds no room beside a part that is made and waits moves nothing in vain. Its
// own paging buffers would otherwise take the room in the hardware for which the other one
// waits, again and again.
//
// docs/properties.md: S7.
func TestHeldPlacesAreAwaited(t *testing.T) {
	r := newRig(t, options{vram: 8192, nodes: 2, capacity: 3})
	a, b, c, d := r.alloc(4096, local), r.alloc(4096, local), r.alloc(2048, local), r.alloc(64, system)
	r.render(fill(c, 0, 2048, 5))
	r.wait()
	pager := r.context(1)
	r.mini.log = nil
	r.gpu.auto = false
	r.ok(r.submit(pager, fill(d, 0, 64, 1))) // in the hardware of the paging node
	r.render(fill(a, 0, 4096, 1))            // made: it waits for a's paging buffer
	r.ok(r.submit(pager, copyTo(b, 0, c, 0, 2048), fill(b, 2048, 2048, 7)))
	for range 10 {
		r.enter()
	}
	assert.Equal(t, []string{"BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.gpu.auto = true
	r.wait()
	assert.Equal(t, append(repeat(5, 2048), repeat(7, 2048)...), r.read(b))
	assert.Equal(t, repeat(1, 4096), r.read(a))
	r.finish()
}

// A lock with IgnoreSync keeps the place of its allocation. It is given only when the
// queued work of every process finds places all the same, so that no work waits for ever.
func TestIgnoreSyncLetsQueuedWorkRun(t *testing.T) {
	r := newRig(t, options{vram: 8192, capacity: 1})
	a, busy := r.alloc(2048, local), r.alloc(64, system)
	r.render(fill(a, 0, 2048, 1))
	r.wait()
	p := r.process(2)
	p.open(0)
	whole := p.alloc(8192, local)
	r.gpu.auto = false
	r.render(fill(busy, 0, 64, 1))
	p.render(fill(whole, 0, 8192, 9)) // in the software queue
	lock := &umddi.Lock{Allocation: a, IgnoreSync: true, DoNotWait: true}
	assert.Equal(t, ddi.StatusAllocationBusy, r.lock(lock))
	r.gpu.auto = true
	lock.DoNotWait = false
	r.ok(r.lock(lock))
	assert.Equal(t, repeat(1, 2048), lock.Data)
	// The job had its turn first, so a is not in VRAM, where it would be pinned.
	r.unlock(a)
	assert.Equal(t, repeat(9, 8192), p.read(whole))
	r.finish()
}

// Work is refused at once, if it finds no room beside what is pinned, although it has its
// places at that time.
func TestResidentWorkBesidePinned(t *testing.T) {
	r := newRig(t, options{vram: 8192, capacity: 1})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(a, 0, 4096, 1), fill(b, 0, 4096, 2))
	r.wait()
	p := r.process(2)
	p.open(0)
	whole := p.alloc(6144, local)
	r.ok(r.lock(&umddi.Lock{Allocation: a, IgnoreSync: true}))
	assert.Equal(t, ddi.StatusNoVideoMemory, p.submit(&p.ctx, fill(whole, 0, 6144, 9)))
	r.render(fill(b, 0, 4096, 3))
	r.unlock(a)
	p.render(fill(whole, 0, 6144, 9))
	assert.Equal(t, repeat(9, 6144), p.read(whole))
	assert.Equal(t, repeat(3, 4096), r.read(b))
	r.finish()
}

// Stop ends although another thread finds a broken contract while Stop waits for it.
func TestStopDuringABugcheck(t *testing.T) {
	r := newRig(t, options{capacity: 1})
	a, b := r.alloc(64, system), r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.render(fill(b, 0, 64, 1)) // in the software queue
	p := r.process(2)
	waits := false
	var ended *Bugcheck
	r.kernel.Run(4, []Task{
		{r.thread, func(*ddi.Thread) {
			waits = true
			ended = crash(func() { r.thunks.WaitForIdle(r.thread, r.dev) })
		}},
		{p.thread, func(*ddi.Thread) {
			for !waits {
				p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
			}
			r.mini.fail["Patch"] = ddi.StatusInvalidParameter
			r.gpu.auto = true
			assert.NoError(t, r.kernel.Stop(p.thread))
		}},
	})
	require.NotNil(t, ended)
	assert.True(t, r.kernel.stopped)
	assert.NoError(t, r.kernel.Stop(r.thread))
}

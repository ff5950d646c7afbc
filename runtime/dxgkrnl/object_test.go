package dxgkrnl

import (
	"sync"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/properties.md: F11.
func TestHandles(t *testing.T) {
	var h table
	a, ok := h.add("a")
	require.True(t, ok)
	b, _ := h.add("b")
	assert.Equal(t, "a", h.get(a))
	assert.Equal(t, "b", h.get(b))
	assert.Nil(t, h.get(0))
	assert.Nil(t, h.get(b+1))
	h.remove(a)
	assert.Nil(t, h.get(a))
	c, _ := h.add("c")
	assert.NotEqual(t, a, c)
	assert.Nil(t, h.get(a), "a stale handle does not refer to the slot's new object")
	assert.Equal(t, "c", h.get(c))
}

func TestHandleSlotsWearOut(t *testing.T) {
	var h table
	seen := map[ddi.KMHandle]bool{}
	for range 2*maxGeneration + 5 {
		a, ok := h.add(1)
		require.True(t, ok)
		require.False(t, seen[a], "%#x again", a)
		seen[a] = true
		h.remove(a)
	}
	assert.Len(t, h.slots, 3)
}

func TestDestructionWaitsForTheGPU(t *testing.T) {
	for _, set := range []uint32{local, system} {
		r := newRig(t, options{})
		a := r.alloc(64, set)
		r.gpu.auto = false
		r.render(fill(a, 0, 64, 1))
		r.mini.log = nil
		r.ok(r.destroy(a))
		assert.Equal(t, ddi.StatusInvalidHandle, r.destroy(a), "the handle is stale at once")
		for len(r.gpu.queues[0]) > 0 {
			assert.Empty(t, r.logged("Close", "Destroy"))
			r.gpu.complete(0)
			r.enter()
		}
		assert.Equal(t, []string{"CloseAllocation", "DestroyAllocation"}, r.logged("Close", "Destroy"))
		r.finish()
	}
}

func TestRoomOfTheDestroyedIsReusedSafely(t *testing.T) {
	r := newRig(t, options{vram: 4096, nodes: 2})
	r.gpu.choose = func() int { return 1 } // paging first, if possible
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(a, 0, 4096, 1))
	r.ok(r.destroy(a))
	r.render(fill(b, 0, 16, 2))
	assert.Equal(t, append(repeat(2, 16), repeat(0, 4080)...), r.read(b))
	r.finish()
}

// docs/properties.md: F11.
func TestDestroyAllocationIsAllOrNothing(t *testing.T) {
	r := newRig(t, options{})
	a, b := r.alloc(64, system), r.alloc(64, system)
	foreign, s := r.thunks.CreateDevice(r.thread)
	r.ok(s)
	other := &umddi.Deallocate{Allocations: []ddi.KMHandle{a}}
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.DestroyAllocation(r.thread, foreign, other))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.Lock(r.thread, foreign, &umddi.Lock{Allocation: a}))
	assert.Equal(t, ddi.StatusInvalidHandle, r.destroy(a, b, a))
	assert.Equal(t, ddi.StatusInvalidHandle, r.destroy(a, r.ctx.Context))
	r.ok(r.destroy(b, a))
	r.finish()
}

// docs/validator.md: V28.
func TestFailedCreates(t *testing.T) {
	r := newRig(t, options{})
	for _, tt := range []struct {
		call string
		want []string
	}{
		{"CreateAllocation", []string{"CreateAllocation"}},
		{"OpenAllocation", []string{"CreateAllocation", "OpenAllocation create=true", "DestroyAllocation"}},
	} {
		r.mini.fail[tt.call] = ddi.StatusNoMemory
		r.mini.log = nil
		arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: private{size: 4, supported: system}.encode()}}}
		assert.Equal(t, ddi.StatusNoMemory, r.thunks.CreateAllocation(r.thread, r.dev, arg))
		assert.Equal(t, tt.want, r.mini.log)
		delete(r.mini.fail, tt.call)
	}
	r.mini.log = nil
	two := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{
		{PrivateDriverData: private{size: 4, supported: system}.encode()}, {PrivateDriverData: private{size: 0}.encode()},
	}}
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.CreateAllocation(r.thread, r.dev, two))
	assert.Equal(t, ddi.KMHandle(0), two.AllocationInfo[0].Allocation)
	assert.Equal(t, []string{
		"CreateAllocation", "OpenAllocation create=true", "CreateAllocation", "DestroyAllocation", "CloseAllocation", "DestroyAllocation",
	}, r.mini.log)

	for _, call := range []string{"CreateDevice", "CreateContext"} {
		r.mini.fail[call] = ddi.StatusNoMemory
	}
	_, s := r.thunks.CreateDevice(r.thread)
	assert.Equal(t, ddi.StatusNoMemory, s)
	assert.Equal(t, ddi.StatusNoMemory, r.thunks.CreateContext(r.thread, r.dev, &umddi.CreateContext{}))
	clear(r.mini.fail)
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.CreateContext(r.thread, r.dev, &umddi.CreateContext{NodeOrdinal: 1}))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.CreateContext(r.thread, r.ctx.Context, &umddi.CreateContext{}))
	r.finish()
}

// docs/properties.md: F12.
func TestDestroyDeviceWithWorkInFlight(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.render(fill(a, 0, 64, 1))
	r.mini.log = nil
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	assert.Equal(t, []string{"DestroyContext", "CloseAllocation", "DestroyAllocation", "DestroyDevice"}, r.logged("Destroy", "Close"))
	assert.Empty(t, r.gpu.queues[0], "destroyed after the work")
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.DestroyDevice(r.thread, r.dev))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.DestroyContext(r.thread, r.ctx.Context))
	r.finish()
}

// docs/properties.md: F12.
func TestDestroyContextWaitsForItsWork(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.render(fill(a, 0, 64, 1))
	r.ok(r.thunks.DestroyContext(r.thread, r.ctx.Context))
	assert.Empty(t, r.gpu.queues[0])
	r.finish()
}

// Each goroutine has its own device, as a process has.
func TestThreads(t *testing.T) {
	r := newRig(t, options{vram: 8192, nodes: 2})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			q := &rig{TestingT: t, gpu: r.gpu, mini: r.mini, kernel: r.kernel, thread: &ddi.Thread{Process: uint32(g)}, thunks: r.thunks}
			var s ddi.Status
			q.dev, s = q.thunks.CreateDevice(q.thread)
			q.ok(s)
			q.ok(q.thunks.CreateContext(q.thread, q.dev, &q.ctx))
			a := q.alloc(4096, local)
			for i := range 20 {
				q.render(fill(a, 0, 4096, byte(g*20+i)))
				assert.Equal(t, repeat(byte(g*20+i), 4096), q.read(a))
			}
			q.ok(q.thunks.DestroyDevice(q.thread, q.dev))
		})
	}
	wg.Wait()
	r.finish()
}

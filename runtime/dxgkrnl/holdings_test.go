package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// What a process makes is counted while it is there, and its work while that has not ended.
func TestHoldings(t *testing.T) {
	r := newRig(t, options{capacity: 2, aperture: 4})
	empty := r.kernel.Holdings()
	assert.Equal(t, Holdings{Processes: 1, Devices: 1, Contexts: 1, Handles: 2, DMABuffers: 1, DriverMemory: empty.DriverMemory, Mappings: empty.Mappings}, empty)
	p := r.opened(7)
	second, s := p.thunks.CreateDevice(p.thread)
	p.ok(s)
	a, b := p.alloc(4096, local), p.alloc(100, system)
	p.gpu.auto = false
	for range 4 {
		p.render(copyTo(a, 0, b, 0, 100))
	}
	busy := p.kernel.Holdings()
	assert.Equal(t, []int{2, 3, 2, 2, 2 + 1 + 2 + 2}, []int{busy.Processes, busy.Devices, busy.Contexts, busy.Allocations, busy.Handles})
	assert.Equal(t, []uint64{4096, 4096}, []uint64{busy.MemoryBytes, busy.ApertureBytes})
	assert.Equal(t, 4, busy.DMABuffers-1)
	assert.GreaterOrEqual(t, busy.Submissions, 2, "the hardware is full")
	assert.Positive(t, busy.Jobs+busy.Submissions-2, "the rest waits")
	p.gpu.auto = true
	p.wait()
	idle := p.kernel.Holdings()
	assert.Zero(t, idle.Submissions+idle.Jobs)
	p.ok(p.destroy(a))
	p.ok(p.thunks.DestroyDevice(p.thread, second))
	p.ok(p.thunks.DestroyDevice(p.thread, p.dev))
	assert.Equal(t, empty, r.kernel.Holdings())
	r.finish()
}

// An allocation that is destroyed while the GPU uses it is held until the GPU has ended.
func TestHoldingsOfTheDestroyed(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(4096, local)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.ok(r.destroy(a))
	h := r.kernel.Holdings()
	assert.Equal(t, []int{1, 2}, []int{h.Allocations, h.Handles}, "the handle is gone")
	r.gpu.auto = true
	for range 2 { // the first takes its place, see reap
		r.wait()
		require.NoError(t, r.kernel.WaitForIdle(r.thread))
		r.enter()
	}
	assert.Zero(t, r.kernel.Holdings().Allocations)
	r.finish()
}

// Memory of the miniport, and what a stopped GPU may use, is counted.
func TestHoldingsOfAStoppedGPU(t *testing.T) {
	r := newRig(t, options{})
	before := r.kernel.Holdings()
	block, s := allocateContiguousMemory(r.thread, r.kernel.cb.DeviceHandle, 4096)
	r.ok(s)
	assert.Equal(t, before.DriverMemory+1, r.kernel.Holdings().DriverMemory)
	r.kernel.freeContiguousMemory(r.thread, r.kernel.cb.DeviceHandle, block)
	assert.Equal(t, before, r.kernel.Holdings())
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev), "it hangs")
	r.ok(r.destroy(a))
	assert.Equal(t, 1, r.kernel.Holdings().Kept)
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	assert.NoError(t, r.kernel.Stop(r.thread))
}

package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// The error names the fence of the work that hung, also if a preemption has used the one
// after the last completed fence.
func TestFenceOfStoppedWorkThatHangs(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true})
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], command{op: opHang})) // fence 1; 2 is the preemption
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Err(), &e)
	assert.EqualValues(t, 3, e.Fence)
	assert.Contains(t, e.Work, "DxgkDdiSubmitCommand")
}

// An allocation that is destroyed leaves its place first, also if it was used last. Its content
// is not copied out.
func TestDestroyedLeavesFirst(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	old, used, next := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(old, 0, 64, 1))
	r.wait()
	r.gpu.auto = false
	r.render(fill(used, 0, 64, 2))
	r.gpu.complete(1 - 1) // its paging buffer
	r.enter()
	r.ok(r.destroy(used))
	r.mini.log = nil
	r.render(fill(next, 0, 64, 3))
	assert.Equal(t, []string{"BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.gpu.auto = true
	assert.Equal(t, repeat(1, 64), r.read(old)[:64])
	assert.Equal(t, repeat(3, 64), r.read(next)[:64])
	r.finish()
}

// An allocation that is too large for the aperture goes to a memory segment, which a smaller one
// of the same group has left.
func TestGroupThatFitsInBothSegments(t *testing.T) {
	r := newRig(t, options{vram: 8192, aperture: 1})
	x, y := r.alloc(4096, both), r.alloc(8192, both)
	second := fill(y, 0, 64, 2)
	second.join = true
	r.render(fill(x, 0, 64, 1), second)
	r.wait()
	assert.Equal(t, repeat(1, 64), r.read(x)[:64])
	assert.Equal(t, repeat(2, 64), r.read(y)[:64])
	r.finish()
}

// A context pays for the time for which a node executed its work until it stopped, and no more.
func TestStoppedWorkIsCharged(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.gpu.now += 5000
	q.devices[0].render(halves(q.targets[0], 1)...)
	c := q.kernel.handles.get(q.contexts[0].Context).(*context)
	used, began := c.used, q.kernel.nodes[0].hardware[0].began
	q.gpu.now += 70
	q.work(1)
	require.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	assert.InDelta(t, used+q.gpu.now-began, c.used, 5)
	assert.GreaterOrEqual(t, c.used-used, uint64(70))
	q.end()
}

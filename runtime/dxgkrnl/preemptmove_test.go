package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The content of a destroyed allocation is kept for a buffer that is stopped between the
// write and the read of it.
func TestStoppedWorkUsesTheDestroyed(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, b, whole := low.alloc(2048, local), low.alloc(2048, system), high.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(a, 0, 16, 1))
	low.wait()
	q.gpu.auto = false
	low.render(fill(a, 0, 2048, 7), copyTo(b, 0, a, 0, 2048))
	low.ok(low.destroy(a))
	high.render(fill(whole, 0, 8192, 9)) // stops the buffer after the fill
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	q.gpu.auto = true
	assert.Equal(t, repeat(7, 2048), low.read(b))
	q.end()
}

// An eviction waits for the work in the hardware that uses the allocation, although later
// work of the same context, which was stopped, uses it too.
func TestEvictionWaitsForTheFirstOfTwo(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, nodes: 2, vram: 8192})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, whole := low.alloc(4096, local), high.alloc(8192, local)
	other := high.context(1)
	q.gpu.auto = true
	low.render(fill(a, 0, 4096, 1))
	low.wait()
	q.gpu.auto = false
	low.render(fill(a, 0, 2048, 2))
	low.render(fill(a, 2048, 2048, 3))
	q.mini.preempt = func(node int) { q.gpu.stop(node, 0) }
	q.work(1)
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	q.kernel.caps.HwQueuePacketCap = 1
	q.gpu.complete(0) // the work of high priority; the first of the two goes on
	q.enter()
	high.ok(high.submit(other, fill(whole, 0, 8192, 9)))
	q.gpu.choose = func() int { return 1 }
	q.gpu.auto = true
	assert.Equal(t, append(repeat(2, 2048), repeat(3, 2048)...), low.read(a))
	assert.Equal(t, repeat(9, 8192), high.read(whole))
	q.end()
}

// Work of a high priority that is after other work in the hardware stops that.
func TestHigherPriorityInTheHardware(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	q.priority(1, 1)
	q.work(1)
	q.devices[0].render(halves(q.targets[0], 4)...)
	q.work(1)
	assert.Zero(t, q.kernel.Stats().Preemptions)
	q.gpu.complete(0)
	q.enter()
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	assert.Equal(t, []int{1, 0, 1, 1, 0}, *q.order)
	q.end()
}

// A context that was stopped has not waited while it had the node, so the other goes first.
func TestStoppedWorkIsNotOld(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, quantum: 10})
	q.devices[0].render(halves(q.targets[0], 4)...)
	q.gpu.now += 3 * agingQuantums * q.kernel.quantum
	q.work(1)
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	assert.Equal(t, []int{0, 1}, *q.order)
	q.end()
}

// A lock with IgnoreSync waits until stopped work has found its places.
func TestIgnoreSyncLetsStoppedWorkGoOn(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, whole := high.alloc(2048, local), low.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(whole, 0, 8192, 1))
	low.wait()
	q.gpu.auto = false
	low.render(fill(whole, 0, 4096, 2), fill(whole, 4096, 4096, 3))
	high.render(fill(a, 0, 2048, 9))
	for n := &q.kernel.nodes[0]; n.hardware[0].dma == nil; q.enter() { // its paging buffers
		q.gpu.complete(0)
	}
	lock := &umddi.Lock{Allocation: a, IgnoreSync: true, DoNotWait: true}
	assert.Equal(t, ddi.StatusAllocationBusy, high.thunks.Lock(high.thread, high.dev, lock))
	q.gpu.auto = true
	lock.DoNotWait = false
	high.ok(high.thunks.Lock(high.thread, high.dev, lock))
	assert.Equal(t, repeat(9, 2048), lock.Data)
	high.unlock(a)
	assert.Equal(t, append(repeat(2, 4096), repeat(3, 4096)...), low.read(whole))
	q.end()
}

// Groups that fit together only at the places that they have are no part of their own:
// after a preemption they would find no room.
func TestPartsFitAgain(t *testing.T) {
	r := newRig(t, options{preempts: true, vram: 8192})
	a := r.allocPrivate(private{size: 5000, align: 4, preferred: local, supported: local})
	b := r.allocPrivate(private{size: 2048, align: 4096, preferred: local, supported: local})
	r.render(fill(b, 0, 2048, 1))
	r.wait()
	r.render(fill(a, 0, 5000, 2), fill(b, 0, 1024, 3))
	r.wait()
	assert.EqualValues(t, 1, r.kernel.Stats().Splits)
	assert.Equal(t, repeat(2, 5000), r.read(a))
	assert.Equal(t, append(repeat(3, 1024), repeat(1, 1024)...), r.read(b))
	r.finish()
}

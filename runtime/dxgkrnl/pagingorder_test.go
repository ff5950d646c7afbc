package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A paging buffer waits for one that was taken back when its node stopped. A DMA buffer does not go before the second, also if
// the node stops inside a call of the driver, so that the first one is still waiting.
//
// docs/properties.md: S5.
func TestPagingThatWaitsForStoppedPaging(t *testing.T) {
	r := newRig(t, options{preempts: true, nodes: 2, capacity: 4, vram: 16384}) // node 1 has the paging buffers
	r.gpu.auto = false
	low, high, free := r.process(2), r.process(3), r.process(4)
	low.open(1)
	high.open(1)
	free.open(0)
	r.ok(r.thunks.SetContextSchedulingPriority(r.thread, high.ctx.Context, 1))
	target, a, whole, c := low.alloc(64, system), low.alloc(8192, local), high.alloc(12288, local), free.alloc(4096, local)
	low.write(a, repeat(5, 8192))
	free.write(c, repeat(6, 4096))
	low.ok(low.submit(&low.ctx, fill(target, 0, 64, 1)))
	low.ok(low.submit(&low.ctx, fill(a, 0, 4096, 1)))
	r.mini.preempt = func(int) {}
	high.ok(high.submit(&high.ctx, fill(whole, 0, 12288, 9)))
	r.mini.at = map[string]func(){"BuildPagingBuffer": func() {
		r.gpu.stop(1, 0)
		r.mini.read(r.kernel.thread, regStatus)
	}}
	r.mini.log = nil
	free.ok(free.submit(&free.ctx, fill(c, 0, 2048, 2)))
	r.gpu.auto = true
	for len(r.gpu.queues[1]) > 0 {
		r.gpu.step()
		r.enter()
	}
	assert.Equal(t, []string{
		"Submit paging fence=2 node=1", "Submit paging fence=5 node=1", "Submit paging fence=6 node=1",
	}, r.logged("Submit")[:3], "in the order of the fences")
	assert.Equal(t, repeat(9, 12288), high.read(whole))
	assert.Equal(t, append(repeat(1, 4096), repeat(5, 4096)...), low.read(a))
	assert.Equal(t, append(repeat(2, 2048), repeat(6, 2048)...), free.read(c))
}

// A node faults while the first of two paging buffers goes to it. The DMA buffer that needs both does not go before the second.
//
// docs/properties.md: S1.
func TestFaultBetweenPagingBuffers(t *testing.T) {
	q := newQueues(t, 2, options{resets: true, pagingBytes: opBytes})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 4, 4
	bad, good := q.devices[0], q.devices[1]
	a := good.alloc(2*4096, local)
	bad.ok(bad.submit(q.contexts[0], command{op: opFault}))
	q.mini.log = nil
	q.mini.at = map[string]func(){"Submit": func() {
		q.gpu.execute(0)
		q.mini.read(q.kernel.thread, regStatus)
	}}
	good.ok(good.submit(q.contexts[1], fill(a, 0, 4096, 7)))
	q.gpu.auto = true
	assert.Equal(t, repeat(7, 4096), good.read(a)[:4096])
	assert.Equal(t, []string{
		"Patch fence=4 node=0", "Submit paging fence=2 node=0", "ResetEngine node=0",
		"Submit paging fence=2 node=0", "Submit paging fence=3 node=0", "Patch fence=5 node=0", "Submit buffer fence=5 node=0",
	}, q.logged("Patch", "Submit", "Reset"))
	q.finish()
}

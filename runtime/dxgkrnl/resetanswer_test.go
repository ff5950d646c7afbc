package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An answer to the preemption that arrives during ResetEngine is too late: the work is aborted,
// and its device is lost.
func TestAnswerDuringAReset(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt = func(int) {}
	q.mini.at = map[string]func(){"ResetEngine": func() {
		m := q.mini
		m.cb.SynchronizeExecution(q.kernel.thread, m.cb.DeviceHandle, 0, func(th *ddi.Thread) bool {
			m.notify(th, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: m.stopping[0]})
			return m.cb.QueueDpc(th, m.cb.DeviceHandle)
		})
		q.kernel.dev.Deliver(q.kernel.thread)
	}}
	q.goesOn(1)
	q.lost(0, Timeout)
	assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
	q.finish()
}

// An answer that arrives after the decision, before ResetEngine, is in time: the node is not reset,
// and the work goes on. If it hangs again, its node is reset.
//
// docs/properties.md: T2.
func TestAnswerAfterTheDecision(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt = func(int) {}
	again := 0
	q.mini.patched = func(arg kmddi.Patch) {
		if arg.Flags.Resubmission {
			again++
		}
	}
	q.mini.at = map[string]func(){
		"CollectDbgInfo": func() {
			m := q.mini
			m.cb.SynchronizeExecution(q.kernel.thread, m.cb.DeviceHandle, 0, func(th *ddi.Thread) bool {
				m.notify(th, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: m.stopping[0], LastCompletedFenceID: m.last[0]})
				return m.cb.QueueDpc(th, m.cb.DeviceHandle)
			})
			q.gpu.queues[0], m.stopping[0] = nil, 0
			q.kernel.dev.Deliver(q.kernel.thread)
		},
		"ResetEngine": func() { assert.Positive(t, again, "the work went on before") },
	}
	q.goesOn(1)
	assert.EqualValues(t, 1, q.kernel.Stats().NodeResets, "the second time")
	q.lost(0, Timeout)
	q.finish()
}

// A device may be lost while its own thread places allocations and waits for a paging buffer.
// The kernel cancels the work that the thread makes after that, and frees all that it holds.
func TestLostWhileItsThreadPlaces(t *testing.T) {
	for _, aware := range []bool{false, true} {
		q := newQueues(t, 2, options{resets: true, vram: 2 << 20})
		q.mini.patched = nil
		q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
		q.kernel.caps.CancelCommandAware = aware
		p := q.devices[0]
		p.ok(p.submit(q.contexts[0], command{op: opHang}))
		a := p.alloc(1<<20, local) // needs more paging buffers than there are
		q.gpu.auto = true
		p.submit(q.contexts[0], fill(a, 0, 64, 6), fill(q.targets[0], 0, 64, 6))
		assert.Equal(t, []byte{0}, q.gpuRead(q.targets[0], 1), "the work is cancelled")
		assert.Equal(t, map[bool]int{true: 1}[aware], q.mini.cancels)
		q.lost(0, Timeout)
		q.work(1)
		q.goesOn(1)
		q.finish()
	}
}

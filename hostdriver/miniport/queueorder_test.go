package miniport_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func completed(node, fence uint32) []string {
	return []string{fmt.Sprintf("completed node %d fence %#x status 0x0", node, fence)}
}

// Fences are reported in the order of submission, though the queues end in another one.
//
// docs/properties.md: F7.
func TestQueuesReportInOrder(t *testing.T) {
	k, f := withQueues(t, 1)
	a, b := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
	k.work(t, a, 0, 1, 1, false)
	k.work(t, b, 0, 1, 2, false)
	assert.Equal(t, []uint32{1 << 17, 1 << 18}, f.bells, "queues of two devices do not wait for each other")
	f.finish(2, 0)
	assert.Empty(t, k.interrupted(t))
	f.finish(1, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
}

// Paging waits for all earlier work of the node, and all later work of the node waits for it.
func TestQueuesWaitForPaging(t *testing.T) {
	k, f := withQueues(t, 2)
	a, b := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
	k.work(t, a, 0, 1, 1, false)
	k.work(t, b, 0, 1, 2, false)
	k.work(t, kmddi.HContext{}, 0, 1, 3, true)
	k.work(t, kmddi.HContext{}, 0, 1, 4, true)
	k.work(t, b, 0, 1, 5, false)
	k.work(t, a, 0, 1, 6, false)
	k.work(t, kmddi.HContext{}, 1, 1, 1, true)
	assert.Equal(t, []uint32{1 << 18, 1 << 19, 1 << 17}, f.bells, "node 1 does not wait")
	f.bells = nil
	f.finish(2, 0)
	assert.Equal(t, completed(0, 1), k.interrupted(t))
	assert.Empty(t, f.bells)
	f.finish(3, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
	assert.Equal(t, []uint32{1 << 16, 1 << 16}, f.bells)
	f.bells = nil
	f.finish(0, 0)
	assert.Equal(t, completed(0, 4), k.interrupted(t))
	assert.Equal(t, []uint32{1 << 19, 1 << 18}, f.bells)
}

// The work of the contexts of one device keeps its order, since they share allocations.
func TestQueuesOfADeviceKeepTheOrder(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	a, b := k.context(t, dev, 0), k.context(t, dev, 0)
	k.work(t, a, 0, 1, 1, false)
	k.work(t, a, 0, 1, 2, false)
	k.work(t, b, 0, 1, 3, false)
	k.work(t, a, 0, 1, 4, false)
	assert.Equal(t, []uint32{1 << 17, 1 << 17}, f.bells)
	f.finish(1, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
	assert.Equal(t, []uint32{1 << 17, 1 << 17, 1 << 18}, f.bells)
	f.finish(2, 0)
	assert.Equal(t, completed(0, 3), k.interrupted(t))
	assert.Equal(t, []uint32{1 << 17, 1 << 17, 1 << 18, 1 << 17}, f.bells)
}

// Work that completes while its event is acknowledged is reported: the routine reads a register
// between the acknowledge and the look at the progress.
func TestQueuesEventDuringAcknowledge(t *testing.T) {
	k, f := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	k.gpu.regs[intcStatus] = 1
	acknowledged := false
	k.hook = func(write bool, off uint32) {
		if acknowledged && !write {
			f.finish(1, 0)
			k.gpu.regs[intcStatus] = 0
			k.hook = nil
		}
		acknowledged = acknowledged || write && off == intcStatus
	}
	assert.Equal(t, completed(0, 1), k.interrupted(t))
}

// A fence whose interrupt was lost is found by QueryCurrentFence, which also makes the DPC give the
// work that waits to its queue.
func TestQueuesLostInterrupt(t *testing.T) {
	k, f := withQueues(t, 1)
	ctx := k.context(t, k.device(t), 0)
	k.work(t, ctx, 0, 1, 7, false)
	k.work(t, kmddi.HContext{}, 0, 1, 8, true)
	f.finish(1, 0)
	k.gpu.regs[intcStatus] = 0
	out, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.EqualValues(t, 7, out.CurrentFence)
	assert.Equal(t, append(completed(0, 7), "QueueDpc"), k.drain())
	k.table.DpcRoutine(k.thread, k.adapter)
	assert.Equal(t, []uint32{1 << 17, 1 << 16}, f.bells)
	k.dead = true
	_, s = k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	assert.Equal(t, ddi.StatusIODeviceError, s)
}

// Work that completes before earlier work is not reported yet, but QueryCurrentFence queues the DPC, which
// gives the work that waited for it to its queue.
//
// docs/properties.md: F7.
func TestQueuesLostInterruptOutOfOrder(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	k.work(t, k.context(t, dev, 0), 0, 1, 2, false)
	k.work(t, k.context(t, dev, 0), 0, 1, 3, false)
	f.finish(2, 0)
	k.gpu.regs[intcStatus], f.bells = 0, nil
	k.drain()
	out, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Zero(t, out.CurrentFence)
	assert.Equal(t, []string{"QueueDpc"}, k.drain())
	k.table.DpcRoutine(k.thread, k.adapter)
	assert.Equal(t, []uint32{1 << 19}, f.bells)
	_, s = k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, []string{"NotifyDpc"}, k.drain(), "nothing has completed since")
}

// FAULT becomes DMA_FAULTED of the work that its queue has begun, after what is complete. Later work fails.
func TestQueuesFault(t *testing.T) {
	k, f := withQueues(t, 1)
	a, b := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
	k.work(t, a, 0, 1, 1, false)
	k.work(t, b, 0, 1, 2, false)
	k.work(t, b, 0, 1, 3, false)
	f.answer(0, opFault, 0, 255, 19) // no queue is guilty
	assert.Empty(t, k.interrupted(t))
	f.finish(1, 0)
	f.set(0x5000, 1)
	f.answer(0, opFault, 0, 2, 5)
	assert.Equal(t, append(completed(0, 1), "faulted node 0 fence 0x2 status "+exception), k.interrupted(t))
	text := k.debug(t)
	assert.Contains(t, text, "miniport: node stopped: CP0: queue 2: ADDRESS")
	assert.Contains(t, text, "CP0: fence 2 in queue 2: 1 dwords at 0x8000000000020040, in the queue")
	assert.Contains(t, text, "CP0: the last fault record of the firmware\n   COUNT 0x1\n   NODE 0x0")
	f.bells = nil
	k.work(t, a, 0, 1, 4, false)
	assert.Empty(t, f.bells)
}

// A notice that arrives with the answer to a request is left to the request.
func TestQueuesFaultDuringACall(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	k.work(t, k.context(t, dev, 0), 0, 1, 1, false)
	k.gpu.bell = func(uint32) {}
	k.hook = func(_ bool, off uint32) {
		if off == mcuStatus {
			k.hook = nil
			f.answer(0, opFault, 0, 1, 16)
			f.ring(1)
			assert.Empty(t, k.interrupted(t), "the routine does not take the answer")
		}
	}
	ctx := kmddi.HContext{Root: &ddi.Root{}}
	_, s := k.table.CreateContext(k.thread, dev, ctx, kmddi.CreateContext{})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, []string{"faulted node 0 fence 0x1 status " + exception, "QueueDpc"}, k.drain()[1:])
	assert.Contains(t, k.debug(t), "CP0: queue 1: ENTRY")
}

// A request begins and ends inside SynchronizeExecution, so that no interrupt routine on another processor takes
// notices meanwhile.
func TestQueuesCallIsSynchronized(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	k.synced = 0
	k.gpu.bell = func(bells uint32) {
		assert.Equal(t, 1, k.synced, "before the doorbell")
		f.ring(bells)
	}
	k.context(t, dev, 0)
	assert.Equal(t, 3, k.synced, "begin, end, and the notices")
	k.failAt = k.calls + 1
	_, s := k.table.CreateContext(k.thread, dev, kmddi.HContext{Root: &ddi.Root{}}, kmddi.CreateContext{})
	assert.NotEqual(t, ddi.StatusSuccess, s)
}

// After a reset no message is sent to the firmware, which is stopped. A queue with work is left to the reset.
func TestQueuesOfAStoppedFirmware(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	busy, idle := k.context(t, dev, 0), k.context(t, dev, 0)
	k.work(t, busy, 0, 1, 1, false)
	f.requests = nil
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, busy))
	assert.Empty(t, f.requests)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	k.pending = 1 << 20
	require.Equal(t, ddi.StatusIOTimeout, k.table.RestartFromTimeout(k.thread, k.adapter))
	calls := k.calls
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, idle))
	assert.Less(t, k.calls-calls, 10)
	assert.Empty(t, f.requests)
}

// A progress that a queue cannot have reached is not reported.
//
// docs/validator.md: V24.
func TestQueuesImpossibleProgress(t *testing.T) {
	k, f := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	f.finish(1, 0)
	e := f.entry(1)
	f.memory(e[4], e[5])[7] = 1
	assert.Empty(t, k.interrupted(t))
	assert.Contains(t, k.debug(t), "ring: impossible fence: progress 0x100000100000001 of queue 1, want at most 0x100000001")
}

// Bad submissions mark the ring of the node as failed.
func TestQueuesBadSubmissions(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(k *kernel, ctx kmddi.HContext)
		want string
	}{
		{"other node", func(k *kernel, ctx kmddi.HContext) { k.work(t, ctx, 1, 1, 1, false) }, "miniport: bad argument: node 1"},
		{"fence again", func(k *kernel, ctx kmddi.HContext) {
			k.work(t, ctx, 0, 1, 1, false)
			k.work(t, ctx, 0, 1, 1, false)
		}, "ring: bad submission: fence 1 after fence 1"},
		{"too many", func(k *kernel, ctx kmddi.HContext) {
			for id := range uint32(9) {
				k.work(t, ctx, 0, 1, id, false)
			}
		}, "ring: full: 8 submissions outstanding"},
		{"lost doorbell write", func(k *kernel, ctx kmddi.HContext) {
			k.failAt = k.calls + 1
			k.work(t, ctx, 0, 1, 1, false)
		}, "ring: register access failed: MCU.DOORBELL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, _ := withQueues(t, 2)
			tt.run(k, k.context(t, k.device(t), 0))
			assert.Contains(t, k.debug(t), tt.want)
		})
	}
}

// A reset gives the nodes back. The restart begins another session without the contexts from before, whose
// end needs no message. Their queues belong to others then.
func TestQueuesAfterReset(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	old := k.context(t, dev, 0)
	k.work(t, old, 0, 1, 41, false)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	assert.Zero(t, k.gpu.regs[arbOwner])
	f.requests, f.created, f.bells = nil, map[uint32][]uint32{}, nil
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	k.gpu.regs[intcStatus] = 0
	assert.Equal(t, request{opHello, []uint32{1, 2}}, f.requests[0])
	assert.EqualValues(t, 1, k.gpu.regs[arbOwner])
	ctx := k.context(t, dev, 0)
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, old))
	assert.Contains(t, f.created, uint32(1))
	k.work(t, ctx, 0, 1, 7, false)
	f.finish(1, 0)
	assert.Equal(t, completed(0, 7), k.interrupted(t))
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	k.gpu.boot = 10
	assert.Equal(t, ddi.StatusDeviceNotReady, k.table.RestartFromTimeout(k.thread, k.adapter))
}

// The work in the queues of a firmware that hangs is lost: it is not reported, later work is refused, and a reset
// begins again.
func TestQueuesHang(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	ctx := k.context(t, dev, 0)
	k.work(t, ctx, 0, 1, 1, false)
	k.gpu.hang(8)
	assert.Empty(t, k.interrupted(t))
	_, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, ddi.StatusSuccess, s)
	f.bells = nil
	k.work(t, ctx, 0, 1, 2, false)
	assert.Empty(t, f.bells)
	assert.Contains(t, k.debug(t), "CP0: the work has failed: miniport: firmware hung")
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	k.work(t, k.context(t, dev, 0), 0, 1, 3, false)
	f.finish(1, 0)
	assert.Equal(t, completed(0, 3), k.interrupted(t))
}

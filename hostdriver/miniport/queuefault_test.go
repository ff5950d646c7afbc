package miniport_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// stoppedQueues returns a kernel with five submissions: fence 1, 2 and 3 are of the queues 1, 2 and 3, whose contexts
// belong to devices of their own, and 4 and 5 are of the queues 2 and 3. It also returns the contexts and the private
// data of the buffers, by number and by fence.
func stoppedQueues(t *testing.T) (k *kernel, f *fakeFirmware, ctx []kmddi.HContext, p [][]byte) {
	k, f = withQueues(t, 1)
	for range 4 {
		ctx = append(ctx, k.context(t, k.device(t), 0))
	}
	ctx[3], ctx[2], ctx[1], p = ctx[2], ctx[1], ctx[0], make([][]byte, 6)
	for id, c := range []int{0, 1, 2, 3, 2, 3} {
		if p[id] = newPrivate(k); id > 0 {
			k.bufferOf(t, ctx[c], uint32(id), p[id], false)
		}
	}
	return k, f, ctx, p
}

// operations returns the requests that the firmware got since the last call, but for those that reset a node.
func (f *fakeFirmware) operations() (ops, queues []uint32) {
	for _, r := range f.requests {
		ops = append(ops, r.op)
		if r.op != opReset {
			queues = append(queues, r.payload[0])
		}
	}
	f.requests = nil
	return ops, queues
}

// againFaults submits a buffer in whose execution a queue had stopped: it faults without another look at it, and the
// next reset aborts it alone.
func againFaults(t *testing.T, k *kernel, f *fakeFirmware, ctx kmddi.HContext, id uint32, private []byte) {
	t.Helper()
	k.drain()
	f.bells = nil
	k.bufferOf(t, ctx, id, private, true)
	events := k.drain()
	require.Len(t, events, 2)
	assert.Contains(t, events[0], "faulted node 0 fence")
	assert.Equal(t, "QueueDpc", events[1])
	assert.Empty(t, f.bells, "it is not executed again")
	last, s := k.resetNode(0)
	require.Equal(t, success, s)
	assert.Equal(t, id, last)
	ops, _ := f.operations()
	assert.Empty(t, ops, "no queue has stopped")
}

// Two queues stop before the reset. It aborts the first of their submissions, and makes both queues anew. The second
// submission has its own fault and its own reset, and what follows it in its queue is executed.
func TestQueuesTwoFaults(t *testing.T) {
	k, f, ctx, p := stoppedQueues(t)
	f.requests = nil
	f.answer(0, opFault, 0, 2, 8)
	assert.Contains(t, k.interrupted(t)[0], "faulted node 0 fence 0x2")
	f.answer(0, opFault, 0, 1, 8)
	f.finish(3, 0)
	last, s := k.resetNode(0)
	require.Equal(t, success, s)
	assert.EqualValues(t, 1, last)
	ops, queues := f.operations()
	assert.Equal(t, []uint32{opQueueDestroy, opQueueCreate, opQueueDestroy, opQueueCreate}, ops)
	assert.Equal(t, []uint32{1, 1, 2, 2}, queues)
	againFaults(t, k, f, ctx[2], 2, p[2])
	k.bufferOf(t, ctx[3], 3, p[3], true)
	f.finish(3, 0)
	assert.Equal(t, completed(0, 3), k.interrupted(t))
	assert.Zero(t, f.entry(3)[2], "only its fence is left")
	k.bufferOf(t, ctx[2], 4, p[4], true)
	f.finish(2, 0)
	assert.Equal(t, completed(0, 4), k.interrupted(t))
	assert.EqualValues(t, 1, f.entry(2)[2], "it is executed")
	assert.NotContains(t, k.debug(t), "has failed")
}

// A fault without a queue makes the ring of its node fail only if the firmware has lost the node. The reset of the engine ends that.
// After other causes the node executes the next submission. A number that is neither a queue nor 255 changes nothing.
func TestFaultOfTheNode(t *testing.T) {
	const noQueue, causeAddress, causeWatchdog, causeReset, causeLost, causeStuck = 255, 2, 18, 19, 20, 21
	for _, tt := range []struct {
		name         string
		queue, cause uint32
		says         string
	}{
		{"the node is stuck", noQueue, causeStuck, "CP1: no queue: STUCK"},
		{"the node is lost", noQueue, causeLost, "CP1: no queue: LOST"},
		{"the watchdog", noQueue, causeWatchdog, ""},
		{"a fault", noQueue, causeAddress, ""},
		{"a reset", noQueue, causeReset, ""},
		{"no such queue", 16, causeStuck, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f := withQueues(t, 2)
			ctx := k.context(t, k.device(t), 1)
			f.answer(0, opFault, 1, tt.queue, tt.cause)
			assert.Empty(t, k.interrupted(t), "no submission is guilty")
			if tt.says == "" {
				require.NotContains(t, k.debug(t), "has failed")
				k.work(t, ctx, 1, 1, 1, false)
				f.finish(2, 1)
				assert.Equal(t, completed(1, 1), k.interrupted(t), "the node continues")
				return
			}
			debug := k.debug(t)
			assert.Contains(t, debug, tt.says)
			assert.Equal(t, 1, strings.Count(debug, "has failed"), "only the ring of node 1")
			_, s := k.resetNode(1)
			require.Equal(t, success, s)
			assert.NotContains(t, k.debug(t), "has failed")
			k.work(t, ctx, 1, 1, 1, false)
			f.finish(2, 1)
			assert.Equal(t, completed(1, 1), k.interrupted(t))
		})
	}
}

// A queue stops in the reset of another one: the kernel learns of it when it submits the work again.
func TestQueuesFaultInAReset(t *testing.T) {
	k, f, ctx, p := stoppedQueues(t)
	f.answer(0, opFault, 0, 1, 8)
	assert.Contains(t, k.interrupted(t)[0], "faulted node 0 fence 0x1")
	looks := 0
	k.hook = func(bool, uint32) {
		if looks++; looks == 20 {
			f.answer(0, opFault, 0, 2, 8)
			f.finish(3, 0)
		}
	}
	f.requests = nil
	last, s := k.resetNode(0)
	k.hook = nil
	require.Equal(t, success, s)
	assert.EqualValues(t, 1, last)
	_, queues := f.operations()
	assert.Equal(t, []uint32{1, 1, 2, 2}, queues)
	againFaults(t, k, f, ctx[2], 2, p[2])
}

// A queue has stopped, and the node hangs in the work of another one. The reset ends that too.
func TestQueuesFaultBesideAHang(t *testing.T) {
	k, f, ctx, p := stoppedQueues(t)
	f.answer(0, opFault, 0, 1, 8)
	assert.Contains(t, k.interrupted(t)[0], "faulted node 0 fence 0x1")
	f.resetter(2, 3)
	f.requests = nil
	last, s := k.resetNode(0)
	require.Equal(t, success, s)
	assert.EqualValues(t, 1, last)
	ops, queues := f.operations()
	assert.Equal(t, []uint32{opReset, opQueueDestroy, opQueueCreate, opQueueDestroy, opQueueCreate}, ops)
	assert.Equal(t, []uint32{1, 1, 2, 2}, queues)
	k.gpu.bell = f.ring
	againFaults(t, k, f, ctx[2], 2, p[2])
}

// A queue has stopped, and others have work that takes longer than the reset waits. The firmware stops them as for a
// preemption, and the kernel submits their work again: nothing of it is lost.
func TestQueuesFaultBesideLongWork(t *testing.T) {
	k, f, ctx, p := stoppedQueues(t)
	f.answer(0, opFault, 0, 1, 8)
	assert.Contains(t, k.interrupted(t)[0], "faulted node 0 fence 0x1")
	at := f.entry(2)
	k.gpu.bell = func(v uint32) {
		if f.ring(v); v == 2 {
			f.finishOne(3) // fence 3
			f.place(2, uint64(at[1])<<32|uint64(at[0]), at[2], 0)
			f.yielded(0, 1<<2)
		}
	}
	f.requests = nil
	last, s := k.resetNode(0)
	require.Equal(t, success, s)
	assert.EqualValues(t, 1, last)
	ops, queues := f.operations()
	assert.Equal(t, []uint32{opQueueDestroy, opQueueCreate}, ops, "no work is ended")
	assert.Equal(t, []uint32{1, 1}, queues)
	k.drain()
	k.patchAgain(t, p[2], 4)
	for id, c := range []int{2, 3, 2, 3} {
		k.bufferOf(t, ctx[c], uint32(id+2), p[id+2], true)
		assert.Equal(t, id+2 == 3, f.entry(uint32(c))[2] == 0, "only the fence of %d is left", id+2)
		f.finish(uint32(c), 0)
		assert.Equal(t, completed(0, uint32(id+2)), k.interrupted(t))
	}
	assert.NotContains(t, k.debug(t), "has failed")
}

// A reset ends the work of a node once. If queues go on even then, it leaves the node to the reset of the adapter.
func TestQueuesResetEndsWorkOnce(t *testing.T) {
	k, f, _, _ := stoppedQueues(t)
	f.answer(0, opFault, 0, 1, 8)
	assert.Contains(t, k.interrupted(t)[0], "faulted node 0 fence 0x1")
	f.requests = nil
	_, s := k.resetNode(0)
	assert.Equal(t, ddi.StatusIOTimeout, s)
	ops, _ := f.operations()
	assert.Equal(t, []uint32{opReset}, ops)
}

package miniport_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

const opReset = 24

// bufferOf submits a dword of a context on node 0, with private data, again if it has a place.
func (k *kernel) bufferOf(t testing.TB, ctx kmddi.HContext, id uint32, private []byte, again bool) {
	t.Helper()
	require.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, kmddi.SubmitCommand{
		Context: ctx, DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionEndOffset: 4, SubmissionFenceID: id,
		DmaBufferPrivateData: private, Flags: kmddi.SubmitFlags{Resubmission: again},
	}))
}

func TestQueuesSchedulingCaps(t *testing.T) {
	k, _ := withQueues(t, 1)
	assert.Equal(t, kmddi.DriverCaps{
		PreemptionAware: true, CancelCommandAware: true, SupportPerEngineTDR: true,
		PreemptionCaps: kmddi.PreemptionCaps{GraphicsPreemptionGranularity: kmddi.GraphicsPreemptionPrimitiveBoundary},
	}, miniport.SchedulingCaps(k.adapter))
}

// The queues of a node are asked to stop by one doorbell, and what they have not completed is preempted. Without
// work in them the preemption is answered at once.
//
// docs/properties.md: S5.
func TestQueuesPreempt(t *testing.T) {
	k, f := withQueues(t, 2)
	a := k.context(t, k.device(t), 0)
	f.bells = nil
	assert.Equal(t, []string{"preempted node 0 fence 0x1 last 0x0", "QueueDpc"}, k.preempt(t, 0, 1), "nothing was ever submitted")
	assert.Empty(t, f.bells)
	k.work(t, a, 0, 1, 0xffffffff, false)
	k.work(t, kmddi.HContext{}, 0, 1, 0, true)
	k.work(t, a, 0, 1, 1, false)
	f.bells = nil
	k.hook = func(write bool, off uint32) { assert.True(t, write && off == mcuDoorbell, "access to %#x", off) }
	assert.Empty(t, k.preempt(t, 0, 2))
	k.hook = nil
	assert.Equal(t, []uint32{2}, f.bells)
	f.finish(2, 0)
	assert.Equal(t, completed(0, 0xffffffff), k.interrupted(t), "the answer of the firmware follows")
	f.yielded(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0xffffffff"}, k.interrupted(t))
	assert.Equal(t, []uint32{2}, f.bells, "paging waited for the work, and is preempted")
	k.work(t, kmddi.HContext{}, 0, 1, 0, true)
	k.work(t, a, 0, 1, 2, false)
	assert.Equal(t, []uint32{2, 1 << 16}, f.bells)
	f.finish(0, 0)
	assert.Equal(t, completed(0, 0), k.interrupted(t))
	f.finish(2, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
	f.bells = nil
	assert.Equal(t, []string{"preempted node 0 fence 0x3 last 0x2", "QueueDpc"}, k.preempt(t, 0, 3))
	k.work(t, a, 0, 1, 3, false)
	f.finish(2, 0)
	assert.Equal(t, []string{"completed node 0 fence 0x3 status 0x0", "preempted node 0 fence 0x4 last 0x3", "QueueDpc"}, k.preempt(t, 0, 4), "its interrupt is late")
	assert.Equal(t, []uint32{1 << 18}, f.bells)
	b := k.context(t, k.device(t), 1)
	k.work(t, b, 1, 1, 1, false)
	f.bells = nil
	assert.Empty(t, k.preempt(t, 1, 2))
	assert.Equal(t, []uint32{4}, f.bells)
	f.yielded(1, 0)
	assert.Equal(t, []string{"preempted node 1 fence 0x2 last 0x0"}, k.interrupted(t))
	assert.NotContains(t, k.debug(t), "has failed")
}

// A lost interrupt only costs time, and a second request replaces the first one without a second doorbell.
func TestQueuesPreemptLostInterrupt(t *testing.T) {
	k, f := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	f.bells = nil
	assert.Empty(t, k.preempt(t, 0, 2))
	assert.Empty(t, k.preempt(t, 0, 3))
	assert.Equal(t, []uint32{2}, f.bells)
	assert.Contains(t, k.debug(t), "CP0: its queues were asked to stop, and preemption fence 3 is due")
	f.finish(1, 0)
	f.yielded(0, 0)
	k.gpu.regs[intcStatus] = 0
	current, events := k.query(t)
	assert.EqualValues(t, 1, current)
	assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x3 last 0x1", "QueueDpc"}, events)
}

// Work that completes before earlier work of another context is preempted, but not executed again.
func TestQueuesPreemptOutOfOrder(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	a, b, c := k.context(t, dev, 0), k.context(t, dev, 0), k.context(t, k.device(t), 0)
	var p [5][]byte
	for i := range p {
		p[i] = newPrivate(k)
	}
	k.bufferOf(t, a, 1, p[1], false)
	k.bufferOf(t, b, 2, p[2], false) // waits for a
	k.bufferOf(t, c, 3, p[3], false)
	f.finish(3, 0)
	assert.Empty(t, k.interrupted(t))
	assert.Empty(t, k.preempt(t, 0, 4))
	f.finish(1, 0)
	f.yielded(0, 0)
	assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x4 last 0x1"}, k.interrupted(t))
	f.bells = nil
	k.bufferOf(t, b, 4, p[2], true)
	assert.EqualValues(t, 1, f.entry(2)[2], "it had not begun")
	k.bufferOf(t, c, 5, p[3], true)
	f.finish(2, 0)
	assert.Equal(t, completed(0, 4), k.interrupted(t))
	assert.Zero(t, f.entry(3)[2], "only its fence")
	assert.Zero(t, f.entry(3)[3], "which needs no state")
	assert.Equal(t, []uint32{1 << 18, 1 << 19}, f.bells)
	f.finish(3, 0)
	assert.Equal(t, completed(0, 5), k.interrupted(t))
	k.bufferOf(t, c, 6, newPrivate(k), false)
	assert.EqualValues(t, 1, f.entry(3)[2], "a buffer that is written anew")
}

// The first two buffers of devices after a preemption are executed alone: no other queue gets work before each has completed, but
// later work of its own context follows it at once. What needs no commands does not count, nor does paging.
func TestQueuesPreemptAlone(t *testing.T) {
	k, f := withQueues(t, 1)
	a, b, c := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
	k.work(t, a, 0, 1, 1, false)
	require.Empty(t, k.preempt(t, 0, 2))
	f.yielded(0, 0)
	k.interrupted(t)
	k.work(t, kmddi.HContext{}, 0, 1, 2, true)
	f.finish(0, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
	f.bells = nil
	k.work(t, c, 0, 0, 3, false)
	k.work(t, b, 0, 1, 4, false)
	k.work(t, b, 0, 1, 5, false)
	k.work(t, a, 0, 1, 6, false)
	k.work(t, c, 0, 1, 7, false)
	const bellA, bellB, bellC = 1 << 17, 1 << 18, 1 << 19
	assert.Equal(t, []uint32{bellC, bellB, bellB}, f.bells)
	f.finish(3, 0)
	f.finishOne(2)
	assert.Equal(t, completed(0, 4), k.interrupted(t))
	assert.Len(t, f.bells, 3, "fence 5 is the second")
	f.finish(2, 0)
	assert.Equal(t, completed(0, 5), k.interrupted(t))
	assert.Equal(t, []uint32{bellC, bellB, bellB, bellA, bellC}, f.bells)
	f.finish(3, 0)
	f.finish(1, 0)
	assert.Equal(t, completed(0, 7), k.interrupted(t))
	k.work(t, a, 0, 1, 8, false)
	k.work(t, b, 0, 1, 9, false)
	assert.Len(t, f.bells, 7, "and then contexts of different devices do not wait")
}

// Until the firmware has answered, no queue gets work.
func TestQueuesPreemptReleasesNothing(t *testing.T) {
	k, f := withQueues(t, 1)
	dev := k.device(t)
	a, b, c := k.context(t, dev, 0), k.context(t, dev, 0), k.context(t, k.device(t), 0)
	k.work(t, a, 0, 1, 1, false)
	k.work(t, b, 0, 1, 2, false) // waits for a
	k.work(t, c, 0, 1, 3, false)
	assert.Empty(t, k.preempt(t, 0, 4))
	f.bells = nil
	f.finish(1, 0)
	assert.Equal(t, completed(0, 1), k.interrupted(t))
	f.finish(3, 0)
	assert.Empty(t, k.interrupted(t))
	assert.Empty(t, f.bells)
	f.yielded(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x4 last 0x1"}, k.interrupted(t))
	assert.Empty(t, f.bells)
}

// A fault during a preemption is reported alone, before and after the answer to the doorbell.
func TestQueuesPreemptMeetsFault(t *testing.T) {
	for _, answered := range []bool{false, true} {
		k, f := withQueues(t, 1)
		k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
		assert.Empty(t, k.preempt(t, 0, 2))
		f.answer(0, opFault, 0, 1, 8)
		if answered {
			f.yielded(0, 0)
		}
		events := k.interrupted(t)
		require.Len(t, events, 1)
		assert.Contains(t, events[0], "faulted node 0 fence 0x1")
		assert.Empty(t, k.preempt(t, 0, 3))
		_, events = k.query(t)
		assert.Empty(t, events)
		if !answered {
			f.yielded(0, 0)
			_, events = k.query(t)
			assert.Equal(t, []string{"QueueDpc"}, events)
		}
		f.requests = nil
		last, s := k.resetNode(0)
		require.Equal(t, success, s)
		assert.EqualValues(t, 1, last)
		assert.EqualValues(t, opQueueDestroy, f.requests[0].op, "the firmware has reset the node")
	}
}

// Work that is submitted during a preemption marks the ring as failed. When the firmware has answered, no queue has work that
// a reset of the node must end, and nothing is aborted.
func TestQueuesSubmitDuringPreemption(t *testing.T) {
	k, f := withQueues(t, 1)
	ctx := k.context(t, k.device(t), 0)
	k.work(t, ctx, 0, 1, 1, false)
	k.preempt(t, 0, 2)
	f.bells = nil
	k.work(t, ctx, 0, 1, 2, false)
	assert.Empty(t, f.bells)
	assert.Contains(t, k.debug(t), "has failed")
	f.yielded(0, 0)
	assert.Empty(t, k.interrupted(t))
	f.requests = nil
	last, s := k.resetNode(0)
	require.Equal(t, success, s)
	assert.Zero(t, last)
	assert.Empty(t, f.requests)
	assert.NotContains(t, k.debug(t), "has failed")
}

func TestQueuesEngineStatus(t *testing.T) {
	k, f := withQueues(t, 2)
	assert.True(t, k.responsive(t))
	k.work(t, k.context(t, k.device(t), 1), 1, 1, 1, false)
	k.gpu.regs[cp0Rptr+cpStride]++
	assert.True(t, k.responsive(t))
	assert.False(t, k.responsive(t))
	f.finish(2, 1)
	k.interrupted(t)
	assert.True(t, k.responsive(t), "nothing is outstanding")
}

// resetter lets RESET stop a queue, and complete others, and then what other queues get. A preemption is answered after it.
func (f *fakeFirmware) resetter(guilty uint32, others ...uint32) {
	bell, was := f.k.gpu.bell, false
	f.k.gpu.bell = func(v uint32) {
		n := len(f.requests)
		bell(v)
		for q := range uint32(4) {
			if was && v>>(16+q)&1 != 0 && q != guilty {
				f.finish(q, 0)
			}
		}
		if len(f.requests) > n && f.requests[len(f.requests)-1].op == opReset {
			was = true
			f.answer(0, opFault, 0, guilty, 19)
			for _, q := range others {
				f.finish(q, 0)
			}
			if slices.Contains(f.bells, 2) && !f.stays {
				f.yielded(0, 0)
			}
		}
	}
}

// Engine resets with three queues: 1 and 2 belong to contexts of one device, 3 to another one.
// Fence 1 is of queue 1, 2 of queue 2, which waits for it, 3 and 4 of queue 3, and 5 of queue 1.
func TestQueuesReset(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(f *fakeFirmware) // before the call
		guilty uint32
		others []uint32
		last   uint32
		ended  []int // that are executed, but not reported
		resets bool  // RESET is sent
	}{
		{"the first", func(*fakeFirmware) {}, 1, []uint32{3}, 1, []int{3, 4}, true},
		{"a later one of another device", func(f *fakeFirmware) {
			f.finishes(2)
		}, 3, []uint32{1}, 3, []int{5}, true},
		{"one before which another must begin", func(*fakeFirmware) {}, 3, []uint32{1}, 3, nil, true},
		{"after a fault, which the firmware has ended", func(f *fakeFirmware) {
			f.answer(0, opFault, 0, 1, 8)
			f.finish(3, 0)
			f.k.interrupt(0)
		}, 1, nil, 1, []int{3, 4}, false},
		{"a preemption is due", func(f *fakeFirmware) {
			f.k.table.PreemptCommand(f.k.thread, f.k.adapter, kmddi.PreemptCommand{PreemptionFenceID: 6})
		}, 1, []uint32{3}, 1, []int{3, 4}, true},
		{"a context that has no work", func(f *fakeFirmware) { f.finishes(2) }, 0, []uint32{1, 3}, 5, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f := withQueues(t, 1)
			dev := k.device(t)
			ctx := []kmddi.HContext{{}, k.context(t, dev, 0), k.context(t, dev, 0), k.context(t, k.device(t), 0)}
			var p [6][]byte
			for id, c := range []int{0, 1, 2, 3, 3, 1} {
				if p[id] = newPrivate(k); id > 0 {
					k.bufferOf(t, ctx[c], uint32(id), p[id], false)
				}
			}
			tt.before(f)
			f.resetter(tt.guilty, tt.others...)
			f.requests = nil
			last, s := k.resetNode(0)
			require.Equal(t, success, s)
			assert.Equal(t, tt.last, last)
			for _, e := range k.drain() { // what has completed is reported, and nothing of the reset
				var fence uint32
				if _, err := fmt.Sscanf(e, "completed node 0 fence %v", &fence); err == nil {
					assert.True(t, fence < last || fence == last && tt.guilty == 0, "%s", e)
				} else {
					assert.Equal(t, "QueueDpc", e)
				}
			}
			var ops []uint32
			for _, r := range f.requests {
				ops = append(ops, r.op)
			}
			want := []uint32{opReset, opQueueDestroy, opQueueCreate}
			if !tt.resets {
				want = want[1:]
			}
			assert.Equal(t, want, ops)
			assert.Equal(t, []uint32{tt.guilty, 0}, f.requests[len(f.requests)-1].payload[:2])
			var ended []int
			for id := range p {
				if p[id][4]&1 != 0 {
					ended = append(ended, id)
				}
			}
			assert.Equal(t, tt.ended, ended)
			current, events := k.query(t)
			assert.Equal(t, last, current)
			assert.Empty(t, events)
			k.gpu.bell = f.ring
			k.bufferOf(t, ctx[3], last+1, p[4], true)
			if len(tt.ended) == 2 {
				assert.Zero(t, f.entry(3)[2])
			}
			f.finish(3, 0)
			assert.Equal(t, completed(0, last+1), k.interrupted(t))
			assert.NotContains(t, k.debug(t), "has failed")
		})
	}
}

// finishes completes fence 1 to n, whose contexts are in the queues 1 to n.
func (f *fakeFirmware) finishes(n uint32) {
	for q := uint32(1); q <= n; q++ {
		f.finish(q, 0)
		f.k.interrupt(0)
		old := f.k.thread.Raise(ddi.DispatchLevel)
		f.k.table.DpcRoutine(f.k.thread, f.k.adapter)
		f.k.thread.Lower(old)
	}
}

// A firmware that does not reset the node, or whose queues do not end, leaves it to the reset of the adapter.
func TestQueuesResetFails(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(f *fakeFirmware)
		want ddi.Status
	}{
		"it does not answer":      {func(f *fakeFirmware) { f.silent = true }, ddi.StatusIOTimeout},
		"it refuses":              {func(f *fakeFirmware) { f.statuses[opReset] = []uint32{statusState} }, ddi.StatusIOTimeout},
		"another queue goes on":   {func(f *fakeFirmware) { f.resetter(1); f.stays = true }, ddi.StatusIOTimeout},
		"the queue is not freed":  {func(f *fakeFirmware) { f.resetter(1, 2); f.statuses[opQueueDestroy] = []uint32{statusState} }, ddi.StatusIOTimeout},
		"the queue is not made":   {func(f *fakeFirmware) { f.resetter(1, 2); f.statuses[opQueueCreate] = []uint32{statusState} }, ddi.StatusIOTimeout},
		"the link is dead":        {func(f *fakeFirmware) { f.k.dead = true }, ddi.StatusIODeviceError},
		"the link dies with it":   {func(f *fakeFirmware) { f.k.gpu.bell = func(uint32) { f.k.dead = true } }, ddi.StatusIODeviceError},
		"a progress value is bad": {func(f *fakeFirmware) { b := f.memory(f.entry(2)[4], f.entry(2)[5]); b[7] = 0x7f }, ddi.StatusIODeviceError},
	} {
		t.Run(name, func(t *testing.T) {
			k, f := withQueues(t, 1)
			bell := k.gpu.bell
			for i := range uint32(2) {
				k.work(t, k.context(t, k.device(t), 0), 0, 1, i+1, false)
			}
			tt.edit(f)
			_, s := k.resetNode(0)
			assert.Equal(t, tt.want, s)
			k.dead, f.silent, k.gpu.bell = false, false, bell
			require.Equal(t, success, k.table.ResetFromTimeout(k.thread, k.adapter))
			require.Equal(t, success, k.table.RestartFromTimeout(k.thread, k.adapter))
			k.gpu.regs[intcStatus] = 0
			k.work(t, k.context(t, k.device(t), 0), 0, 1, 7, false)
			f.finish(1, 0)
			assert.Equal(t, completed(0, 7), k.interrupted(t))
		})
	}
}

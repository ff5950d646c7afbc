package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// capsPreempt are the bits of ID.CAPS of contexts and preemption.
const capsPreempt = 1<<25 | 1<<26

// preemptible returns a kernel whose adapter runs, with nodes that can be preempted.
func preemptible(t testing.TB, nodes uint32) *kernel {
	t.Helper()
	k := newKernel(nodes)
	k.gpu.regs[idCaps] |= capsPreempt
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	return k
}

// preempt calls PreemptCommand, and returns what it reported.
func (k *kernel) preempt(t testing.TB, node, id uint32) []string {
	t.Helper()
	k.drain()
	old := k.thread.Raise(ddi.DispatchLevel)
	defer k.thread.Lower(old)
	require.Equal(t, success, k.table.PreemptCommand(k.thread, k.adapter, kmddi.PreemptCommand{PreemptionFenceID: id, NodeOrdinal: node}))
	return k.drain()
}

// answered runs the interrupt routine, and returns what it reported.
func (k *kernel) answered(t testing.TB) []string {
	t.Helper()
	k.drain()
	require.True(t, k.interrupt(0))
	return k.drain()
}

// query returns the last completed fence of node 0, and what QueryCurrentFence reported.
func (k *kernel) query(t testing.TB) (uint32, []string) {
	t.Helper()
	k.drain()
	out, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, success, s)
	return out.CurrentFence, k.drain()
}

// resubmit submits an empty part of a DMA buffer again.
func (k *kernel) resubmit(t testing.TB, id uint32) {
	t.Helper()
	require.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, kmddi.SubmitCommand{SubmissionFenceID: id, Flags: kmddi.SubmitFlags{Resubmission: true}}))
}

// docs/properties.md: S5.
func TestPreemptIdleNode(t *testing.T) {
	k := preemptible(t, 2)
	assert.Equal(t, []string{"preempted node 1 fence 0x1 last 0x0", "QueueDpc"}, k.preempt(t, 1, 1), "nothing was ever submitted")
	k.submit(t, 0, 0, 0, 5)
	k.gpu.regs[cp0Fence] = 5 // and its interrupt is late
	assert.Equal(t, []string{"completed node 0 fence 0x5 status 0x0", "preempted node 0 fence 0x6 last 0x5", "QueueDpc"}, k.preempt(t, 0, 6))
	assert.Zero(t, k.gpu.regs[cp0Preempt], "an idle node is not asked")
	k.submit(t, 0, 0, 0, 6)
	assert.Equal(t, uint32(10), k.gpu.regs[cp0Wptr])
}

// TestPreempt stops a node before the second of three submissions, which are empty.
func TestPreempt(t *testing.T) {
	for _, first := range []uint32{1, 7, 0xfffffffe, 0xffffffff, 0} {
		k := preemptible(t, 2)
		for i := range uint32(3) {
			k.submit(t, 1, 0, 0, first+i)
		}
		assert.Empty(t, k.preempt(t, 1, first+3))
		assert.Equal(t, uint32(1), k.gpu.regs[cp0Preempt+cpStride])
		k.gpu.regs[cp1Fence] = first
		k.gpu.stop(1, 5)
		last := first
		assert.Equal(t, []string{
			event("completed node 1 fence %#x status 0x0", first), event("preempted node 1 fence %#x last %#x", first+3, last), "QueueDpc",
		}, k.answered(t))
		assert.Equal(t, uint32(5), k.gpu.regs[cp0Wptr+cpStride], "the rest of the ring is never fetched")
		assert.Equal(t, uint32(1), k.gpu.regs[cp1Ctl], "the node runs")
		k.submit(t, 1, 0, 0, first+1) // as a paging buffer, with its old fence
		k.submit(t, 1, 0, 0, first+9)
		assert.Equal(t, uint32(15), k.gpu.regs[cp0Wptr+cpStride])
		assert.Equal(t, []uint32{0x10000004, 0x10040, 0x80000000, first + 1, 1, 0x10000004, 0x10040, 0x80000000, first + 9, 1}, k.ringDwords(1)[5:])
		k.gpu.complete(1, first+9)
		assert.Equal(t, []string{event("completed node 1 fence %#x status 0x0", first+9), "QueueDpc"}, k.answered(t))
		assert.NotContains(t, k.debug(t), "the ring has failed")
	}
}

// TestPreemptFirst stops a node before its first submission: no fence has completed.
func TestPreemptFirst(t *testing.T) {
	k := preemptible(t, 1)
	k.submit(t, 0, 0, 0, 40)
	k.preempt(t, 0, 41)
	k.gpu.stop(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x29 last 0x27", "QueueDpc"}, k.answered(t))
	k.resubmit(t, 41)
	current, _ := k.query(t)
	assert.Equal(t, uint32(39), current, "the preempted fence has not completed")
	assert.Equal(t, uint32(39), k.gpu.regs[cp0Fence])
}

// TestPreemptLostInterrupt finds an answer whose interrupt was lost.
func TestPreemptLostInterrupt(t *testing.T) {
	k := preemptible(t, 1)
	k.submit(t, 0, 0, 0, 1)
	k.submit(t, 0, 0, 0, 2)
	k.preempt(t, 0, 3)
	current, events := k.query(t)
	assert.Zero(t, current)
	assert.Empty(t, events, "not answered yet")
	assert.Contains(t, k.debug(t), "CP0: it was asked to stop, and preemption fence 3 is due")
	k.gpu.regs[cp0Fence] = 1
	k.gpu.stop(0, 5)
	current, events = k.query(t)
	assert.Equal(t, uint32(1), current)
	want := []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x3 last 0x1", "QueueDpc"}
	assert.Equal(t, want, events)
	assert.NotContains(t, k.debug(t), "is due")
	assert.Equal(t, []string{"QueueDpc"}, k.answered(t), "a late interrupt reports nothing twice")
}

// TestPreemptMeetsCompletion completes a fence and stops the node between any two register
// accesses of the interrupt routine: the fence is reported before the preemption, which
// counts it.
func TestPreemptMeetsCompletion(t *testing.T) {
	reached := 0
	for at := range 12 {
		k := preemptible(t, 1)
		k.submit(t, 0, 0, 0, 1)
		k.submit(t, 0, 0, 0, 2)
		k.preempt(t, 0, 3)
		k.gpu.complete(0, 1)
		n := 0
		k.hook = func(bool, uint32) {
			if n++; n == at+1 {
				reached++
				k.gpu.complete(0, 2)
				k.gpu.stop(0, 10)
			}
		}
		events := k.answered(t)
		k.hook = nil
		if n <= at {
			k.gpu.complete(0, 2)
			k.gpu.stop(0, 10)
		}
		if k.interrupt(0) {
			events = append(events, k.drain()...)
		}
		var fences []string
		for _, e := range events {
			if e != "QueueDpc" {
				fences = append(fences, e)
			}
		}
		require.NotEmpty(t, fences)
		assert.Equal(t, "preempted node 0 fence 0x3 last 0x2", fences[len(fences)-1], "at %d", at)
		assert.Equal(t, "completed node 0 fence 0x2 status 0x0", fences[len(fences)-2], "at %d", at)
		assert.LessOrEqual(t, len(fences), 3, "at %d", at)
		assert.NotContains(t, k.debug(t), "the ring has failed", "at %d", at)
	}
	assert.Greater(t, reached, 3, "the routine makes that many accesses")
}

// TestPreemptMeetsFault stops a node on a fault, which answers PREEMPT too. Only the fault is
// reported, once.
func TestPreemptMeetsFault(t *testing.T) {
	faulted := "faulted node 0 fence 0x2 status 0xc0000001"
	for _, tt := range []struct {
		name string
		do   func(k *kernel) []string
	}{
		{"before the request", func(k *kernel) []string {
			k.gpu.fault(0, 13)
			events := k.answered(t)
			return append(events, k.preempt(t, 0, 4)...)
		}},
		{"after the request", func(k *kernel) []string {
			events := k.preempt(t, 0, 4)
			k.gpu.fault(0, 13)
			return append(events, k.answered(t)...)
		}},
		{"in one interrupt with the answer", func(k *kernel) []string {
			events := k.preempt(t, 0, 4)
			k.gpu.fault(0, 13)
			k.gpu.stop(0, 5)
			return append(events, k.answered(t)...)
		}},
		{"an interrupt after the answer", func(k *kernel) []string {
			events := k.preempt(t, 0, 4)
			k.gpu.regs[cp0FaultInfo] = 13
			k.gpu.stop(0, 5)
			events = append(events, k.answered(t)...)
			k.gpu.fault(0, 13)
			return append(events, k.answered(t)...)
		}},
		{"found by a query", func(k *kernel) []string {
			events := k.preempt(t, 0, 4)
			k.gpu.regs[cp0FaultInfo] = 13
			k.gpu.stop(0, 5)
			_, found := k.query(t)
			return append(events, found...)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := preemptible(t, 1)
			for id := range uint32(3) {
				k.submit(t, 0, 0, 0, id+1)
			}
			k.gpu.regs[cp0Fence] = 1
			var fences []string
			for _, e := range tt.do(k) {
				if e != "QueueDpc" {
					fences = append(fences, e)
				}
			}
			assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", fences[1]}, fences)
			assert.Contains(t, fences[1], faulted[:27])
		})
	}
}

// TestPreemptTwice asks again before and after the answer.
func TestPreemptTwice(t *testing.T) {
	k := preemptible(t, 1)
	k.submit(t, 0, 0, 0, 1)
	assert.Empty(t, k.preempt(t, 0, 2))
	k.gpu.stop(0, 0) // and the second request comes first
	assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0", "preempted node 0 fence 0x3 last 0x0", "QueueDpc"}, k.preempt(t, 0, 3))
	k.resubmit(t, 3)
	assert.Empty(t, k.preempt(t, 0, 4))
	assert.Empty(t, k.preempt(t, 0, 5))
	assert.Equal(t, uint32(3), k.gpu.regs[cp0Preempt])
	k.gpu.regs[cp0Preempted] = 2 // the answer to the request before
	k.gpu.regs[intcStatus] = 1
	assert.Equal(t, []string{"QueueDpc"}, k.answered(t))
	k.gpu.stop(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x5 last 0x0", "QueueDpc"}, k.answered(t), "one answer")
}

func TestPreemptFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		arg  kmddi.PreemptCommand
		caps uint32
		ok   bool
	}{
		{"nothing", kmddi.PreemptCommand{PreemptionFenceID: 2}, capsPreempt, true},
		{"another engine", kmddi.PreemptCommand{PreemptionFenceID: 2, EngineOrdinal: 1}, capsPreempt, false},
		{"no such node", kmddi.PreemptCommand{PreemptionFenceID: 2, NodeOrdinal: 1}, capsPreempt, false},
		{"a device without contexts", kmddi.PreemptCommand{PreemptionFenceID: 2}, 1 << 26, false},
		{"a device without preemption", kmddi.PreemptCommand{PreemptionFenceID: 2}, 1 << 25, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(1)
			k.gpu.regs[idCaps] |= tt.caps
			require.Equal(t, success, k.table.AddDevice(k.thread, k.adapter))
			_, s := k.start()
			require.Equal(t, success, s)
			k.submit(t, 0, 0, 0, 1)
			assert.Equal(t, success, k.table.PreemptCommand(k.thread, k.adapter, tt.arg), "any other status is a bugcheck")
			assert.Equal(t, tt.ok, k.gpu.regs[cp0Preempt] != 0)
			if tt.ok {
				assert.NotContains(t, k.debug(t), "the ring has failed")
			} else {
				assert.Contains(t, k.debug(t), "the ring has failed")
			}
		})
	}
	assert.Equal(t, success, newKernel(1).table.PreemptCommand(&ddi.Thread{}, kmddi.HAdapter{}, kmddi.PreemptCommand{}))
}

// A ring that has failed, and drops what it is given, does not answer, so that the time-out of
// the scheduler comes.
func TestPreemptFailedRing(t *testing.T) {
	k := preemptible(t, 1)
	require.Equal(t, success, k.table.PreemptCommand(k.thread, k.adapter, kmddi.PreemptCommand{PreemptionFenceID: 1, EngineOrdinal: 1}))
	require.Contains(t, k.debug(t), "the ring has failed")
	k.submit(t, 0, 0, 0, 1)
	assert.Empty(t, k.preempt(t, 0, 2))
	assert.Zero(t, k.gpu.regs[cp0Preempt])
}

// A request to preempt whose reads fail has the register and the status of the first of them.
func TestPreemptReadFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		again bool // the node has been asked before
		want  string
	}{
		{"the fence", false, "CP0: the ring has failed: ring: register access failed: read of CP0.FENCE: STATUS_IO_DEVICE_ERROR"},
		{"the answer to the last request", true, "CP0: the ring has failed: ring: register access failed: read of CP0.PREEMPTED: STATUS_IO_DEVICE_ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := preemptible(t, 1)
			k.submit(t, 0, 0, 0, 1)
			if tt.again {
				k.preempt(t, 0, 2)
			}
			k.dead = true
			k.preempt(t, 0, 3)
			k.dead = false
			text := k.debug(t)
			assert.Contains(t, text, tt.want)
			assert.NotContains(t, text, "STATUS_SUCCESS")
		})
	}
}

// TestPreemptCallbacksFail lets each callback of a preemption fail. The preemption is reported
// by the next query, or the ring has failed, and never is anything reported twice.
func TestPreemptCallbacksFail(t *testing.T) {
	want := []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x3 last 0x1"}
	later := 0
	for at := 1; ; at++ {
		k := preemptible(t, 1)
		k.submit(t, 0, 0, 0, 1)
		k.submit(t, 0, 0, 0, 2)
		k.calls, k.failAt = 0, at
		k.preempt(t, 0, 3)
		asked := k.gpu.regs[cp0Preempt] != 0
		k.gpu.complete(0, 1)
		if asked {
			k.gpu.stop(0, 5)
		}
		var fences []string
		k.interrupt(0)
		events := k.drain()
		_, _ = k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
		later = at
		for _, e := range append(events, k.drain()...) {
			if e != "QueueDpc" {
				fences = append(fences, e)
			}
		}
		failed := k.calls >= at
		k.failAt = 0
		if text := k.debug(t); !asked {
			assert.Contains(t, text, "the ring has failed", "at %d", at)
		} else {
			assert.Equal(t, want, fences, "at %d", at)
		}
		if !failed {
			break
		}
	}
	assert.Greater(t, later, 10)
}

// TestPreemptImpossiblePlace stops a node where it cannot stop. Nothing is reported, since the
// buffer could not be continued.
func TestPreemptImpossiblePlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(k *kernel)
	}{
		{"before a fence that has completed", func(k *kernel) { k.gpu.stop(0, 0) }},
		{"inside a packet", func(k *kernel) { k.gpu.stop(0, 7) }},
		{"before a later submission", func(k *kernel) { k.gpu.stop(0, 14) }},
		{"past the ring", func(k *kernel) { k.gpu.stop(0, 0x1000) }},
		{"in the buffer, at the fence", func(k *kernel) { k.gpu.stopIn(0, 9, 1<<63|0x20000, 8, 0) }},
		{"before the buffer", func(k *kernel) { k.gpu.stopIn(0, 5, 1<<63|0x1fffc, 9, 0) }},
		{"after the buffer", func(k *kernel) { k.gpu.stopIn(0, 5, 1<<63|0x20020, 1, 0) }},
		{"with too many dwords left", func(k *kernel) { k.gpu.stopIn(0, 5, 1<<63|0x20004, 8, 0) }},
		{"inside a dword", func(k *kernel) { k.gpu.stopIn(0, 5, 1<<63|0x20002, 7, 0) }},
		{"in VRAM", func(k *kernel) { k.gpu.stopIn(0, 5, 0x20000, 8, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := preemptible(t, 1)
			k.submit(t, 0, 0, 0, 1)
			k.part(t, 0x20, 2, newPrivate(k))
			k.submit(t, 0, 0, 0, 3)
			k.preempt(t, 0, 4)
			k.gpu.regs[cp0Fence] = 1
			tt.stop(k)
			assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "QueueDpc"}, k.answered(t))
			assert.Contains(t, k.debug(t), "the ring has failed")
		})
	}
}

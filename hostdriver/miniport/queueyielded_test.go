package miniport_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Only the answer to the last doorbell ends a preemption. Any other notice changes nothing: one more of the same
// answer, one without a doorbell, one of another node, and a late one while a queue has an entry.
//
// docs/properties.md: S5.
func TestQueuesYieldedTwice(t *testing.T) {
	k, f := withQueues(t, 2)
	ctx := k.context(t, k.device(t), 0)
	late := func(node uint32) { f.answer(0, opYielded, node, 0, 0) }
	late(0)
	assert.Empty(t, k.interrupted(t), "nothing was ever submitted")
	k.work(t, ctx, 0, 1, 1, false)
	late(0)
	assert.Empty(t, k.interrupted(t), "no preemption is due")
	require.Empty(t, k.preempt(t, 0, 2))
	late(1)
	late(7)
	assert.Empty(t, k.interrupted(t), "another node")
	f.yielded(0, 0)
	late(0)
	assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0"}, k.interrupted(t))
	k.work(t, ctx, 0, 1, 2, false)
	late(0)
	assert.Empty(t, k.interrupted(t), "one answer more")
	require.Empty(t, k.preempt(t, 0, 3))
	late(0)
	assert.Empty(t, k.interrupted(t), "the queue has its entry")
	f.yielded(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x3 last 0x0"}, k.interrupted(t))
	k.work(t, ctx, 0, 1, 3, false)
	f.finish(2, 0)
	assert.Equal(t, completed(0, 3), k.interrupted(t))
	assert.NotContains(t, k.debug(t), "has failed")
}

// After the reset of the adapter, and HELLO with it, an answer from before it is not that to a newer doorbell.
func TestQueuesYieldedBeforeHello(t *testing.T) {
	k, f := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	require.Empty(t, k.preempt(t, 0, 2))
	require.Equal(t, success, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Equal(t, success, k.table.RestartFromTimeout(k.thread, k.adapter))
	k.gpu.regs[intcStatus] = 0
	f.answer(0, opYielded, 0, 2, 0)
	assert.Empty(t, k.interrupted(t))
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	f.bells = nil
	require.Empty(t, k.preempt(t, 0, 2))
	assert.Equal(t, []uint32{2}, f.bells, "its own doorbell")
	f.answer(0, opYielded, 0, 2, 0)
	assert.Empty(t, k.interrupted(t))
	f.yielded(0, 0)
	assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0"}, k.interrupted(t))
}

// The driver takes an answer that arrives while it waits for another one after that one. It reports completed work first, also
// without an interrupt.
func TestQueuesYieldedDuringCall(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		k, f := withQueues(t, 1)
		dev := k.device(t)
		k.work(t, k.context(t, dev, 0), 0, 1, 1, false)
		bell := k.gpu.bell
		k.gpu.bell = func(v uint32) {
			if v&1 != 0 {
				k.gpu.bell = bell
				assert.Empty(t, k.preempt(t, 0, 2))
				f.finish(1, 0)
				f.yielded(0, 0)
				if interrupted {
					require.True(t, k.interrupt(0))
					assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "QueueDpc"}, k.drain())
				}
			}
			bell(v)
		}
		_, s := k.table.CreateContext(k.thread, dev, kmddi.HContext{Root: &ddi.Root{}}, kmddi.CreateContext{EngineAffinity: 1})
		require.Equal(t, success, s)
		want := []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x2 last 0x1", "QueueDpc"}
		if interrupted {
			want = want[1:]
		}
		assert.Equal(t, want, k.drain())
	}
}

// A doorbell that cannot be rung marks the ring as failed.
func TestQueuesYieldWithoutLink(t *testing.T) {
	k, _ := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	k.dead = true
	assert.Empty(t, k.preempt(t, 0, 2))
	k.dead = false
	assert.Contains(t, k.debug(t), "CP0: the work has failed: ring: register access failed: MCU.DOORBELL")
}

// A firmware that hangs in a preemption is loaded again. If its queues have no work left, the preemption is answered, and
// else the adapter is reset.
func TestQueuesHangInYield(t *testing.T) {
	for _, ends := range []bool{true, false} {
		k, f := withQueues(t, 1)
		ctx := k.context(t, k.device(t), 0)
		k.work(t, ctx, 0, 1, 1, false)
		require.Empty(t, k.preempt(t, 0, 2))
		if ends {
			f.finish(1, 0)
		}
		k.gpu.hang(8)
		require.True(t, k.interrupt(1))
		k.drain()
		k.gpu.loaded = nil
		current, events := k.query(t)
		if ends {
			assert.EqualValues(t, 1, current)
			assert.Contains(t, events, "preempted node 0 fence 0x2 last 0x1")
			assert.NotNil(t, k.gpu.loaded)
			k.gpu.regs[intcStatus], f.bells = 0, nil
			k.work(t, ctx, 0, 1, 2, false)
			assert.Equal(t, []uint32{1 << 17}, f.bells)
			continue
		}
		assert.Nil(t, k.gpu.loaded)
		assert.Contains(t, k.debug(t), "CP0: the work has failed: miniport: firmware hung")
		_, s := k.resetNode(0)
		assert.Equal(t, ddi.StatusIOTimeout, s)
		require.Equal(t, success, k.table.ResetFromTimeout(k.thread, k.adapter))
		require.Equal(t, success, k.table.RestartFromTimeout(k.thread, k.adapter))
		assert.NotNil(t, k.gpu.loaded)
	}
}

// A node is reset while its queues must stop. Queue 1 has fence 1, queue 2 fence 2 and 3; queue 2 has stopped on a fault, or
// RESET ends its work. The answer to the doorbell arrives with it or during the reset.
//
// If fence 1 was stopped inside, nothing can be aborted before it is complete. It continues, and then fence 2 fails again, and
// is aborted.
func TestQueuesResetInYield(t *testing.T) {
	for _, tt := range []struct {
		name           string
		faults, inside bool // the queue has stopped on a fault; fence 1 was stopped inside, and else it is complete
		late           bool // the answer arrives during the reset
	}{
		{"reset, all before is complete", false, false, true},
		{"reset, stopped inside", false, true, true},
		{"fault, all before is complete", true, false, false},
		{"fault, answered late", true, false, true},
		{"fault, stopped inside", true, true, false},
		{"fault, stopped inside, answered late", true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f := withQueues(t, 1)
			a, b := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
			p := [4][]byte{nil, newPrivate(k), newPrivate(k), newPrivate(k)}
			for id, c := range []kmddi.HContext{a, b, b} {
				k.partOf(t, c, 0x20, uint32(id+1), p[id+1], kmddi.SubmitFlags{})
			}
			require.Empty(t, k.preempt(t, 0, 4))
			answers := func() {
				if !tt.inside {
					f.finish(1, 0)
				}
				f.place(1, 1<<63|0x20008, 6, 3)
				f.answer(0, opYielded, 0, map[bool]uint32{true: 2}[tt.inside], 0)
				f.set(0xc4, f.word(0x84)) // queue 2 keeps its head
			}
			if tt.faults {
				f.answer(0, opFault, 0, 2, 8)
				if !tt.late {
					answers()
				}
				k.interrupted(t)
			}
			bell, reads := k.gpu.bell, 0
			k.hook = func(write bool, off uint32) {
				if reads++; tt.faults && tt.late && reads == 100 {
					answers()
				}
			}
			k.gpu.bell = func(v uint32) {
				n := len(f.requests)
				bell(v)
				if len(f.requests) > n && f.requests[n].op == opReset {
					f.answer(0, opFault, 0, 2, 19)
					answers()
				}
			}
			f.requests = nil
			last, s := k.resetNode(0)
			require.Equal(t, success, s)
			k.hook = nil
			assert.Equal(t, !tt.faults, f.requests[0].op == opReset)
			assert.EqualValues(t, 2, f.created[2][0])
			for _, e := range k.drain() {
				assert.NotContains(t, e, "preempted")
			}
			if !tt.inside {
				assert.EqualValues(t, 2, last)
				k.partOf(t, b, 0x20, 4, p[3], resubmission)
				entry, _ := f.resumption(2)
				assert.Equal(t, [4]uint32{0x20000, 1 << 31, 8, 0}, entry, "fence 3 had not begun")
				return
			}
			assert.EqualValues(t, 0, last, "nothing is aborted")
			k.patchAgain(t, p[1], 0x20)
			k.partOf(t, a, 0x20, 5, p[1], resubmission)
			entry, state := f.resumption(1)
			assert.Equal(t, [4]uint32{0x20008, 1 << 31, 6, 1}, entry)
			assert.EqualValues(t, 3, binary.LittleEndian.Uint64(state[14*8:]))
			k.drain()
			k.partOf(t, b, 0x20, 6, p[2], resubmission)
			assert.Contains(t, k.drain(), event("faulted node 0 fence 0x6 status %#x", uint32(ddi.StatusGPUExceptionOnDevice)))
			f.finish(1, 0)
			last, s = k.resetNode(0)
			require.Equal(t, success, s)
			assert.EqualValues(t, 6, last)
			k.partOf(t, b, 0x20, 7, p[3], resubmission)
			entry, _ = f.resumption(2)
			assert.Equal(t, [4]uint32{0x20000, 1 << 31, 8, 0}, entry, "fence 3 had not begun")
		})
	}
}

// A firmware that neither answers the doorbell nor resets the node leaves it to the reset of the adapter.
func TestQueuesResetWithoutAnswer(t *testing.T) {
	k, f := withQueues(t, 1)
	k.work(t, k.context(t, k.device(t), 0), 0, 1, 1, false)
	require.Empty(t, k.preempt(t, 0, 2))
	f.finish(1, 0)
	f.requests = nil
	_, s := k.resetNode(0)
	assert.Equal(t, ddi.StatusIOTimeout, s)
	assert.Equal(t, []request{{opReset, []uint32{0}}}, f.requests, "it was asked to end what the node does")
	require.Equal(t, success, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Equal(t, success, k.table.RestartFromTimeout(k.thread, k.adapter))
}

// Two parts of a DMA buffer have one place in its private data. If both complete before earlier work of another context, or the
// second stops inside, the first is not executed again either.
//
// docs/properties.md: S5.
func TestQueuesPreemptPartsOutOfOrder(t *testing.T) {
	for _, stops := range []bool{false, true} {
		k, f := withQueues(t, 1)
		a, b := k.context(t, k.device(t), 0), k.context(t, k.device(t), 0)
		private := newPrivate(k)
		part := func(start, id uint32, again bool) {
			arg := kmddi.SubmitCommand{
				Context: b, DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionStartOffset: start,
				DmaBufferSubmissionEndOffset: start + 0x18, SubmissionFenceID: id, DmaBufferPrivateData: private, Flags: kmddi.SubmitFlags{Resubmission: again},
			}
			k.table.Patch(k.thread, k.adapter, kmddi.Patch{
				Context: b, DmaBuffer: make([]byte, 0x1000), DmaBufferPrivateData: private, SubmissionFenceID: id,
				DmaBufferSubmissionStartOffset: start, DmaBufferSubmissionEndOffset: start + 0x18,
			})
			require.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, arg))
		}
		first := newPrivate(k)
		k.bufferOf(t, a, 1, first, false)
		part(0, 2, false)
		part(0x18, 3, false)
		places := uint32(0)
		if stops {
			places = 1 << 2
			f.finishOne(2)
			f.place(2, 0x8000000000020020, 4, 0)
		} else {
			f.finish(2, 0)
		}
		k.preempt(t, 0, 4)
		f.yielded(0, places)
		assert.Equal(t, []string{"preempted node 0 fence 0x4 last 0x0"}, k.interrupted(t))
		k.bufferOf(t, a, 5, first, true)
		f.finish(1, 0)
		assert.Equal(t, completed(0, 5), k.interrupted(t))
		part(0, 6, true)
		assert.Zero(t, f.entry(2)[2], "only its fence")
		part(0x18, 7, true)
		want := uint32(0)
		if stops {
			want = 4
		}
		assert.Equal(t, want, f.entry(2)[2], "what is left")
	}
}

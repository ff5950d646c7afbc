package miniport_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// partOf submits the first bytes of the DMA buffer at 0x20000, of a context on node 0.
func (k *kernel) partOf(t testing.TB, ctx kmddi.HContext, bytes, id uint32, private []byte, flags kmddi.SubmitFlags) {
	t.Helper()
	require.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, kmddi.SubmitCommand{
		Context: ctx, DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionEndOffset: bytes, SubmissionFenceID: id,
		DmaBufferPrivateData: private, Flags: flags,
	}))
}

// resumption returns the first four dwords of the last entry of a queue, and the state after the ring that
// docs/firmware.md gives it.
func (f *fakeFirmware) resumption(queue uint32) (entry [4]uint32, state []byte) {
	e, c := f.entry(queue), f.created[queue]
	entries := uint32(1) << c[6]
	i := (f.word(0x80+4*queue) - 1) % entries
	return [4]uint32(e[:4]), f.memory(c[4], c[5])[32*entries+128*i:][:128]
}

var resubmission = kmddi.SubmitFlags{Resubmission: true}

// A queue stops inside a buffer whose allocations then move. The entry of the resubmission is compared with its layout,
// and so is its state.
func TestQueuesResume(t *testing.T) {
	dma, list := stateBuffer()
	bytes := uint32(len(dma))
	f := newFixture(t)
	k, fw := withQueues(t, 1)
	f.k = k
	ctx := k.context(t, k.device(t), 0)
	for i := range uint32(40) { // more than the ring has entries
		at, progress := uint32(32), uint32(0)
		if i%2 != 0 {
			at, progress = 108, 0x1f8003
		}
		p := newPrivate(k)
		k.partOf(t, ctx, bytes, 3*i+1, p, kmddi.SubmitFlags{})
		require.Empty(t, k.preempt(t, 0, 3*i+2))
		fw.place(1, 1<<63|0x20000+uint64(at), (bytes-at)/4, progress)
		fw.yielded(0, 2)
		require.Equal(t, []string{event("preempted node 0 fence %#x last %#x", 3*i+2, 3*i)}, k.interrupted(t))
		f.list[1].SegmentID, f.list[1].PhysicalAddress = 1, 0x7000+0x1000*uint64(i)
		require.Equal(t, success, k.table.Patch(k.thread, k.adapter, kmddi.Patch{
			DmaBuffer: slices.Clone(dma), DmaBufferPrivateData: p, DmaBufferSubmissionEndOffset: bytes, AllocationList: f.list,
			PatchLocationList: list, PatchLocationListSubmissionLength: uint32(len(list)),
		}))
		fw.bells = nil
		k.partOf(t, ctx, bytes, 3*i+2, p, resubmission)
		assert.Equal(t, []uint32{1 << 17}, fw.bells)
		entry, state := fw.resumption(1)
		assert.Equal(t, [4]uint32{0x20000 + at, 1 << 31, (bytes - at) / 4, 1}, entry)
		want := [16]uint64{0x7000 + 0x1000*uint64(i), 1<<63 | 2<<32 | 256, 1 | 2<<16 | 10<<32 | 4<<48}
		if i%2 != 0 {
			want[3], want[4], want[5], want[14] = 0x7200+0x1000*uint64(i), 1<<63|2<<32|256, 1|2<<16|30<<32|4<<48, uint64(progress)
		}
		for j := range want {
			assert.Equal(t, want[j], binary.LittleEndian.Uint64(state[8*j:]), "round %d, word %d", i, j)
		}
		if i == 20 {
			assert.Contains(t, k.debug(t), "in the queue, continues after a preemption")
		}
		fw.finish(1, 0)
		require.Equal(t, completed(0, 3*i+2), k.interrupted(t))
		k.partOf(t, ctx, 0, 3*i+3, newPrivate(k), kmddi.SubmitFlags{})
		fw.finish(1, 0)
		require.Equal(t, completed(0, 3*i+3), k.interrupted(t))
	}
	assert.NotContains(t, k.debug(t), "has failed")
}

// yieldedBuffer returns a kernel whose node has stopped at offset 8 of a buffer of 32 bytes of the system, with fence 1, and the
// private data of the buffer.
func yieldedBuffer(t testing.TB) (*kernel, *fakeFirmware, []byte) {
	t.Helper()
	k, f := withQueues(t, 1)
	p := newPrivate(k)
	k.partOf(t, kmddi.HContext{}, 0x20, 1, p, kmddi.SubmitFlags{Paging: true})
	k.preempt(t, 0, 2)
	f.place(0, 1<<63|0x20008, 6, 3)
	f.yielded(0, 1)
	require.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0"}, k.interrupted(t))
	f.bells = nil
	return k, f, p
}

// What yieldedBuffer returns is submitted again, in several states.
func TestQueuesResubmission(t *testing.T) {
	paging := kmddi.SubmitFlags{Paging: true, Resubmission: true}
	rest, start := [4]uint32{0x20008, 1 << 31, 6, 1}, [4]uint32{0x20000, 1 << 31, 8, 0}
	for _, tt := range []struct {
		name  string
		do    func(k *kernel, p []byte)
		flags kmddi.SubmitFlags
		want  [4]uint32 // 0: the ring fails
	}{
		{"a paging buffer, which is not patched", func(*kernel, []byte) {}, paging, rest},
		{"not patched", func(*kernel, []byte) {}, resubmission, [4]uint32{}},
		{"patched", func(k *kernel, p []byte) { k.patchAgain(t, p, 0x20) }, resubmission, rest},
		{"another part was patched", func(k *kernel, p []byte) { k.patchAgain(t, p, 0x1c) }, resubmission, [4]uint32{}},
		{"written anew", func(k *kernel, p []byte) { copy(p, newPrivate(k)) }, resubmission, start},
		{"cancelled", func(k *kernel, p []byte) { k.cancel(t, p) }, resubmission, start},
		{"without its private data", func(_ *kernel, p []byte) { clear(p) }, paging, [4]uint32{}},
		{"another part", func(_ *kernel, p []byte) { binary.LittleEndian.PutUint32(p[12:], 0x1c) }, paging, start},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f, p := yieldedBuffer(t)
			tt.do(k, p)
			k.partOf(t, kmddi.HContext{}, 0x20, 1, p, tt.flags)
			if tt.want == [4]uint32{} {
				assert.Empty(t, f.bells)
				assert.Contains(t, k.debug(t), "CP0: the work has failed: miniport: no place to resume: fence 1 ")
				return
			}
			entry, state := f.resumption(0)
			assert.Equal(t, tt.want, entry)
			if tt.want == rest {
				assert.EqualValues(t, 3, binary.LittleEndian.Uint64(state[14*8:]))
			}
			assert.NotContains(t, k.debug(t), "has failed")
		})
	}
}

// A buffer that continues is stopped again: before it has begun it keeps its place, and else it gets a new one.
func TestQueuesYieldResumed(t *testing.T) {
	paging := kmddi.SubmitFlags{Paging: true, Resubmission: true}
	for _, tt := range []struct {
		name           string
		places         uint32
		addr           uint64
		left, progress uint32
		want           [4]uint32
		state          uint64
	}{
		{"not begun", 0, 0, 0, 0, [4]uint32{0x20008, 1 << 31, 6, 1}, 3},
		{"at the same place", 1, 1<<63 | 0x20008, 6, 3, [4]uint32{0x20008, 1 << 31, 6, 1}, 3},
		{"in the same packet", 1, 1<<63 | 0x20008, 6, 5, [4]uint32{0x20008, 1 << 31, 6, 1}, 5},
		{"further on", 1, 1<<63 | 0x2001c, 1, 0, [4]uint32{0x2001c, 1 << 31, 1, 1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f, p := yieldedBuffer(t)
			k.partOf(t, kmddi.HContext{}, 0x20, 1, p, paging)
			require.Empty(t, k.preempt(t, 0, 2))
			f.place(0, tt.addr, tt.left, tt.progress)
			f.yielded(0, tt.places)
			assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0"}, k.interrupted(t))
			k.partOf(t, kmddi.HContext{}, 0x20, 1, p, paging)
			entry, state := f.resumption(0)
			assert.Equal(t, tt.want, entry)
			assert.Equal(t, tt.state, binary.LittleEndian.Uint64(state[14*8:]))
		})
	}
}

// A place that is not in the work of its queue is refused, and names what is wrong. Nothing is preempted, and the reset of the
// node ends the work.
func TestQueuesImpossiblePlace(t *testing.T) {
	for _, tt := range []struct {
		name           string
		places         uint32
		addr           uint64
		left           uint32
		bytes, resumes uint32
		says           string
	}{
		{"one packet further than what is left", 1, 1<<63 | 0x2000c, 6, private, 0, "stopped at 0x800000000002000c with 6 dwords left, in [0x0, 0x20) of the buffer at 0x8000000000020000"},
		{"before the buffer", 1, 1<<63 | 0x1fffc, 9, private, 0, "stopped at 0x800000000001fffc with 9 dwords left"},
		{"at the end", 1, 1<<63 | 0x20020, 0, private, 0, "stopped at 0x8000000000020020 with 0 dwords left"},
		{"no dword", 1, 1<<63 | 0x20006, 6, private, 0, "stopped at 0x8000000000020006 with 6 dwords left"},
		{"a queue without work", 2, 1<<63 | 0x20008, 6, private, 0, "queue 1 stopped at 0x0, but has no work"},
		{"no private data", 1, 1<<63 | 0x20008, 6, private - 1, 0, "queue 0: fence 1: miniport: no place to resume: no private data"},
		{"before the place where it continued", 1, 1<<63 | 0x20008, 6, private, 0xc, "stopped at 0x8000000000020008, before 0x800000000002000c, where it continued"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f := withQueues(t, 1)
			p := newPrivate(k)
			if tt.resumes != 0 {
				for i, v := range []uint32{1, 0, 0x20, tt.resumes} { // stopped, start, end, at
					binary.LittleEndian.PutUint32(p[4+4*i:], v)
				}
			}
			k.partOf(t, kmddi.HContext{}, 0x20, 1, p[:tt.bytes], kmddi.SubmitFlags{Paging: true})
			k.preempt(t, 0, 2)
			f.place(0, tt.addr, tt.left, 0)
			f.yielded(0, tt.places)
			assert.Empty(t, k.interrupted(t))
			assert.Contains(t, k.debug(t), "CP0: the work has failed: ")
			assert.Contains(t, k.debug(t), tt.says)
			last, s := k.resetNode(0)
			require.Equal(t, success, s)
			assert.LessOrEqual(t, last, uint32(1))
			assert.NotContains(t, k.debug(t), "has failed")
		})
	}
}

// Two contexts share a queue. Each was stopped inside a buffer, and both continue one after the other, each from its own state.
func TestQueuesResumeInOneQueue(t *testing.T) {
	k, f := withQueues(t, 1)
	for range 15 {
		k.context(t, k.device(t), 0)
	}
	p := [2][]byte{newPrivate(k), newPrivate(k)}
	var ctx [2]kmddi.HContext
	for i := range ctx {
		ctx[i] = kmddi.HContext{Root: &ddi.Root{}}
		_, s := k.table.CreateContext(k.thread, k.device(t), ctx[i], kmddi.CreateContext{EngineAffinity: 1})
		require.Equal(t, success, s)
	}
	k.gpu.regs[intcStatus] = 0
	queue := uint32(1)
	for i, c := range ctx {
		if i == 1 { // the fewest contexts: all others
			c = ctx[0]
		}
		k.partOf(t, c, 0x20, uint32(2*i+1), p[i], kmddi.SubmitFlags{})
		require.Empty(t, k.preempt(t, 0, uint32(2*i+2)))
		f.place(queue, 1<<63|uint64(0x20008+4*i), uint32(6-i), uint32(40+i))
		f.yielded(0, 1<<queue)
		require.Equal(t, []string{event("preempted node 0 fence %#x last 0x0", 2*i+2)}, k.interrupted(t))
		k.patchAgain(t, p[i], 0x20)
	}
	var states [2][]byte
	for i := range p {
		k.partOf(t, ctx[0], 0x20, uint32(5+i), p[i], resubmission)
		_, states[i] = f.resumption(queue)
	}
	for i, s := range states {
		assert.EqualValues(t, 40+i, binary.LittleEndian.Uint64(s[14*8:]), "the state of entry %d", i)
	}
}

// Only the answer to the last doorbell ends a preemption. Any other notice changes nothing: one more of the same
// answer, one without a doorbell, one of another node, and a late one while a queue has an entry.
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

// An answer that arrives while the driver waits for another one is taken after it.
func TestQueuesYieldedDuringCall(t *testing.T) {
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
			require.True(t, k.interrupt(0))
			assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "QueueDpc"}, k.drain())
		}
		bell(v)
	}
	_, s := k.table.CreateContext(k.thread, dev, kmddi.HContext{Root: &ddi.Root{}}, kmddi.CreateContext{EngineAffinity: 1})
	require.Equal(t, success, s)
	assert.Equal(t, []string{"preempted node 0 fence 0x2 last 0x1", "QueueDpc"}, k.drain())
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

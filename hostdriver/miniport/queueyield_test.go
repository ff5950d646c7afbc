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

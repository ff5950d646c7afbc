package miniport_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// event formats an event.
func event(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// private is the size of the private data of a buffer.
const private = 80

// newPrivate returns the private data of a paging buffer, as the driver leaves it.
func newPrivate(k *kernel) []byte {
	b := make([]byte, private)
	for i := range b {
		b[i] = guard
	}
	k.table.BuildPagingBuffer(k.thread, k.adapter, kmddi.BuildPagingBuffer{Operation: kmddi.PagingDiscardContent, DmaBufferPrivateData: b})
	return b
}

// part submits the first bytes of the DMA buffer at 0x20000.
func (k *kernel) part(t testing.TB, bytes, id uint32, private []byte, flags ...kmddi.SubmitFlags) {
	t.Helper()
	arg := kmddi.SubmitCommand{
		DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionEndOffset: bytes, SubmissionFenceID: id,
		DmaBufferPrivateData: private,
	}
	if len(flags) > 0 {
		arg.Flags = flags[0]
	}
	require.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, arg))
}

// buffer has two SET_STATE of each surface, a COPY_2D, and a NOP between them whose body looks
// like a SET_STATE. Its patches are for the bases.
func stateBuffer() ([]byte, []kmddi.PatchLocation) {
	set := func(surface, x1 uint32) []uint32 {
		return []uint32{0x03000007, surface, 0xffffffff, 0xffffffff, 256, 2, 1 | 2<<16, x1 | 4<<16}
	}
	w := slices.Concat(set(0, 10), set(1, 20), []uint32{0x01000002, 0x03000007, 0}, set(1, 30), []uint32{0x05000003, 0, 0, 0x00010001}, set(0, 40))
	var list []kmddi.PatchLocation
	for i, at := range []uint32{8, 40, 84, 132} {
		list = append(list, kmddi.PatchLocation{AllocationIndex: uint32(i%2 + 1), AllocationOffset: uint32(0x100 * i), PatchOffset: at})
	}
	return words(w...), list
}

// TestResume stops a node in a buffer whose allocations then move, and compares the packets and
// the state of the resubmission with their layouts.
func TestResume(t *testing.T) {
	dma, list := stateBuffer()
	bytes := uint32(len(dma))
	for _, tt := range []struct {
		name     string
		at       uint32 // offset of the place
		progress uint32
		surfaces [6]uint64
	}{
		{"at the start", 0, 0, [6]uint64{}},
		{"one surface", 32, 0, [6]uint64{0x7000, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 10<<32 | 4<<48}},
		{"both surfaces", 64, 0, [6]uint64{
			0x7000, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 10<<32 | 4<<48,
			1<<63 | 0x9100, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 20<<32 | 4<<48,
		}},
		{"after what looks like a packet", 76, 0, [6]uint64{
			0x7000, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 10<<32 | 4<<48,
			1<<63 | 0x9100, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 20<<32 | 4<<48,
		}},
		{"inside a packet", 108, 0x1f8003, [6]uint64{
			0x7000, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 10<<32 | 4<<48,
			0x7200, 1<<63 | 2<<32 | 256, 1 | 2<<16 | 30<<32 | 4<<48,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.k = preemptible(t, 1)
			p := newPrivate(f.k)
			f.k.part(t, bytes, 1, p)
			f.k.preempt(t, 0, 2)
			f.k.gpu.stopIn(0, 0, 1<<63|0x20000+uint64(tt.at), (bytes-tt.at)/4, tt.progress)
			require.Equal(t, []string{"preempted node 0 fence 0x2 last 0x0", "QueueDpc"}, f.k.answered(t))
			f.list[1].SegmentID, f.list[1].PhysicalAddress = 1, 0x7000
			f.list[2].SegmentID, f.list[2].PhysicalAddress = 2, 1<<63|0x9000
			d := slices.Clone(dma)
			require.Equal(t, success, f.k.table.Patch(f.k.thread, f.k.adapter, kmddi.Patch{
				DmaBuffer: d, DmaBufferPrivateData: p, DmaBufferSubmissionEndOffset: bytes, AllocationList: f.list,
				PatchLocationList: list, PatchLocationListSubmissionLength: uint32(len(list)),
			}))
			f.k.part(t, bytes, 2, p, kmddi.SubmitFlags{Resubmission: true})
			assert.Equal(t, []uint32{
				0x14000002, 0x10400, 0x80000000, // RESTORE_STATE of the first slot, in the page of the fences
				0x02000003, 0x20000 + tt.at, 0x80000000, (bytes-tt.at)/4 | 1<<20, // INDIRECT with Resume
				0x10000004, 0x10000, 0x80000000, 2, 1,
			}, f.k.ringDwords(0))
			state := f.k.memory[0x10000][0x400:0x480]
			for i := range 16 {
				want := uint64(0)
				if i < 6 {
					want = tt.surfaces[i]
				} else if i == 14 {
					want = uint64(tt.progress)
				}
				assert.Equal(t, want, binary.LittleEndian.Uint64(state[8*i:]), "word %d", i)
			}
			assert.NotContains(t, f.k.debug(t), "the ring has failed")
		})
	}
}

// halted returns a kernel whose node was stopped at offset 8 of a buffer of 32 bytes, with
// fence 2, and the private data of the buffer. It was a paging buffer.
func halted(t testing.TB) (*kernel, []byte) {
	t.Helper()
	k := preemptible(t, 1)
	p := newPrivate(k)
	k.submit(t, 0, 0, 0, 1)
	k.part(t, 0x20, 2, p, kmddi.SubmitFlags{Paging: true})
	k.preempt(t, 0, 3)
	k.gpu.regs[cp0Fence] = 1
	k.gpu.stopIn(0, 5, 1<<63|0x20008, 6, 3)
	require.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "preempted node 0 fence 0x3 last 0x1", "QueueDpc"}, k.answered(t))
	return k, p
}

// Packets of the resubmission of what halted returns, with a fence.
func resumed(id uint32) []uint32 {
	return []uint32{
		0x14000002, 0x10480, 0x80000000, // RESTORE_STATE of the second slot
		0x02000003, 0x20008, 0x80000000, 6 | 1<<20, 0x10000004, 0x10000, 0x80000000, id, 1,
	}
}

// fromStart are the packets of the same buffer without a place.
func fromStart(id uint32) []uint32 {
	return []uint32{0x02000003, 0x20000, 0x80000000, 8, 0x10000004, 0x10000, 0x80000000, id, 1}
}

// TestResubmission submits what halted returns again, in several states.
func TestResubmission(t *testing.T) {
	paging := kmddi.SubmitFlags{Paging: true, Resubmission: true}
	render := kmddi.SubmitFlags{Resubmission: true}
	for _, tt := range []struct {
		name  string
		do    func(k *kernel, p []byte)
		flags kmddi.SubmitFlags
		want  []uint32 // nil: the ring fails
	}{
		{"a paging buffer, which is not patched", func(*kernel, []byte) {}, paging, resumed(2)},
		{"not patched", func(*kernel, []byte) {}, render, nil},
		{"patched", func(k *kernel, p []byte) { k.patchAgain(t, p, 0x20) }, render, resumed(2)},
		{"another part was patched", func(k *kernel, p []byte) { k.patchAgain(t, p, 0x1c) }, render, nil},
		{"written anew", func(k *kernel, p []byte) { copy(p, newPrivate(k)) }, render, fromStart(2)},
		{"cancelled", func(k *kernel, p []byte) { k.cancel(t, p) }, render, fromStart(2)},
		{"cancelled twice", func(k *kernel, p []byte) { k.cancel(t, p); k.cancel(t, p) }, render, fromStart(2)},
		{"without its private data", func(_ *kernel, p []byte) { clear(p) }, paging, nil},
		{"another part", func(_ *kernel, p []byte) { binary.LittleEndian.PutUint32(p[12:], 0x1c) }, paging, fromStart(2)},
		{"only the fence is left", func(_ *kernel, p []byte) { binary.LittleEndian.PutUint32(p[16:], 0x20) }, paging, fromStart(2)[4:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, p := halted(t)
			tt.do(k, p)
			k.part(t, 0x20, 2, p, tt.flags)
			if tt.want == nil {
				assert.Len(t, k.ringDwords(0), 5)
				assert.Contains(t, k.debug(t), "the ring has failed")
				return
			}
			assert.Equal(t, tt.want, k.ringDwords(0)[5:])
			assert.NotContains(t, k.debug(t), "the ring has failed")
		})
	}
}

// patchAgain patches the first bytes of what halted returns, which have no addresses.
func (k *kernel) patchAgain(t testing.TB, p []byte, bytes uint32) {
	t.Helper()
	nops := words(0x01000001, 0, 0x01000000, 0x01000004, 0, 0, 0, 0)
	require.Equal(t, success, k.table.Patch(k.thread, k.adapter, kmddi.Patch{
		DmaBuffer: nops, DmaBufferPrivateData: p, DmaBufferSubmissionEndOffset: bytes,
	}))
}

// cancel cancels the buffer that has private data.
func (k *kernel) cancel(t testing.TB, p []byte) {
	t.Helper()
	require.Equal(t, success, k.table.CancelCommand(k.thread, k.adapter, kmddi.CancelCommand{DmaBufferPrivateData: p}))
}

// TestPreemptResumed stops a node in, before and after the rest of a buffer that continues.
func TestPreemptResumed(t *testing.T) {
	flags := kmddi.SubmitFlags{Paging: true, Resubmission: true}
	for _, tt := range []struct {
		name string
		stop func(k *kernel)
		want []uint32 // packets of the next resubmission
	}{
		{"before RESTORE_STATE", func(k *kernel) { k.gpu.stop(0, 5) }, resumed(2)},
		{"before INDIRECT", func(k *kernel) { k.gpu.stop(0, 8) }, resumed(2)},
		{"at the same place", func(k *kernel) { k.gpu.stopIn(0, 8, 1<<63|0x20008, 6, 3) }, resumed(2)},
		{"before the fence", func(k *kernel) { k.gpu.stop(0, 12) }, fromStart(2)[4:]},
		{"further on", func(k *kernel) { k.gpu.stopIn(0, 8, 1<<63|0x2001c, 1, 0) }, []uint32{
			0x14000002, 0x10480, 0x80000000, 0x02000003, 0x2001c, 0x80000000, 1 | 1<<20, 0x10000004, 0x10000, 0x80000000, 2, 1,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, p := halted(t)
			k.part(t, 0x20, 2, p, flags)
			k.preempt(t, 0, 3)
			tt.stop(k)
			assert.Equal(t, []string{"preempted node 0 fence 0x3 last 0x1", "QueueDpc"}, k.answered(t))
			at := k.gpu.regs[cp0Rptr]
			k.part(t, 0x20, 2, p, flags)
			assert.Equal(t, tt.want, k.ringDwords(0)[at:])
			assert.NotContains(t, k.debug(t), "the ring has failed")
		})
	}
}

// TestPatchImpossiblePlace patches a buffer that does not have a packet where it was stopped.
func TestPatchImpossiblePlace(t *testing.T) {
	for name, dma := range map[string][]byte{
		"inside a packet":    words(0x01000002, 0, 0, 0, 0, 0, 0, 0),
		"past the buffer":    words(0x01000000),
		"no SET_STATE":       words(0x03000001, 0, 0, 0, 0, 0, 0, 0),
		"a packet past them": words(0x01000000, 0x0100ffff, 0, 0, 0, 0, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			k, p := halted(t)
			require.Equal(t, success, k.table.Patch(k.thread, k.adapter, kmddi.Patch{DmaBuffer: dma, DmaBufferPrivateData: p, DmaBufferSubmissionEndOffset: 0x20}))
			assert.Contains(t, k.debug(t), "the ring has failed")
		})
	}
}

// TestStoppedWithoutPrivateData stops a node in a buffer whose place cannot be kept.
func TestStoppedWithoutPrivateData(t *testing.T) {
	k := preemptible(t, 1)
	k.part(t, 0x20, 1, make([]byte, private-1))
	k.preempt(t, 0, 2)
	k.gpu.stopIn(0, 0, 1<<63|0x20008, 6, 3)
	assert.Equal(t, []string{"QueueDpc"}, k.answered(t))
	assert.Contains(t, k.debug(t), "the ring has failed")
}

// TestPrivateData asks for private data only where nodes can be preempted.
func TestPrivateData(t *testing.T) {
	for _, tt := range []struct {
		caps uint32
		want uint32
	}{{0, 0}, {1 << 25, 0}, {1 << 26, 0}, {capsPreempt, private}} {
		k := newKernel(1)
		k.gpu.regs[idCaps] |= tt.caps
		require.Equal(t, success, k.table.AddDevice(k.thread, k.adapter))
		_, s := k.start()
		require.Equal(t, success, s)
		dev := k.device(t)
		info, s := k.table.CreateContext(k.thread, dev, k.context(t, dev, 0), kmddi.CreateContext{})
		require.Equal(t, success, s)
		assert.Equal(t, tt.want, info.DmaBufferPrivateDataSize)
		out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
		require.Equal(t, success, s)
		assert.Equal(t, tt.want, out.Segments.PagingBufferPrivateDataSize)
	}
}

// TestNewBufferHasNoPlace writes a buffer again that an earlier user was stopped in.
func TestNewBufferHasNoPlace(t *testing.T) {
	_, old := halted(t)
	want := append(words(0x31504748), make([]byte, private-4)...)
	require.NotEqual(t, want, old)
	f := newFixture(t)
	for name, write := range map[string]func(p []byte) ddi.Status{
		"Render": func(p []byte) ddi.Status {
			_, s := f.k.table.Render(f.k.thread, f.ctx, kmddi.Render{
				Command: &userMemory{}, PatchLocationListIn: &userPatches{}, DmaBuffer: make([]byte, 100), DmaBufferPrivateData: p,
			})
			return s
		},
		"Present": func(p []byte) ddi.Status {
			to := f.list[image]
			to.WriteOperation = true
			_, s := f.k.table.Present(f.k.thread, f.ctx, kmddi.Present{
				DmaBuffer: make([]byte, 100), DmaBufferPrivateData: p, PatchLocationListOut: make(patches, 2),
				AllocationList: []kmddi.AllocationList{{}, f.list[image], to},
			})
			return s
		},
		"BuildPagingBuffer": func(p []byte) ddi.Status {
			_, s := f.k.table.BuildPagingBuffer(f.k.thread, f.k.adapter, kmddi.BuildPagingBuffer{Operation: kmddi.PagingDiscardContent, DmaBufferPrivateData: p})
			return s
		},
		"CancelCommand": func(p []byte) ddi.Status {
			k := preemptible(t, 1)
			return k.table.CancelCommand(k.thread, k.adapter, kmddi.CancelCommand{DmaBufferPrivateData: p})
		},
	} {
		p := slices.Clone(old)
		assert.Equal(t, success, write(p), name)
		assert.Equal(t, want, p, name)
	}
}

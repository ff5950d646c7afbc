package miniport_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestBuildPagingBuffer(t *testing.T) {
	loc := func(seg uint32, addr uint64) kmddi.PagingLocation {
		return kmddi.PagingLocation{SegmentID: seg, Address: addr}
	}
	more := ddi.StatusInsufficientDMABuffer
	// With lengths of 16 bits a packet moves at most 0xf000 bytes, a multiple
	// of 4096.
	for _, tt := range []struct {
		name string
		arg  kmddi.BuildPagingBuffer
		room int
		want []uint32
		next uint32
		s    ddi.Status
	}{
		{"in", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(0, 0x12_3456_7000), Destination: loc(1, 0x8000), Size: 64}, 4096,
			[]uint32{0x04000005, 0x34567000, 0x80000012, 0x8000, 0, 64}, 0, success},
		{"out", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0x8000), Destination: loc(0, 0x7000), Size: 64}, 24,
			[]uint32{0x04000005, 0x8000, 0, 0x7000, 0x80000000, 64}, 0, success},
		{"between segments", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0), Destination: loc(2, 1<<63|0x7000), Size: 64}, 24,
			[]uint32{0x04000005, 0, 0, 0x7000, 0x80000000, 64}, 0, success},
		{"the longest of one packet", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0), Destination: loc(0, 0x7000), Size: 0xf000}, 4096,
			[]uint32{0x04000005, 0, 0, 0x7000, 0x80000000, 0xf000}, 0, success},
		{"two packets", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0x100), Destination: loc(0, 0x7000), Size: 0xf001}, 4096,
			[]uint32{0x04000005, 0x100, 0, 0x7000, 0x80000000, 0xf000, 0x04000005, 0xf100, 0, 0x16000, 0x80000000, 1}, 0, success},
		{"room for one of two", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0x100), Destination: loc(0, 0x7000), Size: 0xf001}, 47,
			[]uint32{0x04000005, 0x100, 0, 0x7000, 0x80000000, 0xf000}, 1, more},
		{"the second pass", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0x100), Destination: loc(0, 0x7000), Size: 0xf001, MultipassOffset: 1}, 47,
			[]uint32{0x04000005, 0xf100, 0, 0x16000, 0x80000000, 1}, 0, success},
		{"no room", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0), Destination: loc(0, 0), Size: 1}, 23, nil, 0, more},
		{"a transfer of nothing", kmddi.BuildPagingBuffer{Operation: 0, Source: loc(1, 0), Destination: loc(0, 0)}, 0, nil, 0, success},
		{"fill", kmddi.BuildPagingBuffer{Operation: 1, Destination: loc(1, 0x8000), Size: 0xf004, FillPattern: 0xdeadbeef}, 4096,
			[]uint32{0x06000005, 0x8000, 0, 0xf000, 0xdeadbeef, 0xdeadbeef, 0x06000005, 0x17000, 0, 4, 0xdeadbeef, 0xdeadbeef}, 0, success},
		{"discard", kmddi.BuildPagingBuffer{Operation: 2, Destination: loc(1, 0x8000), Size: 64}, 4096, nil, 0, success},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := started(t, 2)
			dma := bytes.Repeat([]byte{guard}, tt.room)
			tt.arg.DmaBuffer = dma
			out, s := k.table.BuildPagingBuffer(k.thread, k.adapter, tt.arg)
			assert.Equal(t, tt.s, s)
			assert.Equal(t, kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(4 * len(tt.want)), MultipassOffset: tt.next}, out)
			assert.Equal(t, words(tt.want...), slices.Concat([]byte(nil), dma[:4*len(tt.want)]))
			assert.Equal(t, bytes.Repeat([]byte{guard}, tt.room-4*len(tt.want)), dma[4*len(tt.want):])
			assert.NotContains(t, k.debug(t), "the ring has failed")
		})
	}
	for _, tt := range []struct {
		name string
		arg  kmddi.BuildPagingBuffer
	}{
		{"an unknown operation", kmddi.BuildPagingBuffer{Operation: 3, Size: 1}},
		{"a source that is not a host address", kmddi.BuildPagingBuffer{Source: loc(0, 1<<63), Size: 1}},
		{"a source that wraps", kmddi.BuildPagingBuffer{Source: loc(2, 1<<64-1), Size: 2}},
		{"a destination that wraps", kmddi.BuildPagingBuffer{Operation: 1, Destination: loc(1, 1<<63-1), Size: 2}},
		{"too many bytes", kmddi.BuildPagingBuffer{Operation: 1, Size: 1<<40 + 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := started(t, 2)
			tt.arg.DmaBuffer = make([]byte, 4096)
			out, s := k.table.BuildPagingBuffer(k.thread, k.adapter, tt.arg)
			assert.Equal(t, success, s, "any other status is a bugcheck")
			assert.Zero(t, out)
			assert.Contains(t, k.debug(t), "CP1: the ring has failed: miniport: bad argument")
			assert.NotContains(t, k.debug(t), "CP0: the ring has failed")
		})
	}
}

// docs/validator.md: V16.
func TestPatch(t *testing.T) {
	f := newFixture(t)
	list := patches{at(source, 8, 4, 0), at(target, 0x10, 12, 0), at(canvas, 0, 28, 24)}
	arg := kmddi.Patch{
		DmaBufferSubmissionEndOffset: 36, AllocationList: f.list, PatchLocationList: list,
		PatchLocationListSubmissionStart: 1, PatchLocationListSubmissionLength: 2,
	}
	arg.DmaBuffer = bytes.Repeat([]byte{guard}, 40)
	want := slices.Clone(arg.DmaBuffer)
	binary.LittleEndian.PutUint64(want[12:], 1<<63|0x40010)
	binary.LittleEndian.PutUint64(want[28:], 0x3000)
	for range 2 {
		require.Equal(t, success, f.k.table.Patch(f.k.thread, f.k.adapter, arg))
		assert.Equal(t, want, arg.DmaBuffer)
	}
	f.list[canvas].SegmentID, f.list[canvas].PhysicalAddress = 2, 1<<63|0x9000
	binary.LittleEndian.PutUint64(want[28:], 1<<63|0x9000)
	require.Equal(t, success, f.k.table.Patch(f.k.thread, f.k.adapter, arg))
	assert.Equal(t, want, arg.DmaBuffer, "the allocation has moved")
	assert.NotContains(t, f.k.debug(t), "the ring has failed")
}

func TestPatchFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(f *fixture, p *kmddi.Patch)
		ok   bool
	}{
		{"nothing", func(*fixture, *kmddi.Patch) {}, true},
		{"a paging buffer without patches", func(_ *fixture, p *kmddi.Patch) { *p = kmddi.Patch{Flags: kmddi.SubmitFlags{Paging: true}} }, true},
		{"ends with the part", func(_ *fixture, p *kmddi.Patch) { p.DmaBufferSubmissionEndOffset = 12 }, true},
		{"ends after the part", func(_ *fixture, p *kmddi.Patch) { p.DmaBufferSubmissionEndOffset = 11 }, false},
		{"begins with the part", func(_ *fixture, p *kmddi.Patch) { p.DmaBufferSubmissionStartOffset = 4 }, true},
		{"begins before the part", func(_ *fixture, p *kmddi.Patch) { p.DmaBufferSubmissionStartOffset = 5 }, false},
		{"ends past the buffer", func(_ *fixture, p *kmddi.Patch) { p.DmaBuffer = p.DmaBuffer[:11] }, false},
		{"an offset near 2^32", func(_ *fixture, p *kmddi.Patch) { p.PatchLocationList[0].PatchOffset = 0xfffffff8 }, false},
		{"past the patch list", func(_ *fixture, p *kmddi.Patch) { p.PatchLocationListSubmissionLength = 2 }, false},
		{"a length near 2^32", func(_ *fixture, p *kmddi.Patch) {
			p.PatchLocationListSubmissionStart, p.PatchLocationListSubmissionLength = 1, 0xffffffff
		}, false},
		{"past the allocation list", func(_ *fixture, p *kmddi.Patch) { p.PatchLocationList[0].AllocationIndex = listed }, false},
		{"no allocation", func(_ *fixture, p *kmddi.Patch) { p.PatchLocationList[0].AllocationIndex = none }, false},
		{"paged out", func(_ *fixture, p *kmddi.Patch) { p.PatchLocationList[0].AllocationIndex = outside }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			arg := kmddi.Patch{
				DmaBuffer: make([]byte, 24), DmaBufferSubmissionEndOffset: 24, AllocationList: f.list,
				PatchLocationList: patches{at(target, 0, 4, 0)}, PatchLocationListSubmissionLength: 1,
			}
			tt.edit(f, &arg)
			assert.Equal(t, success, f.k.table.Patch(f.k.thread, f.k.adapter, arg), "any other status is a bugcheck")
			f.k.submit(t, 0, 0, 24, 1)
			assert.Equal(t, tt.ok, f.k.gpu.regs[cp0Wptr] != 0, "an unpatched buffer is never submitted")
		})
	}
}

func TestSubmitCommand(t *testing.T) {
	k := started(t, 2)
	k.submit(t, 1, 0x10, 0x50, 1)
	k.submit(t, 1, 0x50, 0x50, 2)
	assert.Equal(t, []uint32{
		0x02000003, 0x20010, 0x80000000, 0x10, // INDIRECT of 16 dwords
		0x10000004, 0x10040, 0x80000000, 1, 1, // FENCE to the second cache line of the first page
		0x10000004, 0x10040, 0x80000000, 2, 1, // an empty part
	}, k.ringDwords(1))
	assert.Zero(t, k.gpu.regs[cp0Wptr])
	k.submit(t, 0, 0, 0, 1)
	assert.Equal(t, []uint32{0x10000004, 0x10000, 0x80000000, 1, 1}, k.ringDwords(0), "each node has its own ids and ring")
}

func TestSubmitCommandFails(t *testing.T) {
	base := kmddi.SubmitCommand{
		DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionEndOffset: 0x20, SubmissionFenceID: 2,
	}
	for _, tt := range []struct {
		name string
		edit func(a *kmddi.SubmitCommand)
		ok   bool
	}{
		{"nothing", func(*kmddi.SubmitCommand) {}, true},
		{"the entire buffer", func(a *kmddi.SubmitCommand) { a.DmaBufferSubmissionEndOffset = 0x1000 }, true},
		{"more than the buffer", func(a *kmddi.SubmitCommand) { a.DmaBufferSubmissionEndOffset = 0x1004 }, false},
		{"ends before it begins", func(a *kmddi.SubmitCommand) { a.DmaBufferSubmissionStartOffset = 0x24 }, false},
		{"begins inside a dword", func(a *kmddi.SubmitCommand) { a.DmaBufferSubmissionStartOffset = 2 }, false},
		{"ends inside a dword", func(a *kmddi.SubmitCommand) { a.DmaBufferSubmissionEndOffset = 0x1e }, false},
		{"a misaligned buffer", func(a *kmddi.SubmitCommand) { a.DmaBufferPhysicalAddress = 0x20002 }, false},
		{"at the device's highest address", func(a *kmddi.SubmitCommand) { a.DmaBufferPhysicalAddress = 1<<40 - 0x1000 }, true},
		{"above the device's highest address", func(a *kmddi.SubmitCommand) { a.DmaBufferPhysicalAddress = 1<<40 - 0xffc }, false},
		{"an address with bit 63", func(a *kmddi.SubmitCommand) { a.DmaBufferPhysicalAddress = 1 << 63 }, false},
		{"an empty part without buffer", func(a *kmddi.SubmitCommand) { *a = kmddi.SubmitCommand{SubmissionFenceID: 2} }, true},
		{"the longest INDIRECT", func(a *kmddi.SubmitCommand) { a.DmaBufferSize, a.DmaBufferSubmissionEndOffset = 4<<20, 4<<20-4 }, true},
		{"a longer INDIRECT", func(a *kmddi.SubmitCommand) { a.DmaBufferSize, a.DmaBufferSubmissionEndOffset = 4<<20, 4<<20 }, false},
		{"a fence id that does not increase", func(a *kmddi.SubmitCommand) { a.SubmissionFenceID = 1 }, false},
		{"another engine", func(a *kmddi.SubmitCommand) { a.EngineOrdinal = 1 }, false},
		{"no such node", func(a *kmddi.SubmitCommand) { a.NodeOrdinal = 2 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := started(t, 2)
			k.submit(t, 0, 0, 0, 1)
			before := k.gpu.regs[cp0Wptr]
			arg := base
			tt.edit(&arg)
			assert.Equal(t, success, k.table.SubmitCommand(k.thread, k.adapter, arg), "any other status is a bugcheck")
			assert.Equal(t, tt.ok, k.gpu.regs[cp0Wptr] != before)
			k.submit(t, 0, 0, 0, 9)
			if !tt.ok {
				assert.Equal(t, before, k.gpu.regs[cp0Wptr], "a failed ring submits nothing")
				assert.Contains(t, k.debug(t), "CP0: the ring has failed: ")
			}
		})
	}
}

// TestSubmitCommandNeverFills keeps HwQueuePacketCap submissions outstanding
// for several times around the ring, with fence ids around 2^32.
func TestSubmitCommandNeverFills(t *testing.T) {
	k := started(t, 1)
	first := uint32(0xffffff00)
	for i := range uint32(1000) {
		k.submit(t, 0, 0, 4, first+i)
		if i >= 7 {
			k.gpu.complete(0, first+i-7)
			require.True(t, k.interrupt(0))
			k.table.DpcRoutine(k.thread, k.adapter)
		}
	}
	assert.NotContains(t, k.debug(t), "the ring has failed")
	assert.Equal(t, uint32(9*1000%1024), k.gpu.regs[cp0Wptr])
}

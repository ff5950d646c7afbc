package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// compared is an operation on an allocation.
type compared struct {
	k *Kernel
	a *allocation
	o *pagingOp
}

// The content of a place is compared only if nothing has written the source or the destination
// since the operation was built, and if the CPU sees the place.
func TestWhatIsCompared(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s compared)
		want   bool
	}{
		{"page-in", func(compared) {}, true},
		{"more parts follow", func(s compared) { s.o.done = false }, false},
		{"locked when it was built", func(s compared) { s.o.locked = true }, false},
		{"locked since", func(s compared) { s.a.locks = 1 }, false},
		{"a later operation", func(s compared) { s.a.pagings++ }, false},
		{"destroyed", func(s compared) { s.a.destroyed = true }, false},
		{"no bytes", func(s compared) { s.o.size = 0 }, false},
		{"a byte", func(s compared) { s.o.size = 1 }, true},
		{"a place that the CPU does not see", func(s compared) { s.k.segments[0].desc.Flags.CPUVisible = false }, false},
		{"an aperture", func(s compared) { s.o.destination.SegmentID = 2 }, false},
		{"a segment that does not exist", func(s compared) { s.o.destination.SegmentID = 3 }, false},
		{"written by later work", func(s compared) { s.a.changes++ }, false},
		{"within the segment", func(s compared) { s.o.source.SegmentID = 1 }, false},
		{"within the segment, and evicted since", func(s compared) { s.o.source.SegmentID, s.a.segment = 1, nil }, false},
		{"moved since", func(s compared) { s.a.offset += 256 }, false},
		{"evicted since", func(s compared) { s.a.segment = nil }, false},
		{"at the same address of another segment", func(s compared) {
			s.a.segment = &segment{id: 1, desc: s.k.segments[0].desc}
		}, false},
		{"page-out", pagedOut, true},
		{"page-out, and paged in since", func(s compared) { pagedOut(s); s.a.segment = s.k.segments[0] }, false},
		{"page-out, and the place has another one", func(s compared) { pagedOut(s); s.k.segments[0].inserted++ }, false},
		{"page-out of what is destroyed", func(s compared) { pagedOut(s); s.a.destroyed = true }, false},
		{"from the aperture to host memory", func(s compared) { pagedOut(s); s.o.source.SegmentID = 2 }, false},
		{"within host memory", func(s compared) { pagedOut(s); s.o.source.SegmentID = 0 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newRig(t, options{aperture: 4}).kernel
			seg := k.segments[0]
			a := &allocation{segment: seg, offset: 512, pagings: 3, changes: 2}
			o := pagingOp{
				of: a, done: true, serial: 3, changes: 2, size: 64,
				destination: kmddi.PagingLocation{SegmentID: 1, Address: a.address()},
			}
			tt.change(compared{k, a, &o})
			assert.Equal(t, tt.want, k.canCompare(&submission{}, o))
		})
	}
}

// pagedOut makes an operation of a page-in one of a page-out.
func pagedOut(s compared) {
	s.o.source, s.o.destination = s.o.destination, kmddi.PagingLocation{Address: 0x1000}
	s.k.segments[0].inserted, s.o.inserted, s.a.segment = 7, 7, nil
}

// The record of a paging operation has what changes later: the count of operations of the
// allocation, that of its writers, whether it is locked, and what was placed in the segment.
func TestRecordOfAPagingOperation(t *testing.T) {
	k := newRig(t, options{aperture: 4}).kernel
	k.segments[0].inserted = 5
	a := &allocation{pagings: 1, changes: 4, locks: 1}
	op := &kmddi.BuildPagingBuffer{Operation: kmddi.PagingFill, Size: 64, FillPattern: 9, Destination: kmddi.PagingLocation{SegmentID: 1, Address: vramBase}}
	o := k.pagingOp(a, op)
	assert.Equal(t, []any{a, uint64(5), uint64(4), true, uint32(9), uint64(64)}, []any{o.of, o.inserted, o.changes, o.locked, o.pattern, o.size})
	assert.Equal(t, a.pagings, o.serial)
	a.locks = 0
	next := k.pagingOp(a, op)
	assert.False(t, next.locked)
	assert.NotEqual(t, o.serial, next.serial)
	assert.Equal(t, a.pagings, next.serial)
	a.pages.Phys = 0x7000
	mapped := k.pagingOp(a, &kmddi.BuildPagingBuffer{Operation: kmddi.PagingMapApertureSegment, SegmentID: 2, OffsetInPages: 2, NumberOfPages: 2})
	assert.Equal(t, kmddi.PagingLocation{SegmentID: 2, Address: apertureBase + 2*4096}, mapped.destination)
	assert.Equal(t, kmddi.PagingLocation{Address: 0x7000}, mapped.source)
	assert.EqualValues(t, 2*4096, mapped.size)
	gone := k.pagingOp(a, &kmddi.BuildPagingBuffer{Operation: kmddi.PagingUnmapApertureSegment, SegmentID: 2, OffsetInPages: 2, NumberOfPages: 2, DummyPage: 0x8000})
	assert.Equal(t, []kmddi.PagingLocation{{SegmentID: 2, Address: apertureBase + 2*4096}, {Address: 0x8000}}, []kmddi.PagingLocation{gone.source, gone.destination})
	for id, want := range map[uint32]*segment{0: nil, 1: k.segments[0], 2: k.segments[1], 3: nil} {
		assert.Equal(t, want, k.memorySegment(pagingOp{source: kmddi.PagingLocation{SegmentID: id}}), id)
	}
}

// A page-out is compared with host memory, and a move and a page-in with VRAM, at the place in
// the BAR of the segment.
func TestComparedBytes(t *testing.T) {
	r := newRig(t, options{})
	k := r.kernel
	pages, ok := k.pages(8, 4)
	require.True(t, ok)
	a := &allocation{pages: pages}
	in := pagingOp{of: a, operation: kmddi.PagingTransfer, size: 8, destination: kmddi.PagingLocation{SegmentID: 1, Address: vramBase + 16}}
	out := pagingOp{of: a, operation: kmddi.PagingTransfer, size: 8, source: in.destination}
	filled := in
	filled.operation, filled.pattern = kmddi.PagingFill, 0x04030201
	copy(r.gpu.vram[16:], []byte{1, 2, 3, 4, 1, 2, 3, 4})
	copy(pages.Bytes, r.gpu.vram[16:24])
	for _, o := range []pagingOp{in, out, filled} {
		assert.Empty(t, k.compareContent(o))
	}
	r.gpu.vram[24], r.gpu.vram[15] = 9, 9 // outside
	assert.Empty(t, k.compareContent(in))
	pages.Bytes[7] = 0x0a
	assert.Equal(t, "byte 0x7 of the destination is 0x04, want 0x0a", k.compareContent(in))
	assert.Equal(t, "byte 0x7 of the destination is 0x0a, want 0x04", k.compareContent(out))
	assert.Empty(t, k.compareContent(filled))
	r.gpu.vram[16] = 8
	assert.Equal(t, "byte 0x0 of the destination is 0x08, want 0x01", k.compareContent(filled))
	k.segments[0].desc.BAROffset = 8
	r.gpu.vram[24] = 1
	assert.Equal(t, "byte 0x4 of the destination is 0x00, want 0x01", func() string {
		copy(r.gpu.vram[24:], []byte{1, 2, 3, 4, 0})
		return k.compareContent(filled)
	}())
	k.peek = func(int, uint64, []byte) bool { return false }
	assert.Empty(t, k.compareContent(in), "nobody sees it")
}

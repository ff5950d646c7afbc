package dxgkrnl

import (
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
)

func TestGap(t *testing.T) {
	at := func(off, span uint64) *allocation { return &allocation{offset: off, span: span} }
	for _, tt := range []struct {
		name      string
		base      uint64
		residents []*allocation
		span      uint64
		align     uint32
		off       uint64
		i         int
		ok        bool
	}{
		{"empty", 0, nil, 1000, 4, 0, 0, true},
		{"one byte too many", 0, nil, 1001, 4, 0, 0, false},
		{"the first gap that fits", 0, []*allocation{at(0, 100), at(200, 100)}, 100, 4, 100, 1, true},
		{"after a gap that is too small", 0, []*allocation{at(0, 100), at(196, 100)}, 100, 4, 296, 2, true},
		{"at the start", 0, []*allocation{at(100, 100)}, 100, 4, 0, 0, true},
		{"aligned", 0, []*allocation{at(0, 4)}, 100, 256, 256, 1, true},
		{"the address is aligned, not the offset", 0x80, nil, 100, 256, 0x80, 0, true},
		{"no room because of alignment", 0, []*allocation{at(0, 4)}, 800, 256, 0, 0, false},
		{"full", 0, []*allocation{at(0, 1000)}, 4, 4, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &segment{desc: kmddi.SegmentDescriptor{BaseAddress: tt.base, Size: 1000}, residents: tt.residents}
			off, i, ok := s.gap(&allocation{span: tt.span, info: kmddi.AllocationInfo{Alignment: tt.align}})
			assert.Equal(t, []any{tt.off, tt.i, tt.ok}, []any{off, i, ok})
		})
	}
}

func TestEvictionAndPagingKeepContents(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		r := newRig(t, options{vram: 8192, nodes: nodes})
		var as []ddi.KMHandle
		for i := range 5 {
			a := r.alloc(4096, local)
			as = append(as, a)
			r.render(fill(a, 0, 4096, byte(i+1)))
		}
		r.mini.log = nil
		for i, a := range as {
			assert.Equal(t, repeat(byte(i+1), 4096), r.read(a), "node count %d, allocation %d", nodes, i)
		}
		sys := r.alloc(4096, system)
		for i, a := range as {
			r.render(copyTo(sys, 0, a, 0, 4096))
			assert.Equal(t, repeat(byte(i+1), 4096), r.read(sys))
		}
		st := r.kernel.Stats()
		assert.Equal(t, uint64(5*4096), st.BytesFilled)
		assert.Equal(t, uint64(5*4096), st.BytesPagedIn)
		r.finish()
	}
}

func TestOnlyWhatWasWrittenIsPagedOut(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	a, b, c := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
	r.render(copyTo(c, 0, a, 0, 64)) // read, never written
	r.render(copyTo(c, 0, b, 0, 64))
	r.wait()
	assert.Equal(t, []string{"BuildPagingBuffer fill 0 to 1", "BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.render(fill(b, 0, 4096, 9))
	r.render(copyTo(c, 0, a, 0, 64))
	r.wait()
	assert.Equal(t, []string{"BuildPagingBuffer transfer 1 to 0", "BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.render(copyTo(c, 0, b, 0, 64))
	r.render(copyTo(c, 0, a, 0, 64))
	r.wait()
	assert.Equal(t, []string{"BuildPagingBuffer transfer 0 to 1", "BuildPagingBuffer fill 0 to 1"}, r.logged("Build"),
		"a clean allocation is paged in and dropped")
	r.finish()
}

func TestContentOfOthersIsNotSeen(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	a, b, out := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 0xee))
	r.render(copyTo(out, 0, b, 0, 4096))
	assert.Equal(t, repeat(0, 4096), r.read(out))
	r.ok(r.destroy(a))
	c := r.alloc(4096, local)
	r.render(copyTo(out, 0, c, 0, 4096))
	assert.Equal(t, repeat(0, 4096), r.read(out))
	r.finish()
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096, capacity: 16, buffers: 16})
	var as []ddi.KMHandle
	for range 4 {
		a := r.alloc(4096, local)
		as = append(as, a)
		r.render(fill(a, 0, 64, 1))
	}
	r.render(fill(as[0], 0, 64, 1))
	r.render(fill(r.alloc(4096, local), 0, 64, 1))
	var resident []bool
	for _, h := range as {
		resident = append(resident, r.kernel.handles.get(h).(*allocation).segment != nil)
	}
	assert.Equal(t, []bool{true, false, true, true}, resident)
	r.wait()
	r.finish()
}

func TestSplitUnderPressure(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	a, b, c := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
	r.mini.log = nil
	r.render(fill(a, 0, 4096, 1), fill(b, 0, 4096, 2), copyTo(c, 0, b, 0, 4096))
	r.wait()
	assert.Equal(t, []string{
		"Render",
		"BuildPagingBuffer fill 0 to 1", "BuildPagingBuffer fill 0 to 1", // a, b
		"BuildPagingBuffer transfer 1 to 0", "BuildPagingBuffer fill 0 to 1", // a is evicted for c, which does not fit with a and b
	}, r.logged("Render", "Build")[:5])
	assert.Equal(t, uint64(1), r.kernel.Stats().Splits)
	assert.Equal(t, repeat(1, 4096), r.read(a))
	assert.Equal(t, repeat(2, 4096), r.read(b))
	assert.Equal(t, repeat(2, 4096), r.read(c))
	r.finish()
}

// The paging buffer that evicts an allocation of the first portion waits until
// the fence of that portion is reported.
func TestEvictionWaitsForThePortionBefore(t *testing.T) {
	r := newRig(t, options{vram: 4096, capacity: 8})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.gpu.auto = false
	r.mini.log = nil
	r.render(fill(a, 0, 4096, 1), fill(b, 0, 4096, 2))
	assert.Equal(t, []string{
		"Patch fence=2 node=0", "Submit paging fence=1 node=0", "Submit buffer fence=2 node=0",
	}, r.logged("Patch", "Submit"))
	r.gpu.complete(0)
	r.kernel.dev.Deliver(r.thread)
	assert.Empty(t, r.logged("Submit"))
	r.gpu.complete(0)
	r.kernel.dev.Deliver(r.thread)
	assert.Equal(t, []string{"Submit paging fence=3 node=0"}, r.logged("Patch", "Submit"), "in the DPC")
	r.gpu.auto = true
	r.wait()
	assert.Equal(t, []string{"Patch fence=4 node=0", "Submit buffer fence=4 node=0"}, r.logged("Patch", "Submit"), "at PASSIVE_LEVEL")
	r.finish()
}

func TestEntriesOfOneSplitOffsetStayTogether(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	a, b, c := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
	second := copyTo(c, 0, b, 0, 4096)
	third := fill(c, 0, 16, 7)
	third.join = true
	r.render(fill(b, 0, 4096, 5), fill(a, 0, 4096, 1), second, third)
	assert.Equal(t, append(repeat(7, 16), repeat(5, 4080)...), r.read(c))
	assert.Equal(t, uint64(1), r.kernel.Stats().Splits)
	r.finish()
}

func TestNoVideoMemory(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	big := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: private{size: 8196, preferred: 1, supported: local}.encode()}}}
	assert.Equal(t, ddi.StatusNoVideoMemory, r.thunks.CreateAllocation(r.thread, r.dev, big))
	assert.Equal(t, []string{"CreateAllocation", "DestroyAllocation"}, r.logged("Create", "Destroy"))

	a, b, c := r.alloc(4096, local), r.alloc(8192, local), r.alloc(4096, local)
	assert.Equal(t, ddi.StatusNoVideoMemory, r.submit(&r.ctx, copyTo(b, 0, a, 0, 16)))
	assert.Equal(t, ddi.StatusNoVideoMemory, r.submit(&r.ctx, fill(c, 0, 16, 1), copyTo(b, 0, a, 0, 16)),
		"a later group does not fit either")
	assert.Empty(t, r.logged("Patch", "Submit buffer"), "and nothing was submitted")
	r.render(fill(c, 0, 16, 1), fill(b, 0, 16, 2), fill(a, 0, 16, 3))
	assert.Equal(t, repeat(2, 16), r.read(b)[:16])
	assert.Equal(t, repeat(3, 16), r.read(a)[:16])
	assert.Equal(t, repeat(1, 16), r.read(c)[:16])
	r.finish()
}

func TestGroupThatDoesNotFitMovesToSystem(t *testing.T) {
	r := newRig(t, options{vram: 8192, capacity: 8})
	a, b := r.alloc(4096, both), r.alloc(8192, local)
	r.render(fill(a, 0, 4096, 3))
	r.render(copyTo(b, 4096, a, 0, 4096))
	moved := r.kernel.handles.get(a).(*allocation)
	assert.Equal(t, uint32(system), moved.segment.id)
	assert.Equal(t, repeat(3, 4096), r.read(a))
	assert.Equal(t, append(repeat(0, 4096), repeat(3, 4096)...), r.read(b))
	r.finish()
}

// Two allocations of 3 pages fit into 8 pages only if an allocation of 2 pages
// between them moves.
func TestFragmentationIsNoReasonToFail(t *testing.T) {
	const page = 1024
	r := newRig(t, options{vram: 8 * page})
	a, b, c := r.alloc(3*page, local), r.alloc(2*page, local), r.alloc(5*page, local)
	r.render(fill(a, 0, 3*page, 1), fill(b, 0, 2*page, 2))
	r.render(fill(b, 0, page, 3))
	r.render(copyTo(c, 0, b, 0, 2*page), fill(c, 4*page, page, 4))
	group := copyTo(c, 0, a, 0, page)
	r.render(group)
	assert.Equal(t, repeat(1, page), r.read(c)[:page])
	assert.Equal(t, repeat(4, page), r.read(c)[4*page:])
	assert.Equal(t, append(repeat(3, page), repeat(2, page)...), r.read(b))
	r.finish()
}

func TestPressureOnWhatIsLocked(t *testing.T) {
	for _, tt := range []struct {
		name       string
		ignoreSync bool
		want       ddi.Status
	}{
		{"is evicted", false, ddi.StatusSuccess},
		{"is pinned, since the GPU may be using it", true, ddi.StatusNoVideoMemory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 8192})
			a, b, c := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
			r.render(fill(a, 0, 4096, 1))
			r.wait()
			arg := &umddi.Lock{Allocation: a, IgnoreSync: tt.ignoreSync}
			r.ok(r.thunks.Lock(r.thread, r.dev, arg))
			r.render(fill(b, 0, 4096, 2))
			r.render(fill(c, 0, 4096, 3))
			assert.Equal(t, tt.want, r.submit(&r.ctx, copyTo(b, 0, c, 0, 16)))
			copy(arg.Data, repeat(9, 16))
			r.unlock(a)
			r.render(copyTo(a, 4080, b, 4080, 16))
			assert.Equal(t, append(append(repeat(9, 16), repeat(1, 4064)...), repeat(2, 16)...), r.read(a))
			r.render(copyTo(b, 0, c, 0, 16))
			r.wait()
			r.finish()
		})
	}
}

func TestContentOfTheDestroyedIsNotMoved(t *testing.T) {
	r := newRig(t, options{vram: 4096, capacity: 8})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.gpu.auto = false
	r.render(fill(a, 0, 4096, 1))
	r.ok(r.destroy(a))
	r.mini.log = nil
	r.render(fill(b, 0, 4096, 2))
	assert.Equal(t, []string{"BuildPagingBuffer discard 0 to 1", "BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.gpu.auto = true
	assert.Equal(t, repeat(2, 4096), r.read(b))
	r.finish()
}

func TestPagingBuffersOfManyPieces(t *testing.T) {
	r := newRig(t, options{vram: 1 << 20, pagingBytes: 4 * opBytes})
	r.mini.piece = 64
	const size = 64 * 200
	a := r.alloc(size, local)
	r.render(fill(a, size-64, 64, 5))
	r.wait()
	st := r.kernel.Stats()
	assert.Equal(t, uint64(50), st.PagingBuffers, "200 pieces, 4 per buffer, more buffers than the maximum")
	got := r.read(a)
	assert.Equal(t, append(repeat(0, size-64), repeat(5, 64)...), got)
	r.finish()
}

func TestPagingMayAskForIdle(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	a := r.alloc(64, local)
	busy := 1
	r.mini.build = func(kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) {
		if busy--; busy >= 0 {
			return kmddi.BuildPagingBufferOut{}, ddi.StatusAllocationBusy, true
		}
		for _, q := range r.gpu.queues {
			assert.Empty(t, q)
		}
		return kmddi.BuildPagingBufferOut{}, 0, false
	}
	sys := r.alloc(64, system)
	r.render(fill(sys, 0, 64, 1))
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, repeat(1, 64), r.read(a))
	assert.Equal(t, -1, busy, "called again once")
	r.finish()
}

func TestPreferredSegmentThenTheOthers(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	for _, tt := range []struct {
		name string
		p    private
		want uint32
	}{
		{"preferred", private{size: 4096, align: 4, preferred: local, supported: both}, local},
		{"preferred host memory", private{size: 64, align: 4, preferred: system, supported: both}, system},
		{"none preferred", private{size: 64, align: 4, supported: both}, local},
		{"preferred is too small", private{size: 8192, align: 4, preferred: local, supported: both}, system},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.allocPrivate(tt.p)
			r.render(fill(a, 0, 64, 1))
			r.wait()
			assert.Equal(t, tt.want, r.kernel.handles.get(a).(*allocation).segment.id)
			r.ok(r.destroy(a))
		})
	}
	r.finish()
}

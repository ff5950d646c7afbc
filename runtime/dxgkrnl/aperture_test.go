package dxgkrnl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// allocate returns the argument of CreateAllocation for one allocation.
func allocate(p private) *umddi.Allocate {
	return &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: p.encode()}}}
}

// freePage frees one page.
func freePage(m *hal.Machine, phys uint64) { m.Free(hal.Pages{Phys: phys}) }

// object returns the kernel's allocation of a handle.
func (r *rig) object(h ddi.KMHandle) *allocation { return r.kernel.handles.get(h).(*allocation) }

// mappings records the MAP and UNMAP operations that the miniport gets, each once.
func (r *rig) mappings() *[]string {
	var all []string
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		if arg.NumberOfPages > 0 {
			all = slices.Compact(append(all, mapped{arg.Operation, arg.SegmentID, arg.OffsetInPages, arg.NumberOfPages, arg.MDL, arg.DummyPage}.String()))
		}
		return out, s, false
	}
	return &all
}

// mapped is what is told of a MAP or UNMAP.
type mapped struct {
	operation      kmddi.PagingOperation
	segment        uint32
	offset, number uint64
	mdl            kmddi.MDL
	dummy          uint64
}

func (m mapped) String() string {
	return fmt.Sprintf("%d: segment %d, %d pages from %d on: %#x, dummy %#x", m.operation, m.segment, m.number, m.offset, m.mdl, m.dummy)
}

// TestMapAndUnmap: the first use maps the pages of host memory, which are not contiguous, an
// eviction gives them the dummy page, and the content is that of the host memory.
func TestMapAndUnmap(t *testing.T) {
	for _, maps := range []bool{false, true} {
		r := newRig(t, options{aperture: 6, maps: maps, pagingBytes: 64})
		got := r.mappings()
		a, b := r.alloc(8193, system), r.alloc(4096, system)
		pages := []kmddi.MDL{r.object(a).pages.List, r.object(b).pages.List}
		require.Len(t, pages[0], 3)
		require.Empty(t, *got, "what is not used is not mapped")
		r.render(fill(a, 0, 8193, 1), fill(b, 0, 4096, 2))
		r.wait()
		c := r.alloc(4097, system)
		pages = append(pages, r.object(c).pages.List)
		r.render(copyTo(c, 0, a, 4090, 4097))
		r.wait()
		d := r.alloc(4*4096, system)
		pages = append(pages, r.object(d).pages.List)
		r.render(copyTo(d, 4096, c, 0, 4097))
		r.wait()
		dummy := r.kernel.dummy.Phys
		assert.Equal(t, []string{
			mapped{5, 2, 0, 3, pages[0], 0}.String(), mapped{5, 2, 3, 1, pages[1], 0}.String(), mapped{5, 2, 4, 2, pages[2], 0}.String(),
			mapped{6, 2, 3, 1, nil, dummy}.String(), mapped{6, 2, 0, 3, nil, dummy}.String(), mapped{5, 2, 0, 4, pages[3], 0}.String(),
		}, *got)
		assert.Equal(t, append(slices.Clone([]uint64(pages[3])), pages[2]...), r.gpu.entries)
		assert.Equal(t, repeat(1, 8193), r.read(a))
		assert.Equal(t, repeat(2, 4096), r.read(b))
		assert.Equal(t, repeat(1, 4097), r.read(c))
		want := slices.Concat(repeat(0, 4096), repeat(1, 4097), repeat(0, 2*4096-1))
		assert.Equal(t, want, r.read(d))
		r.finish()
	}
}

// TestUnmapWaitsForUses: no work that uses pages is in the hardware when their UNMAP is built,
// and a place is free only then.
func TestUnmapWaitsForUses(t *testing.T) {
	r := newRig(t, options{nodes: 2, aperture: 2, maps: true, capacity: 8, buffers: 8})
	a, b := r.alloc(8192, system), r.alloc(8192, system)
	r.render(fill(a, 0, 8192, 1))
	r.render(fill(a, 0, 4096, 2))
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		if arg.Operation == kmddi.PagingUnmapApertureSegment {
			assert.Empty(t, r.gpu.queues[0], "work that uses the pages")
		}
		return out, s, false
	}
	r.render(copyTo(b, 0, b, 4096, 4096))
	r.wait()
	assert.Equal(t, []string{"BuildPagingBuffer map 0 to 0", "BuildPagingBuffer unmap 0 to 0", "BuildPagingBuffer map 0 to 0"}, r.logged("Build"))
	assert.Equal(t, slices.Concat(repeat(2, 4096), repeat(1, 4096)), r.read(a))
	r.finish()
}

// TestUserBuffersHaveNoHostAddress: with an aperture, what a DMA buffer of an application gets is an
// address in VRAM or in the aperture, wherever the allocation goes.
func TestUserBuffersHaveNoHostAddress(t *testing.T) {
	r := newRig(t, options{vram: 8192, aperture: 8})
	seen := map[uint32]int{}
	r.mini.patched = func(arg kmddi.Patch) {
		for _, e := range arg.AllocationList {
			seen[e.SegmentID]++
			assert.Less(t, e.PhysicalAddress, uint64(hostBase))
			assert.True(t, e.SegmentID != 2 || e.PhysicalAddress >= apertureBase)
		}
	}
	a, b, c := r.alloc(4096, both), r.alloc(8192, both), r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 1), fill(b, 0, 8192, 2), copyTo(c, 0, a, 0, 4096), copyTo(b, 0, c, 0, 100))
	r.render(copyTo(a, 0, b, 0, 200), copyTo(b, 100, a, 0, 50))
	r.wait()
	assert.Positive(t, seen[local])
	assert.Positive(t, seen[system])
	assert.Equal(t, slices.Concat(repeat(1, 100), repeat(2, 100), repeat(1, 3896)), r.read(a))
	r.finish()
}

// TestDestroyedAllocationIsUnmappedFirst: its pages are free when the UNMAP has completed.
func TestDestroyedAllocationIsUnmappedFirst(t *testing.T) {
	r := newRig(t, options{aperture: 8})
	a := r.alloc(8192, system)
	r.render(fill(a, 0, 8192, 1))
	r.wait()
	r.mini.log = nil
	used := r.kernel.machine.InUse()
	r.gpu.auto = false
	r.ok(r.destroy(a))
	assert.Equal(t, []string{"BuildPagingBuffer unmap 0 to 0", "Submit paging fence=3 node=0"}, r.logged("Build", "Submit", "Destroy"))
	assert.Equal(t, used, r.kernel.machine.InUse())
	r.enter()
	assert.Empty(t, r.logged("Build", "Submit", "Destroy"))
	r.gpu.complete(0)
	r.enter()
	assert.Equal(t, []string{"DestroyAllocation"}, r.logged("Build", "Submit", "Destroy"))
	assert.Equal(t, used-8192, r.kernel.machine.InUse())
	assert.Equal(t, []uint64{r.kernel.dummy.Phys, r.kernel.dummy.Phys}, r.gpu.entries[:2])
	r.gpu.auto = true
	r.finish()
}

// TestDeviceWithMappings: a device that is destroyed with what it has mapped leaves nothing.
func TestDeviceWithMappings(t *testing.T) {
	r := newRig(t, options{aperture: 8, nodes: 2})
	a, b := r.alloc(8192, system), r.alloc(4096, both)
	r.render(fill(a, 0, 8192, 1), copyTo(b, 0, a, 0, 4096))
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	assert.Empty(t, r.kernel.segments[1].residents)
	assert.Empty(t, r.kernel.destroyed)
	for _, e := range r.gpu.entries {
		assert.Contains(t, []uint64{0, r.kernel.dummy.Phys}, e)
	}
	r.finish()
}

// TestHostMemoryInPieces: allocations of the aperture need no contiguous host memory.
func TestHostMemoryInPieces(t *testing.T) {
	for _, aperture := range []int{0, 64} {
		r := newRig(t, options{aperture: aperture})
		r.render(fill(r.alloc(64, local), 0, 64, 1)) // there is a paging buffer
		r.wait()
		m := r.kernel.machine
		var pages []uint64
		for p, err := m.Alloc(1, 0); err == nil; p, err = m.Alloc(1, 0) {
			pages = append(pages, p.Phys)
		}
		for i := 0; i < 200; i += 2 {
			freePage(m, pages[i])
		}
		arg := allocate(private{size: 65536, align: 256, preferred: 2, supported: system})
		s := r.thunks.CreateAllocation(r.thread, r.dev, arg)
		if aperture == 0 {
			assert.Equal(t, ddi.StatusNoMemory, s)
			continue
		}
		r.ok(s)
		a := arg.AllocationInfo[0].Allocation
		r.render(fill(a, 0, 65536, 7), fill(a, 4095, 2, 9))
		want := repeat(7, 65536)
		want[4095], want[4096] = 9, 9
		assert.Equal(t, want, r.read(a))
		r.finish()
	}
}

// TestLockInAperture: the application gets the host memory itself, and a lock without
// synchronization keeps the place.
func TestLockInAperture(t *testing.T) {
	r := newRig(t, options{aperture: 2})
	a, b := r.alloc(8192, system), r.alloc(4096, system)
	r.write(a, repeat(3, 8192))
	lock := &umddi.Lock{Allocation: a, IgnoreSync: true}
	r.ok(r.lock(lock))
	r.render(fill(a, 0, 1, 4))
	r.wait()
	assert.Equal(t, byte(4), lock.Data[0], "the GPU has written the same memory")
	lock.Data[1] = 5
	assert.Equal(t, ddi.StatusNoVideoMemory, r.submit(&r.ctx, fill(b, 0, 1, 1)), "the pinned allocation has all pages")
	r.unlock(a)
	r.render(fill(b, 0, 1, 1))
	assert.Equal(t, []byte{1, 0}, r.read(b)[:2])
	assert.Equal(t, []byte{4, 5, 3}, r.read(a)[:3])
	st := r.kernel.Stats()
	assert.Zero(t, st.BytesPagedIn+st.BytesPagedOut+st.BytesFilled, "nothing is copied")
	r.finish()
}

// TestRecoverUnmaps: after a reset the miniport hears of each place in the aperture, and the
// content is in host memory.
func TestRecoverUnmaps(t *testing.T) {
	r := newRig(t, options{aperture: 8})
	a, b := r.alloc(8192, system), r.alloc(4096, local)
	r.render(fill(a, 0, 8192, 1), fill(b, 0, 4096, 1))
	r.wait()
	r.faults = true
	r.render(command{op: opFault})
	require.True(t, r.thunks.WaitForIdle(r.thread, r.dev).Failed())
	r.mini.log = nil
	require.NoError(t, r.kernel.Recover(r.thread))
	assert.Equal(t, []string{"BuildPagingBuffer transfer 1 to 0", "BuildPagingBuffer unmap 0 to 0"}, r.logged("Build"))
	for _, seg := range r.kernel.segments {
		assert.Empty(t, seg.residents)
	}
	assert.Equal(t, repeat(1, 8192), r.object(a).pages.Bytes)
	require.NoError(t, r.kernel.Stop(r.thread))
	assert.Zero(t, r.mini.live)
}

// TestDummyPage: a write of the GPU to pages that are not mapped any more is found. A read is
// not.
func TestDummyPage(t *testing.T) {
	r := newRig(t, options{aperture: 8, maps: true})
	a := r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 1))
	r.ok(r.destroy(a))
	r.wait()
	require.Equal(t, r.kernel.dummy.Phys, r.gpu.entries[0])
	b := r.alloc(4096, local)
	r.mini.patched = func(arg kmddi.Patch) { le.PutUint64(arg.DmaBuffer[srcAt:], apertureBase) }
	r.render(copyTo(b, 0, b, 64, 16))
	r.wait()
	assert.Equal(t, repeat(poison, 16), r.read(b)[:16])
	r.mini.patched = func(arg kmddi.Patch) { le.PutUint64(arg.DmaBuffer[dstAt:], apertureBase+9) }
	r.render(fill(b, 0, 16, 1))
	got := crash(r.wait)
	require.NotNil(t, got)
	assert.Equal(t, []any{uint32(CodeMemory), uint32(0x25)}, []any{got.Code, got.P1})
	assert.Contains(t, got.Text, "byte 0x9 of the dummy page")
	name, function, _ := got.BrokenRule()
	assert.Equal(t, []string{"aperture-write", "DxgkDdiBuildPagingBuffer"}, []string{name, function})
}

// TestSegmentIsOneKind: a segment is not both System and Aperture.
func TestSegmentIsOneKind(t *testing.T) {
	d := kmddi.SegmentDescriptor{Size: 4096, Flags: kmddi.SegmentFlags{Aperture: true}, BAR: 77}
	assert.Empty(t, checkSegment(d, [6]uint64{}))
	d.Flags.System = true
	assert.Equal(t, "Flags are System and Aperture, want at most one of them", checkSegment(d, [6]uint64{}))
}

// TestContentLeavesTheAperture: what the GPU wrote through the aperture follows the allocation
// to VRAM, and back.
func TestContentLeavesTheAperture(t *testing.T) {
	r := newRig(t, options{aperture: 1})
	a := r.allocPrivate(private{size: 4096, align: 256, preferred: system, supported: both})
	b := r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 6))
	r.render(fill(b, 0, 1, 1)) // evicts a
	lock := &umddi.Lock{Allocation: b, IgnoreSync: true}
	r.ok(r.lock(lock))
	out := r.alloc(64, local)
	r.render(copyTo(a, 0, a, 64, 8), fill(a, 8, 1, 7), copyTo(out, 0, a, 0, 64))
	r.wait()
	assert.True(t, r.object(a).inMemorySegment())
	want := repeat(6, 4096)
	want[8] = 7
	assert.Equal(t, want[:64], r.read(out))
	r.unlock(b)
	assert.Equal(t, want, r.read(a))
	r.finish()
}

// TestPagesBelowTheHighestAddress: the device can access each page.
func TestPagesBelowTheHighestAddress(t *testing.T) {
	r := newRig(t, options{aperture: 64})
	r.kernel.caps.HighestAcceptableAddress = 0x1fffff
	pages := r.object(r.alloc(8192, system)).pages
	assert.Equal(t, []uint64{0x1ff000, 0x1fe000}, pages.List)
	assert.Equal(t, 8192, cap(pages.Bytes))
	r.finish()
}

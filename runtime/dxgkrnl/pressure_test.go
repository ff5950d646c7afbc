package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// In an aperture nothing moves: a group finds room although one of it has a place that leaves gaps
// too small for the other one. Everything is unmapped, and the group is placed again.
func TestGroupBetweenGapsOfAnAperture(t *testing.T) {
	r := newRig(t, options{aperture: 4})
	first, small, large := r.alloc(4096, system), r.alloc(4096, system), r.alloc(3*4096, system)
	r.render(fill(first, 0, 64, 1))
	r.render(fill(small, 0, 64, 7))
	r.ok(r.destroy(first))
	r.wait()
	r.enter()
	require.EqualValues(t, 4096, r.object(small).offset)
	c := fill(large, 0, 3*4096, 3)
	c.join = true
	r.render(copyTo(small, 64, small, 0, 64), c)
	r.wait()
	assert.Equal(t, []bool{true, true}, r.resident(small, large))
	assert.Equal(t, repeat(7, 128), r.read(small)[:128])
	assert.Equal(t, repeat(3, 3*4096), r.read(large))
	r.finish()
}

// The CPU writes an allocation under a lock. An eviction during the lock keeps these bytes: it does not copy those of
// VRAM over them.
func TestEvictionUnderALock(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	a, b, out := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 1))
	arg := &umddi.Lock{Allocation: a}
	r.ok(r.lock(arg))
	copy(arg.Data, repeat(5, 16))
	r.mini.log = nil
	r.render(fill(b, 0, 4096, 2))
	r.wait()
	assert.Equal(t, []string{"BuildPagingBuffer fill 0 to 1"}, r.logged("Build"), "host memory has the content")
	copy(arg.Data[16:], repeat(6, 16))
	r.unlock(a)
	want := append(append(repeat(5, 16), repeat(6, 16)...), repeat(1, 4064)...)
	assert.Equal(t, want, r.read(a))
	r.render(copyTo(out, 0, a, 0, 4096))
	assert.Equal(t, want, r.read(out))
	r.finish()
}

// One that is locked uses its host memory if it may, although its preferred segment has room.
func TestPlaceOfWhatIsLocked(t *testing.T) {
	for _, locks := range []int{0, 1, 2} {
		r := newRig(t, options{})
		a := r.object(r.alloc(64, both))
		a.locks = locks
		r.kernel.moving = true
		r.ok(r.kernel.makeResident(r.thread, a))
		r.kernel.flush()
		r.kernel.endMove()
		assert.Equal(t, locks > 0, a.segment.desc.Flags.System, locks)
		a.locks = 0
		r.finish()
	}
}

// A victim has no budget to gain if nobody in particular needs the memory, not even for a process
// of the same number as that of an earlier question.
func TestVictimForNobody(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096})
	a, b := r.opened(5), r.opened(6)
	older, newer := a.pages(1, 1)[0], b.pages(1, 2)[0]
	k := r.kernel
	k.epoch++
	assert.Equal(t, r.object(newer).handle, k.victim(k.segments[0], &allocation{device: r.object(newer).device, span: 4}).handle, "its own first")
	assert.Equal(t, r.object(older).handle, k.victim(k.segments[0], nil).handle, "the oldest")
	assert.EqualValues(t, noProcess, k.needy)
	r.finish()
}

// A device that is lost while stopped work of it has no places leaves nothing that counts as
// waiting for places.
//
// docs/properties.md: S8.
func TestLostWithStoppedWork(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	low, high := q.devices[0], q.devices[1]
	x, whole := low.alloc(2048, local), high.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(x, 0, 64, 1))
	low.wait()
	q.priority(1, 1)
	q.gpu.auto = false
	low.ok(low.submit(q.contexts[0], halves(x, 2)...))
	high.ok(high.submit(q.contexts[1], fill(q.targets[1], 0, 64, 9)))
	high.ok(high.submit(q.contexts[1], fill(whole, 0, 64, 9)))
	require.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	c := q.kernel.handles.get(q.contexts[0].Context).(*context)
	require.Len(t, c.pending, 1)
	require.False(t, c.pending[0].placed)
	require.Equal(t, 2, q.object(x).queued, "two patches")
	q.kernel.loseDevice(c.device, ddi.StatusDeviceRemoved)
	assert.Equal(t, []int{0, 0}, []int{q.object(x).queued, q.object(x).held})
	assert.Empty(t, c.pending)
	q.audit()
	q.gpu.auto = true
	high.wait()
	q.finish()
}

// CancelCommand may write a part that is made and waits for another node.
func TestCancelOfAPartThatWaits(t *testing.T) {
	r := newRig(t, options{nodes: 2, preempts: true})
	x, y := r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	r.gpu.auto = false
	r.ok(r.submit(other, fill(x, 0, 64, 1)))
	last := remembers(r)
	r.render(copyTo(y, 0, x, 0, 64)) // waits for node 1
	c := r.kernel.handles.get(r.ctx.Context).(*context)
	require.Len(t, c.pending, 1)
	r.mini.at = map[string]func(){"Cancel": func() { last.DmaBuffer[0], last.DmaBufferPrivateData[0] = 0xff, 0xff }}
	b := crash(func() { r.kernel.loseDevice(c.device, ddi.StatusDeviceRemoved) })
	assert.Nil(t, b)
	assert.Equal(t, 1, r.mini.cancels)
	r.gpu.auto = true
	r.enter()
	require.NoError(t, r.kernel.WaitForIdle(r.thread))
	r.finish()
}

// Reclaim waits until the paging buffer that drops the content has ended, and not for other work.
func TestReclaimWaitsForTheDiscard(t *testing.T) {
	r := newRig(t, options{vram: 4096, nodes: 2})
	a, b, idle := r.alloc(4096, local), r.alloc(4096, local), r.alloc(64, system)
	r.render(fill(a, 0, 4096, 5))
	r.wait()
	r.offer(umddi.OfferPriorityNormal, a)
	r.gpu.auto = false
	r.render(fill(b, 0, 64, 1))
	require.True(t, r.object(a).discarded)
	require.False(t, r.object(a).unused())
	r.render(fill(idle, 0, 64, 1))
	r.offer(umddi.OfferPriorityNormal, idle)
	waits := 0
	r.gpu.onWait = func() { waits++; r.gpu.auto = true }
	assert.Equal(t, []bool{false}, r.reclaim(idle), "its content is there, although work uses it")
	assert.Zero(t, waits)
	assert.Equal(t, []bool{true}, r.reclaim(a))
	assert.Positive(t, waits)
	assert.True(t, r.object(a).unused())
	assert.Equal(t, repeat(0, 4096), r.read(a))
	r.finish()
}

// Without host memory for any paging buffer the device of the work is lost, and nothing is built.
func TestNoPagingBuffer(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	for size := uint64(32 << 20); size >= 4096; size /= 2 {
		for ok := true; ok; {
			_, ok = r.kernel.pages(size, 4096)
		}
	}
	r.mini.log = nil
	r.submit(&r.ctx, fill(a, 0, 64, 7))
	assert.Empty(t, r.logged("Build"))
	assert.NoError(t, r.kernel.Err())
	assert.Equal(t, ddi.StatusNoMemory, r.kernel.handles.get(r.dev).(*device).removed)
}

// If the adapter stops while a move waits, nothing else is moved.
func TestDefragmentationOnAnAdapterThatStops(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096})
	as := r.pages(4, 1)
	r.ok(r.destroy(as[0], as[2]))
	r.wait()
	r.enter()
	r.gpu.auto = false
	r.mini.fail["BuildPagingBuffer"] = ddi.StatusAllocationBusy // until the node is idle, which hangs
	r.render(fill(r.alloc(64, system), 0, 64, 1))
	r.mini.log = nil
	k := r.kernel
	v := k.enter(r.thread)
	k.moving = true
	moved, s := k.defragment(r.thread, k.segments[0], &allocation{span: 2 * 4096, info: kmddi.AllocationInfo{Alignment: 256}})
	k.moving = false
	k.leave(r.thread, &v)
	assert.Equal(t, []any{false, ddi.StatusDeviceRemoved}, []any{moved, s})
	assert.Len(t, r.logged("Build"), 1)
}

// If the adapter stops while Reclaim waits, the allocation remains offered.
func TestReclaimOnAnAdapterThatStops(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(a, 0, 4096, 5))
	r.wait()
	r.offer(umddi.OfferPriorityNormal, a)
	r.gpu.auto = false
	r.render(fill(b, 0, 64, 1))
	discarded := []bool{false}
	arg := &umddi.ReclaimAllocations{Allocations: []ddi.KMHandle{a}, Discarded: discarded}
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.ReclaimAllocations(r.thread, r.dev, arg))
	assert.Equal(t, []bool{false}, discarded)
	assert.True(t, r.object(a).offered())
	assert.True(t, r.object(a).discarded)
}

// With host memory for one paging buffer only, paging waits for that one.
func TestOnePagingBuffer(t *testing.T) {
	r := newRig(t, options{vram: 64 << 10})
	a := r.alloc(40<<10, local)
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.wait()
	require.Len(t, r.kernel.paging.all, 1)
	for size := uint64(16 << 20); size >= 4096; size /= 2 {
		for ok := true; ok; {
			_, ok = r.kernel.pages(size, 4096)
		}
	}
	r.render(fill(a, 0, 40<<10, 7)) // two buffers of paging
	assert.Equal(t, repeat(7, 40<<10), r.read(a))
	assert.Len(t, r.kernel.paging.all, 1)
	r.finish()
}

// A miniport makes progress if it writes commands or if it advances MultipassOffset. Without
// either an empty buffer is never enough.
func TestProgressOfPaging(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first kmddi.BuildPagingBufferOut
		bad   bool
	}{
		{"commands", kmddi.BuildPagingBufferOut{DmaBufferUsed: opBytes}, false},
		{"an offset", kmddi.BuildPagingBufferOut{MultipassOffset: 1}, false},
		{"both", kmddi.BuildPagingBufferOut{DmaBufferUsed: opBytes, MultipassOffset: 1}, false},
		{"neither", kmddi.BuildPagingBufferOut{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			calls := 0
			r.mini.build = func(arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) {
				if calls++; calls > 1 {
					assert.Equal(t, tt.first.MultipassOffset, arg.MultipassOffset)
					return kmddi.BuildPagingBufferOut{MultipassOffset: tt.first.MultipassOffset}, ddi.StatusSuccess, true
				}
				clear(arg.DmaBuffer[:tt.first.DmaBufferUsed])
				return tt.first, ddi.StatusInsufficientDMABuffer, true
			}
			b := crash(func() { r.render(fill(r.alloc(64, local), 0, 64, 1)) })
			if tt.bad {
				require.NotNil(t, b)
				assert.Equal(t, []uint32{CodeMemory, MemoryPaging}, []uint32{b.Code, b.P1})
				return
			}
			assert.Nil(t, b)
			assert.Equal(t, 2, calls)
		})
	}
}

// A paging buffer must not change between BuildPagingBuffer and its submission, and a guard that
// is written is found when BuildPagingBuffer returns.
func TestPagingBufferIsKept(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.mini.at = map[string]func(){"Patch": func() { r.gpu.write(r.kernel.paging.all[0].pages.Phys, 0x77) }}
	found := crash(func() { r.render(fill(a, 0, 64, 1)) })
	require.NotNil(t, found)
	assert.Equal(t, []any{uint32(CodeVerifier), uint32(VerifierKept), buildPaging}, []any{found.Code, found.P1, found.Function})

	r = newRig(t, options{})
	a = r.alloc(64, local)
	calls := 0
	r.mini.build = func(kmddi.BuildPagingBuffer) (o kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		calls++
		r.gpu.write(r.kernel.paging.open.paging.pages.Phys-1, 0x77)
		return o, s, false
	}
	r.mini.log = nil
	found = crash(func() { r.render(fill(a, 0, 64, 1)) })
	require.NotNil(t, found)
	assert.Empty(t, r.logged("Patch"))
	assert.Equal(t, []any{uint32(CodeMemory), uint32(MemoryOverflow), buildPaging, 1}, []any{found.Code, found.P1, found.Function, calls})
}

// The lists that Patch is lent are read only, from their first element on.
func TestListsAreReadOnly(t *testing.T) {
	for name, change := range map[string]func(arg kmddi.Patch){
		"patches":            func(arg kmddi.Patch) { arg.PatchLocationList[0].SlotID++ },
		"allocations":        func(arg kmddi.Patch) { arg.AllocationList[0].SegmentID++ },
		"the last patch":     func(arg kmddi.Patch) { arg.PatchLocationList[len(arg.PatchLocationList)-1].SlotID++ },
		"the last in a list": func(arg kmddi.Patch) { arg.AllocationList[len(arg.AllocationList)-1].SegmentID++ },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, system)
			r.mini.patched = change
			b := crash(func() { r.render(fill(a, 0, 64, 1), fill(a, 0, 32, 2)) })
			require.NotNil(t, b)
			assert.Equal(t, []any{uint32(CodeVerifier), uint32(VerifierKept), patch}, []any{b.Code, b.P1, b.Function})
		})
	}
}

// The patch list must not change between Render and Patch, from its first element on.
func TestPatchesAreKept(t *testing.T) {
	for _, i := range []int{0, 1} {
		r := newRig(t, options{})
		keepsBuffer(r, func(arg kmddi.Render) { arg.PatchLocationListOut[i].SlotID++ })
		a := r.alloc(64, system)
		b := crash(func() { r.render(append([]command{fill(a, 0, 64, 1)}, r.extra...)...) })
		require.NotNil(t, b, i)
		assert.Equal(t, []any{uint32(CodeVerifier), uint32(VerifierKept), "DxgkDdiRender"}, []any{b.Code, b.P1, b.Function})
	}
}

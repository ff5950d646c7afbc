package dxgkrnl

import (
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
)

// offer offers allocations.
func (r *rig) offer(p umddi.OfferPriority, as ...ddi.KMHandle) {
	r.ok(r.thunks.OfferAllocations(r.thread, r.dev, &umddi.OfferAllocations{Allocations: as, Priority: p}))
}

// reclaim reclaims allocations, and returns whose content is lost.
func (r *rig) reclaim(as ...ddi.KMHandle) []bool {
	arg := &umddi.ReclaimAllocations{Allocations: as, Discarded: make([]bool, len(as))}
	r.ok(r.thunks.ReclaimAllocations(r.thread, r.dev, arg))
	return arg.Discarded
}

// Four allocations fill VRAM, used in their order, and n new ones take places. The expected
// order is that of D3DDDI_OFFER_PRIORITY, then of use.
func TestOfferedGoFirst(t *testing.T) {
	const none, low, normal, high = umddi.OfferPriorityNone, umddi.OfferPriorityLow, umddi.OfferPriorityNormal, umddi.OfferPriorityHigh
	for _, tt := range []struct {
		name   string
		offers [4]umddi.OfferPriority
		n      int
		stay   []bool
	}{
		{"before an older one", [4]umddi.OfferPriority{none, none, none, high}, 1, []bool{true, true, true, false}},
		{"the lowest offer", [4]umddi.OfferPriority{high, normal, low, none}, 1, []bool{true, true, false, true}},
		{"the two lowest", [4]umddi.OfferPriority{high, normal, low, none}, 2, []bool{true, false, false, true}},
		{"all three", [4]umddi.OfferPriority{high, normal, low, none}, 3, []bool{false, false, false, true}},
		{"then others", [4]umddi.OfferPriority{none, none, none, low}, 2, []bool{false, true, true, false}},
		{"the oldest of one offer", [4]umddi.OfferPriority{none, normal, normal, normal}, 1, []bool{true, false, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 4 * 4096})
			var as []ddi.KMHandle
			for i := range 4 {
				as = append(as, r.alloc(4096, local))
				r.render(fill(as[i], 0, 4096, byte(i+1)))
				r.prioritize(as[i], umddi.AllocationPriorityMinimum+uint32(i%2))
			}
			for i, p := range tt.offers {
				if p != none {
					r.offer(p, as[i])
				}
			}
			r.mini.log = nil
			for range tt.n {
				r.render(fill(r.alloc(4096, local), 0, 64, 9))
			}
			r.wait()
			if tt.name != "then others" {
				assert.Empty(t, r.logged("BuildPagingBuffer transfer"), "nothing is copied")
			}
			assert.Equal(t, tt.stay, r.resident(as...))
			for i, p := range tt.offers {
				if p == none {
					continue
				}
				assert.Equal(t, []bool{!tt.stay[i]}, r.reclaim(as[i]), "allocation %d", i)
				want := repeat(byte(i+1), 4096)
				if !tt.stay[i] {
					want = repeat(0, 4096)
				}
				assert.Equal(t, want, r.read(as[i]), "allocation %d", i)
			}
			r.finish()
		})
	}
}

// Discarded content reads as zero: through a lock, and by the GPU at a place where another
// allocation was. Host memory that has the content keeps it.
func TestReclaimedContent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(r *rig, a ddi.KMHandle)
		lost    bool
	}{
		{"written in VRAM", func(r *rig, a ddi.KMHandle) { r.render(fill(a, 0, 4096, 5)) }, true},
		{"written in VRAM over content of host memory", func(r *rig, a ddi.KMHandle) {
			r.write(a, repeat(5, 4096))
			r.render(fill(a, 0, 16, 6))
		}, true},
		{"only read in VRAM", func(r *rig, a ddi.KMHandle) {
			r.write(a, repeat(5, 4096))
			r.render(copyTo(r.alloc(64, system), 0, a, 0, 64))
		}, false},
		{"never in VRAM", func(r *rig, a ddi.KMHandle) { r.write(a, repeat(5, 4096)) }, false},
	} {
		for _, byGPU := range []bool{false, true} {
			r := newRig(t, options{vram: 4096, capacity: 8, buffers: 8})
			a, b, out := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
			tt.prepare(r, a)
			r.offer(umddi.OfferPriorityNormal, a)
			r.render(fill(b, 0, 4096, 0xee)) // of an application that must not be seen
			assert.Equal(t, []bool{tt.lost}, r.reclaim(a), tt.name)
			want := repeat(5, 4096)
			if tt.lost {
				want = repeat(0, 4096)
			}
			if byGPU {
				r.render(copyTo(out, 0, a, 0, 4096))
				assert.Equal(t, want, r.read(out), tt.name)
			} else {
				assert.Equal(t, want, r.read(a), tt.name)
			}
			assert.Equal(t, repeat(0xee, 4096), r.read(b), tt.name)
			r.render(fill(a, 0, 64, 7))
			assert.Equal(t, append(repeat(7, 64), want[64:]...), r.read(a), "it can be used again")
			r.finish()
		}
	}
}

// An offer holds after the work that was submitted before it.
func TestOfferOfWhatWorkUses(t *testing.T) {
	r := newRig(t, options{vram: 2 * 4096, capacity: 1, buffers: 8})
	a, b, c, out := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 4096, 1))
	r.render(fill(b, 0, 4096, 2))
	r.render(copyTo(out, 0, a, 0, 4096)) // waits in the software queue
	r.offer(umddi.OfferPriorityLow, a)
	ctx := r.context(0)
	r.gpu.auto = true
	r.ok(r.submit(ctx, fill(c, 0, 64, 3)))
	r.wait()
	assert.Equal(t, repeat(1, 4096), r.read(out), "the work had the content")
	r.reclaim(a)
	assert.Equal(t, repeat(2, 4096), r.read(b))
	r.finish()
}

func TestOffersAreChecked(t *testing.T) {
	r := newRig(t, options{})
	a, b, c := r.alloc(64, local), r.alloc(64, local), r.alloc(64, both)
	offer := func(p umddi.OfferPriority, as ...ddi.KMHandle) ddi.Status {
		return r.thunks.OfferAllocations(r.thread, r.dev, &umddi.OfferAllocations{Allocations: as, Priority: p})
	}
	reclaim := func(n int, as ...ddi.KMHandle) ddi.Status {
		return r.thunks.ReclaimAllocations(r.thread, r.dev, &umddi.ReclaimAllocations{Allocations: as, Discarded: make([]bool, n)})
	}
	want := func(name string, want, got ddi.Status) { assert.Equal(t, want, got, name) }
	const bad = ddi.StatusInvalidParameter
	for p := range umddi.OfferPriority(6) {
		if p < umddi.OfferPriorityLow || p > umddi.OfferPriorityHigh {
			want("a priority", bad, offer(p, a))
		}
	}
	want("nothing", bad, offer(umddi.OfferPriorityLow))
	want("twice in a list", bad, offer(umddi.OfferPriorityLow, a, a))
	want("an unknown one", ddi.StatusInvalidHandle, offer(umddi.OfferPriorityLow, a, a+1<<20))
	want("one that is not offered", bad, reclaim(1, a))
	r.ok(r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: b}))
	want("a locked one", bad, offer(umddi.OfferPriorityLow, a, b))
	r.unlock(b)
	r.offer(umddi.OfferPriorityLow, a)
	want("one that is offered", bad, offer(umddi.OfferPriorityLow, b, a))

	want("a lock", bad, r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: a}))
	want("rendering", bad, r.submit(&r.ctx, fill(a, 0, 16, 1)))
	want("a present from it", bad, r.thunks.Present(r.thread, r.dev, &umddi.PresentCB{SrcAllocation: a, DstAllocation: c, Context: r.ctx.Context}))
	r.render(fill(b, 0, 16, 1)) // the device goes on
	want("too few results", bad, reclaim(0, a))
	want("one that is not offered with one that is", bad, reclaim(2, a, c))
	r.ok(r.thunks.ReclaimAllocations(r.thread, r.dev, &umddi.ReclaimAllocations{Allocations: []ddi.KMHandle{a}}))
	r.render(fill(a, 0, 16, 1))
	r.offer(umddi.OfferPriorityHigh, a, b)
	r.ok(r.destroy(a)) // it need not be reclaimed
	r.reclaim(b)
	r.finish()
}

// An allocation in an aperture segment loses its place, but host memory keeps its content.
func TestOfferInTheAperture(t *testing.T) {
	r := newRig(t, options{vram: 4096, aperture: 1})
	a, b := r.alloc(4096, system), r.alloc(4096, system)
	r.render(fill(a, 0, 4096, 1))
	r.offer(umddi.OfferPriorityLow, a)
	r.render(fill(b, 0, 4096, 2))
	r.wait()
	assert.Equal(t, []bool{false, true}, r.resident(a, b))
	assert.Equal(t, []bool{false}, r.reclaim(a))
	assert.Equal(t, repeat(1, 4096), r.read(a))
	assert.Zero(t, r.kernel.Stats().Discards)
	r.finish()
}

// The buffer of a DISCARD has no bytes, and gets its fence on its own.
func TestDiscardOfTheDestroyed(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(a, 0, 4096, 1))
	r.wait()
	r.gpu.auto = false
	r.mini.log = nil
	r.ok(r.destroy(a, b))
	assert.Equal(t, []string{"BuildPagingBuffer discard 0 to 1", "Submit paging fence=3 node=0", "CloseAllocation", "DestroyAllocation"},
		r.logged("Build", "Close", "Destroy", "Submit"), "b was never in VRAM")
	assert.EqualValues(t, 0, r.gpu.queues[0][0].bytes)
	r.gpu.complete(0)
	r.enter()
	assert.Equal(t, []string{"CloseAllocation", "DestroyAllocation"}, r.logged("Close", "Destroy"), "after the fence")
	assert.EqualValues(t, 1, r.kernel.Stats().Discards)
	r.gpu.auto = true
	r.finish()
}

// The allocations that one call destroys share a paging buffer. Each call has its own, since a
// paging buffer does not stay open after a call.
func TestDestroyedTogether(t *testing.T) {
	for _, tt := range []struct {
		aperture int
		set      uint32
		op       string
	}{{0, local, "BuildPagingBuffer discard"}, {16, system, "BuildPagingBuffer unmap"}} {
		r := newRig(t, options{aperture: tt.aperture, nodes: 2})
		var all []ddi.KMHandle
		for range 4 {
			a := r.alloc(64, tt.set)
			r.render(fill(a, 0, 64, 1))
			all = append(all, a)
		}
		r.wait()
		for call, as := range [][]ddi.KMHandle{all[:3], all[3:]} {
			r.logged()
			before := r.kernel.Stats().PagingBuffers
			r.ok(r.destroy(as...))
			assert.EqualValues(t, 1, r.kernel.Stats().PagingBuffers-before, "call %d", call)
			assert.Len(t, r.logged(tt.op), len(as), "call %d", call)
			r.wait()
		}
		r.finish()
	}
}

package dxgkrnl

import (
	"slices"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
)

// opened returns a process with its device and its context.
func (r *rig) opened(id uint32) *rig {
	p := r.process(id)
	p.open(0)
	return p
}

// memory returns the budget and the usage of the process in memory segments.
func (r *rig) memory() (budget, usage uint64) {
	arg := &kmt.QueryVideoMemoryInfo{MemorySegmentGroup: kmt.SegmentGroupLocal}
	r.ok(r.thunks.QueryVideoMemoryInfo(r.thread, arg))
	return arg.Budget, arg.CurrentUsage
}

// pages makes n allocations of a page, each filled with a value.
func (r *rig) pages(n int, value byte) (as []ddi.KMHandle) {
	for range n {
		a := r.alloc(4096, local)
		r.render(fill(a, 0, 4096, value))
		as = append(as, a)
	}
	r.wait()
	return as
}

// A process that goes through more memory than VRAM has does not push out one that is within
// its budget, in whichever order they work. Two of that kind have half of VRAM each.
func TestBudgetProtects(t *testing.T) {
	for _, tt := range []struct {
		name   string
		small  int // pages of the process within its budget, of 8 in VRAM
		rounds int
		large  uint32 // priority of the large process
	}{
		{"half", 4, 3, umddi.AllocationPriorityNormal},
		{"less", 2, 3, umddi.AllocationPriorityNormal},
		{"against a higher priority", 4, 3, umddi.AllocationPriorityMaximum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 8 * 4096})
			a, b := r.opened(1), r.opened(2)
			kept := a.pages(tt.small, 1)
			many := b.pages(10, 2)
			for _, h := range many {
				b.prioritize(h, tt.large)
			}
			for range tt.rounds {
				for _, h := range many {
					b.render(fill(h, 0, 16, 3))
				}
			}
			b.wait()
			for _, in := range a.resident(kept...) {
				assert.True(t, in)
			}
			budget, usage := a.memory()
			assert.Equal(t, []uint64{4 * 4096, uint64(tt.small) * 4096}, []uint64{budget, usage})
			budget, usage = b.memory()
			assert.EqualValues(t, 4*4096, budget)
			assert.EqualValues(t, (8-tt.small)*4096, usage, "the rest")
			for _, h := range kept {
				assert.Equal(t, repeat(1, 4096), a.read(h))
			}
			r.finish()
		})
	}
}

// A process gets its share back from one that took all of VRAM while nobody else needed it.
func TestBudgetReturns(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	a, b, c := r.opened(1), r.opened(2), r.opened(3)
	first := a.pages(8, 1)
	budget, usage := a.memory()
	assert.Equal(t, []uint64{8 * 4096, 8 * 4096}, []uint64{budget, usage})
	budget, usage = b.memory()
	assert.Equal(t, []uint64{4 * 4096, 0}, []uint64{budget, usage}, "what it would have")
	b.pages(5, 2)
	budget, usage = b.memory()
	assert.Equal(t, []uint64{4 * 4096, 4 * 4096}, []uint64{budget, usage}, "it does not get more than its budget")
	assert.Equal(t, []bool{false, false, false, false, true, true, true, true}, a.resident(first...), "the oldest went")
	c.pages(2, 3)
	budget, usage = c.memory()
	assert.Equal(t, []uint64{8 * 4096 / 3, 2 * 4096}, []uint64{budget, usage})
	r.finish()
}

// A buffer of a process may use more than its budget only if a group of its allocations needs
// that; otherwise it is split.
func TestBudgetOfABuffer(t *testing.T) {
	for _, joined := range []bool{false, true} {
		r := newRig(t, options{vram: 8 * 4096})
		a, b := r.opened(1), r.opened(2)
		kept := a.pages(4, 1)
		var cmds []command
		var as []ddi.KMHandle
		for range 6 {
			h := b.alloc(4096, local)
			as = append(as, h)
			c := fill(h, 0, 4096, 2)
			c.join = joined && len(cmds) > 0
			cmds = append(cmds, c)
		}
		b.render(cmds...)
		b.wait()
		in := 0
		for _, resident := range a.resident(kept...) {
			if resident {
				in++
			}
		}
		if joined {
			assert.Equal(t, 2, in, "the group needs 6 of 8 pages, and no more")
		} else {
			assert.Equal(t, 4, in)
			assert.NotZero(t, r.kernel.Stats().Splits)
		}
		for i := range as {
			assert.Equal(t, repeat(2, 4096), b.read(as[i]))
		}
		for _, h := range kept {
			assert.Equal(t, repeat(1, 4096), a.read(h))
		}
		r.finish()
	}
}

// lockAll locks allocations, so that they do not move within a segment.
func (r *rig) lockAll(as ...ddi.KMHandle) {
	for _, a := range as {
		r.ok(r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: a, ReadOnly: true}))
	}
}

// Nobody is above its budget, but the free pages are not together: a process takes its own memory
// first, although that of the other is older.
func TestBudgetAndFragments(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	a, b := r.opened(1), r.opened(2)
	first := a.pages(2, 1)
	own := b.pages(1, 2)
	hole := a.pages(1, 1)
	own = append(own, b.pages(1, 2)...)
	rest := a.pages(3, 1)
	a.ok(a.destroy(hole[0], rest[1]))
	a.wait()
	a.enter()
	a.lockAll(append(first, rest[0], rest[2])...)
	b.lockAll(own...)
	large := b.alloc(2*4096, local)
	b.render(fill(large, 0, 2*4096, 3))
	b.wait()
	assert.Equal(t, []bool{true, true, true, true}, a.resident(append(first, rest[0], rest[2])...))
	assert.Equal(t, []bool{false, true}, b.resident(own...))
	r.finish()
}

// A process that would be above its budget with what it asks for counts as above.
func TestBudgetOfTheNext(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	a, b := r.opened(1), r.opened(2)
	old := b.alloc(2*4096, local)
	b.render(fill(old, 0, 16, 2))
	b.pages(1, 2)
	above := a.pages(5, 1)
	large := b.alloc(2*4096, local)
	b.render(fill(large, 0, 2*4096, 3))
	b.wait()
	assert.Equal(t, []bool{true, true, true, true, true}, a.resident(above...), "both are above, and the other memory is older")
	assert.Equal(t, []bool{false}, b.resident(old))
	r.finish()
}

func TestVideoMemoryInfo(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	a := r.opened(1)
	a.pages(1, 1)
	a.render(fill(a.alloc(100, system), 0, 16, 1))
	a.wait()
	arg := &kmt.QueryVideoMemoryInfo{MemorySegmentGroup: kmt.SegmentGroupNonLocal, Budget: 1, CurrentReservation: 1, AvailableForReservation: 1}
	a.ok(a.thunks.QueryVideoMemoryInfo(a.thread, arg))
	assert.Equal(t, kmt.QueryVideoMemoryInfo{MemorySegmentGroup: kmt.SegmentGroupNonLocal, Budget: 64 << 20, CurrentUsage: 100}, *arg)
	arg.MemorySegmentGroup = 2
	assert.Equal(t, ddi.StatusInvalidParameter, a.thunks.QueryVideoMemoryInfo(a.thread, arg))
	r.finish()
}

// The dump has what each process has of a segment with budgets. It changes nothing of a placement
// that goes on.
func TestBudgetsInTheDump(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096, aperture: 4})
	b, a := r.opened(3), r.opened(2)
	b.pages(5, 1)
	a.pages(2, 1)
	mapped := a.alloc(64, system)
	a.render(fill(mapped, 0, 64, 1))
	a.wait()
	k := r.kernel
	k.account(k.segments[0], k.handles.get(mapped).(*allocation))
	shares, needy, budget := slices.Clone(k.shares), k.needy, k.budget
	assert.Contains(t, k.dump(), `kernel: segment 1: 7 allocations, 0x7000 of 0x8000 bytes at GPU address 0x100000
kernel:   process 2: 0x2000 bytes, budget 0x4000
kernel:   process 3: 0x5000 bytes, budget 0x4000, over budget
kernel: segment 2: aperture, 1 allocations, 0x1000 of 0x4000 bytes at GPU address 0x10000000000
kernel:   process 2: 0x1000 bytes, budget 0x4000
`)
	assert.Equal(t, shares, k.shares)
	assert.Equal(t, []uint64{uint64(needy), budget}, []uint64{uint64(k.needy), k.budget})
	r.finish()
}

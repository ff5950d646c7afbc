package dxgkrnl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fragmented fills VRAM of 8 pages with allocations of a page, and destroys those at pages 1 and 4.
func (r *rig) fragmented() (as []ddi.KMHandle) {
	for i := range 8 {
		a := r.alloc(4096, local)
		r.render(fill(a, 0, 4096, byte(i+1)))
		as = append(as, a)
	}
	r.wait()
	r.ok(r.destroy(as[1], as[4]))
	r.wait()
	r.enter()
	return as
}

// Enough is free for two pages, but not together. One page moves, nothing is evicted, and no
// content gets lost.
func TestDefragmentation(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		for _, hidden := range []bool{false, true} {
			r := newRig(t, options{vram: 8 * 4096, nodes: nodes, hiddenVRAM: hidden})
			as := r.fragmented()
			before := r.kernel.Stats()
			large := r.alloc(2*4096, local)
			r.render(fill(large, 0, 2*4096, 0x55))
			r.wait()
			st := r.kernel.Stats()
			assert.Equal(t, []uint64{1, 4096, 0}, []uint64{st.Moves - before.Moves, st.BytesMoved - before.BytesMoved, st.Evictions - before.Evictions})
			for i, a := range as {
				if i != 1 && i != 4 {
					assert.Equal(t, repeat(byte(i+1), 4096), r.read(a), "page %d", i)
				}
			}
			assert.Equal(t, repeat(0x55, 2*4096), r.read(large))
			assert.Equal(t, st.BytesPagedOut, before.BytesPagedOut)
			r.finish()
		}
	}
}

// An allocation that must not move stays, and another one moves or is evicted.
func TestWhatDoesNotMove(t *testing.T) {
	for _, tt := range []struct {
		name    string
		keep    func(r *rig, as []ddi.KMHandle)
		moves   uint64
		evicted bool
	}{
		{"the first neighbour is pinned", func(r *rig, as []ddi.KMHandle) {
			r.ok(r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: as[0], IgnoreSync: true, ReadOnly: true}))
		}, 1, false},
		{"all neighbours are pinned, and two others move", func(r *rig, as []ddi.KMHandle) {
			for _, i := range []int{0, 2, 3, 5} {
				r.ok(r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: as[i], IgnoreSync: true, ReadOnly: true}))
			}
		}, 2, false},
		{"all are locked", func(r *rig, as []ddi.KMHandle) { r.lockAll(as[0], as[2], as[3], as[5], as[6], as[7]) }, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 8 * 4096})
			as := r.fragmented()
			tt.keep(r, as)
			before := r.kernel.Stats()
			at := map[ddi.KMHandle]uint64{}
			for _, i := range []int{0, 2, 3, 5} {
				at[as[i]] = r.kernel.handles.get(as[i]).(*allocation).offset
			}
			large := r.alloc(2*4096, local)
			r.render(fill(large, 0, 2*4096, 0x55))
			r.wait()
			st := r.kernel.Stats()
			assert.Equal(t, tt.moves, st.Moves-before.Moves)
			assert.Equal(t, tt.evicted, st.Evictions > before.Evictions)
			for h, off := range at {
				if a := r.kernel.handles.get(h).(*allocation); a.locks > 0 && a.segment != nil {
					assert.Equal(t, off, a.offset)
				}
			}
			r.finish()
		})
	}
}

// The work that uses an allocation ends before the allocation moves, and later work finds it at
// its new place. Paging runs on the other node.
func TestMoveIsOrderedByFences(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096, nodes: 2, capacity: 8, buffers: 8})
	as := r.fragmented()
	r.gpu.auto = false
	r.mini.log = nil
	for _, i := range []int{0, 2, 3, 5} {
		r.render(fill(as[i], 0, 64, 0x77)) // neighbours of both holes
	}
	assert.Len(t, r.gpu.queues[0], 4)
	large := r.alloc(2*4096, local)
	r.render(fill(large, 0, 2*4096, 0x55))
	assert.Empty(t, r.logged("Submit paging"), "the work that uses it is in the hardware")
	r.gpu.complete(0)
	r.enter()
	assert.Len(t, r.logged("Submit paging"), 1, "the first work used what moves")
	assert.EqualValues(t, 1, r.kernel.Stats().Moves)
	r.render(copyTo(as[2], 2048, as[0], 0, 64))
	r.gpu.auto = true
	r.wait()
	assert.Equal(t, append(repeat(0x77, 64), repeat(1, 4032)...), r.read(as[0]))
	assert.Equal(t, repeat(0x77, 64), r.read(as[2])[2048:2112])
	r.finish()
}

// In an aperture segment an eviction copies nothing, so nothing moves.
func TestNothingMovesInTheAperture(t *testing.T) {
	r := newRig(t, options{vram: 4096, aperture: 4})
	var as []ddi.KMHandle
	for i := range 4 {
		as = append(as, r.alloc(4096, system))
		r.render(fill(as[i], 0, 4096, byte(i+1)))
	}
	r.wait()
	r.ok(r.destroy(as[0], as[2]))
	r.wait()
	r.enter()
	large := r.alloc(2*4096, system)
	r.render(fill(large, 0, 2*4096, 0x55))
	r.wait()
	assert.Zero(t, r.kernel.Stats().Moves)
	assert.Equal(t, []bool{false, true}, r.resident(as[1], as[3]))
	assert.Equal(t, repeat(2, 4096), r.read(as[1]))
	r.finish()
}

// With allocations of random sizes, alignments and places, the moves that clearing finds do not
// overlap anything that is there before or after, move nothing that is pinned, and leave room.
func TestClearing(t *testing.T) {
	found := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 41))
		s := &segment{id: 1, desc: kmddi.SegmentDescriptor{BaseAddress: 4096 * uint64(rng.IntN(3)), Size: 4096}}
		for at := uint64(0); ; {
			at += uint64(rng.IntN(4)) * 64
			a := &allocation{info: kmddi.AllocationInfo{Alignment: 64}, span: 64 * (1 + rng.Uint64N(6)), offset: at, segment: s, pinned: rng.IntN(5) == 0}
			if at+a.span > s.desc.Size {
				break
			}
			s.residents = append(s.residents, a)
			at += a.span
		}
		a := &allocation{info: kmddi.AllocationInfo{Alignment: 1 << (6 + rng.IntN(3))}, span: 64 * (1 + rng.Uint64N(20))}
		if _, _, fits := s.gap(a); fits {
			continue
		}
		moves, bytes, ok := s.clearing(a)
		if !ok {
			continue
		}
		found++
		after := apply(t, s, moves, fmt.Sprintf("seed %d", seed))
		_, _, fits := after.gap(a)
		require.True(t, fits, "seed %d", seed)
		sum := uint64(0)
		for _, m := range moves {
			sum += m.of.span
			require.False(t, m.of.pinned, "seed %d", seed)
		}
		require.Equal(t, bytes, sum, "seed %d", seed)
	}
	assert.Greater(t, found, 50)
}

// apply returns the segment after moves, and fails if one overlaps something that is there before
// or after.
func apply(t *testing.T, s *segment, moves []move, name string) *segment {
	taken := make([]int, s.desc.Size)
	mark := func(at, n uint64) {
		for i := at; i < at+n; i++ {
			taken[i]++
			require.Equal(t, 1, taken[i], "%s: byte %#x", name, i)
		}
	}
	moved := map[*allocation]bool{}
	for _, r := range s.residents {
		mark(r.offset, r.span)
	}
	for _, m := range moves {
		mark(m.to, m.of.span)
		moved[m.of] = true
	}
	after := &segment{id: s.id, desc: s.desc}
	add := func(r *allocation, at uint64) {
		i := 0
		for i < len(after.residents) && after.residents[i].offset < at {
			i++
		}
		after.insert(&allocation{info: r.info, span: r.span}, at, i)
	}
	for _, r := range s.residents {
		if !moved[r] {
			add(r, r.offset)
		}
	}
	for _, m := range moves {
		add(m.of, m.to)
	}
	return after
}

// Of what moves, the largest gets its room first, so that no smaller one takes a part of that.
func TestLargestMovesFirst(t *testing.T) {
	const unit = 64
	s := &segment{id: 1, desc: kmddi.SegmentDescriptor{Size: 9 * unit}}
	for _, p := range []struct {
		at, units uint64
		pinned    bool
	}{{2, 1, true}, {3, 1, false}, {4, 2, false}, {6, 1, true}, {8, 1, true}} {
		a := &allocation{info: kmddi.AllocationInfo{Alignment: unit}, span: p.units * unit, offset: p.at * unit, segment: s, pinned: p.pinned}
		s.residents = append(s.residents, a)
	}
	moves, bytes, ok := s.clearing(&allocation{info: kmddi.AllocationInfo{Alignment: unit}, span: 3 * unit})
	require.True(t, ok)
	assert.EqualValues(t, 3*unit, bytes)
	assert.Equal(t, []move{{s.residents[2], 0}, {s.residents[1], 7 * unit}}, moves)
}

// The free bytes of a segment are its size without the sizes of its allocations.
func TestFreeBytes(t *testing.T) {
	s := &segment{desc: kmddi.SegmentDescriptor{Size: 1000}}
	assert.EqualValues(t, 1000, s.freeBytes())
	s.residents = []*allocation{{span: 300}, {span: 50}}
	assert.EqualValues(t, 650, s.freeBytes())
}

// A range that cannot be cleared has no moves and no bytes: it ends after the segment, something in
// it cannot move, or what moves finds no room.
func TestRangeThatCannotBeCleared(t *testing.T) {
	const unit = 64
	resident := func(at, units uint64, pinned bool) *allocation {
		return &allocation{info: kmddi.AllocationInfo{Alignment: unit}, span: units * unit, offset: at * unit, pinned: pinned}
	}
	for _, tt := range []struct {
		name      string
		residents []*allocation
		at        uint64
		want      bool
	}{
		{"free", nil, 0, true}, {"up to the end", nil, 5, true}, {"beyond the end", nil, 6, false}, {"beyond all addresses", nil, 1<<58 - 2, false},
		{"one that moves", []*allocation{resident(2, 1, false)}, 0, true}, {"one that stays", []*allocation{resident(2, 1, true)}, 0, false},
		{"one that stays after the range", []*allocation{resident(3, 1, true)}, 0, true},
		{"no room for the second", []*allocation{resident(0, 3, false), resident(3, 2, true), resident(5, 2, false)}, 0, false},
	} {
		s := &segment{id: 1, desc: kmddi.SegmentDescriptor{Size: 8 * unit}, residents: tt.residents}
		moves, bytes, ok := s.clearingAt(resident(0, 3, false), tt.at*unit)
		assert.Equal(t, tt.want, ok, tt.name)
		if !tt.want {
			assert.Empty(t, moves, tt.name)
			assert.Zero(t, bytes, tt.name)
		}
	}
}

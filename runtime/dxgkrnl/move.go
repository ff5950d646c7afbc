package dxgkrnl

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A move gives an allocation another place in its memory segment.
type move struct {
	of *allocation
	to uint64 // offset
}

// defragment moves allocations within a memory segment, so that a finds room, if enough is
// free. It reports whether to look for room again. It evicts nothing, and moves none that is
// pinned, held for work or locked. It moves less than three times the bytes of a: each one that
// moves finds room where a does not.
func (k *Kernel) defragment(t *ddi.Thread, seg *segment, a *allocation) (bool, ddi.Status) {
	if !seg.memory() || seg.freeBytes() < seg.spanOf(a) {
		return false, ddi.StatusSuccess
	}
	moves, _, ok := seg.clearing(a)
	for _, m := range moves {
		if m.of.segment != seg || !m.of.movable() {
			return true, ddi.StatusSuccess // it was locked or evicted while a move waited: plan again
		}
		if s := k.moveWithin(t, m); s.Failed() {
			return false, s
		}
	}
	return ok, ddi.StatusSuccess
}

// freeBytes returns the bytes of a segment without an allocation.
func (s *segment) freeBytes() uint64 {
	free := s.desc.Size
	for _, r := range s.residents {
		free -= s.spanOf(r)
	}
	return free
}

// movable reports whether an allocation may get another place in its segment. A lock has
// copied it out, and copies it back.
func (a *allocation) movable() bool { return !isKept(a) && a.locks == 0 }

// clearing returns the moves that clear a range for a with the fewest bytes, or false. The range
// begins at the start of the segment or after a resident.
func (s *segment) clearing(a *allocation) (best []move, least uint64, ok bool) {
	starts := []uint64{0}
	for _, r := range s.residents {
		starts = append(starts, r.offset+s.spanOf(r))
	}
	for _, at := range starts {
		moves, bytes, can := s.clearingAt(a, s.aligned(a, at))
		if can && (!ok || bytes < least) {
			best, least, ok = moves, bytes, true
		}
	}
	return best, least, ok
}

// aligned returns the first offset from at on that has the alignment of a.
func (s *segment) aligned(a *allocation, at uint64) uint64 {
	align := s.alignOf(a)
	return (s.desc.BaseAddress+at+align-1)&^(align-1) - s.desc.BaseAddress
}

// clearingAt returns moves that clear the range of a at an offset, and their bytes. Each goes to
// room that is free before all moves, so their order does not matter.
func (s *segment) clearingAt(a *allocation, at uint64) (moves []move, bytes uint64, ok bool) {
	end := at + s.spanOf(a)
	if end < at || end > s.desc.Size {
		return nil, 0, false
	}
	var inside []*allocation
	trial := &segment{id: s.id, desc: s.desc}
	reserved := &allocation{info: kmddi.AllocationInfo{Alignment: 1}, span: end - at, offset: at}
	for _, r := range s.residents {
		switch {
		case r.offset >= end || r.offset+s.spanOf(r) <= at:
		case !r.movable():
			return nil, 0, false
		default:
			inside = append(inside, r)
			before, after := r.offset, r.offset+s.spanOf(r)
			reserved.offset, reserved.span = min(reserved.offset, before), max(reserved.offset+reserved.span, after)-min(reserved.offset, before)
			continue
		}
		trial.residents = append(trial.residents, r)
	}
	i, _ := slices.BinarySearchFunc(trial.residents, at, func(r *allocation, at uint64) int { return cmp.Compare(r.offset, at) })
	trial.residents = slices.Insert(trial.residents, i, reserved)
	slices.SortStableFunc(inside, func(x, y *allocation) int { return cmp.Compare(y.span, x.span) })
	for _, r := range inside {
		off, i, fits := trial.gap(r)
		if !fits {
			return nil, 0, false
		}
		trial.residents = slices.Insert(trial.residents, i, &allocation{info: r.info, span: r.span, offset: off})
		moves, bytes = append(moves, move{r, off}), bytes+r.span
	}
	return moves, bytes, true
}

// moveWithin moves an allocation within its segment. Work in the hardware that uses it ends
// before, and later work waits for the move.
//
//	DDI     DxgkDdiBuildPagingBuffer, TRANSFER from the segment to itself
func (k *Kernel) moveWithin(t *ddi.Thread, m move) ddi.Status {
	a, seg := m.of, m.of.segment
	k.dependOn(a)
	from := kmddi.PagingLocation{SegmentID: seg.id, Address: a.address()}
	k.observe(Event{Kind: EventEvict, Allocation: a.handle, Segment: from.SegmentID, Address: from.Address})
	seg.remove(a)
	i, _ := slices.BinarySearchFunc(seg.residents, m.to, func(r *allocation, at uint64) int { return cmp.Compare(r.offset, at) })
	seg.insert(a, m.to, i)
	k.observePlace(a)
	k.stats.Moves++
	k.stats.BytesMoved += a.info.Size
	return k.page(t, a, kmddi.BuildPagingBuffer{
		Operation: kmddi.PagingTransfer, Size: a.info.Size, Source: from,
		Destination: kmddi.PagingLocation{SegmentID: seg.id, Address: a.address()},
	})
}

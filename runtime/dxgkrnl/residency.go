package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// beginMove waits until no other thread places allocations. A thread that does may
// have to wait, for a paging buffer. It fails if the GPU has stopped meanwhile.
func (k *Kernel) beginMove(t *ddi.Thread) ddi.Status {
	if k.moving {
		k.until(t, func() bool { return !k.moving })
		if s := k.status(t); s.Failed() {
			return s
		}
	}
	k.moving = true
	return ddi.StatusSuccess
}

// endMove lets other threads place allocations, and cancels the work of devices that were
// lost meanwhile.
func (k *Kernel) endMove() {
	k.moving = false
	lost := k.lost
	k.lost = nil
	for _, d := range lost {
		for _, c := range d.contexts {
			k.dropWork(c)
		}
	}
}

// touch adds a to the working set.
func (k *Kernel) touch(a *allocation) {
	k.clock++
	a.touched, a.epoch = k.clock, k.epoch
}

// makeResident gives a a place: in its preferred segment, else in another
// segment it may be in, by id. One that is locked uses its host memory if it may. It evicts allocations outside the working set
// from memory and aperture segments, in the order of victim.
//
//	Returns StatusSuccess, StatusNoVideoMemory if it does not fit together with
//	        the working set, StatusDeviceRemoved, StatusNoMemory
func (k *Kernel) makeResident(t *ddi.Thread, a *allocation) ddi.Status {
	k.touch(a)
	if a.segment != nil {
		return ddi.StatusSuccess
	}
	if seg := k.hostSegment(a); a.locks > 0 && seg != nil {
		return k.placeIn(t, a, seg)
	}
	if p := a.info.PreferredSegment; p != 0 && a.supports(k.segments[p-1]) {
		if s := k.placeIn(t, a, k.segments[p-1]); s != ddi.StatusNoVideoMemory {
			return s
		}
	}
	for _, seg := range k.segments {
		if seg.id == a.info.PreferredSegment || !a.supports(seg) {
			continue
		}
		if s := k.placeIn(t, a, seg); s != ddi.StatusNoVideoMemory {
			return s
		}
	}
	return ddi.StatusNoVideoMemory
}

// placeIn gives a place in a segment to a, which is paged out.
func (k *Kernel) placeIn(t *ddi.Thread, a *allocation, seg *segment) ddi.Status {
	if seg.spanOf(a) > seg.desc.Size {
		return ddi.StatusNoVideoMemory
	}
	if seg.desc.Flags.System {
		a.segment = seg
		k.observePlace(a)
		return ddi.StatusSuccess
	}
	for {
		if off, i, ok := seg.gap(a); ok {
			seg.insert(a, off, i)
			k.observePlace(a)
			return k.pageIn(t, a)
		}
		if moved, s := k.defragment(t, seg, a); moved || s.Failed() {
			if s.Failed() {
				return s
			}
			continue
		}
		v := k.victim(seg, a)
		if v == nil {
			return ddi.StatusNoVideoMemory
		}
		if s := k.evictIdle(t, v); s.Failed() {
			return s
		}
	}
}

// pageIn maps the host memory of a to its new place in an aperture segment. It moves the
// content of a to its new place in a memory segment, or zeroes the place, so that
// no other content is visible.
func (k *Kernel) pageIn(t *ddi.Thread, a *allocation) ddi.Status {
	a.dirty = false
	if a.inAperture() {
		return k.mapPages(t, a)
	}
	at := kmddi.PagingLocation{SegmentID: a.segment.id, Address: a.address()}
	if !a.content {
		k.stats.BytesFilled += a.info.Size
		return k.page(t, a, kmddi.BuildPagingBuffer{Operation: kmddi.PagingFill, Destination: at, Size: a.info.Size})
	}
	k.stats.BytesPagedIn += a.info.Size
	return k.page(t, a, kmddi.BuildPagingBuffer{
		Operation: kmddi.PagingTransfer, Size: a.info.Size,
		Source: a.host(), Destination: at,
	})
}

// worthless reports whether the content of an allocation may be lost: it is destroyed or
// offered, and no work needs it any more. Work in the hardware may have to go on later if nodes
// can be preempted.
func (k *Kernel) worthless(a *allocation) bool {
	return (a.destroyed || a.offer != umddi.OfferPriorityNone) && a.queued == 0 && (!k.takesBack() || a.uses.passed())
}

// evict removes a from its segment. From an aperture segment, in which no running work may
// use it, it is unmapped. From a memory segment it copies the content to host memory
// if that is outdated, or discards it; while a is locked, host memory has the content anyway.
// Later paging operations wait until the uses of a have completed.
func (k *Kernel) evict(t *ddi.Thread, a *allocation) ddi.Status {
	if a.inAperture() {
		return k.unmapPages(t, a)
	}
	k.dependOn(a)
	from := kmddi.PagingLocation{SegmentID: a.segment.id, Address: a.address()}
	k.observe(Event{Kind: EventEvict, Allocation: a.handle, Segment: from.SegmentID, Address: from.Address})
	a.segment.remove(a)
	k.stats.Evictions++
	if a.locks > 0 {
		a.dirty, a.content = false, true
	}
	if k.worthless(a) {
		return k.discardContent(t, a, from)
	}
	if !a.dirty {
		return ddi.StatusSuccess
	}
	a.dirty, a.content = false, true
	k.stats.BytesPagedOut += a.info.Size
	return k.page(t, a, kmddi.BuildPagingBuffer{
		Operation: kmddi.PagingTransfer, Size: a.info.Size,
		Source: from, Destination: a.host(),
	})
}

// groupEnd returns the end of the group of patches that starts at i: those with
// the same SplitOffset. If there is none at i, it returns their number.
func (d *dmaBuffer) groupEnd(i int) int {
	j := i + 1
	for j < d.nPatches && d.patches[j].SplitOffset == d.patches[i].SplitOffset {
		j++
	}
	return min(j, d.nPatches)
}

// placePart makes the allocations of the patches [i, j) resident together, again.
func (k *Kernel) placePart(t *ddi.Thread, d *dmaBuffer, i, j int) ddi.Status {
	k.epoch++
	s := k.place(t, d, i, j, false)
	if s == ddi.StatusNoVideoMemory {
		s = k.placeAlone(t, d, i, j)
	}
	return s
}

// object returns the allocation of patch i, or nil.
func (d *dmaBuffer) object(i int) *allocation { return d.objects[d.patches[i].AllocationIndex] }

// gather makes the allocations of as many groups as possible resident together,
// starting at patch start, which begins a group. Only the first one may take memory of a
// process that is within its budget.
//
//	Returns the first patch that is left, and StatusSuccess if at least one
//	        group fits; StatusNoVideoMemory if none does
func (k *Kernel) gather(t *ddi.Thread, d *dmaBuffer, start int) (end int, s ddi.Status) {
	k.epoch++
	for end = start; end < d.nPatches; {
		next := d.groupEnd(end)
		if end > start && !k.again(d, start, next) {
			return end, ddi.StatusSuccess
		}
		k.modest = end > start
		s = k.place(t, d, end, next, false)
		k.modest = false
		if s == ddi.StatusNoVideoMemory && end == start {
			s = k.placeAlone(t, d, end, next)
		} else if s == ddi.StatusNoVideoMemory {
			return end, ddi.StatusSuccess
		}
		if s.Failed() {
			return end, s
		}
		end = next
	}
	return end, ddi.StatusSuccess
}

// again reports whether the groups [i, j) find room together once more, if they are
// preempted.
func (k *Kernel) again(d *dmaBuffer, i, j int) bool {
	return !k.takesBack() || k.ample(d) || k.groupFits(d, i, j, isPinned)
}

// place makes the allocations of patches [i, j) resident. If host is set, those that may
// use their host memory do so if they have no place yet.
func (k *Kernel) place(t *ddi.Thread, d *dmaBuffer, i, j int, host bool) ddi.Status {
	for ; i < j; i++ {
		a := d.object(i)
		if a == nil {
			continue
		}
		if seg := k.hostSegment(a); host && seg != nil && a.segment == nil {
			k.touch(a)
			if s := k.placeIn(t, a, seg); s.Failed() && s != ddi.StatusNoVideoMemory {
				return s
			}
		}
		if s := k.makeResident(t, a); s.Failed() {
			return s
		}
	}
	return ddi.StatusSuccess
}

// placeAlone makes room for the group [i, j) alone: allocations that may use their host
// memory leave memory segments, then all are placed, and finally it evicts
// everything else first, to avoid fragmentation.
func (k *Kernel) placeAlone(t *ddi.Thread, d *dmaBuffer, i, j int) ddi.Status {
	for p := i; p < j; p++ {
		a := d.object(p)
		// One that is held has a place, which it keeps.
		if a == nil || k.hostSegment(a) == nil || a.held > 0 || !a.inMemorySegment() {
			continue
		}
		if s := k.evict(t, a); s.Failed() {
			return s
		}
	}
	if s := k.place(t, d, i, j, true); s != ddi.StatusNoVideoMemory {
		return s
	}
	// In a new epoch the working set is empty.
	k.epoch++
	for _, seg := range k.segments {
		for v := k.victim(seg, nil); v != nil; v = k.victim(seg, nil) {
			if s := k.evictIdle(t, v); s.Failed() {
				return s
			}
		}
	}
	return k.place(t, d, i, j, true)
}

// feasible reports whether each group of a buffer from patch start on can be placed
// alone, as placeAlone does, when nothing but pinned allocations keeps its place. So no
// portion is submitted in vain, and no job waits for ever.
func (k *Kernel) feasible(d *dmaBuffer, start int) bool {
	for i := start; i < d.nPatches; {
		j := d.groupEnd(i)
		if !k.groupFits(d, i, j, isPinned) {
			return false
		}
		i = j
	}
	return true
}

// ample reports whether the allocations of a buffer fit into any segment, all
// together and in any order. If so, the buffer is feasible.
func (k *Kernel) ample(d *dmaBuffer) bool {
	if k.pins > 0 {
		return false
	}
	for _, s := range k.segments {
		var total uint64
		for _, a := range d.objects[:d.nList] {
			if a != nil {
				total += s.spanOf(a) + s.alignOf(a)
			}
		}
		if !s.desc.Flags.System && s.desc.Size < total {
			return false
		}
	}
	return true
}

// placeable reports whether the group [i, j) can be placed now, beside the allocations
// that are pinned or held for other work.
func (k *Kernel) placeable(d *dmaBuffer, i, j int) bool {
	placed := true
	for p := i; p < j && placed; p++ {
		a := d.object(p)
		placed = a == nil || a.segment != nil
	}
	return placed || k.groupFits(d, i, j, isKept)
}

// isPinned reports whether an allocation keeps its place until a lock ends.
func isPinned(a *allocation) bool { return a.pinned }

// isKept reports whether an allocation keeps its place now.
func isKept(a *allocation) bool { return a.pinned || a.held > 0 }

// groupFits tries to place group [i, j) in memory and aperture segments that have only the
// allocations for which stays returns true.
func (k *Kernel) groupFits(d *dmaBuffer, i, j int, stays func(*allocation) bool) bool {
	var trial []*segment
	for _, s := range k.segments {
		trial = append(trial, s.only(stays))
	}
	seen := make(map[*allocation]bool, j-i)
	for ; i < j; i++ {
		a := d.object(i)
		if a == nil || seen[a] || k.systemSegment(a) != nil || a.segment != nil && stays(a) {
			continue
		}
		seen[a] = true
		if !tryPlace(trial, a, k.hostSegment(a)) {
			return false
		}
	}
	return true
}

// tryPlace places a copy of a in the order of placeAlone. host is the segment in which a
// uses its host memory, or nil.
func tryPlace(trial []*segment, a *allocation, host *segment) bool {
	try := func(s *segment) bool {
		off, i, ok := s.gap(a)
		if ok {
			s.insert(&allocation{info: a.info, span: a.span}, off, i)
		}
		return ok
	}
	if host != nil && try(trial[host.id-1]) {
		return true
	}
	if p := a.info.PreferredSegment; p != 0 && a.supports(trial[p-1]) && try(trial[p-1]) {
		return true
	}
	for _, s := range trial {
		if s.id != a.info.PreferredSegment && a.supports(s) && try(s) {
			return true
		}
	}
	return false
}

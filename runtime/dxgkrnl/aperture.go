package dxgkrnl

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// running reports whether work of a context that may use a is in the hardware.
func (a *allocation) running() bool {
	return slices.ContainsFunc(a.uses, func(m mark) bool { return m.line.context != nil && m.given().running() })
}

// evictIdle evicts a victim of its segment. A driver may unmap pages when it builds the
// operation. So if work in the hardware uses a in an aperture segment, it only waits for that
// work: meanwhile another victim may have become the best one.
func (k *Kernel) evictIdle(t *ddi.Thread, a *allocation) ddi.Status {
	if !a.inAperture() || !a.running() {
		return k.evict(t, a)
	}
	k.flush()
	k.kick(t)
	return k.wait(t, "the work that uses a part of the aperture", func() bool { return !a.running() })
}

// mapPages maps the host memory of a to its place in an aperture segment.
func (k *Kernel) mapPages(t *ddi.Thread, a *allocation) ddi.Status {
	k.stats.PagesMapped += uint64(len(a.mdl))
	op := k.apertureOp(a)
	op.Operation, op.MDL = kmddi.PagingMapApertureSegment, a.mdl
	return k.page(t, a, op)
}

// unmapPages ends the place of a in an aperture segment: its pages are those of the dummy
// page again.
func (k *Kernel) unmapPages(t *ddi.Thread, a *allocation) ddi.Status {
	k.stats.PagesUnmapped += uint64(len(a.mdl))
	k.stats.Evictions++
	op := k.apertureOp(a)
	op.Operation, op.DummyPage = kmddi.PagingUnmapApertureSegment, k.dummy.Phys
	k.observe(Event{Kind: EventEvict, Allocation: a.handle, Segment: op.SegmentID, Address: a.address()})
	a.segment.remove(a)
	return k.page(t, a, op)
}

// apertureOp returns an operation on the place of a in an aperture segment.
func (k *Kernel) apertureOp(a *allocation) kmddi.BuildPagingBuffer {
	return kmddi.BuildPagingBuffer{
		SegmentID: a.segment.id, OffsetInPages: a.offset / hal.PageSize, NumberOfPages: uint64(len(a.mdl)),
	}
}

// makeDummy allocates the dummy page, if there is an aperture segment. Its content is
// poison, so that writes are found.
func (k *Kernel) makeDummy() bool {
	if !slices.ContainsFunc(k.segments, func(s *segment) bool { return s.desc.Flags.Aperture }) {
		return true
	}
	p, ok := k.pages(hal.PageSize, hal.PageSize)
	k.dummy = p
	spoil(p.Bytes)
	return ok
}

// freeDummy frees the dummy page, after the device was stopped.
func (k *Kernel) freeDummy() {
	if k.dummy.Bytes != nil {
		k.machine.Free(k.dummy)
		k.dummy = hal.Pages{}
	}
}

// checkDummy bugchecks if the GPU has written to pages that are not mapped. after is the
// last work that has completed.
func (k *Kernel) checkDummy(after *submission) {
	if !k.poison || k.dummy.Bytes == nil {
		return
	}
	if i := unpoisoned(k.dummy.Bytes); i >= 0 {
		k.bugcheck(buildPaging, CodeMemory, MemoryAperture, "the GPU has written byte %#x of the dummy page at %#x by node %d fence %d, want no writes to pages of an aperture segment that are not mapped",
			i, k.dummy.Phys, after.arg.NodeOrdinal, after.arg.SubmissionFenceID)
	}
}

// noteMapping notes that o is the last MAP or UNMAP of its pages, which begin with first.
func (k *Kernel) noteMapping(o *pagingOp, s *segment, first uint64) {
	if k.translate == nil {
		return
	}
	k.remaps++
	o.mapping = k.remaps
	end := first + o.size/hal.PageSize
	if n := uint64(len(s.mapped)); n < end {
		s.mapped = append(s.mapped, make([]uint64, end-n)...)
	}
	for i := first; i < end; i++ {
		s.mapped[i] = o.mapping
	}
}

// checkUnmapped reports the first page that a completed paging buffer has unmapped and that is not
// the dummy page. Pages with a later operation are not looked at. It needs Config.Translate.
func (k *Kernel) checkUnmapped(t *ddi.Thread, s *submission) {
	if s.paging == nil || k.translate == nil || k.err != nil {
		return
	}
	for _, o := range s.paging.ops {
		if !o.done || o.operation != kmddi.PagingUnmapApertureSegment {
			continue
		}
		if found := k.wrongPage(o); found != "" {
			k.report(t, "aperture-unmap", buildPaging, fmt.Sprintf("node %d: fence %d: %v: %s", s.line.node.ordinal, s.arg.SubmissionFenceID, o, found), s.serial)
			return
		}
	}
}

// wrongPage returns the first page of an UNMAP that is not the dummy page, or "".
func (k *Kernel) wrongPage(o pagingOp) string {
	seg := k.memorySegment(o)
	for at := o.source.Address; at < o.source.Address+o.size; at += hal.PageSize {
		if seg.mapped[(at-seg.desc.BaseAddress)/hal.PageSize] != o.mapping {
			continue
		}
		switch page, mapped, known := k.translate(at); {
		case !known:
		case !mapped:
			return fmt.Sprintf("the GPU cannot write %#x, want the dummy page there", at)
		case page != o.destination.Address:
			return fmt.Sprintf("the GPU has page %#x of host memory at %#x, want the dummy page", page, at)
		}
	}
	return ""
}

package dxgkrnl

import (
	"math"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// allocation is video memory. It always has host memory as backing store, and
// while it has a place in a memory segment the content is there. That memory is contiguous
// unless the allocation may be in an aperture segment and in no System segment.
type allocation struct {
	handle         ddi.KMHandle
	device         *device
	driver         kmddi.HAllocation
	opened         kmddi.HDeviceAllocation
	private        []byte                  // for opening it again
	openedByKernel kmddi.HDeviceAllocation // no Root: the kernel's own device has not opened it
	info           kmddi.AllocationInfo
	span           uint64    // size rounded up to a multiple of 4
	pages          hal.Pages // backing store of span bytes
	mdl            kmddi.MDL // of the backing store, if the allocation may be in an aperture segment

	segment    *segment // nil: paged out
	offset     uint64   // in a memory or an aperture segment
	content    bool     // pages have content to page in; otherwise it is all zero
	dirty      bool     // the segment's content is newer than the backing store
	uses       marks    // the last submissions that use it
	writes     marks    // the last submissions that write or move it
	paged      uint64   // the last paging buffer that moved it
	pagings    uint64   // counts the calls for its paging operations
	changes    uint64   // counts the submissions that write it and went to the hardware
	queued     int      // patches of it in work that is to be placed, the first time or again
	listed     int      // elements of allocation lists of buffers that are not yet free
	held       int      // patches of it in submissions that are made, but not in the hardware
	user       uint64   // the last job that orderJob marked, and whether that writes it
	writer     bool
	priority   uint32 // of eviction, umddi.AllocationPriorityNormal at first
	offer      umddi.OfferPriority
	discarded  bool   // it is offered, and its content is lost
	touched    uint64 // for LRU
	epoch      uint64 // working set that it belongs to
	locks      int
	lockWrites bool // one of the locks is not read-only
	pinned     bool // one of the locks is IgnoreSync: the GPU may use its place
	destroyed  bool
}

// address returns the GPU address of a, which must be resident.
func (a *allocation) address() uint64 {
	if a.segment.desc.Flags.System {
		return a.segment.desc.BaseAddress + a.pages.Phys
	}
	return a.segment.desc.BaseAddress + a.offset
}

// inMemorySegment reports whether a has a place in a memory segment.
func (a *allocation) inMemorySegment() bool { return a.segment != nil && a.segment.memory() }

// inAperture reports whether a has a place in an aperture segment.
func (a *allocation) inAperture() bool { return a.segment != nil && a.segment.desc.Flags.Aperture }

// host returns the location of the backing store.
func (a *allocation) host() kmddi.PagingLocation {
	return kmddi.PagingLocation{Address: a.pages.Phys, MDL: a.mdl}
}

// supports reports whether a may be in s.
func (a *allocation) supports(s *segment) bool {
	return a.info.SupportedSegmentSet&(1<<(s.id-1)) != 0
}

// systemSegment returns the first System segment that a may be in, or nil.
func (k *Kernel) systemSegment(a *allocation) *segment {
	return k.firstSegment(a, func(s *segment) bool { return s.desc.Flags.System })
}

// hostSegment returns the first System segment that a may be in, or else the first aperture
// segment, or nil.
func (k *Kernel) hostSegment(a *allocation) *segment {
	if s := k.systemSegment(a); s != nil {
		return s
	}
	return k.firstSegment(a, func(s *segment) bool { return s.desc.Flags.Aperture })
}

// firstSegment returns the first segment that a may be in and for which is returns true, or nil.
func (k *Kernel) firstSegment(a *allocation, is func(s *segment) bool) *segment {
	for _, s := range k.segments {
		if a.supports(s) && is(s) {
			return s
		}
	}
	return nil
}

// newAllocation creates an allocation and opens it for its device.
//
//	DDI     DxgkDdiCreateAllocation, DxgkDdiOpenAllocation
//	Returns StatusInvalidParameter if the miniport's answer is invalid,
//	        StatusNoVideoMemory if it is larger than every segment it may be
//	        in, StatusNoMemory without host memory, the miniport's status
func (k *Kernel) newAllocation(t *ddi.Thread, d *device, private []byte) (*allocation, ddi.Status) {
	private = slices.Clone(private)
	a := &allocation{
		device: d, private: private, priority: umddi.AllocationPriorityNormal, driver: kmddi.HAllocation{Root: new(ddi.Root)}, opened: kmddi.HDeviceAllocation{Root: new(ddi.Root)},
	}
	info, s := k.driver.CreateAllocation(t, k.adapter, a.driver, kmddi.CreateAllocation{PrivateDriverData: private})
	if s.Failed() {
		return nil, s
	}
	a.info = info
	if s = k.backAllocation(t, a); s.Failed() {
		k.driver.DestroyAllocation(t, k.adapter, a.driver)
		return nil, s
	}
	s = k.driver.OpenAllocation(t, d.driver, a.opened, kmddi.OpenAllocation{
		Allocation: a.driver, PrivateDriverData: slices.Clone(private), Create: true,
	})
	if !s.Failed() {
		if h, ok := k.handles.add(a); ok {
			a.handle = h
			k.observe(Event{Kind: EventAllocate, Allocation: h, Device: d.handle, Bytes: a.info.Size, Address: a.pages.Phys, Pages: a.mdl})
			if a.segment != nil {
				k.observePlace(a)
			}
			d.allocations = append(d.allocations, a)
			return a, ddi.StatusSuccess
		}
		k.driver.CloseAllocation(t, d.driver, a.opened)
		s = ddi.StatusNoMemory
	}
	k.machine.Free(a.pages)
	k.driver.DestroyAllocation(t, k.adapter, a.driver)
	return nil, s
}

// backAllocation checks the miniport's description of an allocation and
// allocates its host memory. An allocation that may be only in System segments
// becomes resident.
func (k *Kernel) backAllocation(t *ddi.Thread, a *allocation) ddi.Status {
	i := &a.info
	if k.broken(t, "allocation-info", "DxgkDdiCreateAllocation", checkAllocation(*i, len(k.segments))) {
		return ddi.StatusInvalidParameter
	}
	i.Alignment = max(i.Alignment, 4)
	a.span = (i.Size + 3) &^ 3
	k.largest = max(k.largest, a.span)
	if k.firstSegment(a, func(s *segment) bool { return s.spanOf(a) <= s.desc.Size }) == nil {
		return ddi.StatusNoVideoMemory
	}
	if !k.store(a) {
		return ddi.StatusNoMemory
	}
	if k.firstSegment(a, func(s *segment) bool { return !s.desc.Flags.System }) == nil {
		a.segment = k.systemSegment(a)
	}
	return ddi.StatusSuccess
}

// store allocates the backing store of a.
func (k *Kernel) store(a *allocation) (ok bool) {
	if k.hostSegment(a) == nil || k.systemSegment(a) != nil {
		if a.pages, ok = k.pages(a.span, uint64(a.info.Alignment)); !ok {
			return false
		}
	} else if a.pages, ok = k.pageList(a.span); !ok {
		return false
	}
	if k.firstSegment(a, func(s *segment) bool { return s.desc.Flags.Aperture }) == nil {
		return true
	}
	if a.mdl = a.pages.List; a.mdl == nil {
		for at := uint64(0); at < a.span; at += hal.PageSize {
			a.mdl = append(a.mdl, a.pages.Phys+at)
		}
	}
	return true
}

// pageList allocates host memory page by page, which the device can access.
func (k *Kernel) pageList(size uint64) (hal.Pages, bool) {
	if size > k.machine.MemBytes() {
		return hal.Pages{}, false
	}
	top := k.caps.HighestAcceptableAddress
	p, err := k.machine.AllocList(int(size), top+min(1, math.MaxUint64-top))
	p.Bytes = slices.Clip(p.Bytes) // the driver must not access memory beyond it
	return p, err == nil
}

// unused reports whether all work that uses a has completed.
func (a *allocation) unused() bool { return a.queued == 0 && a.uses.passed() }

// forgotten reports whether no work names a any more. Each Patch of a buffer gets its whole
// list.
func (a *allocation) forgotten() bool { return a.listed == 0 && a.unused() }

// placed reports whether an allocation has a place that it must leave before it is destroyed.
func (a *allocation) placed() bool { return a.inAperture() || a.inMemorySegment() }

// displaceDestroyed takes the places from destroyed allocations that no work names any more:
// it unmaps them, or discards their content. They are destroyed when that has completed. The
// caller places allocations.
func (k *Kernel) displaceDestroyed(t *ddi.Thread) {
	leaves := func(a *allocation) bool { return a.placed() && a.forgotten() }
	for k.err == nil {
		i := slices.IndexFunc(k.destroyed, leaves)
		if i < 0 {
			break
		}
		k.evict(t, k.destroyed[i])
	}
	k.flush()
	k.kick(t)
}

// retireAllocation makes the handle of an allocation stale. The allocation is
// destroyed when the GPU no longer uses it.
func (k *Kernel) retireAllocation(a *allocation) {
	k.handles.remove(a.handle)
	a.device.allocations = slices.DeleteFunc(a.device.allocations, func(e *allocation) bool { return e == a })
	a.destroyed, a.locks, a.offer = true, 0, umddi.OfferPriorityNone
	k.observe(Event{Kind: EventDestroy, Allocation: a.handle})
	k.pin(a, false)
	k.destroyed = append(k.destroyed, a)
}

// awaitDestroyed waits until the destroyed allocations of a device have no places, and until
// the GPU no longer uses them.
func (k *Kernel) awaitDestroyed(t *ddi.Thread, d *device) {
	idle := func() bool {
		return !slices.ContainsFunc(k.destroyed, func(a *allocation) bool { return a.device == d && !a.forgotten() })
	}
	placed := func(a *allocation) bool { return a.device == d && a.placed() }
	for {
		s := k.wait(t, "the GPU to be done with destroyed allocations", idle)
		if s.Failed() || !slices.ContainsFunc(k.destroyed, placed) {
			return
		}
		if s = k.beginMove(t); s.Failed() {
			return
		}
		k.displaceDestroyed(t)
		k.endMove()
	}
}

// reap destroys the idle allocations among the destroyed ones, at
// PASSIVE_LEVEL. It takes the places of those that have one, and a later call destroys them. If
// the GPU has stopped, it destroys all of them but keeps their memory.
//
//	DDI     DxgkDdiCloseAllocation, DxgkDdiDestroyAllocation
func (k *Kernel) reap(t *ddi.Thread) {
	if !k.moving && slices.ContainsFunc(k.destroyed, (*allocation).placed) {
		k.moving = true
		k.displaceDestroyed(t)
		k.endMove()
	}
	kept := k.destroyed[:0]
	for _, a := range k.destroyed {
		if k.err == nil && (!a.forgotten() || a.placed()) {
			kept = append(kept, a)
			continue
		}
		if a.segment != nil && !a.segment.desc.Flags.System {
			a.segment.remove(a)
		}
		k.observe(Event{Kind: EventFree, Allocation: a.handle})
		k.freePages(a.pages)
		if a.openedByKernel.Root != nil {
			k.driver.CloseAllocation(t, k.devices[0].driver, a.openedByKernel)
		}
		k.driver.CloseAllocation(t, a.device.driver, a.opened)
		k.driver.DestroyAllocation(t, k.adapter, a.driver)
	}
	clear(k.destroyed[len(kept):])
	k.destroyed = kept
}

package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// allocation is video memory: host memory behind it for as long as it lives,
// and at times a place in a memory segment, which then has the content.
type allocation struct {
	handle ddi.KMHandle
	device *device
	driver kmddi.HAllocation
	opened kmddi.HDeviceAllocation
	info   kmddi.AllocationInfo
	span   uint64    // size rounded up to whole dwords
	pages  hal.Pages // span bytes

	segment    *segment // nil: paged out
	offset     uint64   // in a memory segment
	content    bool     // pages have content to page in, else it is all zero
	dirty      bool     // the segment's content is newer than that of pages
	uses       []uint64 // by node: last submission that uses it
	writes     []uint64 // by node: last submission that writes it, or moved it
	paged      uint64   // last submission to the paging node that moved it
	touched    uint64   // for LRU
	epoch      uint64   // of the working set it belongs to
	locks      int
	lockWrites bool // one of the locks is not read-only
	pinned     bool // one of the locks is IgnoreSync: the GPU may be at work in its place
	destroyed  bool
}

// address returns the GPU address; a must be resident.
func (a *allocation) address() uint64 {
	if a.segment.desc.Flags.System {
		return a.segment.desc.BaseAddress + a.pages.Phys
	}
	return a.segment.desc.BaseAddress + a.offset
}

// inMemorySegment says whether a has a place in a memory segment.
func (a *allocation) inMemorySegment() bool {
	return a.segment != nil && !a.segment.desc.Flags.System
}

// supports says whether a may be in s.
func (a *allocation) supports(s *segment) bool {
	return a.info.SupportedSegmentSet&(1<<(s.id-1)) != 0
}

// systemSegment returns the first System segment that a may be in, or nil.
func (k *Kernel) systemSegment(a *allocation) *segment {
	for _, s := range k.segments {
		if s.desc.Flags.System && a.supports(s) {
			return s
		}
	}
	return nil
}

// newAllocation creates an allocation and opens it for its device.
//
//	DDI     DxgkDdiCreateAllocation, DxgkDdiOpenAllocation
//	Returns StatusInvalidParameter if the miniport's answer makes no sense,
//	        StatusNoVideoMemory if it is bigger than every segment it may be
//	        in, StatusNoMemory without host memory, the miniport's status
func (k *Kernel) newAllocation(t *ddi.Thread, d *device, private []byte) (*allocation, ddi.Status) {
	private = slices.Clone(private)
	a := &allocation{
		device: d, driver: kmddi.HAllocation{Root: new(ddi.Root)}, opened: kmddi.HDeviceAllocation{Root: new(ddi.Root)},
		uses: make([]uint64, len(k.nodes)), writes: make([]uint64, len(k.nodes)),
	}
	info, s := k.driver.CreateAllocation(t, k.adapter, a.driver, kmddi.CreateAllocation{PrivateDriverData: private})
	if s.Failed() {
		return nil, s
	}
	a.info = info
	if s = k.backAllocation(a); s.Failed() {
		k.driver.DestroyAllocation(t, k.adapter, a.driver)
		return nil, s
	}
	s = k.driver.OpenAllocation(t, d.driver, a.opened, kmddi.OpenAllocation{
		Allocation: a.driver, PrivateDriverData: private, Create: true,
	})
	if !s.Failed() {
		if h, ok := k.handles.add(a); ok {
			a.handle = h
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

// backAllocation checks what the miniport says about an allocation and gives it
// host memory. One that may be in System segments only is resident at once.
func (k *Kernel) backAllocation(a *allocation) ddi.Status {
	i := &a.info
	i.Alignment = max(i.Alignment, 4)
	known := uint32(1)<<(len(k.segments)-1)<<1 - 1
	if i.Size == 0 || i.Size > 1<<62 || i.Alignment&(i.Alignment-1) != 0 || i.SupportedSegmentSet == 0 ||
		i.SupportedSegmentSet&^known != 0 || i.PreferredSegment > uint32(len(k.segments)) {
		return ddi.StatusInvalidParameter
	}
	a.span = (i.Size + 3) &^ 3
	fits, memory := false, false
	for _, s := range k.segments {
		if a.supports(s) {
			fits = fits || a.span <= s.desc.Size
			memory = memory || !s.desc.Flags.System
		}
	}
	if !fits {
		return ddi.StatusNoVideoMemory
	}
	p, ok := k.pages(a.span, uint64(i.Alignment))
	if !ok {
		return ddi.StatusNoMemory
	}
	a.pages = p
	if !memory {
		a.segment = k.systemSegment(a)
	}
	return ddi.StatusSuccess
}

// retireAllocation makes the handle of an allocation stale. The allocation
// itself dies when the GPU is done with it.
func (k *Kernel) retireAllocation(a *allocation) {
	k.handles.remove(a.handle)
	a.device.allocations = slices.DeleteFunc(a.device.allocations, func(e *allocation) bool { return e == a })
	a.destroyed, a.locks, a.pinned = true, 0, false
	k.dying = append(k.dying, a)
}

// deathsPassed says whether the GPU is done with what is dying of a device.
func (k *Kernel) deathsPassed(d *device) bool {
	for _, a := range k.dying {
		if a.device == d && !k.passed(a.uses) {
			return false
		}
	}
	return true
}

// reap destroys what is dying and idle, at PASSIVE_LEVEL. If the GPU has
// stopped, all is idle but the memory is kept.
//
//	DDI     DxgkDdiCloseAllocation, DxgkDdiDestroyAllocation
func (k *Kernel) reap(t *ddi.Thread) {
	kept := k.dying[:0]
	for _, a := range k.dying {
		if k.err == nil && !k.passed(a.uses) {
			kept = append(kept, a)
			continue
		}
		if a.inMemorySegment() {
			a.segment.remove(a)
		}
		k.freePages(a.pages)
		k.driver.CloseAllocation(t, a.device.driver, a.opened)
		k.driver.DestroyAllocation(t, k.adapter, a.driver)
	}
	clear(k.dying[len(kept):])
	k.dying = kept
}

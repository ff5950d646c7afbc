package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// lockAllocation is the Lock thunk after its check of the handle. If the
// content is in host memory, Data is that memory. If the allocation is in a
// memory segment visible to the CPU, it is copied out unless WriteOnly is set,
// and Unlock copies it back unless ReadOnly is set. If the segment is not
// visible, the allocation is evicted first. Locks of one allocation nest:
// nested locks do not copy the content again, and the last Unlock copies it
// back. A locked allocation may be evicted from a memory segment unless one of
// its locks is IgnoreSync.
//
//	Returns StatusInvalidParameter: ReadOnly and WriteOnly, or it is offered
//	        StatusCantLockMemory: not created CPUVisible
//	        StatusAllocationBusy: DoNotWait, and work uses it
//	        StatusDeviceRemoved; StatusIODeviceError: also if the link fails
//	        during the copy
func (k *Kernel) lockAllocation(t *ddi.Thread, a *allocation, arg *umddi.Lock) ddi.Status {
	if arg.ReadOnly && arg.WriteOnly || a.offered() {
		return ddi.StatusInvalidParameter
	}
	if !a.info.CPUVisible {
		return ddi.StatusCantLockMemory
	}
	if s := k.waitUnused(t, a, arg); s.Failed() {
		return s
	}
	// The thunk's device is busy, so only work that was preempted can page it in again.
	for a.inMemorySegment() && !a.segment.desc.Flags.CPUVisible {
		if s := k.evictLocked(t, a); s.Failed() {
			return s
		}
		if s := k.waitUnused(t, a, arg); s.Failed() {
			return s
		}
	}
	if s := a.device.removed; s.Failed() {
		return s
	}
	if a.locks == 0 && a.inMemorySegment() && !arg.WriteOnly {
		if s := k.copyOut(t, a); s.Failed() {
			return s
		}
	}
	a.locks++
	k.pin(a, a.pinned || arg.IgnoreSync)
	if !arg.ReadOnly {
		a.lockWrites = true
		a.content = a.content || !a.inMemorySegment()
	}
	arg.Data = a.pages.Bytes[:a.info.Size:a.info.Size]
	k.observe(Event{Kind: EventLock, Allocation: a.handle, Write: !arg.ReadOnly, IgnoreSync: arg.IgnoreSync})
	return ddi.StatusSuccess
}

// pin makes an allocation keep its place, or ends that.
func (k *Kernel) pin(a *allocation, pinned bool) {
	switch {
	case pinned && !a.pinned:
		k.pins++
	case !pinned && a.pinned:
		k.pins--
	}
	a.pinned = pinned
}

// pinnable reports whether all work that is not complete finds places, one part after
// the other, if a keeps its own.
func (k *Kernel) pinnable(a *allocation) bool {
	if !a.inMemorySegment() && !a.inAperture() || a.pinned {
		return true
	}
	k.pin(a, true)
	defer k.pin(a, false)
	for _, d := range k.devices {
		for _, c := range d.contexts {
			for _, j := range c.jobs {
				if !k.feasible(j.dma, j.left.start) {
					return false
				}
			}
			if slices.ContainsFunc(c.pending, k.homeless) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(k.nodes, func(n node) bool { return slices.ContainsFunc(n.hardware, k.homeless) })
}

// homeless reports whether a submission would find no room beside pinned allocations after
// a preemption.
func (k *Kernel) homeless(s *submission) bool {
	return k.takesBack() && s.dma != nil && !k.groupFits(s.dma, s.part.start, s.part.end, isPinned)
}

// evictLocked evicts an allocation from a segment that the CPU cannot access.
func (k *Kernel) evictLocked(t *ddi.Thread, a *allocation) ddi.Status {
	for {
		if s := k.beginMove(t); s.Failed() {
			return s
		}
		if a.held == 0 {
			break
		}
		k.endMove()
		if s := k.wait(t, "the work that holds the allocation's place", func() bool { return a.held == 0 }); s.Failed() {
			return s
		}
	}
	defer k.endMove()
	if !a.inMemorySegment() {
		return ddi.StatusSuccess // another thread has evicted it meanwhile
	}
	s := k.evict(t, a)
	k.flush()
	k.kick(t)
	return s
}

// waitUnused waits until the GPU no longer uses a. With IgnoreSync it waits
// only for paging operations, which are unknown to the application, until work in the
// software queue has a place for a, and until all other work there finds places although a
// keeps its own.
func (k *Kernel) waitUnused(t *ddi.Thread, a *allocation, arg *umddi.Lock) ddi.Status {
	done := a.unused
	if arg.IgnoreSync {
		done = func() bool { return a.queued == 0 && a.paged <= k.paging.line.completed && k.pinnable(a) }
	}
	if !arg.DoNotWait {
		return k.wait(t, "the GPU to be done with the allocation", done)
	}
	if !done() {
		k.pollNodes(t)
	}
	if s := k.status(t); s.Failed() {
		return s
	}
	if !done() {
		return ddi.StatusAllocationBusy
	}
	return ddi.StatusSuccess
}

// pollNodes lets time pass for an application that polls instead of waiting: it
// polls each node that has work and detects a hang.
func (k *Kernel) pollNodes(t *ddi.Thread) {
	for i := range k.nodes {
		if n := &k.nodes[i]; k.err == nil && n.busy() {
			k.poll(t, n)
		}
	}
	k.sample(t)
	if k.err == nil && k.working() && k.late(t, k.dev.Now()) && k.err == nil {
		k.expire(t)
	}
}

// copyOut copies a from its memory segment to its host memory, through the BAR.
func (k *Kernel) copyOut(t *ddi.Thread, a *allocation) ddi.Status {
	d := &a.segment.desc
	if err := k.dev.Read(t, d.BAR, d.BAROffset+a.offset, a.pages.Bytes); err != nil {
		k.stopLink(t, err)
	}
	return k.status(t)
}

// copyBack copies a from its host memory to its memory segment.
func (k *Kernel) copyBack(t *ddi.Thread, a *allocation) ddi.Status {
	d := &a.segment.desc
	a.dirty = true
	if err := k.dev.Write(t, d.BAR, d.BAROffset+a.offset, a.pages.Bytes); err != nil {
		k.stopLink(t, err)
	}
	return k.status(t)
}

// unlockAllocation ends one lock. If the GPU has stopped or the device is
// removed, data written to a memory segment is lost: the status says so, but
// the lock has ended.
func (k *Kernel) unlockAllocation(t *ddi.Thread, a *allocation) ddi.Status {
	k.observe(Event{Kind: EventUnlock, Allocation: a.handle})
	if a.locks--; a.locks > 0 {
		return ddi.StatusSuccess
	}
	writes := a.lockWrites
	a.lockWrites = false
	k.pin(a, false)
	switch {
	case writes && a.device.removed.Failed():
		return a.device.removed
	case !writes || !a.inMemorySegment():
		return ddi.StatusSuccess
	case k.err != nil:
		return k.err.status()
	}
	return k.copyBack(t, a)
}

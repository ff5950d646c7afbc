package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// lockAllocation is the thunk Lock behind its check of the handle. Where the
// allocation is in its host memory, Data is that memory itself. If it is in a
// memory segment that the CPU sees, it is copied out unless WriteOnly, and
// Unlock copies it back unless ReadOnly; if the CPU does not see the segment, it
// is evicted first. Locks of one allocation nest: the content that an outer
// lock mapped is not copied again, and the last Unlock copies back. What is
// locked can lose its place in a memory segment to others, unless a lock is
// IgnoreSync.
//
//	Returns StatusInvalidParameter: ReadOnly and WriteOnly
//	        StatusCantLockMemory: not created CPUVisible
//	        StatusAllocationBusy: DoNotWait, and work uses it
//	        StatusDeviceRemoved; StatusIODeviceError: also if the link fails
//	        while it is copied
func (k *Kernel) lockAllocation(t *ddi.Thread, a *allocation, arg *umddi.Lock) ddi.Status {
	if arg.ReadOnly && arg.WriteOnly {
		return ddi.StatusInvalidParameter
	}
	if !a.info.CPUVisible {
		return ddi.StatusCantLockMemory
	}
	if a.inMemorySegment() && !a.segment.desc.Flags.CPUVisible {
		s := k.evict(t, a)
		k.flush()
		k.kick(t)
		if s.Failed() {
			return s
		}
	}
	if s := k.waitUnused(t, a, arg); s.Failed() {
		return s
	}
	if a.locks == 0 && a.inMemorySegment() && !arg.WriteOnly {
		if s := k.copyOut(t, a); s.Failed() {
			return s
		}
	}
	a.locks++
	a.pinned = a.pinned || arg.IgnoreSync
	if !arg.ReadOnly {
		a.lockWrites = true
		a.content = a.content || !a.inMemorySegment()
	}
	arg.Data = a.pages.Bytes[:a.info.Size:a.info.Size]
	return ddi.StatusSuccess
}

// waitUnused waits until the GPU is done with a, or, with IgnoreSync, until it
// is at least where the kernel moved it, which no application can know of.
func (k *Kernel) waitUnused(t *ddi.Thread, a *allocation, arg *umddi.Lock) ddi.Status {
	paging := k.pagingNode()
	done := func() bool { return k.passed(a.uses) }
	if arg.IgnoreSync {
		done = func() bool { return a.paged <= paging.completed }
	}
	if !arg.DoNotWait {
		return k.wait(t, done)
	}
	if !done() {
		k.lookAfter(t)
	}
	if s := k.status(t); s.Failed() {
		return s
	}
	if !done() {
		return ddi.StatusAllocationBusy
	}
	return ddi.StatusSuccess
}

// lookAfter lets time pass for an application that asks again and again instead
// of waiting: it asks each node that has work where it is, and ends a hang.
func (k *Kernel) lookAfter(t *ddi.Thread) {
	for i := range k.nodes {
		if n := &k.nodes[i]; k.err == nil && len(n.hardware) > 0 {
			k.poll(t, n)
		}
	}
	if k.err == nil && k.working() && k.dev.Now() >= k.deadline(k.dev.Now()) {
		k.expire(t)
	}
}

// copyOut copies a from its memory segment to its host memory, by the BAR.
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

// unlockAllocation ends one lock. A stopped GPU, and a removed device, loses
// what was written to a memory segment: the status says so, but the lock has
// ended.
func (k *Kernel) unlockAllocation(t *ddi.Thread, a *allocation) ddi.Status {
	if a.locks--; a.locks > 0 {
		return ddi.StatusSuccess
	}
	writes := a.lockWrites
	a.lockWrites, a.pinned = false, false
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

package dxgkrnl

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// victim returns the allocation of a segment to evict for a, or nil; a is nil if no process gets
// the memory. None is pinned, held for work or in the working set. Those whose content is
// worthless come first: the destroyed ones, then the offered ones by the priority of the offer.
// Then come those of processes above their budget, those of the process of a, and others. In
// each of these turns the lowest priority comes first, and of that the least recently used one.
//
//	Source  learn.microsoft.com, ns-dxgiddi-dxgi_ddi_arg_setresourcepriority
func (k *Kernel) victim(s *segment, a *allocation) *allocation {
	k.account(s, a)
	var v *allocation
	for _, r := range s.residents {
		if !isKept(r) && r.epoch != k.epoch && (v == nil || k.leavesBefore(r, v)) {
			v = r
		}
	}
	if v != nil && k.modest && k.turnOf(v) == turnOther {
		return nil
	}
	return v
}

// The turns in which allocations leave a segment.
const (
	turnWorthless = iota
	turnAbove     // of a process above its budget
	turnOwn       // of the process that needs the memory
	turnOther
)

// turnOf returns the turn of an allocation in the segment that account has noted.
func (k *Kernel) turnOf(a *allocation) int {
	switch {
	case k.worthless(a):
		return turnWorthless
	case k.exceeds(a):
		return turnAbove
	case k.needy == a.device.process:
		return turnOwn
	}
	return turnOther
}

// leavesBefore reports whether a is evicted before b.
func (k *Kernel) leavesBefore(a, b *allocation) bool {
	if x, y := k.turnOf(a), k.turnOf(b); x != y {
		return x < y
	} else if x == turnWorthless {
		return cmp.Or(cmp.Compare(a.offer, b.offer), cmp.Compare(a.touched, b.touched)) < 0
	}
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.touched, b.touched)) < 0
}

// setAllocationPriorityThunk sets the eviction priorities of allocations, also of those that
// work uses.
func (k *Kernel) setAllocationPriorityThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.SetPriority) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if _, s := k.deviceThunk(t, &v, dev); s.Failed() {
		return s
	}
	as, ok := k.named(dev, arg.Allocations)
	switch {
	case !ok:
		return ddi.StatusInvalidHandle
	case len(arg.Priorities) != len(as) || slices.Contains(arg.Priorities, 0):
		return ddi.StatusInvalidParameter
	}
	for i, a := range as {
		a.priority = arg.Priorities[i]
	}
	return ddi.StatusSuccess
}

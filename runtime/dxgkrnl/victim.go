package dxgkrnl

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// victim returns the allocation of a segment to evict, or nil. None is pinned, held for work
// or in the working set. Those whose content is worthless come first: what is destroyed,
// then what is offered, by the priority of the offer. The others follow by their priority, the lowest first, and the least recently used one of a priority first.
//
//	Source  learn.microsoft.com, ns-dxgiddi-dxgi_ddi_arg_setresourcepriority
func (k *Kernel) victim(s *segment) *allocation {
	var v *allocation
	for _, a := range s.residents {
		if !isKept(a) && a.epoch != k.epoch && (v == nil || k.leavesBefore(a, v)) {
			v = a
		}
	}
	return v
}

// leavesBefore reports whether a is evicted before b.
func (k *Kernel) leavesBefore(a, b *allocation) bool {
	switch x, y := k.worthless(a), k.worthless(b); {
	case x != y:
		return x
	case x:
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

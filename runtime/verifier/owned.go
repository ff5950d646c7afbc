package verifier

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nameResource notes the runtime's handle of a resource of a device.
func (o *object) nameResource(rt umddi.HRTResource) {
	if rt.Runtime == nil || !isKey(rt.Runtime) {
		return
	}
	if o.device.resources == nil {
		o.device.resources = map[any]*object{}
	}
	o.rt = rt.Runtime
	o.device.resources[o.rt] = o
}

// checkOwner checks the resource to which a driver attaches new allocations, and
// returns it. It returns nil if there is none.
func (k *Checker) checkOwner(fr *frame, rt umddi.HRTResource) *object {
	in := fr.outer
	if in.ctx == nil || rt.Runtime == nil {
		return nil
	}
	var owner *object
	if isKey(rt.Runtime) {
		owner = in.ctx.device.resources[rt.Runtime]
	}
	switch creates := in.f.Name == "pfnCreateResource" && in.created != nil; {
	case creates && owner != in.created:
		k.fail(fr, "resource-allocations", "hResource is not the hRTResource of %v, which %s creates", in.created, in.f.Name)
	case owner == nil:
		k.fail(fr, "resource-allocations", "in %s, hResource is not the hRTResource of a resource of %v", in.f.Name, in.ctx.device)
	default:
		return owner
	}
	return nil
}

// orphan notes that the resource o is destroyed: its allocations must be freed
// before the next Flush returns.
func (c *context) orphan(o *object) {
	if o.rt != nil && c.resources[o.rt] == o {
		delete(c.resources, o.rt)
	}
	if c.kernel == nil || o.allocations == 0 {
		return
	}
	for _, a := range c.kernel.allocations {
		if a.owner == o {
			c.kernel.orphans = append(c.kernel.orphans, orphan{a, c.calls})
		}
	}
}

// An orphan is an allocation of a destroyed resource.
type orphan struct {
	*allocation
	calls uint64 // the device's call count when its resource was destroyed
}

// checkOrphans checks that a Flush leaves no allocation of a resource that was
// destroyed before it.
func (k *Checker) checkOrphans(fr *frame) {
	s := fr.ctx.kernel
	if s == nil || s.lost || s.failed || len(fr.errors) > 0 {
		return
	}
	s.orphans = slices.DeleteFunc(s.orphans, func(o orphan) bool {
		left := s.allocations[o.handle] == o.allocation
		if left && o.calls < fr.number {
			culprit := &Culprit{Function: "pfnDeallocateCb", Why: "is missing since pfnDestroyResource"}
			if !o.used && s.freed > 0 {
				culprit = &Culprit{Function: "pfnAllocateCb", Call: o.call, Why: "made an allocation that no later callback named"}
			}
			k.failBy(fr, culprit, "resource-allocations", "leaves allocation %#x of %v, which was destroyed by pfnDestroyResource: the pfnAllocateCb in %s lacks a pfnDeallocateCb", o.handle, o.owner, o.madeIn)
		}
		return !left || o.calls < fr.number
	})
}

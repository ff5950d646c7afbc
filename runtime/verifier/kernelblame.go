package verifier

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// unmappedBy returns the culprit for an allocation with too many locks: a second lock
// in the same function, or the last unmap function, if it ended none.
func unmappedBy(fr *frame, a *allocation) *Culprit {
	n := 0
	for _, l := range fr.locked {
		if l == a {
			n++
		}
	}
	switch u := fr.ctx.unmapped; {
	case n > 1:
		return &Culprit{Function: "pfnLockCb", Call: a.lockCall, Why: fmt.Sprintf("locked allocation %#x again in %s", a.handle, fr.f.Name)}
	case u.f != nil && u.f.Name == unmapOf(fr.f.Name):
		return &Culprit{Function: u.f.Name, Call: u.call, Why: "made no pfnUnlockCb"}
	}
	return nil
}

// leakedBy returns the culprit for what a device leaves, if it is of one kind: the
// missing callback, or the one that made what the driver never used.
func (s *kernelState) leakedBy(fr *frame) *Culprit {
	switch {
	case len(s.contexts) == 0:
		for _, h := range slices.Sorted(maps.Keys(s.allocations)) {
			if a := s.allocations[h]; !a.used && a.call > 0 && s.freed > 0 {
				return &Culprit{Function: "pfnAllocateCb", Call: a.call, Why: "made an allocation that no later callback named"}
			}
		}
		return Missing("pfnDeallocateCb", fr.f.Name)
	case len(s.allocations) == 0:
		for _, h := range slices.Sorted(maps.Keys(s.contexts)) {
			if r := s.contexts[h]; !r.used && s.destroyed > 0 {
				return &Culprit{Function: "pfnCreateContextCb", Call: r.call, Why: "made a context that got no submission"}
			}
		}
		return Missing("pfnDestroyContextCb", fr.f.Name)
	}
	return nil
}

// handleBy returns the culprit for a handle that the driver cannot have from the
// callback that makes such handles: it was not made.
func (s *kernelState) handleBy(fr *frame) *Culprit {
	if s == nil {
		return nil
	}
	context := func(h ddi.KMHandle) *Culprit {
		if h != 0 || len(s.contexts) > 0 {
			return nil
		}
		return &Culprit{Function: "pfnCreateContextCb", Why: "has made no context of the device"}
	}
	switch arg := fr.args[1].(type) {
	case *umddi.Render:
		return context(arg.Context)
	case *umddi.PresentCB:
		return context(arg.Context)
	case *umddi.Lock:
		if o := fr.outer.resource(); arg.Allocation == 0 && o != nil && o.allocations == 0 {
			return &Culprit{Function: "pfnAllocateCb", Why: fmt.Sprintf("has made no allocation of %v", o)}
		}
	case *umddi.Unlock:
		for _, h := range arg.Allocations {
			if a := s.allocations[h]; a != nil && a.locks <= 0 && a.lockedIn == "" {
				return &Culprit{Function: "pfnLockCb", Why: fmt.Sprintf("has not locked allocation %#x", h)}
			}
		}
	}
	return nil
}

// resource returns the resource that the function of fr gets first, or nil.
func (fr *frame) resource() *object {
	for _, o := range fr.inputs() {
		if o.source().kind == umddi.HandleResource {
			return o.source()
		}
	}
	return nil
}

package verifier

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// callbackArguments shows the arguments of a callback, and where a handle should
// have come from.
func callbackArguments(fr *frame, s *kernelState) string {
	switch arg := fr.args[1].(type) {
	case *umddi.Allocate:
		return fmt.Sprintf(" with %s", plural(len(arg.AllocationInfo), "allocation"))
	case *umddi.Deallocate:
		return fmt.Sprintf(" with Allocations %#x%s", arg.Allocations, s.unknown(arg.Allocations...))
	case *umddi.CreateContext:
		return fmt.Sprintf(" with NodeOrdinal %d", arg.NodeOrdinal)
	case ddi.KMHandle:
		return fmt.Sprintf(" with context %#x%s", arg, s.unknownContext(arg))
	case *umddi.Lock:
		return fmt.Sprintf(" with Allocation %#x%s", arg.Allocation, s.unknown(arg.Allocation))
	case *umddi.Unlock:
		return fmt.Sprintf(" with Allocations %#x%s", arg.Allocations, s.unlocked(arg.Allocations))
	case *umddi.PresentCB:
		return fmt.Sprintf(" with SrcAllocation %#x, DstAllocation %#x, Context %#x%s%s", arg.SrcAllocation, arg.DstAllocation, arg.Context,
			s.unknown(arg.SrcAllocation, arg.DstAllocation), s.unknownContext(arg.Context))
	case *umddi.SetPriority:
		return fmt.Sprintf(" with Allocations %#x, Priorities %#x%s", arg.Allocations, arg.Priorities, s.unknown(arg.Allocations...))
	case *umddi.OfferAllocations:
		return fmt.Sprintf(" with Allocations %#x, Priority %d%s", arg.Allocations, arg.Priority, s.unknown(arg.Allocations...))
	case *umddi.ReclaimAllocations:
		return fmt.Sprintf(" with Allocations %#x%s", arg.Allocations, s.unknown(arg.Allocations...))
	case *umddi.Render:
		return s.renderArguments(arg)
	}
	return ""
}

// renderArguments shows the arguments of pfnRenderCb and the sizes of the buffers.
func (s *kernelState) renderArguments(arg *umddi.Render) string {
	b, list := buffers{}, ""
	if s != nil && s.contexts[arg.Context] != nil {
		b = s.contexts[arg.Context].now
		for _, a := range b.allocs[:min(int(arg.NumAllocations), len(b.allocs))] {
			if list = s.unknown(a.Allocation); list != "" {
				break
			}
		}
	}
	return fmt.Sprintf(" with Context %#x%s, CommandOffset %d, CommandLength %d of %d, NumAllocations %d of %d, NumPatchLocations %d of %d%s",
		arg.Context, s.unknownContext(arg.Context), arg.CommandOffset, arg.CommandLength, len(b.command), arg.NumAllocations, len(b.allocs),
		arg.NumPatchLocations, len(b.patches), list)
}

// unknown names the handle that is no allocation of the device, or returns "". The
// first element of a list may be null.
func (s *kernelState) unknown(all ...ddi.KMHandle) string {
	for _, a := range all {
		if s != nil && s.allocations[a] == nil {
			return fmt.Sprintf("; %#x is no allocation that pfnAllocateCb returned and pfnDeallocateCb has not freed", a)
		}
	}
	return ""
}

// unlocked names the handle that is not locked, or returns "".
func (s *kernelState) unlocked(all []ddi.KMHandle) string {
	for _, h := range all {
		if s == nil {
			break
		}
		switch a := s.allocations[h]; {
		case a == nil:
			return s.unknown(h)
		case a.locks > 0:
		case a.lockedIn == "":
			return fmt.Sprintf("; %#x was never locked by pfnLockCb", h)
		default:
			return fmt.Sprintf("; %#x is not locked: its last pfnLockCb, in %s, has its pfnUnlockCb", h, a.lockedIn)
		}
	}
	return ""
}

// unknownContext reports that a handle is not a context of the device, or returns
// "".
func (s *kernelState) unknownContext(h ddi.KMHandle) string {
	if s == nil || s.contexts[h] != nil {
		return ""
	}
	return ", which no pfnCreateContextCb of the device returned"
}

// unmapOf returns the function that ends the maps of a map function. For another
// function, which unlocks by itself, it returns that one.
func unmapOf(function string) string {
	at := strings.Index(function, "Map")
	if at < 0 {
		return function
	}
	return function[:at] + "Unmap"
}

// are returns n with its noun and verb.
func are(n int, word string) string {
	if n == 1 {
		return "1 " + word + " is"
	}
	return fmt.Sprintf("%d %ss are", n, word)
}

package verifier

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A kernelState is what the user-mode driver holds of the graphics kernel for one
// device.
type kernelState struct {
	locks    map[ddi.KMHandle]int // by allocation: locks that have not ended
	contexts map[ddi.KMHandle]*recordings
	lost     bool // a callback returned that the device is removed
}

// recordings are the buffers of a kernel context that the driver records to, and
// those of its last submission.
type recordings struct {
	now, old buffers
}

// buffers are a command buffer and its lists.
type buffers struct {
	command []byte
	allocs  []umddi.AllocationList
	patches []umddi.PatchLocation
}

// The verifier overwrites the first bytes and elements of submitted buffers. A
// driver that still uses a buffer that the kernel owns then finds these values.
const (
	poison         = 0xa5a5a5a5
	poisonBytes    = 512
	poisonElements = 16
)

func poisonedAllocation() umddi.AllocationList {
	return umddi.AllocationList{Allocation: poison, WriteOperation: true}
}

func poisonedPatch() umddi.PatchLocation {
	return umddi.PatchLocation{AllocationIndex: poison, SlotID: poison, DriverID: poison, AllocationOffset: poison, PatchOffset: poison, SplitOffset: poison}
}

// poison overwrites the buffers.
func (b buffers) poison() {
	for i := range b.command[:min(len(b.command), poisonBytes)] {
		b.command[i] = poison & 0xff
	}
	for i := range b.allocs[:min(len(b.allocs), poisonElements)] {
		b.allocs[i] = poisonedAllocation()
	}
	for i := range b.patches[:min(len(b.patches), poisonElements)] {
		b.patches[i] = poisonedPatch()
	}
}

// written describes a place where poisoned buffers were written since, or returns
// "".
func (b buffers) written() string {
	command := b.command[:min(len(b.command), poisonBytes)]
	if i := slices.IndexFunc(command, func(v byte) bool { return v != poison&0xff }); i >= 0 {
		return fmt.Sprintf("byte %d of the command buffer", i)
	}
	allocs := b.allocs[:min(len(b.allocs), poisonElements)]
	if i := slices.IndexFunc(allocs, func(a umddi.AllocationList) bool { return a != poisonedAllocation() }); i >= 0 {
		return fmt.Sprintf("element %d of the allocation list", i)
	}
	patches := b.patches[:min(len(b.patches), poisonElements)]
	if i := slices.IndexFunc(patches, func(p umddi.PatchLocation) bool { return p != poisonedPatch() }); i >= 0 {
		return fmt.Sprintf("element %d of the patch location list", i)
	}
	return ""
}

// same reports whether two sets of buffers share the memory of a command buffer.
func (b buffers) same(c buffers) bool { return start(b.command) == start(c.command) }

// kernelOf returns what the device of a callback holds, or nil if the callback is
// made in a function that has no device.
func (fr *frame) kernelOf() *kernelState {
	if fr.outer.ctx == nil {
		return nil
	}
	d := fr.outer.ctx.device
	if d.kernel == nil {
		d.kernel = &kernelState{locks: map[ddi.KMHandle]int{}, contexts: map[ddi.KMHandle]*recordings{}}
	}
	return d.kernel
}

// enterKernel checks the entry of a callback that calls the graphics kernel.
func (k *Checker) enterKernel(fr *frame) {
	if fr.outer == nil {
		return // the Monitor reports it
	}
	k.m.forgetRefusal(fr.t)
	if noArgument(fr) {
		k.fail(fr, "callback-refused", "arg is nil")
		return
	}
	s := fr.kernelOf()
	if s == nil {
		return
	}
	switch fr.f.Name {
	case "pfnDeallocateCb":
		for _, a := range fr.args[1].(*umddi.Deallocate).Allocations {
			if n := s.locks[a]; n > 0 && !s.lost {
				k.fail(fr, "lock-held", "allocation %#x is locked %s", a, times(n))
			}
		}
	case "pfnRenderCb":
		r := s.contexts[fr.args[1].(*umddi.Render).Context]
		if r == nil || r.now.same(r.old) {
			return
		}
		if at := r.old.written(); at != "" {
			k.fail(fr, "buffer-stale", "%s was written after the buffers were submitted, want those that pfnRenderCb returned", at)
			r.old = buffers{}
		}
	}
}

// noArgument reports whether the structure of a callback is missing.
func noArgument(fr *frame) bool {
	v := reflect.ValueOf(fr.args[1])
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// leaveKernel checks the result of a callback that calls the graphics kernel, and
// notes what the driver got or gave back.
func (k *Checker) leaveKernel(fr *frame, rets []any) {
	defer k.m.forgetRefusal(fr.t)
	hr, ok := rets[len(rets)-1].(ddi.HRESULT)
	if !ok || fr.outer == nil || noArgument(fr) {
		return
	}
	s := fr.kernelOf()
	switch {
	case !hr.Failed():
	case hr == ddi.DDIDeviceRemoved:
		if s != nil {
			s.lost = true
		}
		return
	case hr == ddi.EOutOfMemory || hr == ddi.DDIStillDrawing:
		return
	default:
		k.fail(fr, "callback-refused", "returns %v%s, called in %s%s", hr, k.m.refusalOf(fr.t), fr.outer.f.Name, callbackArguments(fr, s))
		return
	}
	if s != nil {
		s.note(fr)
	}
}

// note notes the effect of a callback that succeeded.
func (s *kernelState) note(fr *frame) {
	switch arg := fr.args[1].(type) {
	case *umddi.Allocate:
		for _, a := range arg.AllocationInfo {
			s.locks[a.Allocation] = 0
		}
	case *umddi.Deallocate:
		for _, a := range arg.Allocations {
			delete(s.locks, a)
		}
	case *umddi.CreateContext:
		s.contexts[arg.Context] = &recordings{now: buffers{arg.CommandBuffer, arg.AllocationList, arg.PatchLocationList}}
	case ddi.KMHandle: // pfnDestroyContextCb
		delete(s.contexts, arg)
	case *umddi.Lock:
		s.locks[arg.Allocation]++
	case *umddi.Unlock:
		for _, a := range arg.Allocations {
			s.locks[a]--
		}
	case *umddi.Render:
		if r := s.contexts[arg.Context]; r != nil {
			r.old, r.now = r.now, buffers{arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList}
			if !r.old.same(r.now) {
				r.old.poison()
			}
		}
	}
}

// callbackArguments shows the arguments of a callback.
func callbackArguments(fr *frame, s *kernelState) string {
	switch arg := fr.args[1].(type) {
	case *umddi.Allocate:
		return fmt.Sprintf(" with %s", plural(len(arg.AllocationInfo), "allocation"))
	case *umddi.Deallocate:
		return fmt.Sprintf(" with Allocations %#x", arg.Allocations)
	case *umddi.CreateContext:
		return fmt.Sprintf(" with NodeOrdinal %d", arg.NodeOrdinal)
	case ddi.KMHandle:
		return fmt.Sprintf(" with context %#x", arg)
	case *umddi.Lock:
		return fmt.Sprintf(" with Allocation %#x", arg.Allocation)
	case *umddi.Unlock:
		return fmt.Sprintf(" with Allocations %#x", arg.Allocations)
	case *umddi.PresentCB:
		return fmt.Sprintf(" with SrcAllocation %#x, DstAllocation %#x, Context %#x", arg.SrcAllocation, arg.DstAllocation, arg.Context)
	case *umddi.Render:
		text := fmt.Sprintf(" with Context %#x", arg.Context)
		b := buffers{}
		if s != nil && s.contexts[arg.Context] != nil {
			b = s.contexts[arg.Context].now
		} else {
			text += ", which does not exist"
		}
		return text + fmt.Sprintf(", CommandOffset %d, CommandLength %d of %d, NumAllocations %d of %d, NumPatchLocations %d of %d",
			arg.CommandOffset, arg.CommandLength, len(b.command), arg.NumAllocations, len(b.allocs), arg.NumPatchLocations, len(b.patches))
	}
	return ""
}

// checkKernelLeaks checks that a device that is gone holds nothing of the kernel.
// The kernel would free it when the process ends.
func (k *Checker) checkKernelLeaks(fr *frame) {
	s := fr.ctx.kernel
	if s == nil || s.lost || fr.ctx.deferred {
		return
	}
	var left []string
	if n := len(s.locks); n > 0 {
		left = append(left, plural(n, "allocation"))
	}
	if n := len(s.contexts); n > 0 {
		left = append(left, plural(n, "context"))
	}
	if left != nil {
		k.fail(fr, "kernel-leak", "returns and leaves %s of the kernel", strings.Join(left, " and "))
	}
}

package verifier

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A kernelState is what the user-mode driver holds of the graphics kernel for one
// device.
type kernelState struct {
	allocations map[ddi.KMHandle]*allocation
	contexts    map[ddi.KMHandle]*recordings
	destroyed   int  // contexts that pfnDestroyContextCb has destroyed
	freed       int  // allocations that pfnDeallocateCb has freed
	lost        bool // a callback returned that the device is removed
	orphans     []orphan
	failed      bool // a callback returned an error, except that work is still in progress
}

// An allocation is one that pfnAllocateCb returned and pfnDeallocateCb has not freed.
type allocation struct {
	handle   ddi.KMHandle
	owner    *object // resource, or nil
	madeIn   string  // function of the driver that called pfnAllocateCb; "": none did
	locks    int     // pfnLockCb without pfnUnlockCb
	lockedIn string  // function of the driver that called the last pfnLockCb
	maps     int     // of the locks, those of map functions
	call     uint64  // of pfnAllocateCb, in the order of all calls
	lockCall uint64  // of the last pfnLockCb
	used     bool    // a later callback named it
}

// allocation returns the allocation of a handle. The driver may have it from
// elsewhere.
func (s *kernelState) allocation(h ddi.KMHandle) *allocation {
	a := s.allocations[h]
	if a == nil {
		a = &allocation{handle: h}
		s.allocations[h] = a
	}
	return a
}

// recordings are the buffers of a kernel context that the driver records to, and
// those of its last submission.
type recordings struct {
	now, old buffers
	call     uint64 // of pfnCreateContextCb, in the order of all calls
	used     bool   // it got a submission
	start    []byte // beginning of the command buffer before commands were recorded
	fresh    bool   // start is not known yet
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
		d.kernel = &kernelState{allocations: map[ddi.KMHandle]*allocation{}, contexts: map[ddi.KMHandle]*recordings{}}
	}
	return d.kernel
}

// enterKernel checks the entry of a callback that calls the graphics kernel.
func (k *Checker) enterKernel(fr *frame) {
	if fr.outer == nil {
		return // the Monitor reports it
	}
	k.m.forgetRefusal(fr.t)
	k.checkDevice(fr)
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
			if at := s.allocations[a]; at != nil && at.locks > 0 && !s.lost {
				k.failBy(fr, Missing("pfnUnlockCb", unmapOf(at.lockedIn)), "lock-held", "allocation %#x is locked %s: the pfnLockCb in %s lacks a pfnUnlockCb", a, times(at.locks), at.lockedIn)
			}
		}
	case "pfnPresentCb":
		if fr.outer.f.Name == "pfnPresent" {
			k.checkSubmitted(fr, fr.outer)
		}
	case "pfnAllocateCb":
		fr.owner = k.checkOwner(fr, fr.args[1].(*umddi.Allocate).Resource)
	case "pfnRenderCb":
		arg := fr.args[1].(*umddi.Render)
		r := s.contexts[arg.Context]
		if r != nil {
			s.use(r.now.allocs[:min(int(arg.NumAllocations), len(r.now.allocs))])
		}
		if r == nil || r.now.same(r.old) {
			return
		}
		if at := r.old.written(); at != "" {
			k.fail(fr, "buffer-stale", "%s was written after the buffers were submitted, want those that pfnRenderCb returned", at)
			r.old = buffers{}
		}
	}
}

// checkDevice checks the device that a driver passes to a callback.
func (k *Checker) checkDevice(fr *frame) {
	h, ok := fr.args[0].(umddi.HRTDevice)
	if !ok || fr.outer.ctx == nil {
		return
	}
	if want := fr.outer.ctx.device.runtime; isKey(want.Runtime) && isKey(h.Runtime) && h != want {
		k.fail(fr, "callback-device", "in %s, hDevice is not the hRTDevice that pfnCreateDevice gave for %v", fr.outer.f.Name, fr.outer.ctx.device)
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
	case hr == ddi.DDIStillDrawing:
		fr.outer.busy = fr.busyBy()
	case s != nil && hr.Failed():
		s.failed = true
	}
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
		k.failBy(fr, k.refusedBy(fr, s), "callback-refused", "returns %v%s, called in %s%s", hr, k.m.refusalOf(fr.t), fr.outer.f.Name, callbackArguments(fr, s))
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
			s.allocations[a.Allocation] = &allocation{handle: a.Allocation, madeIn: fr.outer.f.Name, owner: fr.owner, call: fr.call}
			if fr.owner != nil {
				fr.owner.allocations++
			}
		}
	case *umddi.Deallocate:
		for _, a := range arg.Allocations {
			delete(s.allocations, a)
			s.freed++
		}
	case *umddi.CreateContext:
		s.contexts[arg.Context] = &recordings{now: buffers{arg.CommandBuffer, arg.AllocationList, arg.PatchLocationList}, fresh: true, call: fr.call}
		fr.outer.rendered = true
	case ddi.KMHandle: // pfnDestroyContextCb
		delete(s.contexts, arg)
		s.destroyed++
	case *umddi.Lock:
		s.allocation(arg.Allocation).lock(fr)
		if arg.ReadOnly && isMap(fr.outer) {
			fr.outer.readOnly = append(fr.outer.readOnly, lock{*arg, fr.call})
		}
		if arg.IgnoreSync && isMap(fr.outer) {
			fr.outer.unsynchronized = fmt.Sprintf("the pfnLockCb of allocation %#x did not wait: IgnoreSync is set", arg.Allocation)
		}
	case *umddi.Unlock:
		fr.outer.unlocked = true
		for _, a := range arg.Allocations {
			s.allocation(a).unlock()
		}
	case *umddi.PresentCB:
		fr.outer.presents, fr.outer.presentCall = fr.outer.presents+1, fr.call
		s.use([]umddi.AllocationList{{Allocation: arg.SrcAllocation}, {Allocation: arg.DstAllocation}})
	case *umddi.Render:
		fr.outer.rendered, fr.outer.ctx.device.work = true, nil
		if r := s.contexts[arg.Context]; r != nil {
			r.fresh, r.used = true, true
			r.old, r.now = r.now, buffers{arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList}
			if !r.old.same(r.now) {
				r.old.poison()
			}
		}
	}
}

// A lock is a pfnLockCb that succeeded.
type lock struct {
	umddi.Lock
	call uint64 // its number in the order of all calls
}

// use notes the allocations that a callback names.
func (s *kernelState) use(all []umddi.AllocationList) {
	for _, e := range all {
		if a := s.allocations[e.Allocation]; a != nil {
			a.used = true
		}
	}
}

// lock notes a pfnLockCb.
func (a *allocation) lock(fr *frame) {
	in := fr.outer
	a.locks, a.lockedIn, a.lockCall, a.used = a.locks+1, in.f.Name, fr.call, true
	if isMap(in) {
		a.maps++
		in.locked = append(in.locked, a)
	}
}

// isMap reports whether fr is a map function of the immediate context.
func isMap(fr *frame) bool {
	return mapFamilies[fr.f.Name] != "" && !strings.HasSuffix(fr.f.Name, "Unmap") && fr.ctx != nil && !fr.ctx.deferred
}

// unlock notes the end of a lock.
func (a *allocation) unlock() {
	a.locks, a.maps = a.locks-1, max(a.maps-1, 0)
}

// checkLocked checks that a map function locks no allocation more often than
// subresources are mapped: the unmap functions ended the locks of earlier maps.
func (k *Checker) checkLocked(fr *frame) {
	mapped := len(fr.ctx.open)
	if len(fr.errors) > 0 {
		return
	}
	for _, a := range fr.locked {
		if a.maps > mapped {
			k.failBy(fr, unmappedBy(fr, a), "lock-unmapped", "allocation %#x has %d pfnLockCb of map functions and %s mapped, want the pfnUnlockCb of the earlier ones in %s",
				a.handle, a.maps, are(mapped, "subresource"), unmapOf(fr.f.Name))
		}
	}
}

// checkKernelLeaks checks that a device that is gone holds nothing of the kernel.
// The kernel would free it when the process ends.
func (k *Checker) checkKernelLeaks(fr *frame) {
	s := fr.ctx.kernel
	if s == nil || s.lost || fr.ctx.deferred {
		return
	}
	var left []string
	if n := len(s.allocations); n > 0 {
		first := slices.Min(slices.Collect(maps.Keys(s.allocations)))
		text := fmt.Sprintf("%s of pfnAllocateCb without pfnDeallocateCb", plural(n, "allocation"))
		if in := s.allocations[first].madeIn; in != "" {
			text += fmt.Sprintf(" (%#x from %s)", first, in)
		}
		left = append(left, text)
	}
	if n := len(s.contexts); n > 0 {
		left = append(left, plural(n, "context")+" of pfnCreateContextCb without pfnDestroyContextCb")
	}
	if left != nil {
		k.failBy(fr, s.leakedBy(fr), "kernel-leak", "returns and leaves %s", strings.Join(left, " and "))
	}
}

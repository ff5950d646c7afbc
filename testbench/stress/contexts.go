package stress

import (
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A spreader adds contexts to each one that the user-mode driver of a device makes, and submits
// each command buffer and each present to a random one of them. They have random nodes and
// priorities. All of them use the allocations of the device, so the work of one reads what
// another one wrote.
//
// It is between the runtime and the graphics kernel. The driver records to the buffers of the
// context that it made, and those are copied for another one. Then its command buffer gets the
// content of a new one, so that it has no old packets.
type spreader struct {
	kernel   kmt.Thunks
	rand     *rand.Rand
	nodes    int // of the GPU
	count    int // contexts for each of the driver
	contexts map[ddi.KMHandle][]*umddi.CreateContext
	device   ddi.KMHandle // of the kernel; 0: none yet
	made     ddi.KMHandle // the last allocation of a resource
}

// thunks returns the thunks for the runtime.
func (s *spreader) thunks() kmt.Thunks {
	k := s.kernel
	k.CreateDevice = func(t *ddi.Thread) (ddi.KMHandle, ddi.Status) {
		dev, st := s.kernel.CreateDevice(t)
		s.device = dev
		return dev, st
	}
	k.CreateContext, k.DestroyContext, k.SetContextSchedulingPriority = s.create, s.destroy, s.prioritize
	k.Render, k.Present, k.CreateAllocation = s.render, s.present, s.allocate
	return k
}

// create makes the context of the driver and those beside it.
func (s *spreader) create(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.CreateContext) ddi.Status {
	st := s.kernel.CreateContext(t, dev, arg)
	if st.Failed() {
		return st
	}
	own := *arg
	all := []*umddi.CreateContext{&own}
	for range s.count - 1 {
		c := &umddi.CreateContext{NodeOrdinal: uint32(s.rand.IntN(s.nodes)), PrivateDriverData: arg.PrivateDriverData}
		if st = s.kernel.CreateContext(t, dev, c); !st.Failed() {
			all = append(all, c)
			st = s.kernel.SetContextSchedulingPriority(t, c.Context, s.priority())
		}
		if st.Failed() {
			for _, c := range all {
				s.kernel.DestroyContext(t, c.Context)
			}
			return st
		}
	}
	s.contexts[arg.Context] = all
	return ddi.StatusSuccess
}

// allocate notes the allocation of a resource.
func (s *spreader) allocate(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Allocate) ddi.Status {
	st := s.kernel.CreateAllocation(t, dev, arg)
	if !st.Failed() && arg.Resource != (umddi.HRTResource{}) {
		s.made = arg.AllocationInfo[0].Allocation
	}
	return st
}

// priority returns a random priority.
func (s *spreader) priority() int {
	return dxgkrnl.MinPriority + s.rand.IntN(dxgkrnl.MaxPriority-dxgkrnl.MinPriority+1)
}

// destroy destroys a context of the driver and those beside it.
func (s *spreader) destroy(t *ddi.Thread, ctx ddi.KMHandle) ddi.Status {
	all := s.contexts[ctx]
	delete(s.contexts, ctx)
	for i := len(all) - 1; i > 0; i-- {
		if st := s.kernel.DestroyContext(t, all[i].Context); st.Failed() {
			return st
		}
	}
	return s.kernel.DestroyContext(t, ctx)
}

// prioritize sets the priority of a context of the driver, and others of those beside it.
func (s *spreader) prioritize(t *ddi.Thread, ctx ddi.KMHandle, priority int) ddi.Status {
	st := s.kernel.SetContextSchedulingPriority(t, ctx, priority)
	for i, c := range s.contexts[ctx] {
		if i > 0 && !st.Failed() {
			st = s.kernel.SetContextSchedulingPriority(t, c.Context, s.priority())
		}
	}
	return st
}

// pick returns the context of the driver, and that which gets its next work.
func (s *spreader) pick(ctx ddi.KMHandle) (own, to *umddi.CreateContext) {
	all := s.contexts[ctx]
	if len(all) == 0 { // an invalid handle, which the kernel refuses
		own = &umddi.CreateContext{Context: ctx}
		return own, own
	}
	return all[0], all[s.rand.IntN(len(all))]
}

// render submits the commands of the driver to one of the contexts.
func (s *spreader) render(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Render) ddi.Status {
	own, to := s.pick(arg.Context)
	other := *arg
	other.Context = to.Context
	if to != own {
		copy(to.CommandBuffer, own.CommandBuffer)
		copy(to.AllocationList, own.AllocationList[:min(int(arg.NumAllocations), len(own.AllocationList))])
		copy(to.PatchLocationList, own.PatchLocationList[:min(int(arg.NumPatchLocations), len(own.PatchLocationList))])
	}
	st := s.kernel.Render(t, dev, &other)
	if !st.Failed() {
		if to != own {
			copy(own.CommandBuffer, other.NewCommandBuffer)
		}
		to.CommandBuffer, to.AllocationList, to.PatchLocationList = other.NewCommandBuffer, other.NewAllocationList, other.NewPatchLocationList
		arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList = own.CommandBuffer, own.AllocationList, own.PatchLocationList
		arg.QueuedBufferCount = other.QueuedBufferCount
	}
	return st
}

// present submits a present to one of the contexts.
func (s *spreader) present(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.PresentCB) ddi.Status {
	_, to := s.pick(arg.Context)
	other := *arg
	other.Context = to.Context
	return s.kernel.Present(t, dev, &other)
}

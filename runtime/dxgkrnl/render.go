package dxgkrnl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// presentElements is the length of the allocation list of DxgkDdiPresent.
const presentElements = kmddi.PresentDestinationIndex + 1

// A writer makes the miniport fill a DMA buffer, starting at multipass.
type writer func(t *ddi.Thread, d *dmaBuffer, multipass uint32) (kmddi.RenderOut, ddi.Status)

// render is the Render thunk after its check of handles.
//
//	DDI     DxgkDdiRender
//	Returns StatusInvalidParameter: a range outside the buffers, or an allocation
//	        that is offered
//	        StatusInvalidHandle: an allocation of another device; 0 is an
//	        element without allocation
//	        StatusCantRenderLocked: a locked allocation, unless it is in a
//	        System or an aperture segment, where both sides use the same
//	        memory, or may be nowhere else
//	        StatusNoVideoMemory: allocations of one SplitOffset that do not fit
//	        into their segments together
//	        StatusDeviceRemoved, or the status of DxgkDdiRender
func (k *Kernel) render(t *ddi.Thread, c *context, arg *umddi.Render) ddi.Status {
	u := &c.users[c.current]
	end := uint64(arg.CommandOffset) + uint64(arg.CommandLength)
	if end > uint64(len(u.command)) || uint64(arg.NumAllocations) > uint64(len(u.allocs)) ||
		uint64(arg.NumPatchLocations) > uint64(len(u.patches)) {
		return ddi.StatusInvalidParameter
	}
	c.memory.b = u.command[arg.CommandOffset:end:end]
	c.patches.list = u.patches[:arg.NumPatchLocations]
	s := k.passes(t, c, u.allocs[:arg.NumAllocations], func(t *ddi.Thread, d *dmaBuffer, multipass uint32) (kmddi.RenderOut, ddi.Status) {
		c.memory.begin()
		c.patches.begin()
		out, s := k.driver.Render(t, c.driver, kmddi.Render{
			Command: c.command, PatchLocationListIn: &c.patches,
			AllocationList: d.list[:d.nList:d.nList], DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private,
			PatchLocationListOut: d.patches, MultipassOffset: multipass,
		})
		k.broken(t, "command-twice", "DxgkDdiRender", cmp.Or(c.memory.twice, c.patches.twice))
		return out, s
	})
	c.memory.b, c.patches.list = nil, nil
	if s.Failed() {
		return s
	}
	c.current = (c.current + 1) % len(c.users)
	u = k.handOut(c)
	arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList = u.command, u.allocs, u.patches
	arg.QueuedBufferCount = uint32(len(c.dma) - len(c.free))
	return s
}

// present is the Present thunk after its check of handles.
//
//	DDI     DxgkDdiPresent, of entire surfaces
//	Returns as render
func (k *Kernel) present(t *ddi.Thread, c *context, arg *umddi.PresentCB) ddi.Status {
	if arg.SrcAllocation == 0 || arg.DstAllocation == 0 {
		return ddi.StatusInvalidHandle
	}
	list := [presentElements]umddi.AllocationList{
		kmddi.PresentSourceIndex:      {Allocation: arg.SrcAllocation},
		kmddi.PresentDestinationIndex: {Allocation: arg.DstAllocation, WriteOperation: true},
	}
	return k.passes(t, c, list[:], func(t *ddi.Thread, d *dmaBuffer, multipass uint32) (kmddi.RenderOut, ddi.Status) {
		d.present = true
		return k.driver.Present(t, c.driver, kmddi.Present{
			AllocationList: d.list[:d.nList:d.nList], DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private,
			PatchLocationListOut: d.patches, MultipassOffset: multipass,
		})
	})
}

// passes calls write for one DMA buffer after another until nothing is left to
// write, and schedules each. If a pass fails, earlier ones remain scheduled.
func (k *Kernel) passes(t *ddi.Thread, c *context, list []umddi.AllocationList, write writer) ddi.Status {
	for multipass := uint32(0); ; {
		d, s := k.takeDMABuffer(t, c)
		if s.Failed() {
			return s
		}
		out, s := k.pass(t, d, list, write, multipass)
		more := s == ddi.StatusInsufficientDMABuffer
		if more && out.MultipassOffset == multipass {
			k.bugcheck(d.function(), CodeMemory, MemoryContract, "an empty DMA buffer of %d bytes and %d patches is insufficient at MultipassOffset %d",
				len(d.pages.Bytes), len(d.patches), multipass)
		}
		if (!s.Failed() || more) && d.used > 0 {
			if st := k.queueJob(t, d); st.Failed() {
				s, more = st, false
			}
		}
		d.release()
		if !more {
			return s
		}
		multipass = out.MultipassOffset
	}
}

// pass calls write once and checks the result.
func (k *Kernel) pass(t *ddi.Thread, d *dmaBuffer, list []umddi.AllocationList, write writer, multipass uint32) (kmddi.RenderOut, ddi.Status) {
	if s := k.listAllocations(d, list); s.Failed() {
		return kmddi.RenderOut{}, s
	}
	k.beginLent(&d.lent, d.function())
	d.beginLists()
	out, s := write(t, d, multipass)
	k.checkLent(&d.lent, d.function())
	switch {
	case s == ddi.StatusSuccess || s == ddi.StatusInsufficientDMABuffer:
	case s.Failed():
		return out, s
	default: // the application must not take it for success
		return out, ddi.StatusUnsuccessful
	}
	if st := k.status(t); st.Failed() {
		return out, st
	}
	if uint64(out.DmaBufferUsed) > uint64(len(d.pages.Bytes)) {
		k.bugcheck(d.function(), CodeMemory, MemoryOverflow, "DmaBufferUsed is %d, want at most %d", out.DmaBufferUsed, len(d.pages.Bytes))
	}
	if uint64(out.PatchesUsed) > uint64(len(d.patches)) {
		k.bugcheck(d.function(), CodeMemory, MemoryOverflow, "PatchesUsed is %d, want at most %d", out.PatchesUsed, len(d.patches))
	}
	if out.DmaBufferUsed%4 != 0 {
		k.bugcheck(d.function(), CodeVerifier, VerifierAlign, "DmaBufferUsed is %d, want a multiple of 4", out.DmaBufferUsed)
	}
	d.used, d.nPatches = out.DmaBufferUsed, int(out.PatchesUsed)
	k.checkLists(d, d.function())
	k.checkPatches(d)
	d.end(d.used)
	d.endLists()
	return out, s
}

// checkPatches bugchecks for an invalid patch list.
func (k *Kernel) checkPatches(d *dmaBuffer) {
	split := uint32(0)
	for i, p := range d.patches[:d.nPatches] {
		wrong := func(format string, args ...any) {
			k.bugcheck(d.function(), CodeMemory, MemorySplit, "patch %d: %s", i, fmt.Sprintf(format, args...))
		}
		switch {
		case uint64(p.AllocationIndex) >= uint64(d.nList):
			wrong("AllocationIndex is %d, want less than %d", p.AllocationIndex, d.nList)
		case p.PatchOffset >= d.used:
			wrong("PatchOffset is %#x, want less than %#x, the used bytes", p.PatchOffset, d.used)
		case p.SplitOffset < split:
			wrong("SplitOffset is %#x, want at least %#x, that of the patch before", p.SplitOffset, split)
		case p.SplitOffset > p.PatchOffset:
			wrong("SplitOffset is %#x, want at most %#x, its PatchOffset", p.SplitOffset, p.PatchOffset)
		case p.SplitOffset%4 != 0:
			wrong("SplitOffset is %#x, want a multiple of 4", p.SplitOffset)
		}
		split = p.SplitOffset
	}
}

// function returns the function of the miniport that wrote the buffer.
func (d *dmaBuffer) function() string {
	switch {
	case d.present:
		return "DxgkDdiPresent"
	case d.context.device.system:
		return renderKm
	}
	return "DxgkDdiRender"
}

// takeDMABuffer returns an empty DMA buffer with one reference. It waits if
// none is free.
func (k *Kernel) takeDMABuffer(t *ddi.Thread, c *context) (*dmaBuffer, ddi.Status) {
	// With poison a buffer is not lent twice in a row, if there may be two.
	few := len(c.free) == 0 || k.poison && len(c.dma) < 2
	if few && len(c.dma) < k.dmaBuffers {
		if d := k.newDMABuffer(c); d != nil {
			c.dma, c.free = append(c.dma, d), append(c.free, d)
		}
	}
	if len(c.free) == 0 {
		if s := k.wait(t, "a free DMA buffer", func() bool { return len(c.free) > 0 }); s.Failed() {
			return nil, s
		}
	}
	d := c.free[0] // the one that was not used for longest
	c.free = slices.Delete(c.free, 0, 1)
	d.refs, d.used, d.nPatches, d.nList, d.present = 1, 0, 0, 0, false
	return d, ddi.StatusSuccess
}

// listAllocations converts a list of handles to the miniport's allocation list.
// Each element is read once.
func (k *Kernel) listAllocations(d *dmaBuffer, list []umddi.AllocationList) ddi.Status {
	d.nList = len(list)
	for i := range list {
		e := list[i]
		d.list[i], d.objects[i] = kmddi.AllocationList{}, nil
		if e.Allocation == 0 {
			continue
		}
		a, opened, ok := k.usable(d.context.device, e.Allocation)
		if !ok {
			clear(d.objects[:i])
			return ddi.StatusInvalidHandle
		}
		if a.offered() {
			clear(d.objects[:i])
			return ddi.StatusInvalidParameter
		}
		if a.locks > 0 && (a.inMemorySegment() || a.segment == nil && k.firstSegment(a, (*segment).memory) != nil) {
			clear(d.objects[:i])
			return ddi.StatusCantRenderLocked
		}
		d.objects[i] = a
		d.list[i] = kmddi.AllocationList{DeviceSpecificAllocation: opened, WriteOperation: e.WriteOperation}
	}
	d.locate()
	return ddi.StatusSuccess
}

// usable returns an allocation that work of a device may use, as the device has opened it: its
// own, or for that of the kernel any.
func (k *Kernel) usable(d *device, h ddi.KMHandle) (*allocation, kmddi.HDeviceAllocation, bool) {
	a, ok := k.handles.get(h).(*allocation)
	switch {
	case !ok:
		return nil, kmddi.HDeviceAllocation{}, false
	case d.system:
		return a, a.openedByKernel, a.openedByKernel.Root != nil
	}
	return a, a.opened, a.device == d
}

// locate updates the addresses in the allocation list.
func (d *dmaBuffer) locate() {
	for i, a := range d.objects[:d.nList] {
		if a != nil && a.segment != nil {
			d.list[i].SegmentID, d.list[i].PhysicalAddress = a.segment.id, a.address()
		} else {
			d.list[i].SegmentID, d.list[i].PhysicalAddress = kmddi.SegmentNone, 0
		}
	}
}

package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// renderKm is the function of the miniport that translates what the kernel draws.
const renderKm = "DxgkDdiRenderKm"

// The allocation list of a drawing.
const (
	drawSource      = 1
	drawDestination = 2
)

// FillRectangle fills parts of the rectangle to of an allocation with a color, or all of it
// without parts. The miniport knows the surface of the allocation, and the color is in its
// format. The call needs no user-mode driver. It returns when the work is queued, and Lock of the
// allocation waits for it.
//
//	DDI     DxgkDdiRenderKm. At first also DxgkDdiCreateContext of a system context, and
//	        DxgkDdiOpenAllocation of the allocation for the device of the kernel
//	Caller  at PASSIVE_LEVEL
//	In      dst: of any device; to, parts: in elements, half-open; parts are inside to
//	Order   after earlier work that uses the allocation, and before later work. The work is of
//	        the system class: it goes before that of applications, on node 0
//	Returns StatusSuccess; StatusNotSupported if the miniport has no DxgkDdiRenderKm;
//	        StatusInvalidHandle; StatusInvalidParameter for an allocation that is offered;
//	        the status of a device that is removed, or of an adapter that has stopped; in the
//	        next call after the GPU has lost earlier work of the kernel, its status, see Lost;
//	        as the thunk Render for locks, memory and the miniport
func (k *Kernel) FillRectangle(t *ddi.Thread, dst ddi.KMHandle, to kmddi.Rect, color uint32, parts ...kmddi.Rect) ddi.Status {
	return k.draw(t, kmddi.RenderKmCommand{OpCode: kmddi.GDIOpColorFill, ColorFill: kmddi.GDIArgColorFill{
		DstRect: to, DstAllocationIndex: drawDestination, SubRects: partsOf(to, parts), Color: color, Rop: kmddi.GDIROPPatCopy,
	}}, 0, dst)
}

// CopyRectangle copies the rectangle from of an allocation to the rectangle to of another, or
// of the same one. With parts it copies only to those, which are inside to. The rectangles have one
// size, and the surfaces one format. See FillRectangle.
func (k *Kernel) CopyRectangle(t *ddi.Thread, dst ddi.KMHandle, to kmddi.Rect, src ddi.KMHandle, from kmddi.Rect, parts ...kmddi.Rect) ddi.Status {
	blt := kmddi.GDIArgBitBlt{
		SrcRect: from, DstRect: to, SrcAllocationIndex: drawSource, DstAllocationIndex: drawDestination,
		SubRects: partsOf(to, parts), Rop: kmddi.GDIROPSrcCopy,
	}
	if src == dst {
		src, blt.SrcAllocationIndex = 0, drawDestination
	} else if src == 0 {
		return ddi.StatusInvalidHandle
	}
	return k.draw(t, kmddi.RenderKmCommand{OpCode: kmddi.GDIOpBitBlt, BitBlt: blt}, src, dst)
}

// partsOf returns the sub-rectangles of a drawing.
func partsOf(to kmddi.Rect, parts []kmddi.Rect) []kmddi.Rect {
	if len(parts) == 0 {
		return []kmddi.Rect{to}
	}
	return parts
}

// draw queues a drawing. src is 0 if only dst is used.
func (k *Kernel) draw(t *ddi.Thread, command kmddi.RenderKmCommand, src, dst ddi.KMHandle) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() {
		return s
	}
	if k.driver.RenderKm == nil {
		return ddi.StatusNotSupported
	}
	d := k.devices[0]
	if d.busy {
		k.whileBusy(t, d)
	}
	d.busy, v.device = true, d
	c, s := k.drawing(t, d)
	if s.Failed() {
		return s
	}
	if src != 0 {
		s = k.openForKernel(t, d, src)
	}
	if !s.Failed() {
		s = k.openForKernel(t, d, dst)
	}
	if s.Failed() {
		return s
	}
	c.memory.b = command.Append(c.memory.b[:0])
	list := [presentElements]umddi.AllocationList{
		drawSource: {Allocation: src}, drawDestination: {Allocation: dst, WriteOperation: true},
	}
	return k.passes(t, c, list[:], func(t *ddi.Thread, d *dmaBuffer, multipass uint32) (kmddi.RenderOut, ddi.Status) {
		return k.driver.RenderKm(t, c.driver, kmddi.Render{
			Command: c.command, PatchLocationListIn: &c.patches, AllocationList: d.list[:d.nList:d.nList],
			DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private, PatchLocationListOut: d.patches, MultipassOffset: multipass,
		})
	})
}

// drawing returns the context of the kernel's own device. It makes one at first, and after
// the work of the last one was dropped. If a reset has hit that, it returns the status once.
func (k *Kernel) drawing(t *ddi.Thread, d *device) (*context, ddi.Status) {
	if len(d.contexts) > 0 && (d.contexts[0].line.cut || d.removed.Failed()) {
		lost := d.removed
		k.destroyContext(t, d.contexts[0])
		d.removed = ddi.StatusSuccess
		if lost.Failed() {
			return nil, lost
		}
	}
	if s := k.status(t); s.Failed() {
		return nil, s
	}
	if len(d.contexts) == 0 {
		return k.newContext(t, d, &umddi.CreateContext{})
	}
	return d.contexts[0], ddi.StatusSuccess
}

// DrawingMemory returns the bytes of the PC's memory, in pages, that the DMA buffers of what the
// kernel draws have. The kernel makes them when it needs them, and keeps them until Stop.
func (k *Kernel) DrawingMemory() (bytes uint64) {
	for _, d := range k.devices {
		for _, c := range d.contexts {
			for _, b := range c.dma {
				if d.system {
					bytes += inPages(b.whole.Bytes)
				}
			}
		}
	}
	return bytes
}

// inPages returns the size of memory in whole pages.
func inPages(p []byte) uint64 { return (uint64(len(p)) + hal.PageSize - 1) &^ (hal.PageSize - 1) }

// openForKernel opens an allocation of any device for the kernel's own device, unless it is open.
func (k *Kernel) openForKernel(t *ddi.Thread, d *device, h ddi.KMHandle) ddi.Status {
	a, ok := k.handles.get(h).(*allocation)
	switch {
	case !ok:
		return ddi.StatusInvalidHandle
	case a.device.removed.Failed():
		return a.device.removed
	case a.openedByKernel.Root != nil:
		return ddi.StatusSuccess
	}
	opened := kmddi.HDeviceAllocation{Root: new(ddi.Root)}
	s := k.driver.OpenAllocation(t, d.driver, opened, kmddi.OpenAllocation{Allocation: a.driver, PrivateDriverData: slices.Clone(a.private)})
	if !s.Failed() {
		a.openedByKernel = opened
	}
	return s
}

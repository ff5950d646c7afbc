package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Sizes of a present and offsets of its addresses.
const (
	presentBytes   = 4 * (2*(1+pkt.SetStateBody) + (1 + pkt.Copy2DBody))
	presentPatches = 2
	presentSource  = 8                          // the base in the first SET_STATE
	presentDest    = 8 + 4*(1+pkt.SetStateBody) // the base in the second
)

// present writes the packets of a blit: SET_STATE of both surfaces and COPY_2D.
// The surfaces are at the start of the two allocations.
//
//	DDI     DxgkDdiPresent, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      SrcRect, DstRect, in elements: of one size and inside the surfaces.
//	        If both are empty, the source is copied to the top left corner of
//	        the destination and clipped to it
//	Out     as of Render; the two patches share the SplitOffset 0
//	Returns StatusSuccess
//	        StatusInsufficientDMABuffer: there is no room; nothing was written
//	        StatusInvalidHandle: an allocation that is nil or another device's
//	        StatusInvalidParameter: an allocation without surface, different
//	        formats, a destination that is not listed as written, invalid
//	        rectangles, or no room in an empty buffer
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_present
func present(_ *ddi.Thread, h kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
	c, ok := contextOf(h)
	if !ok {
		return kmddi.RenderOut{}, ddi.StatusInvalidHandle
	}
	place{}.put(arg.DmaBufferPrivateData)
	src, s := presentSurface(c.device, arg.AllocationList, kmddi.PresentSourceIndex)
	if s != ddi.StatusSuccess {
		return kmddi.RenderOut{}, s
	}
	dst, s := presentSurface(c.device, arg.AllocationList, kmddi.PresentDestinationIndex)
	if s != ddi.StatusSuccess {
		return kmddi.RenderOut{}, s
	}
	blit, ok := presentBlit(src, dst, arg.SrcRect, arg.DstRect)
	if !ok || src.Format != dst.Format || !arg.AllocationList[kmddi.PresentDestinationIndex].WriteOperation {
		return kmddi.RenderOut{}, ddi.StatusInvalidParameter
	}
	if len(arg.DmaBuffer) < presentBytes || len(arg.PatchLocationListOut) < presentPatches {
		if arg.MultipassOffset&retried != 0 {
			return kmddi.RenderOut{}, ddi.StatusInvalidParameter
		}
		return kmddi.RenderOut{MultipassOffset: retried}, ddi.StatusInsufficientDMABuffer
	}
	// The surfaces and the rectangles have been checked: encoding cannot fail.
	b := arg.DmaBuffer[:0:len(arg.DmaBuffer)]
	b, err := setSurface(pkt.Source, src).Append(b)
	if err == nil {
		b, err = setSurface(pkt.Dest, dst).Append(b)
	}
	if err == nil {
		b, err = blit.Append(b)
	}
	if err != nil {
		return kmddi.RenderOut{}, ddi.StatusInvalidParameter
	}
	out := arg.PatchLocationListOut[:presentPatches]
	out[0] = kmddi.PatchLocation{AllocationIndex: kmddi.PresentSourceIndex, PatchOffset: presentSource}
	out[1] = kmddi.PatchLocation{AllocationIndex: kmddi.PresentDestinationIndex, PatchOffset: presentDest}
	prepatch(b, out, arg.AllocationList)
	return kmddi.RenderOut{DmaBufferUsed: uint32(len(b)), PatchesUsed: presentPatches}, ddi.StatusSuccess
}

// presentSurface returns the surface of an allocation opened by the device.
func presentSurface(d *device, list []kmddi.AllocationList, i int) (privdata.Allocation, ddi.Status) {
	if i >= len(list) {
		return privdata.Allocation{}, ddi.StatusInvalidParameter
	}
	o, ok := openedOf(list[i].DeviceSpecificAllocation)
	if !ok || o.device != d {
		return privdata.Allocation{}, ddi.StatusInvalidHandle
	}
	desc := o.allocation.desc
	if desc.Width == 0 || desc.Height == 0 {
		return privdata.Allocation{}, ddi.StatusInvalidParameter
	}
	return desc, ddi.StatusSuccess
}

// setSurface returns the packet that sets a surface, clipped to its size.
func setSurface(i pkt.Surface, a privdata.Allocation) pkt.SetState {
	return pkt.SetState{
		Surface: i, Base: unpatched, Pitch: a.Pitch, Format: a.Format,
		X1: uint16(a.Width), Y1: uint16(a.Height),
	}
}

// presentBlit returns the packet that copies the rectangle. It reports false if
// a rectangle is not inside its surface or the sizes differ.
func presentBlit(src, dst privdata.Allocation, from, to kmddi.Rect) (pkt.Copy2D, bool) {
	if from == (kmddi.Rect{}) && to == (kmddi.Rect{}) {
		return pkt.Copy2D{W: uint16(src.Width), H: uint16(src.Height)}, true
	}
	if !inside(from, src) || !inside(to, dst) || from.Right-from.Left != to.Right-to.Left || from.Bottom-from.Top != to.Bottom-to.Top {
		return pkt.Copy2D{}, false
	}
	return pkt.Copy2D{
		SrcX: uint16(from.Left), SrcY: uint16(from.Top), DstX: uint16(to.Left), DstY: uint16(to.Top),
		W: uint16(from.Right - from.Left), H: uint16(from.Bottom - from.Top),
	}, true
}

// inside reports whether r is a rectangle inside the surface.
func inside(r kmddi.Rect, a privdata.Allocation) bool {
	return r.Left >= 0 && r.Left <= r.Right && int64(r.Right) <= int64(a.Width) &&
		r.Top >= 0 && r.Top <= r.Bottom && int64(r.Bottom) <= int64(a.Height)
}

package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// renderKm translates a buffer of drawing commands of the kernel to a DMA buffer.
//
// All commands are checked before something is written. Each is a portion that sets its
// surfaces: SET_STATE, then a FILL_2D or a COPY_2D for each sub-rectangle. The result of a COPY_2D
// that reads what it writes is undefined. So a copy inside of a surface is made of strips
// that do not. A command that does not fit is continued in the next DMA buffer, and the bits of
// MultipassOffset above retried count the packets that are written.
//
//	DDI     DxgkDdiRenderKm, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL; one thread at a time for a context
//	In      arg.Command: an array of RenderKmCommand. The patch list is ignored, and so are
//	        the pitches: the allocations have theirs
//	Out     as of Render
//	Returns StatusSuccess
//	        StatusInsufficientDMABuffer: to be continued at MultipassOffset
//	        StatusInvalidUserBuffer: a length that is not a multiple of 4, or a command or
//	        its sub-rectangles that run past the end
//	        StatusIllegalInstruction: not a BITBLT, a COLORFILL or an ESCAPE, which does nothing
//	        StatusInvalidHandle: an allocation that is nil or another device's
//	        StatusInvalidParameter: another raster operation than PATCOPY and SRCCOPY, an
//	        index past the list, an allocation without surface, a destination that
//	        is not listed as written, a copy that stretches or converts, a fill of
//	        elements of more than 64 bits, a sub-rectangle outside of the rectangle
//	        or of a surface; a MultipassOffset that was not returned, or no room in an empty buffer
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_renderkm, ns-d3dkmddi-_dxgk_gdiarg_bitblt,
//	        ns-d3dkmddi-_dxgk_gdiarg_colorfill
func renderKm(_ *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
	c, ok := contextOf(h)
	if !ok {
		return kmddi.RenderOut{}, ddi.StatusInvalidHandle
	}
	place{}.put(arg.DmaBufferPrivateData)
	list, s := drawings(c.device, arg)
	if s != ddi.StatusSuccess {
		return kmddi.RenderOut{}, s
	}
	from, all := arg.MultipassOffset/(retried+1), uint32(0)
	for _, d := range list {
		all += d.packets()
	}
	if from > 0 && from >= all {
		return kmddi.RenderOut{}, ddi.StatusInvalidParameter
	}
	w := drawer{dma: arg.DmaBuffer, patches: arg.PatchLocationListOut}
	end := w.write(list, from)
	out := kmddi.RenderOut{DmaBufferUsed: uint32(w.used), PatchesUsed: uint32(w.listed)}
	prepatch(arg.DmaBuffer[:w.used], arg.PatchLocationListOut[:w.listed], arg.AllocationList)
	switch {
	case end == all:
		return out, ddi.StatusSuccess
	case end > from:
		out.MultipassOffset = end * (retried + 1)
		return out, ddi.StatusInsufficientDMABuffer
	case arg.MultipassOffset&retried == 0:
		return kmddi.RenderOut{MultipassOffset: arg.MultipassOffset | retried}, ddi.StatusInsufficientDMABuffer
	}
	return kmddi.RenderOut{}, ddi.StatusInvalidParameter
}

// A drawing is a command that has been checked.
type drawing struct {
	copies   bool // from src; else it fills
	src, dst privdata.Allocation
	from, to uint32 // their indices
	rects    []kmddi.Rect
	dx, dy   int64 // of the source from the destination
	value    uint64
	inside   bool // of one allocation
}

// drawings reads and checks the commands.
func drawings(d *device, arg kmddi.Render) ([]drawing, ddi.Status) {
	n := arg.Command.Size()
	switch {
	case n < 0 || n%4 != 0:
		return nil, ddi.StatusInvalidUserBuffer
	case n > maxCommand:
		return nil, ddi.StatusInvalidParameter
	}
	b := make([]byte, n)
	if arg.Command.Read(0, b) != ddi.StatusSuccess {
		return nil, ddi.StatusInvalidUserBuffer
	}
	var all []drawing
	for len(b) > 0 {
		c, s := kmddi.DecodeRenderKmCommand(b)
		var g drawing
		switch {
		case s != ddi.StatusSuccess:
			return nil, s
		case c.OpCode == kmddi.GDIOpBitBlt:
			g, s = bitBlt(d, arg.AllocationList, c.BitBlt)
		case c.OpCode == kmddi.GDIOpColorFill:
			g, s = colorFill(d, arg.AllocationList, c.ColorFill)
		}
		if s != ddi.StatusSuccess {
			return nil, s
		}
		all = append(all, g)
		b = b[c.CommandSize:]
	}
	return all, ddi.StatusSuccess
}

// drawingSurface returns the surface of an element of the allocation list.
func drawingSurface(d *device, list []kmddi.AllocationList, i uint32) (privdata.Allocation, ddi.Status) {
	if uint64(i) >= uint64(len(list)) {
		return privdata.Allocation{}, ddi.StatusInvalidParameter
	}
	return presentSurface(d, list, int(i))
}

// colorFill checks a COLORFILL.
func colorFill(d *device, list []kmddi.AllocationList, a kmddi.GDIArgColorFill) (drawing, ddi.Status) {
	dst, s := drawingSurface(d, list, a.DstAllocationIndex)
	if s != ddi.StatusSuccess {
		return drawing{}, s
	}
	if a.Rop != kmddi.GDIROPPatCopy || dst.Format > pkt.Format64 || !list[a.DstAllocationIndex].WriteOperation {
		return drawing{}, ddi.StatusInvalidParameter
	}
	g := drawing{dst: dst, to: a.DstAllocationIndex, rects: a.SubRects, value: patternOf(a.Color, dst.Format)}
	return g, g.check(a.DstRect)
}

// patternOf returns the pattern of FILL_2D for a color, of which an element has the low bytes.
func patternOf(color uint32, f pkt.Format) uint64 {
	switch f {
	case pkt.Format8:
		return uint64(color&0xff) * 0x0101010101010101
	case pkt.Format16:
		return uint64(color&0xffff) * 0x0001000100010001
	case pkt.Format64:
		return uint64(color)
	}
	return uint64(color) * 0x0000000100000001
}

// bitBlt checks a BITBLT.
func bitBlt(d *device, list []kmddi.AllocationList, a kmddi.GDIArgBitBlt) (drawing, ddi.Status) {
	src, s := drawingSurface(d, list, a.SrcAllocationIndex)
	if s != ddi.StatusSuccess {
		return drawing{}, s
	}
	dst, s := drawingSurface(d, list, a.DstAllocationIndex)
	if s != ddi.StatusSuccess {
		return drawing{}, s
	}
	g := drawing{
		copies: true, src: src, dst: dst, from: a.SrcAllocationIndex, to: a.DstAllocationIndex, rects: a.SubRects,
		dx: int64(a.SrcRect.Left) - int64(a.DstRect.Left), dy: int64(a.SrcRect.Top) - int64(a.DstRect.Top),
	}
	from, _ := openedOf(list[g.from].DeviceSpecificAllocation)
	to, _ := openedOf(list[g.to].DeviceSpecificAllocation)
	g.inside = from.allocation == to.allocation
	if a.Rop != kmddi.GDIROPSrcCopy || src.Format != dst.Format || !list[g.to].WriteOperation ||
		int64(a.SrcRect.Right)-int64(a.DstRect.Right) != g.dx || int64(a.SrcRect.Bottom)-int64(a.DstRect.Bottom) != g.dy {
		return drawing{}, ddi.StatusInvalidParameter
	}
	return g, g.check(a.DstRect)
}

// check checks the sub-rectangles of a drawing of the rectangle to of the destination.
func (g *drawing) check(to kmddi.Rect) ddi.Status {
	if to.Left > to.Right || to.Top > to.Bottom {
		return ddi.StatusInvalidParameter
	}
	for _, r := range g.rects {
		if r.Left < to.Left || r.Top < to.Top || r.Right > to.Right || r.Bottom > to.Bottom || !inside(r, g.dst) {
			return ddi.StatusInvalidParameter
		}
		if g.copies && !g.readable(r) {
			return ddi.StatusInvalidParameter
		}
	}
	return ddi.StatusSuccess
}

// readable reports whether the source of a sub-rectangle is inside of its surface.
func (g *drawing) readable(r kmddi.Rect) bool {
	return int64(r.Left)+g.dx >= 0 && int64(r.Right)+g.dx <= int64(g.src.Width) &&
		int64(r.Top)+g.dy >= 0 && int64(r.Bottom)+g.dy <= int64(g.src.Height)
}

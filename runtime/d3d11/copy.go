package d3d11

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Box is D3D11_BOX: half-open, in elements; in bytes for a buffer.
type Box = umddi.Box

// empty reports whether the box is empty.
func empty(b *Box) bool {
	return b.Left >= b.Right || b.Top >= b.Bottom || b.Front >= b.Back
}

// fullBox returns the box of an entire subresource.
func (r *resource) fullBox(sub uint32) Box {
	w, h := r.extent(sub)
	return Box{Right: w, Bottom: h, Back: 1}
}

// within reports whether b is contained in a.
func within(a, b *Box) bool {
	return b.Right <= a.Right && b.Bottom <= a.Bottom && b.Back <= a.Back
}

// translate returns b with its origin moved by x, y, z. It reports false on
// overflow.
func translate(b *Box, x, y, z uint32) (Box, bool) {
	w, h, d := b.Right-b.Left, b.Bottom-b.Top, b.Back-b.Front
	m := Box{Left: x, Top: y, Front: z, Right: x + w, Bottom: y + h, Back: z + d}
	return m, m.Right > x && m.Bottom > y && m.Back > z
}

// overlap reports whether two boxes intersect.
func overlap(a, b *Box) bool {
	return a.Left < b.Right && b.Left < a.Right && a.Top < b.Bottom && b.Top < a.Bottom
}

// copyIDs are the messages of a copy.
type copyIDs struct{ source, sourceState, destinationState MessageID }

// copyProblem returns why a copy is invalid, whatever its region.
func (c *Context) copyProblem(ids copyIDs, dst, src *resource) problem {
	switch {
	case dst == nil:
		return problem{MessageInvalidObject, "DstResource is nil"}
	case src == nil:
		return problem{MessageInvalidObject, "SrcResource is nil"}
	case !dst.usable(c.dev):
		return dst.misused(c.dev, MessageInvalidObject, "DstResource")
	case !src.usable(c.dev):
		return src.misused(c.dev, MessageInvalidObject, "SrcResource")
	case dst.dimension != src.dimension:
		return problem{ids.source, "one resource is a buffer and the other a texture"}
	case dst.usage == UsageImmutable:
		return problem{ids.destinationState, "DstResource is immutable"}
	case dst.dimension == umddi.Buffer:
		if dst.stride == 0 || src.stride == 0 || dst.stride == src.stride {
			return problem{}
		}
		return problemf(ids.source, "StructureByteStride is %d in SrcResource and %d in DstResource", src.stride, dst.stride)
	case !copyCompatible(dst.format, src.format):
		return problemf(ids.source, "SrcResource has format %v, which cannot be copied to %v", src.format, dst.format)
	}
	for _, r := range [...]*resource{dst, src} {
		if !c.dev.has(r.format, umddi.FormatCopy) {
			return problemf(ids.source, "the driver cannot copy format %v", r.format)
		}
	}
	return problem{}
}

// CopyResource copies all of src to dst. It does nothing but add a message to
// the InfoQueue unless they are different resources with the same dimension, the
// same size and compatible formats, dst is not immutable, and the context has
// mapped neither.
//
//	DDI     pfnResourceCopy
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-copyresource
func (c *Context) CopyResource(dst, src Resource) {
	const api = "CopyResource"
	c, l := c.lock(api)
	defer l.unlock()
	d, s := coreOf(dst), coreOf(src)
	if c.dropsAll(api) || c.dropsOn(api, c.copyAllProblem(d, s)) {
		return
	}
	if c.rec != nil {
		c.rec.copyResource(d, s)
		return
	}
	c.copyResource(d, s)
}

// copyAllProblem returns why a CopyResource is invalid.
func (c *Context) copyAllProblem(d, s *resource) problem {
	ids := copyIDs{MessageCopyResourceInvalidSource, MessageCopyResourceInvalidSourceState, MessageCopyResourceInvalidDestinationState}
	if p := c.copyProblem(ids, d, s); p.found() {
		return p
	}
	switch {
	case d == s:
		return problem{ids.source, "SrcResource is DstResource"}
	case !sameShape(d, s):
		return problemf(ids.source, "SrcResource has %d x %d elements, %d mip levels and %d slices, DstResource %d x %d, %d and %d",
			s.width, s.height, s.mips, s.layers, d.width, d.height, d.mips, d.layers)
	case c.hasMapped(d):
		return problem{ids.destinationState, "DstResource is mapped"}
	case c.hasMapped(s):
		return problem{ids.sourceState, "SrcResource is mapped"}
	}
	return problem{}
}

// sameShape reports whether a and b have the same number and sizes of
// subresources.
func sameShape(a, b *resource) bool {
	return a.width == b.width && a.height == b.height && a.mips == b.mips && a.layers == b.layers
}

func (c *Context) copyResource(dst, src *resource) {
	d, s := c.resourceHandle(dst), c.resourceHandle(src)
	if c.callsDriver() {
		c.funcs.ResourceCopy(c.begin("pfnResourceCopy", mayMove), c.h, d, s)
		c.endMove("CopyResource")
	}
}

// CopySubresourceRegion copies box of a subresource of src to position x, y, z
// of a subresource of dst. A nil box means the entire subresource. It does
// nothing but add a message to the InfoQueue if the box is empty, the region is
// not contained in both subresources, the formats or structures are
// incompatible, dst is immutable, the context has mapped either subresource,
// source and destination overlap, or the region is part of a depth-stencil
// subresource.
//
//	DDI     pfnResourceCopyRegion
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-copysubresourceregion
func (c *Context) CopySubresourceRegion(dst Resource, dstSub, x, y, z uint32, src Resource, srcSub uint32, box *Box) {
	const api = "CopySubresourceRegion"
	c, l := c.lock(api)
	defer l.unlock()
	d, s := coreOf(dst), coreOf(src)
	if c.dropsAll(api) || c.dropsOn(api, c.copyRegionProblem(d, dstSub, s, srcSub)) ||
		c.dropsOn(api, regionProblem(d, dstSub, x, y, z, s, srcSub, box)) {
		return
	}
	if c.rec != nil {
		c.rec.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
		return
	}
	c.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
}

// copyRegionProblem returns why a CopySubresourceRegion is invalid, whatever its
// region.
func (c *Context) copyRegionProblem(d *resource, dstSub uint32, s *resource, srcSub uint32) problem {
	ids := copyIDs{MessageCopySubresourceRegionInvalidSource, MessageCopySubresourceRegionInvalidSourceState,
		MessageCopySubresourceRegionInvalidDestinationState}
	if p := c.copyProblem(ids, d, s); p.found() {
		return p
	}
	switch {
	case dstSub >= d.subresources():
		return problemf(MessageCopySubresourceRegionInvalidDestinationSubresource,
			"DstSubresource is %d, want less than %d", dstSub, d.subresources())
	case srcSub >= s.subresources():
		return problemf(MessageCopySubresourceRegionInvalidSourceSubresource,
			"SrcSubresource is %d, want less than %d", srcSub, s.subresources())
	case c.isMapped(d, dstSub):
		return problemf(ids.destinationState, "subresource %d of DstResource is mapped", dstSub)
	case c.isMapped(s, srcSub):
		return problemf(ids.sourceState, "subresource %d of SrcResource is mapped", srcSub)
	}
	return problem{}
}

// regionProblem returns why the region of a CopySubresourceRegion is invalid.
func regionProblem(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) problem {
	const id = MessageCopySubresourceRegionInvalidSourceBox
	from, full := s.fullBox(srcSub), d.fullBox(dstSub)
	all := from
	if box != nil {
		from = *box
	}
	if empty(&from) {
		return problemf(MessageCopySubresourceRegionEmptySourceBox, "pSrcBox is empty: %s", boxText(from))
	}
	if !within(&all, &from) {
		return problemf(id, "pSrcBox is %s, want it in %s", boxText(from), boxText(all))
	}
	to, ok := translate(&from, x, y, z)
	switch {
	case !ok || !within(&full, &to):
		return problemf(id, "%s at DstX %d, DstY %d, DstZ %d does not fit in %s", boxText(from), x, y, z, boxText(full))
	case d == s && dstSub == srcSub && overlap(&from, &to):
		return problemf(MessageCopySubresourceRegionInvalidSource, "source %s and destination %s overlap in subresource %d",
			boxText(from), boxText(to), dstSub)
	case (d.bind|s.bind)&BindDepthStencil != 0 && (from != all || to != full):
		return problemf(id, "pSrcBox is %s, want all of a depth-stencil texture, %s", boxText(from), boxText(all))
	case !wholeStructures(s, &from) || !wholeStructures(d, &to):
		return problemf(id, "pSrcBox is %s and DstX %d, want multiples of StructureByteStride %d", boxText(from), x, max(s.stride, d.stride))
	}
	return problem{}
}

// boxText describes a box as its corners.
func boxText(b Box) string {
	return fmt.Sprintf("(%d,%d,%d)-(%d,%d,%d)", b.Left, b.Top, b.Front, b.Right, b.Bottom, b.Back)
}

// wholeStructures reports whether the region of a structured buffer starts and
// ends at structure boundaries.
func wholeStructures(r *resource, b *Box) bool {
	return r.stride == 0 || b.Left%r.stride == 0 && b.Right%r.stride == 0
}

func (c *Context) copyRegion(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) {
	dst, src := c.resourceHandle(d), c.resourceHandle(s)
	if c.callsDriver() {
		c.funcs.ResourceCopyRegion(c.begin("pfnResourceCopyRegion", mayMove), c.h, dst, dstSub, x, y, z, src, srcSub, c.copyBox(box))
		c.endMove("CopySubresourceRegion")
	}
}

// copyBox returns a copy of box to pass to the driver.
func (c *Context) copyBox(box *Box) *Box {
	if box == nil {
		return nil
	}
	c.box = *box
	return &c.box
}

// UpdateSubresource copies data to box of a subresource, or to all of it if box
// is nil. data may be reused after it returns, on a deferred context too. It
// does nothing but add a message to the InfoQueue if dst does not have
// UsageDefault or is a depth-stencil texture, if the box is empty or not
// contained in the subresource, if the box is part of a constant buffer, or if
// data is too short.
//
//	DDI     pfnResourceUpdateSubresourceUP
//	In      rowPitch: bytes from one row of data to the next; unused for buffers
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-updatesubresource
func (c *Context) UpdateSubresource(dst Resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	const api = "UpdateSubresource"
	c, l := c.lock(api)
	defer l.unlock()
	r := coreOf(dst)
	if c.dropsAll(api) || c.dropsOn(api, c.updateProblem(r, sub, box)) {
		return
	}
	to := r.fullBox(sub)
	if box != nil {
		to = *box
	}
	row, rows := (to.Right-to.Left)*r.bytes, to.Bottom-to.Top
	if need := span(row, rows, rowPitch); uint64(len(data)) < need {
		c.dev.drop(c.call, api, problemf(MessageInvalidArgument, "pSrcData has %d bytes, want %d for %d rows with a pitch of %d",
			len(data), need, rows, rowPitch))
		return
	}
	c.addSize(uint64(row) * uint64(rows))
	if c.rec != nil {
		c.rec.update(r, sub, box, data, row, rows, rowPitch)
		return
	}
	c.update(r, sub, box, data, rowPitch, depthPitch)
}

// updateProblem returns why the destination of an UpdateSubresource is invalid.
func (c *Context) updateProblem(r *resource, sub uint32, box *Box) problem {
	switch {
	case r == nil:
		return problem{MessageInvalidObject, "DstResource is nil"}
	case !r.usable(c.dev):
		return r.misused(c.dev, MessageInvalidObject, "DstResource")
	case sub >= r.subresources():
		return problemf(MessageUpdateSubresourceInvalidDestinationSubresource,
			"DstSubresource is %d, want less than %d", sub, r.subresources())
	case r.usage != UsageDefault:
		return problemf(MessageUpdateSubresourceInvalidDestinationState, "Usage of DstResource is %d, want %d", r.usage, UsageDefault)
	case r.bind&BindDepthStencil != 0:
		return problem{MessageUpdateSubresourceInvalidDestinationState, "DstResource is a depth-stencil texture"}
	case box == nil:
		return problem{}
	}
	return r.boxProblem(r.fullBox(sub), box)
}

// boxProblem returns why an UpdateSubresource cannot change box of all.
func (r *resource) boxProblem(all Box, box *Box) problem {
	const id = MessageUpdateSubresourceInvalidDestinationBox
	switch {
	case r.bind&BindConstantBuffer != 0 && *box != all:
		return problemf(id, "pDstBox is %s, want all of a constant buffer, %s", boxText(*box), boxText(all))
	case empty(box):
		return problemf(MessageUpdateSubresourceEmptyDestBox, "pDstBox is empty: %s", boxText(*box))
	case !within(&all, box):
		return problemf(id, "pDstBox is %s, want it in %s", boxText(*box), boxText(all))
	case !wholeStructures(r, box):
		return problemf(id, "pDstBox is %s, want multiples of StructureByteStride %d", boxText(*box), r.stride)
	}
	return problem{}
}

func (c *Context) update(r *resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	h := c.resourceHandle(r)
	if c.callsDriver() {
		c.funcs.ResourceUpdateSubresourceUP(c.begin("pfnResourceUpdateSubresourceUP", mayMove), c.h, h, sub, c.copyBox(box), data, rowPitch, depthPitch)
		c.endMove("UpdateSubresource")
	}
}

// ClearRenderTargetView sets all texels of the view to color, in the order R,
// G, B, A. Viewports and scissor rectangles do not apply.
//
//	DDI     pfnClearRenderTargetView
func (c *Context) ClearRenderTargetView(v *RenderTargetView, color [4]float32) {
	const api = "ClearRenderTargetView"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.viewProblem(MessageInvalidObject, "RenderTargetView", v)) {
		return
	}
	if c.rec != nil {
		c.rec.clearTarget(v, color)
		return
	}
	c.clearTarget(v, color)
}

// viewProblem returns why the application may not pass v, which is argument name.
func (c *Context) viewProblem(id MessageID, name string, v *RenderTargetView) problem {
	if v == nil {
		return problem{id, name + " is nil"}
	}
	if text := v.misuse(c.dev); text != "" {
		return problem{id, name + " " + text}
	}
	return problem{}
}

func (c *Context) clearTarget(v *RenderTargetView, color [4]float32) {
	h := c.viewHandle(v)
	if c.callsDriver() {
		c.funcs.ClearRenderTargetView(c.begin("pfnClearRenderTargetView", mayMove), c.h, h, color)
		c.endMove("ClearRenderTargetView")
	}
}

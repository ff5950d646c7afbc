package d3d11

import (
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

// copyAllowed checks the conditions that do not depend on the copied region.
func (c *Context) copyAllowed(dst, src *resource) bool {
	if dst == nil || src == nil || !dst.usable(c.dev) || !src.usable(c.dev) {
		return false
	}
	if dst.dimension != src.dimension || dst.usage == UsageImmutable {
		return false
	}
	if dst.dimension == umddi.Buffer {
		return dst.stride == 0 || src.stride == 0 || dst.stride == src.stride
	}
	return copyCompatible(dst.format, src.format) &&
		c.dev.has(dst.format, umddi.FormatCopy) && c.dev.has(src.format, umddi.FormatCopy)
}

// CopyResource copies all of src to dst. It does nothing unless they are
// different resources with the same dimension, the same size and compatible
// formats, dst is not immutable, and the context has mapped neither.
//
//	DDI     pfnResourceCopy
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-copyresource
func (c *Context) CopyResource(dst, src Resource) {
	d, s := coreOf(dst), coreOf(src)
	if !c.ready() || d == s || !c.copyAllowed(d, s) || !sameShape(d, s) || c.hasMapped(d) || c.hasMapped(s) {
		return
	}
	c.recordUse(d, allSubresources, false)
	c.recordUse(s, allSubresources, false)
	c.forget(d)
	if c.rec != nil {
		c.rec.copyResource(d, s)
		return
	}
	c.copyResource(d, s)
}

// sameShape reports whether a and b have the same number and sizes of
// subresources.
func sameShape(a, b *resource) bool {
	return a.width == b.width && a.height == b.height && a.mips == b.mips && a.layers == b.layers
}

func (c *Context) copyResource(dst, src *resource) {
	d, s := c.resourceHandle(dst), c.resourceHandle(src)
	if c.callsDriver() {
		c.funcs.ResourceCopy(c.begin(mayMove), c.h, d, s)
		c.end()
	}
}

// CopySubresourceRegion copies box of a subresource of src to position x, y, z
// of a subresource of dst. A nil box means the entire subresource. It does
// nothing if the box is empty, the region is not contained in both
// subresources, the formats or structures are incompatible, dst is immutable,
// the context has mapped either subresource, source and destination overlap, or
// the region is part of a depth-stencil subresource.
//
//	DDI     pfnResourceCopyRegion
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-copysubresourceregion
func (c *Context) CopySubresourceRegion(dst Resource, dstSub, x, y, z uint32, src Resource, srcSub uint32, box *Box) {
	d, s := coreOf(dst), coreOf(src)
	if !c.ready() || !c.copyAllowed(d, s) || dstSub >= d.subresources() || srcSub >= s.subresources() {
		return
	}
	if c.isMapped(d, dstSub) || c.isMapped(s, srcSub) || !regionAllowed(d, dstSub, x, y, z, s, srcSub, box) {
		return
	}
	c.recordUse(d, dstSub, false)
	c.recordUse(s, srcSub, false)
	c.forget(d)
	if c.rec != nil {
		c.rec.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
		return
	}
	c.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
}

// regionAllowed checks the region of a CopySubresourceRegion.
func regionAllowed(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) bool {
	from, full := s.fullBox(srcSub), d.fullBox(dstSub)
	all := from
	if box != nil {
		from = *box
	}
	if empty(&from) || !within(&all, &from) {
		return false
	}
	to, ok := translate(&from, x, y, z)
	if !ok || !within(&full, &to) {
		return false
	}
	if d == s && dstSub == srcSub && overlap(&from, &to) {
		return false
	}
	if (d.bind|s.bind)&BindDepthStencil != 0 && (from != all || to != full) {
		return false
	}
	return wholeStructures(s, &from) && wholeStructures(d, &to)
}

// wholeStructures reports whether the region of a structured buffer starts and
// ends at structure boundaries.
func wholeStructures(r *resource, b *Box) bool {
	return r.stride == 0 || b.Left%r.stride == 0 && b.Right%r.stride == 0
}

func (c *Context) copyRegion(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) {
	dst, src := c.resourceHandle(d), c.resourceHandle(s)
	if c.callsDriver() {
		c.funcs.ResourceCopyRegion(c.begin(mayMove), c.h, dst, dstSub, x, y, z, src, srcSub, c.copyBox(box))
		c.end()
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
// does nothing if dst does not have UsageDefault or is a depth-stencil texture,
// if the box is empty or not contained in the subresource, if the box is part
// of a constant buffer, or if data is too short.
//
//	DDI     pfnResourceUpdateSubresourceUP
//	In      rowPitch: bytes from one row of data to the next; unused for buffers
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-updatesubresource
func (c *Context) UpdateSubresource(dst Resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	r := coreOf(dst)
	if !c.ready() || r == nil || !r.usable(c.dev) || sub >= r.subresources() || !r.updateAllowed(sub, box) {
		return
	}
	to := r.fullBox(sub)
	if box != nil {
		to = *box
	}
	row, rows := (to.Right-to.Left)*r.bytes, to.Bottom-to.Top
	if uint64(len(data)) < span(row, rows, rowPitch) {
		return
	}
	if c.rec != nil {
		c.rec.update(r, sub, box, data, row, rows, rowPitch)
		return
	}
	c.update(r, sub, box, data, rowPitch, depthPitch)
}

// updateAllowed checks the destination of an UpdateSubresource.
func (r *resource) updateAllowed(sub uint32, box *Box) bool {
	if r.usage != UsageDefault || r.bind&BindDepthStencil != 0 {
		return false
	}
	if box == nil {
		return true
	}
	all := r.fullBox(sub)
	if r.bind&BindConstantBuffer != 0 && *box != all {
		return false
	}
	return !empty(box) && within(&all, box) && wholeStructures(r, box)
}

func (c *Context) update(r *resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	h := c.resourceHandle(r)
	if c.callsDriver() {
		c.funcs.ResourceUpdateSubresourceUP(c.begin(mayMove), c.h, h, sub, c.copyBox(box), data, rowPitch, depthPitch)
		c.end()
	}
}

// ClearRenderTargetView sets all texels of the view to color, in the order R,
// G, B, A. Viewports and scissor rectangles do not apply.
//
//	DDI     pfnClearRenderTargetView
func (c *Context) ClearRenderTargetView(v *RenderTargetView, color [4]float32) {
	if !c.ready() || v == nil || !v.usable(c.dev) {
		return
	}
	if c.rec != nil {
		c.rec.clearTarget(v, color)
		return
	}
	c.clearTarget(v, color)
}

func (c *Context) clearTarget(v *RenderTargetView, color [4]float32) {
	h := c.viewHandle(v)
	if c.callsDriver() {
		c.funcs.ClearRenderTargetView(c.begin(mayMove), c.h, h, color)
		c.end()
	}
}

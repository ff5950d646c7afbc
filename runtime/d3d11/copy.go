package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Box is D3D11_BOX: half-open, in elements; in bytes for a buffer.
type Box = umddi.Box

// empty says whether the box has nothing in it.
func empty(b *Box) bool {
	return b.Left >= b.Right || b.Top >= b.Bottom || b.Front >= b.Back
}

// whole returns the box of a whole subresource.
func (r *resource) whole(sub uint32) Box {
	w, h := r.extent(sub)
	return Box{Right: w, Bottom: h, Back: 1}
}

// within says whether b lies in a.
func within(a, b *Box) bool {
	return b.Right <= a.Right && b.Bottom <= a.Bottom && b.Back <= a.Back
}

// moved returns b with its origin at x, y, z, and false if it lies too far out.
func moved(b *Box, x, y, z uint32) (Box, bool) {
	w, h, d := b.Right-b.Left, b.Bottom-b.Top, b.Back-b.Front
	m := Box{Left: x, Top: y, Front: z, Right: x + w, Bottom: y + h, Back: z + d}
	return m, m.Right > x && m.Bottom > y && m.Back > z
}

// overlap says whether two boxes have a point in common.
func overlap(a, b *Box) bool {
	return a.Left < b.Right && b.Left < a.Right && a.Top < b.Bottom && b.Top < a.Bottom
}

// copyAllowed checks what does not depend on the region that is copied.
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

// CopyResource copies all of src to dst. It does nothing unless both are of one
// dimension, size and compatible format and different, dst is not immutable,
// and neither is mapped by the context.
//
//	DDI     pfnResourceCopy
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-copyresource
func (c *Context) CopyResource(dst, src Resource) {
	d, s := coreOf(dst), coreOf(src)
	if !c.ready() || d == s || !c.copyAllowed(d, s) || !sameShape(d, s) || c.hasMapped(d) || c.hasMapped(s) {
		return
	}
	c.touches(d, everything, false)
	c.touches(s, everything, false)
	c.forget(d)
	if c.rec != nil {
		c.rec.copyResource(d, s)
		return
	}
	c.copyResource(d, s)
}

// sameShape says whether the subresources are of the same number and sizes.
func sameShape(a, b *resource) bool {
	return a.width == b.width && a.height == b.height && a.mips == b.mips && a.layers == b.layers
}

func (c *Context) copyResource(dst, src *resource) {
	d, s := c.resourceHandle(dst), c.resourceHandle(src)
	if c.calls() {
		c.funcs.ResourceCopy(c.begin(mayMove), c.h, d, s)
		c.end()
	}
}

// CopySubresourceRegion copies box of a subresource of src, all of it if box is
// nil, to the place in dst that starts at x, y, z. It does nothing if the box
// is empty or the region reaches out of either subresource; if formats or
// structures do not fit; if dst is immutable; if the context has mapped either
// subresource; if both are one subresource and the regions overlap; and for
// less than a whole depth-stencil subresource.
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
	c.touches(d, dstSub, false)
	c.touches(s, srcSub, false)
	c.forget(d)
	if c.rec != nil {
		c.rec.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
		return
	}
	c.copyRegion(d, dstSub, x, y, z, s, srcSub, box)
}

// regionAllowed checks the region of a CopySubresourceRegion.
func regionAllowed(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) bool {
	from, full := s.whole(srcSub), d.whole(dstSub)
	all := from
	if box != nil {
		from = *box
	}
	if empty(&from) || !within(&all, &from) {
		return false
	}
	to, ok := moved(&from, x, y, z)
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

// wholeStructures says whether the region of a structured buffer begins and
// ends between structures.
func wholeStructures(r *resource, b *Box) bool {
	return r.stride == 0 || b.Left%r.stride == 0 && b.Right%r.stride == 0
}

func (c *Context) copyRegion(d *resource, dstSub, x, y, z uint32, s *resource, srcSub uint32, box *Box) {
	dst, src := c.resourceHandle(d), c.resourceHandle(s)
	if c.calls() {
		c.funcs.ResourceCopyRegion(c.begin(mayMove), c.h, dst, dstSub, x, y, z, src, srcSub, c.keepBox(box))
		c.end()
	}
}

// keepBox returns a copy of box that the driver can be given.
func (c *Context) keepBox(box *Box) *Box {
	if box == nil {
		return nil
	}
	c.box = *box
	return &c.box
}

// UpdateSubresource copies data to box of a subresource, to all of it if box is
// nil. The data is copied before it returns, on a deferred context too. It does
// nothing if dst is not of UsageDefault or is a depth-stencil; if the box is
// empty or reaches out; if it is less than a whole constant buffer; and if data
// does not have all rows.
//
//	DDI     pfnResourceUpdateSubresourceUP
//	In      rowPitch: bytes from row to row of data; a buffer does not use it
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-updatesubresource
func (c *Context) UpdateSubresource(dst Resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	r := coreOf(dst)
	if !c.ready() || r == nil || !r.usable(c.dev) || sub >= r.subresources() || !r.updateAllowed(sub, box) {
		return
	}
	to := r.whole(sub)
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
	all := r.whole(sub)
	if r.bind&BindConstantBuffer != 0 && *box != all {
		return false
	}
	return !empty(box) && within(&all, box) && wholeStructures(r, box)
}

func (c *Context) update(r *resource, sub uint32, box *Box, data []byte, rowPitch, depthPitch uint32) {
	h := c.resourceHandle(r)
	if c.calls() {
		c.funcs.ResourceUpdateSubresourceUP(c.begin(mayMove), c.h, h, sub, c.keepBox(box), data, rowPitch, depthPitch)
		c.end()
	}
}

// ClearRenderTargetView sets all texels of the view, in the order R, G, B, A.
// Viewports and scissors do not matter.
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
	if c.calls() {
		c.funcs.ClearRenderTargetView(c.begin(mayMove), c.h, h, color)
		c.end()
	}
}

package umd

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// resourceCopy copies all subresources of src to dst.
//
//	DDI     PFND3D10DDI_RESOURCECOPY, d3d10umddi.h
//	Effect  COPY packets over the entire allocations, since resources of one
//	        size have one layout. If the sizes differ, or dst is src, nothing
//	        is done
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func resourceCopy(t *ddi.Thread, h umddi.HDevice, dst, src umddi.HResource) {
	d := deviceOf(h)
	if hr := d.copyResource(t, d.resources.get(dst.Object), d.resources.get(src.Object)); hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
	}
}

func (d *device) copyResource(t *ddi.Thread, to, from *resource) ddi.HRESULT {
	if hr := d.ensureInitialData(t, to); hr.Failed() {
		return hr
	}
	if hr := d.ensureInitialData(t, from); hr.Failed() || to == from || !to.same(&from.layout) {
		return hr
	}
	return d.recordCopy(t, to.alloc(), 0, from.alloc(), 0, to.bytes)
}

// A regionCopy holds the arguments of ResourceCopyRegion.
type regionCopy struct {
	dstSub, x, y, z uint32
	srcSub          uint32
	box             *umddi.Box // nil: the entire subresource
}

// resourceCopyRegion copies a region of a subresource to another subresource,
// or to a region of the same one that does not overlap.
//
//	DDI     PFND3D10DDI_RESOURCECOPYREGION, d3d10umddi.h
//	In      (x, y): destination, in elements; z: 0; box: the region of the
//	        source, nil for all of it
//	Effect  SET_STATE twice and COPY_2D; for buffers, COPY packets. Nothing is
//	        done if a region is not contained in its subresource, the element
//	        sizes differ, or only one resource is a buffer
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func resourceCopyRegion(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
	d := deviceOf(h)
	c := regionCopy{dstSub: dstSub, x: x, y: y, z: z, srcSub: srcSub, box: box}
	d.report(t, d.copyRegion(t, d.resources.get(dst.Object), d.resources.get(src.Object), c), ddi.EOutOfMemory)
}

func (d *device) copyRegion(t *ddi.Thread, to, from *resource, c regionCopy) ddi.HRESULT {
	if hr := d.ensureInitialData(t, to); hr.Failed() {
		return hr
	}
	if hr := d.ensureInitialData(t, from); hr.Failed() {
		return hr
	}
	if uint64(c.dstSub) >= uint64(len(to.subs)) || uint64(c.srcSub) >= uint64(len(from.subs)) {
		return ddi.EFail
	}
	part, ok := from.subs[c.srcSub].region(c.box)
	if !ok || c.z != 0 || to.dim != from.dim || to.format != from.format ||
		!to.subs[c.dstSub].fits(c.x, c.y, part.width(), part.height()) {
		return ddi.OK
	}
	if to.dim == umddi.Buffer {
		return d.recordCopy(t, to.alloc(), uint64(c.x), from.alloc(), uint64(part.x0), uint64(part.width()))
	}
	return d.recordCopy2D(t, to.surface(c.dstSub), from.surface(c.srcSub), pkt.Copy2D{
		SrcX: uint16(part.x0), SrcY: uint16(part.y0), DstX: uint16(c.x), DstY: uint16(c.y),
		W: uint16(part.width()), H: uint16(part.height()),
	})
}

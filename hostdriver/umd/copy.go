package umd

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// resourceCopy copies all subresources of src to dst.
//
//	DDI     PFND3D10DDI_RESOURCECOPY, d3d10umddi.h
//	Effect  COPY packets over the whole allocations, as resources of one size
//	        have one layout. Resources of different sizes, and a resource and
//	        itself, do nothing
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func resourceCopy(t *ddi.Thread, h umddi.HDevice, dst, src umddi.HResource) {
	d := deviceOf(h)
	d.report(t, d.copyResource(t, dst, src), ddi.EOutOfMemory)
}

func (d *device) copyResource(t *ddi.Thread, dst, src umddi.HResource) ddi.HRESULT {
	to, hr := d.use(t, dst)
	if hr.Failed() {
		return hr
	}
	from, hr := d.use(t, src)
	if hr.Failed() || to == from || !to.same(from.layout) {
		return hr
	}
	return d.recordCopy(t, to.alloc(), 0, from.alloc(), 0, to.bytes)
}

// resourceCopyRegion copies a part of a subresource to another, or elsewhere in
// it where the two parts do not overlap.
//
//	DDI     PFND3D10DDI_RESOURCECOPYREGION, d3d10umddi.h
//	In      (x, y): where it goes, in elements; z: 0; box: the part of the
//	        source, nil is all
//	Effect  SET_STATE twice and COPY_2D; of buffers, COPY packets. Parts that
//	        do not lie in their subresource, elements of different size, and a
//	        buffer with a texture do nothing
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func resourceCopyRegion(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
	d := deviceOf(h)
	d.report(t, d.copyRegion(t, dst, dstSub, x, y, z, src, srcSub, box), ddi.EOutOfMemory)
}

func (d *device) copyRegion(t *ddi.Thread, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) ddi.HRESULT {
	to, hr := d.use(t, dst)
	if hr.Failed() {
		return hr
	}
	from, hr := d.use(t, src)
	if hr.Failed() {
		return hr
	}
	if uint64(dstSub) >= uint64(len(to.subs)) || uint64(srcSub) >= uint64(len(from.subs)) {
		return ddi.EFail
	}
	part, ok := from.subs[srcSub].region(box)
	if !ok || z != 0 || to.dim != from.dim || to.format != from.format ||
		!to.subs[dstSub].fits(x, y, part.width(), part.height()) {
		return ddi.OK
	}
	if to.dim == umddi.Buffer {
		return d.recordCopy(t, to.alloc(), uint64(x), from.alloc(), uint64(part.x0), uint64(part.width()))
	}
	return d.recordCopy2D(t, to.surface(dstSub), from.surface(srcSub), pkt.Copy2D{
		SrcX: uint16(part.x0), SrcY: uint16(part.y0), DstX: uint16(x), DstY: uint16(y),
		W: uint16(part.width()), H: uint16(part.height()),
	})
}

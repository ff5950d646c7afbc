package umd

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// uploadBytes is the size of an upload allocation, in bytes. The largest row of
// a texture fits.
const uploadBytes = pkt.MaxCoord << pkt.Format128

// uploads is a pool of host memory for the data of updates. The current
// allocation is filled from its start and stays locked until the batch is
// submitted, so an update does not enter the kernel.
type uploads struct {
	pool

	data []byte // the current allocation while it is locked, else nil
	pos  uint64 // offset of the first free byte
}

func (u *uploads) init() {
	u.allocator, u.limit = system(uploadBytes), maxInstances
}

// reserve returns n bytes to write, at most uploadBytes, and their offset in
// the current allocation. They are valid until the next reserve or submit.
func (u *uploads) reserve(t *ddi.Thread, d *device, n uint64) (p []byte, at uint64, hr ddi.HRESULT) {
	at = align(u.pos, pitchAlign)
	if len(u.instances) == 0 || at+n > uploadBytes {
		if hr := u.close(t, d); hr.Failed() {
			return nil, 0, hr
		}
		if u.data, hr = d.acquire(t, &u.pool, false); hr.Failed() {
			return nil, 0, hr
		}
		at = 0
	}
	if u.data == nil {
		// The GPU may still read the bytes before at.
		a := u.alloc()
		if u.data, hr = d.lock(t, &d.locker, a, umddi.Lock{IgnoreSync: true}); hr.Failed() {
			return nil, 0, hr
		}
	}
	u.pos = at + n
	return u.data[at:][:n], at, ddi.OK
}

// close unlocks the current allocation if it is locked.
func (u *uploads) close(t *ddi.Thread, d *device) ddi.HRESULT {
	if u.data == nil {
		return ddi.OK
	}
	u.data = nil
	return d.unlock(t, &d.locker, u.alloc())
}

// resourceUpdateSubresourceUP writes a part of a subresource, in order with the
// commands before and after it.
//
//	DDI     PFND3D10DDI_RESOURCEUPDATESUBRESOURCEUP, d3d10umddi.h
//	In      box: the part to write, nil for all of it; data: its rows, rowPitch
//	        bytes apart, copied before the call returns
//	Effect  a copy from host memory for each piece of at most uploadBytes
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved. A box that is
//	        not contained in the subresource does nothing
func resourceUpdateSubresourceUP(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, sub uint32, box *umddi.Box, data []byte, rowPitch, _ uint32) {
	d := deviceOf(h)
	d.report(t, d.update(t, d.resources.get(dst.Object), sub, box, data, rowPitch), ddi.EOutOfMemory)
}

func (d *device) update(t *ddi.Thread, r *resource, sub uint32, box *umddi.Box, data []byte, rowPitch uint32) ddi.HRESULT {
	part, hr := r.updateRegion(sub, box, data, rowPitch)
	if hr != ddi.OK {
		return hr
	}
	if hr := d.ensureInitialData(t, r); hr.Failed() {
		return hr
	}
	return d.updatePart(t, r, sub, part, data, rowPitch)
}

// updateRegion returns the part of a subresource that an update writes. The result
// is False if the part is empty or outside, and EFail if the resource or
// subresource does not exist or data is too short.
func (r *resource) updateRegion(sub uint32, box *umddi.Box, data []byte, rowPitch uint32) (region, ddi.HRESULT) {
	if r == nil || uint64(sub) >= uint64(len(r.subs)) {
		return region{}, ddi.EFail
	}
	part, ok := r.subs[sub].region(box)
	if !ok {
		return region{}, ddi.False
	}
	row := uint64(part.width()) << r.format
	if uint64(part.height()-1)*uint64(rowPitch)+row > uint64(len(data)) {
		return region{}, ddi.EFail
	}
	return part, ddi.OK
}

// updatePart records the update of a part of a subresource.
func (d *device) updatePart(t *ddi.Thread, r *resource, sub uint32, part region, data []byte, rowPitch uint32) ddi.HRESULT {
	if r.dim == umddi.Buffer {
		return d.updateBuffer(t, r, uint64(part.x0), data[:part.width()])
	}
	return d.updateTexture(t, r.surface(sub), part, data, uint64(rowPitch))
}

func (d *device) updateBuffer(t *ddi.Thread, r *resource, to uint64, data []byte) ddi.HRESULT {
	for len(data) > 0 {
		n := min(uint64(len(data)), uploadBytes)
		p, at, hr := d.uploads.reserve(t, d, n)
		if hr.Failed() {
			return hr
		}
		copy(p, data)
		if hr := d.recordCopy(t, r.alloc(), to, d.uploads.alloc(), at, n); hr.Failed() {
			return hr
		}
		data, to = data[n:], to+n
	}
	return ddi.OK
}

func (d *device) updateTexture(t *ddi.Thread, dst surface, part region, data []byte, rowPitch uint64) ddi.HRESULT {
	row := uint64(part.width()) << dst.format
	pitch := align(row, pitchAlign)
	most := uint32(uploadBytes / pitch) // rows per piece
	for y := uint32(0); y < part.height(); {
		rows := min(part.height()-y, most)
		p, at, hr := d.uploads.reserve(t, d, pitch*uint64(rows))
		if hr.Failed() {
			return hr
		}
		copyRows(p, pitch, data[uint64(y)*rowPitch:], rowPitch, row, uint64(rows))
		src := surface{d.uploads.alloc(), dst.format, subresource{
			offset: uint32(at), pitch: uint32(pitch), width: part.width(), height: rows,
		}}
		hr = d.recordCopy2D(t, dst, src, pkt.Copy2D{
			DstX: uint16(part.x0), DstY: uint16(part.y0 + y), W: uint16(part.width()), H: uint16(rows),
		})
		if hr.Failed() {
			return hr
		}
		y += rows
	}
	return ddi.OK
}

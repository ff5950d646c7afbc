package umd

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A resource is a buffer or a texture: a layout and a pool of allocations with
// that layout. Only a DYNAMIC resource has more than one allocation.
type resource struct {
	layout
	pool
	usage umddi.Usage

	initial *allocation // initial data until the first use; then nil
	mapped  int         // number of maps without unmap
}

// surface returns a subresource of the current allocation.
func (r *resource) surface(sub uint32) surface {
	return surface{r.alloc(), r.format, r.subs[sub]}
}

func calcPrivateResourceSize(*ddi.Thread, umddi.HDevice, *umddi.CreateResource) int {
	return privateBytes
}

// createResource creates a resource and its allocation.
//
//	DDI     PFND3D11DDI_CREATERESOURCE, d3d10umddi.h
//	Caller  any thread
//	Effect  AllocateCb; initial data is copied through LockCb before the call
//	        returns. If the allocation may be in VRAM, the GPU copies the data
//	        to it before the first use of the resource
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved; nothing is kept
func createResource(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateResource, res umddi.HResource, rt umddi.HRTResource) {
	d := deviceOf(h)
	r, hr := d.newResource(t, arg, rt)
	if hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
		return
	}
	d.resources.put(res.Object, r)
}

func (d *device) newResource(t *ddi.Thread, arg *umddi.CreateResource, rt umddi.HRTResource) (*resource, ddi.HRESULT) {
	l, hr := newLayout(arg)
	if hr.Failed() {
		return nil, hr
	}
	at := d.place(arg, l.bytes)
	r := &resource{layout: l, usage: arg.Usage, pool: pool{limit: 1, allocator: allocator{
		rt: rt, desc: describe(l, at), primary: arg.Primary,
	}}}
	if arg.Usage == umddi.UsageDynamic && len(l.subs) == 1 {
		// A discard drops an entire instance, so only a resource with a single
		// subresource may be renamed.
		r.limit = maxInstances
	}
	if hr := d.grow(t, &r.pool); hr.Failed() {
		return nil, hr
	}
	if arg.InitialDataUP == nil {
		return r, ddi.OK
	}
	if hr := d.setInitialData(t, r, arg.InitialDataUP); hr.Failed() {
		return nil, first(hr, d.free(t, r.alloc()))
	}
	return r, ddi.OK
}

// place returns the segments in which the allocations of a resource of n bytes
// may reside. Only allocations of up to half of VRAM are restricted to it, so
// that the two allocations of a copy always fit. Whether there is memory for an
// allocation is the kernel's to decide.
func (d *device) place(arg *umddi.CreateResource, n uint64) privdata.Place {
	switch {
	case arg.Usage == umddi.UsageStaging || arg.Usage == umddi.UsageDynamic:
		return privdata.System
	case arg.Primary || arg.BindFlags&(umddi.BindRenderTarget|umddi.BindPresent) != 0, n > d.adapter.info.VRAMBytes/2:
		return privdata.Either
	}
	return privdata.Local
}

// describe returns the private data of an allocation with the layout l. For a
// texture the surface is its first subresource.
func describe(l layout, p privdata.Place) privdata.Allocation {
	a := privdata.Allocation{Place: p, Bytes: l.bytes}
	if l.dim == umddi.Texture2D {
		s := l.subs[0]
		a.Width, a.Height, a.Pitch, a.Format = s.width, s.height, s.pitch, l.format
	}
	return a
}

// setInitialData writes the initial data to the resource's allocation if that
// is in host memory, else to a separate allocation with the same layout. On
// failure it frees that one.
func (d *device) setInitialData(t *ddi.Thread, r *resource, init []umddi.SubresourceUP) ddi.HRESULT {
	if len(init) != len(r.subs) {
		return ddi.EFail
	}
	l, a := new(locker), r.alloc()
	if r.desc.Place != privdata.System {
		k := system(r.bytes)
		staged, hr := d.allocate(t, &k)
		if hr.Failed() {
			return hr
		}
		a = staged
	}
	hr := d.fill(t, l, a, r.layout, init)
	if a == r.alloc() {
		return hr
	}
	if hr.Failed() {
		return first(hr, d.free(t, a))
	}
	r.initial = a
	return ddi.OK
}

// fill writes the data of all subresources to an allocation that is not in use.
func (d *device) fill(t *ddi.Thread, l *locker, a *allocation, lay layout, init []umddi.SubresourceUP) ddi.HRESULT {
	data, hr := d.lock(t, l, a, umddi.Lock{})
	if hr.Failed() {
		return hr
	}
	hr = ddi.OK
	for i, s := range lay.subs {
		row := uint64(s.width) << lay.format
		if !copyRows(data[s.offset:], uint64(s.pitch), init[i].SysMem, uint64(init[i].RowPitch), row, uint64(s.height)) {
			hr = ddi.EFail
		}
	}
	return first(hr, d.unlock(t, l, a))
}

// copyRows copies rows of n bytes. It reports false and copies nothing if src
// is too short. dst must be long enough.
func copyRows(dst []byte, dstPitch uint64, src []byte, srcPitch, n, rows uint64) bool {
	if (rows-1)*srcPitch+n > uint64(len(src)) {
		return false
	}
	for y := range rows {
		copy(dst[y*dstPitch:][:n], src[y*srcPitch:])
	}
	return true
}

// use returns the resource of a handle for use by the GPU. It records the copy
// of the initial data, if that is still to be done. It returns EFail if the
// resource does not exist.
func (d *device) use(t *ddi.Thread, res umddi.HResource) (*resource, ddi.HRESULT) {
	r := d.resources.get(res.Object)
	return r, d.ensureInitialData(t, r)
}

// ensureInitialData records the copy of the initial data if that is still to be
// done. It returns EFail if r is nil.
func (d *device) ensureInitialData(t *ddi.Thread, r *resource) ddi.HRESULT {
	switch {
	case r == nil:
		return ddi.EFail
	case r.initial == nil:
		return ddi.OK
	}
	return d.copyInitialData(t, r)
}

// copyInitialData records the copy of the initial data, regardless of
// predication. If it fails, the next use tries again.
func (d *device) copyInitialData(t *ddi.Thread, r *resource) ddi.HRESULT {
	p := d.predicate
	d.predicate = predicate{}
	hr := d.recordCopy(t, r.alloc(), 0, r.initial, 0, r.bytes)
	d.predicate = p
	if hr.Failed() {
		return hr
	}
	a := r.initial
	r.initial = nil
	return d.free(t, a)
}

// destroyResource destroys a resource. Allocations used by the current batch
// are kept until it is submitted.
//
//	DDI     PFND3D10DDI_DESTROYRESOURCE, d3d10umddi.h
//	Caller  any thread, but not while another uses the resource
func destroyResource(t *ddi.Thread, h umddi.HDevice, res umddi.HResource) {
	d := deviceOf(h)
	r := d.resources.remove(res.Object)
	if r == nil {
		d.report(t, ddi.EFail)
		return
	}
	d.report(t, d.releaseResource(t, r))
}

// releaseResource unmaps a resource and frees its allocations.
func (d *device) releaseResource(t *ddi.Thread, r *resource) ddi.HRESULT {
	hr, l := ddi.OK, new(locker)
	for ; r.mapped > 0; r.mapped-- {
		hr = first(hr, d.unlock(t, l, r.alloc()))
	}
	as := r.instances
	if r.initial != nil {
		as = append(as, r.initial)
	}
	return first(hr, d.free(t, as...))
}

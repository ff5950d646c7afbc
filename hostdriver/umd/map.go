package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// mapErrors are the errors besides DDIDeviceRemoved that a map may report.
func mapErrors(flags umddi.MapFlags) []ddi.HRESULT {
	if flags&umddi.MapDoNotWait != 0 {
		return []ddi.HRESULT{ddi.EOutOfMemory, ddi.DDIStillDrawing}
	}
	return []ddi.HRESULT{ddi.EOutOfMemory}
}

// mappable returns the resource of a handle, or EFail if it does not exist or
// lacks the usage or the subresource.
func (d *device) mappable(res umddi.HResource, sub uint32, usage umddi.Usage) (*resource, ddi.HRESULT) {
	r := d.resources.get(res.Object)
	if r == nil || r.usage != usage || uint64(sub) >= uint64(len(r.subs)) {
		return nil, ddi.EFail
	}
	return r, ddi.OK
}

// mappedAs counts a map and returns the mapping for the runtime.
func (r *resource) mappedAs(sub uint32, data []byte) umddi.Mapped {
	r.mapped++
	s := r.subs[sub]
	return s.mapped(data[s.offset:])
}

// mapped returns the runtime's mapping of a subresource at the start of data.
func (s subresource) mapped(data []byte) umddi.Mapped {
	return umddi.Mapped{
		Data:     data[:s.size():s.size()],
		RowPitch: s.pitch, DepthPitch: uint32(s.size()),
	}
}

// stagingResourceMap maps a subresource of a STAGING resource.
//
//	DDI     PFND3D10DDI_RESOURCEMAP, d3d10umddi.h
//	Effect  submits the batch if it uses the resource, then waits for the GPU
//	        unless MapDoNotWait is set
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved, and
//	        DDIStillDrawing with MapDoNotWait; then nothing is mapped
func stagingResourceMap(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
	d := deviceOf(h)
	r, hr := d.mappable(res, sub, umddi.UsageStaging)
	if hr.Failed() {
		d.report(t, hr)
		return umddi.Mapped{}
	}
	data, hr := d.lockIdle(t, r.alloc(), umddi.Lock{
		ReadOnly: typ == umddi.MapRead, DoNotWait: flags&umddi.MapDoNotWait != 0,
	})
	if hr.Failed() {
		d.report(t, hr, mapErrors(flags)...)
		return umddi.Mapped{}
	}
	return r.mappedAs(sub, data)
}

// lockIdle locks an allocation. It first submits the batch if that uses it.
func (d *device) lockIdle(t *ddi.Thread, a *allocation, mode umddi.Lock) ([]byte, ddi.HRESULT) {
	if d.batch.uses(a) {
		if hr := d.submit(t); hr.Failed() {
			return nil, hr
		}
	}
	return d.lock(t, &d.locker, a, mode)
}

// mapDiscard maps a DYNAMIC resource and discards its contents. It maps an
// allocation that is not in use, so that earlier work still reads the old
// contents and the caller does not wait, up to maxInstances allocations.
//
//	DDI     PFND3D10DDI_RESOURCEMAP, d3d10umddi.h
//	Effect  may add an allocation; at the limit, may submit the batch and wait
//	Returns as stagingResourceMap
func mapDiscard(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, _ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
	d := deviceOf(h)
	r, hr := d.mappable(res, sub, umddi.UsageDynamic)
	if hr.Failed() {
		d.report(t, hr)
		return umddi.Mapped{}
	}
	data, hr := d.rename(t, r, flags&umddi.MapDoNotWait != 0)
	if hr.Failed() {
		d.report(t, hr, mapErrors(flags)...)
		return umddi.Mapped{}
	}
	return r.mappedAs(sub, data)
}

// rename locks a resource whose contents are discarded. It switches to another
// allocation if the resource may have more than one.
func (d *device) rename(t *ddi.Thread, r *resource, noWait bool) ([]byte, ddi.HRESULT) {
	if r.limit == 1 {
		return d.lockIdle(t, r.alloc(), umddi.Lock{DoNotWait: noWait})
	}
	return d.acquire(t, &r.pool, noWait)
}

// mapNoOverwrite maps a DYNAMIC resource with its contents. It does not wait:
// the application promises not to write data that submitted or recorded work
// reads.
//
//	DDI     PFND3D10DDI_RESOURCEMAP, d3d10umddi.h
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved
func mapNoOverwrite(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, _ umddi.Map, _ umddi.MapFlags) umddi.Mapped {
	d := deviceOf(h)
	r, hr := d.mappable(res, sub, umddi.UsageDynamic)
	if hr.Failed() {
		d.report(t, hr)
		return umddi.Mapped{}
	}
	data, hr := d.lock(t, &d.locker, r.alloc(), umddi.Lock{IgnoreSync: true})
	if hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
		return umddi.Mapped{}
	}
	return r.mappedAs(sub, data)
}

// resourceUnmap ends a map of a STAGING or DYNAMIC resource. It does nothing if
// the resource is not mapped.
//
//	DDI     PFND3D10DDI_RESOURCEUNMAP, d3d10umddi.h
func resourceUnmap(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, _ uint32) {
	d := deviceOf(h)
	r := d.resources.get(res.Object)
	if r == nil {
		d.report(t, ddi.EFail)
		return
	}
	if r.mapped == 0 {
		return
	}
	r.mapped--
	d.report(t, d.unlock(t, &d.locker, r.alloc()))
}

// resourceIsStagingBusy reports whether a map of a STAGING resource would wait.
//
//	DDI     PFND3D10DDI_RESOURCEISSTAGINGBUSY, d3d10umddi.h
//	Effect  submits the batch if it uses the resource, so that polling
//	        terminates
//	Returns through SetErrorCb: DDIDeviceRemoved
func resourceIsStagingBusy(t *ddi.Thread, h umddi.HDevice, res umddi.HResource) bool {
	d := deviceOf(h)
	r, hr := d.mappable(res, 0, umddi.UsageStaging)
	if hr.Failed() {
		d.report(t, hr)
		return false
	}
	busy, hr := d.busy(t, r.alloc())
	d.report(t, hr)
	return busy
}

// busy reports whether submitted work uses a. It first submits the batch if
// that uses a.
func (d *device) busy(t *ddi.Thread, a *allocation) (bool, ddi.HRESULT) {
	_, hr := d.lockIdle(t, a, umddi.Lock{ReadOnly: true, DoNotWait: true})
	switch {
	case hr == ddi.DDIStillDrawing:
		return true, ddi.OK
	case hr.Failed():
		return false, hr
	}
	return false, d.unlock(t, &d.locker, a)
}

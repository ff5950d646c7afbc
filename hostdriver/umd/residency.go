package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// setResourcePriority gives the allocations of a resource a priority of eviction, also those
// that it gets later.
//
//	DDI     SetResourcePriorityDXGI, dxgiddi.h
//	Caller  the immediate context's thread
//	Effect  SetPriorityCb
//	Returns OK; DDIDeviceRemoved for a failure and for a resource that does not exist
func setResourcePriority(t *ddi.Thread, arg umddi.SetResourcePriority) ddi.HRESULT {
	d := deviceOf(arg.Device)
	r := d.resources.get(arg.Resource.Object)
	if r == nil || d.setPriority(t, arg.Priority, r.instances...).Failed() {
		return ddi.DDIDeviceRemoved
	}
	r.priority = arg.Priority
	return ddi.OK
}

// setPriority gives allocations a priority of eviction.
func (d *device) setPriority(t *ddi.Thread, priority uint32, as ...*allocation) ddi.HRESULT {
	arg := &umddi.SetPriority{}
	for _, a := range as {
		arg.Allocations, arg.Priorities = append(arg.Allocations, a.handle), append(arg.Priorities, priority)
	}
	return d.kt.SetPriorityCb(t, d.rt, arg)
}

// offerResources offers the allocations of resources, after the recorded work that uses them.
//
//	DDI     pfnOfferResources, dxgiddi.h
//	Caller  the immediate context's thread
//	Effect  RenderCb if recorded work uses one of them, then OfferAllocationsCb
//	Returns OK; DDIDeviceRemoved for a failure and for a resource that does not exist
//	Source  learn.microsoft.com, "Offer and reclaim changes"
func offerResources(t *ddi.Thread, arg umddi.OfferResources) ddi.HRESULT {
	d := deviceOf(arg.Device)
	offer := &umddi.OfferAllocations{Priority: arg.Priority}
	used := false
	for _, h := range arg.Resources {
		r := d.resources.get(h.Object)
		if r == nil {
			return ddi.DDIDeviceRemoved
		}
		for _, a := range r.instances {
			offer.Allocations = append(offer.Allocations, a.handle)
			used = used || d.batch.uses(a)
		}
	}
	if used {
		if hr := d.submit(t); hr.Failed() {
			return ddi.DDIDeviceRemoved
		}
	}
	if d.kt.OfferAllocationsCb(t, d.rt, offer).Failed() {
		return ddi.DDIDeviceRemoved
	}
	return ddi.OK
}

// reclaimResources ends offerResources. The content of a resource is that of its current
// allocation.
//
//	DDI     pfnReclaimResources, dxgiddi.h
//	Caller  the immediate context's thread
//	Effect  ReclaimAllocationsCb
//	Returns OK; DDIDeviceRemoved for a failure and for a resource that does not exist
func reclaimResources(t *ddi.Thread, arg umddi.ReclaimResources) ddi.HRESULT {
	d := deviceOf(arg.Device)
	reclaim := &umddi.ReclaimAllocations{}
	var current []int // index of each resource's allocation
	for _, h := range arg.Resources {
		r := d.resources.get(h.Object)
		if r == nil {
			return ddi.DDIDeviceRemoved
		}
		current = append(current, len(reclaim.Allocations)+r.current)
		for _, a := range r.instances {
			reclaim.Allocations = append(reclaim.Allocations, a.handle)
		}
	}
	reclaim.Discarded = make([]bool, len(reclaim.Allocations))
	if d.kt.ReclaimAllocationsCb(t, d.rt, reclaim).Failed() {
		return ddi.DDIDeviceRemoved
	}
	for i, at := range current {
		arg.Discarded[i] = reclaim.Discarded[at]
	}
	return ddi.OK
}

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

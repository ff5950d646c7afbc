package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Priorities of SetEvictionPriority (DXGI_RESOURCE_PRIORITY). Values between them are legal too.
const (
	ResourcePriorityMinimum = umddi.AllocationPriorityMinimum
	ResourcePriorityLow     = umddi.AllocationPriorityLow
	ResourcePriorityNormal  = umddi.AllocationPriorityNormal
	ResourcePriorityHigh    = umddi.AllocationPriorityHigh
	ResourcePriorityMaximum = umddi.AllocationPriorityMaximum
)

// SetEvictionPriority sets how long the resource keeps its place in video memory when that is
// short: a resource of a lower priority leaves first. It must run on the immediate context's
// goroutine. It does not reach a driver without pfnSetResourcePriority, since a priority is a hint.
//
//	DDI     pfnSetResourcePriority, dxgiddi.h
//	In      priority: any value but 0; it is ResourcePriorityNormal at first
//	Returns EInvalidArg for 0, DXGIInvalidCall for a released resource, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-dxgi-idxgiresource-setevictionpriority
func (r *resource) SetEvictionPriority(priority uint32) error {
	const api = "SetEvictionPriority"
	d := r.dev
	if d.removed() {
		return d.gone(nil, api)
	}
	if p := r.misused(d, MessageInvalidObject, "the resource"); p.found() {
		return d.failed(nil, api, ddi.DXGIInvalidCall, p, nil)
	}
	if priority == 0 {
		return d.refuse(nil, api, problem{MessageInvalidArgument, "EvictionPriority is 0, want another value"})
	}
	if d.dxgiFuncs.SetResourcePriority != nil {
		k := d.immediate.call
		k.enter(api)
		defer k.leave(api)
		hr := d.dxgiFuncs.SetResourcePriority(k.begin("pfnSetResourcePriority", maySet),
			umddi.SetResourcePriority{Device: d.h, Resource: r.handle(), Priority: priority})
		if hr = d.presented(k, hr); hr != ddi.OK {
			return k.failed(api, hr)
		}
	}
	r.priority.Store(priority)
	return nil
}

// GetEvictionPriority returns the priority that SetEvictionPriority set.
//
//	Source  learn.microsoft.com, nf-dxgi-idxgiresource-getevictionpriority
func (r *resource) GetEvictionPriority() uint32 {
	if p := r.priority.Load(); p != 0 {
		return p
	}
	return ResourcePriorityNormal
}

package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// OfferPriority is DXGI_OFFER_RESOURCE_PRIORITY: the value of the content of offered resources.
type OfferPriority = umddi.OfferPriority

// The priorities of OfferResources. Content of a lower priority is discarded first.
const (
	OfferPriorityLow    = umddi.OfferPriorityLow
	OfferPriorityNormal = umddi.OfferPriorityNormal
	OfferPriorityHigh   = umddi.OfferPriorityHigh
)

// OfferResources allows the system to discard the content of resources when their video memory
// is needed. It unbinds them from the immediate context. Until ReclaimResources no call may
// bind, map, copy, update or clear one, or make a view of it: such a call fails or is dropped. A
// command list that was recorded before and uses one loses the device when it is executed. It
// must run on the immediate context's goroutine. A driver without pfnOfferResources keeps all
// content.
//
//	DDI     pfnOfferResources, dxgiddi.h
//	In      priority: OfferPriorityLow to OfferPriorityHigh
//	Returns EInvalidArg for another priority, and for a resource that is nil, released, of
//	        another device, listed twice, immutable, mapped, offered already, or of a swap
//	        chain; DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-dxgi1_2-idxgidevice2-offerresources
func (d *Device) OfferResources(resources []Resource, priority OfferPriority) error {
	const api = "OfferResources"
	if d.removed() {
		return d.gone(nil, api)
	}
	p := d.offeredProblem(resources, false)
	if !p.found() {
		p = limits(MessageInvalidArgument, "Priority", uint64(priority), uint64(OfferPriorityLow), uint64(OfferPriorityHigh))
	}
	if p.found() {
		return d.refuse(nil, api, p)
	}
	k := d.immediate.call
	k.enter(api)
	defer k.leave(api)
	for _, r := range resources {
		d.immediate.unbind(r.core())
	}
	if f := d.dxgiFuncs.OfferResources; f != nil {
		arg := umddi.OfferResources{Device: d.h, Resources: handlesOf(resources), Priority: priority}
		if hr := d.presented(k, f(k.begin("pfnOfferResources", maySet), arg)); hr != ddi.OK {
			return k.failed(api, hr)
		}
	}
	for _, r := range resources {
		r.core().offered.Store(true)
	}
	return nil
}

// ReclaimResources ends OfferResources. discarded has an element for each resource, which
// becomes true if the content is lost, or is nil. Lost content is zero here; an application must
// not rely on it.
//
//	DDI     pfnReclaimResources, dxgiddi.h
//	Returns EInvalidArg for another length of discarded, and for a resource that is nil, released,
//	        of another device, listed twice or not offered; DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-dxgi1_2-idxgidevice2-reclaimresources
func (d *Device) ReclaimResources(resources []Resource, discarded []bool) error {
	const api = "ReclaimResources"
	if d.removed() {
		return d.gone(nil, api)
	}
	p := d.offeredProblem(resources, true)
	if !p.found() && discarded != nil && len(discarded) != len(resources) {
		p = problemf(MessageInvalidArgument, "pDiscarded has %d elements, want %d", len(discarded), len(resources))
	}
	if p.found() {
		return d.refuse(nil, api, p)
	}
	lost := make([]bool, len(resources))
	if f := d.dxgiFuncs.ReclaimResources; f != nil && d.dxgiFuncs.OfferResources != nil {
		k := d.immediate.call
		k.enter(api)
		defer k.leave(api)
		arg := umddi.ReclaimResources{Device: d.h, Resources: handlesOf(resources), Discarded: lost}
		if hr := d.presented(k, f(k.begin("pfnReclaimResources", maySet), arg)); hr != ddi.OK {
			return k.failed(api, hr)
		}
	}
	copy(discarded, lost)
	for _, r := range resources {
		r.core().offered.Store(false)
	}
	return nil
}

// handlesOf returns the handles of resources.
func handlesOf(resources []Resource) (hs []umddi.HResource) {
	for _, r := range resources {
		hs = append(hs, r.core().handle())
	}
	return hs
}

// offeredProblem returns why resources cannot be offered, or reclaimed.
func (d *Device) offeredProblem(resources []Resource, offered bool) problem {
	const id = MessageInvalidArgument
	if len(resources) == 0 {
		return problem{id, "ppResources is empty"}
	}
	seen := map[*resource]bool{}
	for i, res := range resources {
		r := coreOf(res)
		switch {
		case r == nil:
			return problemf(id, "resource %d is nil", i)
		case r.dev != d:
			return problemf(id, "resource %d belongs to another device", i)
		case r.refs.Load() < apiRef:
			return problemf(id, "resource %d was released", i)
		case seen[r]:
			return problemf(id, "resource %d is in the list twice", i)
		case r.offered.Load() != offered:
			return problemf(id, "resource %d: offered is %v, want %v", i, !offered, offered)
		case !offered && (r.usage == UsageImmutable || r.primary || r.castable):
			return problemf(id, "resource %d is immutable or of a swap chain", i)
		case !offered && slices.Contains(r.mapped, true):
			return problemf(id, "resource %d is mapped", i)
		}
		seen[r] = true
	}
	return problem{}
}

// unbind removes a resource from the pipeline.
func (c *Context) unbind(r *resource) {
	s := &c.state
	for i, b := range s.vertex {
		if b != nil && b.core() == r {
			c.bindVertexBuffers(i, []*Buffer{nil}, []uint32{0}, []uint32{0})
		}
	}
	if s.index != nil && s.index.core() == r {
		c.bindIndexBuffer(nil, 0, 0)
	}
	for st := range stages {
		for i, b := range s.constant[st] {
			if b != nil && b.core() == r {
				c.bindConstantBuffers(st, i, []*Buffer{nil})
			}
		}
	}
	if !slices.ContainsFunc(s.targets[:], func(v *RenderTargetView) bool { return v != nil && v.res.core() == r }) {
		return
	}
	views := s.targets
	for i, v := range views {
		if v != nil && v.res.core() == r {
			views[i] = nil
		}
	}
	c.bindRenderTargets(views[:])
}

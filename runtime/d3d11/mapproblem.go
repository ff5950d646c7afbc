package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// closedContext returns why a call on a released deferred context fails.
func closedContext() problem {
	return problem{MessageInvalidState, "the deferred context was released"}
}

// mapProblem returns why the context may not map a subresource of r, which may
// be nil.
func (c *Context) mapProblem(r *resource, sub uint32, typ MapType, flags MapFlags) problem {
	if r == nil {
		return problem{MessageInvalidObject, "Resource is nil"}
	}
	if p := r.misused(c.dev, MessageInvalidObject, "Resource"); p.found() {
		return p
	}
	if n := r.subresources(); sub >= n {
		return problemf(MessageMapInvalidSubresource, "Subresource is %d, want less than %d", sub, n)
	}
	if p := r.mapTypeProblem(typ, flags); p.found() {
		return p
	}
	if c.deferred && typ != MapWriteDiscard && typ != MapWriteNoOverwrite {
		return problemf(MessageMapInvalidMapType, "MapType is %d, want %d or %d on a deferred context",
			typ, MapWriteDiscard, MapWriteNoOverwrite)
	}
	if c.isMapped(r, sub) {
		return problemf(MessageMapAlreadyMapped, "subresource %d is mapped already", sub)
	}
	return problem{}
}

// mapTypeProblem returns why usage and CPU access forbid a map.
func (r *resource) mapTypeProblem(typ MapType, flags MapFlags) problem {
	var need uint32
	allowed := MapDoNotWait
	usage := UsageStaging
	switch typ {
	case MapRead:
		need = CPUAccessRead
	case MapWrite:
		need = CPUAccessWrite
	case MapReadWrite:
		need = CPUAccessRead | CPUAccessWrite
	case MapWriteDiscard, MapWriteNoOverwrite:
		allowed, usage = 0, UsageDynamic
	default:
		return problemf(MessageMapInvalidMapType, "MapType is %d, want %d to %d", typ, MapRead, MapWriteNoOverwrite)
	}
	switch {
	case flags&^allowed != 0:
		return problemf(MessageMapInvalidFlags, "MapFlags is %#x, want bits of %#x for map type %d", flags, allowed, typ)
	case r.usage != usage:
		return problemf(MessageMapInvalidMapType, "Usage of the resource is %d, want %d for map type %d", r.usage, usage, typ)
	case r.access&need != need:
		return problemf(MessageMapInvalidMapType, "CPUAccessFlags of the resource is %#x, want %#x for map type %d", r.access, need, typ)
	case typ == MapWriteNoOverwrite && (r.dimension != umddi.Buffer || r.bind&(BindConstantBuffer|BindShaderResource) != 0):
		return problemf(MessageMapInvalidMapType, "MapType is %d, which only vertex and index buffers allow, and BindFlags is %#x",
			typ, r.bind)
	}
	return problem{}
}

// noDiscard returns the error of a deferred MapWriteNoOverwrite without an
// earlier MapWriteDiscard in the list.
func (c *Context) noDiscard() error {
	return c.dev.failed(c.call, "Map", ddi.D3D11MapNoDiscard, problemf(MessageMapWithoutInitialDiscard,
		"MapType is %d, want %d first in each list", MapWriteNoOverwrite, MapWriteDiscard), nil)
}

// unmapProblem returns why the context has no map of the subresource of r, which
// may be nil.
func (c *Context) unmapProblem(r *resource, sub uint32) problem {
	switch {
	case r == nil:
		return problem{MessageInvalidObject, "Resource is nil"}
	case !r.usable(c.dev):
		return r.misused(c.dev, MessageInvalidObject, "Resource")
	case sub >= r.subresources():
		return problemf(MessageUnmapInvalidSubresource, "Subresource is %d, want less than %d", sub, r.subresources())
	case c.closed:
		return closedContext()
	case !c.isMapped(r, sub):
		return problemf(MessageUnmapNotMapped, "subresource %d is not mapped", sub)
	}
	return problem{}
}

package model

import (
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// mappable reports whether usage and CPU access allow a map.
func (r *Resource) mappable(typ d3d11.MapType, flags d3d11.MapFlags) bool {
	const read, write = d3d11.CPUAccessRead, d3d11.CPUAccessWrite
	dynamic := r.Usage == d3d11.UsageDynamic && flags == 0
	staging := r.Usage == d3d11.UsageStaging && flags&^d3d11.MapDoNotWait == 0
	switch typ {
	case d3d11.MapRead:
		return staging && r.Access&read != 0
	case d3d11.MapWrite:
		return staging && r.Access&write != 0
	case d3d11.MapReadWrite:
		return staging && r.Access == read|write
	case d3d11.MapWriteDiscard:
		return dynamic
	case d3d11.MapWriteNoOverwrite:
		return dynamic && r.buffer() && r.Bind&(d3d11.BindConstantBuffer|d3d11.BindShaderResource) == 0
	}
	return false
}

// Map returns the result of ID3D11DeviceContext::Map, except WAS_STILL_DRAWING.
// After OK, the caller writes to Memory.
func (c *Context) Map(r *Resource, sub int, typ d3d11.MapType, flags d3d11.MapFlags) ddi.HRESULT {
	if !r.Alive() || sub >= r.subresources() || !r.mappable(typ, flags) {
		return ddi.EInvalidArg
	}
	if c.mapped(r, sub) {
		return ddi.EInvalidArg
	}
	if c.Deferred {
		return c.deferredMap(r, typ)
	}
	r.mapped[sub] = typ
	if typ == d3d11.MapWriteDiscard {
		r.Used = false
	}
	return ddi.OK
}

func (c *Context) deferredMap(r *Resource, typ d3d11.MapType) ddi.HRESULT {
	switch d := c.rec.discards[r]; typ {
	case d3d11.MapWriteDiscard:
		d = &discard{data: make([]byte, len(r.Subs[0])), mapped: true}
		c.touch(r, 0, true)
		c.rec.discards[r] = d
		c.rec.maps[r] = true
		c.always(func() { copy(r.Subs[0], d.data) })
	case d3d11.MapWriteNoOverwrite:
		if d == nil || d.replaced {
			return ddi.D3D11MapNoDiscard
		}
		d.mapped = true
	default:
		return ddi.EInvalidArg
	}
	return ddi.OK
}

// SettledMap reports whether the result of a map is defined. That of NO_OVERWRITE
// is undefined if a list executed since the discard uses r.
func (c *Context) SettledMap(r *Resource, typ d3d11.MapType) bool {
	d := c.rec.discards[r]
	return typ != d3d11.MapWriteNoOverwrite || d == nil || !d.uncertain
}

// Writable reports whether the application may write to the mapped memory: the GPU
// must not be reading it.
func (c *Context) Writable(r *Resource) bool {
	if c.Deferred {
		return !c.rec.discards[r].used
	}
	return !r.Used
}

// Memory returns the contents of a map, which the application may change if
// Writable.
func (c *Context) Memory(r *Resource, sub int) []byte {
	if c.Deferred {
		return c.rec.discards[r].data
	}
	return r.Subs[sub]
}

// Unmap is ID3D11DeviceContext::Unmap.
func (c *Context) Unmap(r *Resource, sub int) {
	switch {
	case !r.Alive() || sub >= r.subresources() || !c.mapped(r, sub):
	case c.Deferred:
		c.rec.discards[r].mapped = false
	default:
		delete(r.mapped, sub)
	}
}

// Discarded reports whether the list in recording has mapped r.
func (c *Context) Discarded(r *Resource) bool { return c.rec.discards[r] != nil }

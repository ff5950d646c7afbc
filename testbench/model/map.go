package model

import (
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// mappable says whether usage and CPU access allow a map.
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

// Map returns what ID3D11DeviceContext::Map does, but for WAS_STILL_DRAWING.
// After OK, Write says what is written.
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
	r.mapped[sub] = true
	if typ == d3d11.MapWriteDiscard {
		r.Used = false
	}
	return ddi.OK
}

func (c *Context) deferredMap(r *Resource, typ d3d11.MapType) ddi.HRESULT {
	switch d := c.rec.discards[r]; typ {
	case d3d11.MapWriteDiscard:
		d = &discard{data: make([]byte, len(r.Subs[0])), mapped: true}
		c.touch(r, 0)
		c.rec.discards[r] = d
		c.rec.maps[r] = true
		c.always(func() { copy(r.Subs[0], d.data) })
	case d3d11.MapWriteNoOverwrite:
		if d == nil || d.gone {
			return ddi.D3D11MapNoDiscard
		}
		d.mapped = true
	default:
		return ddi.EInvalidArg
	}
	return ddi.OK
}

// SettledMap says whether the outcome of a map is known: not that of
// NO_OVERWRITE when a list executed since the discard moves data of r.
func (c *Context) SettledMap(r *Resource, typ d3d11.MapType) bool {
	d := c.rec.discards[r]
	return typ != d3d11.MapWriteNoOverwrite || d == nil || !d.vague
}

// Writable says whether what is mapped may be written to: what the GPU may be
// reading may not.
func (c *Context) Writable(r *Resource) bool {
	if c.Deferred {
		return !c.rec.discards[r].used
	}
	return !r.Used
}

// Memory returns what a map shows, where the application may write.
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

// Discarded says whether the list that the context records has mapped r.
func (c *Context) Discarded(r *Resource) bool { return c.rec.discards[r] != nil }

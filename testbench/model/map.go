package model

import (
	"slices"

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
	d := c.rec.discards[r]
	switch {
	case typ == d3d11.MapWriteDiscard:
		d = &discard{data: make([]byte, len(r.Subs[0]))}
		c.touch(r, 0, true)
		c.rec.discards[r], c.rec.maps[r], c.rec.used[r] = d, true, false
		c.always(func() { copy(r.Subs[0], d.data) })
	case typ != d3d11.MapWriteNoOverwrite:
		return ddi.EInvalidArg
	case d == nil:
		return ddi.D3D11MapNoDiscard
	case d.data == nil:
		base := c.rec.contents[r]
		data := slices.Clone(base)
		d.data, d.used = data, c.rec.used[r]
		c.always(func() {
			for i, b := range data {
				if b != base[i] {
					r.Subs[0][i] = b
				}
			}
		})
	}
	d.mapped = true
	c.rec.contents[r] = d.data
	return ddi.OK
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

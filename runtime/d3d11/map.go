package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// MapType is D3D11_MAP.
type MapType = umddi.Map

// The map types.
const (
	MapRead             = umddi.MapRead
	MapWrite            = umddi.MapWrite
	MapReadWrite        = umddi.MapReadWrite
	MapWriteDiscard     = umddi.MapWriteDiscard
	MapWriteNoOverwrite = umddi.MapWriteNoOverwrite
)

// MapFlags is D3D11_MAP_FLAG.
type MapFlags = umddi.MapFlags

// MapDoNotWait is D3D11_MAP_FLAG_DO_NOT_WAIT.
const MapDoNotWait = umddi.MapDoNotWait

// MappedSubresource is D3D11_MAPPED_SUBRESOURCE.
type MappedSubresource struct {
	Data       []byte // valid until Unmap
	RowPitch   uint32 // bytes; the size of a buffer
	DepthPitch uint32 // bytes
}

// Map gives the CPU access to a subresource.
//
// A deferred context maps only dynamic resources. It returns memory of the
// command list, whose content is copied to the resource when the list executes.
// MapWriteDiscard returns new memory; MapWriteNoOverwrite returns the memory of
// the last MapWriteDiscard in the same list. Another MapWriteDiscard is needed
// after the list copies to the resource or executes a list that maps it. If the
// driver has run out of memory for the list, each map fails until
// FinishCommandList has returned the error.
//
//	DDI     pfnStagingResourceMap, pfnDynamicIABufferMapDiscard,
//	        pfnDynamicIABufferMapNoOverwrite, pfnDynamicConstantBufferMapDiscard,
//	        pfnDynamicResourceMapDiscard
//	In      typ: must match usage and CPU access; MapWriteNoOverwrite only for
//	        vertex and index buffers. flags: MapDoNotWait, not with the last
//	        two types
//	Out     out: filled in; on failure Data is nil and the pitches are unchanged
//	Returns EInvalidArg; DXGIStillDrawing with MapDoNotWait; D3D11MapNoDiscard;
//	        EOutOfMemory; DXGIInvalidCall on a released deferred context;
//	        DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-map
func (c *Context) Map(res Resource, sub uint32, typ MapType, flags MapFlags, out *MappedSubresource) error {
	if out == nil {
		return ddi.EInvalidArg
	}
	out.Data = nil
	r := coreOf(res)
	switch {
	case c.dev.removed():
		return ddi.DXGIDeviceRemoved
	case c.closed:
		return ddi.DXGIInvalidCall
	case r == nil || !r.usable(c.dev) || sub >= r.subresources() || !r.mapAllowed(typ, flags):
		return ddi.EInvalidArg
	case c.rec != nil:
		return c.recordMap(r, sub, typ, out)
	case c.deferred:
		return c.deferredMap(r, typ, out)
	case r.mapped[sub]:
		return ddi.EInvalidArg
	}
	m, hr := c.mapResource(r, r.handle(), sub, typ, flags)
	if hr != ddi.OK {
		return apiResult(hr)
	}
	r.mapped[sub] = true
	c.dev.mapped.Add(1)
	r.fillMapped(out, m)
	return nil
}

// fillMapped converts the driver's mapping to the application's.
func (r *resource) fillMapped(out *MappedSubresource, m umddi.Mapped) {
	*out = MappedSubresource{Data: m.Data, RowPitch: m.RowPitch, DepthPitch: m.DepthPitch}
	if r.dimension == umddi.Buffer {
		*out = MappedSubresource{Data: m.Data[:r.width], RowPitch: r.width, DepthPitch: r.width}
	}
}

// mapAllowed reports whether usage and CPU access allow a map.
func (r *resource) mapAllowed(typ MapType, flags MapFlags) bool {
	var need uint32
	switch typ {
	case MapRead:
		need = CPUAccessRead
	case MapWrite:
		need = CPUAccessWrite
	case MapReadWrite:
		need = CPUAccessRead | CPUAccessWrite
	case MapWriteDiscard:
		return flags == 0 && r.usage == UsageDynamic
	case MapWriteNoOverwrite:
		return flags == 0 && r.usage == UsageDynamic && r.dimension == umddi.Buffer &&
			r.bind&(BindConstantBuffer|BindShaderResource) == 0
	default:
		return false
	}
	return flags&^MapDoNotWait == 0 && r.usage == UsageStaging && r.access&need == need
}

// mapResource calls the driver's map function for r. If the memory is too
// small, the driver has broken its contract.
func (c *Context) mapResource(r *resource, h umddi.HResource, sub uint32, typ MapType, flags MapFlags) (umddi.Mapped, ddi.HRESULT) {
	f := c.funcs
	fn := f.DynamicResourceMapDiscard
	switch {
	case r.usage == UsageStaging:
		fn = f.StagingResourceMap
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0 && typ == MapWriteNoOverwrite:
		fn = f.DynamicIABufferMapNoOverwrite
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0:
		fn = f.DynamicIABufferMapDiscard
	case r.bind&BindConstantBuffer != 0:
		fn = f.DynamicConstantBufferMapDiscard
	}
	allowed := mayMap
	if flags&MapDoNotWait != 0 {
		allowed |= mayStillDraw
	}
	m := fn(c.begin(allowed), c.h, h, sub, typ, flags)
	if hr := c.end(); hr != ddi.OK {
		return umddi.Mapped{}, hr
	}
	w, rows := r.extent(sub)
	if uint64(len(m.Data)) < span(w*r.bytes, rows, m.RowPitch) || rows > 1 && m.RowPitch < w*r.bytes {
		return umddi.Mapped{}, c.call.contractBroken()
	}
	return m, ddi.OK
}

// Unmap ends the access given by Map. It does nothing if the context has not
// mapped the subresource.
//
//	DDI     pfnStagingResourceUnmap, pfnDynamic*Unmap. Called on a removed
//	        device too, since each map of the driver needs its unmap
func (c *Context) Unmap(res Resource, sub uint32) {
	r := coreOf(res)
	if r == nil || !r.usable(c.dev) || sub >= r.subresources() {
		return
	}
	if c.rec != nil {
		if m := c.open[mapKey{r, sub}]; m != nil && m.mapped {
			m.mapped = false
			c.mapCount--
		}
		return
	}
	if c.deferred {
		if !c.closed && c.isMapped(r, sub) {
			c.unmapLocal(r)
		}
		return
	}
	if sub < uint32(len(r.mapped)) && r.mapped[sub] {
		c.call.unmap(r, sub, maySet)
	}
}

// unmapFunc returns the driver's unmap function for r.
func (r *resource) unmapFunc(f *umddi.DeviceFuncs) func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32) {
	switch {
	case r.usage == UsageStaging:
		return f.StagingResourceUnmap
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0:
		return f.DynamicIABufferUnmap
	case r.bind&BindConstantBuffer != 0:
		return f.DynamicConstantBufferUnmap
	}
	return f.DynamicResourceUnmap
}

// unmap ends a map of the immediate context, in a function that may report the
// results in allowed. It may run on any thread: the table does not move while a
// subresource is mapped.
func (k *call) unmap(r *resource, sub uint32, allowed results) {
	d := k.dev
	r.mapped[sub] = false
	r.unmapFunc(d.immediate.funcs)(k.begin(allowed), d.h, r.handle(), sub)
	k.end()
	d.mapped.Add(-1)
}

// deferredMap maps a dynamic resource, which has one subresource, in the
// driver's deferred context.
func (c *Context) deferredMap(r *resource, typ MapType, out *MappedSubresource) error {
	l := c.find(&r.child)
	switch {
	case typ != MapWriteDiscard && typ != MapWriteNoOverwrite:
		return ddi.EInvalidArg
	case l != nil && l.state.mapped:
		return ddi.EInvalidArg
	case typ == MapWriteNoOverwrite && (l == nil || !l.state.discarded):
		return ddi.D3D11MapNoDiscard
	}
	h := c.resourceHandle(r)
	if c.native.failed {
		return c.failure()
	}
	m, hr := c.mapResource(r, h, 0, typ, 0)
	if hr != ddi.OK {
		return apiResult(hr)
	}
	l = c.find(&r.child)
	l.state.mapped, l.state.discarded = true, true
	c.native.maps = append(c.native.maps, r)
	c.mapCount++
	c.recordUse(r, 0, true)
	r.fillMapped(out, m)
	return nil
}

// failure returns why the list has failed.
func (c *Context) failure() error {
	if c.dev.removed() {
		return ddi.DXGIDeviceRemoved
	}
	return ddi.EOutOfMemory
}

// unmapLocal ends a map in the driver's deferred context.
func (c *Context) unmapLocal(r *resource) {
	l := c.find(&r.child)
	l.state.mapped = false
	c.mapCount--
	n := &c.native
	i := slices.Index(n.maps, r)
	n.maps = slices.Delete(n.maps, i, i+1)
	r.unmapFunc(c.funcs)(c.begin(maySet), c.h, umddi.HResource{Object: &l.obj}, 0)
	c.end()
}

// mapKey identifies a subresource.
type mapKey struct {
	r   *resource
	sub uint32
}

// A listMemory is memory of a command list that replaces a subresource.
type listMemory struct {
	data   []byte
	pitch  uint32 // bytes
	mapped bool
}

// recordMap maps a subresource to memory of the current recording.
func (c *Context) recordMap(r *resource, sub uint32, typ MapType, out *MappedSubresource) error {
	key := mapKey{r, sub}
	m := c.open[key]
	switch {
	case typ != MapWriteDiscard && typ != MapWriteNoOverwrite:
		return ddi.EInvalidArg
	case m != nil && m.mapped:
		return ddi.EInvalidArg
	case typ == MapWriteNoOverwrite && m == nil:
		return ddi.D3D11MapNoDiscard
	case typ == MapWriteDiscard:
		w, h := r.extent(sub)
		m = &listMemory{pitch: w * r.bytes}
		m.data = c.rec.discard(r, sub, uint64(m.pitch)*uint64(h))
		c.open[key] = m
		c.recordUse(r, sub, true)
	}
	m.mapped = true
	c.mapCount++
	*out = MappedSubresource{Data: m.data, RowPitch: m.pitch, DepthPitch: uint32(len(m.data))}
	return nil
}

// isMapped reports whether the context has mapped the subresource.
func (c *Context) isMapped(r *resource, sub uint32) bool {
	if c.rec != nil {
		m := c.open[mapKey{r, sub}]
		return m != nil && m.mapped
	}
	if c.deferred {
		l := c.find(&r.child)
		return l != nil && l.state.mapped
	}
	return sub < uint32(len(r.mapped)) && r.mapped[sub]
}

// hasMapped reports whether the context has mapped any subresource of r.
func (c *Context) hasMapped(r *resource) bool {
	if r.access == 0 || c.deferred && c.mapCount == 0 {
		return false
	}
	for sub := range r.subresources() {
		if c.isMapped(r, sub) {
			return true
		}
	}
	return false
}

// forget makes the next map of r on a deferred context require MapWriteDiscard,
// because the list's memory no longer has the content of the resource.
func (c *Context) forget(r *resource) {
	switch {
	case r.usage != UsageDynamic:
	case c.rec != nil:
		for sub := range r.subresources() {
			delete(c.open, mapKey{r, sub})
		}
	case c.deferred:
		if l := c.find(&r.child); l != nil {
			l.state.discarded = false
		}
	}
}

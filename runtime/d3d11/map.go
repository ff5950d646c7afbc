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
// MapWriteDiscard returns new memory. MapWriteNoOverwrite, which needs an earlier
// MapWriteDiscard in the same list, returns the content of the last one, also if
// that is in a list executed since. As always, the application promises not to
// write data that earlier commands use, such as the destination of a copy. If the
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
	c, l := c.lock("Map")
	defer l.unlock()
	if out == nil {
		return c.dev.refuse(c.call, "Map", problem{MessageInvalidArgument, "MappedResource is nil"})
	}
	out.Data = nil
	r := coreOf(res)
	if c.dev.removed() {
		return c.dev.gone(c.call, "Map")
	}
	if c.closed {
		return c.dev.failed(c.call, "Map", ddi.DXGIInvalidCall, closedContext(), nil)
	}
	if p := c.mapProblem(r, sub, typ, flags); p.found() {
		return c.dev.refuse(c.call, "Map", p)
	}
	if c.deferred {
		c.addMapSize(r, sub, typ)
		if p := c.sizeProblem(); p.found() {
			return c.failure("Map", p)
		}
	}
	switch {
	case c.rec != nil:
		return c.recordMap(r, sub, typ, out)
	case c.deferred:
		return c.deferredMap(r, typ, out)
	}
	m, hr := c.mapResource(r, r.handle(), sub, typ, flags)
	if hr != ddi.OK {
		return c.call.failed("Map", hr)
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

// mapResource calls the driver's map function for r. If the memory is too
// small, the driver has broken its contract.
func (c *Context) mapResource(r *resource, h umddi.HResource, sub uint32, typ MapType, flags MapFlags) (umddi.Mapped, ddi.HRESULT) {
	f := c.funcs
	name, fn := "pfnDynamicResourceMapDiscard", f.DynamicResourceMapDiscard
	switch {
	case r.usage == UsageStaging:
		name, fn = "pfnStagingResourceMap", f.StagingResourceMap
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0 && typ == MapWriteNoOverwrite:
		name, fn = "pfnDynamicIABufferMapNoOverwrite", f.DynamicIABufferMapNoOverwrite
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0:
		name, fn = "pfnDynamicIABufferMapDiscard", f.DynamicIABufferMapDiscard
	case r.bind&BindConstantBuffer != 0:
		name, fn = "pfnDynamicConstantBufferMapDiscard", f.DynamicConstantBufferMapDiscard
	}
	allowed := mayMap
	if flags&MapDoNotWait != 0 {
		allowed |= mayStillDraw
	}
	m := fn(c.begin(name, allowed), c.h, h, sub, typ, flags)
	if hr := c.end(); hr != ddi.OK {
		return umddi.Mapped{}, hr
	}
	w, rows := r.extent(sub)
	if uint64(len(m.Data)) < span(w*r.bytes, rows, m.RowPitch) || rows > 1 && m.RowPitch < w*r.bytes {
		return umddi.Mapped{}, c.call.contractBroken("mapped %d bytes with a pitch of %d, want %d rows of %d",
			len(m.Data), m.RowPitch, rows, w*r.bytes)
	}
	return m, ddi.OK
}

// Unmap ends the access given by Map. It does nothing but add a message to the
// InfoQueue if the context has not mapped the subresource.
//
//	DDI     pfnStagingResourceUnmap, pfnDynamic*Unmap. Called on a removed
//	        device too, since each map of the driver needs its unmap
func (c *Context) Unmap(res Resource, sub uint32) {
	c, l := c.lock("Unmap")
	defer l.unlock()
	r := coreOf(res)
	if p := c.unmapProblem(r, sub); p.found() {
		c.dev.drop(c.call, "Unmap", p)
		return
	}
	switch {
	case c.rec != nil:
		c.open[mapKey{r, sub}].mapped = false
		c.mapCount--
	case c.deferred:
		c.unmapLocal(r)
	default:
		c.call.unmap(r, sub, maySet)
	}
}

// unmapFunc returns the driver's unmap function for r, and its name.
func (r *resource) unmapFunc(f *umddi.DeviceFuncs) (string, func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32)) {
	switch {
	case r.usage == UsageStaging:
		return "pfnStagingResourceUnmap", f.StagingResourceUnmap
	case r.bind&(BindVertexBuffer|BindIndexBuffer) != 0:
		return "pfnDynamicIABufferUnmap", f.DynamicIABufferUnmap
	case r.bind&BindConstantBuffer != 0:
		return "pfnDynamicConstantBufferUnmap", f.DynamicConstantBufferUnmap
	}
	return "pfnDynamicResourceUnmap", f.DynamicResourceUnmap
}

// unmap ends a map of the immediate context, in a function that may report the
// results in allowed. It may run on any thread: the table does not move while a
// subresource is mapped.
func (k *call) unmap(r *resource, sub uint32, allowed results) {
	d := k.dev
	r.mapped[sub] = false
	name, fn := r.unmapFunc(d.immediate.funcs)
	fn(k.begin(name, allowed), d.h, r.handle(), sub)
	k.end()
	d.mapped.Add(-1)
}

// deferredMap maps a dynamic resource, which has one subresource, in the
// driver's deferred context.
func (c *Context) deferredMap(r *resource, typ MapType, out *MappedSubresource) error {
	c.renew()
	if l := c.find(&r.child); typ == MapWriteNoOverwrite && (l == nil || !l.state.discarded) {
		return c.noDiscard()
	}
	h := c.resourceHandle(r)
	if c.native.failed {
		return c.failure("Map", problem{})
	}
	m, hr := c.mapResource(r, h, 0, typ, 0)
	if hr != ddi.OK {
		return c.call.failed("Map", hr)
	}
	l := c.find(&r.child)
	l.state.mapped, l.state.discarded = true, true
	c.native.maps = append(c.native.maps, r)
	c.mapCount++
	c.recordMapped(r)
	r.fillMapped(out, m)
	return nil
}

// failure returns the error of a call that fails because the list has failed: p,
// or else because the driver failed.
func (c *Context) failure(api string, p problem) error {
	if c.dev.removed() {
		return c.dev.gone(c.call, api)
	}
	if !p.found() {
		p.text = "the list is dropped, because " + c.native.blame + " of the driver failed"
	}
	return c.dev.failed(c.call, api, ddi.EOutOfMemory, p, nil)
}

// unmapLocal ends a map in the driver's deferred context.
func (c *Context) unmapLocal(r *resource) {
	l := c.find(&r.child)
	l.state.mapped = false
	c.mapCount--
	n := &c.native
	i := slices.Index(n.maps, r)
	n.maps = slices.Delete(n.maps, i, i+1)
	name, fn := r.unmapFunc(c.funcs)
	fn(c.begin(name, maySet), c.h, umddi.HResource{Object: &l.obj}, 0)
	c.end()
}

// mapKey identifies a subresource.
type mapKey struct {
	r   *resource
	sub uint32
}

// A listMemory is memory of a command list that replaces a subresource.
type listMemory struct {
	data   []byte // nil: another list has replaced the subresource since
	pitch  uint32 // bytes
	mapped bool
}

// recordMap maps a subresource to memory of the current recording.
func (c *Context) recordMap(r *resource, sub uint32, typ MapType, out *MappedSubresource) error {
	key := mapKey{r, sub}
	m := c.open[key]
	switch {
	case typ == MapWriteNoOverwrite && m == nil:
		return c.noDiscard()
	case typ == MapWriteDiscard:
		w, h := r.extent(sub)
		m = &listMemory{pitch: w * r.bytes}
		m.data = c.rec.discard(r, sub, uint64(m.pitch)*uint64(h))
		c.open[key] = m
		c.recordMapped(r)
		c.rec.contents[r] = m.data
	case m.data == nil:
		m.data = c.rec.overwrite(r, c.rec.contents[r])
		c.rec.contents[r] = m.data
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

// inheritContents makes the contents of an executed list those of the current
// recording. The next map of such a buffer gets a copy (recordMap).
func (c *Context) inheritContents(l *recording) {
	for r, p := range l.contents {
		c.rec.contents[r] = p
		if m := c.open[mapKey{r, 0}]; m != nil {
			m.data = nil
		}
	}
}

package model

import (
	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// A Device holds the state that contexts share.
type Device struct {
	ends int // End calls that the immediate context has executed
}

// A Context is an immediate or a deferred context.
type Context struct {
	Device   *Device
	Deferred bool
	Refs     int // the application's references
	State    State

	begun []*Query
	rec   recording
}

// A recording is the list that a deferred context records.
type recording struct {
	steps    []func()
	touched  map[*Resource]map[int]bool // subresources that the list maps, reads or writes; true: maps or writes
	maps     map[*Resource]bool         // resources that the list maps
	queries  map[*Query]bool            // queries that the list begins or ends
	ended    map[*Query]bool            // queries that the list has ended so far
	needs    map[*Query]bool            // predicates that must have ended before the list
	discards map[*Resource]*discard
	contents map[*Resource][]byte // the memory of the last discard of each resource in maps
	used     map[*Resource]bool   // of those, the ones that a command uses after the discard
}

// A discard is memory that a deferred context has mapped.
type discard struct {
	data   []byte // nil: another list has discarded the resource since
	mapped bool
	used   bool // a command of the list uses the memory
}

func newRecording() recording {
	return recording{
		touched: map[*Resource]map[int]bool{}, maps: map[*Resource]bool{}, queries: map[*Query]bool{},
		ended: map[*Query]bool{}, needs: map[*Query]bool{}, discards: map[*Resource]*discard{},
		contents: map[*Resource][]byte{}, used: map[*Resource]bool{},
	}
}

// Immediate returns the immediate context of the device, with one reference.
func (d *Device) Immediate() *Context { return &Context{Device: d, Refs: 1} }

// NewDeferred returns a deferred context, with one reference.
func (d *Device) NewDeferred() *Context {
	return &Context{Device: d, Deferred: true, Refs: 1, rec: newRecording()}
}

// working reports whether calls on the context have an effect.
func (c *Context) working() bool { return !c.Deferred || c.Refs > 0 }

// Close ends a deferred context after its last release.
func (c *Context) Close() {
	c.rec = newRecording()
	c.begun = nil
	c.State = State{}
}

// always executes or records a step that ignores predication.
func (c *Context) always(step func()) {
	if c.Deferred {
		c.rec.steps = append(c.rec.steps, step)
	} else {
		step()
	}
}

// work executes or records a step that is skipped if the result of the predicate,
// which is always FALSE, equals the value of SetPredication.
func (c *Context) work(step func()) {
	p := c.State.Predicate
	if p != nil && c.Deferred && !c.rec.ended[p] {
		c.rec.needs[p] = true
	}
	if p == nil || c.State.Value {
		c.always(step)
	}
}

// mapped reports whether the context has mapped a subresource.
func (c *Context) mapped(r *Resource, sub int) bool {
	if c.Deferred {
		d := c.rec.discards[r]
		return d != nil && d.mapped
	}
	_, mapped := r.mapped[sub]
	return mapped
}

func (c *Context) anyMapped(r *Resource) bool {
	for sub := range r.subresources() {
		if c.mapped(r, sub) {
			return true
		}
	}
	return false
}

// touch records that the context reads a subresource, or writes it.
func (c *Context) touch(r *Resource, sub int, writes bool) {
	r.Used = r.Used || !c.Deferred
	if !c.Deferred {
		return
	}
	if c.rec.touched[r] == nil {
		c.rec.touched[r] = map[int]bool{}
	}
	c.rec.touched[r][sub] = c.rec.touched[r][sub] || writes
	c.rec.used[r] = true
	if d := c.rec.discards[r]; d != nil {
		d.used = true
	}
}

// copyable reports whether a copy is legal, apart from its region.
func copyable(dst, src *Resource) bool {
	return dst.Alive() && src.Alive() && dst.Usage != d3d11.UsageImmutable && dst.Family == src.Family &&
		(dst.Stride == 0 || src.Stride == 0 || dst.Stride == src.Stride)
}

// CopyResource is ID3D11DeviceContext::CopyResource.
func (c *Context) CopyResource(dst, src *Resource) {
	if !c.working() || !copyable(dst, src) || dst == src || !dst.sameSize(src.Shape) ||
		c.anyMapped(dst) || c.anyMapped(src) {
		return
	}
	for sub := range dst.subresources() {
		c.touch(dst, sub, true)
		c.touch(src, sub, false)
	}
	c.work(func() {
		for sub := range dst.Subs {
			copy(dst.Subs[sub], src.Subs[sub])
		}
	})
}

// CopyRegion is ID3D11DeviceContext::CopySubresourceRegion with z = 0.
func (c *Context) CopyRegion(dst *Resource, dstSub, x, y int, src *Resource, srcSub int, box *d3d11.Box) {
	if !c.working() || !copyable(dst, src) || dstSub >= dst.subresources() || srcSub >= src.subresources() ||
		c.mapped(dst, dstSub) || c.mapped(src, srcSub) {
		return
	}
	from := src.all(srcSub)
	if box != nil {
		from = *box
	}
	if !src.holds(srcSub, from) || !src.structures(from) {
		return
	}
	to := d3d11.Box{Left: uint32(x), Top: uint32(y), Right: uint32(x) + from.Right - from.Left,
		Bottom: uint32(y) + from.Bottom - from.Top, Back: 1}
	if !dst.holds(dstSub, to) || !dst.structures(to) || dst == src && dstSub == srcSub && overlap(from, to) {
		return
	}
	c.touch(dst, dstSub, true)
	c.touch(src, srcSub, false)
	c.work(func() { dst.Put(dstSub, to, src.Part(srcSub, from)) })
}

func overlap(a, b d3d11.Box) bool {
	return a.Left < b.Right && b.Left < a.Right && a.Top < b.Bottom && b.Top < a.Bottom
}

// Update is ID3D11DeviceContext::UpdateSubresource.
func (c *Context) Update(dst *Resource, sub int, box *d3d11.Box, data []byte, pitch int) {
	if !c.working() || !dst.Alive() || dst.Usage != d3d11.UsageDefault || sub >= dst.subresources() {
		return
	}
	to := dst.all(sub)
	if box != nil {
		to = *box
	}
	if !dst.holds(sub, to) || !dst.structures(to) || dst.Bind&d3d11.BindConstantBuffer != 0 && to != dst.all(sub) {
		return
	}
	row, h := int(to.Right-to.Left)*dst.Bytes, int(to.Bottom-to.Top)
	if (h-1)*pitch+row > len(data) {
		return
	}
	var rows []byte
	for y := range h {
		rows = append(rows, data[y*pitch:][:row]...)
	}
	c.touch(dst, sub, true)
	c.work(func() { dst.Put(sub, to, rows) })
}

// ClearTarget is ID3D11DeviceContext::ClearRenderTargetView.
func (c *Context) ClearTarget(v *View, color [4]float32) {
	if c.working() && v.Alive() {
		c.work(func() { v.clear(color) })
	}
}

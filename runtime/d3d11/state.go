package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// stage is a shader stage with constant buffers.
type stage uint8

const (
	stageVS stage = iota
	stageHS
	stageDS
	stageGS
	stagePS
	stageCS
	stages
)

// state is the pipeline state of a context; the zero value is the default. It
// holds a reference to each object in it.
type state struct {
	topology    Topology
	vertex      [umddi.MaxVertexBuffers]*Buffer
	strides     [umddi.MaxVertexBuffers]uint32 // bytes
	offsets     [umddi.MaxVertexBuffers]uint32 // bytes
	index       *Buffer
	indexFormat dxgi.Format
	indexOffset uint32 // bytes
	constant    [stages][umddi.MaxConstantBuffers]*Buffer
	targets     [umddi.MaxRenderTargets]*RenderTargetView
	viewports   [umddi.MaxViewports]Viewport
	scissors    [umddi.MaxViewports]Rect

	viewportCount, scissorCount int
}

// each calls f with every object that is bound.
func (s *state) each(f func(*child)) {
	for _, b := range s.vertex {
		if b != nil {
			f(&b.child)
		}
	}
	if s.index != nil {
		f(&s.index.child)
	}
	for st := range s.constant {
		for _, b := range s.constant[st] {
			if b != nil {
				f(&b.child)
			}
		}
	}
	for _, v := range s.targets {
		if v != nil {
			f(&v.child)
		}
	}
}

// hold adds the references that a copied state needs.
func (s *state) hold() { s.each((*child).hold) }

// drop gives the references back and leaves the default state.
func (s *state) drop() {
	old := *s
	*s = state{}
	old.each((*child).drop)
}

// vertexCount returns the number of slots up to the last that is in use.
func (s *state) vertexCount() int {
	for i := umddi.MaxVertexBuffers; i > 0; i-- {
		if s.vertex[i-1] != nil || s.strides[i-1] != 0 || s.offsets[i-1] != 0 {
			return i
		}
	}
	return 0
}

// constantCount returns the number of slots up to the last that is in use.
func (s *state) constantCount(st stage) int {
	for i := umddi.MaxConstantBuffers; i > 0; i-- {
		if s.constant[st][i-1] != nil {
			return i
		}
	}
	return 0
}

// targetCount returns the number of slots up to the last that is in use.
func (s *state) targetCount() int {
	for i := umddi.MaxRenderTargets; i > 0; i-- {
		if s.targets[i-1] != nil {
			return i
		}
	}
	return 0
}

// reset puts the defaults in place. The driver hears of what changes only.
func (c *Context) reset() {
	if c.deferred {
		c.state.drop()
		return
	}
	var none state
	s := &c.state
	if s.topology != 0 {
		c.bindTopology(0)
	}
	if n := s.vertexCount(); n > 0 {
		c.bindVertexBuffers(0, none.vertex[:n], none.strides[:n], none.offsets[:n])
	}
	if s.index != nil || s.indexFormat != 0 || s.indexOffset != 0 {
		c.bindIndexBuffer(nil, 0, 0)
	}
	for st := range stages {
		if n := s.constantCount(st); n > 0 {
			c.bindConstantBuffers(st, 0, none.constant[st][:n])
		}
	}
	if s.targetCount() > 0 {
		c.bindRenderTargets(nil)
	}
	if s.viewportCount > 0 {
		c.bindViewports(nil)
	}
	if s.scissorCount > 0 {
		c.bindScissors(nil)
	}
}

// apply puts s in place of the defaults. The driver hears of what differs from
// them only.
func (c *Context) apply(s *state) {
	if s.topology != 0 {
		c.bindTopology(s.topology)
	}
	if n := s.vertexCount(); n > 0 {
		c.bindVertexBuffers(0, s.vertex[:n], s.strides[:n], s.offsets[:n])
	}
	if s.index != nil || s.indexFormat != 0 || s.indexOffset != 0 {
		c.bindIndexBuffer(s.index, s.indexFormat, s.indexOffset)
	}
	for st := range stages {
		if n := s.constantCount(st); n > 0 {
			c.bindConstantBuffers(st, 0, s.constant[st][:n])
		}
	}
	if n := s.targetCount(); n > 0 {
		c.bindRenderTargets(s.targets[:n])
	}
	if n := s.viewportCount; n > 0 {
		c.bindViewports(s.viewports[:n])
	}
	if n := s.scissorCount; n > 0 {
		c.bindScissors(s.scissors[:n])
	}
}

// The bind functions change the state and tell the driver, if the context is the
// immediate one, in this order: hold the objects that come, call the driver,
// drop those that go. So the driver never has a destroyed object bound, on a
// removed device neither.

func (c *Context) bindTopology(t Topology) {
	c.state.topology = t
	if !c.deferred {
		c.dev.funcs.IaSetTopology(c.call.begin(mayRemove), c.dev.h, t)
		c.call.end()
	}
}

// replace binds b in *slot, and keeps what goes and the handle of b as number i.
func (c *Context) replace(i int, slot **Buffer, b *Buffer) {
	c.old[i] = nil
	if *slot != nil {
		c.old[i] = &(*slot).child
	}
	if b != nil {
		b.hold()
	}
	*slot = b
	c.handles[i] = b.core().handle()
}

// dropOld drops the first n objects that a bind function has replaced.
func (c *Context) dropOld(n int) {
	for i, o := range c.old[:n] {
		if o != nil {
			c.old[i] = nil
			o.drop()
		}
	}
}

func (c *Context) bindVertexBuffers(start int, bufs []*Buffer, strides, offsets []uint32) {
	n := len(bufs)
	for i, b := range bufs {
		c.replace(i, &c.state.vertex[start+i], b)
	}
	copy(c.state.strides[start:], strides)
	copy(c.state.offsets[start:], offsets)
	if !c.deferred {
		c.dev.funcs.IaSetVertexBuffers(c.call.begin(mayRemove), c.dev.h, uint32(start), c.handles[:n],
			c.state.strides[start:start+n], c.state.offsets[start:start+n])
		c.call.end()
	}
	c.dropOld(n)
}

func (c *Context) bindIndexBuffer(b *Buffer, f dxgi.Format, offset uint32) {
	c.replace(0, &c.state.index, b)
	c.state.indexFormat = f
	c.state.indexOffset = offset
	if !c.deferred {
		c.dev.funcs.IaSetIndexBuffer(c.call.begin(mayRemove), c.dev.h, c.handles[0], f, offset)
		c.call.end()
	}
	c.dropOld(1)
}

func (c *Context) bindConstantBuffers(st stage, start int, bufs []*Buffer) {
	n := len(bufs)
	for i, b := range bufs {
		c.replace(i, &c.state.constant[st][start+i], b)
	}
	if !c.deferred {
		set := c.dev.constantBufferFunc(st)
		set(c.call.begin(mayRemove), c.dev.h, uint32(start), c.handles[:n])
		c.call.end()
	}
	c.dropOld(n)
}

// bindRenderTargets binds views and unbinds the slots above. The driver always
// gets all slots.
func (c *Context) bindRenderTargets(views []*RenderTargetView) {
	for i := range c.state.targets {
		var v *RenderTargetView
		if i < len(views) {
			v = views[i]
		}
		c.old[i] = nil
		if o := c.state.targets[i]; o != nil {
			c.old[i] = &o.child
		}
		if v != nil {
			v.hold()
		}
		c.state.targets[i] = v
		c.targets[i] = v.handle()
	}
	if !c.deferred {
		c.dev.funcs.SetRenderTargets(c.call.begin(mayRemove), c.dev.h, c.targets[:])
		c.call.end()
	}
	c.dropOld(len(c.targets))
}

func (c *Context) bindViewports(vps []Viewport) {
	c.state.viewports = [umddi.MaxViewports]Viewport{}
	n := copy(c.state.viewports[:], vps)
	c.state.viewportCount = n
	if !c.deferred {
		c.dev.funcs.SetViewports(c.call.begin(mayRemove), c.dev.h, c.state.viewports[:n])
		c.call.end()
	}
}

func (c *Context) bindScissors(rects []Rect) {
	c.state.scissors = [umddi.MaxViewports]Rect{}
	n := copy(c.state.scissors[:], rects)
	c.state.scissorCount = n
	if !c.deferred {
		c.dev.funcs.SetScissorRects(c.call.begin(mayRemove), c.dev.h, c.state.scissors[:n])
		c.call.end()
	}
}

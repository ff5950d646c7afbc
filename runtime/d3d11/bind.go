package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The bind functions change the state and, if the driver records for the
// context, call the driver. They first open the handles of the new objects and
// hold the objects, then call the driver, and finally drop the old objects. The
// driver therefore never has a destroyed object bound, even on a removed
// device. A state refresh in the call shows the new state, and one before the
// call the old state.
//
// The send functions pass one part of the current state to the driver.

func (c *Context) bindTopology(t Topology) {
	c.state.topology = t
	c.state.set |= groupTopology
	if c.callsDriver() {
		c.sendTopology()
	}
}

func (c *Context) sendTopology() {
	c.shown |= groupTopology
	c.funcs.IaSetTopology(c.begin("pfnIaSetTopology", maySet), c.h, c.state.topology)
	c.end()
}

// openBuffers opens the handles of bufs.
func (c *Context) openBuffers(bufs []*Buffer) {
	if !c.deferred || !c.callsDriver() {
		return
	}
	for _, b := range bufs {
		c.resourceHandle(b.core())
	}
}

// replace binds b in *slot and remembers the old buffer as number i.
func (c *Context) replace(i int, slot **Buffer, b *Buffer) {
	c.old[i] = nil
	if *slot != nil {
		c.old[i] = &(*slot).child
	}
	if b != nil {
		c.holdBound(&b.child, umddi.HandleResource)
	}
	*slot = b
}

// dropOld drops the first n objects that a bind function replaced.
func (c *Context) dropOld(n int) {
	for i, o := range c.old[:n] {
		if o != nil {
			c.old[i] = nil
			c.dropBound(o)
		}
	}
}

// bufferHandles stores the handles of bufs in to.
func (c *Context) bufferHandles(to []umddi.HResource, bufs []*Buffer) []umddi.HResource {
	for i, b := range bufs {
		to[i] = c.resourceHandle(b.core())
	}
	return to[:len(bufs)]
}

func (c *Context) bindVertexBuffers(start int, bufs []*Buffer, strides, offsets []uint32) {
	n := len(bufs)
	c.openBuffers(bufs)
	for i, b := range bufs {
		c.replace(i, &c.state.vertex[start+i], b)
	}
	copy(c.state.strides[start:], strides)
	copy(c.state.offsets[start:], offsets)
	c.state.set |= groupVertex
	if c.callsDriver() {
		c.sendVertexBuffers(start, n)
	}
	c.dropOld(n)
}

func (c *Context) sendVertexBuffers(start, n int) {
	s := &c.state
	handles := c.bufferHandles(c.args.buffers[:], s.vertex[start:start+n])
	if !c.callsDriver() {
		return
	}
	c.shown |= groupVertex
	c.funcs.IaSetVertexBuffers(c.begin("pfnIaSetVertexBuffers", maySet), c.h, uint32(start), handles,
		s.strides[start:start+n], s.offsets[start:start+n])
	c.end()
}

func (c *Context) bindIndexBuffer(b *Buffer, f dxgi.Format, offset uint32) {
	if c.callsDriver() {
		c.resourceHandle(b.core())
	}
	c.replace(0, &c.state.index, b)
	c.state.indexFormat = f
	c.state.indexOffset = offset
	c.state.set |= groupIndex
	if c.callsDriver() {
		c.sendIndexBuffer()
	}
	c.dropOld(1)
}

func (c *Context) sendIndexBuffer() {
	s := &c.state
	h := c.resourceHandle(s.index.core())
	if !c.callsDriver() {
		return
	}
	c.shown |= groupIndex
	c.funcs.IaSetIndexBuffer(c.begin("pfnIaSetIndexBuffer", maySet), c.h, h, s.indexFormat, s.indexOffset)
	c.end()
}

// constantBufferFunc returns the driver's function that binds constant buffers
// of a stage, and its name.
func constantBufferFunc(f *umddi.DeviceFuncs, st stage) (string, func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource)) {
	switch st {
	case stageVS:
		return "pfnVsSetConstantBuffers", f.VsSetConstantBuffers
	case stageHS:
		return "pfnHsSetConstantBuffers", f.HsSetConstantBuffers
	case stageDS:
		return "pfnDsSetConstantBuffers", f.DsSetConstantBuffers
	case stageGS:
		return "pfnGsSetConstantBuffers", f.GsSetConstantBuffers
	case stagePS:
		return "pfnPsSetConstantBuffers", f.PsSetConstantBuffers
	}
	return "pfnCsSetConstantBuffers", f.CsSetConstantBuffers
}

func (c *Context) bindConstantBuffers(st stage, start int, bufs []*Buffer) {
	n := len(bufs)
	c.openBuffers(bufs)
	for i, b := range bufs {
		c.replace(i, &c.state.constant[st][start+i], b)
	}
	c.state.set |= groupConstant << st
	if c.callsDriver() {
		c.sendConstantBuffers(st, start, n)
	}
	c.dropOld(n)
}

func (c *Context) sendConstantBuffers(st stage, start, n int) {
	handles := c.bufferHandles(c.args.buffers[:], c.state.constant[st][start:start+n])
	if !c.callsDriver() {
		return
	}
	c.shown |= groupConstant << st
	name, fn := constantBufferFunc(c.funcs, st)
	fn(c.begin(name, maySet), c.h, uint32(start), handles)
	c.end()
}

// bindRenderTargets binds views and unbinds the higher slots. The driver always
// gets all slots.
func (c *Context) bindRenderTargets(views []*RenderTargetView) {
	if c.deferred && c.callsDriver() {
		for _, v := range views {
			c.viewHandle(v)
		}
	}
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
			c.holdBound(&v.child, umddi.HandleRenderTargetView)
		}
		c.state.targets[i] = v
	}
	c.state.set |= groupTargets
	if c.callsDriver() {
		c.sendRenderTargets()
	}
	c.dropOld(len(c.state.targets))
}

func (c *Context) sendRenderTargets() {
	handles := c.args.targets[:]
	for i, v := range c.state.targets {
		handles[i] = c.viewHandle(v)
	}
	if !c.callsDriver() {
		return
	}
	c.shown |= groupTargets
	c.funcs.SetRenderTargets(c.begin("pfnSetRenderTargets", maySet), c.h, handles)
	c.end()
}

func (c *Context) bindViewports(vps []Viewport) {
	c.state.viewports = [umddi.MaxViewports]Viewport{}
	c.state.viewportCount = copy(c.state.viewports[:], vps)
	c.state.set |= groupViewports
	if c.callsDriver() {
		c.sendViewports()
	}
}

func (c *Context) sendViewports() {
	c.shown |= groupViewports
	c.funcs.SetViewports(c.begin("pfnSetViewports", maySet), c.h, c.state.viewports[:c.state.viewportCount])
	c.end()
}

func (c *Context) bindScissors(rects []Rect) {
	c.state.scissors = [umddi.MaxViewports]Rect{}
	c.state.scissorCount = copy(c.state.scissors[:], rects)
	c.state.set |= groupScissors
	if c.callsDriver() {
		c.sendScissors()
	}
}

func (c *Context) sendScissors() {
	c.shown |= groupScissors
	c.funcs.SetScissorRects(c.begin("pfnSetScissorRects", maySet), c.h, c.state.scissors[:c.state.scissorCount])
	c.end()
}

func (c *Context) bindPredication(q *Query, value bool) {
	if c.callsDriver() {
		c.queryHandle(q)
	}
	old := c.state.predicate
	if q != nil {
		c.holdBound(&q.child, umddi.HandleQuery)
	}
	c.state.predicate, c.state.predicateValue = q, value
	c.state.set |= groupPredication
	if c.callsDriver() {
		c.sendPredication()
	}
	if old != nil {
		c.dropBound(&old.child)
	}
}

func (c *Context) sendPredication() {
	h := c.queryHandle(c.state.predicate)
	if !c.callsDriver() || c.funcs.SetPredication == nil {
		return
	}
	c.shown |= groupPredication
	c.funcs.SetPredication(c.begin("pfnSetPredication", maySet), c.h, h, c.state.predicateValue)
	c.end()
}

// resend passes all state that differs from the default to the driver, whose
// state is the default.
func (c *Context) resend() {
	s := &c.state
	if s.set == 0 {
		return
	}
	if s.topology != 0 && c.callsDriver() {
		c.sendTopology()
	}
	if n := s.vertexCount(); n > 0 {
		c.sendVertexBuffers(0, n)
	}
	if s.index != nil || s.indexFormat != 0 || s.indexOffset != 0 {
		c.sendIndexBuffer()
	}
	for st := range stages {
		if n := s.constantCount(st); n > 0 {
			c.sendConstantBuffers(st, 0, n)
		}
	}
	if s.targetCount() > 0 {
		c.sendRenderTargets()
	}
	if s.viewportCount > 0 && c.callsDriver() {
		c.sendViewports()
	}
	if s.scissorCount > 0 && c.callsDriver() {
		c.sendScissors()
	}
	if s.predicate != nil {
		c.sendPredication()
	}
}

// unbindAll unbinds each bound handle with a separate call.
func (c *Context) unbindAll() {
	s := &c.state
	none := make([]*Buffer, 1)
	zero := make([]uint32, 1)
	for i, b := range s.vertex {
		if b != nil {
			c.bindVertexBuffers(i, none, zero, zero)
		}
	}
	if s.index != nil {
		c.bindIndexBuffer(nil, 0, 0)
	}
	for st := range stages {
		for i, b := range s.constant[st] {
			if b != nil {
				c.bindConstantBuffers(st, i, none)
			}
		}
	}
	c.unbindTargets()
	if s.predicate != nil {
		c.bindPredication(nil, false)
	}
}

// unbindTargets is unbindAll for views. Their function takes all slots, so those
// that are still bound stay. After an execution that failed the driver may have
// none bound, and nothing may be bound after an abandonment: then all slots
// become empty at once.
func (c *Context) unbindTargets() {
	for i, v := range c.state.targets {
		if v == nil {
			continue
		}
		var views [umddi.MaxRenderTargets]*RenderTargetView
		if c.shown&groupTargets != 0 {
			copy(views[i+1:], c.state.targets[i+1:])
		}
		c.bindRenderTargets(views[:])
		if c.state.targetCount() == 0 {
			return
		}
	}
}

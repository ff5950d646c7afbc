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

// groups is a set of parts of the pipeline state. Each part has one driver
// function.
type groups uint16

// The groups. Constant buffers of a stage are groupConstant << stage.
const (
	groupTopology groups = 1 << iota
	groupVertex
	groupIndex
	groupTargets
	groupViewports
	groupScissors
	groupPredication
	groupConstant
)

// state is the pipeline state of a context. The zero value is the default. The
// context holds a reference to each object in it (Context.holdBound).
type state struct {
	set groups // groups that may differ from the default

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

	predicate      *Query
	predicateValue bool
}

// each calls f for every bound object.
func (s *state) each(f func(*child)) {
	buffers := func(g groups, bufs []*Buffer) {
		if s.set&g == 0 {
			return
		}
		for _, b := range bufs {
			if b != nil {
				f(&b.child)
			}
		}
	}
	buffers(groupVertex, s.vertex[:])
	if s.index != nil {
		f(&s.index.child)
	}
	for st := range stages {
		buffers(groupConstant<<st, s.constant[st][:])
	}
	if s.set&groupTargets != 0 {
		for _, v := range s.targets {
			if v != nil {
				f(&v.child)
			}
		}
	}
	if s.predicate != nil {
		f(&s.predicate.child)
	}
}

// holdBound adds a reference for a binding: to the context's local of the
// object if it has locals, since contexts that record in parallel bind the same
// objects.
func (c *Context) holdBound(o *child, typ umddi.HandleType) {
	if c.deferred && c.rec == nil {
		c.localOf(o, typ).addList()
		return
	}
	o.hold()
}

// dropBound drops a reference added by holdBound.
func (c *Context) dropBound(o *child) {
	if c.deferred && c.rec == nil {
		c.native.locals[o.id].removeList(nil)
		return
	}
	o.drop()
}

// holdState adds the references for a copy of the context's state.
func (c *Context) holdState(s *state) {
	s.each(func(o *child) {
		if c.deferred && c.rec == nil {
			c.native.locals[o.id].addList()
			return
		}
		o.hold()
	})
}

// dropState drops the references of a state and resets it to the default.
func (c *Context) dropState(s *state) {
	if s.set == 0 {
		return
	}
	old := *s
	*s = state{}
	old.each(c.dropBound)
}

// vertexCount returns the number of slots up to the last one in use.
func (s *state) vertexCount() int {
	for i := umddi.MaxVertexBuffers; i > 0; i-- {
		if s.vertex[i-1] != nil || s.strides[i-1] != 0 || s.offsets[i-1] != 0 {
			return i
		}
	}
	return 0
}

// constantCount returns the number of slots up to the last one in use.
func (s *state) constantCount(st stage) int {
	for i := umddi.MaxConstantBuffers; i > 0; i-- {
		if s.constant[st][i-1] != nil {
			return i
		}
	}
	return 0
}

// targetCount returns the number of slots up to the last one in use.
func (s *state) targetCount() int {
	for i := umddi.MaxRenderTargets; i > 0; i-- {
		if s.targets[i-1] != nil {
			return i
		}
	}
	return 0
}

// reset sets the default state. It calls the driver only for changes.
func (c *Context) reset() {
	if c.rec != nil {
		c.dropState(&c.state)
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
	if s.predicate != nil || s.predicateValue {
		c.bindPredication(nil, false)
	}
	s.set = 0
}

// apply sets s, starting from the default state. It calls the driver only for
// differences.
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
	if s.predicate != nil {
		c.bindPredication(s.predicate, s.predicateValue)
	}
}

package model

import (
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// Number of slots of each kind (d3d11.h).
const (
	VertexSlots   = 32
	ConstantSlots = 14
	TargetSlots   = 8
	Rectangles    = 16 // viewports and scissor rectangles
	Stages        = 6  // VS HS DS GS PS CS
)

// A Vertex is a slot for a vertex buffer.
type Vertex struct {
	Buffer         *Resource
	Stride, Offset uint32 // bytes
}

// A State is the pipeline state of a context; the zero value is the default.
type State struct {
	Topology    d3d11.Topology
	Vertex      [VertexSlots]Vertex
	Index       *Resource
	IndexFormat dxgi.Format
	IndexOffset uint32 // bytes
	Constant    [Stages][ConstantSlots]*Resource
	Targets     [TargetSlots]*View
	Viewports   [Rectangles]d3d11.Viewport
	Scissors    [Rectangles]d3d11.Rect
	ViewportN   int
	ScissorN    int
	Predicate   *Query
	Value       bool // value of SetPredication
}

// bindable reports whether each resource is nil, or alive with the bind flag.
func bindable(all []*Resource, flag uint32) bool {
	for _, r := range all {
		if r != nil && (!r.Alive() || r.Bind&flag == 0) {
			return false
		}
	}
	return true
}

// SetTopology is IASetPrimitiveTopology.
func (c *Context) SetTopology(t d3d11.Topology) {
	known := t <= 5 || t >= 10 && t <= 13 || t >= 33 && t <= 64
	if c.working() && known {
		c.State.Topology = t
	}
}

// SetVertexBuffers is IASetVertexBuffers.
func (c *Context) SetVertexBuffers(start int, slots []Vertex) {
	if !c.working() || len(slots) == 0 || start+len(slots) > VertexSlots {
		return
	}
	for _, v := range slots {
		if v.Stride > 2048 || !bindable([]*Resource{v.Buffer}, d3d11.BindVertexBuffer) {
			return
		}
	}
	copy(c.State.Vertex[start:], slots)
}

// SetIndexBuffer is IASetIndexBuffer.
func (c *Context) SetIndexBuffer(r *Resource, f dxgi.Format, offset uint32) {
	known := f == d3d11.FormatR16UInt || f == dxgi.R32UInt || f == dxgi.Unknown && r == nil
	if c.working() && known && bindable([]*Resource{r}, d3d11.BindIndexBuffer) {
		c.State.Index, c.State.IndexFormat, c.State.IndexOffset = r, f, offset
	}
}

// SetConstantBuffers is *SetConstantBuffers for one stage.
func (c *Context) SetConstantBuffers(stage, start int, bufs []*Resource) {
	if c.working() && len(bufs) > 0 && start+len(bufs) <= ConstantSlots && bindable(bufs, d3d11.BindConstantBuffer) {
		copy(c.State.Constant[stage][start:], bufs)
	}
}

// SetTargets is OMSetRenderTargets.
func (c *Context) SetTargets(views []*View) {
	if !c.working() || len(views) > TargetSlots {
		return
	}
	for i, v := range views {
		if v != nil && !v.Alive() || !v.Joins(views[:i]) {
			return
		}
	}
	c.State.Targets = [TargetSlots]*View{}
	copy(c.State.Targets[:], views)
}

// SetViewports is RSSetViewports.
func (c *Context) SetViewports(vps []d3d11.Viewport) {
	if !c.working() || len(vps) > Rectangles {
		return
	}
	for _, v := range vps {
		if v.Width < 0 || v.Height < 0 || v.MinDepth < 0 || v.MinDepth > 1 || v.MaxDepth < 0 || v.MaxDepth > 1 {
			return
		}
	}
	c.State.Viewports = [Rectangles]d3d11.Viewport{}
	c.State.ViewportN = copy(c.State.Viewports[:], vps)
}

// SetScissors is RSSetScissorRects.
func (c *Context) SetScissors(rects []d3d11.Rect) {
	if c.working() && len(rects) <= Rectangles {
		c.State.Scissors = [Rectangles]d3d11.Rect{}
		c.State.ScissorN = copy(c.State.Scissors[:], rects)
	}
}

// ClearState is ID3D11DeviceContext::ClearState.
func (c *Context) ClearState() {
	if c.working() {
		c.State = State{}
	}
}

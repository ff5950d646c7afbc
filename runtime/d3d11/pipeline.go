package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Viewport is D3D11_VIEWPORT, in pixels.
type Viewport = umddi.Viewport

// Rect is D3D11_RECT, half-open, in pixels.
type Rect = umddi.Rect

// Topology is D3D11_PRIMITIVE_TOPOLOGY.
type Topology = umddi.Topology

// The topologies. PatchList1+n-1 is a list of patches with n control points, n
// from 1 to 32.
const (
	TopologyUndefined        Topology = 0
	TopologyPointList        Topology = 1
	TopologyLineList         Topology = 2
	TopologyLineStrip        Topology = 3
	TopologyTriangleList     Topology = 4
	TopologyTriangleStrip    Topology = 5
	TopologyLineListAdj      Topology = 10
	TopologyLineStripAdj     Topology = 11
	TopologyTriangleListAdj  Topology = 12
	TopologyTriangleStripAdj Topology = 13
	TopologyPatchList1       Topology = 33
)

// FormatR16UInt is DXGI_FORMAT_R16_UINT, which is supported only for indices.
const FormatR16UInt dxgi.Format = 57

// maxStride is the largest stride of a vertex buffer, in bytes.
const maxStride = 2048

// ClearState resets the context to its default state: nothing bound, undefined
// topology, no viewports, no scissor rectangles and no predication.
func (c *Context) ClearState() {
	c, l := c.lock("ClearState")
	defer l.unlock()
	if !c.dropsAll("ClearState") {
		c.clearState()
	}
}

func (c *Context) clearState() {
	if c.rec != nil {
		c.rec.put(opClearState, 0, 0)
	}
	c.reset()
}

// IASetPrimitiveTopology sets the primitive topology.
//
//	DDI     pfnIaSetTopology
func (c *Context) IASetPrimitiveTopology(t Topology) {
	const api = "IASetPrimitiveTopology"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, topologyProblem(t)) {
		return
	}
	if c.rec != nil {
		c.rec.topology(t)
	}
	c.bindTopology(t)
}

// IAGetPrimitiveTopology returns the primitive topology.
func (c *Context) IAGetPrimitiveTopology() Topology {
	c, l := c.lock("IAGetPrimitiveTopology")
	defer l.unlock()
	return c.state.topology
}

// IASetVertexBuffers binds buffers with BindVertexBuffer from slot start on.
//
//	DDI     pfnIaSetVertexBuffers
//	In      strides, offsets: bytes, same length as bufs; strides up to 2048
func (c *Context) IASetVertexBuffers(start uint32, bufs []*Buffer, strides, offsets []uint32) {
	const api = "IASetVertexBuffers"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.vertexProblem(start, bufs, strides, offsets)) {
		return
	}
	if c.rec != nil {
		c.rec.vertexBuffers(int(start), bufs, strides, offsets)
	}
	c.bindVertexBuffers(int(start), bufs, strides, offsets)
}

// IAGetVertexBuffers fills the slices, which must have the same length, from
// slot start on. It adds a reference to each buffer.
func (c *Context) IAGetVertexBuffers(start uint32, bufs []*Buffer, strides, offsets []uint32) {
	c, l := c.lock("IAGetVertexBuffers")
	defer l.unlock()
	if c.dropsOn("IAGetVertexBuffers", vertexSlotsProblem(start, bufs, strides, offsets)) {
		return
	}
	getBuffers(bufs, c.state.vertex[start:])
	copy(strides, c.state.strides[start:])
	copy(offsets, c.state.offsets[start:])
}

// getBuffers copies buffers and adds a reference to each.
func getBuffers(dst, src []*Buffer) {
	for _, b := range src[:copy(dst, src)] {
		if b != nil {
			b.addRef()
		}
	}
}

// IASetIndexBuffer binds a buffer with BindIndexBuffer, or nil.
//
//	DDI     pfnIaSetIndexBuffer
//	In      f: FormatR16UInt or R32UInt; also Unknown if b is nil. offset: bytes
func (c *Context) IASetIndexBuffer(b *Buffer, f dxgi.Format, offset uint32) {
	const api = "IASetIndexBuffer"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.indexProblem(b, f)) {
		return
	}
	if c.rec != nil {
		c.rec.indexBuffer(b, f, offset)
	}
	c.bindIndexBuffer(b, f, offset)
}

// IAGetIndexBuffer returns a reference to the index buffer, its format and its
// offset in bytes.
func (c *Context) IAGetIndexBuffer() (*Buffer, dxgi.Format, uint32) {
	c, l := c.lock("IAGetIndexBuffer")
	defer l.unlock()
	if b := c.state.index; b != nil {
		b.addRef()
	}
	return c.state.index, c.state.indexFormat, c.state.indexOffset
}

// constantBufferCalls are the calls of each stage.
type constantBufferCalls struct {
	set, get string
	invalid  MessageID
}

func (st stage) calls() constantBufferCalls {
	switch st {
	case stageVS:
		return constantBufferCalls{"VSSetConstantBuffers", "VSGetConstantBuffers", MessageVSSetConstantBuffersInvalidBuffer}
	case stageHS:
		return constantBufferCalls{"HSSetConstantBuffers", "HSGetConstantBuffers", MessageHSSetConstantBuffersInvalidBuffer}
	case stageDS:
		return constantBufferCalls{"DSSetConstantBuffers", "DSGetConstantBuffers", MessageDSSetConstantBuffersInvalidBuffer}
	case stageGS:
		return constantBufferCalls{"GSSetConstantBuffers", "GSGetConstantBuffers", MessageGSSetConstantBuffersInvalidBuffer}
	case stagePS:
		return constantBufferCalls{"PSSetConstantBuffers", "PSGetConstantBuffers", MessagePSSetConstantBuffersInvalidBuffer}
	}
	return constantBufferCalls{"CSSetConstantBuffers", "CSGetConstantBuffers", MessageCSSetConstantBuffersInvalidBuffer}
}

func (c *Context) setConstantBuffers(st stage, start uint32, bufs []*Buffer) {
	c, l := c.lock(st.calls().set)
	defer l.unlock()
	calls := st.calls()
	if c.dropsAll(calls.set) || c.dropsOn(calls.set, slotsProblem(start, len(bufs), umddi.MaxConstantBuffers)) ||
		c.dropsOn(calls.set, c.buffersProblem(calls.invalid, bufs, BindConstantBuffer)) {
		return
	}
	if c.rec != nil {
		c.rec.constantBuffers(st, int(start), bufs)
	}
	c.bindConstantBuffers(st, int(start), bufs)
}

func (c *Context) getConstantBuffers(st stage, start uint32, bufs []*Buffer) {
	c, l := c.lock(st.calls().get)
	defer l.unlock()
	if !c.dropsOn(st.calls().get, slotsProblem(start, len(bufs), umddi.MaxConstantBuffers)) {
		getBuffers(bufs, c.state.constant[st][start:])
	}
}

// VSSetConstantBuffers binds buffers with BindConstantBuffer, or nil, to the
// vertex shader stage from slot start on.
//
//	DDI     pfnVsSetConstantBuffers
func (c *Context) VSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stageVS, start, bufs)
}

// VSGetConstantBuffers fills bufs from slot start on and adds a reference to
// each buffer.
func (c *Context) VSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stageVS, start, bufs)
}

// HSSetConstantBuffers is VSSetConstantBuffers for the hull shader stage.
func (c *Context) HSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stageHS, start, bufs)
}

// HSGetConstantBuffers is VSGetConstantBuffers for the hull shader stage.
func (c *Context) HSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stageHS, start, bufs)
}

// DSSetConstantBuffers is VSSetConstantBuffers for the domain shader stage.
func (c *Context) DSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stageDS, start, bufs)
}

// DSGetConstantBuffers is VSGetConstantBuffers for the domain shader stage.
func (c *Context) DSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stageDS, start, bufs)
}

// GSSetConstantBuffers is VSSetConstantBuffers for the geometry shader stage.
func (c *Context) GSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stageGS, start, bufs)
}

// GSGetConstantBuffers is VSGetConstantBuffers for the geometry shader stage.
func (c *Context) GSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stageGS, start, bufs)
}

// PSSetConstantBuffers is VSSetConstantBuffers for the pixel shader stage.
func (c *Context) PSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stagePS, start, bufs)
}

// PSGetConstantBuffers is VSGetConstantBuffers for the pixel shader stage.
func (c *Context) PSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stagePS, start, bufs)
}

// CSSetConstantBuffers is VSSetConstantBuffers for the compute shader stage.
func (c *Context) CSSetConstantBuffers(start uint32, bufs []*Buffer) {
	c.setConstantBuffers(stageCS, start, bufs)
}

// CSGetConstantBuffers is VSGetConstantBuffers for the compute shader stage.
func (c *Context) CSGetConstantBuffers(start uint32, bufs []*Buffer) {
	c.getConstantBuffers(stageCS, start, bufs)
}

// OMSetRenderTargets binds up to 8 views, which may be nil, and unbinds the
// higher slots. It does nothing but add a message to the InfoQueue if the views
// differ in width, height or array size, or two have a subresource in common.
//
//	DDI     pfnSetRenderTargets, with all slots
func (c *Context) OMSetRenderTargets(views []*RenderTargetView) {
	const api = "OMSetRenderTargets"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.targetsProblem(views)) {
		return
	}
	if c.rec != nil {
		c.rec.renderTargets(views)
	}
	c.bindRenderTargets(views)
}

// OMGetRenderTargets fills views from slot 0 on and adds a reference to each
// view.
func (c *Context) OMGetRenderTargets(views []*RenderTargetView) {
	c, l := c.lock("OMGetRenderTargets")
	defer l.unlock()
	for _, v := range views[:copy(views, c.state.targets[:])] {
		if v != nil {
			v.addRef()
		}
	}
}

// RSSetViewports sets up to 16 viewports and clears the others. Sizes must not
// be negative and depths must be in [0, 1].
//
//	DDI     pfnSetViewports
func (c *Context) RSSetViewports(vps []Viewport) {
	const api = "RSSetViewports"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, viewportsProblem(vps)) {
		return
	}
	if c.rec != nil {
		c.rec.viewports(vps)
	}
	c.bindViewports(vps)
}

// RSGetViewports copies the current viewports to vps and returns their number.
// Viewports that do not fit are omitted.
func (c *Context) RSGetViewports(vps []Viewport) int {
	c, l := c.lock("RSGetViewports")
	defer l.unlock()
	copy(vps, c.state.viewports[:c.state.viewportCount])
	return c.state.viewportCount
}

// RSSetScissorRects sets up to 16 scissor rectangles and clears the others.
//
//	DDI     pfnSetScissorRects
func (c *Context) RSSetScissorRects(rects []Rect) {
	const api = "RSSetScissorRects"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) {
		return
	}
	if n := len(rects); n > umddi.MaxViewports {
		c.dev.drop(c.call, api, problemf(MessageInvalidSlots, "NumRects is %d, want at most %d", n, umddi.MaxViewports))
		return
	}
	if c.rec != nil {
		c.rec.scissors(rects)
	}
	c.bindScissors(rects)
}

// RSGetScissorRects copies the current rectangles to rects and returns their
// number. Rectangles that do not fit are omitted.
func (c *Context) RSGetScissorRects(rects []Rect) int {
	c, l := c.lock("RSGetScissorRects")
	defer l.unlock()
	copy(rects, c.state.scissors[:c.state.scissorCount])
	return c.state.scissorCount
}

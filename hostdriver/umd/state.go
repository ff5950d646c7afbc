package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The shader stages, in pipeline order.
const (
	vertexShader = iota
	hullShader
	domainShader
	geometryShader
	pixelShader
	computeShader
	shaderStages
)

// state is the pipeline state of a context. It refers to objects by id, so
// destroying a bound object unbinds it. Command lists contain no state: it ends
// with the list, and lists contain no draws.
type state struct {
	topology  umddi.Topology
	vertex    [umddi.MaxVertexBuffers]vertexBuffer
	index     indexBuffer
	constants [shaderStages][umddi.MaxConstantBuffers]id
	targets   [umddi.MaxRenderTargets]id
	viewports []umddi.Viewport
	scissors  []umddi.Rect
}

type vertexBuffer struct {
	buf            id
	stride, offset uint32 // bytes
}

type indexBuffer struct {
	buf    id
	format dxgi.Format
	offset uint32 // bytes
}

// resolve returns the id of an object, or the zero id if o is nil. For an
// invalid handle it reports DDIDeviceRemoved and returns the zero id.
func resolve[T any](t *ddi.Thread, c *context, objects *table[T], o *ddi.Object) id {
	if o == nil {
		return id{}
	}
	k := contextID(c, objects, o)
	if objects.at(k) == nil {
		c.report(t, ddi.EFail)
		return id{}
	}
	return k
}

// inSlots calls set for each i in [0, n) whose slot, start+i, is below limit.
func inSlots(start uint32, n, limit int, set func(slot, i int)) {
	for i := range n {
		if slot := uint64(start) + uint64(i); slot < uint64(limit) {
			set(int(slot), i)
		}
	}
}

// The functions below are PFND3D10DDI_IA_SETTOPOLOGY etc. in d3d10umddi.h. They
// run on the context's thread, store the state and record nothing. Slots that
// do not exist are ignored.

func iaSetTopology(_ *ddi.Thread, h umddi.HDevice, topology umddi.Topology) {
	contextOf(h).state.topology = topology
}

func iaSetVertexBuffers(t *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource, strides, offsets []uint32) {
	c := contextOf(h)
	n := min(len(bufs), len(strides), len(offsets))
	inSlots(start, n, umddi.MaxVertexBuffers, func(slot, i int) {
		c.state.vertex[slot] = vertexBuffer{resolve(t, c, &c.dev.resources, bufs[i].Object), strides[i], offsets[i]}
	})
}

func iaSetIndexBuffer(t *ddi.Thread, h umddi.HDevice, buf umddi.HResource, format dxgi.Format, offset uint32) {
	c := contextOf(h)
	c.state.index = indexBuffer{resolve(t, c, &c.dev.resources, buf.Object), format, offset}
}

// setConstantBuffers returns the function that binds constant buffers to a
// stage.
func setConstantBuffers(stage int) func(t *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource) {
	return func(t *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource) {
		c := contextOf(h)
		inSlots(start, len(bufs), umddi.MaxConstantBuffers, func(slot, i int) {
			c.state.constants[stage][slot] = resolve(t, c, &c.dev.resources, bufs[i].Object)
		})
	}
}

// setRenderTargets binds the views and unbinds all others.
func setRenderTargets(t *ddi.Thread, h umddi.HDevice, views []umddi.HRenderTargetView) {
	c := contextOf(h)
	c.state.targets = [umddi.MaxRenderTargets]id{}
	inSlots(0, len(views), umddi.MaxRenderTargets, func(slot, i int) {
		c.state.targets[slot] = resolve(t, c, &c.dev.views, views[i].Object)
	})
}

// setViewports replaces all viewports.
func setViewports(_ *ddi.Thread, h umddi.HDevice, vps []umddi.Viewport) {
	s := &contextOf(h).state
	s.viewports = append(s.viewports[:0], vps[:min(len(vps), umddi.MaxViewports)]...)
}

// setScissorRects replaces all scissor rectangles. There are as many as
// viewports.
func setScissorRects(_ *ddi.Thread, h umddi.HDevice, rects []umddi.Rect) {
	s := &contextOf(h).state
	s.scissors = append(s.scissors[:0], rects[:min(len(rects), umddi.MaxViewports)]...)
}

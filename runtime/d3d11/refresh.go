package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// coreCallbacks is the table of callbacks that end in the runtime. State
// refresh calls the driver's function that sets a part of the state, with what
// Context.shown says that the driver has of it.
func coreCallbacks() umddi.CoreLayerCallbacks {
	constant := func(st stage) func(*ddi.Thread, umddi.HRTCoreLayer, umddi.Range) {
		return func(t *ddi.Thread, h umddi.HRTCoreLayer, r umddi.Range) {
			refreshRange(t, h, r, umddi.MaxConstantBuffers, func(c *Context, f *frame, base, count int) {
				c.refreshConstantBuffers(t, f, st, base, count)
			})
		}
	}
	return umddi.CoreLayerCallbacks{
		SetErrorCb: setErrorCb,
		StateIaPrimitiveTopologyCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, func(c *Context, f *frame) { c.funcs.IaSetTopology(t, c.h, c.seen(groupTopology).topology) })
		},
		StateIaVertexBufCb: func(t *ddi.Thread, h umddi.HRTCoreLayer, r umddi.Range) {
			refreshRange(t, h, r, umddi.MaxVertexBuffers, func(c *Context, f *frame, base, count int) {
				c.refreshVertexBuffers(t, f, base, count)
			})
		},
		StateIaIndexBufCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, func(c *Context, f *frame) {
				s := c.seen(groupIndex)
				c.funcs.IaSetIndexBuffer(t, c.h, c.knownResource(s.index.core()), s.indexFormat, s.indexOffset)
			})
		},
		StateVsConstBufCb: constant(stageVS),
		StateHsConstBufCb: constant(stageHS),
		StateDsConstBufCb: constant(stageDS),
		StateGsConstBufCb: constant(stageGS),
		StatePsConstBufCb: constant(stagePS),
		StateCsConstBufCb: constant(stageCS),
		StateOmRenderTargetsCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, func(c *Context, f *frame) { c.refreshRenderTargets(t, f) })
		},
		StateRsViewportsCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, func(c *Context, f *frame) {
				s := c.seen(groupViewports)
				c.funcs.SetViewports(t, c.h, s.viewports[:s.viewportCount])
			})
		},
		StateRsScissorCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, func(c *Context, f *frame) {
				s := c.seen(groupScissors)
				c.funcs.SetScissorRects(t, c.h, s.scissors[:s.scissorCount])
			})
		},
		PerformAmortizedProcessingCb: performAmortizedProcessingCb,
	}
}

// performAmortizedProcessingCb is pfnPerformAmortizedProcessingCb. The runtime
// puts nothing off, so it only checks that the driver may call it there.
func performAmortizedProcessingCb(t *ddi.Thread, h umddi.HRTCoreLayer) { contextOf(t, h) }

// contextOf returns the context of a core layer, if one of its functions runs
// on t. Otherwise the driver has broken the contract.
func contextOf(t *ddi.Thread, h umddi.HRTCoreLayer) *Context {
	var c *Context
	switch x := h.Runtime.(type) {
	case *Device:
		c = x.immediate
	case *Context:
		c = x
	default:
		return nil
	}
	if k := c.call; k == nil || &k.thread != t || !k.running || k.allowed&inContext == 0 {
		c.dev.remove(ddi.DXGIInternalError)
		return nil
	}
	return c
}

// A frame holds the arguments of one refresh, none for parts that the driver
// does not have.
type frame struct {
	bindings
	none state
}

// refreshing is the memory of refreshes: the outermost has a frame that is kept,
// as the arguments of the function that runs are in use.
type refreshing struct {
	depth int
	kept  *frame
}

// refresh calls f, which calls the driver's function that sets a part of the
// state. The driver may refresh state in it.
func refresh(t *ddi.Thread, h umddi.HRTCoreLayer, f func(*Context, *frame)) {
	c := contextOf(t, h)
	if c == nil {
		return
	}
	r := &c.refresh
	fr := r.kept
	if fr == nil || r.depth > 0 {
		fr = new(frame)
		r.kept = fr
	}
	allowed := c.call.allowed
	c.call.allowed = allowed&(mayLack|atDevice) | maySet
	r.depth++
	f(c, fr)
	r.depth--
	c.call.allowed = allowed
}

// refreshRange is refresh for a range of slots. Those above limit do not exist.
func refreshRange(t *ddi.Thread, h umddi.HRTCoreLayer, r umddi.Range, limit int, f func(c *Context, fr *frame, base, count int)) {
	refresh(t, h, func(c *Context, fr *frame) {
		if r.Base < 0 || r.Base >= limit || r.Count < -1 || r.Count > limit-r.Base {
			c.dev.remove(ddi.DXGIInternalError)
			return
		}
		f(c, fr, r.Base, r.Count)
	})
}

// seen returns the state if the driver has a group of it, else the default.
func (c *Context) seen(g groups) *state {
	if c.shown&g == 0 {
		return &c.refresh.kept.none
	}
	return &c.state
}

// slots returns the number of slots from base on: count, or with -1 up to the
// highest that is in use, which is slot used-1.
func slots(base, count, used int) int {
	if count >= 0 {
		return count
	}
	return max(0, used-base)
}

// knownResource returns the driver's handle of a resource that is bound, which
// is open.
func (c *Context) knownResource(r *resource) umddi.HResource {
	if r == nil || !c.deferred {
		return r.handle()
	}
	if l := c.find(&r.child); l != nil && l.here.open {
		return umddi.HResource{Object: &l.obj}
	}
	return umddi.HResource{}
}

func (c *Context) knownView(v *RenderTargetView) umddi.HRenderTargetView {
	if v == nil || !c.deferred {
		return v.handle()
	}
	if l := c.find(&v.child); l != nil && l.here.open {
		return umddi.HRenderTargetView{Object: &l.obj}
	}
	return umddi.HRenderTargetView{}
}

func (c *Context) refreshVertexBuffers(t *ddi.Thread, f *frame, base, count int) {
	s := c.seen(groupVertex)
	n := slots(base, count, s.vertexCount())
	for i, b := range s.vertex[base : base+n] {
		f.buffers[i] = c.knownResource(b.core())
	}
	c.funcs.IaSetVertexBuffers(t, c.h, uint32(base), f.buffers[:n], s.strides[base:base+n], s.offsets[base:base+n])
}

func (c *Context) refreshConstantBuffers(t *ddi.Thread, f *frame, st stage, base, count int) {
	s := c.seen(groupConstant << st)
	n := slots(base, count, s.constantCount(st))
	for i, b := range s.constant[st][base : base+n] {
		f.buffers[i] = c.knownResource(b.core())
	}
	constantBufferFunc(c.funcs, st)(t, c.h, uint32(base), f.buffers[:n])
}

func (c *Context) refreshRenderTargets(t *ddi.Thread, f *frame) {
	for i, v := range c.seen(groupTargets).targets {
		f.targets[i] = c.knownView(v)
	}
	c.funcs.SetRenderTargets(t, c.h, f.targets[:])
}

package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// coreCallbacks is the table of callbacks implemented by the runtime. A state
// refresh calls the driver's Set function with the state that Context.shown
// says the driver has.
func coreCallbacks() umddi.CoreLayerCallbacks {
	constant := func(st stage, callback string) func(*ddi.Thread, umddi.HRTCoreLayer, umddi.Range) {
		return func(t *ddi.Thread, h umddi.HRTCoreLayer, r umddi.Range) {
			refreshRange(t, h, callback, r, umddi.MaxConstantBuffers, func(c *Context, f *frame, base, count int) {
				c.refreshConstantBuffers(t, f, st, base, count)
			})
		}
	}
	return umddi.CoreLayerCallbacks{
		SetErrorCb: setErrorCb,
		StateIaPrimitiveTopologyCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, "pfnStateIaPrimitiveTopologyCb", func(c *Context, f *frame) { c.funcs.IaSetTopology(t, c.h, c.driverState(groupTopology).topology) })
		},
		StateIaVertexBufCb: func(t *ddi.Thread, h umddi.HRTCoreLayer, r umddi.Range) {
			refreshRange(t, h, "pfnStateIaVertexBufCb", r, umddi.MaxVertexBuffers, func(c *Context, f *frame, base, count int) {
				c.refreshVertexBuffers(t, f, base, count)
			})
		},
		StateIaIndexBufCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, "pfnStateIaIndexBufCb", func(c *Context, f *frame) {
				s := c.driverState(groupIndex)
				c.funcs.IaSetIndexBuffer(t, c.h, c.knownResource(s.index.core()), s.indexFormat, s.indexOffset)
			})
		},
		StateVsConstBufCb: constant(stageVS, "pfnStateVsConstBufCb"),
		StateHsConstBufCb: constant(stageHS, "pfnStateHsConstBufCb"),
		StateDsConstBufCb: constant(stageDS, "pfnStateDsConstBufCb"),
		StateGsConstBufCb: constant(stageGS, "pfnStateGsConstBufCb"),
		StatePsConstBufCb: constant(stagePS, "pfnStatePsConstBufCb"),
		StateCsConstBufCb: constant(stageCS, "pfnStateCsConstBufCb"),
		StateOmRenderTargetsCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, "pfnStateOmRenderTargetsCb", func(c *Context, f *frame) { c.refreshRenderTargets(t, f) })
		},
		StateRsViewportsCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, "pfnStateRsViewportsCb", func(c *Context, f *frame) {
				s := c.driverState(groupViewports)
				c.funcs.SetViewports(t, c.h, s.viewports[:s.viewportCount])
			})
		},
		StateRsScissorCb: func(t *ddi.Thread, h umddi.HRTCoreLayer) {
			refresh(t, h, "pfnStateRsScissorCb", func(c *Context, f *frame) {
				s := c.driverState(groupScissors)
				c.funcs.SetScissorRects(t, c.h, s.scissors[:s.scissorCount])
			})
		},
		PerformAmortizedProcessingCb: performAmortizedProcessingCb,
	}
}

// performAmortizedProcessingCb is pfnPerformAmortizedProcessingCb. The runtime
// defers no work, so it only checks that the driver may call it.
func performAmortizedProcessingCb(t *ddi.Thread, h umddi.HRTCoreLayer) {
	contextOf(t, h, "pfnPerformAmortizedProcessingCb")
}

// contextOf returns the context of a core layer if one of its functions runs on
// t. Otherwise the driver has broken its contract by calling callback.
func contextOf(t *ddi.Thread, h umddi.HRTCoreLayer, callback string) *Context {
	var c *Context
	switch x := h.Runtime.(type) {
	case *Device:
		c = x.immediate
	case *Context:
		c = x
	default:
		return nil
	}
	switch k := c.call; {
	case k == nil || &k.thread != t || !k.running:
		c.dev.removeBroken(nil, "%s was called outside of the functions of its context", callback)
		return nil
	case k.allowed&inContext == 0:
		c.dev.removeBroken(k, "%s was called in %s, which uses no state", callback, k.entry)
		return nil
	}
	return c
}

// A frame holds the arguments of one refresh. Parts of the state that the
// driver does not have are empty.
type frame struct {
	bindings
	none state
}

// refreshing is the memory of refreshes. The outermost refresh uses a
// preallocated frame, since the arguments of the running function are in use.
type refreshing struct {
	depth int
	kept  *frame
}

// refresh calls f, which calls the driver's Set function for a part of the
// state. The driver may refresh state again in it.
func refresh(t *ddi.Thread, h umddi.HRTCoreLayer, callback string, f func(*Context, *frame)) {
	c := contextOf(t, h, callback)
	if c == nil {
		return
	}
	r := &c.refresh
	fr := r.kept
	if fr == nil || r.depth > 0 {
		fr = new(frame)
		r.kept = fr
	}
	allowed, entry := c.call.allowed, c.call.entry
	c.call.entry = callback
	c.call.allowed = allowed&(mayRunOutOfMemory|atDevice) | maySet
	r.depth++
	f(c, fr)
	r.depth--
	c.call.allowed, c.call.entry = allowed, entry
}

// refreshRange is refresh for a range of slots below limit.
func refreshRange(t *ddi.Thread, h umddi.HRTCoreLayer, callback string, r umddi.Range, limit int, f func(c *Context, fr *frame, base, count int)) {
	refresh(t, h, callback, func(c *Context, fr *frame) {
		if r.Base < 0 || r.Base >= limit || r.Count < -1 || r.Count > limit-r.Base {
			c.dev.removeBroken(c.call, "%s got base %d and count %d, want slots below %d, or count -1", callback, r.Base, r.Count, limit)
			return
		}
		f(c, fr, r.Base, r.Count)
	})
}

// driverState returns the state if the driver has group g, else the default
// state.
func (c *Context) driverState(g groups) *state {
	if c.shown&g == 0 {
		return &c.refresh.kept.none
	}
	return &c.state
}

// slots returns the number of slots from base on: count, or up to slot used-1
// if count is -1.
func slots(base, count, used int) int {
	if count >= 0 {
		return count
	}
	return max(0, used-base)
}

// knownResource returns the driver's open handle of a bound resource.
func (c *Context) knownResource(r *resource) umddi.HResource {
	if r == nil || !c.deferred {
		return r.handle()
	}
	if l := c.find(&r.child); l != nil && l.state.open {
		return umddi.HResource{Object: &l.obj}
	}
	return umddi.HResource{}
}

func (c *Context) knownView(v *RenderTargetView) umddi.HRenderTargetView {
	if v == nil || !c.deferred {
		return v.handle()
	}
	if l := c.find(&v.child); l != nil && l.state.open {
		return umddi.HRenderTargetView{Object: &l.obj}
	}
	return umddi.HRenderTargetView{}
}

func (c *Context) refreshVertexBuffers(t *ddi.Thread, f *frame, base, count int) {
	s := c.driverState(groupVertex)
	n := slots(base, count, s.vertexCount())
	for i, b := range s.vertex[base : base+n] {
		f.buffers[i] = c.knownResource(b.core())
	}
	c.funcs.IaSetVertexBuffers(t, c.h, uint32(base), f.buffers[:n], s.strides[base:base+n], s.offsets[base:base+n])
}

func (c *Context) refreshConstantBuffers(t *ddi.Thread, f *frame, st stage, base, count int) {
	s := c.driverState(groupConstant << st)
	n := slots(base, count, s.constantCount(st))
	for i, b := range s.constant[st][base : base+n] {
		f.buffers[i] = c.knownResource(b.core())
	}
	_, fn := constantBufferFunc(c.funcs, st)
	fn(t, c.h, uint32(base), f.buffers[:n])
}

func (c *Context) refreshRenderTargets(t *ddi.Thread, f *frame) {
	for i, v := range c.driverState(groupTargets).targets {
		f.targets[i] = c.knownView(v)
	}
	c.funcs.SetRenderTargets(t, c.h, f.targets[:])
}

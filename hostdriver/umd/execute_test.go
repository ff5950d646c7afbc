package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Each command in a list has the effect of the call on the immediate context.
func TestCommands(t *testing.T) {
	r, _ := newListRig(t)
	arg := mips(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget), 1)
	a, b := r.create(arg), r.create(arg)
	v := r.view(a, rgba, 1, 0, 1)
	q := r.query()
	r.update(b, arg, 0, nil, seq(10, 64))
	c := r.recorder()
	data := seq(100, 64)
	c.update(a, arg, 0, nil, data)
	c.update(a, arg, 0, box(1, 1, 3, 2), seq(200, 8))
	c.update(a, arg, 0, box(1, 1, 5, 2), seq(0, 16)) // not contained in the resource
	clear(data)
	c.f.ClearRenderTargetView(c.th, c.h, c.target(v, a), [4]float32{1, 0, 1, 0})
	c.f.ResourceCopyRegion(c.th, c.h, c.res(a), 0, 2, 3, 0, c.res(b), 0, box(1, 2, 3, 3))
	c.f.ResourceCopyRegion(c.th, c.h, c.res(a), 2, 0, 0, 0, c.res(b), 0, box(3, 3, 4, 4))
	c.f.ResourceCopyRegion(c.th, c.h, c.res(b), 1, 0, 0, 0, c.res(a), 1, nil)
	c.f.QueryBegin(c.th, c.h, c.q(q))
	c.f.QueryEnd(c.th, c.h, c.q(q))
	l := c.done()
	r.ask(q, 0)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors(), "not ended before the list is executed")
	r.execute(l)
	want := seq(100, 64)
	copy(want[16+4:], seq(200, 8))
	copy(want[3*16+8:], seq(10, 64)[2*16+4:2*16+12])
	assert.Equal(t, want, r.read(a, arg, 0))
	level := []byte{255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0}
	assert.Equal(t, level, r.read(a, arg, 1))
	assert.Equal(t, seq(10, 64)[60:], r.read(a, arg, 2))
	assert.Equal(t, level, r.read(b, arg, 1))
	assert.Equal(t, byte(1), r.ask(q, 0)[0])
	assert.Empty(t, c.errors())
}

// Invalid commands are refused when they are recorded.
func TestRecordRefuses(t *testing.T) {
	r, _ := newListRig(t)
	a, dyn, def := r.filledBuffer(umddi.UsageDefault, 1), r.create(buf(64, umddi.UsageDynamic)), buf(64, umddi.UsageDefault)
	c := r.recorder()
	for name, one := range map[string]func(){
		"too little data":       func() { c.update(a, def, 0, nil, seq(0, 63)) },
		"no such subresource":   func() { c.update(a, def, 1, nil, seq(0, 64)) },
		"a map of another kind": func() { assert.Nil(t, c.discard(a, 0).Data) },
		"a map beyond the end":  func() { assert.Nil(t, c.discard(dyn, 1).Data) },
		"no earlier discard": func() {
			assert.Nil(t, c.f.DynamicIABufferMapNoOverwrite(c.th, c.h, c.res(dyn), 0, umddi.MapWriteNoOverwrite, 0).Data)
		},
	} {
		one()
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors(), name)
	}
	assert.Empty(t, listHead(c.done().Object))
}

// Lists nest to any depth, and the outer list does not need the inner one.
func TestNestedLists(t *testing.T) {
	r, m := newListRig(t)
	arg := buf(64, umddi.UsageDefault)
	dynArg := buf(64, umddi.UsageDynamic)
	a, b, dyn := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 50), r.create(dynArg)
	inner := r.recorder()
	fillMap(t, inner.discard(dyn, 0), 4)
	inner.copy(a, b)
	inner.update(b, arg, 0, box(0, 0, 1, 1), []byte{99})
	for range 800 {
		inner.copy(b, b)
	}
	l := inner.done()
	for range 5 {
		c := r.recorder()
		c.execute(l)
		c.f.QueryBegin(c.th, c.h, c.q(r.query()))
		c.execute(l)
		next := c.done()
		r.f.DestroyCommandList(r.th, r.h, l)
		clear(l.Private)
		c.destroy()
		l = next
	}
	inner.destroy()
	r.execute(l)
	want := seq(50, 64)
	want[0] = 99
	assert.Equal(t, want, r.buffer(a))
	assert.Equal(t, byte(4), r.read(dyn, dynArg, 0)[0])
	r.f.DestroyCommandList(r.th, r.h, l)
	assert.Empty(t, m.live)
	assert.Empty(t, r.errs)
}

// A list that does not fit in a command buffer is submitted in parts.
func TestListSplits(t *testing.T) {
	k := newKernel(t)
	k.cmdBytes, k.nAllocs, k.nPatches = 4*copyBytes, 3, 8
	r := newRigOn(k)
	bufs := []umddi.HResource{r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2), r.filledBuffer(umddi.UsageDefault, 3)}
	for _, b := range bufs {
		r.copy(b, b) // copies the initial data
	}
	r.flush()
	r.run(len(r.queue))
	c, first := r.recorder(), []int{1, 2, 3}
	for i := range 30 {
		c.copy(bufs[i%3], bufs[(i+1)%3])
		first[i%3] = first[(i+1)%3]
	}
	l := c.done()
	r.execute(l)
	assert.Len(t, r.queue, 7, "30 copies, four to a buffer")
	r.flush()
	assert.Len(t, r.queue, 8)
	for i, b := range bufs {
		assert.Equal(t, seq(first[i], 64), r.buffer(b))
	}
	assert.Empty(t, c.errors())
}

// refreshing makes every state-refresh callback set the state given by bound,
// and records the calls on a rig's immediate context.
func refreshing(r *rig, bound umddi.Topology) *[]string {
	var calls []string
	note := func(name string) func(*ddi.Thread, umddi.HRTCoreLayer) {
		return func(_ *ddi.Thread, h umddi.HRTCoreLayer) {
			require.Equal(r, "core", h.Runtime)
			calls = append(calls, name)
		}
	}
	slots := func(name string) func(*ddi.Thread, umddi.HRTCoreLayer, umddi.Range) {
		return func(t *ddi.Thread, h umddi.HRTCoreLayer, g umddi.Range) {
			require.Equal(r, umddi.Range{Base: 0, Count: -1}, g)
			note(name)(t, h)
		}
	}
	render := r.kt.RenderCb
	r.kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
		calls = append(calls, "Render")
		return render(t, h, arg)
	}
	u := r.um
	u.PerformAmortizedProcessingCb = note("Amortized")
	u.StateIaPrimitiveTopologyCb = func(t *ddi.Thread, h umddi.HRTCoreLayer) {
		note("Topology")(t, h)
		r.f.IaSetTopology(t, r.h, bound)
	}
	u.StateIaVertexBufCb, u.StateIaIndexBufCb = slots("Vertex"), note("Index")
	u.StateVsConstBufCb, u.StateHsConstBufCb, u.StateDsConstBufCb = slots("Vs"), slots("Hs"), slots("Ds")
	u.StateGsConstBufCb, u.StatePsConstBufCb, u.StateCsConstBufCb = slots("Gs"), slots("Ps"), slots("Cs")
	u.StateOmRenderTargetsCb, u.StateRsViewportsCb, u.StateRsScissorCb = note("Targets"), note("Viewports"), note("Scissor")
	return &calls
}

// State is refreshed after a full batch, but not after a flush by the runtime.
func TestStateRefresh(t *testing.T) {
	k := newKernel(t)
	k.cmdBytes = copyBytes
	r := newRigOn(k)
	calls := refreshing(r, 5)
	a, b := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	r.f.IaSetTopology(r.th, r.h, 3)
	r.copy(a, b)
	assert.Empty(t, *calls)
	r.copy(a, b)
	all := []string{"Render", "Amortized", "Topology", "Index", "Targets", "Viewports", "Scissor", "Vertex", "Vs", "Hs", "Ds", "Gs", "Ps", "Cs"}
	assert.Equal(t, all, *calls)
	assert.Equal(t, umddi.Topology(5), r.driver().state.topology, "the runtime's state is used")
	*calls = nil
	r.flush()
	assert.Equal(t, []string{"Render", "Amortized"}, *calls)
	*calls = nil
	r.flush()
	assert.Empty(t, *calls, "nothing was submitted")

	c := r.recorder()
	c.copy(a, b)
	c.copy(b, a)
	l := c.done()
	r.execute(l)
	assert.Equal(t, all, *calls, "between the commands of a list")
	assert.Zero(t, r.driver().state.topology, "which still ends with the initial state")

	*calls, r.failAt, r.failHR = nil, 1, ddi.EOutOfMemory
	r.copy(a, b)
	assert.Equal(t, []string{"Render"}, *calls, "nothing continues after a lost batch")
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors())
}

// The callbacks may change between calls, and a runtime may have none.
func TestCallbacksChange(t *testing.T) {
	k := newKernel(t)
	k.cmdBytes = copyBytes
	r := newRigOn(k)
	a, b := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	r.copy(a, b)
	r.copy(a, b)
	calls := refreshing(r, 1)
	r.copy(a, b)
	assert.Len(t, *calls, 14)
	r.um.StateRsScissorCb = nil
	r.copy(a, b)
	assert.Len(t, *calls, 27)
	assert.Empty(t, r.errs)
}

// A context that runs out of room lets the runtime do deferred processing.
func TestDeferredContextOutOfRoom(t *testing.T) {
	r, _ := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	for range 9 {
		c.copy(a, a)
	}
	assert.Empty(t, c.calls)
	c.copy(a, a)
	assert.Equal(t, []string{"PerformAmortizedProcessing"}, c.calls)
	c.um.PerformAmortizedProcessingCb = nil
	for range 1000 {
		c.copy(a, a)
	}
	c.done()
}

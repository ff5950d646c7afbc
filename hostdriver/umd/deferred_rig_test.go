package umd

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// recorder is a deferred context of a rig, called as the runtime calls it.
type recorder struct {
	*rig
	th  *ddi.Thread
	arg umddi.CreateDeferredContext
	h   umddi.HDevice
	f   umddi.DeviceFuncs
	um  umddi.CoreLayerCallbacks

	errs    []ddi.HRESULT // reported to the context's core layer
	calls   []string      // callbacks of the context's core layer, by name
	open    []opened
	spare   []*ddi.Object        // memory of closed local handles
	retired []umddi.HCommandList // RecycleDestroyCommandList was called
	cached  []umddi.HCommandList // RecycleCommandList was called
}

// opened is a local handle.
type opened struct {
	ic, local *ddi.Object
	close     func()
}

// recorder creates a deferred context, which must succeed.
func (r *rig) recorder() *recorder {
	r.Helper()
	c := r.tryRecorder()
	require.Empty(r, r.errs)
	return c
}

func (r *rig) tryRecorder() *recorder {
	c := &recorder{rig: r, th: &ddi.Thread{Process: 1, ID: 9}, h: umddi.HDevice{Root: &ddi.Root{}}}
	c.um.SetErrorCb = func(_ *ddi.Thread, h umddi.HRTCoreLayer, hr ddi.HRESULT) {
		if h.Runtime == "core" {
			c.rig.errs = append(c.rig.errs, hr)
			return
		}
		require.Equal(r, "deferred", h.Runtime)
		c.errs = append(c.errs, hr)
	}
	c.um.PerformAmortizedProcessingCb = func(_ *ddi.Thread, h umddi.HRTCoreLayer) {
		require.Equal(r, "deferred", h.Runtime)
		c.calls = append(c.calls, "PerformAmortizedProcessing")
	}
	require.Zero(r, r.f.CalcPrivateDeferredContextSize(r.th, r.h, 0))
	c.arg = umddi.CreateDeferredContext{
		Context: c.h, RTCoreLayer: umddi.HRTCoreLayer{Runtime: "deferred"}, ContextFuncs: &c.f, UMCallbacks: &c.um,
	}
	r.f.CreateDeferredContext(r.th, r.h, &c.arg)
	return c
}

// driver returns the driver's object.
func (c *recorder) driver() *deferred { return c.h.Driver.(*deferred) }

// errors returns the errors reported to either core layer since the last call.
func (c *recorder) errors() []ddi.HRESULT {
	es := slices.Concat(c.rig.errs, c.errs)
	c.rig.errs, c.errs = nil, nil
	return es
}

// find returns the open local handle for ic, or nil.
func (c *recorder) find(ic *ddi.Object) *ddi.Object {
	for _, o := range c.open {
		if o.ic == ic {
			return o.local
		}
	}
	return nil
}

// local returns private memory for the local handle of ic, with leftovers of an
// earlier handle.
func (c *recorder) local(typ umddi.HandleType, ic *ddi.Object) *ddi.Object {
	if n := len(c.spare); n > 0 {
		o := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return o
	}
	return garbage(c.rig.f.CalcDeferredContextHandleSize(c.th, c.rig.h, typ, ic))
}

func (c *recorder) res(ic umddi.HResource) umddi.HResource {
	if o := c.find(ic.Object); o != nil || ic.Object == nil {
		return umddi.HResource{Object: o}
	}
	l := umddi.HResource{Object: c.local(umddi.HandleResource, ic.Object)}
	c.f.CreateResource(c.th, c.h, nil, l, umddi.HRTResource{Runtime: ic})
	c.open = append(c.open, opened{ic.Object, l.Object, func() { c.f.DestroyResource(c.th, c.h, l) }})
	return l
}

func (c *recorder) target(ic umddi.HRenderTargetView, of umddi.HResource) umddi.HRenderTargetView {
	if o := c.find(ic.Object); o != nil {
		return umddi.HRenderTargetView{Object: o}
	}
	arg := &umddi.CreateRenderTargetView{Resource: c.res(of)}
	l := umddi.HRenderTargetView{Object: c.local(umddi.HandleRenderTargetView, ic.Object)}
	c.f.CreateRenderTargetView(c.th, c.h, arg, l, umddi.HRTRenderTargetView{Runtime: ic})
	c.open = append(c.open, opened{ic.Object, l.Object, func() { c.f.DestroyRenderTargetView(c.th, c.h, l) }})
	return l
}

func (c *recorder) q(ic umddi.HQuery) umddi.HQuery {
	if o := c.find(ic.Object); o != nil || ic.Object == nil {
		return umddi.HQuery{Object: o}
	}
	l := umddi.HQuery{Object: c.local(umddi.HandleQuery, ic.Object)}
	c.f.CreateQuery(c.th, c.h, umddi.CreateQuery{}, l, umddi.HRTQuery{Runtime: ic})
	c.open = append(c.open, opened{ic.Object, l.Object, func() { c.f.DestroyQuery(c.th, c.h, l) }})
	return l
}

func (c *recorder) list(ic umddi.HCommandList) umddi.HCommandList {
	if o := c.find(ic.Object); o != nil {
		return umddi.HCommandList{Object: o}
	}
	l := umddi.HCommandList{Object: c.local(umddi.HandleCommandList, ic.Object)}
	c.f.CreateCommandList(c.th, c.h, nil, l, umddi.HRTCommandList{Runtime: ic})
	c.open = append(c.open, opened{ic.Object, l.Object, func() { c.f.DestroyCommandList(c.th, c.h, l) }})
	return l
}

// finish is FinishCommandList. If there is no list it returns the error.
func (c *recorder) finish() (umddi.HCommandList, ddi.HRESULT) {
	for _, l := range c.retired {
		c.f.RecycleCommandList(c.th, c.h, l)
	}
	c.cached, c.retired = append(c.cached, c.retired...), c.retired[:0]
	l, hr := c.makeList()
	if hr.Failed() {
		c.abandon()
		return umddi.HCommandList{}, hr
	}
	return l, c.recycle()
}

func (c *recorder) makeList() (umddi.HCommandList, ddi.HRESULT) {
	arg := &umddi.CreateCommandList{DeferredContext: c.h}
	if n := len(c.cached); n > 0 {
		l := c.cached[n-1]
		hr := c.rig.f.RecycleCreateCommandList(c.th, c.rig.h, arg, l, umddi.HRTCommandList{})
		if !hr.Failed() {
			c.cached = c.cached[:n-1]
		}
		return l, hr
	}
	before := len(c.rig.errs)
	l := umddi.HCommandList{Object: garbage(c.rig.f.CalcPrivateCommandListSize(c.th, c.rig.h, arg))}
	c.rig.f.CreateCommandList(c.th, c.rig.h, arg, l, umddi.HRTCommandList{})
	if len(c.rig.errs) > before {
		hr := c.rig.errs[before]
		c.rig.errs = c.rig.errs[:before]
		return l, hr
	}
	return l, ddi.OK
}

// recycle closes open handles in reverse order and recycles the context.
func (c *recorder) recycle() ddi.HRESULT {
	for _, o := range slices.Backward(c.open) {
		o.close()
		c.spare = append(c.spare, o.local)
	}
	c.open = c.open[:0]
	return c.rig.f.RecycleCreateDeferredContext(c.th, c.rig.h, &c.arg)
}

// abandon drops the recording and recycles the context.
func (c *recorder) abandon() {
	c.f.AbandonCommandList(c.th, c.h)
	require.Equal(c.rig, ddi.OK, c.recycle())
}

// done finishes a list, which must succeed.
func (c *recorder) done() umddi.HCommandList {
	c.Helper()
	l, hr := c.finish()
	require.Equal(c.rig, ddi.OK, hr)
	require.Empty(c.rig, c.errors())
	return l
}

// release is the last release of a list while its context exists.
func (c *recorder) release(l umddi.HCommandList) {
	c.rig.f.RecycleDestroyCommandList(c.th, c.rig.h, l)
	c.retired = append(c.retired, l)
}

// destroy destroys the context and the lists that are no longer in use.
func (c *recorder) destroy() {
	c.abandon()
	c.f.DestroyDevice(c.th, c.h)
	for _, l := range slices.Concat(c.retired, c.cached) {
		c.rig.f.DestroyCommandList(c.th, c.rig.h, l)
	}
	c.retired, c.cached = nil, nil
}

// The functions that record, by the device's handles.

func (c *recorder) copy(dst, src umddi.HResource) {
	c.f.ResourceCopy(c.th, c.h, c.res(dst), c.res(src))
}

func (c *recorder) update(res umddi.HResource, arg *umddi.CreateResource, sub uint32, box *umddi.Box, data []byte) {
	w := arg.MipInfoList[sub%arg.MipLevels].TexelWidth
	if box != nil {
		w = box.Right - box.Left
	}
	c.f.ResourceUpdateSubresourceUP(c.th, c.h, c.res(res), sub, box, data, uint32(elementBytes(arg))*w, 0)
}

func (c *recorder) discard(res umddi.HResource, sub uint32) umddi.Mapped {
	return c.f.DynamicResourceMapDiscard(c.th, c.h, c.res(res), sub, umddi.MapWriteDiscard, 0)
}

func (c *recorder) execute(l umddi.HCommandList) {
	c.f.CommandListExecute(c.th, c.h, c.list(l))
}

// execute executes a list on the immediate context.
func (r *rig) execute(l umddi.HCommandList) { r.f.CommandListExecute(r.th, r.h, l) }

// testHeap is a Memory that tracks its allocations and can fail on request.
type testHeap struct {
	t      tb
	failAt int // Alloc call to fail, counted from 1 from now on; 0: none
	failed bool
	allocs int // number of calls
	live   map[*byte]int
}

func newHeap(t tb) *testHeap { return &testHeap{t: t, live: map[*byte]int{}} }

func (m *testHeap) Alloc(n int) []byte {
	m.allocs++
	if m.failAt > 0 {
		if m.failAt--; m.failAt == 0 {
			m.failed = true
			return nil
		}
	}
	p := slices.Repeat([]byte{0x5a}, n)
	m.live[&p[0]] = n
	return p
}

func (m *testHeap) Free(p []byte) {
	require.NotEmpty(m.t, p)
	require.Equal(m.t, m.live[&p[0]], len(p), "freed twice, or in part")
	for i := range p {
		p[i] = 0xdb
	}
	delete(m.live, &p[0])
}

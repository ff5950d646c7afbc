package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nativeContext is the state of a deferred context for which the driver
// records.
//
// If the driver reports an error, the list has failed. Commands of the
// application are then ignored until FinishCommandList abandons the driver's
// list and returns the error.
type nativeContext struct {
	createArg umddi.CreateDeferredContext
	listArg   umddi.CreateCommandList
	viewArg   umddi.CreateRenderTargetView

	locals []*local // by child.id and listBody.id
	epoch  uint64   // number of the list being recorded, from 1
	opens  []*local // in the order in which they were opened
	maps   []*resource

	used       bool // the driver was called for this list
	failed     bool
	blame      string // the function of the driver that failed
	suppressed bool   // the list has failed and driver calls are suppressed
	listEnded  bool   // the list has ended and the driver's context must be recycled
	stale      bool   // recycling had no memory; the context's next use tries again

	// From failure to abandonment: the state at the failure, still bound in the driver.
	bound      *state
	boundShown groups
}

// newDeferred creates a deferred context of the driver for a call of the API.
//
//	DDI     pfnCalcPrivateDeferredContextSize, pfnCreateDeferredContext
func newDeferred(d *Device, api string) (*Context, error) {
	k := d.acquireCall()
	c := &Context{deferred: true, call: k, h: umddi.HDevice{Root: new(ddi.Root)}}
	n := &c.native
	c.funcs, c.moves = new(umddi.DeviceFuncs), newMoves(d.seed)
	n.epoch, n.opens, c.effects = 1, ownLocals(), ownEffects()
	n.listArg.DeferredContext = c.h
	n.createArg = umddi.CreateDeferredContext{
		Context: c.h, RTCoreLayer: umddi.HRTCoreLayer{Runtime: c}, ContextFuncs: c.funcs, UMCallbacks: &d.coreCb,
	}
	c.dev = d
	k.ctx = c
	k.enter(api)
	hr := c.createNative()
	k.leave(api)
	if hr != ddi.OK {
		k.ctx = nil
		err := k.failed(api, hr)
		d.releaseCall(k)
		return nil, err
	}
	c.spare.Store(d.acquireCall())
	c.retired.leases.Store(1)
	c.adopt(d, c)
	return c, nil
}

// createNative creates the driver's context. On failure there is none.
func (c *Context) createNative() ddi.HRESULT {
	d, k := c.dev, c.call
	n := d.funcs.CalcPrivateDeferredContextSize(k.begin("pfnCalcPrivateDeferredContextSize", 0), d.h, 0)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	memory, ok := private(n)
	if !ok {
		return k.sizeBroken(n)
	}
	c.h.Root.Private = memory.Private
	d.funcs.CreateDeferredContext(k.begin("pfnCreateDeferredContext", mayCreate|atDevice), d.h, &c.native.createArg)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	name := d.missingDeferred(c.funcs)
	if name == "" {
		return ddi.OK
	}
	hr := k.contractBroken("left %s of the context's table nil", name)
	if c.funcs.DestroyDevice != nil {
		c.funcs.DestroyDevice(k.begin("pfnDestroyDevice", maySet), c.h)
		k.end()
	}
	return hr
}

// finishNative creates the list of a context for which the driver records. If
// there is no memory to recycle the context after that, its next use does.
func (c *Context) finishNative() (*listBody, ddi.HRESULT) {
	c.renew()
	if c.tooLarge() {
		c.fail()
	}
	c.endOpen()
	if !c.native.listEnded {
		c.drain()
	}
	if c.native.failed {
		return nil, c.dropList()
	}
	b, hr := c.makeList()
	if b == nil {
		c.fail()
		c.dropList()
		return nil, hr
	}
	c.shown = 0
	c.closeAll()
	n := &c.native
	b.refs, n.opens = n.opens, b.refs
	c.effects.moveTo(&b.effects)
	n.epoch++
	n.listEnded, n.failed, n.suppressed = true, true, true
	if hr == ddi.OK {
		hr = c.recycleContext()
	}
	if n.stale = hr == ddi.EOutOfMemory; n.stale || hr == ddi.OK {
		return b, ddi.OK
	}
	b.destroyUnused(c.call)
	return nil, hr
}

// renew recycles the driver's context before its first use after a list, if
// there was no memory for it at the end of the list. If there still is none, the
// list that begins has failed.
func (c *Context) renew() {
	if !c.native.stale {
		return
	}
	c.native.stale = false
	if c.recycleContext() == ddi.OK {
		c.resend()
	}
}

// destroyUnused destroys a list that no application has seen.
func (b *listBody) destroyUnused(k *call) {
	var e endedLists
	b.release(&e)
	e.retire()
	b.destroy(k)
}

// dropList drops a failed list and returns the result of FinishCommandList.
func (c *Context) dropList() ddi.HRESULT {
	if c.native.listEnded {
		c.nextList()
	} else {
		c.abandon()
	}
	if c.dev.removed() {
		return ddi.DXGIDeviceRemoved
	}
	hr := c.recycleContext()
	if c.dev.removed() {
		return ddi.DXGIDeviceRemoved
	}
	c.native.stale = hr != ddi.OK
	return ddi.EOutOfMemory
}

// endOpen ends active queries and unmaps resources before a list ends.
func (c *Context) endOpen() {
	for len(c.begun) > 0 {
		c.queryEnd(c.begun[0])
	}
	c.unmapAll()
}

func (c *Context) unmapAll() {
	for len(c.native.maps) > 0 {
		c.unmapLocal(c.native.maps[0])
	}
}

// recycleContext recycles the driver's context after its list has ended.
//
//	DDI     pfnRecycleCreateDeferredContext
func (c *Context) recycleContext() ddi.HRESULT {
	n := &c.native
	hr := c.dev.funcs.RecycleCreateDeferredContext(c.call.begin("pfnRecycleCreateDeferredContext", mayRecycle), c.dev.h, &n.createArg)
	if hr = c.recycled(hr); hr != ddi.OK {
		n.blame = c.call.blame
		return hr
	}
	n.failed, n.suppressed, n.listEnded, n.used = false, false, false, false
	return ddi.OK
}

// fail marks the list as failed and suppresses driver calls.
func (c *Context) fail() {
	n := &c.native
	if n.failed {
		return
	}
	n.failed, n.suppressed, n.blame = true, true, c.call.blame
	n.bound = new(state)
	*n.bound = c.state
	c.holdState(n.bound)
	n.boundShown = c.shown
}

// abandon abandons the driver's failed list: it unbinds handle by handle and
// then closes the handles. The application's view of the state does not change.
//
//	DDI     pfnAbandonCommandList, Set* functions, Destroy* functions
//	Source  WDK, "Supporting Command Lists"
func (c *Context) abandon() {
	n := &c.native
	c.unmapAll()
	mine := c.state
	c.state, c.shown = *n.bound, n.boundShown
	n.bound = nil
	n.suppressed = false
	c.funcs.AbandonCommandList(c.call.begin("pfnAbandonCommandList", maySet), c.h)
	c.call.end()
	c.unbindAll()
	n.suppressed = true
	c.dropState(&c.state)
	c.shown = 0
	c.closeAll()
	var e endedLists
	for i, l := range n.opens {
		n.opens[i] = nil
		l.removeList(&e)
	}
	e.retire()
	n.opens = n.opens[:0]
	c.nextList()
	c.state = mine
	n.listEnded = true
}

// nextList drops the state of an unfinished list.
func (c *Context) nextList() {
	c.dropBegun()
	c.effects.reset()
	c.native.epoch++
}

// abandonLast abandons the current recording before a context is destroyed.
func (c *Context) abandonLast() {
	if c.native.used && !c.native.listEnded {
		c.fail()
		c.abandon()
	}
}

// destroyNative destroys the driver's context and its cached list handles.
//
//	DDI     pfnDestroyCommandList, pfnDestroyDevice
func (c *Context) destroyNative() {
	d, k, n := c.dev, c.call, &c.native
	c.dropCache(func(b *listBody) { b.destroy(k) })
	c.shown = 0
	c.funcs.DestroyDevice(k.begin("pfnDestroyDevice", maySet), c.h)
	k.end()
	for i, l := range n.locals {
		n.locals[i] = nil
		if l != nil && l.of != nil {
			l.unlink()
		}
	}
	if spare := c.spare.Swap(nil); spare != nil {
		d.releaseCall(spare)
	}
	k.ctx = nil
	d.releaseCall(k)
}

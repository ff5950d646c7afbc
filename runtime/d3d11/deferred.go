package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nativeContext is what a deferred context has if the driver records for it.
//
// A list that the driver cannot record, or that an error drops, leaves the
// context mute: what the application records goes nowhere, until
// FinishCommandList abandons the driver's list and returns the error.
type nativeContext struct {
	table     umddi.DeviceFuncs
	createArg umddi.CreateDeferredContext
	listArg   umddi.CreateCommandList
	viewArg   umddi.CreateRenderTargetView

	locals []*local // by child.id and listBody.id
	epoch  uint64   // of the list that is recorded, from 1
	opens  []*local // in the order in which they were opened
	maps   []*resource

	used   bool // the driver has been called for the list
	mute   bool
	silent bool // mute, and not in the middle of abandoning
	dead   bool // mute, and the driver's context must be created again

	// While mute and not dead: what was bound when the context became mute,
	// which the driver still has.
	bound      *state
	boundShown groups
}

// newDeferred makes a deferred context of the driver's.
//
//	DDI     pfnCalcPrivateDeferredContextSize, pfnCreateDeferredContext
func newDeferred(d *Device) (*Context, ddi.HRESULT) {
	k := d.acquire()
	c := &Context{deferred: true, call: k, h: umddi.HDevice{Root: new(ddi.Root)}}
	n := &c.native
	c.funcs = &n.table
	n.epoch, n.opens, c.effects = 1, ownLocals(), ownEffects()
	n.listArg.DeferredContext = c.h
	n.createArg = umddi.CreateDeferredContext{
		Context: c.h, RTCoreLayer: umddi.HRTCoreLayer{Runtime: c}, ContextFuncs: c.funcs, UMCallbacks: &d.coreCb,
	}
	c.dev = d
	k.ctx = c
	if hr := c.createNative(); hr != ddi.OK {
		k.ctx = nil
		d.yield(k)
		return nil, hr
	}
	c.spare.Store(d.acquire())
	c.adopt(d, c)
	return c, ddi.OK
}

// createNative makes the driver's context. On failure there is none.
func (c *Context) createNative() ddi.HRESULT {
	d, k := c.dev, c.call
	// The size is that of what Root.Driver stands for: the runtime has no
	// memory to give for it.
	n := d.funcs.CalcPrivateDeferredContextSize(k.begin(0), d.h, 0)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	if !privateSize(n) {
		return k.broken()
	}
	d.funcs.CreateDeferredContext(k.begin(mayOpen), d.h, &c.native.createArg)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	if d.deferredFuncsComplete(c.funcs) {
		return ddi.OK
	}
	if c.funcs.DestroyDevice != nil {
		c.funcs.DestroyDevice(k.begin(maySet), c.h)
		k.end()
	}
	return k.broken()
}

// finishNative makes the list of a context that the driver records for.
func (c *Context) finishNative() (*listBody, ddi.HRESULT) {
	c.endOpen()
	c.drain()
	if c.native.mute {
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
	n.dead, n.mute, n.silent = true, true, true
	if hr == ddi.OK {
		hr = c.revive()
	}
	if hr == ddi.OK {
		return b, ddi.OK
	}
	// The memory of the list may be what the context lacks. Without the list
	// the application is told the same as if the list had failed.
	b.destroyUnused(c.call)
	if !c.dev.removed() {
		c.revive()
	}
	return nil, hr
}

// destroyUnused destroys a list that no application has seen.
func (b *listBody) destroyUnused(k *call) {
	var e ended
	b.release(&e)
	e.retire()
	b.destroy(k)
}

// dropList ends a list that has failed, and returns what FinishCommandList
// does.
func (c *Context) dropList() ddi.HRESULT {
	if c.native.dead {
		c.nextList()
	} else {
		c.abandon()
	}
	if c.dev.removed() {
		return ddi.DXGIDeviceRemoved
	}
	if c.revive(); c.dev.removed() {
		return ddi.DXGIDeviceRemoved
	}
	return ddi.EOutOfMemory
}

// endOpen ends queries and unmaps resources before a list ends.
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

// revive makes the driver's context new again after its list has ended.
//
//	DDI     pfnRecycleCreateDeferredContext
func (c *Context) revive() ddi.HRESULT {
	n := &c.native
	hr := c.dev.funcs.RecycleCreateDeferredContext(c.call.begin(mayRecycle), c.dev.h, &n.createArg)
	if hr = c.recycled(hr); hr != ddi.OK {
		return hr
	}
	n.mute, n.silent, n.dead, n.used = false, false, false, false
	return ddi.OK
}

// fail makes the context mute, because its list has failed.
func (c *Context) fail() {
	n := &c.native
	if n.mute {
		return
	}
	n.mute, n.silent = true, true
	n.bound = new(state)
	*n.bound = c.state
	c.holdState(n.bound)
	n.boundShown = c.shown
}

// abandon drops the driver's list of a mute context: what is bound is unbound
// handle by handle, then handles are closed. The context is dead after that.
// The state that the application sees stays.
//
//	DDI     pfnAbandonCommandList, Set* functions, Destroy* functions
//	Source  WDK, "Supporting Command Lists"
func (c *Context) abandon() {
	n := &c.native
	c.unmapAll()
	mine := c.state
	c.state, c.shown = *n.bound, n.boundShown
	n.bound = nil
	n.silent = false
	c.funcs.AbandonCommandList(c.call.begin(maySet), c.h)
	c.call.end()
	c.unbindAll()
	n.silent = true
	c.dropState(&c.state)
	c.shown = 0
	c.closeAll()
	var e ended
	for i, l := range n.opens {
		n.opens[i] = nil
		l.give(&e)
	}
	e.retire()
	n.opens = n.opens[:0]
	c.nextList()
	c.state = mine
	n.dead = true
}

// nextList forgets what a list was that is not finished.
func (c *Context) nextList() {
	c.dropBegun()
	c.effects.reset()
	c.native.epoch++
}

// abandonLast abandons what is recorded before a context ends.
func (c *Context) abandonLast() {
	if c.native.used && !c.native.dead {
		c.fail()
		c.abandon()
	}
}

// destroyNative ends the driver's context, and what its lists have left.
//
//	DDI     pfnDestroyCommandList, pfnDestroyDevice
func (c *Context) destroyNative() {
	d, k, n := c.dev, c.call, &c.native
	c.dropCache(func(b *listBody) { b.destroy(k) })
	c.shown = 0
	c.funcs.DestroyDevice(k.begin(maySet), c.h)
	k.end()
	for i, l := range n.locals {
		n.locals[i] = nil
		if l != nil && l.of != nil {
			l.unlink()
		}
	}
	if spare := c.spare.Swap(nil); spare != nil {
		d.yield(spare)
	}
	k.ctx = nil
	d.yield(k)
}

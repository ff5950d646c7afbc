package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A listBody is the reusable part of a CommandList: the driver's handle and
// memory, or the recording if the driver does not support command lists, and
// references to the objects in the list. After the list is released, the same
// context uses it for another.
//
// The handle is in one of the states of "Supporting Command Lists": executable
// while list is not nil, retired while the body is on its context's retired
// list, and cached while it is in the context's cache.
type listBody struct {
	effects
	dev       *Device
	context   *Context // the context that recorded it
	id        uint32   // index in nativeContext.locals
	obj       ddi.Object
	localSize int // size of handles opened by deferred contexts, in bytes

	list *CommandList
	rec  *recording // nil if the driver has the list
	refs []*local   // objects used by the driver's list
	next *listBody  // next body on the retired list or in the cache

	older, newer *listBody // dev.lists; guarded by dev.mu

	private privateData // of list

	_ [cacheLine]byte // no other context's body shares the cache line
}

func (b *listBody) handle() umddi.HCommandList { return umddi.HCommandList{Object: &b.obj} }

// newBody creates a body without a list.
func (c *Context) newBody() *listBody {
	d := c.dev
	b := &listBody{dev: d, context: c, refs: ownLocals(), effects: ownEffects()}
	d.mu.Lock()
	defer d.mu.Unlock()
	b.id = d.takeID()
	b.older = d.lists
	if b.older != nil {
		b.older.newer = b
	}
	d.lists = b
	return b
}

// forget removes a body without list and handle from the device.
func (b *listBody) forget() {
	d := b.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		d.lists = b.older
	}
	if b.older != nil {
		b.older.newer = b.newer
	}
	d.freeID(b.id)
}

// allLists returns the device's bodies, newest first.
func (d *Device) allLists() []*listBody {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*listBody
	for b := d.lists; b != nil; b = b.older {
		all = append(all, b)
	}
	return all
}

// retired is the lock-free list of bodies whose lists were released. Any thread
// may push. The context's thread takes all bodies at once, so a body that a
// push has seen at the head cannot reappear there during the push.
type retired struct {
	_    [cacheLine]byte
	head atomic.Pointer[listBody]
	mark listBody // the head after the list is sealed

	leases atomic.Int64 // references of the application: to the context, and to its lists
	_      [cacheLine]byte
}

// push adds b. It reports false if the list is sealed.
func (r *retired) push(b *listBody) bool {
	for {
		h := r.head.Load()
		if h == &r.mark {
			return false
		}
		b.next = h
		if r.head.CompareAndSwap(h, b) {
			return true
		}
	}
}

// take empties the list and returns the body pushed last.
func (r *retired) take() *listBody {
	if r.head.Load() == nil {
		return nil
	}
	return r.head.Swap(nil)
}

// seal is a final take: every later push fails.
func (r *retired) seal() *listBody { return r.head.Swap(&r.mark) }

// sealed reports whether the list is sealed.
func (r *retired) sealed() bool { return r.head.Load() == &r.mark }

// endedLists are bodies whose lists have no references left, linked by next.
// Lists nest to any depth, so nested lists are retired after the outer one
// instead of recursively.
type endedLists struct{ first *listBody }

// drop drops a reference to a list.
func (e *endedLists) drop(l *CommandList) {
	if l.refs.Add(^uint64(0)) == released {
		e.add(l.body)
	}
}

func (e *endedLists) add(b *listBody) {
	b.next = e.first
	e.first = b
}

// retire retires the bodies, and those that end with them.
func (e *endedLists) retire() {
	for b := e.first; b != nil; b = e.first {
		e.first = b.next
		b.retire(e)
	}
}

// end retires b and the bodies that end with it. Any thread may release a list.
func (b *listBody) end() {
	e := endedLists{first: b}
	e.retire()
}

// retire ends the list of b and adds lists that end with it to e. The body
// returns to its context. If the context is destroyed, or is being destroyed,
// the driver's handle is destroyed instead.
func (b *listBody) retire(e *endedLists) {
	b.list = nil
	b.private.clear()
	c := b.context
	if b.rec != nil {
		b.dev.freeRecording(b.rec, e)
		b.rec = nil
		b.effects.reset()
		if !c.retired.push(b) {
			b.forget()
		}
		return
	}
	if !c.retired.sealed() {
		k := c.borrowCall()
		b.dev.funcs.RecycleDestroyCommandList(k.begin("pfnRecycleDestroyCommandList", mayRemove|atDevice), b.dev.h, b.handle())
		k.end()
		c.returnCall(k)
	}
	b.release(e)
	if c.retired.push(b) {
		return
	}
	k := c.borrowCall()
	b.destroy(k)
	c.returnCall(k)
}

// release drops the references of b's list, and adds lists that this ends to e.
func (b *listBody) release(e *endedLists) {
	for _, l := range b.refs {
		l.removeList(e)
	}
	b.refs = b.refs[:0]
	b.effects.reset()
}

// destroy destroys the driver's handle.
func (b *listBody) destroy(k *call) {
	b.dev.funcs.DestroyCommandList(k.begin("pfnDestroyCommandList", mayRemove|atDevice), b.dev.h, b.handle())
	k.end()
	b.forget()
}

// borrowCall returns a call to release a list: the context's spare call, which
// avoids sharing between contexts, or one of the device.
func (c *Context) borrowCall() *call {
	if k := c.spare.Swap(nil); k != nil {
		return k
	}
	return c.dev.acquireCall()
}

// returnCall takes back a call from borrowCall. The context seals its list
// before it takes the spare call, so if the list is not yet sealed here, the
// context will take the spare call.
func (c *Context) returnCall(k *call) {
	if !c.spare.CompareAndSwap(nil, k) {
		c.dev.releaseCall(k)
		return
	}
	if c.retired.sealed() {
		if k := c.spare.Swap(nil); k != nil {
			c.dev.releaseCall(k)
		}
	}
}

// drain moves the bodies on the retired list to the cache.
func (c *Context) drain() {
	for b := c.retired.take(); b != nil; {
		next := b.next
		if c.rec == nil {
			c.funcs.RecycleCommandList(c.call.begin("pfnRecycleCommandList", mayRecycle), c.h, b.handle())
			c.call.end()
		}
		b.next = c.cache
		c.cache = b
		b = next
	}
}

// takeCached returns a reusable body, or nil.
func (c *Context) takeCached() *listBody {
	c.drain()
	b := c.cache
	if b != nil {
		c.cache = b.next
		b.next = nil
	}
	return b
}

// makeList makes the driver create a list of the recorded commands. If it
// fails, the recording still exists, unless a body is returned too: then the
// list was created but cannot be used.
func (c *Context) makeList() (*listBody, ddi.HRESULT) {
	d := c.dev
	b := c.cache
	if b == nil {
		return c.createList()
	}
	hr := d.funcs.RecycleCreateCommandList(c.call.begin("pfnRecycleCreateCommandList", mayRecycle), d.h, &c.native.listArg, b.handle(),
		umddi.HRTCommandList{Runtime: b})
	if hr = c.recycled(hr); hr != ddi.OK {
		return nil, hr
	}
	c.cache = b.next
	b.next = nil
	return b, ddi.OK
}

// recycled ends a function that returned hr, which may be EOutOfMemory.
func (c *Context) recycled(hr ddi.HRESULT) ddi.HRESULT {
	if reported := c.call.end(); reported != ddi.OK {
		return reported
	}
	if hr != ddi.OK && hr != ddi.EOutOfMemory {
		return c.call.contractBroken("returned %v, want S_OK or %v", hr, ddi.EOutOfMemory)
	}
	if hr != ddi.OK {
		c.call.blame = c.call.entry
	}
	return hr
}

// createList is makeList with a new handle.
func (c *Context) createList() (*listBody, ddi.HRESULT) {
	d, k := c.dev, c.call
	n := d.funcs.CalcPrivateCommandListSize(k.begin("pfnCalcPrivateCommandListSize", 0), d.h, &c.native.listArg)
	if hr := k.end(); hr != ddi.OK {
		return nil, hr
	}
	obj, ok := private(n)
	if !ok {
		return nil, k.sizeBroken(n)
	}
	b := c.newBody()
	b.obj = obj
	d.funcs.CreateCommandList(k.begin("pfnCreateCommandList", mayOpen), d.h, &c.native.listArg, b.handle(), umddi.HRTCommandList{Runtime: b})
	if hr := k.end(); hr != ddi.OK {
		b.forget()
		return nil, hr
	}
	size, hr := k.localSize(umddi.HandleCommandList, &b.obj)
	b.localSize = size
	return b, hr
}

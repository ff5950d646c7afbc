package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A listBody is what is behind a CommandList, and after it behind another one
// of the same context: the driver's handle and memory, or the recording if the
// driver has no command lists, and references to what the list uses.
//
// The handle is in one of the states of "Supporting Command Lists": executable
// while list is not nil; retired while the body is on its context's retired
// list; cached while it is in the context's cache.
type listBody struct {
	effects
	dev       *Device
	home      *Context // recorded it
	id        uint32   // place in nativeContext.locals
	obj       ddi.Object
	localSize int // of the handles that deferred contexts open, in bytes

	list  *CommandList
	rec   *recording // nil if the driver has the list
	refs  []*local   // what the driver's list uses
	below *listBody  // the next on the retired list or in the cache

	older, newer *listBody // dev.lists; guarded by dev.mu

	_ [cacheLine]byte // no other context's body begins on the same line
}

func (b *listBody) handle() umddi.HCommandList { return umddi.HCommandList{Object: &b.obj} }

// newBody makes a body that has no list yet.
func (c *Context) newBody() *listBody {
	d := c.dev
	b := &listBody{dev: d, home: c, refs: ownLocals(), effects: ownEffects()}
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

// forget takes a body, which has no list and no handle, off the device.
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
	d.giveID(b.id)
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

// retired is the lock-free list of the bodies of a context whose lists have
// been released. Any thread pushes; the context's thread takes all at once, so
// no body that a push has seen at the head can come back to it meanwhile.
type retired struct {
	_    [cacheLine]byte
	head atomic.Pointer[listBody]
	mark listBody // the head once the list is sealed
	_    [cacheLine]byte
}

// push adds b, and returns false if the list is sealed.
func (r *retired) push(b *listBody) bool {
	for {
		h := r.head.Load()
		if h == &r.mark {
			return false
		}
		b.below = h
		if r.head.CompareAndSwap(h, b) {
			return true
		}
	}
}

// take empties the list and returns the body that was pushed last.
func (r *retired) take() *listBody {
	if r.head.Load() == nil {
		return nil
	}
	return r.head.Swap(nil)
}

// seal is take for the last time: from then on each push fails.
func (r *retired) seal() *listBody { return r.head.Swap(&r.mark) }

// sealed says whether each push will fail.
func (r *retired) sealed() bool { return r.head.Load() == &r.mark }

// ended are bodies whose lists have no reference any more, linked by below.
// Lists nest to any depth, so those in a list are retired after it and not in
// the middle of it.
type ended struct{ first *listBody }

// drop gives a reference to a list back.
func (e *ended) drop(l *CommandList) {
	if l.refs.Add(^uint64(0)) == released {
		e.add(l.body)
	}
}

func (e *ended) add(b *listBody) {
	b.below = e.first
	e.first = b
}

// retire retires them, and what ends with them.
func (e *ended) retire() {
	for b := e.first; b != nil; b = e.first {
		e.first = b.below
		b.retire(e)
	}
}

// end retires b, and what ends with it. Any thread may release a list.
func (b *listBody) end() {
	e := ended{first: b}
	e.retire()
}

// retire ends the list of b, and adds those to e that end with it: its context
// gets the body back, if it is alive. Otherwise, and if the context ends in the
// middle of it, the driver's handle is destroyed.
func (b *listBody) retire(e *ended) {
	b.list = nil
	c := b.home
	if b.rec != nil {
		b.dev.giveRecording(b.rec, e)
		b.rec = nil
		b.effects.reset()
		if !c.retired.push(b) {
			b.forget()
		}
		return
	}
	if !c.retired.sealed() {
		k := c.borrow()
		b.dev.funcs.RecycleDestroyCommandList(k.begin(mayRemove|atDevice), b.dev.h, b.handle())
		k.end()
		c.giveBack(k)
	}
	b.release(e)
	if c.retired.push(b) {
		return
	}
	k := c.borrow()
	b.destroy(k)
	c.giveBack(k)
}

// release gives back what the list of b has used, and adds the lists to e that
// end with that.
func (b *listBody) release(e *ended) {
	for _, l := range b.refs {
		l.give(e)
	}
	b.refs = b.refs[:0]
	b.effects.reset()
}

// destroy destroys the driver's handle.
func (b *listBody) destroy(k *call) {
	b.dev.funcs.DestroyCommandList(k.begin(mayRemove|atDevice), b.dev.h, b.handle())
	k.end()
	b.forget()
}

// borrow returns a call for the release of a list: the context's spare one, so
// that contexts do not share anything, or one of the device's.
func (c *Context) borrow() *call {
	if k := c.spare.Swap(nil); k != nil {
		return k
	}
	return c.dev.acquire()
}

// giveBack takes the call back that borrow returned. The end of the context
// seals its list before it takes the spare call, so one that finds the list
// open here is taken by it.
func (c *Context) giveBack(k *call) {
	if !c.spare.CompareAndSwap(nil, k) {
		c.dev.yield(k)
		return
	}
	if c.retired.sealed() {
		if k := c.spare.Swap(nil); k != nil {
			c.dev.yield(k)
		}
	}
}

// drain moves the bodies on the retired list to the cache.
func (c *Context) drain() {
	for b := c.retired.take(); b != nil; {
		next := b.below
		if c.rec == nil {
			c.funcs.RecycleCommandList(c.call.begin(mayRecycle), c.h, b.handle())
			c.call.end()
		}
		b.below = c.cache
		c.cache = b
		b = next
	}
}

// takeCached returns a body that can be used again, or nil.
func (c *Context) takeCached() *listBody {
	c.drain()
	b := c.cache
	if b != nil {
		c.cache = b.below
		b.below = nil
	}
	return b
}

// makeList has the driver make a list of what is recorded. On failure what is
// recorded is still there, unless a body is returned too: then there is a list,
// which cannot be used.
func (c *Context) makeList() (*listBody, ddi.HRESULT) {
	d := c.dev
	b := c.cache
	if b == nil {
		return c.createList()
	}
	hr := d.funcs.RecycleCreateCommandList(c.call.begin(mayRecycle), d.h, &c.native.listArg, b.handle(),
		umddi.HRTCommandList{Runtime: b})
	if hr = c.recycled(hr); hr != ddi.OK {
		return nil, hr
	}
	c.cache = b.below
	b.below = nil
	return b, ddi.OK
}

// recycled ends a function that returned hr, which may be EOutOfMemory.
func (c *Context) recycled(hr ddi.HRESULT) ddi.HRESULT {
	if reported := c.call.end(); reported != ddi.OK {
		return reported
	}
	if hr != ddi.OK && hr != ddi.EOutOfMemory {
		return c.call.broken()
	}
	return hr
}

// createList is makeList with a handle that has not been used before.
func (c *Context) createList() (*listBody, ddi.HRESULT) {
	d, k := c.dev, c.call
	n := d.funcs.CalcPrivateCommandListSize(k.begin(0), d.h, &c.native.listArg)
	if hr := k.end(); hr != ddi.OK {
		return nil, hr
	}
	obj, ok := private(n)
	if !ok {
		return nil, k.broken()
	}
	b := c.newBody()
	b.obj = obj
	d.funcs.CreateCommandList(k.begin(mayOpen), d.h, &c.native.listArg, b.handle(), umddi.HRTCommandList{Runtime: b})
	if hr := k.end(); hr != ddi.OK {
		b.forget()
		return nil, hr
	}
	size, hr := k.localSize(umddi.HandleCommandList, &b.obj)
	b.localSize = size
	return b, hr
}

package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A local is the state of an object in one deferred context: the driver's
// handle, which is open from the first use in a list to the end of the list,
// and the count of the context's lists that use the object.
//
// Design note: a list keeps its objects alive, and contexts that record in
// parallel use the same objects. A counter on the object would make them share
// a cache line. Each local counts the lists of its own context and holds a
// single reference to the object for all of them. It keeps the reference while
// no list uses the object, so that the next list need not acquire it again,
// until the application drops its last reference to the object or the context
// is destroyed.
type local struct {
	obj   ddi.Object
	typ   umddi.HandleType
	of    *child       // nil for a command list
	list  *CommandList // for a command list; invalid without a reference
	state listState

	pins       atomic.Uint64 // number of lists that use the object, and dropWhenUnused
	next, prev *local        // of.pins, if linked; guarded by the device's mu
	linked     bool

	_ [cacheLine]byte // no other context's local shares the cache line
}

// dropWhenUnused in local.pins means that the reference to the object is dropped
// when no list uses it. With a count of 0 there is no reference.
const dropWhenUnused = 1 << 63

// listState is the state of a local in the list being recorded. It is valid if
// epoch is that of the context.
type listState struct {
	epoch     uint64
	open      bool
	mapped    bool
	maps      bool // in effects.maps
	discarded bool // mapped with MapWriteDiscard, which MapWriteNoOverwrite needs
	queried   bool // in effects.queries
}

// addList counts a list. Only the context's thread may call it.
func (l *local) addList() {
	for {
		v := l.pins.Load()
		if v == dropWhenUnused {
			l.pin()
			return
		}
		if l.pins.CompareAndSwap(v, v+1) {
			return
		}
	}
}

// pin acquires a reference to the object and counts one list.
func (l *local) pin() {
	if l.list != nil {
		l.list.hold()
		l.pins.Store(dropWhenUnused + 1)
		return
	}
	l.of.hold()
	d := l.of.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.of.refs.Load() < apiRef {
		l.pins.Store(dropWhenUnused + 1)
		return
	}
	l.pins.Store(1)
	l.linked = true
	l.prev, l.next = nil, l.of.pins
	if l.next != nil {
		l.next.prev = l
	}
	l.of.pins = l
}

// removeList uncounts a list. Any thread may call it. When the count is 0, the
// context may use the local for another command list. If that ends a command
// list, the list is added to e; e is not used for other objects.
func (l *local) removeList(e *endedLists) {
	list := l.list
	switch {
	case l.pins.Add(^uint64(0)) != dropWhenUnused:
	case list != nil:
		e.drop(list)
	default:
		l.of.drop()
	}
}

// releaseRef drops the reference as soon as no list uses the object. The local of
// a command list always has dropWhenUnused set.
func (l *local) releaseRef() {
	if l.pins.Or(dropWhenUnused) == 0 {
		l.of.drop()
	}
}

// unpin releases the references of the locals of c after the application has
// dropped its last reference.
func (c *child) unpin() {
	d := c.dev
	d.mu.Lock()
	first := c.pins
	c.pins = nil
	for l := first; l != nil; l = l.next {
		l.linked = false
	}
	d.mu.Unlock()
	for l := first; l != nil; {
		next := l.next
		l.next, l.prev = nil, nil
		l.releaseRef()
		l = next
	}
}

// unlink detaches l from its object and releases its reference, because its
// context is destroyed.
func (l *local) unlink() {
	if l.of != nil {
		d := l.of.dev
		d.mu.Lock()
		if l.linked {
			if l.prev != nil {
				l.prev.next = l.next
			} else {
				l.of.pins = l.next
			}
			if l.next != nil {
				l.next.prev = l.prev
			}
			l.linked, l.next, l.prev = false, nil, nil
		}
		d.mu.Unlock()
	}
	l.releaseRef()
}

// find returns the local of an object if the current list uses it, or nil.
func (c *Context) find(o *child) *local {
	if int(o.id) < len(c.native.locals) {
		if l := c.native.locals[o.id]; l != nil && l.of == o && l.state.epoch == c.native.epoch {
			return l
		}
	}
	return nil
}

// localOf returns the local of an object. It creates the local if there is
// none.
func (c *Context) localOf(o *child, typ umddi.HandleType) *local {
	if n := &c.native; int(o.id) < len(n.locals) {
		if l := n.locals[o.id]; l != nil && l.of == o {
			if l.state.epoch != n.epoch {
				l.state = listState{epoch: n.epoch}
			}
			return l
		}
	}
	l := c.localSlot(o.id)
	if *l == nil || (*l).of != o {
		*l = newLocal(o.localSize, typ)
		(*l).of = o
	}
	return c.resetLocal(*l)
}

// localOfList is localOf for a command list.
func (c *Context) localOfList(list *CommandList) *local {
	b := list.body
	l := c.localSlot(b.id)
	if *l == nil || (*l).of != nil || len((*l).obj.Private) != b.localSize ||
		(*l).pins.Load() != dropWhenUnused && (*l).list != list {
		*l = newLocal(b.localSize, umddi.HandleCommandList)
	}
	(*l).list = list
	return c.resetLocal(*l)
}

// localSlot returns the slot of the local for an object number.
func (c *Context) localSlot(id uint32) **local {
	for int(id) >= len(c.native.locals) {
		c.native.locals = append(c.native.locals, nil)
	}
	return &c.native.locals[id]
}

// resetLocal resets l if it was last used in an earlier list.
func (c *Context) resetLocal(l *local) *local {
	if l.state.epoch != c.native.epoch {
		l.state = listState{epoch: c.native.epoch}
	}
	return l
}

// ownLocals returns an empty slice with memory on separate cache lines.
func ownLocals() []*local { return make([]*local, 0, cacheLine/8) }

func newLocal(size int, typ umddi.HandleType) *local {
	l := &local{typ: typ}
	l.obj, _ = private(size)
	l.pins.Store(dropWhenUnused)
	return l
}

// opened ends the driver function that opens l.
func (c *Context) opened(l *local) {
	if hr := c.call.end(); hr != ddi.OK {
		var e endedLists
		l.removeList(&e)
		e.retire()
		c.fail()
		return
	}
	l.state.open = true
	c.native.opens = append(c.native.opens, l)
}

// The handle functions return the driver's handle of an object. On a deferred
// context they open it at the first use in a list. If that fails, the list has
// failed.

func (c *Context) resourceHandle(r *resource) umddi.HResource {
	if r == nil || !c.deferred {
		return r.handle()
	}
	l := c.localOf(&r.child, umddi.HandleResource)
	if !l.state.open && !c.native.failed {
		l.addList()
		c.funcs.CreateResource(c.begin("pfnCreateResource", mayOpen), c.h, nil, umddi.HResource{Object: &l.obj},
			umddi.HRTResource{Runtime: r.handle()})
		c.opened(l)
	}
	return umddi.HResource{Object: &l.obj}
}

func (c *Context) viewHandle(v *RenderTargetView) umddi.HRenderTargetView {
	if v == nil || !c.deferred {
		return v.handle()
	}
	l := c.localOf(&v.child, umddi.HandleRenderTargetView)
	if !l.state.open && !c.native.failed {
		c.native.viewArg.Resource = c.resourceHandle(&v.res.resource)
		if c.native.failed {
			return umddi.HRenderTargetView{}
		}
		l.addList()
		c.funcs.CreateRenderTargetView(c.begin("pfnCreateRenderTargetView", mayOpen), c.h, &c.native.viewArg, umddi.HRenderTargetView{Object: &l.obj},
			umddi.HRTRenderTargetView{Runtime: v.handle()})
		c.opened(l)
	}
	return umddi.HRenderTargetView{Object: &l.obj}
}

func (c *Context) queryHandle(q *Query) umddi.HQuery {
	if q == nil {
		return umddi.HQuery{}
	}
	if !c.deferred {
		return q.handle()
	}
	l := c.localOf(&q.child, umddi.HandleQuery)
	if !l.state.open && !c.native.failed {
		l.addList()
		c.funcs.CreateQuery(c.begin("pfnCreateQuery", mayOpen), c.h, umddi.CreateQuery{}, umddi.HQuery{Object: &l.obj},
			umddi.HRTQuery{Runtime: q.handle()})
		c.opened(l)
	}
	return umddi.HQuery{Object: &l.obj}
}

func (c *Context) listHandle(list *CommandList) umddi.HCommandList {
	if !c.deferred {
		return list.body.handle()
	}
	l := c.localOfList(list)
	if !l.state.open && !c.native.failed {
		l.addList()
		c.funcs.CreateCommandList(c.begin("pfnCreateCommandList", mayOpen), c.h, nil, umddi.HCommandList{Object: &l.obj},
			umddi.HRTCommandList{Runtime: list.body.handle()})
		c.opened(l)
	}
	return umddi.HCommandList{Object: &l.obj}
}

// closeAll closes the open handles in reverse order, so that views are closed
// before their resources.
func (c *Context) closeAll() {
	for i := len(c.native.opens) - 1; i >= 0; i-- {
		l := c.native.opens[i]
		l.state.open = false
		switch l.typ {
		case umddi.HandleResource:
			c.funcs.DestroyResource(c.call.begin("pfnDestroyResource", maySet), c.h, umddi.HResource{Object: &l.obj})
		case umddi.HandleRenderTargetView:
			c.funcs.DestroyRenderTargetView(c.call.begin("pfnDestroyRenderTargetView", maySet), c.h, umddi.HRenderTargetView{Object: &l.obj})
		case umddi.HandleQuery:
			c.funcs.DestroyQuery(c.call.begin("pfnDestroyQuery", maySet), c.h, umddi.HQuery{Object: &l.obj})
		case umddi.HandleCommandList:
			c.funcs.DestroyCommandList(c.call.begin("pfnDestroyCommandList", maySet), c.h, umddi.HCommandList{Object: &l.obj})
		}
		c.call.end()
	}
}

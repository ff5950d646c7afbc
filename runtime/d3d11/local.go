package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A local is an object as one deferred context knows it: the driver's handle,
// which is open from the first use in a list to the list's end, and the
// references of the lists of the context that use the object.
//
// Design note: a list keeps what it uses alive, and contexts that record in
// parallel use the same objects, so counting on the object would make them
// share a cache line. Each local counts for the lists of its own context, and
// has one reference to the object for all of them. It keeps that while no list
// uses the object, so that the next list need not take it again, until the
// application gives its last reference to the object back, which condemns the
// locals of the object, or the context ends.
type local struct {
	obj  ddi.Object
	typ  umddi.HandleType
	of   *child       // nil for a command list
	list *CommandList // a command list, as long as pins is not condemned alone
	here here

	pins       atomic.Uint64 // lists that use the object, and condemned
	next, prev *local        // of.pins, if linked; guarded by the device's mu
	linked     bool

	_ [cacheLine]byte // no other context's local begins on the same line
}

// condemned in local.pins says that the reference to the object goes when no
// list uses it. Alone, it says that there is no reference.
const condemned = 1 << 63

// here is what a local is in the list that is being recorded, if epoch is that
// of the context.
type here struct {
	epoch     uint64
	touch     int32 // 1 + index in effects.touched
	open      bool
	mapped    bool
	discarded bool // mapped with MapWriteDiscard, so that MapWriteNoOverwrite is allowed
	queried   bool // in effects.queries
}

// take adds a list. Only the context's thread does.
func (l *local) take() {
	for {
		v := l.pins.Load()
		if v == condemned {
			l.pin()
			return
		}
		if l.pins.CompareAndSwap(v, v+1) {
			return
		}
	}
}

// pin takes a reference to the object, with one list.
func (l *local) pin() {
	if l.list != nil {
		l.list.hold()
		l.pins.Store(condemned + 1)
		return
	}
	l.of.hold()
	d := l.of.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.of.refs.Load() < apiRef {
		l.pins.Store(condemned + 1)
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

// give takes a list off. Any thread may. Once no list is left the context may
// use the local for another command list. A command list that ends with it is
// added to e, which is not used for other objects.
func (l *local) give(e *ended) {
	list := l.list
	switch {
	case l.pins.Add(^uint64(0)) != condemned:
	case list != nil:
		e.drop(list)
	default:
		l.of.drop()
	}
}

// condemn gives the reference back as soon as no list uses the object. A
// command list's local always is condemned.
func (l *local) condemn() {
	if l.pins.Or(condemned) == 0 {
		l.of.drop()
	}
}

// unpin condemns what deferred contexts keep of c, which the application has
// given its last reference to back.
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
		l.condemn()
		l = next
	}
}

// unlink takes l off its object and condemns it, because its context ends.
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
	l.condemn()
}

// find returns what the context has of an object in the list that it records,
// or nil.
func (c *Context) find(o *child) *local {
	if int(o.id) < len(c.native.locals) {
		if l := c.native.locals[o.id]; l != nil && l.of == o && l.here.epoch == c.native.epoch {
			return l
		}
	}
	return nil
}

// slot returns the place of an object's local, and makes the local if there is
// none.
func (c *Context) slot(o *child, typ umddi.HandleType) *local {
	if n := &c.native; int(o.id) < len(n.locals) {
		if l := n.locals[o.id]; l != nil && l.of == o {
			if l.here.epoch != n.epoch {
				l.here = here{epoch: n.epoch}
			}
			return l
		}
	}
	l := c.place(o.id)
	if *l == nil || (*l).of != o {
		*l = newLocal(o.localSize, typ)
		(*l).of = o
	}
	return c.fresh(*l)
}

// listSlot is slot for a command list.
func (c *Context) listSlot(list *CommandList) *local {
	b := list.body
	l := c.place(b.id)
	if *l == nil || (*l).of != nil || len((*l).obj.Private) != b.localSize ||
		(*l).pins.Load() != condemned && (*l).list != list {
		*l = newLocal(b.localSize, umddi.HandleCommandList)
	}
	(*l).list = list
	return c.fresh(*l)
}

// place returns where the local of the object with a number is.
func (c *Context) place(id uint32) **local {
	for int(id) >= len(c.native.locals) {
		c.native.locals = append(c.native.locals, nil)
	}
	return &c.native.locals[id]
}

// fresh forgets what l was in an earlier list.
func (c *Context) fresh(l *local) *local {
	if l.here.epoch != c.native.epoch {
		l.here = here{epoch: c.native.epoch}
	}
	return l
}

// ownLocals returns an empty slice that has its memory on cache lines of its
// own.
func ownLocals() []*local { return make([]*local, 0, cacheLine/8) }

func newLocal(size int, typ umddi.HandleType) *local {
	l := &local{typ: typ}
	l.obj, _ = private(size)
	l.pins.Store(condemned)
	return l
}

// opened ends the driver's function that opens l.
func (c *Context) opened(l *local) {
	if hr := c.call.end(); hr != ddi.OK {
		var e ended
		l.give(&e)
		e.retire()
		c.fail()
		return
	}
	l.here.open = true
	c.native.opens = append(c.native.opens, l)
}

// The handle functions return the driver's handle of an object, which they open
// if the context is a deferred one and has not used the object in this list. If
// that fails the context is mute.

func (c *Context) resourceHandle(r *resource) umddi.HResource {
	if r == nil || !c.deferred {
		return r.handle()
	}
	l := c.slot(&r.child, umddi.HandleResource)
	if !l.here.open && !c.native.mute {
		l.take()
		c.funcs.CreateResource(c.begin(mayOpen), c.h, nil, umddi.HResource{Object: &l.obj},
			umddi.HRTResource{Runtime: r.handle()})
		c.opened(l)
	}
	return umddi.HResource{Object: &l.obj}
}

func (c *Context) viewHandle(v *RenderTargetView) umddi.HRenderTargetView {
	if v == nil || !c.deferred {
		return v.handle()
	}
	l := c.slot(&v.child, umddi.HandleRenderTargetView)
	if !l.here.open && !c.native.mute {
		c.native.viewArg.Resource = c.resourceHandle(&v.res.resource)
		if c.native.mute {
			return umddi.HRenderTargetView{}
		}
		l.take()
		c.funcs.CreateRenderTargetView(c.begin(mayOpen), c.h, &c.native.viewArg, umddi.HRenderTargetView{Object: &l.obj},
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
	l := c.slot(&q.child, umddi.HandleQuery)
	if !l.here.open && !c.native.mute {
		l.take()
		c.funcs.CreateQuery(c.begin(mayOpen), c.h, umddi.CreateQuery{}, umddi.HQuery{Object: &l.obj},
			umddi.HRTQuery{Runtime: q.handle()})
		c.opened(l)
	}
	return umddi.HQuery{Object: &l.obj}
}

func (c *Context) listHandle(list *CommandList) umddi.HCommandList {
	if !c.deferred {
		return list.body.handle()
	}
	l := c.listSlot(list)
	if !l.here.open && !c.native.mute {
		l.take()
		c.funcs.CreateCommandList(c.begin(mayOpen), c.h, nil, umddi.HCommandList{Object: &l.obj},
			umddi.HRTCommandList{Runtime: list.body.handle()})
		c.opened(l)
	}
	return umddi.HCommandList{Object: &l.obj}
}

// closeAll closes what is open, last first, so that views go before their
// resources.
func (c *Context) closeAll() {
	for i := len(c.native.opens) - 1; i >= 0; i-- {
		l := c.native.opens[i]
		l.here.open = false
		t := c.call.begin(maySet)
		switch l.typ {
		case umddi.HandleResource:
			c.funcs.DestroyResource(t, c.h, umddi.HResource{Object: &l.obj})
		case umddi.HandleRenderTargetView:
			c.funcs.DestroyRenderTargetView(t, c.h, umddi.HRenderTargetView{Object: &l.obj})
		case umddi.HandleQuery:
			c.funcs.DestroyQuery(t, c.h, umddi.HQuery{Object: &l.obj})
		case umddi.HandleCommandList:
			c.funcs.DestroyCommandList(t, c.h, umddi.HCommandList{Object: &l.obj})
		}
		c.call.end()
	}
}

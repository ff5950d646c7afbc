package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A CommandList is ID3D11CommandList: what a deferred context has recorded. It
// never changes, and keeps every object in it alive.
//
// Design note: lists are made and released by the million, so what is behind
// one, with the driver's memory, is used again (listBody). The CommandList
// itself, two words, never is: a stale reference finds that there is none for
// ever, and not another list. Contexts cut them from slabs, whose zeros are
// lists with one reference.
type CommandList struct {
	// The body is another list's once there is no reference.
	body *listBody

	// As child.refs, but counted from apiRef.
	refs atomic.Uint64
}

// released is CommandList.refs when there is no reference: apiRef less than 0.
const released = 1<<64 - apiRef

// slabSize is how many command lists a context allocates at a time.
const slabSize = 128

// newList makes the list of a body, with one reference of the application's.
func (c *Context) newList(b *listBody) *CommandList {
	if len(c.slab) == 0 {
		c.slab = make([]CommandList, slabSize)
	}
	l := &c.slab[0]
	c.slab = c.slab[1:]
	l.body = b
	b.list = l
	return l
}

// GetDevice returns the device that made the list.
func (l *CommandList) GetDevice() *Device { return l.body.dev }

// GetContextFlags returns the flags of the context that recorded the list,
// which are 0.
func (l *CommandList) GetContextFlags() uint32 { return 0 }

// AddRef adds a reference and returns how many the application holds. It does
// nothing to a list that the application has no reference to.
func (l *CommandList) AddRef() uint32 {
	for {
		v := l.refs.Load()
		if v+apiRef < apiRef || l.body == nil {
			return 0
		}
		if l.refs.CompareAndSwap(v, v+apiRef) {
			return uint32(v/apiRef) + 2
		}
	}
}

// Release gives a reference back and returns how many the application still
// holds. It does nothing to a list that the application has no reference to.
//
//	DDI     pfnRecycleDestroyCommandList, or pfnDestroyCommandList if the
//	        context that recorded the list is gone
//	Caller  any goroutine
func (l *CommandList) Release() uint32 {
	for {
		v := l.refs.Load()
		if v+apiRef < apiRef || l.body == nil {
			return 0
		}
		if l.refs.CompareAndSwap(v, v-apiRef) {
			if v == 0 {
				l.body.end()
			}
			return uint32(v / apiRef)
		}
	}
}

func (l *CommandList) hold() { l.refs.Add(1) }

func (l *CommandList) drop() {
	var e ended
	e.drop(l)
	e.retire()
}

// use is hold for a list that the application passes to d, and false if it has
// no reference to it.
func (l *CommandList) use(d *Device) bool {
	for l != nil && l.body != nil && l.body.dev == d {
		v := l.refs.Load()
		if v+apiRef < apiRef {
			return false
		}
		if l.refs.CompareAndSwap(v, v+1) {
			return true
		}
	}
	return false
}

// strip gives back all references of the application's.
func (l *CommandList) strip() {
	for l.Release() != 0 {
	}
}

// FinishCommandList returns what the deferred context has recorded. Queries
// that are begun are ended, and what is still mapped is unmapped. Nothing
// reaches the GPU.
//
//	DDI     pfnQueryEnd, pfnDynamic*Unmap; pfnRecycleCommandList for each list
//	        that was released; pfnRecycleCreateCommandList with the handle of
//	        one of them, or pfnCalcPrivateCommandListSize, pfnCreateCommandList
//	        and pfnCalcDeferredContextHandleSize; pfnDestroy* for each handle
//	        that is open; pfnRecycleCreateDeferredContext
//	In      restore: the context keeps its state for the next list; else it has
//	        the default state. The list that is returned is the same
//	Returns DXGIInvalidCall on the immediate context; EOutOfMemory if the driver
//	        had none for a part of the list: what was recorded is dropped, and
//	        the next list is a good one; DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-finishcommandlist;
//	        WDK, "Supporting Command Lists"
func (c *Context) FinishCommandList(restore bool) (*CommandList, error) {
	switch {
	case c.dev.removed():
		return nil, ddi.DXGIDeviceRemoved
	case c.closed || !c.deferred:
		return nil, ddi.DXGIInvalidCall
	}
	var b *listBody
	hr := ddi.OK
	if c.rec != nil {
		b = c.finishRecording()
	} else {
		b, hr = c.finishNative()
	}
	if !restore {
		c.dropState(&c.state)
	} else if c.rec != nil {
		c.rec.state(&c.state)
	} else if hr != ddi.DXGIDeviceRemoved {
		c.resend()
	}
	if hr != ddi.OK {
		return nil, hr
	}
	return c.newList(b), nil
}

// finishRecording makes the list of a context that the runtime records for.
func (c *Context) finishRecording() *listBody {
	for len(c.begun) > 0 {
		c.queryEnd(c.begun[0])
	}
	b := c.takeCached()
	if b == nil {
		b = c.newBody()
	}
	b.rec = c.rec
	c.rec = c.dev.takeRecording()
	c.effects.moveTo(&b.effects)
	clear(c.open)
	c.mapCount = 0
	return b
}

// ExecuteCommandList executes a list, or records its execution. The list begins
// with the default state. It is not executed if it maps, or moves data of, what
// the context has mapped, or if a query in it is one that the context has begun
// and not ended.
//
//	DDI     pfnCommandListExecute
//	In      restore: the context has its state back afterwards; else it has the
//	        default state
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-executecommandlist
func (c *Context) ExecuteCommandList(l *CommandList, restore bool) {
	if !c.ready() || !l.use(c.dev) {
		return
	}
	switch {
	case c.blocked(&l.body.effects):
	case c.rec != nil:
		c.rec.execute(l, restore)
		c.inherit(&l.body.effects)
		if !restore {
			c.dropState(&c.state)
		}
	case l.body.rec != nil:
		c.replay(l, restore)
	default:
		c.execute(l, restore)
	}
	l.drop()
}

// execute has the driver execute a list. The driver leaves the default state
// behind, which a refresh of state shows only when it has returned.
func (c *Context) execute(l *CommandList, restore bool) {
	h := c.listHandle(l)
	if !c.native.mute {
		t := c.begin(mayMove)
		c.funcs.CommandListExecute(t, c.h, h)
		hr := c.call.end()
		c.shown = 0
		if hr != ddi.OK {
			c.notExecuted(restore)
			return
		}
		if c.deferred {
			c.inherit(&l.body.effects)
		} else {
			for _, q := range l.body.queries {
				q.ended = true
			}
		}
	}
	switch {
	case !restore:
		c.dropState(&c.state)
	case !c.native.mute:
		c.resend()
	}
}

// notExecuted is what follows on an execution that the driver had no memory
// for. Whether it has cleared its state is not known, so nothing may be left
// bound that the runtime does not know of; a refresh of state shows the default
// one, as after any execution.
func (c *Context) notExecuted(restore bool) {
	if c.deferred {
		c.fail()
		if !restore {
			c.dropState(&c.state)
		}
		return
	}
	before := c.state
	c.holdState(&before)
	c.reset()
	if restore {
		c.apply(&before)
	}
	c.dropState(&before)
}

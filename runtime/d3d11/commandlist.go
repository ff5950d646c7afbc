package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A CommandList is ID3D11CommandList, the recording of a deferred context. It
// is immutable and keeps every object in it alive.
//
// Design note: applications create and release very many lists, so the memory
// of a list, with the driver's memory, is recycled (listBody). The two-word
// CommandList itself is never reused: a stale reference stays empty and cannot
// reach another list. Contexts allocate CommandLists in slabs; the zero value
// has one reference.
type CommandList struct {
	// body belongs to another list once there is no reference.
	body *listBody

	// Like child.refs, but counted from apiRef.
	refs atomic.Uint64
}

// released is CommandList.refs without a reference: apiRef below 0.
const released = 1<<64 - apiRef

// slabSize is the number of command lists that a context allocates at a time.
const slabSize = 128

// newList creates the list of a body, with one application reference.
func (c *Context) newList(b *listBody) *CommandList {
	if len(c.slab) == 0 {
		c.slab = make([]CommandList, slabSize)
	}
	l := &c.slab[0]
	c.slab = c.slab[1:]
	l.body = b
	b.list = l
	c.retired.leases.Add(1)
	return l
}

// GetDevice returns a reference to the device that created the list.
func (l *CommandList) GetDevice() *Device {
	l.body.dev.AddRef()
	return l.body.dev
}

// GetContextFlags returns the flags of the context that recorded the list,
// always 0.
func (l *CommandList) GetContextFlags() uint32 { return 0 }

// AddRef adds an application reference and returns their number. It does
// nothing if the application holds no reference.
func (l *CommandList) AddRef() uint32 {
	for {
		v := l.refs.Load()
		if v+apiRef < apiRef || l.body == nil {
			l.stale("AddRef")
			return 0
		}
		if l.refs.CompareAndSwap(v, v+apiRef) {
			return uint32(v/apiRef) + 2
		}
	}
}

// Release drops an application reference and returns the remaining number. It
// does nothing if the application holds no reference.
//
//	DDI     pfnRecycleDestroyCommandList, or pfnDestroyCommandList if the
//	        context that recorded the list was destroyed
//	Caller  any goroutine
func (l *CommandList) Release() uint32 {
	for {
		v := l.refs.Load()
		if v+apiRef < apiRef || l.body == nil {
			l.stale("Release")
			return 0
		}
		c := l.body.context
		if l.refs.CompareAndSwap(v, v-apiRef) {
			if v == 0 {
				l.body.end()
			}
			if v < apiRef {
				c.unlease()
			}
			return uint32(v / apiRef)
		}
	}
}

// stale adds a message about a call on a list without a reference of the
// application.
func (l *CommandList) stale(call string) {
	if l.body != nil {
		l.body.dev.stale(call, l)
	}
}

func (l *CommandList) hold() { l.refs.Add(1) }

func (l *CommandList) drop() {
	var e endedLists
	e.drop(l)
	e.retire()
}

// use holds a list that the application passes to d. It reports false if the
// application holds no reference.
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

// problem returns why the application may not pass the list to d.
func (l *CommandList) problem(d *Device) problem {
	switch {
	case l == nil || l.body == nil:
		return problem{MessageInvalidObject, "CommandList is nil"}
	case l.body.dev != d:
		return problem{MessageInvalidObject, "CommandList belongs to another device"}
	}
	return problem{MessageInvalidObject, "CommandList was released"}
}

// releaseAll drops all application references.
func (l *CommandList) releaseAll() {
	for l.refs.Load()+apiRef >= apiRef {
		l.Release()
	}
}

// FinishCommandList returns a list of the commands recorded in a deferred
// context. It ends active queries and unmaps mapped resources. Nothing reaches
// the GPU.
//
//	DDI     pfnQueryEnd, pfnDynamic*Unmap; pfnRecycleCommandList for each
//	        released list; pfnRecycleCreateCommandList with the handle of a
//	        released list, or pfnCalcPrivateCommandListSize,
//	        pfnCreateCommandList and pfnCalcDeferredContextHandleSize;
//	        pfnDestroy* for each open handle; pfnRecycleCreateDeferredContext
//	In      restore: the context keeps its state for the next list; otherwise
//	        its state becomes the default. The returned list is the same
//	Returns DXGIInvalidCall on the immediate context; EOutOfMemory if the driver
//	        had no memory for part of the list, or the list is larger than 1 GiB
//	        (ExecuteCommandList): the recording is dropped, and the next list is
//	        unaffected; DXGIDeviceRemoved. If the list was made
//	        and the driver has no memory for the next one, nil: the context is
//	        recycled at its next use
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-finishcommandlist;
//	        WDK, "Supporting Command Lists"
func (c *Context) FinishCommandList(restore bool) (*CommandList, error) {
	const api = "FinishCommandList"
	c, l := c.lock(api)
	defer l.unlock()
	switch {
	case c.dev.removed():
		return nil, c.dev.gone(c.call, api)
	case c.closed:
		return nil, c.dev.failed(c.call, api, ddi.DXGIInvalidCall, closedContext(), nil)
	case !c.deferred:
		p := problem{MessageFinishCommandListOnImmediateContext, "the context is immediate, want a deferred one"}
		return nil, c.dev.failed(c.call, api, ddi.DXGIInvalidCall, p, nil)
	}
	var b *listBody
	hr := ddi.OK
	large := c.sizeProblem()
	switch {
	case c.rec != nil && large.found():
		c.dropRecording()
		hr = ddi.EOutOfMemory
	case c.rec != nil:
		b = c.finishRecording()
	default:
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
		return nil, c.failure(api, large)
	}
	return c.newList(b), nil
}

// finishRecording creates the list of a context for which the runtime records.
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

// ExecuteCommandList executes a list, or records its execution. The list starts
// from the default state. It is refused if it maps a resource that the context
// has mapped, or if it uses a query that is active in the context. The state
// afterwards is the same then.
//
// Lists may nest to any depth. The size of a list is at most 1 GiB: 64 bytes for
// each call on the deferred context except Get methods and Unmap, plus the data of
// each UpdateSubresource and of each subresource mapped with MapWriteDiscard, plus
// the size of each list that it executes, as often as it does. Above the limit Map
// and FinishCommandList fail with EOutOfMemory. The size does not depend on whether
// the driver or the runtime records.
//
//	DDI     pfnCommandListExecute
//	In      restore: the context's state is restored afterwards; otherwise it
//	        becomes the default
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-executecommandlist
func (c *Context) ExecuteCommandList(l *CommandList, restore bool) {
	const api = "ExecuteCommandList"
	c, lock := c.lock(api)
	defer lock.unlock()
	if c.dropsAll(api) {
		return
	}
	if !l.use(c.dev) {
		c.dev.drop(c.call, api, l.problem(c.dev))
		return
	}
	p := c.blocked(&l.body.effects)
	if !p.found() {
		c.addSize(l.body.size)
	}
	switch {
	case p.found():
		c.dev.drop(c.call, api, p)
		if !restore {
			c.clearState()
		}
	case c.rec != nil:
		c.rec.execute(l, restore)
		c.inherit(&l.body.effects)
		c.inheritContents(l.body.rec)
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

// execute makes the driver execute a list. The driver then has the default
// state, which a state refresh shows only after the driver has returned.
func (c *Context) execute(l *CommandList, restore bool) {
	h := c.listHandle(l)
	if !c.native.failed {
		t := c.begin("pfnCommandListExecute", mayMove)
		c.funcs.CommandListExecute(t, c.h, h)
		hr := c.call.end()
		c.shown = 0
		if hr != ddi.OK {
			c.notExecuted(hr, restore)
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
	case !c.native.failed:
		c.resend()
	}
}

// notExecuted handles an execution for which the driver had no memory. The
// driver may or may not have reset its state, so everything is unbound. A state
// refresh shows the default state, as after any execution.
func (c *Context) notExecuted(hr ddi.HRESULT, restore bool) {
	if c.deferred {
		c.fail()
		if !restore {
			c.dropState(&c.state)
		}
		return
	}
	c.notMoved("ExecuteCommandList", hr)
	before := c.state
	c.holdState(&before)
	c.reset()
	if restore {
		c.apply(&before)
	}
	c.dropState(&before)
}

package d3d11

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// ContextType is D3D11_DEVICE_CONTEXT_TYPE.
type ContextType uint32

// The kinds of contexts.
const (
	ContextImmediate ContextType = 0
	ContextDeferred  ContextType = 1
)

// A Context is ID3D11DeviceContext: the immediate context of a device or a
// deferred context. A deferred context only records a command list: in the
// driver if it supports command lists, otherwise in a recording of the runtime
// (record.go). A Context must be used by one goroutine at a time, except as
// Multithread says.
type Context struct {
	child

	deferred bool
	closed   bool // a deferred context that was released

	// The driver's context. Unused with a recording.
	call  *call
	h     umddi.HDevice
	funcs *umddi.DeviceFuncs // the table, which may move when a function has ended
	moves *rand.Rand         // decides when the table moves; nil: never

	state    state
	shown    groups   // the parts of the state that the driver has
	begun    []*Query // active queries, with a reference to each
	mapCount int      // deferred contexts: number of mapped subresources

	rec     *recording             // deferred contexts, if the driver does not support command lists
	open    map[mapKey]*listMemory // with rec: the list's discarded memory
	current *DeviceContextState    // immediate: set by SwapDeviceContextState

	multi *Multithread // immediate
	outer *Context     // of what Enter returns: the immediate context

	native nativeContext

	// Effects of a deferred context's list, and memory for lists.
	effects effects
	slab    []CommandList
	cache   *listBody
	retired retired
	spare   atomic.Pointer[call] // to release lists

	// Arguments of driver calls, kept here to avoid allocations.
	box       umddi.Box
	queryData [maxQueryData]byte
	args      bindings
	refresh   refreshing
	old       [umddi.MaxVertexBuffers]*child
}

// bindings are the handles that a driver call binds.
type bindings struct {
	buffers [umddi.MaxVertexBuffers]umddi.HResource
	targets [umddi.MaxRenderTargets]umddi.HRenderTargetView
}

// newImmediate creates the immediate context. The device keeps it alive.
func newImmediate(d *Device, k *call) *Context {
	c := &Context{call: k, funcs: new(umddi.DeviceFuncs)}
	c.dev = d
	c.self = c
	c.refs.Store(apiRef + 1)
	c.multi = newMultithread(c)
	return c
}

// newRecorder creates a deferred context for which the runtime records.
func newRecorder(d *Device) *Context {
	c := &Context{deferred: true, rec: d.takeRecording(), open: make(map[mapKey]*listMemory)}
	c.retired.leases.Store(1)
	c.adopt(d, c)
	return c
}

// destroy destroys a deferred context: it drops the recording, the bindings and
// the cached lists.
func (c *Context) destroy() {
	c.closed = true
	if c.rec == nil {
		c.abandonLast()
	}
	c.dropBegun()
	c.effects.reset()
	c.dropState(&c.state)
	if c.rec == nil {
		c.destroyNative()
		return
	}
	c.dropCache(func(b *listBody) { b.forget() })
	var e endedLists
	c.dev.freeRecording(c.rec, &e)
	e.retire()
	clear(c.open)
}

// dropCache calls drop for each unused body and prevents later ones from being
// cached.
func (c *Context) dropCache(drop func(*listBody)) {
	for _, b := range []*listBody{c.retired.seal(), c.cache} {
		for b != nil {
			next := b.next
			drop(b)
			b = next
		}
	}
	c.cache = nil
}

// dropBegun drops the active queries.
func (c *Context) dropBegun() {
	for _, q := range c.begun {
		c.dropBound(&q.child)
	}
	clear(c.begun)
	c.begun = c.begun[:0]
}

// closeImmediate closes the immediate context. It unbinds everything in the
// driver, even on a removed device.
func (c *Context) closeImmediate() {
	c.reset()
	c.dropBegun()
	if c.current != nil {
		c.current.child.drop()
		c.current = nil
	}
	if !c.dev.removed() {
		c.flush()
	}
}

// dropsAll reports whether the device is removed or the context closed. A call
// of the API is then dropped with a message. Otherwise it prepares the context
// for its use and adds the call to the size of a deferred context's list.
func (c *Context) dropsAll(api string) bool {
	if c.dev.removed() || c.closed {
		return c.dropUnready(api)
	}
	c.renew()
	c.addSize(callSize)
	return false
}

// dropUnready drops a call and returns true.
func (c *Context) dropUnready(api string) bool {
	p := closedContext()
	if c.dev.removed() {
		p = c.dev.goneProblem()
	}
	c.dev.drop(c.call, api, p)
	return true
}

// dropsOn reports whether p forbids a call of the API, which is then dropped
// with a message.
func (c *Context) dropsOn(api string, p problem) bool {
	if p.found() {
		c.dev.drop(c.call, api, p)
	}
	return p.found()
}

// callsDriver reports whether methods of the context call the driver.
func (c *Context) callsDriver() bool { return c.rec == nil && !c.native.suppressed }

// begin enters a function of the context that may report the results in
// allowed, and on a deferred context EOutOfMemory too. entry is its name.
func (c *Context) begin(entry string, allowed results) *ddi.Thread {
	if c.deferred {
		allowed |= mayRunOutOfMemory
		c.native.used = true
	}
	return c.call.begin(entry, allowed)
}

// end leaves the function. After an error a deferred context drops the list it
// is recording.
func (c *Context) end() ddi.HRESULT {
	hr := c.call.end()
	if hr != ddi.OK && c.deferred {
		c.fail()
	}
	c.relocate()
	return hr
}

// endMove is end for a function of a call without a result. On the immediate
// context a message tells that the driver failed; a deferred context returns the
// error from FinishCommandList.
func (c *Context) endMove(api string) {
	if hr := c.end(); hr != ddi.OK && !c.deferred {
		c.notMoved(api, hr)
	}
}

// notMoved adds a message that the driver dropped a call. The removal of the
// device has its own message.
func (c *Context) notMoved(api string, hr ddi.HRESULT) {
	if hr != ddi.DXGIDeviceRemoved {
		c.dev.drop(c.call, api, problemf(MessageDriverFailed, "%s reported %v", c.call.blame, hr))
	}
}

// GetType returns the type of the context.
func (c *Context) GetType() ContextType {
	if c.deferred {
		return ContextDeferred
	}
	return ContextImmediate
}

// GetContextFlags returns the creation flags of the context, always 0.
func (c *Context) GetContextFlags() uint32 { return 0 }

// Flush submits the recorded commands. It does nothing on a deferred context.
//
//	DDI     pfnFlush
func (c *Context) Flush() {
	c, l := c.lock("Flush")
	defer l.unlock()
	if !c.dropsAll("Flush") && !c.deferred {
		c.flush()
	}
}

func (c *Context) flush() {
	c.funcs.Flush(c.begin("pfnFlush", maySet), c.h)
	c.end()
}

// BeginEvent is ID3DUserDefinedAnnotation::BeginEvent. It returns -1, since no
// tool is attached.
func (c *Context) BeginEvent(name string) int32 { return -1 }

// EndEvent is ID3DUserDefinedAnnotation::EndEvent. It returns -1.
func (c *Context) EndEvent() int32 { return -1 }

// GetStatus is ID3DUserDefinedAnnotation::GetStatus, which reports whether a
// tool is attached. It returns 0.
func (c *Context) GetStatus() int32 { return 0 }

// A DeviceContextState is ID3DDeviceContextState: saved pipeline state, with
// references to the objects bound in it.
type DeviceContextState struct {
	child

	state state
}

// CreateDeviceContextState creates a state object with the default state.
//
//	In      flags: 0, or 1 (D3D11_1_CREATE_DEVICE_CONTEXT_STATE_SINGLETHREADED)
//	Returns EInvalidArg, DXGIDeviceRemoved
func (d *Device) CreateDeviceContextState(flags uint32) (*DeviceContextState, error) {
	const api = "CreateDeviceContextState"
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	if flags > 1 {
		return nil, d.refuse(nil, api, problemf(MessageCreateDeviceContextStateInvalidFlags, "Flags is %#x, want 0 or 1", flags))
	}
	return newContextState(d), nil
}

func newContextState(d *Device) *DeviceContextState {
	s := new(DeviceContextState)
	s.adopt(d, s)
	return s
}

func (s *DeviceContextState) destroy() { s.state.each((*child).drop) }

// swapProblem returns why s cannot become the current state.
func (c *Context) swapProblem(s *DeviceContextState) problem {
	switch {
	case c.deferred:
		return problem{MessageInvalidState, "the context is deferred, want the immediate one"}
	case s == nil:
		return problem{MessageInvalidObject, "State is nil"}
	}
	return s.misused(c.dev, MessageInvalidObject, "State")
}

// SwapDeviceContextState makes s the current state and returns a reference to
// the object with the previous state. With a nil s, or on a deferred context,
// it does nothing and returns nil.
func (c *Context) SwapDeviceContextState(s *DeviceContextState) *DeviceContextState {
	const api = "SwapDeviceContextState"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.swapProblem(s)) {
		return nil
	}
	if c.current == nil {
		c.current = newContextState(c.dev)
		c.current.hold()
		c.current.Release()
	}
	before := c.current
	before.addRef()
	if s == before {
		return before
	}
	before.state = c.state
	c.holdState(&before.state)
	c.reset()
	c.apply(&s.state)
	c.dropState(&s.state)
	s.hold()
	c.current = s
	before.child.drop()
	return before
}

package d3d11

import (
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

// A Context is ID3D11DeviceContext: the immediate context of a device, or a
// deferred one, which records a command list and touches nothing else: in the
// driver if that has command lists, else in a recording of the runtime's
// (record.go). It belongs to one goroutine at a time.
type Context struct {
	child

	deferred bool
	closed   bool // a deferred context that is released

	// The driver's context. Not with a recording.
	call  *call
	h     umddi.HDevice
	funcs *umddi.DeviceFuncs

	state    state
	shown    groups   // the parts of state that the driver has
	begun    []*Query // begun and not ended, with a reference to each
	mapCount int      // deferred contexts: subresources that are mapped

	rec     *recording           // deferred contexts, if the driver has no command lists
	open    map[mapKey]*deferral // with rec: what the list has discarded
	current *DeviceContextState  // immediate: what SwapDeviceContextState put in

	native nativeContext

	// What a deferred context's list does, and what is behind lists.
	effects effects
	slab    []CommandList
	cache   *listBody
	retired retired
	spare   atomic.Pointer[call] // for the release of lists

	// Arguments of driver calls, so that none is allocated.
	box     umddi.Box
	answer  [maxQueryData]byte
	args    bindings
	refresh refreshing
	old     [umddi.MaxVertexBuffers]*child
}

// bindings are handles that a driver call binds.
type bindings struct {
	buffers [umddi.MaxVertexBuffers]umddi.HResource
	targets [umddi.MaxRenderTargets]umddi.HRenderTargetView
}

// newImmediate makes the immediate context. The device keeps it.
func newImmediate(d *Device, k *call) *Context {
	c := &Context{call: k, funcs: &d.funcs}
	c.dev = d
	c.self = c
	c.refs.Store(apiRef + 1)
	return c
}

// newRecorder makes a deferred context that the runtime records for.
func newRecorder(d *Device) *Context {
	c := &Context{deferred: true, rec: d.takeRecording(), open: make(map[mapKey]*deferral)}
	c.adopt(d, c)
	return c
}

// destroy ends a deferred context: it drops what is recorded and bound, and
// what there is to use again.
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
	var e ended
	c.dev.giveRecording(c.rec, &e)
	e.retire()
	clear(c.open)
}

// dropCache calls drop with each body that no list has, and lets none come
// after them.
func (c *Context) dropCache(drop func(*listBody)) {
	for _, b := range []*listBody{c.retired.seal(), c.cache} {
		for b != nil {
			next := b.below
			drop(b)
			b = next
		}
	}
	c.cache = nil
}

// dropBegun forgets the queries that are begun.
func (c *Context) dropBegun() {
	for _, q := range c.begun {
		c.letGo(&q.child)
	}
	clear(c.begun)
	c.begun = c.begun[:0]
}

// shut ends the immediate context. The driver is told what is unbound on a
// removed device too.
func (c *Context) shut() {
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

// ready says whether the context can do anything.
func (c *Context) ready() bool { return !c.dev.removed() && !c.closed }

// calls says whether the driver hears of what the context does.
func (c *Context) calls() bool { return c.rec == nil && !c.native.silent }

// begin enters a function of the context that may report the results in
// allowed, of a deferred context EOutOfMemory too.
func (c *Context) begin(allowed results) *ddi.Thread {
	if c.deferred {
		allowed |= mayLack
		c.native.used = true
	}
	return c.call.begin(allowed)
}

// end leaves the function. An error drops the list that a deferred context
// records.
func (c *Context) end() ddi.HRESULT {
	hr := c.call.end()
	if hr != ddi.OK && c.deferred {
		c.fail()
	}
	return hr
}

// GetType returns the kind of the context.
func (c *Context) GetType() ContextType {
	if c.deferred {
		return ContextDeferred
	}
	return ContextImmediate
}

// GetContextFlags returns the flags the context was made with, which are 0.
func (c *Context) GetContextFlags() uint32 { return 0 }

// Flush submits what is recorded in the driver. On a deferred context it does
// nothing.
//
//	DDI     pfnFlush
func (c *Context) Flush() {
	if c.ready() && !c.deferred {
		c.flush()
	}
}

func (c *Context) flush() {
	c.funcs.Flush(c.begin(maySet), c.h)
	c.end()
}

// BeginEvent is ID3DUserDefinedAnnotation::BeginEvent. No tool is ever
// attached, so it returns -1.
func (c *Context) BeginEvent(name string) int32 { return -1 }

// EndEvent is ID3DUserDefinedAnnotation::EndEvent. It returns -1.
func (c *Context) EndEvent() int32 { return -1 }

// GetStatus is ID3DUserDefinedAnnotation::GetStatus: whether a tool is
// attached. It returns 0.
func (c *Context) GetStatus() int32 { return 0 }

// A DeviceContextState is ID3DDeviceContextState: pipeline state that is not in
// use, with references to what is bound in it.
type DeviceContextState struct {
	child

	state state
}

// CreateDeviceContextState makes a state object with the default state.
//
//	In      flags: 0, or 1 (D3D11_1_CREATE_DEVICE_CONTEXT_STATE_SINGLETHREADED)
//	Returns EInvalidArg, DXGIDeviceRemoved
func (d *Device) CreateDeviceContextState(flags uint32) (*DeviceContextState, error) {
	if d.removed() {
		return nil, ddi.DXGIDeviceRemoved
	}
	if flags > 1 {
		return nil, ddi.EInvalidArg
	}
	return newContextState(d), nil
}

func newContextState(d *Device) *DeviceContextState {
	s := new(DeviceContextState)
	s.adopt(d, s)
	return s
}

func (s *DeviceContextState) destroy() { s.state.each((*child).drop) }

// SwapDeviceContextState puts the state in s in place and returns a reference
// to the object that holds the state before. With a nil s, and on a deferred
// context, it does nothing and returns nil.
func (c *Context) SwapDeviceContextState(s *DeviceContextState) *DeviceContextState {
	if c.deferred || !c.ready() || s == nil || !s.usable(c.dev) {
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

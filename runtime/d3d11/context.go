package d3d11

import (
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

// A Context is ID3D11DeviceContext: the immediate context of a device, whose
// methods reach the driver, or a deferred one, which records a command list and
// touches nothing else. It belongs to one goroutine at a time.
type Context struct {
	child

	deferred bool

	state   state
	rec     *recording           // deferred contexts, until they are released
	open    map[mapKey]*deferral // deferred contexts: what the list has discarded
	current *DeviceContextState  // immediate: what SwapDeviceContextState put in

	// Arguments of driver calls, so that none is allocated.
	call    *call // immediate only
	box     umddi.Box
	answer  [queryDataSize]byte
	handles [umddi.MaxVertexBuffers]umddi.HResource
	targets [umddi.MaxRenderTargets]umddi.HRenderTargetView
	old     [umddi.MaxVertexBuffers]*child
}

// newContext makes the immediate context. The device keeps it.
func newContext(d *Device, k *call) *Context {
	c := &Context{call: k}
	c.dev = d
	c.self = c
	c.refs.Store(apiRef + 1)
	return c
}

// newDeferred makes a deferred context.
func newDeferred(d *Device) *Context {
	c := &Context{deferred: true, rec: d.takeRecording(), open: make(map[mapKey]*deferral)}
	c.adopt(d, c)
	return c
}

// destroy drops what a deferred context has recorded and bound.
func (c *Context) destroy() {
	c.state.drop()
	c.dev.giveRecording(c.rec)
	c.rec = nil
	clear(c.open)
}

// shut ends the immediate context. The driver is told what is unbound on a
// removed device too.
func (c *Context) shut() {
	c.reset()
	if c.current != nil {
		c.current.child.drop()
		c.current = nil
	}
	if !c.dev.removed() {
		c.flush()
	}
}

// ready says whether the context can do anything.
func (c *Context) ready() bool { return !c.dev.removed() && (c.rec != nil || !c.deferred) }

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
	c.dev.funcs.Flush(c.call.begin(mayRemove), c.dev.h)
	c.call.end()
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

func (s *DeviceContextState) destroy() { s.state.drop() }

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
	before.state.hold()
	c.reset()
	c.apply(&s.state)
	s.state.drop()
	s.hold()
	c.current = s
	before.child.drop()
	return before
}

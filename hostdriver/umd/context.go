package umd

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A context is the common part of the immediate context and deferred contexts.
// It must be used on the context's thread.
type context struct {
	dev      *device
	deferred bool // object handles are local handles
	core     umddi.HRTCoreLayer
	um       *umddi.CoreLayerCallbacks // owned by the runtime, which may change the fields

	state state
	bound bool // the state may differ from the initial state
}

// contextOf returns the context of a handle and marks its state as changed.
func contextOf(h umddi.HDevice) *context {
	var c *context
	if d, ok := h.Driver.(*device); ok {
		c = &d.context
	} else {
		c = &deferredOf(h).context
	}
	c.bound = true
	return c
}

// clearState resets the state to its initial value.
func (c *context) clearState() {
	if !c.bound {
		return
	}
	c.state = state{viewports: c.state.viewports[:0], scissors: c.state.scissors[:0]}
	c.bound = false
}

// contextID returns the ID in a handle of the context for an object of a table,
// or the zero ID for any other handle.
func contextID[T any](c *context, objects *table[T], o *ddi.Object) id {
	if c.deferred {
		return idIn(o, objects.tag|tagLocal)
	}
	return objects.id(o)
}

// report reports a failure to the runtime. The running function may report
// DDIDeviceRemoved and the results in legal. Any other failure becomes
// DDIDeviceRemoved, since the device cannot continue.
func (c *context) report(t *ddi.Thread, hr ddi.HRESULT, legal ...ddi.HRESULT) {
	if !hr.Failed() {
		return
	}
	if !slices.Contains(legal, hr) {
		hr = ddi.DDIDeviceRemoved
	}
	c.um.SetErrorCb(t, c.core, hr)
}

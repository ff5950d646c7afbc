package umd

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A context is what the immediate context and the deferred ones have in common.
// It belongs to the context's thread.
type context struct {
	dev      *device
	deferred bool // object handles are local ones
	core     umddi.HRTCoreLayer
	um       *umddi.CoreLayerCallbacks // the runtime's; it may change the fields

	state state
	bound bool // the state may differ from that of creation
}

// contextOf returns the context behind a handle, with the state about to change.
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

// clearState puts the state of creation in place.
func (c *context) clearState() {
	if !c.bound {
		return
	}
	c.state = state{viewports: c.state.viewports[:0], scissors: c.state.scissors[:0]}
	c.bound = false
}

// contextID returns the id in a handle of the context for an object of a table. It is
// zero if the handle is none of them.
func contextID[T any](c *context, objects *table[T], o *ddi.Object) id {
	if c.deferred {
		return idIn(o, objects.tag|tagLocal)
	}
	return objects.id(o)
}

// report tells the runtime of a failure. A result that the running function may
// not report, legal has those beside DDIDeviceRemoved, becomes DDIDeviceRemoved:
// the device cannot go on as if nothing had happened.
func (c *context) report(t *ddi.Thread, hr ddi.HRESULT, legal ...ddi.HRESULT) {
	if !hr.Failed() {
		return
	}
	if !slices.Contains(legal, hr) {
		hr = ddi.DDIDeviceRemoved
	}
	c.um.SetErrorCb(t, c.core, hr)
}

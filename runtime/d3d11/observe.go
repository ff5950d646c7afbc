package d3d11

import "github.com/hilgpu/hilgpu/runtime/ddi"

// An Observer sees the calls of the API that may reach the driver. Its methods are called
// on the goroutine of the call, and must not call the device.
//
// The thread is that of the driver's functions that the call leads to. It is nil for a
// deferred context that the runtime records, since it calls no driver.
type Observer interface {
	Enter(t *ddi.Thread, api string)
	Leave(t *ddi.Thread, api string)

	// Failed is called when the call of a method fails, or is dropped because it is invalid or the
	// device is removed. text is that of its message in the InfoQueue. A method that fails before it
	// may reach the driver has no Enter, and its thread is nil or has no open call.
	Failed(t *ddi.Thread, api, text string)
}

// A held call is a method of a context, from lock to unlock.
type held struct {
	multi    *Multithread // whose lock it holds, or nil
	observer Observer     // or nil
	thread   *ddi.Thread
	api      string
}

// unlock ends a method.
func (h held) unlock() {
	if h.observer != nil {
		h.observer.Leave(h.thread, h.api)
	}
	if h.multi != nil {
		h.multi.mu.Unlock()
	}
}

// tell reports that a method fails or is dropped. k is its thread, or nil.
func (d *Device) tell(k *call, api, text string) {
	if d.observer == nil {
		return
	}
	var t *ddi.Thread
	if k != nil {
		t = &k.thread
	}
	d.observer.Failed(t, api, text)
}

// lock begins a method of the API. It returns the context on which the method works, and
// what to unlock at its end.
func (c *Context) lock(api string) (*Context, held) {
	h := held{api: api}
	if c.multi != nil {
		c, h.multi = c.lockImmediate()
	}
	if c.dev.observer != nil {
		c.observe(&h)
	}
	return c, h
}

// observe reports the beginning of a method.
func (c *Context) observe(h *held) {
	h.observer = c.dev.observer
	if c.call != nil {
		h.thread = &c.call.thread
	}
	h.observer.Enter(h.thread, h.api)
}

// enter reports the beginning of a method of a device or a child, and leave its end.
func (k *call) enter(api string) {
	if o := k.dev.observer; o != nil {
		o.Enter(&k.thread, api)
	}
}

func (k *call) leave(api string) {
	if o := k.dev.observer; o != nil {
		o.Leave(&k.thread, api)
	}
}

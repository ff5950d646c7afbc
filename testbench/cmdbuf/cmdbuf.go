// Package cmdbuf follows the command buffers of a user-mode driver: which function wrote which
// packets, what is submitted, and to which resource an allocation belongs.
package cmdbuf

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// Design note: nothing in the interface says which function of the driver wrote which packet.
// But with checks the kernel hands out command buffers full of a value that is no header of
// a packet, so the packets that are new after a function are those that it wrote.

// A Listener is told what happens to command buffers. A field may be nil.
type Listener struct {
	// Wrote is told the packets that are new in the command buffer of a context, from one
	// offset in bytes to another. The outermost function on the thread has written them.
	Wrote func(t *ddi.Thread, context ddi.KMHandle, from, to int)

	// Renders is told the commands that a pfnRenderCb submits, before it does. The function
	// that it returns is called when the callback has returned.
	Renders func(t *ddi.Thread, commands []byte) (done func(ok bool))

	// Allocated is told the allocations of a resource when pfnAllocateCb has returned. r has no
	// name for an allocation of no resource.
	Allocated func(h ddi.KMHandle, r Resource)

	// Mapped is told a resource that the application has mapped for reading, when the function
	// of the driver has returned.
	Mapped func(t *ddi.Thread, r Resource)
}

// A Hook is a hook of the driver interfaces, to be called after that of a trace at an entry and
// before it at a return. Wrote needs the checks of the kernel: dxgkrnl.Config.Poison.
//
// A function that any thread may call, such as pfnCreateResource, may run beside one that
// writes. So what it wrote counts as that of the next function of the immediate context.
type Hook struct {
	to Listener

	mu      sync.Mutex
	threads map[*ddi.Thread]*calls
	buffers map[*ddi.Root][]*buffer // by the device

	resources map[any]made        // by the runtime's handle
	handles   map[*ddi.Object]any // runtime's handle of a resource, by the driver's
	created   int                 // resources
}

// calls are what is needed of the functions that are open on a thread.
type calls struct {
	device *ddi.Root // of the outermost one, or nil
	free   bool      // any thread may call it
	reads  any       // runtime's handle of the resource that it maps for reading, or nil
	open   []callback
}

// A callback is one that has not returned.
type callback struct {
	arg  any           // the second argument, or nil
	done func(ok bool) // of a Render, or nil
}

// A buffer is the command buffer of a context that is being written.
type buffer struct {
	context ddi.KMHandle
	bytes   []byte
	level   int // bytes of it that are known
}

// New returns a hook.
func New(to Listener) *Hook {
	return &Hook{to: to, threads: map[*ddi.Thread]*calls{}, buffers: map[*ddi.Root][]*buffer{}, resources: map[any]made{}, handles: map[*ddi.Object]any{}}
}

// Enter implements verifier.Hook.
func (h *Hook) Enter(t *ddi.Thread, f *verifier.Func, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(t.Stack()) == 1 {
		h.threads[t] = &calls{device: deviceOf(args), free: isFree(f.Name)}
		h.outermost(f.Name, h.threads[t], args)
	}
	c := h.threads[t]
	if c == nil || !f.Callback {
		return
	}
	var call callback
	if len(args) > 1 {
		call.arg = args[1]
	}
	if r, ok := call.arg.(*umddi.Render); ok {
		h.written(t, c)
		call.done = h.renders(t, c, r)
	}
	c.open = append(c.open, call)
}

// Leave implements verifier.Hook.
func (h *Hook) Leave(t *ddi.Thread, f *verifier.Func, results ...any) {
	h.mu.Lock()
	c := h.threads[t]
	var done func(ok bool)
	var mapped Resource
	switch {
	case c == nil:
	case len(t.Stack()) == 1:
		if m, ok := first(results).(umddi.Mapped); ok && len(m.Data) > 0 && c.reads != nil {
			mapped = h.resources[c.reads].Resource
		}
		if !c.free {
			h.written(t, c)
		}
		if f.Name == "pfnDestroyDevice" {
			delete(h.buffers, c.device)
			h.forget(c.device)
		}
		delete(h.threads, t)
	case f.Callback && len(c.open) > 0:
		last := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		h.handedOut(c.device, last.arg)
		if hr, ok := first(results).(ddi.HRESULT); ok && !hr.Failed() {
			h.allocated(last.arg)
		}
		done = last.done
	}
	h.mu.Unlock()
	if mapped.Name != "" {
		h.to.Mapped(t, mapped)
	}
	if done != nil {
		hr, ok := first(results).(ddi.HRESULT)
		done(ok && !hr.Failed())
	}
}

// first returns the first result of a function, or nil.
func first(results []any) any {
	if len(results) == 0 {
		return nil
	}
	return results[0]
}

// renders tells the commands that are submitted.
func (h *Hook) renders(t *ddi.Thread, c *calls, r *umddi.Render) (done func(ok bool)) {
	if h.to.Renders == nil {
		return nil
	}
	for _, b := range h.buffers[c.device] {
		if end := uint64(r.CommandOffset) + uint64(r.CommandLength); b.context == r.Context && end <= uint64(len(b.bytes)) {
			return h.to.Renders(t, b.bytes[r.CommandOffset:end])
		}
	}
	return nil
}

// handedOut notes the command buffer that a callback returned.
func (h *Hook) handedOut(device *ddi.Root, arg any) {
	switch arg := arg.(type) {
	case *umddi.CreateContext:
		h.buffers[device] = append(h.buffers[device], &buffer{context: arg.Context, bytes: arg.CommandBuffer})
	case *umddi.Render:
		for _, b := range h.buffers[device] {
			if b.context == arg.Context && len(arg.NewCommandBuffer) > 0 {
				b.bytes, b.level = arg.NewCommandBuffer, 0
			}
		}
	}
}

// written tells the packets that are new in the command buffers of the device of a call.
func (h *Hook) written(t *ddi.Thread, c *calls) {
	if h.to.Wrote == nil {
		return
	}
	for _, b := range h.buffers[c.device] {
		from := b.level
		for b.level+4 <= len(b.bytes) {
			header := binary.LittleEndian.Uint32(b.bytes[b.level:])
			if _, ok := pkt.Lookup(uint8(header >> 24)); !ok {
				break
			}
			b.level += 4 + 4*int(header&pkt.HeaderBody)
		}
		if b.level > from {
			h.to.Wrote(t, b.context, from, b.level)
		}
	}
}

// deviceOf returns the device of the arguments of a function, or nil.
func deviceOf(args []any) *ddi.Root {
	for _, a := range args {
		switch a := a.(type) {
		case umddi.HDevice:
			return a.Root
		case *umddi.CreateDevice:
			return a.Device.Root
		case umddi.Present:
			return a.Device.Root
		}
	}
	return nil
}

// isFree reports whether any thread may call a function.
func isFree(name string) bool {
	if name == "pfnCreateDevice" || name == "pfnDestroyDevice" {
		return false
	}
	for _, prefix := range [...]string{"pfnCreate", "pfnCalc", "pfnCheck", "pfnDestroy", "pfnOpen", "pfnRecycle"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

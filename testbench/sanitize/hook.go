package sanitize

import (
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A hook follows the command buffers of the user-mode driver.
type hook struct {
	s *Sanitizer

	mu      sync.Mutex
	buffers map[ddi.KMHandle][]byte // by context
	open    map[*ddi.Thread][]callback
}

// A callback is one that has not returned.
type callback struct {
	arg  any
	done func(ok bool) // of a Render, or nil
}

// Hook returns a hook of the driver interfaces that follows command buffers.
func (s *Sanitizer) Hook() verifier.Hook {
	return &hook{s: s, buffers: map[ddi.KMHandle][]byte{}, open: map[*ddi.Thread][]callback{}}
}

// Enter implements verifier.Hook.
func (h *hook) Enter(t *ddi.Thread, f *verifier.Func, args ...any) {
	if len(t.Stack()) == 1 {
		h.mu.Lock()
		delete(h.open, t) // calls that unwound
		h.mu.Unlock()
	}
	if !f.Callback {
		return
	}
	var c callback // callbacks with fewer arguments are of no interest
	if len(args) > 1 {
		c.arg = args[1]
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := c.arg.(*umddi.Render); ok {
		b := h.buffers[r.Context]
		if end := uint64(r.CommandOffset) + uint64(r.CommandLength); end <= uint64(len(b)) {
			c.done = h.s.Render(t, b[r.CommandOffset:end])
		}
	}
	h.open[t] = append(h.open[t], c)
}

// Leave implements verifier.Hook.
func (h *hook) Leave(t *ddi.Thread, f *verifier.Func, results ...any) {
	h.mu.Lock()
	calls := h.open[t]
	if n := len(calls); !f.Callback || n == 0 {
		h.mu.Unlock()
		return
	}
	c := calls[len(calls)-1]
	h.open[t] = calls[:len(calls)-1]
	switch arg := c.arg.(type) {
	case *umddi.CreateContext:
		h.buffers[arg.Context] = arg.CommandBuffer
	case *umddi.Render:
		if len(arg.NewCommandBuffer) > 0 {
			h.buffers[arg.Context] = arg.NewCommandBuffer
		}
	}
	h.mu.Unlock()
	if c.done != nil && len(results) > 0 {
		hr, ok := results[0].(ddi.HRESULT)
		c.done(ok && !hr.Failed())
	}
}

package d3d11

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// Limits of SetGPUThreadPriority.
const (
	minThreadPriority = -7
	maxThreadPriority = 7
)

// priorities are the contexts that the driver has made in the kernel, and their priority.
type priorities struct {
	mu       sync.Mutex
	contexts []ddi.KMHandle
	priority int
}

// made notes a new context.
func (p *priorities) made(ctx ddi.KMHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contexts = append(p.contexts, ctx)
}

// destroyed forgets a context.
func (p *priorities) destroyed(ctx ddi.KMHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contexts = slices.DeleteFunc(p.contexts, func(c ddi.KMHandle) bool { return c == ctx })
}

// SetGPUThreadPriority sets the priority of the work of the device among that of all
// devices, also of work that waits. Work of a higher priority goes first, and stops a node
// that can stop inside a buffer.
//
//	In      priority: -7 to 7; it is 0 at first
//	Returns EInvalidArg, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-dxgi-idxgidevice-setgputhreadpriority
func (d *Device) SetGPUThreadPriority(priority int) error {
	const api = "SetGPUThreadPriority"
	switch {
	case d.removed():
		return d.gone(nil, api)
	case priority < minThreadPriority || priority > maxThreadPriority:
		return d.failed(nil, api, ddi.EInvalidArg, problem{text: fmt.Sprintf("priority is %d, want %d to %d", priority, minThreadPriority, maxThreadPriority)}, nil)
	}
	d.priorities.mu.Lock()
	d.priorities.priority = priority
	contexts := slices.Clone(d.priorities.contexts)
	d.priorities.mu.Unlock()
	t := &ddi.Thread{Process: d.process}
	for _, c := range contexts {
		// A context that was destroyed meanwhile needs no priority.
		if s := d.setPriority(t, c); s.Failed() && s != ddi.StatusInvalidHandle {
			return d.failed(nil, api, d.hresult("SetContextSchedulingPriority", s), problem{}, nil)
		}
	}
	return nil
}

// setPriority gives a context the priority of the device, also if another call changes it
// at the same time.
func (d *Device) setPriority(t *ddi.Thread, ctx ddi.KMHandle) ddi.Status {
	for given := d.GetGPUThreadPriority(); ; {
		s := d.kernel.SetContextSchedulingPriority(t, ctx, given)
		now := d.GetGPUThreadPriority()
		if s.Failed() || now == given {
			return s
		}
		given = now
	}
}

// GetGPUThreadPriority returns the priority that SetGPUThreadPriority set.
//
//	Source  learn.microsoft.com, nf-dxgi-idxgidevice-getgputhreadpriority
func (d *Device) GetGPUThreadPriority() int {
	d.priorities.mu.Lock()
	defer d.priorities.mu.Unlock()
	return d.priorities.priority
}

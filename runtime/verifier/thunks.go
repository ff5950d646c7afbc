package verifier

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// WrapThunks returns thunks for the runtime that behave like k. If the miniport
// breaks a rule in a thunk that the runtime calls itself, outside a function of
// the user-mode driver, the thunk returns StatusDeviceRemoved, as each thunk does
// after the system has stopped.
func WrapThunks(k kmt.Thunks, m *Monitor) kmt.Thunks {
	return kmt.Thunks{
		QueryAdapterInfo: func(t *ddi.Thread, p []byte) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.QueryAdapterInfo(t, p) })
		},
		CreateDevice: func(t *ddi.Thread) (h ddi.KMHandle, s ddi.Status) {
			s = m.thunk(t, func() (s ddi.Status) {
				h, s = k.CreateDevice(t)
				return s
			})
			return h, s
		},
		DestroyDevice: func(t *ddi.Thread, dev ddi.KMHandle) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.DestroyDevice(t, dev) })
		},
		CreateContext: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.CreateContext) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.CreateContext(t, dev, arg) })
		},
		DestroyContext: func(t *ddi.Thread, ctx ddi.KMHandle) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.DestroyContext(t, ctx) })
		},
		CreateAllocation: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Allocate) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.CreateAllocation(t, dev, arg) })
		},
		DestroyAllocation: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Deallocate) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.DestroyAllocation(t, dev, arg) })
		},
		Lock: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Lock) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.Lock(t, dev, arg) })
		},
		Unlock: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Unlock) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.Unlock(t, dev, arg) })
		},
		SetAllocationPriority: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.SetPriority) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.SetAllocationPriority(t, dev, arg) })
		},
		OfferAllocations: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.OfferAllocations) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.OfferAllocations(t, dev, arg) })
		},
		ReclaimAllocations: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.ReclaimAllocations) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.ReclaimAllocations(t, dev, arg) })
		},
		Render: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Render) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.Render(t, dev, arg) })
		},
		Present: func(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.PresentCB) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.Present(t, dev, arg) })
		},
		QueryVideoMemoryInfo: func(t *ddi.Thread, arg *kmt.QueryVideoMemoryInfo) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.QueryVideoMemoryInfo(t, arg) })
		},
		Escape: func(t *ddi.Thread, arg *kmt.Escape) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.Escape(t, arg) })
		},
		SetContextSchedulingPriority: func(t *ddi.Thread, ctx ddi.KMHandle, priority int) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.SetContextSchedulingPriority(t, ctx, priority) })
		},
		WaitForIdle: func(t *ddi.Thread, dev ddi.KMHandle) ddi.Status {
			return m.thunk(t, func() ddi.Status { return k.WaitForIdle(t, dev) })
		},
	}
}

// thunk calls f, a thunk.
func (m *Monitor) thunk(t *ddi.Thread, f func() ddi.Status) (s ddi.Status) {
	if m.Stopped() {
		return ddi.StatusDeviceRemoved
	}
	if len(t.Stack()) > 0 {
		if s = f(); s.Failed() {
			m.noteRefusal(t, "", s)
		}
		return s
	}
	s = ddi.StatusDeviceRemoved
	defer m.rescue(t)
	s = f()
	return s
}

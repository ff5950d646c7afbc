package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Thunks returns the functions that the runtime calls. They may be called on
// several goroutines, each with its own thread at PASSIVE_LEVEL. One runs at a time,
// up to its end or to a wait. The thunks of one device do not overlap.
func (k *Kernel) Thunks() kmt.Thunks {
	return kmt.Thunks{
		QueryAdapterInfo:  k.queryAdapterInfoThunk,
		CreateDevice:      k.createDeviceThunk,
		DestroyDevice:     k.destroyDeviceThunk,
		CreateContext:     k.createContextThunk,
		DestroyContext:    k.destroyContextThunk,
		CreateAllocation:  k.createAllocationThunk,
		DestroyAllocation: k.destroyAllocationThunk,
		Lock:              k.lockThunk,
		Unlock:            k.unlockThunk,
		Render:            k.renderThunk,
		Present:           k.presentThunk,
		WaitForIdle:       k.waitForIdleThunk,

		QueryVideoMemoryInfo: k.queryVideoMemoryInfoThunk,

		OfferAllocations:   k.offerAllocationsThunk,
		ReclaimAllocations: k.reclaimAllocationsThunk,

		SetAllocationPriority:        k.setAllocationPriorityThunk,
		SetContextSchedulingPriority: k.setContextSchedulingPriorityThunk,
		Escape:                       k.escapeThunk,
	}
}

// queryAdapterInfoThunk returns StatusInvalidParameter if p is too small.
func (k *Kernel) queryAdapterInfoThunk(t *ddi.Thread, p []byte) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	k.recoverItself(t)
	if s := k.begin(t); s.Failed() {
		return s
	}
	out, s := k.driver.QueryAdapterInfo(t, k.adapter, kmddi.QueryAdapterInfo{
		Type: kmddi.InfoUMDriverPrivate, InputData: slices.Clone(p),
	})
	if s.Failed() {
		return s
	}
	if len(p) < len(out.UMDriverPrivate) {
		return ddi.StatusInvalidParameter
	}
	clear(p[copy(p, out.UMDriverPrivate):])
	return s
}

func (k *Kernel) createDeviceThunk(t *ddi.Thread) (ddi.KMHandle, ddi.Status) {
	v := k.enter(t)
	defer k.leave(t, &v)
	k.recoverItself(t)
	if s := k.begin(t); s.Failed() {
		return 0, s
	}
	d, s := k.newDevice(t, false)
	if s.Failed() {
		return 0, s
	}
	return d.handle, s
}

// destroyDeviceThunk destroys a device with its remaining objects.
func (k *Kernel) destroyDeviceThunk(t *ddi.Thread, dev ddi.KMHandle) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() && k.miniportGone() {
		return s
	}
	d, ok := k.take(t, &v, dev)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	return k.destroyDevice(t, d)
}

// take makes other thunks of a device wait until the visit ends. It reports false if
// there is no such device, or none any more.
func (k *Kernel) take(t *ddi.Thread, v *visit, h ddi.KMHandle) (*device, bool) {
	d, ok := k.device(h)
	if !ok {
		return nil, false
	}
	if d.busy {
		k.whileBusy(t, d)
		if d, ok = k.device(h); !ok {
			return nil, false
		}
	}
	d.busy, v.device = true, d
	return d, true
}

// whileBusy waits until no other thunk uses a device.
func (k *Kernel) whileBusy(t *ddi.Thread, d *device) {
	k.until(t, func() bool { return !d.busy })
}

// deviceThunk starts a thunk of a device. It fails if the device is removed.
func (k *Kernel) deviceThunk(t *ddi.Thread, v *visit, dev ddi.KMHandle) (*device, ddi.Status) {
	if s := k.begin(t); s.Failed() {
		return nil, s
	}
	d, ok := k.take(t, v, dev)
	if !ok {
		return nil, ddi.StatusInvalidHandle
	}
	if s := k.status(t); s.Failed() {
		return nil, s
	}
	return d, d.removed
}

// miniportGone reports whether the miniport must no longer be called.
func (k *Kernel) miniportGone() bool { return k.stopped || k.crashed != nil }

func (k *Kernel) createContextThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.CreateContext) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	d, s := k.deviceThunk(t, &v, dev)
	if s.Failed() {
		return s
	}
	c, s := k.newContext(t, d, arg)
	if s.Failed() {
		return s
	}
	u := k.handOut(c)
	arg.Context, arg.CommandBuffer, arg.AllocationList, arg.PatchLocationList = c.handle, u.command, u.allocs, u.patches
	return s
}

func (k *Kernel) destroyContextThunk(t *ddi.Thread, ctx ddi.KMHandle) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() && k.miniportGone() {
		return s
	}
	c, ok := k.handles.get(ctx).(*context)
	if ok {
		_, ok = k.take(t, &v, c.device.handle)
	}
	if !ok || k.handles.get(ctx) != any(c) {
		return ddi.StatusInvalidHandle
	}
	return k.destroyContext(t, c)
}

func (k *Kernel) setContextSchedulingPriorityThunk(t *ddi.Thread, ctx ddi.KMHandle, priority int) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() {
		return s
	}
	c, ok := k.handles.get(ctx).(*context)
	switch {
	case !ok || c.device.system:
		return ddi.StatusInvalidHandle
	case priority < MinPriority || priority > MaxPriority:
		return ddi.StatusInvalidParameter
	}
	c.priority = priority
	k.work(t)
	return ddi.StatusSuccess
}

// createAllocationThunk creates all allocations or none.
func (k *Kernel) createAllocationThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Allocate) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	d, s := k.deviceThunk(t, &v, dev)
	if s.Failed() {
		return s
	}
	if len(arg.AllocationInfo) == 0 {
		return ddi.StatusInvalidParameter
	}
	made := make([]*allocation, 0, len(arg.AllocationInfo))
	for i := range arg.AllocationInfo {
		a, s := k.newAllocation(t, d, arg.AllocationInfo[i].PrivateDriverData)
		if s.Failed() {
			for _, a := range slices.Backward(made) {
				k.retireAllocation(a)
			}
			k.reap(t)
			return s
		}
		made = append(made, a)
	}
	for i, a := range made {
		arg.AllocationInfo[i].Allocation = a.handle
	}
	return ddi.StatusSuccess
}

// resolve returns the allocations of handles. It reports false if one is not of
// the device.
func (k *Kernel) resolve(t *ddi.Thread, v *visit, dev ddi.KMHandle, handles []ddi.KMHandle) ([]*allocation, bool) {
	if _, ok := k.take(t, v, dev); !ok {
		return nil, false
	}
	return k.named(dev, handles)
}

// named returns the allocations of handles. It reports false if one is not of the device.
func (k *Kernel) named(dev ddi.KMHandle, handles []ddi.KMHandle) ([]*allocation, bool) {
	d, ok := k.device(dev)
	if !ok {
		return nil, false
	}
	out := make([]*allocation, len(handles))
	for i, h := range handles {
		if out[i], ok = k.allocation(d, h); !ok {
			return nil, false
		}
	}
	return out, true
}

// destroyAllocationThunk destroys the allocations. If one is not of the device
// or is listed twice, it destroys none. Their locks end. The miniport is called
// when the GPU no longer uses an allocation.
func (k *Kernel) destroyAllocationThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Deallocate) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() && k.miniportGone() {
		return s
	}
	as, ok := k.resolve(t, &v, dev, arg.Allocations)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	seen := make(map[*allocation]bool, len(as))
	for _, a := range as {
		if seen[a] {
			return ddi.StatusInvalidHandle
		}
		seen[a] = true
	}
	for _, a := range as {
		k.retireAllocation(a)
	}
	k.reap(t)
	return ddi.StatusSuccess
}

func (k *Kernel) lockThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Lock) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	d, s := k.deviceThunk(t, &v, dev)
	if s.Failed() {
		return s
	}
	a, ok := k.allocation(d, arg.Allocation)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	return k.lockAllocation(t, a, arg)
}

// unlockThunk unlocks the allocations. If one is not locked as often as it is
// listed, it unlocks none and returns StatusInvalidParameter.
func (k *Kernel) unlockThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Unlock) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() && k.miniportGone() {
		return s
	}
	as, ok := k.resolve(t, &v, dev, arg.Allocations)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	for i, a := range as {
		n := 1
		for _, b := range as[:i] {
			if a == b {
				n++
			}
		}
		if n > a.locks {
			return ddi.StatusInvalidParameter
		}
	}
	s := ddi.StatusSuccess
	for _, a := range as {
		if u := k.unlockAllocation(t, a); u.Failed() {
			s = u
		}
	}
	return s
}

func (k *Kernel) renderThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.Render) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	c, s := k.submitter(t, &v, dev, arg.Context)
	if s.Failed() {
		return s
	}
	return k.render(t, c, arg)
}

func (k *Kernel) presentThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.PresentCB) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	c, s := k.submitter(t, &v, dev, arg.Context)
	if s.Failed() {
		return s
	}
	return k.present(t, c, arg)
}

// submitter starts a thunk that submits, and returns its context.
func (k *Kernel) submitter(t *ddi.Thread, v *visit, dev, ctx ddi.KMHandle) (*context, ddi.Status) {
	d, s := k.deviceThunk(t, v, dev)
	if s.Failed() {
		return nil, s
	}
	c, ok := k.context(d, ctx)
	if !ok {
		return nil, ddi.StatusInvalidHandle
	}
	return c, ddi.StatusSuccess
}

// waitForIdleThunk waits until all submitted work of a device has completed.
func (k *Kernel) waitForIdleThunk(t *ddi.Thread, dev ddi.KMHandle) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	d, s := k.deviceThunk(t, &v, dev)
	if s.Failed() {
		return s
	}
	s = k.wait(t, "all submissions of the device", d.idle)
	k.reap(t)
	if !s.Failed() {
		s = d.removed
	}
	return s
}

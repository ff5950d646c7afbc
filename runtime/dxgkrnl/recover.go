package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Recover restarts an adapter that was stopped by a fault, a time-out or a link
// failure. It does nothing if the adapter works. All submissions are dropped
// and the content of memory segments is lost. Existing devices remain removed
// and can only be destroyed, with their objects.
//
//	DDI     DxgkDdiResetFromTimeout, DxgkDdiBuildPagingBuffer of TRANSFER with
//	        0 bytes for each allocation in a memory segment and of
//	        UNMAP_APERTURE_SEGMENT for each in an aperture segment,
//	        DxgkDdiRestartFromTimeout
//	Caller  at PASSIVE_LEVEL
//	Effect  the link restarts if it is down, and the device is enumerated
//	        again, since it may have lost power; until that succeeds the
//	        miniport is not called. Host memory that the GPU may have used is
//	        freed after the reset
//	Returns the adapter's error, which remains, if the miniport broke a contract;
//	        StatusDeviceRemoved after Stop has begun; StatusNotSupported if the miniport
//	        has no DxgkDdiResetFromTimeout; else the error of hal.Device.Restore,
//	        or the miniport's status with the error of the first failed access.
//	        The adapter then remains stopped, and Recover may be called again
//
// The adapter recovers by itself when somebody next creates a device or asks for the adapter, and
// Recover is needed only if that fails: a board may have to be plugged in first.
//
// Design note: Windows resets as soon as it finds the adapter hung, and
// bugchecks (0x116) if that does not help.
func (k *Kernel) Recover(t *ddi.Thread) error {
	v := k.enter(t)
	defer k.leave(t, &v)
	if !k.closing && k.crashed == nil && k.status(t).Failed() {
		k.alone(t)
	}
	switch {
	case k.closing:
		return ddi.StatusDeviceRemoved
	case k.crashed != nil:
		return k.err
	}
	k.dev.Deliver(t)
	if !k.status(t).Failed() {
		return nil
	}
	if k.driver.ResetFromTimeout == nil {
		return fmt.Errorf("dxgkrnl: the miniport has no DxgkDdiResetFromTimeout: %w", ddi.StatusNotSupported)
	}
	return k.recover(t)
}

// recoverItself resets an adapter that has stopped, when somebody wants to use it again. Until
// then the state of the GPU can be looked at. If it fails, the adapter remains stopped, and only
// Recover tries again. Resets after a failed link do not count for the limit, since they say
// nothing about the GPU.
func (k *Kernel) recoverItself(t *ddi.Thread) {
	if !k.recovers() {
		return
	}
	k.alone(t)
	if !k.recovers() { // another thread has done it
		return
	}
	now := k.dev.Now()
	if k.tdrLimit > 0 && k.err.Kind != Link {
		if len(k.itself) == k.tdrLimit && now-k.itself[0] < k.tdrWindow {
			k.bugcheck("DxgkDdiResetFromTimeout", CodeTimeout, TimeoutLimit, "%d resets of the adapter in %d clocks, want at most %d in %d",
				k.tdrLimit+1, now-k.itself[0], k.tdrLimit, k.tdrWindow)
		}
		k.itself = append(k.itself, now)
		k.itself = k.itself[max(len(k.itself)-k.tdrLimit, 0):]
	}
	if err := k.recover(t); err != nil {
		failed := *k.err
		failed.Recovery = err
		k.err = &failed
	}
}

// recovers reports whether recoverItself has something to do.
func (k *Kernel) recovers() bool {
	return !k.closing && k.crashed == nil && !k.byHand && k.driver.ResetFromTimeout != nil &&
		k.err != nil && k.err.Kind != Broken
}

// recover performs the steps of a reset of the adapter.
func (k *Kernel) recover(t *ddi.Thread) error {
	k.byHand = true
	if err := k.dev.Restore(t); err != nil {
		return fmt.Errorf("dxgkrnl: recovery: %w", err)
	}
	k.access, k.running = nil, false
	k.resets++
	if err := k.resetStep(t, "DxgkDdiResetFromTimeout", k.driver.ResetFromTimeout); err != nil {
		return err
	}
	k.removeDevices()
	k.loseSegments(t)
	k.dropSubmissions()
	k.releaseHeld()
	if err := k.resetStep(t, "DxgkDdiRestartFromTimeout", k.driver.RestartFromTimeout); err != nil {
		return err
	}
	k.running, k.byHand, k.err = true, false, nil
	k.stats.Recoveries++
	k.observe(Event{Kind: EventRestart})
	return nil
}

// resetStep calls a function of the miniport that is a part of a reset of the adapter.
func (k *Kernel) resetStep(t *ddi.Thread, name string, call func(*ddi.Thread, kmddi.HAdapter) ddi.Status) error {
	began := k.dev.Now()
	s := call(t, k.adapter)
	k.checkDDI(name, began)
	if s.Failed() {
		return k.recoveryError(name, s)
	}
	return nil
}

// recoveryError returns the miniport's status with the access error that caused
// it.
func (k *Kernel) recoveryError(what string, s ddi.Status) error {
	if k.access != nil {
		return fmt.Errorf("dxgkrnl: %s: %w: %w", what, s, k.access)
	}
	return fmt.Errorf("dxgkrnl: %s: %w", what, s)
}

// removeDevices marks every device except the kernel's own as removed. Devices
// that were already removed keep their status.
func (k *Kernel) removeDevices() {
	for _, d := range k.devices {
		if d.handle != 0 && !d.removed.Failed() {
			d.removed, d.lost = k.err.status(), k.err
		}
	}
}

// loseSegments evicts all allocations from memory segments, whose content is
// lost, and from aperture segments, and notifies the miniport of each, as Windows does.
//
//	Source  learn.microsoft.com, DXGKARG_BUILDPAGINGBUFFER, TransferSize
func (k *Kernel) loseSegments(t *ddi.Thread) {
	buffer, private := make([]byte, k.paging.size), make([]byte, k.paging.private)
	for _, seg := range k.segments {
		for len(seg.residents) > 0 {
			a := seg.residents[0]
			op, what := k.lostPlace(a)
			op.Allocation, op.DmaBuffer, op.DmaBufferPrivateData = a.driver, buffer, private
			if _, s := k.driver.BuildPagingBuffer(t, k.adapter, op); s != ddi.StatusSuccess {
				k.bugcheck(buildPaging, CodeMemory, pagingCode(op.Operation, s), "%s after a reset returned %v, want STATUS_SUCCESS", what, s)
			}
			k.observe(Event{Kind: EventEvict, Allocation: a.handle, Segment: seg.id, Address: a.address()})
			seg.remove(a)
			a.dirty = false
		}
	}
}

// lostPlace returns the operation that tells the miniport of the end of a place after a reset,
// and its name.
func (k *Kernel) lostPlace(a *allocation) (op kmddi.BuildPagingBuffer, name string) {
	if a.inAperture() {
		op = k.apertureOp(a)
		op.Operation, op.DummyPage = kmddi.PagingUnmapApertureSegment, k.dummy.Phys
		return op, "UNMAP_APERTURE_SEGMENT"
	}
	return kmddi.BuildPagingBuffer{
		Operation: kmddi.PagingTransfer, Destination: a.host(),
		Source: kmddi.PagingLocation{SegmentID: a.segment.id, Address: a.address()},
	}, "TRANSFER of 0 bytes"
}

// dropSubmissions empties the queues. The fences of all submissions count as
// completed, so that nothing waits for them. No paging buffer is open between
// two thunks.
func (k *Kernel) dropSubmissions() {
	for i := range k.nodes {
		n := &k.nodes[i]
		n.base, n.preemption, n.preempted = n.submitted, 0, false
		n.faulted, n.masked, n.reset, n.noted = nil, false, false, nil
		n.reported, n.completed = n.submitted, n.submitted
		for _, s := range n.hardware {
			l := s.line // that of a context that was destroyed, too
			l.submitted, l.completed = l.made, l.made
			k.recycle(s)
		}
		for _, s := range n.waiting {
			k.recycle(s)
		}
		n.hardware, n.waiting = nil, nil
	}
	k.cancelRest() // without calls of the miniport
	k.paging.waits = k.paging.waits[:0]
	l := &k.paging.line
	l.submitted, l.completed = l.made, l.made
	for _, d := range k.devices {
		for _, c := range d.contexts {
			k.dropWork(c)
			c.line.submitted, c.line.completed = c.line.made, c.line.made
		}
	}
}

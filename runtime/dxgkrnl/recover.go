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
//	        StatusDeviceRemoved after Stop; StatusNotSupported if the miniport
//	        has no DxgkDdiResetFromTimeout; else the error of hal.Device.Restore,
//	        or the miniport's status with the error of the first failed access.
//	        The adapter then remains stopped, and Recover may be called again
//
// Design note: Windows resets as soon as it finds the adapter hung, and
// bugchecks (0x116) if that does not help. Here a board may have to be plugged
// in first, so the caller decides when to recover.
func (k *Kernel) Recover(t *ddi.Thread) error {
	v := k.enter(t)
	defer k.leave(t, &v)
	if !k.closing && k.crashed == nil && k.status(t).Failed() {
		k.alone(t)
	}
	switch {
	case k.stopped:
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
	if err := k.recover(t); err != nil {
		return err
	}
	k.err, k.faulted = nil, nil
	k.stats.Recoveries++
	return nil
}

// recover performs the steps of Recover.
func (k *Kernel) recover(t *ddi.Thread) error {
	if err := k.dev.Restore(t); err != nil {
		return fmt.Errorf("dxgkrnl: recovery: %w", err)
	}
	k.access, k.running = nil, false
	k.resets++
	if s := k.driver.ResetFromTimeout(t, k.adapter); s.Failed() {
		return k.recoveryError("DxgkDdiResetFromTimeout", s)
	}
	k.removeDevices()
	k.loseSegments(t)
	k.dropSubmissions()
	k.releaseHeld()
	if s := k.driver.RestartFromTimeout(t, k.adapter); s.Failed() {
		return k.recoveryError("DxgkDdiRestartFromTimeout", s)
	}
	k.running = true
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
			d.removed = k.err.status()
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
				k.bugcheck(buildPaging, CodeMemory, MemoryPaging, "%s after a reset returned %v, want STATUS_SUCCESS", what, s)
			}
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

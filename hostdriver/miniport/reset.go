package miniport

import (
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// resetFromTimeout stops the nodes and expects no interrupts afterwards.
// Submitted work is lost. The device may have lost power and be in its reset
// state, may have continued as if nothing had happened, or may be a different
// one, which is not touched. If a node does not leave its reset, because it waits
// for the host or ignores it, the whole device is reset.
//
//	DDI     DxgkDdiResetFromTimeout, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, alone, with a working link
//	Effect  on a failure bus mastering is disabled, so that the device cannot
//	        access memory
//	Returns StatusSuccess
//	        StatusRevisionMismatch: another major version or register map
//	        StatusNoSuchDevice: another device
//	        StatusDeviceConfiguration: capabilities that differ from those at
//	        StartDevice
//	        StatusIOTimeout: neither a node nor the device leaves its reset
//	        StatusInvalidHandle: a handle without a started adapter
//	        the status of a failed callback
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_resetfromtimeout
func resetFromTimeout(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || a.cb == nil {
		return ddi.StatusInvalidHandle
	}
	a.running = false
	s := a.identifyAgain(t)
	if s == ddi.StatusSuccess {
		if s = a.quiesce(t); s == ddi.StatusIOTimeout {
			s = a.resetDevice(t)
		}
	}
	if s != ddi.StatusSuccess {
		a.setMastering(t, 0) // if the link fails, the device cannot access memory either
	}
	return s
}

// restartFromTimeout lets the nodes accept submissions again, with empty rings.
//
//	DDI     DxgkDdiRestartFromTimeout, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, alone, after ResetFromTimeout
//	Effect  the device is reset, since another host may have used it; the
//	        firmware is loaded again; no page of the aperture is mapped; the fence words are 0, and the first fence of each node may be any
//	Returns StatusSuccess after the device has answered a final read
//	        StatusIOTimeout: the device or a node does not leave reset, or
//	        ignores it; the host has not yet answered a read from before the
//	        reset, and the device has no time-out of reads
//	        StatusDeviceNotReady: as StartDevice
//	        StatusInvalidHandle: a handle without a started adapter
//	        StatusInvalidParameter: without ResetFromTimeout
//	        the status of a failed callback
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_restartfromtimeout
func restartFromTimeout(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || a.cb == nil {
		return ddi.StatusInvalidHandle
	}
	if a.running {
		return ddi.StatusInvalidParameter
	}
	clear(a.fences.Bytes)
	for _, step := range [...]func(*ddi.Thread) ddi.Status{
		a.resetDevice, a.awaitReads, a.limitReads, a.enableMastering, a.startRings, a.dropQueues, a.startFirmware, a.startQueues, a.startAperture, a.enableInterrupts, a.flush,
	} {
		if s := step(t); s != ddi.StatusSuccess {
			a.running = false
			return s
		}
	}
	return ddi.StatusSuccess
}

// awaitReads waits until the host has answered the reads from before a reset. A device
// without a time-out of reads has no other tag for a node's next read. It is called
// after a reset only, when nothing is being read.
func (a *adapter) awaitReads(t *ddi.Thread) ddi.Status {
	if a.caps.limits {
		return ddi.StatusSuccess
	}
	for range resetPolls {
		v, s := a.cb.ReadDeviceSpace(t, a.cb.DeviceHandle, pcicfg.DevCtl)
		if s != ddi.StatusSuccess || v&pcicfg.DevStaPending == 0 {
			return s
		}
	}
	return ddi.StatusIOTimeout
}

// identifyAgain checks that the device is the one that StartDevice found.
func (a *adapter) identifyAgain(t *ddi.Thread) ddi.Status {
	was := a.caps
	s := a.identify(t)
	if s == ddi.StatusSuccess && a.caps != was {
		s = ddi.StatusDeviceConfiguration
	}
	a.caps = was
	return s
}

// flush waits until the device has received all earlier writes of registers, and the host what the device
// has written before.
func (a *adapter) flush(t *ddi.Thread) ddi.Status {
	_, s := a.regs.ReadRegister(t, intcreg.Base+intcreg.Mask)
	return s
}

package miniport

import (
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// resetFromTimeout stops the nodes and expects no interrupts from then on. What
// was submitted is lost. The device may have lost power and be as after reset,
// have gone on as if nothing had happened, or be another one, which is left alone.
//
//	DDI     DxgkDdiResetFromTimeout, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, alone, with a link that works
//	Effect  on a failure the device loses the right to master the bus, so that
//	        it accesses no memory
//	Returns StatusSuccess
//	        StatusRevisionMismatch: another major version or register map
//	        StatusNoSuchDevice: another device
//	        StatusDeviceConfiguration: other capabilities
//	        than those of StartDevice
//	        StatusIOTimeout: a node does not come out of reset
//	        StatusInvalidHandle: a handle without a started adapter
//	        whatever a callback failed with
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_resetfromtimeout
func resetFromTimeout(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || a.cb == nil {
		return ddi.StatusInvalidHandle
	}
	a.running = false
	s := a.identifyAgain(t)
	if s == ddi.StatusSuccess {
		s = a.quiesce(t)
	}
	if s != ddi.StatusSuccess {
		a.setMastering(t, 0) // if the link fails here too, the device has no way to memory
	}
	return s
}

// restartFromTimeout lets the nodes take submissions again, with empty rings.
//
//	DDI     DxgkDdiRestartFromTimeout, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, alone, after ResetFromTimeout
//	Effect  the device is reset, for another host may have used it since, the
//	        fence words are 0, and the first fence of each node may be any
//	Returns StatusSuccess, and then the device has answered behind all of it
//	        StatusIOTimeout: the device or a node does not come out of reset
//	        StatusInvalidHandle: a handle without a started adapter
//	        StatusInvalidParameter: without ResetFromTimeout
//	        whatever a callback failed with
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
		a.resetDevice, a.enableMastering, a.startRings, a.enableInterrupts, a.flush,
	} {
		if s := step(t); s != ddi.StatusSuccess {
			a.running = false
			return s
		}
	}
	return ddi.StatusSuccess
}

// identifyAgain checks that the device is what StartDevice found.
func (a *adapter) identifyAgain(t *ddi.Thread) ddi.Status {
	was := a.caps
	s := a.identify(t)
	if s == ddi.StatusSuccess && a.caps != was {
		s = ddi.StatusDeviceConfiguration
	}
	a.caps = was
	return s
}

// flush waits until the device has taken the writes so far.
func (a *adapter) flush(t *ddi.Thread) ddi.Status {
	_, s := a.regs.ReadRegister(t, intcreg.Base+intcreg.Mask)
	return s
}

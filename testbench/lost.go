package testbench

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// WaitForIdle waits until all submitted work of all devices is done. If the GPU has
// stopped, it returns the error of Err.
func (s *System) WaitForIdle() error {
	return s.guard(func() error { return s.kernel.WaitForIdle(s.thread) })
}

// Err returns why the system stopped: nil, a *verifier.Violation, or a
// *dxgkrnl.DeviceError.
func (s *System) Err() error {
	if s.monitor.Stopped() {
		return s.monitor.Err()
	}
	return s.kernel.Err()
}

// Recover restarts the GPU after it stopped, and its link if that was down; while
// the GPU works it does nothing. The kernel does it by itself, when somebody next creates
// a device or asks for the adapter; if that fails, only Recover tries again. Earlier Direct3D devices stay removed and can be closed; new ones work as
// after Open. Recover fails with the cause while the board does not answer or is
// another one than before, and may be called again; dxgkrnl.Kernel.Recover lists the
// other errors. After a *verifier.Violation nothing recovers.
func (s *System) Recover() error {
	return s.guard(func() error { return s.kernel.Recover(s.thread) })
}

// Lost returns why the GPU lost a device, as Err does for the system.
func (s *System) Lost(device ddi.KMHandle) error {
	if s.monitor.Stopped() {
		return s.monitor.Err()
	}
	return s.kernel.Lost(device)
}

// WithoutNodeRecovery returns drivers with a miniport that claims neither preemption nor the reset
// of a node. A fault or a time-out then stops the adapter, and all devices are lost.
func (d Drivers) WithoutNodeRecovery() Drivers {
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		query := table.QueryAdapterInfo
		table.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
			out, s := query(t, h, arg)
			c := &out.DriverCaps
			c.PreemptionAware, c.CancelCommandAware, c.SupportPerEngineTDR = false, false, false
			return out, s
		}
		return table
	}
	return d
}

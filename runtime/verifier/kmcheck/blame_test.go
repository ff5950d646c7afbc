package kmcheck

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// holds starts and ends a device. StartDevice gets two pages of memory, and
// StopDevice runs code.
func holds(stop func(r *rig, t *ddi.Thread, first kmddi.ContiguousMemory)) func(r *rig) {
	return func(r *rig) {
		var memory kmddi.ContiguousMemory
		r.on["StartDevice"] = func(t *ddi.Thread) {
			memory, _ = r.cb.AllocateContiguousMemory(t, r.h, 64)
			r.cb.AllocateContiguousMemory(t, r.h, 64)
		}
		r.on["StopDevice"] = func(t *ddi.Thread) { stop(r, t, memory) }
		r.begin()
		r.end()
	}
}

// starts makes StartDevice run code and fail with a status.
func starts(s ddi.Status, code func(r *rig, t *ddi.Thread)) func(r *rig) {
	return func(r *rig) {
		r.status["StartDevice"] = s
		r.on["StartDevice"] = func(t *ddi.Thread) { code(r, t) }
		r.begin()
		r.funcs.RemoveDevice(r.th, r.adapter)
	}
}

// kernelFinds reports a violation as the graphics kernel does.
func (r *rig) kernelFinds(broken, function string) {
	r.m.Report(verifier.Report{Rule: broken, Thread: r.th, Func: &verifier.Func{Name: function}})
}

// interrupts reports an unknown fence. The device has written it before, or not.
func interrupts(written bool) func(r *rig) {
	return func(r *rig) {
		at := r.allocates()
		r.submit(0, 7, 4)
		if written {
			r.k.DeviceWrote(at, binary.LittleEndian.AppendUint32(nil, 9))
		}
		r.interrupt(func(t *ddi.Thread) {
			r.notify(t, 0, 9)
			r.kernelFinds("fence-reported", "DxgkCbNotifyInterrupt")
		})
	}
}

// A violation names the call that made the mistake if it is another one, and no call
// if that is not known.
func TestCulprits(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		breaks     func(r *rig)
		want       string
	}{
		{"StopDevice that does nothing", "memory-leak", holds(func(*rig, *ddi.Thread, kmddi.ContiguousMemory) {}),
			"DxgkDdiStopDevice (call #5, 1 call ago), which made no callback"},
		{"no memory is freed", "memory-leak", holds(func(r *rig, t *ddi.Thread, _ kmddi.ContiguousMemory) { r.cb.GetDeviceInformation(t, r.h) }),
			"MmFreeContiguousMemory, which is missing in DxgkDdiStopDevice"},
		{"some memory is freed", "memory-leak", holds(func(r *rig, t *ddi.Thread, m kmddi.ContiguousMemory) { r.cb.FreeContiguousMemory(t, r.h, m) }),
			"MmAllocateContiguousMemory (call #4, 3 calls ago), which gave it, and the driver has freed what other calls gave"},
		{"a start that fails and keeps memory", "memory-leak", starts(ddi.StatusUnsuccessful, func(r *rig, t *ddi.Thread) { r.cb.AllocateContiguousMemory(t, r.h, 64) }),
			"DxgkDdiStartDevice (call #2, 2 calls ago), which returned STATUS_UNSUCCESSFUL"},
		{"a callback that failed", "call-failed", starts(ddi.StatusInvalidParameter, func(r *rig, t *ddi.Thread) {
			r.status["MapMemory"] = ddi.StatusInvalidParameter
			r.cb.MapMemory(t, r.h, 9, 0, 4)
		}), "DxgkCbMapMemory (call #3, 1 call ago), which returned STATUS_INVALID_PARAMETER"},
		{"a device that was told nothing", "call-failed", starts(ddi.StatusUnsuccessful, func(r *rig, t *ddi.Thread) { r.read(t, 4); r.read(t, 4) }),
			"WRITE_REGISTER_ULONG, which is missing in DxgkDdiStartDevice"},
		{"a device that does not react", "call-failed", starts(ddi.StatusUnsuccessful, func(r *rig, t *ddi.Thread) {
			r.cb.WriteRegister(t, r.h, kmddi.HMapping{System: 1}, 4, 1)
			r.read(t, 4)
		}), "WRITE_REGISTER_ULONG (call #3, 2 calls ago), which was the last to tell the device anything"},
		{"one read tells nothing", "call-failed", starts(ddi.StatusUnsuccessful, func(r *rig, t *ddi.Thread) { r.read(t, 4) }), ""},
		{"memory of a wrong size", "call-failed", starts(ddi.StatusInsufficientResources, func(r *rig, t *ddi.Thread) {
			m, _ := r.cb.AllocateContiguousMemory(t, r.h, 64)
			defer r.cb.FreeContiguousMemory(t, r.h, m)
		}), "MmAllocateContiguousMemory (call #3, 2 calls ago), argument size, which is of the memory that the function got last"},
		{"a device that is not looked at", "call-failed", starts(ddi.StatusNoSuchDevice, func(*rig, *ddi.Thread) {}),
			"DxgkCbGetDeviceInformation, which is missing in DxgkDdiStartDevice"},
		{"registers that are not read", "call-failed", starts(ddi.StatusNoSuchDevice, func(r *rig, t *ddi.Thread) {
			r.cb.GetDeviceInformation(t, r.h)
			m, _ := r.cb.MapMemory(t, r.h, 0, 0, 4)
			r.cb.UnmapMemory(t, r.h, m)
		}), "READ_REGISTER_ULONG, which is missing in DxgkDdiStartDevice"},
		{"a context without an object", "handle-refused", func(r *rig) {
			r.begin()
			d := r.device()
			r.unset, r.status["DestroyContext"] = true, ddi.StatusInvalidHandle
			r.funcs.DestroyContext(r.th, r.context(d))
		}, "DxgkDdiCreateContext (call #4, 1 call ago), which did not set Driver of context 3"},
		{"a fence of the device", "fence-reported", interrupts(true),
			"DxgkDdiSubmitCommand (call #4, 2 calls ago), which was the last to give the GPU a fence: the one reported came from the device"},
		{"a fence of the driver", "fence-reported", interrupts(false), ""},
		{"no DPC", "interrupt-dpc", func(r *rig) {
			r.begin()
			r.interrupt(nil)
			r.kernelFinds("interrupt-dpc", interruptRoutine)
		}, "DxgkCbQueueDpc, which is missing in DxgkDdiInterruptRoutine"},
		{"a DPC before the fence", "interrupt-dpc", func(r *rig) {
			r.begin()
			r.interrupt(func(t *ddi.Thread) {
				r.cb.QueueDpc(t, r.h)
				r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{})
			})
			r.kernelFinds("interrupt-dpc", interruptRoutine)
		}, "DxgkCbNotifyInterrupt (call #5), which was made after DxgkCbQueueDpc"},
		{"no other memory", "callback-handle", func(r *rig) { r.begin(); r.kernelFinds("callback-handle", "MmFreeContiguousMemory") },
			"MmAllocateContiguousMemory, which has given no memory"},
		{"a handle of another adapter", "callback-handle", func(r *rig) { r.begin(); r.kernelFinds("callback-handle", "DxgkCbQueueDpc") }, ""},
		{"a fault", "gpu-fault", func(r *rig) {
			r.begin()
			r.submit(0, 5, 4)
			r.interrupt(func(t *ddi.Thread) {
				r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAFaulted, FenceID: 5})
				r.cb.QueueDpc(t, r.h)
			})
			r.kernelFinds("gpu-fault", "DxgkDdiSubmitCommand")
		}, "DxgkDdiRender, which wrote the buffer of fence 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			tt.breaks(r)
			var first *verifier.Violation
			if all := r.m.Violations(); len(all) > 0 {
				first = all[0]
			} else if found := r.m.Findings(); len(found) > 0 {
				first = found[0].Violation
			}
			require.NotNil(t, first)
			require.Equal(t, tt.rule, first.Rule.Name, first.Error())
			got := ""
			if first.Culprit != nil {
				got = first.Culprit.String()
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

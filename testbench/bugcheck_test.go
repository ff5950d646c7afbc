package testbench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// serialOnly is the user-mode driver without the free-threaded capability.
func serialOnly(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	hr := umd.OpenAdapter(t, arg)
	arg.Funcs.GetCaps = func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) { return 0, ddi.OK }
	return hr
}

// A miniport that breaks its contract stops the system: the run fails with the
// violation, later calls fail at once, the system can be closed, and the trace
// shows the call.
func TestBugcheckStopsTheSystem(t *testing.T) {
	for _, tt := range []struct {
		name   string
		user   umddi.OpenAdapterFunc
		breaks func(d *kmddi.DriverInitializationData)
		code   uint32
	}{
		{"SubmitCommand fails", umd.OpenAdapter, func(d *kmddi.DriverInitializationData) {
			d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusInvalidParameter }
		}, dxgkrnl.CodeScheduler},
		{"SubmitCommand fails, serialized", serialOnly, func(d *kmddi.DriverInitializationData) {
			d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusInvalidParameter }
		}, dxgkrnl.CodeScheduler},
		{"DPC without NotifyDpc", umd.OpenAdapter, func(d *kmddi.DriverInitializationData) {
			d.DpcRoutine = func(*ddi.Thread, kmddi.HAdapter) {}
		}, dxgkrnl.CodeVerifier},
		{"BuildPagingBuffer fails", serialOnly, func(d *kmddi.DriverInitializationData) {
			d.BuildPagingBuffer = func(*ddi.Thread, kmddi.HAdapter, kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
				return kmddi.BuildPagingBufferOut{}, ddi.StatusNoMemory
			}
		}, dxgkrnl.CodeMemory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var trace bytes.Buffer
			entry := HostDrivers().KernelMode
			s, err := Open("emu?vram=64KiB", Drivers{UserMode: tt.user, KernelMode: func() kmddi.DriverInitializationData {
				d := entry()
				tt.breaks(&d)
				return d
			}}, Options{DDI: &trace})
			require.NoError(t, err)
			_, err = compose.Run(s, smallPlan(t, 1))
			var broken *verifier.Violation
			require.ErrorAs(t, err, &broken)
			assert.Equal(t, err, s.Err())
			assert.Equal(t, tt.code, broken.Rule.Code)
			assert.Contains(t, broken.Details(), "kernel: node 0")
			_, _, err = s.CreateDevice()
			assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
			assert.ErrorIs(t, err, broken, "the cause")
			assert.Equal(t, s.Err(), s.WaitForIdle())
			assert.Equal(t, s.Err(), s.Close())
			assert.Less(t, strings.Count(trace.String(), `"at":"leave"`), strings.Count(trace.String(), `"at":"enter"`), "calls that unwound have no leave line")
		})
	}
}

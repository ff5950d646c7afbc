package testbench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// serialOnly is the user-mode driver without the free-threaded capability.
func serialOnly(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	hr := umd.OpenAdapter(t, arg)
	arg.Funcs.GetCaps = func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) { return 0, ddi.OK }
	return hr
}

// A miniport that breaks its contract ends the program with a Bugcheck that unwinds
// to the caller: no call hangs, the system can be closed, and the trace shows the
// call.
func TestBugcheckUnwinds(t *testing.T) {
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
			plan := smallPlan(t, 1)
			done := make(chan any, 1)
			go func() {
				defer func() { done <- recover() }()
				_, err := compose.Run(s, plan)
				assert.NoError(t, err)
			}()
			select {
			case r := <-done:
				b, ok := r.(*dxgkrnl.Bugcheck)
				require.True(t, ok, "%v", r)
				assert.Equal(t, tt.code, b.Code)
			case <-time.After(20 * time.Second):
				t.Fatal("hangs")
			}
			var stopped *dxgkrnl.DeviceError
			require.ErrorAs(t, s.Err(), &stopped)
			assert.Equal(t, dxgkrnl.Broken, stopped.Kind)
			require.NoError(t, s.Close())
			assert.Less(t, strings.Count(trace.String(), `"at":"leave"`), strings.Count(trace.String(), `"at":"enter"`), "calls that unwound have no leave line")
		})
	}
}

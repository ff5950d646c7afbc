package testbench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// interfered returns a miniport that sees the callbacks through change.
func interfered(change func(cb *kmddi.DxgkrnlInterface)) kmddi.DriverEntry {
	entry := HostDrivers().KernelMode
	return func() kmddi.DriverInitializationData {
		d := entry()
		start := d.StartDevice
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			mine := *cb
			change(&mine)
			return start(t, h, info, &mine)
		}
		return d
	}
}

// A miniport that breaks its contract stops the system with the rule and the call
// that broke it.
func TestMiniportRules(t *testing.T) {
	for _, tt := range []struct {
		rule, function string
		seed           uint64
		change         func(cb *kmddi.DxgkrnlInterface)
	}{
		{"fence-twice", "DxgkCbNotifyInterrupt", 1, func(cb *kmddi.DxgkrnlInterface) {
			notify := cb.NotifyInterrupt
			cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
				notify(t, h, arg)
				notify(t, h, arg)
			}
		}},
		{"fence-reported", "DxgkCbNotifyInterrupt", 2, func(cb *kmddi.DxgkrnlInterface) { // the wrong node
			notify := cb.NotifyInterrupt
			cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
				arg.NodeOrdinal ^= 1
				notify(t, h, arg)
			}
		}},
		{"memory-leak", "DxgkDdiRemoveDevice", 1, func(cb *kmddi.DxgkrnlInterface) {
			cb.FreeContiguousMemory = func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.ContiguousMemory) {}
		}},
		{"interrupt-callback", "MmAllocateContiguousMemory", 1, func(cb *kmddi.DxgkrnlInterface) {
			notify := cb.NotifyInterrupt
			cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
				cb.AllocateContiguousMemory(t, h, 4)
				notify(t, h, arg)
			}
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s, err := Open("emu?vram=64KiB", Drivers{UserMode: umd.OpenAdapter, KernelMode: interfered(tt.change)}, Options{Seed: tt.seed, Record: eventstest.Record(t)})
			require.NoError(t, err)
			_, err = compose.Run(s, smallPlan(t, 1))
			if err == nil {
				err = s.Close()
			}
			var broken *verifier.Violation
			require.ErrorAs(t, err, &broken)
			assert.Equal(t, tt.rule, broken.Rule.Name, "%v", broken)
			assert.Equal(t, tt.function, broken.Function)
			assert.Equal(t, s.Err(), s.Close())
		})
	}
}

// Fences wrap around in systems with an odd seed, and the nodes have different
// fences in those with an even one.
func TestFences(t *testing.T) {
	for seed := range uint64(50) {
		first, step := fences(seed)
		switch {
		case seed == 0:
			assert.Zero(t, first)
		case seed%2 == 1:
			assert.Less(t, -first, uint32(16))
			assert.Less(t, -(first + step), uint32(32))
		default:
			assert.Less(t, first, uint32(2000))
			assert.Greater(t, step, uint32(1<<20))
		}
	}
	var trace strings.Builder
	s, err := Open("emu?vram=64KiB", HostDrivers(), Options{Seed: 1, DDI: &trace, Record: eventstest.Record(t)})
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 1))
	require.NoError(t, s.Close())
	for _, fence := range []string{"4294967295", "0"} {
		assert.True(t, strings.Contains(trace.String(), `"SubmissionFenceID":`+fence+","), fence)
	}
	assert.Empty(t, s.Findings())
}

package testbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// hang stops node 0 without the knowledge of the drivers, and returns the time-out of the
// kernel that this causes.
func hang(t *testing.T, s *System) error {
	t.Helper()
	require.NoError(t, s.device.Write32(s.thread, 0, cpreg.Base+cpreg.Ctl, 0))
	_, err := compose.Run(s, smallPlan(t, 1))
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped)
	require.Equal(t, dxgkrnl.Timeout, stopped.Kind)
	return err
}

// Resets of the three stages of a recovery after the three resets of StartDevice: of node 0,
// node 1 and the device. While one of them has an effect, the recovery succeeds. If the device
// ignores all three, the recovery fails in bounded time, the device cannot access memory, and
// the next recovery may succeed.
func TestIgnoredResets(t *testing.T) {
	for count, recovers := range map[int]bool{1: true, 2: true, 3: false} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			s, err := Open(fmt.Sprintf("emu?vram=64KiB&fault=ignore-reset&after=3&count=%d", count), HostDrivers().WithoutNodeRecovery(), Options{Record: eventstest.Record(t)})
			require.NoError(t, err)
			composes(t, s, smallPlan(t, 0))
			hung := hang(t, s)
			began := s.clock.Now()
			err = s.Recover()
			assert.Less(t, s.clock.Now()-began, s.clock.Hz())
			if !recovers {
				assert.ErrorIs(t, err, ddi.StatusIOTimeout)
				assert.ErrorContains(t, err, "DxgkDdiResetFromTimeout")
				assert.Equal(t, hung, s.Err(), "the first cause stays")
				command, err := s.link.ReadConfig(pcicfg.Command)
				require.NoError(t, err)
				assert.Zero(t, command&pcicfg.CommandBusMaster)
				_, _, err = s.CreateDevice()
				assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
			}
			if !recovers {
				err = s.Recover()
			}
			require.NoError(t, err)
			require.NoError(t, s.Err())
			composes(t, s, smallPlan(t, 1))
			assert.Contains(t, s.link.(boards.Counters).Counters(), boards.Counter{Name: "harmed", Value: uint64(count)})
			require.NoError(t, s.Close())
		})
	}
}

// Where reads of host memory have no time-out, a read that the host does not answer is a
// time-out of the kernel. The node waits for the answer in its reset, so the device is reset.
// The recovery fails in bounded time until the answer arrives, if it ever does.
func TestRecoverFromLostAnswersWithoutTimeout(t *testing.T) {
	for fault, answered := range map[string]bool{"late-answer": true, "lost-answer": false} {
		t.Run(fault, func(t *testing.T) {
			s, err := Open("emu?config=small&after=5&count=1&fault="+fault, HostDrivers(), Options{TdrDelay: inproc.LateClocks / 8, Record: eventstest.Record(t)})
			require.NoError(t, err)
			_, err = compose.Run(s, tinyPlan(t, 1))
			var stopped *dxgkrnl.DeviceError
			require.ErrorAs(t, err, &stopped)
			require.Equal(t, dxgkrnl.Timeout, stopped.Kind)
			began := s.clock.Now()
			err = s.Recover()
			assert.ErrorIs(t, err, ddi.StatusIOTimeout)
			assert.ErrorContains(t, err, "DxgkDdiRestartFromTimeout", "ResetFromTimeout has stopped the node")
			assert.Less(t, s.clock.Now()-began, uint64(inproc.LateClocks/8))
			for end := began + 2*inproc.LateClocks; s.clock.Now() < end; {
				_, err := s.clock.Wait(end)
				require.NoError(t, err)
			}
			if err := s.Recover(); answered {
				require.NoError(t, err)
				composes(t, s, tinyPlan(t, 2))
			} else {
				assert.ErrorIs(t, err, ddi.StatusIOTimeout)
			}
			require.NoError(t, s.Close())
		})
	}
}

// A device that ignores the reset of StartDevice does not start: it may be in any state.
func TestIgnoredResetAtStart(t *testing.T) {
	for _, selector := range []string{"emu?fault=ignore-reset", "emu?fault=ignore-reset&count=1&dirty=3", "line?config=small&fault=ignore-reset"} {
		_, err := Open(selector, HostDrivers(), Options{})
		assert.ErrorIs(t, err, ErrDevice, selector)
		assert.ErrorIs(t, err, ddi.StatusIOTimeout, selector)
	}
}

// A device that never obeys again makes each recovery fail with the same cause.
func TestResetsIgnoredForever(t *testing.T) {
	s, err := Open("emu?vram=64KiB&fault=ignore-reset&after=3", HostDrivers().WithoutNodeRecovery(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	hung := hang(t, s)
	began := s.clock.Now()
	for range 3 {
		assert.ErrorIs(t, s.Recover(), ddi.StatusIOTimeout)
		assert.Equal(t, hung, s.Err())
	}
	assert.Less(t, s.clock.Now()-began, s.clock.Hz())
	require.NoError(t, s.Close())
}

package testbench

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// inQueues returns the options of queues whose turns end after 2,000 clocks.
func inQueues(t *testing.T) Options {
	return Options{Queues: Queues{Use: true, Quantum: 2000, Preempt: true}, Record: eventstest.Record(t)}
}

// A packet that does not exist stops the queue of its context. The kernel gets the fence and the fault record
// of the firmware, and after a recovery the next frame is right.
func TestFaultInAQueue(t *testing.T) {
	broken := false
	drivers := withKernel(func(d *kmddi.DriverInitializationData) {
		patch := d.Patch
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			s := patch(t, h, arg)
			if broken {
				binary.LittleEndian.PutUint32(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], 0x7f000000)
			}
			return s
		}
	})
	s, err := Open("emu?config=full", drivers, inQueues(t))
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 0))
	broken = true
	_, err = compose.Run(s, smallPlan(t, 1))
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped)
	assert.Equal(t, dxgkrnl.Fault, stopped.Kind)
	assert.EqualValues(t, 0, stopped.Node)
	assert.Contains(t, stopped.Dump, "CP0: the work has failed: miniport: node stopped: CP0: queue 2: OPCODE")
	assert.Contains(t, stopped.Dump, "FAULT_OP 0x7f000000")
	broken = false
	require.NoError(t, s.Recover())
	composes(t, s, smallPlan(t, 2))
	require.NoError(t, s.Close())
}

// A firmware that stops is a time-out of the GPU. The recovery loads it again.
func TestFirmwareStopsInQueues(t *testing.T) {
	tooltest.Long(t)
	var stop func(t *ddi.Thread)
	drivers := withKernel(func(d *kmddi.DriverInitializationData) {
		patch := d.Patch
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			if stop != nil {
				stop(t)
			}
			return patch(t, h, arg)
		}
	})
	s, err := Open("emu?config=full", drivers, inQueues(t))
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 0))
	stop = func(th *ddi.Thread) {
		stop = nil
		assert.NoError(t, s.device.Write32(th, 0, mcureg.Base+mcureg.Ctl, 0))
	}
	_, err = compose.Run(s, smallPlan(t, 1))
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped)
	assert.Equal(t, dxgkrnl.Timeout, stopped.Kind)
	require.NoError(t, s.Recover())
	composes(t, s, smallPlan(t, 2))
	require.NoError(t, s.Close())
}

// Without the firmware the work of a new device is a time-out, so a recovery loads it again.
func TestFirmwareIsGone(t *testing.T) {
	tooltest.Long(t)
	s, err := Open("emu?config=full", HostDrivers(), inQueues(t))
	require.NoError(t, err)
	require.NoError(t, s.device.Write32(s.thread, 0, mcureg.Base+mcureg.Ctl, 0))
	_, err = compose.Run(s, smallPlan(t, 0))
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped)
	assert.Equal(t, dxgkrnl.Timeout, stopped.Kind)
	assert.Contains(t, stopped.Dump, "miniport: messages to the firmware fail: message: no answer")
	require.NoError(t, s.Recover())
	composes(t, s, smallPlan(t, 1))
	require.NoError(t, s.Close())
}

// A firmware that hangs while nothing is submitted is loaded again, and applications do not notice it.
func TestFirmwareHangsBetweenFrames(t *testing.T) {
	tooltest.Long(t)
	o, hangs := inQueues(t), 0
	o.Observer.Core = func([]byte) { hangs++ }
	s, err := Open("emu?config=full", HostDrivers(), o)
	require.NoError(t, err)
	dev, _, err := s.CreateDevice()
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 0))
	require.NoError(t, s.device.Write32(s.thread, 0, mcureg.Base+mcureg.Limit, 1))
	require.NoError(t, s.device.Write32(s.thread, 0, mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
	composes(t, s, smallPlan(t, 1))
	assert.Equal(t, 1, hangs)
	dev.Close()
	require.NoError(t, s.Close())
}

// Interrupts that are lost cost time, and nothing else.
func TestLostInterruptInQueues(t *testing.T) {
	s, err := Open("emu?config=full&fault=lost-interrupt&after=4&count=12", HostDrivers(), inQueues(t))
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 0))
	assert.Positive(t, s.Stats().Lost)
	composes(t, s, smallPlan(t, 1))
	require.NoError(t, s.Close())
}

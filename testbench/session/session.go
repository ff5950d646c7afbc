// Package session runs the driver stack from start to end: on a board, or on a
// device at its ports, such as the GPU in lockstep with its Verilog, the Verilog
// alone, or a recorder.
package session

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// ErrFailed is wrapped by the error of a session that does not end or composes a
// wrong frame.
var ErrFailed = errors.New("session: failed")

// Lockstep is Compose on dev at the clock of its configuration, without skipping
// idle clocks. It fails with the first divergence or with ErrFailed.
func Lockstep(dev *lockstep.Device, plan *compose.Plan) error {
	if err := Compose(dev, uint64(dev.Config().ClockHz), plan); err != nil {
		return err
	}
	return dev.Err()
}

// Compose runs the driver stack on dev from the start of the kernel to its end: it
// composes plan and checks the frame. hz is the frequency of the device's clock. It
// fails with ErrFailed.
func Compose(dev port.Device, hz uint64, plan *compose.Plan) error {
	s := &system{thread: new(ddi.Thread)}
	if err := s.start(dev, hz); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	frame, err := compose.Run(s, plan)
	if err == nil {
		err = s.kernel.Stop(s.thread)
	}
	if err == nil {
		err = s.device.Detach(s.thread)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	if at, n := compose.Diff(frame, plan.Reference()); n > 0 {
		return fmt.Errorf("%w: %d pixels differ, the first at %v", ErrFailed, n, at)
	}
	return nil
}

// system is the driver stack on a device.
type system struct {
	thread *ddi.Thread
	device *hal.Device
	kernel *dxgkrnl.Kernel
}

// start connects the device to a PC and starts the kernel.
func (s *system) start(dev port.Device, hz uint64) error {
	machine := hal.New(4 << 30)
	link, err := inproc.New(dev, machine, inproc.Options{Hz: hz})
	if err != nil {
		return err
	}
	if s.device, err = machine.Attach(s.thread, link, link); err != nil {
		return err
	}
	s.kernel, err = dxgkrnl.Start(s.thread, dxgkrnl.Config{
		Machine: machine, Device: s.device, Driver: miniport.DriverEntry(),
	})
	return err
}

// CreateDevice creates a Direct3D device.
func (s *system) CreateDevice() (*d3d11.Device, *d3d11.Context, error) {
	return d3d11.CreateDevice(d3d11.Config{Driver: umd.OpenAdapter, Kernel: s.kernel.Thunks(), Process: 1, Err: s.kernel.Lost})
}

// Err returns why the GPU stopped.
func (s *system) Err() error { return s.kernel.Err() }

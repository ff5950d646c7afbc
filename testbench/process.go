package testbench

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A Process is a process of the PC. It may have several devices.
type Process struct {
	system *System
	id     uint32
}

// NewProcess starts a process, without an end.
func (s *System) NewProcess() *Process { return &Process{s, s.processes.Add(1)} }

// CreateDevice creates a Direct3D device in the process.
func (p *Process) CreateDevice() (*d3d11.Device, *d3d11.Context, error) {
	return p.CreateDeviceOn(p.system.Thunks())
}

// CreateDeviceOn creates a Direct3D device in the process on other thunks than those of the
// system, which call them.
func (p *Process) CreateDeviceOn(kernel kmt.Thunks) (*d3d11.Device, *d3d11.Context, error) {
	s := p.system
	return d3d11.CreateDevice(d3d11.Config{
		Driver: s.drivers.UserMode, Kernel: kernel, Process: p.id, Seed: s.seed, Err: s.Lost, Stopped: s.stopped(),
		Observer: s.observeAPI(),
	})
}

// ID returns the ID of the process, which its threads have.
func (p *Process) ID() uint32 { return p.id }

// A Task is what a process does during Run.
type Task struct {
	Process *Process
	Run     func()
}

// Run runs processes at once and returns when all tasks have ended. One runs at a time, and
// another one goes on where the first waits, enters the graphics kernel or leaves it. The seed
// gives the order, so one seed always gives the same run. A task must not wait for another one,
// and must call devices of its process only. Calls must not overlap.
func (s *System) Run(seed uint64, tasks []Task) {
	all := make([]dxgkrnl.Process, len(tasks))
	for i, t := range tasks {
		all[i] = dxgkrnl.Process{ID: t.Process.id, Run: t.Run}
	}
	s.kernel.RunProcesses(seed, all)
}

// MemoryBytes returns the bytes of the memory segments of the GPU.
func (s *System) MemoryBytes() uint64 { return s.kernel.MemoryBytes() }

// StopFirmware stops the microcontroller of the GPU, as if it had died. It must not be called
// on a GPU without one.
func (s *System) StopFirmware() error {
	return s.device.Write32(&ddi.Thread{}, 0, mcureg.Base+mcureg.Ctl, 0)
}

// MemoryInUse returns the bytes of the PC's memory that are allocated for the GPU, without the
// paging buffers and the DMA buffers of what it draws, which the graphics kernel makes when it needs them and keeps.
func (s *System) MemoryInUse() uint64 {
	return s.machine.InUse() - s.kernel.PagingMemory() - s.kernel.DrawingMemory()
}

// RefuseMemory makes refuse decide about each allocation of the PC's memory for the GPU, in
// the thread of a process: it fails if refuse returns true.
func (s *System) RefuseMemory(refuse func(process uint32) bool) {
	s.machine.Refuse(func(int) bool { return refuse(s.kernel.Inside()) })
}

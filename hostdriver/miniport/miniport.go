// Package miniport is the display miniport driver of the GPU. The graphics
// kernel calls it through the kernel-mode DDI. It starts the device, validates
// command buffers, patches addresses, submits to the rings, and reports
// completed fences from interrupts.
//
// Each file has one group of DDI functions. They are plain functions on
// handles; [DriverEntry] puts them into the table of package
// [github.com/hilgpu/hilgpu/runtime/ddi/kmddi]. All state belongs to the
// handles.
package miniport

import (
	"encoding/binary"
	"errors"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// ErrArgument is wrapped by the error of a ring that failed because the kernel
// passed an invalid argument to a function that cannot return an error.
var ErrArgument = errors.New("miniport: bad argument")

// ErrFault is wrapped by the error of a ring whose node stopped on a fault.
var ErrFault = errors.New("miniport: node stopped")

var le = binary.LittleEndian

// DriverEntry returns the miniport's functions, like DriverEntry fills in
// DRIVER_INITIALIZATION_DATA (dispmprt.h). All entries are set.
func DriverEntry() kmddi.DriverInitializationData { return WithFirmware(firmware.Default()) }

// WithFirmware is DriverEntry for another image of the firmware, which the driver does not
// change.
func WithFirmware(image []byte) kmddi.DriverInitializationData {
	return kmddi.DriverInitializationData{
		Version: kmddi.InterfaceVersion,

		AddDevice:    addDevice(image, Observer{}),
		StartDevice:  startDevice,
		StopDevice:   stopDevice,
		RemoveDevice: removeDevice,

		InterruptRoutine: interruptRoutine,
		DpcRoutine:       dpcRoutine,

		QueryAdapterInfo: queryAdapterInfo,

		CreateDevice:      createDevice,
		DestroyDevice:     destroyDevice,
		CreateContext:     createContext,
		DestroyContext:    destroyContext,
		CreateAllocation:  createAllocation,
		DestroyAllocation: destroyAllocation,
		OpenAllocation:    openAllocation,
		CloseAllocation:   closeAllocation,

		Render:            render,
		RenderKm:          renderKm,
		Present:           present,
		BuildPagingBuffer: buildPagingBuffer,
		Patch:             patch,
		SubmitCommand:     submitCommand,
		PreemptCommand:    preemptCommand,
		CancelCommand:     cancelCommand,
		QueryCurrentFence: queryCurrentFence,
		CollectDbgInfo:    collectDbgInfo,
		Escape:            escape,

		QueryEngineStatus:         queryEngineStatus,
		QueryDependentEngineGroup: queryDependentEngineGroup,
		ResetEngine:               resetEngine,

		ResetFromTimeout:   resetFromTimeout,
		RestartFromTimeout: restartFromTimeout,
	}
}

// adapter is the miniport's device context. Between StartDevice and StopDevice
// only the rings, the nodes, the program, its hang and running change.
type adapter struct {
	cb   *kmddi.DxgkrnlInterface
	info kmddi.DeviceInfo
	regs registers
	caps identity

	fences kmddi.ContiguousMemory // the fence words, fenceStride bytes apart
	rings  []*ring.Ring           // by node
	nodes  []node                 // by node

	image    []byte // of the firmware
	observer Observer
	program  program // of the microcontroller
	hang     hang    // of the program
	queues   *queues // nil: the rings execute the work

	aperture aperture

	running bool // interrupts are expected; false from a reset to the restart
}

// adapterOf returns the adapter of a handle. It reports false if there is none.
func adapterOf(h kmddi.HAdapter) (*adapter, bool) {
	if h.Root == nil {
		return nil, false
	}
	a, ok := h.Driver.(*adapter)
	return a, ok
}

// ring returns the ring of a node. It reports false if there is no such node.
func (a *adapter) ring(node uint32) (*ring.Ring, bool) {
	if uint64(node) >= uint64(len(a.rings)) {
		return nil, false
	}
	return a.rings[node], true
}

// fail marks the ring of a node as failed, or all rings if there is no such
// node.
func (a *adapter) fail(node uint32, err error) {
	if r, ok := a.ring(node); ok {
		r.Fail(err)
		return
	}
	for _, r := range a.rings {
		r.Fail(err)
	}
}

// registers accesses the registers of BAR0 through the kernel.
type registers struct {
	cb      *kmddi.DxgkrnlInterface
	mapping kmddi.HMapping
}

// ReadRegister reads the register at off in BAR0, in bytes.
func (r registers) ReadRegister(t *ddi.Thread, off uint32) (uint32, ddi.Status) {
	return r.cb.ReadRegister(t, r.cb.DeviceHandle, r.mapping, off)
}

// WriteRegister writes the register at off in BAR0, in bytes. It is posted.
func (r registers) WriteRegister(t *ddi.Thread, off, v uint32) ddi.Status {
	return r.cb.WriteRegister(t, r.cb.DeviceHandle, r.mapping, off, v)
}

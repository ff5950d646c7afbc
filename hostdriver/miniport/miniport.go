// Package miniport is the display miniport driver of the GPU. It is what the
// graphics kernel calls through the kernel-mode DDI: it brings the device up,
// validates command buffers, patches addresses, submits to the rings, and
// turns interrupts into completed fences.
//
// A file holds one group of DDI functions. Functions are plain, over handles;
// DriverEntry puts them into the table. All state hangs off the handles.
package miniport

import (
	"encoding/binary"
	"errors"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// ErrArgument is what a ring fails with, wrapped, when the kernel passes a
// wrong argument to a function that cannot fail.
var ErrArgument = errors.New("miniport: bad argument")

// ErrFault is what a ring fails with, wrapped, when its node stops on a fault.
var ErrFault = errors.New("miniport: node stopped")

var le = binary.LittleEndian

// DriverEntry returns the miniport's functions, as DriverEntry fills in
// DRIVER_INITIALIZATION_DATA (dispmprt.h). All slots are set.
func DriverEntry() kmddi.DriverInitializationData {
	return kmddi.DriverInitializationData{
		Version: kmddi.InterfaceVersion,

		AddDevice:    addDevice,
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
		Present:           present,
		BuildPagingBuffer: buildPagingBuffer,
		Patch:             patch,
		SubmitCommand:     submitCommand,
		QueryCurrentFence: queryCurrentFence,
		CollectDbgInfo:    collectDbgInfo,

		ResetFromTimeout:   resetFromTimeout,
		RestartFromTimeout: restartFromTimeout,
	}
}

// adapter is the miniport's device context. Between StartDevice and StopDevice
// all but the rings and running is constant.
type adapter struct {
	cb   *kmddi.DxgkrnlInterface
	info kmddi.DeviceInfo
	regs registers
	caps identity

	fences kmddi.ContiguousMemory // the fence words, fenceStride bytes apart
	rings  []*ring.Ring           // by node

	running bool // interrupts are expected; not from a reset to the restart
}

// adapterOf returns the adapter behind a handle, and false if there is none.
func adapterOf(h kmddi.HAdapter) (*adapter, bool) {
	if h.Root == nil {
		return nil, false
	}
	a, ok := h.Driver.(*adapter)
	return a, ok
}

// ring returns the ring of a node, and false if there is no such node.
func (a *adapter) ring(node uint32) (*ring.Ring, bool) {
	if uint64(node) >= uint64(len(a.rings)) {
		return nil, false
	}
	return a.rings[node], true
}

// fail marks the ring of a node failed, and all rings if there is no such node.
func (a *adapter) fail(node uint32, err error) {
	if r, ok := a.ring(node); ok {
		r.Fail(err)
		return
	}
	for _, r := range a.rings {
		r.Fail(err)
	}
}

// registers reaches the registers of BAR0 through the kernel.
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

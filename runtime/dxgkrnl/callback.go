package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// mapping is the object of an HMapping: bytes [off, off+length) of a BAR.
type mapping struct {
	bar         int
	off, length uint64
}

// callbacks returns the callback table for the miniport. Callbacks return
// StatusInvalidHandle for a wrong handle, except those of the interrupt path.
func (k *Kernel) callbacks() *kmddi.DxgkrnlInterface {
	return &kmddi.DxgkrnlInterface{
		DeviceHandle: kmddi.HDxgkrnl{System: k},

		GetDeviceInformation:     getDeviceInformation,
		MapMemory:                mapMemory,
		UnmapMemory:              unmapMemory,
		ReadDeviceSpace:          readDeviceSpace,
		WriteDeviceSpace:         writeDeviceSpace,
		NotifyInterrupt:          k.notifyInterrupt,
		QueueDpc:                 k.queueDPC,
		NotifyDpc:                k.notifyDPC,
		SynchronizeExecution:     synchronizeExecution,
		ReadRegister:             readRegister,
		WriteRegister:            writeRegister,
		AllocateContiguousMemory: allocateContiguousMemory,
		FreeContiguousMemory:     k.freeContiguousMemory,
		LogEtwEvent:              k.logEtwEvent,
	}
}

func kernelOf(h kmddi.HDxgkrnl) (*Kernel, bool) {
	k, ok := h.System.(*Kernel)
	return k, ok && k != nil
}

// checkHandle bugchecks for a wrong handle in a callback that has no status.
func (k *Kernel) checkHandle(h kmddi.HDxgkrnl, name string) {
	if got, ok := kernelOf(h); !ok || got != k {
		k.bugcheck(name, CodeVerifier, VerifierHandle, "the handle of another adapter")
	}
}

// deviceError returns the status of an access that failed with err. It keeps
// the first error, to explain why a miniport did not start.
func (k *Kernel) deviceError(err error) ddi.Status {
	if err == nil {
		return ddi.StatusSuccess
	}
	if k.access == nil {
		k.access = err
	}
	return ddi.StatusIODeviceError
}

func getDeviceInformation(_ *ddi.Thread, h kmddi.HDxgkrnl) (kmddi.DeviceInfo, ddi.Status) {
	k, ok := kernelOf(h)
	if !ok {
		return kmddi.DeviceInfo{}, ddi.StatusInvalidHandle
	}
	i := k.dev.Info()
	return kmddi.DeviceInfo{
		VendorID: i.VendorID, DeviceID: i.DeviceID, BARs: i.BARs, Messages: i.Messages,
		SystemMemoryBytes: k.machine.MemBytes(), Settings: slices.Clone(k.settings),
	}, ddi.StatusSuccess
}

// mapMemory returns StatusInvalidParameter for a range outside the BAR.
func mapMemory(_ *ddi.Thread, h kmddi.HDxgkrnl, bar int, off, length uint64) (kmddi.HMapping, ddi.Status) {
	k, ok := kernelOf(h)
	if !ok {
		return kmddi.HMapping{}, ddi.StatusInvalidHandle
	}
	bars := k.dev.Info().BARs
	if bar < 0 || bar >= len(bars) || length == 0 || length > bars[bar] || off > bars[bar]-length {
		return kmddi.HMapping{}, ddi.StatusInvalidParameter
	}
	m := &mapping{bar: bar, off: off, length: length}
	k.mappings = append(k.mappings, m)
	return kmddi.HMapping{System: m}, ddi.StatusSuccess
}

// unmapMemory leaves an empty mapping, so that a later use fails.
func unmapMemory(_ *ddi.Thread, h kmddi.HDxgkrnl, hm kmddi.HMapping) ddi.Status {
	k, ok := kernelOf(h)
	m, isMapping := hm.System.(*mapping)
	if !ok || !isMapping {
		return ddi.StatusInvalidHandle
	}
	i := slices.Index(k.mappings, m)
	if i < 0 {
		return ddi.StatusInvalidHandle
	}
	k.mappings = slices.Delete(k.mappings, i, i+1)
	m.length = 0
	return ddi.StatusSuccess
}

func readDeviceSpace(t *ddi.Thread, h kmddi.HDxgkrnl, off int) (uint32, ddi.Status) {
	k, ok := kernelOf(h)
	if !ok {
		return 0, ddi.StatusInvalidHandle
	}
	v, err := k.dev.ReadConfig(t, off)
	return v, k.deviceError(err)
}

func writeDeviceSpace(t *ddi.Thread, h kmddi.HDxgkrnl, off int, v uint32) ddi.Status {
	k, ok := kernelOf(h)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	return k.deviceError(k.dev.WriteConfig(t, off, v))
}

// register returns the mapping that contains the dword at off.
func register(h kmddi.HDxgkrnl, hm kmddi.HMapping, off uint32) (*Kernel, *mapping, ddi.Status) {
	k, ok := kernelOf(h)
	m, isMapping := hm.System.(*mapping)
	switch {
	case !ok || !isMapping || m.length == 0:
		return nil, nil, ddi.StatusInvalidHandle
	case off%4 != 0 || uint64(off)+4 > m.length:
		return nil, nil, ddi.StatusInvalidParameter
	}
	return k, m, ddi.StatusSuccess
}

func readRegister(t *ddi.Thread, h kmddi.HDxgkrnl, hm kmddi.HMapping, off uint32) (uint32, ddi.Status) {
	k, m, s := register(h, hm, off)
	if s.Failed() {
		return 0, s
	}
	v, err := k.dev.Read32(t, m.bar, m.off+uint64(off))
	return v, k.deviceError(err)
}

func writeRegister(t *ddi.Thread, h kmddi.HDxgkrnl, hm kmddi.HMapping, off, v uint32) ddi.Status {
	k, m, s := register(h, hm, off)
	if s.Failed() {
		return s
	}
	k.written.add(off, v)
	return k.deviceError(k.dev.Write32(t, m.bar, m.off+uint64(off), v))
}

// allocateContiguousMemory returns StatusNoMemory if no such range is free.
func allocateContiguousMemory(_ *ddi.Thread, h kmddi.HDxgkrnl, size int) (kmddi.ContiguousMemory, ddi.Status) {
	k, ok := kernelOf(h)
	if !ok {
		return kmddi.ContiguousMemory{}, ddi.StatusInvalidHandle
	}
	p, err := k.machine.Alloc(size, hal.PageSize)
	if err != nil {
		return kmddi.ContiguousMemory{}, ddi.StatusNoMemory
	}
	k.memory = append(k.memory, p)
	k.observe(Event{Kind: EventDriverMemory, Address: p.Phys, Bytes: (uint64(size) + hal.PageSize - 1) &^ (hal.PageSize - 1)})
	return kmddi.ContiguousMemory{PhysicalAddress: p.Phys, Bytes: slices.Clip(p.Bytes)}, ddi.StatusSuccess
}

// freeContiguousMemory bugchecks for memory that is not allocated.
func (k *Kernel) freeContiguousMemory(_ *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.ContiguousMemory) {
	k.checkHandle(h, "MmFreeContiguousMemory")
	i := slices.IndexFunc(k.memory, func(p hal.Pages) bool { return p.Phys == m.PhysicalAddress })
	if i < 0 {
		k.bugcheck("MmFreeContiguousMemory", CodeVerifier, VerifierHandle, "memory at %#x, which MmAllocateContiguousMemory did not return or which was freed", m.PhysicalAddress)
	}
	k.observe(Event{Kind: EventDriverFree, Address: m.PhysicalAddress})
	k.machine.Free(k.memory[i])
	k.memory = slices.Delete(k.memory, i, i+1)
}

// maxEvent is the largest size of an event in bytes, as EventBufferSize has it.
const maxEvent = 0xffff

// logEtwEvent gives an event to Config.Log.
//
//	DDI     DxgkCbLogEtwEvent, dispmprt.h
//	Caller  the miniport, at any level
func (k *Kernel) logEtwEvent(_ *ddi.Thread, h kmddi.HDxgkrnl, text string) {
	k.checkHandle(h, "DxgkCbLogEtwEvent")
	if k.log != nil {
		k.log(text[:min(len(text), maxEvent)])
	}
}

// reclaim frees everything that a stopped miniport still holds.
func (k *Kernel) reclaim() {
	for _, m := range k.mappings {
		m.length = 0
	}
	for _, p := range k.memory {
		k.machine.Free(p)
	}
	k.mappings, k.memory = nil, nil
}

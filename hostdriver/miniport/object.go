package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Buffer and list sizes that a context requests from the kernel.
const (
	dmaBufferSize         = 64 << 10 // bytes
	allocationListSize    = 1024     // elements
	patchLocationListSize = 4096     // elements
)

// allocationAlignment is the alignment of every allocation, in bytes.
const allocationAlignment = 256

// device is a user-mode driver's device, or the kernel's own device.
type device struct {
	adapter *adapter
	system  bool // it is the kernel's own
}

// context is a stream of command buffers of a device. Contexts share no state
// that Render changes, so different contexts may render concurrently.
type context struct {
	device *device

	queue  uint32 // of the firmware
	resets uint32 // of the device when it got the queue

	check validator // reused for each command
}

// allocation is the adapter's description of an allocation. It is immutable.
type allocation struct {
	adapter *adapter
	desc    privdata.Allocation
}

// openedAllocation is an allocation opened by a device.
type openedAllocation struct {
	device     *device
	allocation *allocation
}

func deviceOf(h kmddi.HDevice) (*device, bool) {
	if h.Root == nil {
		return nil, false
	}
	d, ok := h.Driver.(*device)
	return d, ok
}

func contextOf(h kmddi.HContext) (*context, bool) {
	if h.Root == nil {
		return nil, false
	}
	c, ok := h.Driver.(*context)
	return c, ok
}

func allocationOf(h kmddi.HAllocation) (*allocation, bool) {
	if h.Root == nil {
		return nil, false
	}
	al, ok := h.Driver.(*allocation)
	return al, ok
}

func openedOf(h kmddi.HDeviceAllocation) (*openedAllocation, bool) {
	if h.Root == nil {
		return nil, false
	}
	o, ok := h.Driver.(*openedAllocation)
	return o, ok
}

// createDevice creates a device.
//
//	DDI     DxgkDdiCreateDevice, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	Returns StatusSuccess; StatusInvalidHandle for a handle without a started
//	        adapter
func createDevice(_ *ddi.Thread, h kmddi.HAdapter, dev kmddi.HDevice, arg kmddi.CreateDevice) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || !a.running || dev.Root == nil {
		return ddi.StatusInvalidHandle
	}
	dev.Driver = &device{adapter: a, system: arg.SystemDevice}
	return ddi.StatusSuccess
}

// destroyDevice is DxgkDdiDestroyDevice. It returns StatusInvalidHandle if dev
// is not a device.
func destroyDevice(_ *ddi.Thread, dev kmddi.HDevice) ddi.Status {
	if _, ok := deviceOf(dev); !ok {
		return ddi.StatusInvalidHandle
	}
	dev.Driver = nil
	return ddi.StatusSuccess
}

// createContext creates a context and returns the sizes of its buffers.
//
//	DDI     DxgkDdiCreateContext, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      arg.NodeOrdinal; arg.EngineAffinity: 0 or bit 0 for the only engine
//	Effect  with the queues of the firmware, QUEUE_CREATE. A firmware that hangs
//	        is loaded again if no work is outstanding. If it does not answer, the
//	        context shares the queue of the system, and its work times out
//	Returns StatusSuccess; StatusInvalidHandle if dev is not a device;
//	        StatusNoMemory if the firmware refuses the queue; the status of a
//	        failed callback; StatusInvalidParameter for a node or an engine that does not
//	        exist, or for private data, which contexts do not have
func createContext(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
	d, ok := deviceOf(dev)
	if !ok || ctx.Root == nil {
		return kmddi.ContextInfo{}, ddi.StatusInvalidHandle
	}
	if uint64(arg.NodeOrdinal) >= uint64(d.adapter.caps.nodes) || arg.EngineAffinity > 1 || len(arg.PrivateDriverData) != 0 {
		return kmddi.ContextInfo{}, ddi.StatusInvalidParameter
	}
	c := &context{device: d}
	if q := d.adapter.queues; q != nil {
		if s := q.attach(t, c, arg.NodeOrdinal); s != ddi.StatusSuccess {
			return kmddi.ContextInfo{}, s
		}
	}
	ctx.Driver = c
	return kmddi.ContextInfo{
		DmaBufferSize:            dmaBufferSize,
		DmaBufferPrivateDataSize: d.adapter.privateBytes(),
		AllocationListSize:       allocationListSize,
		PatchLocationListSize:    patchLocationListSize,
	}, ddi.StatusSuccess
}

// destroyContext is DxgkDdiDestroyContext. It returns StatusInvalidHandle if
// ctx is not a context.
func destroyContext(t *ddi.Thread, ctx kmddi.HContext) ddi.Status {
	c, ok := contextOf(ctx)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	if q := c.device.adapter.queues; q != nil {
		q.detach(t, c)
	}
	ctx.Driver = nil
	return ddi.StatusSuccess
}

// createAllocation checks the user-mode driver's description of an allocation
// and returns the segments in which it may reside.
//
//	DDI     DxgkDdiCreateAllocation, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      arg.PrivateDriverData: a privdata.Allocation, untrusted
//	Returns StatusSuccess; StatusInvalidParameter for private data that does
//	        not decode; StatusInvalidHandle for a handle without a started adapter
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_createallocation
func createAllocation(_ *ddi.Thread, h kmddi.HAdapter, alloc kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running || alloc.Root == nil {
		return kmddi.AllocationInfo{}, ddi.StatusInvalidHandle
	}
	desc, err := privdata.DecodeAllocation(arg.PrivateDriverData)
	if err != nil {
		return kmddi.AllocationInfo{}, ddi.StatusInvalidParameter
	}
	alloc.Driver = &allocation{adapter: a, desc: desc}
	info := kmddi.AllocationInfo{Alignment: allocationAlignment, Size: desc.Bytes}
	const vram, host = 1 << (segmentVRAM - 1), 1 << (segmentHost - 1)
	switch desc.Place {
	case privdata.Result:
		info.PreferredSegment, info.SupportedSegmentSet, info.CPUVisible = segmentVRAM, vram, true
		if !a.translates() {
			info.PreferredSegment, info.SupportedSegmentSet, info.Cached = segmentHost, host, true
		}
	case privdata.Local:
		info.PreferredSegment, info.SupportedSegmentSet = segmentVRAM, vram
	case privdata.Either:
		info.PreferredSegment, info.SupportedSegmentSet = segmentVRAM, vram|host
	case privdata.System:
		info.PreferredSegment, info.SupportedSegmentSet = segmentHost, host
		info.CPUVisible, info.Cached = true, true
	}
	return info, ddi.StatusSuccess
}

// destroyAllocation is DxgkDdiDestroyAllocation. It returns StatusInvalidHandle
// if alloc is not an allocation of the adapter.
func destroyAllocation(_ *ddi.Thread, h kmddi.HAdapter, alloc kmddi.HAllocation) ddi.Status {
	a, ok := adapterOf(h)
	al, isAlloc := allocationOf(alloc)
	if !ok || !isAlloc || al.adapter != a {
		return ddi.StatusInvalidHandle
	}
	alloc.Driver = nil
	return ddi.StatusSuccess
}

// openAllocation opens an allocation for a device.
//
//	DDI     DxgkDdiOpenAllocation, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      arg.Allocation, of the same adapter; the private data is ignored,
//	        since CreateAllocation has checked it
//	Returns StatusSuccess; StatusInvalidHandle if dev is not a device or
//	        arg.Allocation not an allocation of its adapter
func openAllocation(_ *ddi.Thread, dev kmddi.HDevice, open kmddi.HDeviceAllocation, arg kmddi.OpenAllocation) ddi.Status {
	d, ok := deviceOf(dev)
	al, isAlloc := allocationOf(arg.Allocation)
	if !ok || !isAlloc || open.Root == nil || al.adapter != d.adapter {
		return ddi.StatusInvalidHandle
	}
	open.Driver = &openedAllocation{device: d, allocation: al}
	return ddi.StatusSuccess
}

// closeAllocation is DxgkDdiCloseAllocation. It returns StatusInvalidHandle for
// an allocation that the device has not opened.
func closeAllocation(_ *ddi.Thread, dev kmddi.HDevice, open kmddi.HDeviceAllocation) ddi.Status {
	d, ok := deviceOf(dev)
	o, isOpen := openedOf(open)
	if !ok || !isOpen || o.device != d {
		return ddi.StatusInvalidHandle
	}
	open.Driver = nil
	return ddi.StatusSuccess
}

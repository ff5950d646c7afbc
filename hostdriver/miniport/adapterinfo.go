package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The segments, by id.
const (
	segmentVRAM = 1
	segmentHost = 2
)

// vramBAR is the BAR of the aperture to VRAM.
const vramBAR = 2

// pagingBufferSize is the size of a paging buffer: 170 copies.
const pagingBufferSize = 4096

// wddmVersion is DXGKDDI_WDDMv1_3.
const wddmVersion = 1300

// queryAdapterInfo returns information about the adapter to the kernel and,
// through it, to the user-mode driver.
//
//	DDI     DxgkDdiQueryAdapterInfo, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      arg.InputData is from user mode and ignored
//	Out     the field for arg.Type
//	Returns StatusSuccess; StatusNotSupported for an unknown type;
//	        StatusInvalidHandle for a handle without a started adapter
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_queryadapterinfo
func queryAdapterInfo(_ *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (out kmddi.QueryAdapterInfoOut, s ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return out, ddi.StatusInvalidHandle
	}
	switch arg.Type {
	case kmddi.InfoUMDriverPrivate:
		out.UMDriverPrivate = a.umDriverPrivate()
	case kmddi.InfoDriverCaps:
		out.DriverCaps = a.driverCaps()
	case kmddi.InfoQuerySegment:
		out.Segments = a.segments()
	default:
		return out, ddi.StatusNotSupported
	}
	return out, ddi.StatusSuccess
}

func (a *adapter) umDriverPrivate() []byte {
	return privdata.Adapter{
		MapHash: a.caps.mapHash, Nodes: uint32(a.caps.nodes), LengthBits: a.caps.lengthBits,
		VRAMBytes: a.videoMemory(), ClockHz: a.caps.clockHz,
	}.Append(nil)
}

// driverCaps reports one of two nodes for rendering and the other for paging,
// so that paging does not wait for rendering.
func (a *adapter) driverCaps() kmddi.DriverCaps {
	return a.schedulingCaps(kmddi.DriverCaps{
		HighestAcceptableAddress: a.caps.maxHost(),
		WDDMVersion:              wddmVersion,
		NumberOfNodes:            uint32(a.caps.nodes),
		PagingNode:               uint32(a.caps.nodes - 1),
		HwQueuePacketCap:         ring.Slots,
		MultiEngineAware:         a.caps.nodes > 1,
	})
}

// segments reports VRAM without the parts of the firmware and the table, which the CPU can access if it has a BAR,
// and host memory. That is the aperture segment, or without a GART the contiguous segment.
func (a *adapter) segments() kmddi.QuerySegment {
	vram := kmddi.SegmentDescriptor{Size: a.videoMemory()}
	if a.caps.aperture {
		vram.Flags.CPUVisible, vram.BAR = true, vramBAR
	}
	host := kmddi.SegmentDescriptor{
		BaseAddress: pkt.Host, Size: min(a.info.SystemMemoryBytes, a.caps.maxHost()+1),
		Flags: kmddi.SegmentFlags{System: true},
	}
	if a.translates() {
		host = kmddi.SegmentDescriptor{
			BaseAddress: gartreg.Start, Size: a.tableBytes() / gartreg.EntryBytes * gartreg.PageBytes,
			Flags: kmddi.SegmentFlags{Aperture: true},
		}
	}
	return kmddi.QuerySegment{
		Segments:         []kmddi.SegmentDescriptor{segmentVRAM - 1: vram, segmentHost - 1: host},
		PagingBufferSize: pagingBufferSize, PagingBufferPrivateDataSize: a.privateBytes(),
	}
}

package dxgkrnl

import (
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// Limits of the sizes that a miniport may ask for. They are those of this kernel.
const (
	maxBuffer   = 64 << 20 // bytes of a DMA buffer or a paging buffer
	maxPrivate  = 1 << 20  // bytes of private data of a buffer
	maxElements = 1 << 20  // elements of an allocation list or a patch list
	maxSegments = 32
	wddmVersion = 1300
)

// A field is a number that the miniport gave.
type field struct {
	name      string
	value     uint64
	low, high uint64 // limits, inclusive
	multiple  uint64 // 0: of any number
}

// check returns the problem with the first invalid field, or "".
func check(fields ...field) string {
	for _, f := range fields {
		switch {
		case f.value < f.low || f.value > f.high:
			return fmt.Sprintf("%s is %s, want %s", f.name, number(f.value), rangeOf(number(f.low), number(f.high)))
		case f.multiple != 0 && f.value%f.multiple != 0:
			return fmt.Sprintf("%s is %s, want a multiple of %d", f.name, number(f.value), f.multiple)
		}
	}
	return ""
}

// rangeOf shows an inclusive range; one value if both limits are equal.
func rangeOf(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

// number shows a number: large ones, which are addresses and sizes, in
// hexadecimal.
func number(v uint64) string {
	if v >= 1<<16 {
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}

// checkCaps returns what is wrong with the capabilities, or "".
func checkCaps(c kmddi.DriverCaps) string {
	if found := check(
		field{name: "NumberOfNodes", value: uint64(c.NumberOfNodes), low: 1, high: maxNodes},
		field{name: "HwQueuePacketCap", value: uint64(c.HwQueuePacketCap), low: 1, high: math.MaxInt32},
		field{name: "HighestAcceptableAddress", value: c.HighestAcceptableAddress, low: hal.MemBase + hal.PageSize - 1, high: math.MaxUint64},
		field{name: "WDDMVersion", value: uint64(c.WDDMVersion), low: wddmVersion, high: wddmVersion},
	); found != "" {
		return found
	}
	switch {
	case c.PagingNode >= c.NumberOfNodes:
		return fmt.Sprintf("PagingNode is %d, want less than NumberOfNodes, %d", c.PagingNode, c.NumberOfNodes)
	case c.NumberOfNodes > 1 && !c.MultiEngineAware:
		return fmt.Sprintf("MultiEngineAware is false, want true for %d nodes", c.NumberOfNodes)
	}
	return ""
}

// checkClaims returns which capability lacks its functions, or "".
func checkClaims(c kmddi.DriverCaps, d *kmddi.DriverInitializationData) string {
	for _, f := range []struct {
		cap, name string
		claimed   bool
		is        bool
	}{
		{"PreemptionAware", "PreemptCommand", c.PreemptionAware, d.PreemptCommand != nil},
		{"CancelCommandAware", "CancelCommand", c.CancelCommandAware, d.CancelCommand != nil},
		{"SupportPerEngineTDR", "QueryDependentEngineGroup", c.SupportPerEngineTDR, d.QueryDependentEngineGroup != nil},
		{"SupportPerEngineTDR", "QueryEngineStatus", c.SupportPerEngineTDR, d.QueryEngineStatus != nil},
		{"SupportPerEngineTDR", "ResetEngine", c.SupportPerEngineTDR, d.ResetEngine != nil},
	} {
		if f.claimed && !f.is {
			return fmt.Sprintf("%s is true, but the miniport has no DxgkDdi%s", f.cap, f.name)
		}
	}
	return ""
}

// checkSegments returns what is wrong with the segments, or "".
func checkSegments(q kmddi.QuerySegment, bars [6]uint64) string {
	if found := check(
		field{name: "the number of segments", value: uint64(len(q.Segments)), low: 1, high: maxSegments},
		field{name: "PagingBufferSegmentID", value: uint64(q.PagingBufferSegmentID), low: kmddi.SegmentNone, high: kmddi.SegmentNone},
		field{name: "PagingBufferSize", value: uint64(q.PagingBufferSize), low: 4, high: maxBuffer, multiple: 4},
		field{name: "PagingBufferPrivateDataSize", value: uint64(q.PagingBufferPrivateDataSize), high: maxPrivate},
	); found != "" {
		return found
	}
	for i, d := range q.Segments {
		if found := checkSegment(d, bars); found != "" {
			return fmt.Sprintf("segment %d: %s", i+1, found)
		}
		for j, e := range q.Segments[:i] {
			if d.BaseAddress <= e.BaseAddress+e.Size-1 && e.BaseAddress <= d.BaseAddress+d.Size-1 {
				return fmt.Sprintf("segment %d: [%#x, %#x) overlaps segment %d, [%#x, %#x)",
					i+1, d.BaseAddress, d.BaseAddress+d.Size, j+1, e.BaseAddress, e.BaseAddress+e.Size)
			}
		}
		if d.BaseAddress%hal.PageSize != 0 || d.Size%hal.PageSize != 0 {
			return fmt.Sprintf("segment %d: BaseAddress is %#x and Size is %#x, want multiples of the page size, %#x", i+1, d.BaseAddress, d.Size, hal.PageSize)
		}
	}
	return ""
}

// checkSegment returns what is wrong with a segment, or "".
func checkSegment(d kmddi.SegmentDescriptor, bars [6]uint64) string {
	switch {
	case d.Size == 0:
		return "Size is 0, want more than 0"
	case d.BaseAddress+d.Size-1 < d.BaseAddress:
		return fmt.Sprintf("Size is %#x, want an end below 2^64 from BaseAddress %#x", d.Size, d.BaseAddress)
	case d.Flags.System && d.Flags.Aperture:
		return "Flags are System and Aperture, want at most one of them"
	case d.Flags.System || d.Flags.Aperture || !d.Flags.CPUVisible:
		return ""
	case d.BAR < 0 || d.BAR >= len(bars) || bars[d.BAR] == 0:
		return fmt.Sprintf("BAR is %d, want one that the device has", d.BAR)
	case d.BAROffset%4 != 0:
		return fmt.Sprintf("BAROffset is %#x, want a multiple of 4", d.BAROffset)
	case d.Size > bars[d.BAR] || d.BAROffset > bars[d.BAR]-d.Size:
		return fmt.Sprintf("[%#x, %#x) of BAR %d, want an end of at most %#x, its size; host memory needs the flag System", d.BAROffset, d.BAROffset+d.Size, d.BAR, bars[d.BAR])
	}
	return ""
}

// checkContext returns what is wrong with the sizes of a context, or "".
func checkContext(i kmddi.ContextInfo) string {
	return check(
		field{name: "DmaBufferSize", value: uint64(i.DmaBufferSize), low: 4, high: maxBuffer, multiple: 4},
		field{name: "DmaBufferPrivateDataSize", value: uint64(i.DmaBufferPrivateDataSize), high: maxPrivate},
		field{name: "AllocationListSize", value: uint64(i.AllocationListSize), low: 1, high: maxElements},
		field{name: "PatchLocationListSize", value: uint64(i.PatchLocationListSize), low: 1, high: maxElements},
	)
}

// checkAllocation returns what is wrong with the description of an allocation, or
// "".
func checkAllocation(i kmddi.AllocationInfo, segments int) string {
	known := uint32(1)<<(segments-1)<<1 - 1
	switch {
	case i.Alignment&(i.Alignment-1) != 0:
		return fmt.Sprintf("Alignment is %d, want a power of two", i.Alignment)
	case i.SupportedSegmentSet == 0 || i.SupportedSegmentSet&^known != 0:
		return fmt.Sprintf("SupportedSegmentSet is %d, want a set of at least one of the %d segments of DxgkDdiQueryAdapterInfo", i.SupportedSegmentSet, segments)
	case i.PreferredSegment > uint32(segments):
		return fmt.Sprintf("PreferredSegment is %d, want at most %d, the number of segments", i.PreferredSegment, segments)
	case i.PreferredSegment != 0 && i.SupportedSegmentSet&(1<<(i.PreferredSegment-1)) == 0:
		return fmt.Sprintf("PreferredSegment is %d, want one of SupportedSegmentSet, %#x", i.PreferredSegment, i.SupportedSegmentSet)
	}
	return check(field{name: "Size", value: i.Size, low: 1, high: 1 << 62})
}

// broken reports what a function of the miniport gave, unless found is "". It
// reports whether it did.
func (k *Kernel) broken(t *ddi.Thread, name, function, found string) bool {
	if found == "" {
		return false
	}
	k.report(t, name, function, found, 0)
	return true
}

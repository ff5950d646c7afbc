package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// query reads and checks the capabilities of the adapter.
func (k *Kernel) query(t *ddi.Thread) error {
	out, s := k.driver.QueryAdapterInfo(t, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoDriverCaps})
	if s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiQueryAdapterInfo of DRIVERCAPS: %w", s)
	}
	k.caps = out.DriverCaps
	if err := checkCaps(k.caps); err != nil {
		return err
	}
	out, s = k.driver.QueryAdapterInfo(t, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	if s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiQueryAdapterInfo of QUERYSEGMENT: %w", s)
	}
	if err := checkSegments(out.Segments, k.dev.Info().BARs); err != nil {
		return err
	}
	for i, d := range out.Segments.Segments {
		k.segments = append(k.segments, &segment{id: uint32(i + 1), desc: d})
	}
	n := int(k.caps.NumberOfNodes)
	k.paging = pager{
		size: out.Segments.PagingBufferSize, private: out.Segments.PagingBufferPrivateDataSize,
		waits: make([]uint64, n),
	}
	k.nodes = make([]node, n)
	for i := range k.nodes {
		k.nodes[i].ordinal, k.nodes[i].first = uint32(i), k.firstFence+uint32(i)*k.fenceStep
	}
	return nil
}

// checkCaps checks the capabilities that the kernel relies on.
func checkCaps(c kmddi.DriverCaps) error {
	switch {
	case c.NumberOfNodes == 0 || c.NumberOfNodes > maxNodes:
		return fmt.Errorf("%w: %d nodes, want 1 to %d", ErrStart, c.NumberOfNodes, maxNodes)
	case c.PagingNode >= c.NumberOfNodes:
		return fmt.Errorf("%w: paging node %d of %d", ErrStart, c.PagingNode, c.NumberOfNodes)
	case c.HwQueuePacketCap == 0:
		return fmt.Errorf("%w: HwQueuePacketCap 0, want at least 1", ErrStart)
	case c.HighestAcceptableAddress == 0:
		return fmt.Errorf("%w: HighestAcceptableAddress 0, want more than 0", ErrStart)
	}
	return nil
}

// checkSegments checks that the segments are valid and inside the BARs.
func checkSegments(q kmddi.QuerySegment, bars [6]uint64) error {
	switch {
	case len(q.Segments) == 0 || len(q.Segments) > 32:
		return fmt.Errorf("%w: %d segments, want 1 to 32", ErrStart, len(q.Segments))
	case q.PagingBufferSegmentID != kmddi.SegmentNone:
		return fmt.Errorf("%w: paging buffers in segment %d, want 0", ErrStart, q.PagingBufferSegmentID)
	case q.PagingBufferSize == 0 || q.PagingBufferSize%4 != 0:
		return fmt.Errorf("%w: paging buffers of %d bytes, want a multiple of 4", ErrStart, q.PagingBufferSize)
	}
	for i, d := range q.Segments {
		switch {
		case d.Size == 0 || d.BaseAddress+d.Size-1 < d.BaseAddress:
			return fmt.Errorf("%w: segment %d of %#x bytes at %#x", ErrStart, i+1, d.Size, d.BaseAddress)
		case d.Flags.System || !d.Flags.CPUVisible:
		case d.BAR < 0 || d.BAR >= len(bars) || d.BAROffset%4 != 0 ||
			d.Size > bars[d.BAR] || d.BAROffset > bars[d.BAR]-d.Size:
			return fmt.Errorf("%w: segment %d of %#x bytes at BAR %d offset %#x is outside the BAR",
				ErrStart, i+1, d.Size, d.BAR, d.BAROffset)
		}
	}
	return nil
}

// checkTable checks that the miniport has every required function, and either
// both reset functions or none.
func checkTable(d *kmddi.DriverInitializationData) error {
	if d.Version != kmddi.InterfaceVersion {
		return fmt.Errorf("%w: interface version %#x, want %#x", ErrStart, d.Version, kmddi.InterfaceVersion)
	}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"AddDevice", d.AddDevice != nil}, {"StartDevice", d.StartDevice != nil},
		{"StopDevice", d.StopDevice != nil}, {"RemoveDevice", d.RemoveDevice != nil},
		{"InterruptRoutine", d.InterruptRoutine != nil}, {"DpcRoutine", d.DpcRoutine != nil},
		{"QueryAdapterInfo", d.QueryAdapterInfo != nil},
		{"CreateDevice", d.CreateDevice != nil}, {"DestroyDevice", d.DestroyDevice != nil},
		{"CreateContext", d.CreateContext != nil}, {"DestroyContext", d.DestroyContext != nil},
		{"CreateAllocation", d.CreateAllocation != nil}, {"DestroyAllocation", d.DestroyAllocation != nil},
		{"OpenAllocation", d.OpenAllocation != nil}, {"CloseAllocation", d.CloseAllocation != nil},
		{"Render", d.Render != nil}, {"Present", d.Present != nil},
		{"BuildPagingBuffer", d.BuildPagingBuffer != nil}, {"Patch", d.Patch != nil},
		{"SubmitCommand", d.SubmitCommand != nil}, {"QueryCurrentFence", d.QueryCurrentFence != nil},
		{"CollectDbgInfo", d.CollectDbgInfo != nil},
		{"ResetFromTimeout", d.ResetFromTimeout != nil || d.RestartFromTimeout == nil},
		{"RestartFromTimeout", d.RestartFromTimeout != nil || d.ResetFromTimeout == nil},
	} {
		if !f.is {
			return fmt.Errorf("%w: the miniport has no DxgkDdi%s", ErrStart, f.name)
		}
	}
	return nil
}

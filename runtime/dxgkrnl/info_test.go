package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Each field that a miniport gives is checked. The error names the field, the value
// and the limit. A row without a text is at the boundary and is accepted.
func TestAdapterInfo(t *testing.T) {
	top := ^uint64(0)
	for _, tt := range []struct {
		want string
		edit func(c *kmddi.DriverCaps, q *kmddi.QuerySegment)
	}{
		{"DRIVERCAPS: NumberOfNodes is 0, want 1 to 64", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.NumberOfNodes = 0 }},
		{"DRIVERCAPS: NumberOfNodes is 65, want 1 to 64", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.NumberOfNodes = 65 }},
		{"", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.NumberOfNodes = 64 }},
		{"DRIVERCAPS: PagingNode is 2, want less than NumberOfNodes, 2", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.PagingNode = 2 }},
		{"", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.PagingNode = 0 }},
		{"DRIVERCAPS: HwQueuePacketCap is 0, want 1 to 0x7fffffff", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.HwQueuePacketCap = 0 }},
		{"", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.HwQueuePacketCap = 1 }},
		{"DRIVERCAPS: HighestAcceptableAddress is 0x100ffe, want 0x100fff to 0xffffffffffffffff",
			func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.HighestAcceptableAddress = 0x100ffe }},
		{"", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.HighestAcceptableAddress = 0x100fff }},
		{"DRIVERCAPS: WDDMVersion is 1200, want 1300", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.WDDMVersion = 1200 }},
		{"DRIVERCAPS: MultiEngineAware is false, want true for 2 nodes", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) { c.MultiEngineAware = false }},
		{"", func(c *kmddi.DriverCaps, _ *kmddi.QuerySegment) {
			c.MultiEngineAware, c.NumberOfNodes, c.PagingNode = false, 1, 0
		}},

		{"QUERYSEGMENT: the number of segments is 0, want 1 to 32", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments = nil }},
		{"QUERYSEGMENT: the number of segments is 33, want 1 to 32",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments = make([]kmddi.SegmentDescriptor, 33) }},
		{"QUERYSEGMENT: PagingBufferSegmentID is 1, want 0", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.PagingBufferSegmentID = 1 }},
		{"QUERYSEGMENT: PagingBufferSize is 0, want 4 to 0x4000000", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.PagingBufferSize = 0 }},
		{"QUERYSEGMENT: PagingBufferSize is 66, want a multiple of 4", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.PagingBufferSize = 66 }},
		{"", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.PagingBufferSize = 4 }},
		{"QUERYSEGMENT: PagingBufferPrivateDataSize is 0x100001, want 0 to 0x100000",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.PagingBufferPrivateDataSize = 1<<20 + 1 }},
		{"QUERYSEGMENT: segment 1: Size is 0, want more than 0", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].Size = 0 }},
		{"QUERYSEGMENT: segment 2: Size is 0x4000000, want an end below 2^64 from BaseAddress 0xffffffffffffffff",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[1].BaseAddress = top }},
		{"", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[1].BaseAddress = top - 64<<20 + 1 }},
		{"QUERYSEGMENT: segment 1: BAR is 6, want one that the device has", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].BAR = 6 }},
		{"QUERYSEGMENT: segment 1: BAR is 3, want one that the device has", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].BAR = 3 }},
		{"QUERYSEGMENT: segment 1: BAROffset is 0x2, want a multiple of 4", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].BAROffset = 2 }},
		{"QUERYSEGMENT: segment 1: [0x4, 0x10004) of BAR 2, want an end of at most 0x10000, its size; host memory needs the flag System",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].BAROffset = 4 }},
		{"QUERYSEGMENT: segment 2: [0x10ffff, 0x410ffff) overlaps segment 1, [0x100000, 0x110000)",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[1].BaseAddress = vramBase + 0xffff }},
		{"", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[1].BaseAddress = vramBase + 0x10000 }},
		{"QUERYSEGMENT: segment 1: BaseAddress is 0xfffff and Size is 0x10000, want multiples of the page size, 0x1000",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].BaseAddress = vramBase - 1 }},
		{"QUERYSEGMENT: segment 1: BaseAddress is 0x100000 and Size is 0xfffc, want multiples of the page size, 0x1000",
			func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].Size -= 4 }},
		{"", func(_ *kmddi.DriverCaps, q *kmddi.QuerySegment) { q.Segments[0].Size = 0x1000 }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, mini, cfg := newMachine(t, &options{nodes: 2})
			var rules, found []string
			cfg.Report = func(_ *ddi.Thread, name, function, text string, _ uint64) {
				assert.Equal(t, "DxgkDdiQueryAdapterInfo", function)
				rules, found = append(rules, name), append(found, text)
			}
			tt.edit(&mini.caps, &mini.segments)
			k, err := Start(new(ddi.Thread), cfg)
			if tt.want == "" {
				require.NoError(t, err)
				assert.Empty(t, rules)
				require.NoError(t, k.Stop(new(ddi.Thread)))
				return
			}
			require.ErrorIs(t, err, ErrStart)
			assert.EqualError(t, err, ErrStart.Error()+": "+tt.want)
			assert.Equal(t, []string{"adapter-info"}, rules)
			assert.Contains(t, tt.want, found[0])
			assert.Equal(t, []string{"StopDevice", "RemoveDevice"}, mini.log[len(mini.log)-2:])
		})
	}
}

func TestContextInfo(t *testing.T) {
	for _, tt := range []struct {
		want string
		edit func(i *kmddi.ContextInfo)
	}{
		{"DmaBufferSize is 0, want 4 to 0x4000000", func(i *kmddi.ContextInfo) { i.DmaBufferSize = 0 }},
		{"DmaBufferSize is 6, want a multiple of 4", func(i *kmddi.ContextInfo) { i.DmaBufferSize = 6 }},
		{"", func(i *kmddi.ContextInfo) { i.DmaBufferSize = 4 }},
		{"DmaBufferPrivateDataSize is 0x100001, want 0 to 0x100000", func(i *kmddi.ContextInfo) { i.DmaBufferPrivateDataSize = 1<<20 + 1 }},
		{"", func(i *kmddi.ContextInfo) { i.DmaBufferPrivateDataSize = 0 }},
		{"AllocationListSize is 0, want 1 to 0x100000", func(i *kmddi.ContextInfo) { i.AllocationListSize = 0 }},
		{"", func(i *kmddi.ContextInfo) { i.AllocationListSize = 1 }},
		{"PatchLocationListSize is 0x100001, want 1 to 0x100000", func(i *kmddi.ContextInfo) { i.PatchLocationListSize = 1<<20 + 1 }},
		{"", func(i *kmddi.ContextInfo) { i.PatchLocationListSize = 1 }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			r := newRig(t, options{})
			tt.edit(&r.mini.info)
			c := &umddi.CreateContext{}
			s := r.thunks.CreateContext(r.thread, r.dev, c)
			r.wantReport("context-info: DxgkDdiCreateContext: ", tt.want, s)
			r.finish()
		})
	}
}

func TestAllocationInfo(t *testing.T) {
	for _, tt := range []struct {
		want string
		p    private
	}{
		{"Size is 0, want 1 to 0x4000000000000000", private{size: 0, align: 4, supported: local}},
		{"", private{size: 1, align: 4, supported: local}},
		{"Alignment is 12, want a power of two", private{size: 4, align: 12, supported: local}},
		{"", private{size: 4, align: 0, supported: local}},
		{"", private{size: 4, align: 1, supported: local}},
		{"SupportedSegmentSet is 0, want a set of at least one of the 2 segments of DxgkDdiQueryAdapterInfo", private{size: 4, align: 4, supported: 0}},
		{"SupportedSegmentSet is 4, want a set of at least one of the 2 segments of DxgkDdiQueryAdapterInfo", private{size: 4, align: 4, supported: 4}},
		{"", private{size: 4, align: 4, supported: both}},
		{"PreferredSegment is 3, want at most 2, the number of segments", private{size: 4, align: 4, preferred: 3, supported: local}},
		{"PreferredSegment is 1, want one of SupportedSegmentSet, 0x2", private{size: 4, align: 4, preferred: local, supported: system}},
		{"", private{size: 4, align: 4, preferred: system, supported: system}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			r := newRig(t, options{})
			arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: tt.p.encode()}}}
			s := r.thunks.CreateAllocation(r.thread, r.dev, arg)
			r.wantReport("allocation-info: DxgkDdiCreateAllocation: ", tt.want, s)
			r.finish()
		})
	}
}

// wantReport checks that a broken rule was reported and made the thunk fail, or
// that none was.
func (r *rig) wantReport(prefix, want string, s ddi.Status) {
	if want == "" {
		r.ok(s)
		require.Empty(r, r.reports)
		return
	}
	require.Equal(r, ddi.StatusInvalidParameter, s)
	require.Equal(r, []string{prefix + want}, r.reports)
}

// A DMA buffer of the largest legal size does not fit in the memory of this PC.
func TestContextWithoutMemory(t *testing.T) {
	r := newRig(t, options{})
	r.mini.info.DmaBufferSize = maxBuffer
	assert.Equal(t, ddi.StatusNoMemory, r.thunks.CreateContext(r.thread, r.dev, &umddi.CreateContext{}))
	assert.Empty(t, r.reports)
	r.finish()
}

package miniport_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// tableAt is the offset in 1 MiB of VRAM of the table, of 64 KiB: the last 1/16.
const tableAt = 15 << 16

// translating returns a kernel with an aperture whose adapter runs.
func translating(t testing.TB) *kernel {
	k := newKernel(2)
	k.gpu.regs[idCaps2] = gartCap
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	return k
}

// page performs a paging operation in a buffer of n bytes.
func (k *kernel) page(arg kmddi.BuildPagingBuffer, n int) (kmddi.BuildPagingBufferOut, ddi.Status) {
	arg.DmaBuffer, arg.DmaBufferPrivateData = make([]byte, n), make([]byte, 80)
	return k.table.BuildPagingBuffer(k.thread, k.adapter, arg)
}

// entry returns an entry of the table.
func (k *kernel) entry(i uint64) uint64 {
	at := tableAt + 8*i
	return uint64(k.gpu.vram[at]) | uint64(k.gpu.vram[at+4])<<32
}

func mapPages(off uint64, mdl ...uint64) kmddi.BuildPagingBuffer {
	return kmddi.BuildPagingBuffer{Operation: 5, SegmentID: 2, OffsetInPages: off, NumberOfPages: uint64(len(mdl)), MDL: mdl}
}

func unmapping(off, n, dummy uint64) kmddi.BuildPagingBuffer {
	return kmddi.BuildPagingBuffer{Operation: 6, SegmentID: 2, OffsetInPages: off, NumberOfPages: n, DummyPage: dummy}
}

// TestApertureSegment: with a GART and a BAR of VRAM the second segment is the aperture, whose
// table VRAM lacks. Otherwise it is contiguous host memory.
func TestApertureSegment(t *testing.T) {
	host := kmddi.SegmentDescriptor{BaseAddress: 1 << 63, Size: 64 << 20, Flags: kmddi.SegmentFlags{System: true}}
	for _, tt := range []struct {
		name       string
		caps, vram uint32
		noBAR      bool
		vramSize   uint64
		want       kmddi.SegmentDescriptor
	}{
		{"aperture", gartCap, 1 << 20, false, 1<<20 - 1<<16, kmddi.SegmentDescriptor{BaseAddress: 1 << 40, Size: 8192 * 4096, Flags: kmddi.SegmentFlags{Aperture: true}}},
		{"the least VRAM", gartCap, 1 << 16, false, 1<<16 - 1<<12, kmddi.SegmentDescriptor{BaseAddress: 1 << 40, Size: 512 * 4096, Flags: kmddi.SegmentFlags{Aperture: true}}},
		{"the largest aperture", gartCap, 256 << 20, false, 252 << 20, kmddi.SegmentDescriptor{BaseAddress: 1 << 40, Size: 1 << 31, Flags: kmddi.SegmentFlags{Aperture: true}}},
		{"too little VRAM", gartCap, 1 << 15, false, 1 << 15, host},
		{"no GART", 0, 1 << 20, false, 1 << 20, host},
		{"no BAR of VRAM", gartCap, 1 << 20, true, 1 << 20, host},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(2)
			k.gpu.regs[idCaps2], k.gpu.regs[idVRAM] = tt.caps, tt.vram
			k.info.BARs[2] = 256 << 20
			if tt.noBAR {
				k.gpu.regs[idCaps] &^= 1 << 29
			}
			require.Equal(t, success, k.table.AddDevice(k.thread, k.adapter))
			_, s := k.start()
			require.Equal(t, success, s)
			out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
			require.Equal(t, success, s)
			assert.Equal(t, tt.vramSize, out.Segments.Segments[0].Size)
			assert.Equal(t, tt.want, out.Segments.Segments[1])
			out, s = k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoUMDriverPrivate})
			require.Equal(t, success, s)
			a, err := privdata.DecodeAdapter(out.UMDriverPrivate)
			require.NoError(t, err)
			assert.Equal(t, tt.vramSize, a.VRAMBytes)
			require.Equal(t, success, k.table.StopDevice(k.thread, k.adapter))
			assert.Zero(t, k.mapped)
		})
	}
}

// TestResultPlace: the words that packets read and write without translation are in VRAM if host
// memory is translated.
func TestResultPlace(t *testing.T) {
	for _, tt := range []struct {
		k    *kernel
		want kmddi.AllocationInfo
	}{
		{translating(t), kmddi.AllocationInfo{Alignment: 256, Size: 16, PreferredSegment: 1, SupportedSegmentSet: 1, CPUVisible: true}},
		{started(t, 2), kmddi.AllocationInfo{Alignment: 256, Size: 16, PreferredSegment: 2, SupportedSegmentSet: 2, CPUVisible: true, Cached: true}},
	} {
		info, s := tt.k.table.CreateAllocation(tt.k.thread, tt.k.adapter, kmddi.HAllocation{Root: &ddi.Root{}},
			kmddi.CreateAllocation{PrivateDriverData: privdata.Allocation{Place: privdata.Result, Bytes: 16}.Append(nil)})
		require.Equal(t, success, s)
		assert.Equal(t, tt.want, info)
	}
}

// TestTable: an operation is complete when it returns, also in the GPU, which answers the flush.
//
// docs/validator.md: V26.
func TestTable(t *testing.T) {
	k := translating(t)
	assert.Equal(t, []uint32{1, tableAt, 0, 0}, []uint32{k.gpu.regs[gartCtl], k.gpu.regs[gartTableLo], k.gpu.regs[gartTableHi], k.gpu.regs[gartPages]})
	var order []string
	k.hook = func(write bool, off uint32) {
		if off == gartFlushReg || off == gartPages {
			order = append(order, fmt.Sprintf("%v %#x, entry %#x", write, off, k.entry(5)))
		}
	}
	k.gpu.flushReads = 2
	out, s := k.page(mapPages(4, 0x12_3456_7000, 0x8000), 0)
	require.Equal(t, []any{kmddi.BuildPagingBufferOut{}, success}, []any{out, s})
	assert.Equal(t, []uint64{0, 0x12_3456_7003, 0x8003, 0}, []uint64{k.entry(3), k.entry(4), k.entry(5), k.entry(6)})
	assert.Equal(t, uint32(6), k.gpu.regs[gartPages])
	assert.Equal(t, []string{
		"true 0x50c, entry 0x8003", "true 0x510, entry 0x8003", "false 0x510, entry 0x8003", "false 0x510, entry 0x8003", "false 0x510, entry 0x8003",
	}, order)
	_, s = k.page(unmapping(5, 1, 0x3000), 0)
	require.Equal(t, success, s)
	_, s = k.page(mapPages(0, 0x9000), 0)
	require.Equal(t, success, s)
	assert.Equal(t, []uint64{0x9003, 0x12_3456_7003, 0x3003}, []uint64{k.entry(0), k.entry(4), k.entry(5)})
	assert.Equal(t, []int{6, 3}, []int{int(k.gpu.regs[gartPages]), k.gpu.flushes})
	assert.NotContains(t, k.debug(t), "the ring has failed")
}

// TestTableAfterAReset: no page is mapped, and entries that an earlier session left are not used.
func TestTableAfterAReset(t *testing.T) {
	k := translating(t)
	_, s := k.page(mapPages(0, 0x7000, 0x8000, 0x9000), 0)
	require.Equal(t, success, s)
	require.Equal(t, success, k.reset())
	_, s = k.page(unmapping(0, 3, 0x3000), 0)
	require.Equal(t, success, s, "while the device is reset nothing is written")
	assert.Equal(t, uint64(0x7003), k.entry(0))
	require.Equal(t, success, k.restart())
	assert.Equal(t, []uint32{1, tableAt, 0}, []uint32{k.gpu.regs[gartCtl], k.gpu.regs[gartTableLo], k.gpu.regs[gartPages]})
	_, s = k.page(mapPages(1, 0xa000), 0)
	require.Equal(t, success, s)
	assert.Equal(t, []uint64{0, 0xa003}, []uint64{k.entry(0), k.entry(1)})
	assert.Equal(t, uint32(2), k.gpu.regs[gartPages])
	assert.Equal(t, 2, k.mapped)
}

// TestTableRefuses: what cannot be done stops the node for paging.
//
// docs/validator.md: V26.
func TestTableRefuses(t *testing.T) {
	mapped := func(edit func(*kmddi.BuildPagingBuffer)) kmddi.BuildPagingBuffer {
		arg := mapPages(0, 0x7000)
		edit(&arg)
		return arg
	}
	for _, tt := range []struct {
		name string
		edit func(k *kernel)
		arg  kmddi.BuildPagingBuffer
	}{
		{"another segment", nil, mapped(func(a *kmddi.BuildPagingBuffer) { a.SegmentID = 1 })},
		{"after the last page", nil, mapPages(8192, 0x7000)},
		{"an offset that wraps", nil, mapPages(1<<64-1, 0x7000)},
		{"more pages than memory", nil, mapped(func(a *kmddi.BuildPagingBuffer) { a.NumberOfPages = 2 })},
		{"more memory than pages", nil, mapped(func(a *kmddi.BuildPagingBuffer) { a.MDL = append(a.MDL, 0x8000) })},
		{"not a page", nil, mapPages(0, 0x7800)},
		{"above the host addresses of the device", nil, mapPages(0, 1<<40)},
		{"unmaps what was not mapped", nil, unmapping(0, 1, 0x3000)},
		{"a flush without an answer", func(k *kernel) { k.gpu.flushReads = -1 }, mapPages(0, 0x7000)},
		{"a dead link", func(k *kernel) { k.dead = true }, mapPages(0, 0x7000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := translating(t)
			if tt.edit != nil {
				tt.edit(k)
			}
			out, s := k.page(tt.arg, 64)
			require.Equal(t, []any{kmddi.BuildPagingBufferOut{}, success}, []any{out, s})
			k.dead = false
			assert.Contains(t, k.debug(t), "the ring has failed")
		})
	}
	k := translating(t)
	_, s := k.page(mapPages(8191, 0xff_ffff_f000), 0)
	require.Equal(t, success, s)
	assert.Equal(t, uint32(8192), k.gpu.regs[gartPages])
	assert.NotContains(t, k.debug(t), "the ring has failed", "the last page of both")
}

// TestTransferOfPages: memory that is not contiguous is moved page by page, and a buffer that is
// full continues at the next page.
func TestTransferOfPages(t *testing.T) {
	k := translating(t)
	mdl := kmddi.MDL{0x12_0000_9000, 0x5000, 0x7000}
	in := kmddi.BuildPagingBuffer{
		Source: kmddi.PagingLocation{Address: mdl[0], MDL: mdl}, Destination: kmddi.PagingLocation{SegmentID: 1, Address: 0x100}, Size: 8193,
	}
	for _, tt := range []struct {
		arg          kmddi.BuildPagingBuffer
		room         int
		from, passes uint32
		want         []uint32
	}{
		{in, 24 * 3, 0, 0, []uint32{
			0x04000005, 0x9000, 0x80000012, 0x100, 0, 4096, 0x04000005, 0x5000, 1 << 31, 0x1100, 0, 4096, 0x04000005, 0x7000, 1 << 31, 0x2100, 0, 1,
		}},
		{in, 24*2 + 23, 1, 0, []uint32{0x04000005, 0x5000, 1 << 31, 0x1100, 0, 4096, 0x04000005, 0x7000, 1 << 31, 0x2100, 0, 1}},
		{in, 24 * 2, 0, 2, []uint32{0x04000005, 0x9000, 0x80000012, 0x100, 0, 4096, 0x04000005, 0x5000, 1 << 31, 0x1100, 0, 4096}},
		{kmddi.BuildPagingBuffer{Source: in.Destination, Destination: in.Source, Size: 4096}, 24, 0, 0, []uint32{0x04000005, 0x100, 0, 0x9000, 0x80000012, 4096}},
	} {
		b := make([]byte, tt.room)
		tt.arg.DmaBuffer, tt.arg.DmaBufferPrivateData, tt.arg.MultipassOffset = b, make([]byte, 80), tt.from
		out, s := k.table.BuildPagingBuffer(k.thread, k.adapter, tt.arg)
		status := success
		if tt.passes != 0 {
			status = ddi.StatusInsufficientDMABuffer
		}
		assert.Equal(t, []any{status, tt.passes}, []any{s, out.MultipassOffset})
		assert.Equal(t, words(tt.want...), b[:out.DmaBufferUsed])
	}
	for _, bad := range []kmddi.MDL{{0x1000}, {0x1000, 0x2000, 0x3800}, {0x1000, 0x2000, 1 << 40}} {
		k := translating(t)
		in.Source.MDL = bad
		out, s := k.page(in, 96)
		require.Equal(t, []any{kmddi.BuildPagingBufferOut{}, success}, []any{out, s})
		assert.Contains(t, k.debug(t), "the ring has failed")
	}
}

// TestWordsAreNotTranslated: a TIMESTAMP or a PREDICATE whose word may be in the aperture is
// refused.
func TestWordsAreNotTranslated(t *testing.T) {
	for _, translates := range []bool{false, true} {
		k := started(t, 2)
		if translates {
			k = translating(t)
		}
		c := k.client(t)
		for _, tt := range []struct {
			place privdata.Place
			fits  bool
		}{{privdata.Local, true}, {privdata.Either, !translates}, {privdata.System, !translates}, {privdata.Result, true}} {
			open := c.open(t, privdata.Allocation{Place: tt.place, Bytes: 64})
			list := []kmddi.AllocationList{{DeviceSpecificAllocation: open, WriteOperation: true}}
			for _, cmd := range [][]uint32{stamp(), {0x0a000003, 0, 0, 0}} {
				want := success
				if !tt.fits {
					want = parameter
				}
				_, s := k.table.Render(k.thread, c.ctx, kmddi.Render{
					Command: &userMemory{b: words(cmd...)}, PatchLocationListIn: &userPatches{list: patches{{PatchOffset: 4}}}, AllocationList: list,
					DmaBuffer: make([]byte, 64), DmaBufferPrivateData: make([]byte, 80), PatchLocationListOut: make([]kmddi.PatchLocation, 4),
				})
				assert.Equal(t, want, s, "place %d, translates %v, %#x", tt.place, translates, cmd[0])
			}
			_, s := k.table.Render(k.thread, c.ctx, kmddi.Render{
				Command: &userMemory{b: words(fillOf(8)...)}, PatchLocationListIn: &userPatches{list: patches{{PatchOffset: 4}}}, AllocationList: list,
				DmaBuffer: make([]byte, 64), DmaBufferPrivateData: make([]byte, 80), PatchLocationListOut: make([]kmddi.PatchLocation, 4),
			})
			assert.Equal(t, success, s, "a FILL is translated")
		}
	}
}

// TestResetForgetsAPageFault: a reset of a node clears the record of its own page fault, and leaves one of the other node.
func TestResetForgetsAPageFault(t *testing.T) {
	const fault, other = 0x514, 1 << 1 // GART.FAULT, and its NODE
	for _, tt := range []struct {
		name    string
		has     uint32
		node    uint32
		forgets bool
	}{
		{"no fault", 0, 0, false},
		{"of node 0", 1, 0, true}, {"of node 0, reset of node 1", 1, 1, false},
		{"of node 1", 1 | other, 1, true}, {"of node 1, reset of node 0", 1 | other, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := translating(t)
			k.gpu.regs[fault] = tt.has
			_, s := k.resetNode(tt.node)
			require.Equal(t, ddi.StatusSuccess, s)
			assert.Equal(t, tt.forgets || tt.has == 0, k.gpu.regs[fault] == 0)
		})
	}
}

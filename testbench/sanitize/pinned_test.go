package sanitize_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// tableAt is the place of the table of the aperture in VRAM.
const tableAt = 0x8000

// newMappedRig returns a rig whose first allocation is in pages 2 and 3 of the aperture. It has the pages
// 0x107000 and 0x105000 of host memory, and 0x1100 bytes.
func newMappedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.translates(tableAt, 4)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventFree, Allocation: 10})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventAllocate, Allocation: 10, Device: 1, Bytes: 0x1100, Pages: []uint64{0x107000, 0x105000}})
	r.places[10] = gartreg.Start + 0x2000
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPlace, Allocation: 10, Segment: 2, Address: gartreg.Start + 0x2000, Bytes: 0x1100, Aperture: true})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: 10, Write: true})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventUnlock, Allocation: 10})
	r.Kernel(r.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: 99, Address: 0x9000, Text: "paging buffer",
		Operations: []dxgkrnl.Operation{{Name: "MAP_APERTURE_SEGMENT", Allocation: 10, To: kmddi.PagingLocation{SegmentID: 2, Address: gartreg.Start + 0x2000}, Bytes: 0x1100}},
	})
	r.retire(99)
	require.Empty(t, r.texts)
	return r
}

// maps writes an entry of the table, in one write or in two.
func (r *rig) maps(index, entry uint64, halves bool) {
	b := binary.LittleEndian.AppendUint64(nil, entry)
	at := tableAt + 8*index
	if !halves {
		r.Memory(r.t, at, b)
		return
	}
	r.Memory(r.t, at+4, b[4:])
	r.Memory(r.t, at, b[:4])
}

// An access of the aperture is in the pages of its allocation.
func TestMappedPages(t *testing.T) {
	const (
		valid = gartreg.EntryValid | gartreg.EntryWritable
		in    = "COPY at 0x0 of submission 1 (node 0, fence 0) reads APERTURE+0x2000 to APERTURE+0x2100 of allocation 0xa, whose page APERTURE+0x2000 is "
		other = in + "mapped to HOST+0x105000, want HOST+0x107000"
	)
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want string
	}{
		"the page of the allocation": {do: func(r *rig) { r.maps(2, 0x107000|valid, false) }},
		"in two halves":              {do: func(r *rig) { r.maps(2, 0x1_0010_7000|valid, false); r.maps(2, 0x107000|valid, true) }},
		"another page":               {func(r *rig) { r.maps(2, 0x105000|valid, true) }, other},
		"a page above 4 GiB":         {func(r *rig) { r.maps(2, 0x1_0010_7000|valid, true) }, in + "mapped to HOST+0x100107000, want HOST+0x107000"},
		"no page":                    {func(r *rig) { r.maps(2, 0x107000|valid, false); r.maps(2, 0, true) }, in + "not mapped"},
		"the other page":             {do: func(r *rig) { r.maps(3, 0, false) }},
		"before the table":           {do: func(r *rig) { r.Memory(r.t, tableAt-8, make([]byte, 8)) }},
		"a table elsewhere":          {do: func(r *rig) { r.translates(0x10000, 4); r.maps(2, 0x105000|valid, false) }},
		"a part of a word":           {do: func(r *rig) { r.maps(2, 0x107000|valid, false); r.Memory(r.t, tableAt+17, []byte{1}) }},
		"nothing is known":           {do: func(*rig) {}},
		"the table moves":            {do: func(r *rig) { r.maps(2, 0x105000|valid, false); r.translates(0x10000, 4) }},
		"the table moves and returns": {do: func(r *rig) {
			r.maps(2, 0x105000|valid, false)
			r.translates(1<<32|tableAt, 4)
			r.translates(tableAt, 4)
		}},
		"the same table again":   {func(r *rig) { r.maps(2, 0x105000|valid, false); r.translates(tableAt, 4) }, other},
		"a table before a reset": {do: func(r *rig) { r.maps(2, 0x105000|valid, false); r.again(); r.translates(tableAt, 4) }},
		"a write after a reset": {do: func(r *rig) {
			r.again()
			r.Memory(r.t, 16, binary.LittleEndian.AppendUint64(nil, 0x105000|valid))
			r.translates(0, 4)
		}},
		"an aperture without a table": {do: func(r *rig) {
			r.again()
			r.gart(gartreg.Ctl, gartreg.CtlEnable)
			r.Memory(r.t, 16, binary.LittleEndian.AppendUint64(nil, 0x105000|valid))
			r.gart(gartreg.Pages, 4)
		}},
		"a table at 0": {func(r *rig) {
			r.translates(0, 4)
			r.Memory(r.t, 16, binary.LittleEndian.AppendUint64(nil, 0x105000|valid))
		}, other},
		"a disabled aperture": {do: func(r *rig) {
			r.gart(gartreg.Ctl, 0)
			r.maps(2, 0x105000|valid, false)
			r.gart(gartreg.Ctl, gartreg.CtlEnable)
		}},
		"an entry from before it was disabled": {do: func(r *rig) {
			r.maps(2, 0x105000|valid, false)
			r.gart(gartreg.Ctl, 0)
			r.gart(gartreg.Ctl, gartreg.CtlEnable)
		}},
		"an entry after the pages":   {do: func(r *rig) { r.gart(gartreg.Pages, 2); r.maps(2, 0x105000|valid, false) }},
		"an answer, so told once":    {func(r *rig) { r.maps(2, 0x105000|valid, false); r.Answered(r.t) }, other},
		"an entry of the last page":  {func(r *rig) { r.gart(gartreg.Pages, 3); r.maps(2, 0x105000|valid, false) }, other},
		"an entry and then the page": {func(r *rig) { r.gart(gartreg.Pages, 2); r.maps(2, 0x105000|valid, false); r.gart(gartreg.Pages, 4) }, other},
	} {
		r := newMappedRig(t)
		tt.do(r)
		r.texts = nil
		r.copies(t, 0, 10, 11)
		r.puts(t) // the doorbell
		got := r.found
		if tt.want == "" {
			assert.Empty(t, r.texts, name)
			continue
		}
		assert.Equal(t, []string{tt.want}, r.texts, name)
		assert.Equal(t, []string{"access-pinned"}, got, name)
	}
}

// Writes are posted. Until a read of the same thread is answered the GPU may have the value before, and if the link is
// down what the driver has left to write is not known either. Here no doorbell is rung.
func TestPostedMappings(t *testing.T) {
	const (
		valid = gartreg.EntryValid | gartreg.EntryWritable
		good  = 0x107000 | valid
		bad   = 0x105000 | valid
		high  = 1<<32 | good // of the page 4 GiB above
	)
	low := func(r *rig, entry uint64) {
		r.Memory(r.t, tableAt+16, binary.LittleEndian.AppendUint64(nil, entry)[:4])
	}
	other := new(ddi.Thread)
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want bool // a finding
	}{
		"a good page, then a bad one":                        {do: func(r *rig) { r.maps(2, bad, true) }},
		"a bad one, and an answer":                           {func(r *rig) { r.maps(2, bad, true); r.Answered(r.t) }, true},
		"the answer of another thread":                       {do: func(r *rig) { r.maps(2, bad, true); r.Answered(other) }},
		"written by another thread":                          {do: func(r *rig) { r.Memory(other, tableAt+16, binary.LittleEndian.AppendUint64(nil, bad)); r.Answered(r.t) }},
		"two bad ones":                                       {do: func(r *rig) { r.maps(2, bad, false); r.maps(2, 0, false) }},
		"two bad ones, and an answer between":                {func(r *rig) { r.maps(2, bad, false); r.Answered(r.t); r.maps(2, 0, false) }, true},
		"a bad one, then the good one":                       {do: func(r *rig) { r.maps(2, bad, false); r.Answered(r.t); r.maps(2, good, false) }},
		"half of the good one":                               {func(r *rig) { r.maps(2, high, false); r.Answered(r.t); low(r, good) }, true},
		"half of a bad one":                                  {do: func(r *rig) { low(r, bad) }},
		"half of the good one, the link dies":                {do: func(r *rig) { r.maps(2, high, false); r.Answered(r.t); low(r, good); r.LinkDown() }},
		"a bad one, the link dies":                           {do: func(r *rig) { r.maps(2, bad, false); r.Answered(r.t); r.LinkDown() }},
		"a link that died, then a bad one":                   {func(r *rig) { r.LinkDown(); r.maps(2, bad, false); r.Answered(r.t) }, true},
		"a link that died, then a bad one without an answer": {do: func(r *rig) { r.LinkDown(); r.maps(2, bad, false) }},
		"a link that died, then half":                        {do: func(r *rig) { r.LinkDown(); low(r, bad); r.Answered(r.t) }},
		"more bad ones than are kept": {do: func(r *rig) {
			for range 20 {
				r.maps(2, bad, false)
			}
		}},
		"more bad ones, then an answer": {func(r *rig) {
			for range 20 {
				r.maps(2, bad, false)
			}
			r.Answered(r.t)
		}, true},
		"written by two threads, one answered": {do: func(r *rig) {
			r.maps(2, bad, false)
			r.Memory(other, tableAt+16, binary.LittleEndian.AppendUint64(nil, good))
			r.Answered(r.t)
		}},
	} {
		r := newMappedRig(t)
		r.maps(2, good, false)
		r.Answered(r.t)
		tt.do(r)
		r.texts = nil
		r.copies(t, 0, 10, 11)
		assert.Equal(t, tt.want, len(r.texts) > 0, "%s: %q", name, r.texts)
	}
}

// Posted writes keep their order. So work has the pages that a thread has written before it rings the doorbell of the
// work, and not one of those before.
func TestMappingsAtTheDoorbell(t *testing.T) {
	const (
		valid = gartreg.EntryValid | gartreg.EntryWritable
		good  = 0x107000 | valid
		bad   = 0x105000 | valid
	)
	other := new(ddi.Thread)
	maps := func(entry uint64) func(r *rig) { return func(r *rig) { r.maps(2, entry, true) } }
	others := func(r *rig) { r.Memory(other, tableAt+16, binary.LittleEndian.AppendUint64(nil, bad)) }
	copies := func(r *rig) { r.copies(t, 0, 10, 11) }
	rings := func(by *ddi.Thread, off uint32) func(r *rig) {
		return func(r *rig) {
			thread := by
			if thread == nil {
				thread = r.t
			}
			r.Register(thread, uint64(off), uint32(len(r.ring)/4))
			r.Flush(r.t)
		}
	}
	bell := rings(nil, cpreg.Base+cpreg.Wptr)
	for name, tt := range map[string]struct {
		do   []func(r *rig)
		want int // findings
	}{
		"a bad page":                         {[]func(r *rig){maps(bad), copies, bell}, 1},
		"the doorbell of the firmware":       {[]func(r *rig){maps(bad), copies, rings(nil, mcureg.Base+mcureg.Doorbell)}, 1},
		"the good page again":                {do: []func(r *rig){maps(bad), maps(good), copies, bell}},
		"the good page before the doorbell":  {do: []func(r *rig){maps(bad), copies, maps(good), bell}},
		"a bad page after the doorbell":      {do: []func(r *rig){copies, bell, maps(bad), bell}},
		"two doorbells":                      {[]func(r *rig){maps(bad), copies, bell, bell}, 1},
		"two submissions":                    {[]func(r *rig){maps(bad), copies, copies, bell}, 2},
		"a doorbell before the work":         {do: []func(r *rig){maps(bad), bell, copies}},
		"another register":                   {do: []func(r *rig){maps(bad), copies, rings(nil, cpreg.Base+cpreg.Preempt)}},
		"the doorbell of the other node":     {do: []func(r *rig){maps(bad), copies, rings(nil, cpreg.Base+cpreg.Stride+cpreg.Wptr)}},
		"another thread rings":               {do: []func(r *rig){maps(bad), copies, rings(other, cpreg.Base+cpreg.Wptr)}},
		"another thread has written":         {do: []func(r *rig){others, copies, bell}},
		"another thread has written it last": {do: []func(r *rig){maps(bad), others, copies, bell}},
		"another thread writes and rings":    {[]func(r *rig){others, copies, rings(other, cpreg.Base+cpreg.Wptr)}, 1},
		"the link dies before the doorbell":  {do: []func(r *rig){maps(bad), copies, func(r *rig) { r.LinkDown() }, bell}},
		"the work was preempted": {do: []func(r *rig){maps(bad), copies, func(r *rig) {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPreempted, Submission: 1})
		}, bell}},
		"more writes than are kept": {[]func(r *rig){func(r *rig) {
			for range 20 {
				r.maps(2, bad, false)
			}
		}, copies, bell}, 1},
	} {
		r := newMappedRig(t)
		r.maps(2, good, false)
		r.Answered(r.t)
		for _, do := range tt.do {
			do(r)
		}
		assert.Len(t, r.texts, tt.want, name)
	}
}

// An allocation keeps its place while it must.
func TestPlaces(t *testing.T) {
	evict := func(h ddi.KMHandle) func(r *rig) {
		return func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: h}) }
	}
	lock := func(h ddi.KMHandle, ignore bool) func(r *rig) {
		return func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: h, IgnoreSync: ignore}) }
	}
	unlock := func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventUnlock, Allocation: 11}) }
	destroy := func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDestroy, Allocation: 11}) }
	copies := func(r *rig) { require.Empty(t, r.copies(t, 0, 10, 11)) }
	for name, tt := range map[string]struct {
		do   []func(r *rig)
		want string
	}{
		"work uses the aperture": {[]func(r *rig){copies, evict(10)}, "allocation 0xa is unmapped at APERTURE+0x2000 while COPY at 0x0 of submission 1 (node 0, fence 0) reads APERTURE+0x2000 to APERTURE+0x2100"},
		"work has ended":         {do: []func(r *rig){copies, func(r *rig) { r.retire(1) }, evict(10)}},
		"work was preempted":     {do: []func(r *rig){copies, func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPreempted, Submission: 1}) }, evict(10)}},
		"work uses VRAM":         {do: []func(r *rig){copies, evict(11)}},
		"an eviction uses the place before": {do: []func(r *rig){func(r *rig) {
			require.Empty(t, r.evicts(t, 11))
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPlace, Allocation: 11, Segment: 2, Address: gartreg.Start + 0x5000, Bytes: 256, Aperture: true})
		}, evict(11)}},
		"the adapter has stopped":       {do: []func(r *rig){lock(11, true), func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop}) }, evict(11)}},
		"a lock with IgnoreSync":        {[]func(r *rig){lock(11, true), evict(11)}, "allocation 0xb loses its place at VRAM+0x2000 while it is locked with IgnoreSync"},
		"one of two locks":              {[]func(r *rig){lock(11, true), lock(11, false), unlock, evict(11)}, "allocation 0xb loses its place at VRAM+0x2000 while it is locked with IgnoreSync"},
		"a lock":                        {do: []func(r *rig){lock(11, false), evict(11)}},
		"after the unlock":              {do: []func(r *rig){lock(11, true), unlock, evict(11)}},
		"it is destroyed":               {do: []func(r *rig){lock(11, true), destroy, evict(11)}},
		"a place of another one":        {[]func(r *rig){func(r *rig) { r.place(11, 0x30ff) }}, "allocation 0xb gets the place VRAM+0x30ff to VRAM+0x31ff, a part of which allocation 0xc has"},
		"a place after another one":     {do: []func(r *rig){func(r *rig) { r.place(11, 0x3100) }}},
		"a place that another one left": {do: []func(r *rig){evict(12), func(r *rig) { r.place(11, 0x3000) }}},
		"its own place":                 {do: []func(r *rig){func(r *rig) { r.place(11, 0x2080) }}},
		"a place of one that was freed": {do: []func(r *rig){func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventFree, Allocation: 12}) }, func(r *rig) { r.place(11, 0x3000) }}},
		"a place elsewhere":             {do: []func(r *rig){func(r *rig) { r.place(11, 0x3000+1<<20) }}},
	} {
		r := newMappedRig(t)
		r.maps(2, 0x107000|gartreg.EntryValid, false)
		for _, do := range tt.do {
			do(r)
		}
		if tt.want == "" {
			assert.Empty(t, r.texts, name)
			continue
		}
		assert.Equal(t, []string{tt.want}, r.texts, name)
		assert.Equal(t, []string{"access-pinned"}, r.found, name)
	}
}

// onMap changes the pages of a MAP_APERTURE_SEGMENT that r chooses. seen are the pages of all operations before.
func onMap(edit func(pages kmddi.MDL, seen []uint64, r *rand.Rand) bool) func(d *kmddi.DriverInitializationData, r *rand.Rand) {
	return func(d *kmddi.DriverInitializationData, r *rand.Rand) {
		f := d.BuildPagingBuffer
		var pages kmddi.MDL
		var seen []uint64
		skip, made := r.IntN(2), false // the frame needs two such operations
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, a kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			if a.Operation == kmddi.PagingMapApertureSegment {
				pages = append(kmddi.MDL(nil), a.MDL...)
				if skip--; skip < 0 && !made {
					made = edit(pages, seen, r)
				}
				seen, a.MDL = append(seen, a.MDL...), pages
			}
			return f(t, h, a)
		}
	}
}

// mapMistakes are those with the pages of an aperture.
func mapMistakes() []mistake {
	return []mistake{
		{"the page of another allocation is mapped", "access-pinned", onMap(func(pages kmddi.MDL, seen []uint64, r *rand.Rand) bool {
			if len(seen) == 0 {
				return false
			}
			i := seen[r.IntN(len(seen))]
			pages[0] = i
			return true
		})},
		{"a page that is no allocation's is mapped", "access-pinned", onMap(func(pages kmddi.MDL, _ []uint64, r *rand.Rand) bool {
			pages[0] -= gartreg.PageBytes * (1 + r.Uint64N(64))
			return true
		})},
	}
}

// Each mistake with the pages of an aperture is named.
func TestPlantedMappings(t *testing.T) {
	all := mapMistakes()
	for seed := range uint64(24) {
		m, r := all[seed%uint64(len(all))], rand.New(rand.NewPCG(seed, 26))
		d := driversWith(func(table *kmddi.DriverInitializationData) { m.make(table, r) })
		assert.Equal(t, m.rule, outcomeOn(t, "emu?gart=1&vram=64KiB", d, seed), "seed %d, %s", seed, m.name)
		assert.Empty(t, outcomeOn(t, "emu?gart=1&vram=64KiB", driversWith(nil), seed))
	}
}

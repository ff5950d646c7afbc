package gart_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// fault reads and clears the record of a fault.
func (r *rig) fault() (info uint32, addr uint64) {
	info, addr = r.get(gartreg.Fault), uint64(r.get(gartreg.FaultLo))|uint64(r.get(gartreg.FaultHi))<<32
	r.set(gartreg.Fault, 0)
	require.Zero(r.t, r.get(gartreg.Fault)|r.get(gartreg.FaultLo)|r.get(gartreg.FaultHi))
	return info, addr
}

const (
	invalid  = gartreg.FaultValid | gartreg.KindInvalid<<4
	readOnly = gartreg.FaultValid | gartreg.KindReadOnly<<4
	badTable = gartreg.FaultValid | gartreg.KindTable<<4
)

// Only an entry that is valid, has no other bit and a page of host memory can be used; to write,
// it must be writable.
func TestEntries(t *testing.T) {
	const good = uint64(gartreg.EntryValid | gartreg.EntryWritable)
	for i := range 66 {
		e := good
		if i < 64 {
			e ^= 1 << i
		} else if i == 64 {
			e = 0
		}
		read, write := uint32(0), uint32(0)
		switch page := i >= 12 && i < 40; {
		case page || i == 65:
		case i == 1:
			write = readOnly | gartreg.FaultWrite
		default:
			read, write = invalid, invalid|gartreg.FaultWrite
		}
		r := enabled(t, 1)
		r.entry(vramTable, 9, e)
		for _, tt := range []struct {
			desc   dma.Desc
			fault  uint32
			result gart.Result
		}{
			{copyOf(start+9*page+7, 0x50, 9), read, gart.ResultReadPage},
			{copyOf(0x50, start+9*page+7, 9), write, gart.ResultWritePage},
			{fillOf(5, start+9*page+7, 9), write, gart.ResultWritePage},
		} {
			want := outcome{tt.result, 0, len(r.sent)}
			if tt.fault == 0 {
				want = outcome{gart.ResultDone, 0, len(r.sent) + 1}
			}
			require.Equal(t, []outcome{want}, r.send(tt.desc), "entry %#x", e)
			info, addr := r.fault()
			require.Equal(t, tt.fault, info, "entry %#x", e)
			if tt.fault != 0 {
				require.Equal(t, uint64(start+9*page+7), addr)
			}
		}
	}
}

// Pages beyond PAGES, and all pages of an aperture that is not enabled, have no entry.
func TestPages(t *testing.T) {
	for _, pages := range []uint32{0, 1, 7, 8, 21, tableSize} {
		r := newRig(t, 1)
		r.enable(hostTable, pages)
		for _, n := range []uint64{0, 1, 6, 7, 8, 20, 21, 22, 63, 64, gartreg.MaxPages - 1} {
			got, want := r.send(copyOf(start+n*page, 0, 4))[0].result, gart.ResultDone
			if n >= uint64(pages) {
				want = gart.ResultReadPage
				info, addr := r.fault()
				require.Equal(t, [2]uint64{invalid, start + n*page}, [2]uint64{uint64(info), addr})
			}
			require.Equal(t, want, got, "page %d of %d", n, pages)
		}
		for _, a := range r.asked {
			require.Less(t, (a-hostTable)/8, uint64(pages), "an entry that is not there was read")
		}
		r.set(gartreg.Ctl, 0)
		require.Equal(t, gart.ResultReadPage, r.send(copyOf(start, 0, 4))[0].result)
	}
}

// The last page of the largest aperture has the last entry of a table that ends with VRAM or
// with the host's addresses. A table that does not is not read beyond them.
func TestTableIsInMemory(t *testing.T) {
	const size = gartreg.MaxPages * gartreg.EntryBytes
	for _, tt := range []struct {
		name  string
		table uint64
		page  uint64
		ok    bool
	}{
		{"the end of the host's addresses", host | 1<<40 - size, gartreg.MaxPages - 1, true},
		{"beyond the host's addresses", host | 1<<40 - size + 64, gartreg.MaxPages - 1, false},
		{"before their end", host | 1<<40 - size + 64, gartreg.MaxPages - 9, true},
		{"the end of VRAM", params.VRAMBytes - 64, 7, true},
		{"beyond VRAM", params.VRAMBytes - 64, 8, false},
		{"after VRAM", params.VRAMBytes, 0, false},
		{"a carry into the bit of host memory", 1<<63 - 64, 8, false},
		{"a carry out of the host's addresses", host | (1<<63 - 64), 8, false},
		{"the aperture itself", start, 0, false},
	} {
		r := newRig(t, 1)
		r.enable(tt.table, 8)
		r.set(gartreg.Pages, gartreg.MaxPages)
		r.words[tt.table+8*tt.page] = valid(5)
		got := r.send(copyOf(start+tt.page*page, 0, 4))[0].result
		info, _ := r.fault()
		if tt.ok {
			require.Equal(t, gart.ResultDone, got, tt.name)
			require.Equal(t, []uint64{tt.table + tt.page/8*64}, r.asked, tt.name)
		} else {
			require.Equal(t, gart.ResultReadPage, got, tt.name)
			require.EqualValues(t, badTable, info, tt.name)
			require.Empty(t, r.asked, tt.name)
		}
	}
}

// An error in any word of the answer is a fault, and nothing of the answer is kept.
func TestTableErrors(t *testing.T) {
	for word := range uint64(8) {
		r := enabled(t, 1)
		broken := true
		r.bad = func(addr uint64) bool { return broken && addr == vramTable+64+8*word }
		require.Equal(t, []outcome{{gart.ResultWritePage, 0, 0}}, r.send(fillOf(1, start+8*page, 4)))
		info, addr := r.fault()
		require.EqualValues(t, badTable|gartreg.FaultWrite, info)
		require.Equal(t, start+8*uint64(page), addr)
		broken = false
		require.Equal(t, gart.ResultDone, r.send(fillOf(1, start+8*page, 4))[0].result)
		require.Len(t, r.asked, 2)
	}
}

// The record has the first fault, and tells that there were others. The parts before a page that
// cannot be accessed are complete when its descriptor ends.
func TestRecord(t *testing.T) {
	r := enabled(t, 1)
	r.moves = 40
	r.entry(vramTable, 10, 0)
	r.entry(vramTable, 12, valid(4)&^gartreg.EntryWritable)
	r.queue = []part{
		{Desc: copyOf(start+8*page+5, 0, 3*4096)}, {Desc: copyOf(start+12*page, start+11*page+0xfff, 3), owner: 1}, {Desc: copyOf(0, 8, 8)},
	}
	got := r.wait(3)
	assert.Equal(t, []outcome{{gart.ResultReadPage, 0, 2}, {gart.ResultWritePage, 1, 3}, {gart.ResultDone, 0, 4}}, got)
	info, addr := r.fault()
	assert.EqualValues(t, invalid|gartreg.FaultLost, info)
	assert.Equal(t, uint64(start+10*page), addr)
	r.queue = []part{{Desc: copyOf(start+12*page, start+11*page+0xfff, 3), owner: 1}}
	r.wait(1)
	info, addr = r.fault()
	assert.EqualValues(t, readOnly|gartreg.FaultNode|gartreg.FaultWrite, info)
	assert.Equal(t, uint64(start+12*page), addr)
}

// A descriptor of many parts ends once, after its last part in flight, with the first error. It
// sends few parts after an error, and the next one of its node is cancelled if it has After.
func TestErrors(t *testing.T) {
	for bad := range 6 {
		for _, result := range []dma.Result{dma.ResultReadError, dma.ResultWriteError} {
			for _, stall := range []int{0, 30} {
				r := enabled(t, uint64(bad))
				r.stall, r.moves = stall, 30
				r.fails = func(_ part, n int) dma.Result {
					if n == bad {
						return result
					}
					return dma.ResultDone
				}
				next := copyOf(start+30*page, 0, 8)
				next.After = true
				r.queue = []part{{Desc: copyOf(start, 0, 6*4096)}, {Desc: next}, {Desc: copyOf(start, 0, 16), owner: 1}}
				got := r.wait(3)
				want := gart.ResultReadError
				if result == dma.ResultWriteError {
					want = gart.ResultWriteError
				}
				require.Equal(t, outcome{want, 0, got[0].sent}, got[0])
				require.Less(t, bad, got[0].sent)
				require.Equal(t, gart.ResultWriteError, got[1].result, "part %d", bad)
				require.Equal(t, outcome{gart.ResultDone, 1, got[2].sent}, got[2])
				require.Zero(t, r.get(gartreg.Fault))
			}
		}
	}
}

// The error of a part is before the fault of a later page. After the failure of its node a page
// that cannot be accessed is no fault, because the descriptor is cancelled.
func TestErrorBeforeFault(t *testing.T) {
	r := enabled(t, 1)
	r.moves = 30
	r.entry(vramTable, 1, 0)
	r.fails = func(part, int) dma.Result { return dma.ResultReadError }
	assert.Equal(t, []outcome{{gart.ResultReadError, 0, 1}}, r.send(copyOf(start, 0, 8192)))
	next := copyOf(start+page, 0, 8)
	next.After = true
	assert.Equal(t, []outcome{{gart.ResultWriteError, 0, 1}}, r.send(next))
	assert.Zero(t, r.get(gartreg.Fault))
	r.queue = []part{{Desc: next, owner: 1}}
	assert.Equal(t, []outcome{{gart.ResultReadPage, 1, 1}}, r.wait(1), "another node has not failed")
	r.fault()
	next.After = false
	assert.Equal(t, []outcome{{gart.ResultReadPage, 0, 1}}, r.send(next))
}

// While a failure is told no descriptor is taken, so that a node can withdraw the next one.
func TestNothingIsTakenAfterAFailure(t *testing.T) {
	r := enabled(t, 1)
	r.entry(vramTable, 0, 0)
	r.queue = []part{{Desc: copyOf(start, 0, 8)}, {Desc: copyOf(0, 8, 8)}}
	for len(r.got) == 0 {
		r.tick(regbus.Req{}, false)
	}
	require.False(t, r.m.Ready())
	r.queue = nil
	r.tick(regbus.Req{}, false)
	assert.True(t, r.m.Ready())
	assert.Empty(t, r.sent)
}

// A node that cancels its descriptors in any clock of one gets one result, no read stays
// unanswered, and the other node and later descriptors are done as usual.
func TestCancelAtEachClock(t *testing.T) {
	cut := 0
	for at := range 150 {
		r := enabled(t, uint64(at))
		r.stall, r.moves = at%3*20, 10
		r.queue = []part{{Desc: copyOf(start, start+20*page+8, 3*4096)}}
		for range at {
			r.tick(regbus.Req{}, false)
		}
		r.cancel = 1
		if len(r.got) == 0 && len(r.queue) == 0 {
			got := r.wait(1)[0]
			require.Contains(t, []gart.Result{gart.ResultDone, gart.ResultWriteError}, got.result)
			if got.result == gart.ResultWriteError && got.sent < 6 {
				cut++
			}
		}
		for range 60 {
			r.tick(regbus.Req{}, false)
		}
		require.Len(t, r.got, 1)
		require.Empty(t, r.reads)
		require.Empty(t, r.flight)
		require.Zero(t, r.get(gartreg.Fault))
		r.queue = append(r.queue, part{Desc: copyOf(start+40*page, 0, 8192), owner: 1})
		require.Equal(t, gart.ResultDone, r.wait(1)[0].result)
		r.cancel = 0
		require.Equal(t, gart.ResultDone, r.send(copyOf(start+50*page, 0, 8192))[0].result)
	}
	assert.Greater(t, cut, 20)
}

// A reset in any clock leaves nothing. A read in flight is not answered after it.
func TestResetAtEachClock(t *testing.T) {
	for at := range 100 {
		r := enabled(t, uint64(at))
		r.entry(vramTable, 3, 0)
		r.stall = at % 3 * 20
		r.queue = []part{{Desc: copyOf(start, start+20*page+8, 5*4096)}}
		for range at {
			r.tick(regbus.Req{}, false)
		}
		r.queue = nil
		r.tick(regbus.Req{}, true)
		fresh := gart.New(params)
		var got, want [gart.ModuleWords]uint64
		r.m.Snapshot(got[:])
		fresh.Snapshot(want[:])
		require.Equal(t, want[:gart.ModuleWords-1], got[:gart.ModuleWords-1], "clock %d", at) // the last word is the RAM's output
		r.forget()
		r.enable(hostTable, tableSize)
		from := len(r.sent)
		require.Equal(t, gart.ResultDone, r.send(copyOf(start, 0, 8))[0].result)
		require.Equal(t, physical(start), r.sent[from].Src)
	}
}

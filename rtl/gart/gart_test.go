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

// descs returns the descriptors of parts.
func descs(parts []part) []dma.Desc {
	var all []dma.Desc
	for _, p := range parts {
		all = append(all, p.Desc)
	}
	return all
}

// Parts end at the pages of the aperture. Addresses outside of it stay as they are.
func TestParts(t *testing.T) {
	p := func(page, off uint64) uint64 { return start + page*4096 + off }
	later := func(d dma.Desc) dma.Desc { d.After = true; return d }
	for _, tt := range []struct {
		name string
		desc dma.Desc
		want []dma.Desc
	}{
		{"VRAM to host memory", copyOf(0x123, host|0x7777, 100_000), []dma.Desc{copyOf(0x123, host|0x7777, 100_000)}},
		{"a host address with the bit of the aperture", copyOf(host|start>>1|5, 8, 9), []dma.Desc{copyOf(host|start>>1|5, 8, 9)}},
		{"a value like an address in the aperture", fillOf(start, 0x100, 5000), []dma.Desc{fillOf(start, 0x100, 5000)}},
		{"a source inside of a page", copyOf(p(2, 0x10), 0x100, 16), []dma.Desc{copyOf(physical(p(2, 0x10)), 0x100, 16)}},
		{"a destination inside of a page", copyOf(host|0x100, p(2, 0xff0), 16), []dma.Desc{copyOf(host|0x100, physical(p(2, 0xff0)), 16)}},
		{"a whole page", copyOf(p(63, 0), 0x100, 4096), []dma.Desc{copyOf(physical(p(63, 0)), 0x100, 4096)}},
		{"a source of two pages", copyOf(p(0, 0xfff), 0x100, 3), []dma.Desc{copyOf(physical(p(0, 0xfff)), 0x100, 1), later(copyOf(physical(p(1, 0)), 0x101, 2))}},
		{"a destination of three pages", copyOf(0x100, p(7, 0xffe), 4100), []dma.Desc{
			copyOf(0x100, physical(p(7, 0xffe)), 2), later(copyOf(0x102, physical(p(8, 0)), 4096)), later(copyOf(0x1102, physical(p(9, 0)), 2)),
		}},
		{"pages of both", copyOf(p(1, 0xffd), p(5, 0xffe), 5), []dma.Desc{
			copyOf(physical(p(1, 0xffd)), physical(p(5, 0xffe)), 2), later(copyOf(physical(p(1, 0xfff)), physical(p(6, 0)), 1)),
			later(copyOf(physical(p(2, 0)), physical(p(6, 1)), 2)),
		}},
		{"a source that begins a page first", copyOf(p(1, 0xffe), p(5, 0xffd), 5), []dma.Desc{
			copyOf(physical(p(1, 0xffe)), physical(p(5, 0xffd)), 2), later(copyOf(physical(p(2, 0)), physical(p(5, 0xfff)), 1)),
			later(copyOf(physical(p(2, 1)), physical(p(6, 0)), 2)),
		}},
		{"a fill", fillOf(0x8877665544332211, p(3, 8), 16), []dma.Desc{fillOf(0x8877665544332211, physical(p(3, 8)), 16)}},
		{"a fill of two pages", fillOf(0x8877665544332211, p(3, 0xffd), 16), []dma.Desc{
			fillOf(0x8877665544332211, physical(p(3, 0xffd)), 3), later(fillOf(0x3322118877665544, physical(p(4, 0)), 13)),
		}},
		{"a fill cut at a multiple of 8", fillOf(0x8877665544332211, p(3, 0xff0), 24), []dma.Desc{
			fillOf(0x8877665544332211, physical(p(3, 0xff0)), 16), later(fillOf(0x8877665544332211, physical(p(4, 0)), 8)),
		}},
		{"After of the descriptor", later(copyOf(1, p(0, 1), 4)), []dma.Desc{later(copyOf(1, physical(p(0, 1)), 4))}},
	} {
		for _, table := range []uint64{vramTable, hostTable} {
			r := newRig(t, 1)
			r.enable(table, tableSize)
			for range 2 { // the second time all entries are kept
				before := len(r.sent)
				require.Equal(t, []outcome{{gart.ResultDone, 0, before + len(tt.want)}}, r.send(tt.desc), tt.name)
				require.Equal(t, tt.want, descs(r.sent[before:]), tt.name)
			}
		}
	}
}

// A fill is cut at each byte, and each byte of memory gets its byte of the value.
func TestFillIsCutAnywhere(t *testing.T) {
	const value = 0x8877665544332211
	for n := range uint32(20) {
		r := enabled(t, 1)
		r.send(fillOf(value, start+page-uint64(n), 40))
		var got []byte
		for _, p := range r.sent {
			for i := range p.Len {
				got = append(got, byte(p.Src>>(8*(i%8))))
			}
		}
		for i, b := range got {
			require.EqualValues(t, byte(uint64(value)>>(8*(i%8))), b, "byte %d, cut at %d", i, n)
		}
		require.Len(t, got, 40)
	}
}

// A miss reads the eight entries of an aligned block. Four blocks are kept, and the oldest one
// is replaced.
func TestMiss(t *testing.T) {
	r := enabled(t, 1)
	at := func(page uint64) uint64 { return vramTable + page/8*64 }
	touch := func(pages ...uint64) (read []uint64) {
		before := len(r.asked)
		for _, n := range pages {
			require.Equal(t, gart.ResultDone, r.send(copyOf(start+n*page, 0, 8))[0].result)
			require.Equal(t, physical(start+n*page), r.sent[len(r.sent)-1].Src, "page %d", n)
		}
		return r.asked[before:]
	}
	assert.Equal(t, []uint64{at(13)}, touch(13, 8, 9, 10, 11, 12, 14, 15, 13))
	assert.Equal(t, []uint64{at(7), at(16), at(24)}, touch(7, 16, 15, 24, 0, 31))
	assert.Equal(t, []uint64{at(32)}, touch(32, 0, 16, 24, 39), "the oldest block is replaced")
	assert.Equal(t, []uint64{at(8), at(0), at(16), at(24), at(32)}, touch(8, 0, 16, 24, 32))
	assert.Empty(t, touch(0, 16, 24, 32))
}

// An entry that was read is used until a flush, and a changed one after it.
func TestFlush(t *testing.T) {
	r := enabled(t, 1)
	src := func() uint64 {
		require.Equal(t, gart.ResultDone, r.send(copyOf(start+5*page, 0, 8))[0].result)
		return r.sent[len(r.sent)-1].Src
	}
	old := physical(start + 5*page)
	require.Equal(t, old, src())
	r.entry(vramTable, 5, valid(77))
	require.Equal(t, old, src(), "stale")
	r.entry(vramTable, 5, 0)
	require.Equal(t, old, src(), "stale")
	r.set(gartreg.Flush, 0)
	require.Equal(t, old, src(), "a write of 0 is no flush")
	r.entry(vramTable, 5, valid(78))
	r.set(gartreg.Flush, gartreg.FlushBusy)
	require.Zero(t, r.get(gartreg.Flush))
	require.Equal(t, host|valid(78)&^0xfff, src())
	r.entry(vramTable, 5, 0)
	r.set(gartreg.Flush, gartreg.FlushBusy)
	assert.Equal(t, gart.ResultReadPage, r.send(copyOf(start+5*page, 0, 8))[0].result)
}

// A flush in any clock of a copy is acknowledged when each part that was translated before it
// has ended, and what is translated after it has the entries of after it.
func TestFlushAtEachClock(t *testing.T) {
	waited := 0
	for at := range 120 {
		for _, stall := range []int{0, 40} {
			r := enabled(t, uint64(at))
			r.stall, r.moves = stall, 15
			r.queue = []part{{Desc: copyOf(start+6*page, start+20*page, 4*4096)}, {Desc: copyOf(0, start+5*page, 64), owner: 1}}
			for range at {
				r.tick(regbus.Req{}, false)
			}
			for i := range uint64(tableSize) {
				r.entry(vramTable, i, valid(3*i+1000))
			}
			r.tick(regbus.Req{Op: regbus.Write, Off: gartreg.Base + gartreg.Flush, Data: 1}, false)
			before := len(r.sent)
			if d, _ := r.m.Desc(); d.Op != dma.None {
				before++
			}
			for r.get(gartreg.Flush) != 0 {
				require.LessOrEqual(t, len(r.sent), before, "a part was translated while the flush was not acknowledged")
				if r.done < before {
					waited++
				}
			}
			require.GreaterOrEqual(t, r.done, before, "acknowledged too early, clock %d", at)
			for len(r.got) < 2 {
				r.tick(regbus.Req{}, false)
			}
			for i, p := range r.sent {
				fresh := valid(1000)&^0xfff <= p.Dst&^host
				require.Equal(t, i >= before, fresh, "part %d of %d, flush in clock %d", i, before, at)
			}
		}
	}
	assert.NotZero(t, waited)
}

// A flush that is written while one is not acknowledged begins anew.
func TestFlushAgain(t *testing.T) {
	r := enabled(t, 1)
	r.frozen = true
	r.queue = []part{{Desc: copyOf(start, 0, 8)}}
	for len(r.sent) == 0 {
		r.tick(regbus.Req{}, false)
	}
	for range 3 {
		r.set(gartreg.Flush, 1)
		require.EqualValues(t, 1, r.get(gartreg.Flush))
	}
	r.frozen = false
	r.wait(1)
	assert.Zero(t, r.get(gartreg.Flush))
}

// Parts of copies are in flight together: a lookup does not wait for the part before.
func TestPartsOverlap(t *testing.T) {
	r := enabled(t, 1)
	r.frozen = true
	r.queue = []part{{Desc: copyOf(start, 0, 4*4096)}, {Desc: copyOf(start+32*page, 0, 100), owner: 1}}
	for range 200 {
		r.tick(regbus.Req{}, false)
	}
	assert.Len(t, r.flight, 5)
	r.frozen = false
	assert.Equal(t, []outcome{{gart.ResultDone, 0, 5}, {gart.ResultDone, 1, 5}}, r.wait(2))
}

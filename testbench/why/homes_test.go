package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// mappedRun has allocation 5 in two pages of host memory that do not follow each other, in the aperture from event 10 on, and allocation 6 in
// VRAM. Allocation 7 has the pages of allocation 5 after it.
func mappedRun() *Run {
	at := func(event uint64) Point { return Point{Event: event} }
	r := &Run{mapped: map[uint64]bool{2: true}, places: []*place{
		{allocation: 5, address: pkt.Host | 0x9000, size: pageBytes, from: at(1), to: at(50), memory: true},
		{allocation: 5, address: pkt.Host | 0x4000, within: pageBytes, size: 0x100, from: at(1), to: at(50), memory: true},
		{allocation: 5, segment: 2, address: gartreg.Start + 0x2000, size: 2 * pageBytes, from: at(10)},
		{allocation: 6, address: pkt.Host | 0x20000, size: 0x100, from: at(1), memory: true},
		{allocation: 6, segment: 1, address: 0x3000, size: 0x100, from: at(10)},
		{allocation: 7, address: pkt.Host | 0x9000, size: pageBytes, from: at(51), memory: true},
		{allocation: 7, segment: 2, address: gartreg.Start + 0x6000, size: 2 * pageBytes, from: at(10)},
	}}
	return r
}

// An address in the aperture leads to the page of its allocation.
func TestPageOf(t *testing.T) {
	r := mappedRun()
	for _, tt := range []struct {
		s    spot
		addr uint64
		home spot
	}{
		{spot{5, gartreg.Start + 0x2000, 0x123}, pkt.Host | 0x9123, spot{5, pkt.Host | 0x9000, 0x123}},
		{spot{5, gartreg.Start + 0x2000, 0x1010}, pkt.Host | 0x4010, spot{5, pkt.Host | 0x4000, 0x1010}},
		{spot{5, gartreg.Start + 0x2000, 0x1100}, 0, spot{}}, // after the end
		{spot{5, gartreg.Start + 0x4000, 0x123}, 0, spot{}},  // another place
		{spot{6, 0x3000, 0x10}, 0, spot{}},                   // in VRAM
	} {
		addr, home, ok := r.pageOf(tt.s, Point{Event: 20})
		assert.Equal(t, tt.addr != 0, ok, "%+v", tt.s)
		assert.Equal(t, tt.addr, addr, "%+v", tt.s)
		assert.Equal(t, tt.home, home, "%+v", tt.s)
	}
	_, _, ok := r.pageOf(spot{5, gartreg.Start + 0x2000, 0x123}, Point{Event: 9})
	assert.False(t, ok, "before it is in the aperture")
	r.mapped = map[uint64]bool{}
	_, _, ok = r.pageOf(spot{5, gartreg.Start + 0x2000, 0x123}, Point{Event: 20})
	assert.False(t, ok, "the log has no MAP_APERTURE_SEGMENT")
}

// What a packet writes through an aperture is in the host memory of its allocation, and a copy from there has its origin in it.
func TestThrough(t *testing.T) {
	const dst = gartreg.Start + 0x2000 + 0x1000
	data := func(c pkt.Copy) []byte {
		b, err := c.Append(nil)
		require.NoError(t, err)
		return b
	}
	sub := func(event, dstOf, within uint64, c pkt.Copy) *submission {
		return &submission{
			queued: Point{Event: event}, finished: event + 1, packets: []packet{{data: data(c), executed: Point{Event: event + 1}}},
			uses: []use{{offset: 4, allocation: 6}, {offset: 12, allocation: dstOf, within: within}},
		}
	}
	write := sub(20, 5, 0x1000, pkt.Copy{Src: 0x3000, Dst: dst, Bytes: 0x40})
	other := sub(22, 7, 0x1000, pkt.Copy{Src: 0x3040, Dst: gartreg.Start + 0x7000, Bytes: 0x40})
	read := sub(24, 6, 0, pkt.Copy{Src: pkt.Host | 0x4000, Dst: 0x3000, Bytes: 0x40})
	r := mappedRun()
	all := []*submission{write, other, read}
	m := move{sub: read, packet: &read.packets[0], when: Point{Event: 25}, copies: true, dst: 0x3000, src: pkt.Host | 0x4000, bytes: 0x40, rows: 1}
	src := r.sourceOf(all, m, 0x3010)
	require.True(t, src.found)
	assert.Equal(t, &write.packets[0], src.last.packet)
	assert.Equal(t, uint64(dst+0x10), src.at)
	assert.Equal(t, spot{5, pkt.Host | 0x4000, 0x1010}, src.spot)

	m.bytes = 0x80
	assert.False(t, r.sourceOf(all, m, 0x3050).found, "after what the packet wrote")
	r.mapped = map[uint64]bool{1: true}
	assert.False(t, r.sourceOf(all, m, 0x3010).found, "it was in no aperture")
}

package why

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// The places of the tests: allocation 5 is at 0x100 from event 10 to 20 and at 0x800 from 30 on, and allocation 6 is at 0x100
// from event 20 on. Their host memory is at 0x5000 and 0x6000.
func spotRun() *Run {
	at := func(event uint64) Point { return Point{Event: event} }
	return &Run{places: []*place{
		{allocation: 5, address: pkt.Host | 0x5000, size: 0x200, from: at(1), memory: true},
		{allocation: 6, address: pkt.Host | 0x6000, size: 0x200, from: at(2), memory: true},
		{allocation: 5, segment: 1, address: 0x100, size: 0x200, from: at(10), to: at(20)},
		{allocation: 6, segment: 1, address: 0x100, size: 0x200, from: at(20)},
		{allocation: 5, segment: 1, address: 0x800, size: 0x200, from: at(30)},
	}}
}

// transfer is an operation that moves an allocation.
func transfer(allocation, fromSegment, from, toSegment, to uint64) paging {
	return paging{"TRANSFER", allocation, fromSegment, from, toSegment, to, 0x200}
}

// A paging buffer whose operations use the same address for two allocations is read right, whenever it is executed.
func TestSpotOfPaging(t *testing.T) {
	r := spotRun()
	s := &submission{kind: pagingKind, queued: Point{Event: 40}, pagings: []paging{
		transfer(5, 1, 0x100, 0, 0x5000), transfer(6, 1, 0x100, 0, 0x6000), transfer(7, 1, 0x100, 1, 0x400), transfer(8, 1, 0x100, 1, 0xa00),
	}}
	m := move{sub: s, copies: true}
	for to, want := range map[uint64]spot{
		pkt.Host | 0x5010: {5, 0x100, 0x10}, pkt.Host | 0x6010: {6, 0x100, 0x10}, 0x410: {7, 0x100, 0x10}, 0xa10: {8, 0x100, 0x10},
	} {
		got, ok := r.spotOf(m, 0x110, to, false)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	for _, to := range []uint64{pkt.Host | 0x5014, pkt.Host | 0x7010, 0x414, 0x1010} {
		_, ok := r.spotOf(m, 0x110, to, false)
		assert.False(t, ok, "%#x", to)
	}
	got, ok := r.spotOf(m, pkt.Host|0x6020, 0x120, false)
	assert.True(t, ok)
	assert.Equal(t, spot{6, pkt.Host | 0x6000, 0x20}, got)
}

// The content of a place is that of its allocation if the last writer wrote it for that one, after the kernel planned the place.
func TestStale(t *testing.T) {
	r := spotRun()
	reader := move{sub: &submission{kind: renderKind, queued: Point{Event: 50}}}
	writer := func(event uint64, o paging) move {
		return move{sub: &submission{kind: pagingKind, queued: Point{Event: event}, pagings: []paging{o}}}
	}
	of6, of5 := spot{6, 0x100, 0x10}, spot{5, 0x800, 0x10}
	for name, tt := range map[string]struct {
		last move
		addr uint64
		of   spot
		want bool
	}{
		"its own content":              {writer(25, transfer(6, 0, 0x6000, 1, 0x100)), 0x110, of6, false},
		"that of the one before":       {writer(25, transfer(5, 0, 0x5000, 1, 0x100)), 0x110, of6, true},
		"its own, of an earlier place": {writer(29, transfer(5, 0, 0x5000, 1, 0x800)), 0x810, of5, true},
		"its own, of this place":       {writer(31, transfer(5, 0, 0x5000, 1, 0x800)), 0x810, of5, false},
		"beside it":                    {writer(31, transfer(5, 0, 0x5000, 1, 0x600)), 0x810, of5, true},
		"paged out":                    {writer(31, transfer(5, 1, 0x800, 0, 0x5000)), 0x5010, spot{5, 0x5000, 0x10}, true},
		"host memory":                  {writer(1, transfer(5, 1, 0x800, 0, 0x5000)), pkt.Host | 0x5010, spot{5, pkt.Host | 0x5000, 0x10}, false},
	} {
		assert.Equal(t, tt.want, r.stale(reader, tt.last, tt.addr, tt.of), name)
	}
	used := move{packet: &packet{offset: 8}, copies: true, dst: 0x110, sub: &submission{kind: renderKind, queued: Point{Event: 25}, uses: []use{{offset: 12, allocation: 6}, {offset: 20, allocation: 5}}}}
	assert.True(t, r.stale(reader, used, 0x110, of6), "the packet writes allocation 5, and reads allocation 6")
}

// The CPU writes what an address has after the allocation came there and before the move.
func TestUploaded(t *testing.T) {
	r := spotRun()
	for _, event := range []uint64{5, 12, 25, 60} {
		r.locks = append(r.locks, &cpuWrite{allocation: 5, from: Point{Event: event}})
	}
	r.locks = append(r.locks, &cpuWrite{allocation: 6, from: Point{Event: 45}})
	at := func(event uint64) move {
		return move{when: Point{Event: event}, sub: &submission{queued: Point{Event: event}}}
	}
	for _, tt := range []struct{ event, base, want uint64 }{
		{50, pkt.Host | 0x5000, 25}, {61, pkt.Host | 0x5000, 60}, {60, pkt.Host | 0x5000, 25}, {5, pkt.Host | 0x5000, 0}, {18, 0x100, 12}, {50, 0x800, 0}, {70, 0x800, 60},
	} {
		var got uint64
		if w := r.uploaded(at(tt.event), spot{allocation: 5, base: tt.base}); w != nil {
			got = w.from.Event
		}
		assert.Equal(t, tt.want, got, "%+v", tt)
	}
}

package why

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A copy reads its source row by row, and a fill reads nothing.
func TestMoveReads(t *testing.T) {
	m := move{src: 0x100, dst: 0x1000, bytes: 16, rows: 3, srcPitch: 0x40, dstPitch: 0x20, copies: true}
	for addr, want := range map[uint64]bool{
		0xff: false, 0x100: true, 0x10f: true, 0x110: false, 0x140: true, 0x18f: true, 0x190: false, 0x1c0: false, 0x1000: false, pkt.Host | 0x100: false,
	} {
		assert.Equal(t, want, m.reads(addr), "%#x", addr)
	}
	fill := move{bytes: 16, rows: 1}
	assert.False(t, fill.reads(0), "a fill")
}

// Contacts are in the order of their events: a fence, and the locks of the CPU.
func TestContactsAreInOrder(t *testing.T) {
	r := &Run{
		places: []*place{{allocation: 5, address: pkt.Host | 0x1000, size: 0x100, from: Point{Event: 1}}},
		locks:  []*cpuWrite{{allocation: 5, from: Point{Event: 10}}, {allocation: 5, from: Point{Event: 30}}},
		order:  []*submission{{word: 0x1008, written: Point{Event: 20}}},
	}
	writes, reads := r.contacts(pkt.Host | 0x1008)
	var events []uint64
	for _, w := range writes {
		events = append(events, w.Event)
	}
	assert.Equal(t, []uint64{10, 20, 30}, events)
	assert.Empty(t, reads)
}

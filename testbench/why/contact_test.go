package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	of := r.contacts(pkt.Host | 0x1008)
	var events []uint64
	for _, w := range of.writes {
		events = append(events, w.Event)
	}
	assert.Equal(t, []uint64{10, 20, 30}, events)
	assert.Empty(t, of.reads)
}

// copyRun returns a run of a submission in a buffer at HOST+0x100000, without allocations. Its COPY reads 16 bytes at
// VRAM+0x8000 and writes them to VRAM+0x9000. Its INDIRECT is in a ring at HOST+0x7000.
func copyRun(t *testing.T) *Run {
	t.Helper()
	data, err := pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}.Append(nil)
	require.NoError(t, err)
	indirect, err := pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: uint32(len(data) / 4)}.Append(nil)
	require.NoError(t, err)
	return &Run{order: []*submission{{
		serial: 3, fence: 2, buffer: 0x100000, end: uint64(len(data)), kind: "DxgkDdiRender",
		queued: Point{10, 100}, submitted: Point{20, 200}, begun: Point{25, 250}, retired: Point{40, 400},
		packets: []packet{{data: data, executed: Point{30, 300}}},
		ring:    []ringPacket{{address: pkt.Host | 0x7000, data: indirect}},
	}}}
}

// An address outside of every allocation and buffer is answered if something has used it.
func TestAddressOutside(t *testing.T) {
	const by = "last by submission 3 (fence 2 of node 0)"
	for addr, want := range map[uint64]struct {
		verdict string
		used    uint64 // event
	}{
		0x9000:              {"it was written once, " + by, 30},
		0x900f:              {"it was written once, " + by, 30},
		0x8000:              {"nothing wrote it, and it was read once, " + by, 30},
		pkt.Host | 0x7004:   {"nothing wrote it, and it was read once, " + by, 25},
		pkt.Host | 0x100000: {"nothing wrote it, and it was read once, " + by, 25},
	} {
		a, err := copyRun(t).Address(addr)
		if !assert.NoError(t, err, "%#x", addr) {
			continue
		}
		assert.Equal(t, want.verdict, a.Verdict, "%#x", addr)
		var events []uint64
		for _, s := range a.Chain {
			events = append(events, s.Event)
		}
		assert.Contains(t, events, want.used, "%#x", addr)
	}
	for _, addr := range []uint64{0x7fff, 0x8010, 0x8fff, 0x9010, pkt.Host | 0x9000, pkt.Host | 0x6fff} {
		_, err := copyRun(t).Address(addr)
		assert.ErrorIs(t, err, ErrQuestion, "%#x", addr)
	}
}

// The verb of what did not happen is that of what was asked.
func TestTimes(t *testing.T) {
	assert.Equal(t, "nothing wrote it", times("wrote", "written", 0, nil, &Answer{}))
	assert.Equal(t, "nothing read it", times("read", "read", 0, nil, &Answer{}))
	assert.Equal(t, "it was written once", times("wrote", "written", 1, nil, &Answer{}))
	assert.Equal(t, "it was read 2 times, last by the CPU", times("read", "read", 2, []contact{{}}, &Answer{}))
}

package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A NOP of any length leaves the packets after it in their places. The first FENCE goes to memory of the miniport,
// and the GPU may write it. The second one goes to the ring, and is named with its own address.
func TestFenceAfterNOP(t *testing.T) {
	for skip, want := range map[uint16]string{ // each FENCE has 20 bytes, also that of newRig
		0:   "FENCE at HOST+0x802c",
		14:  "FENCE at HOST+0x8064",
		15:  "FENCE at HOST+0x8068",
		16:  "FENCE at HOST+0x806c",
		31:  "FENCE at HOST+0x80a8",
		100: "FENCE at HOST+0x81bc",
	} {
		r := newRig(t)
		require.Empty(t, r.puts(t, pkt.NOP{Skip: skip}, pkt.Fence{Addr: pkt.Host | 0x8f00, ID: 2}), "%d dwords", skip)
		r.Wrote(0x8f00, make([]byte, 8))
		r.Flush(r.t)
		assert.Empty(t, r.texts, "%d dwords", skip)

		r = newRig(t)
		got := r.puts(t, pkt.NOP{Skip: skip}, pkt.Fence{Addr: pkt.Host | 0x8f00, ID: 2}, pkt.Fence{Addr: pkt.Host | 0x8200, ID: 3})
		assert.Equal(t, []string{want + " in the ring of node 0 writes HOST+0x8200 to HOST+0x8208, the ring of node 0"}, got, "%d dwords", skip)
	}
}

// The fences after a long NOP are not treated as its body, however many there are.
func TestFencesAfterNOP(t *testing.T) {
	r := newRig(t)
	packets := []pkt.Packet{pkt.NOP{Skip: 31}}
	for i := range uint64(8) {
		packets = append(packets, pkt.Fence{Addr: pkt.Host | 0x8e00 + 16*i, ID: uint32(2 + i)})
	}
	require.Empty(t, r.puts(t, packets...))
	for i := range uint64(8) {
		r.Wrote(0x8e00+16*i, make([]byte, 8))
		r.Flush(r.t)
		assert.Empty(t, r.texts, "fence %d", i)
	}
}

// A FENCE of which the host has put a part has no target yet.
func TestPartOfFence(t *testing.T) {
	for dwords := range uint32(pkt.FenceBody) {
		r := newRig(t)
		r.place(11, 0) // it has the bytes that an address of zeros names
		start := uint32(len(r.ring)) / 4
		var err error
		r.ring, err = pkt.Fence{Addr: pkt.Host | 0x8f00, ID: 2}.Append(r.ring)
		require.NoError(t, err)
		r.node(0, cpreg.Wptr, start+1+dwords)
		r.Flush(r.t)
		assert.Empty(t, r.texts, "%d dwords after the header", dwords)
	}
}

package endpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// TestDeviceOrder: writes and reads leave in the order in which they were sent,
// and no completion leaves before a write that appeared before it (PCIe 3.0
// table 2-39).
func TestDeviceOrder(t *testing.T) {
	for seed := range uint64(20) {
		dev := &testDevice{rng: rand.New(rand.NewPCG(seed, 2))}
		b := newBench(t, dev, endpoint.Options{})
		for i := range 20 {
			dev.sendWrite(0x1000+uint64(8*i), []byte{byte(i)})
			if i%3 == 0 {
				dev.sendRead(uint8(i), 0x8000+uint64(4*i), 1)
			}
		}
		b.send(memory(false, 0, 1, 0xf, 0))
		writes, reads, answers := 0, 0, 0
		for _, p := range b.packets() {
			switch p.Kind {
			case tlp.MWr32:
				require.Equal(t, byte(writes), p.Data[0])
				writes++
			case tlp.MRd32:
				require.Equal(t, 0x8000+uint64(12*reads), p.Addr)
				require.Equal(t, 3*reads+1, writes, "seed %d: read %d", seed, reads)
				reads++
			default:
				answers++
			}
		}
		require.Equal(t, []int{20, 7, 1}, []int{writes, reads, answers})
	}
}

// TestCompletionAfterWrite: while the link accepts nothing, a completion stays
// after the write that the device offered before it.
func TestCompletionAfterWrite(t *testing.T) {
	b := plain(t)
	for i := range 100 {
		b.dev.sendWrite(0x1000+uint64(4*i), []byte{byte(i), 0, 0, 0})
	}
	for range 1000 { // each ends with a packet
		b.end.Run(10)
	}
	blocked := len(b.dev.script)
	require.NotZero(t, blocked, "the output is bounded")
	b.send(memory(false, 0, 1, 0xf, 0))
	b.end.Run(1000)
	require.Len(t, b.dev.answers, 1, "the completion waits")
	var at []int
	all := b.packets()
	require.Len(t, all, 101)
	for i, p := range all {
		if p.Kind == tlp.CplD {
			at = append(at, i)
		}
	}
	require.Len(t, at, 1)
	assert.Greater(t, at[0], 100-blocked)
}

// TestHeldReads: writes and completions pass reads that cannot be sent.
func TestHeldReads(t *testing.T) {
	b := plain(t)
	b.dev.sendRead(1, 0x1000, 1)
	b.dev.sendWrite(0x2000, []byte{1})
	b.dev.sendRead(2, 0x3000, 1)
	for b.end.Idle() == 0 {
		b.end.Run(10)
	}
	raw, ok := b.end.Next()
	require.True(t, ok)
	require.Equal(t, tlp.MRd32, tlp.KindOf(raw[0]))
	b.end.HoldReads(true)
	raw, ok = b.end.Next()
	require.True(t, ok)
	require.Equal(t, tlp.MWr32, tlp.KindOf(raw[0]))
	_, ok = b.end.Next()
	require.False(t, ok)
	b.end.HoldReads(false)
	b.dev.sendWrite(0x4000, []byte{1})
	for b.end.Idle() == 0 {
		b.end.Run(10)
	}
	got := b.packets()
	require.Len(t, got, 3)
	assert.Equal(t, []uint64{0x1000, 0x3000, 0x4000}, []uint64{got[0].Addr, got[1].Addr, got[2].Addr})
}

// TestReadCompletionAfterWrites: the completion of a device read does not pass
// the host's earlier writes, but passes reads.
func TestReadCompletionAfterWrites(t *testing.T) {
	b := plain(t)
	b.dev.sendRead(7, 0x1000, 1)
	r := b.packets()[0]
	b.dev.noRequests, b.dev.takes = true, false
	b.send(memory(true, 0x100, 1, 0xf, 0))
	b.send(reply(r, 0, 1))
	b.end.Run(100)
	assert.Empty(t, b.dev.cpls, "the write has not been taken")
	b.dev.noRequests = false
	b.end.Run(100)
	assert.Len(t, b.dev.cpls, 1)

	b.dev.sendRead(8, 0x1000, 1)
	r = b.packets()[0]
	b.dev.noRequests, b.dev.takes = true, false
	b.send(memory(false, 0x100, 1, 0xf, 0))
	b.send(reply(r, 0, 1))
	b.end.Run(100)
	assert.Len(t, b.dev.cpls, 2, "the read has not been taken")
}

// TestQueuedOrder: packets that wait for the link keep their order too.
func TestQueuedOrder(t *testing.T) {
	b := plain(t)
	for i := range uint64(9) {
		if i%3 == 1 {
			b.dev.sendRead(uint8(i), 0x1000*i, 1)
		} else {
			b.dev.sendWrite(0x1000*i, []byte{1})
		}
	}
	for b.end.Idle() == 0 {
		b.end.Run(10)
	}
	for i, p := range b.packets() {
		assert.Equal(t, 0x1000*uint64(i), p.Addr)
	}
}

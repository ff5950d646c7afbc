package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// TestPreemptionForgetsAnUnsentPacket preempts a node in the ring while a packet trails and the
// next one waits for it. The node stops between them.
func TestPreemptionForgetsAnUnsentPacket(t *testing.T) {
	b := overlapping(t, true)
	b.check = true
	b.dmaTime = 300
	b.push(copyOf(0x1000, 0x2000, 64)...)
	b.push(copyOf(0x4000, 0x6000, 0x1800)...)
	b.doorbell()
	for range 60 {
		b.tick(regbus.Req{})
	}
	require.True(t, b.cp.trail.active && b.cp.decode.state == decodeExec)
	b.preempt(5)
	assert.Len(t, b.descs, 1)
	assert.Equal(t, []uint32{1, 6}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr)})
	b.resume()
	b.idle()
	assert.Len(t, b.descs, 3, "the second one from its beginning")
	assert.Equal(t, []uint32{2, 12, 0}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr), uint32(b.faults)})
}

// TestPreemptionAtTheEndOfABuffer preempts a node at each clock of an indirect buffer whose last
// packet waits for the one before it. The node stops in the buffer, or after all of it.
func TestPreemptionAtTheEndOfABuffer(t *testing.T) {
	stopped := 0
	for at := range 300 {
		b := overlapping(t, true)
		b.check = true
		b.dmaTime = 100
		p := append(copyOf(0x1000, 0x2000, 100), copyOf(0x2000, 0x3000, 100)...)
		for i, v := range p {
			b.put(0x5000+4*uint64(i), v)
		}
		b.push(pkt.Dwords(pkt.OpIndirect, 0x5000, 0, uint32(len(p)))...)
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.preempt(1)
		left, rptr := b.read(cpreg.IBLeft), b.read(cpreg.Rptr)
		if left != 0 {
			stopped++
			require.Zero(t, rptr, "after %d clocks, with %d dwords left", at, left)
		}
		b.resume()
		b.idle()
		require.EqualValues(t, 3, b.read(cpreg.Packets), "after %d clocks", at)
		require.Equal(t, b.vram[0x1000:0x1064], b.vram[0x3000:0x3064], "after %d clocks", at)
	}
	require.NotZero(t, stopped)
}

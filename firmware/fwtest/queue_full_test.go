package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Clocks of a switch that a full ring takes more than switchMost. docs/firmware.md has their sum.
const fullClocks = 500

// Queues with several entries each share a node, so its ring is full, entries end and are continued after stops. It
// counts from PREEMPTED to the first data, with everything in VRAM.
func TestQueueSwitchesInFullRings(t *testing.T) {
	for _, queues := range []uint32{2, 3, 16} {
		for _, quantum := range []uint32{9000, 20_000} {
			r := newQueueRig(t)
			worst, switches := r.switches(queues, quantum, 250_000)
			assert.Greater(t, switches, 5)
			assert.LessOrEqual(t, worst, uint64(switchMost+fullClocks), "%d queues, quantum of %d clocks", queues, quantum)
			t.Logf("%d queues, quantum of %d clocks: at most %d clocks in %d switches", queues, quantum, worst, switches)
		}
	}
}

// switches lets queues of node 0 copy for some clocks. It returns the longest switch, in clocks.
func (r *queueRig) switches(queues, quantum uint32, clocks uint64) (worst uint64, count int) {
	const from, to, bytes = 0x40_0000, 0x80_0000, 256 << 10
	stopped := uint64(0)
	r.Bus.Dev = guard{r.g, func(off uint64) {
		if stopped != 0 && off-to < bytes*uint64(queues) {
			worst, count, stopped = max(worst, r.Clocks-stopped), count+1, 0
		}
	}}
	for i := range queues {
		r.create(i, 0, 1, quantum)
		for range 3 {
			b, err := pkt.Copy{Src: from, Dst: to + bytes*uint64(i), Bytes: bytes}.Append(nil)
			require.NoError(r.t, err)
			r.write(i, b, 0)
		}
	}
	for i := range queues {
		r.ring(i)
	}
	for before, end := r.preempted(), r.Clocks+clocks; r.Clocks < end; r.take() {
		if now := r.preempted(); now != before {
			before, stopped = now, r.Clocks
			r.until(func() bool { return stopped == 0 })
		}
	}
	return worst, count
}

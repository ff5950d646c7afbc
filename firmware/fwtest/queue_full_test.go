package fwtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A fullRing is queues of a node that keep its ring full.
//
//	queues   how many
//	entries  of each; the host writes new ones when one of the queues has none left
//	bytes    of the copy of an entry
//	quantum  of queue 0, in clocks; that of each next queue is quantumStep longer; may have fwabi.QuantumForced
type fullRing struct {
	queues  uint32
	entries int
	bytes   uint32
	quantum uint32
}

// quantumStep is how many clocks the quantum of a queue is longer than that of the queue before. So the ends of turns move
// against those of the copies.
const quantumStep = 777

// Queues with several entries each share a node, so its ring is full, entries end and are continued after stops, and some
// stops find only SIGNAL of an entry. It counts from PREEMPTED to the first data, with everything in VRAM.
func TestQueueSwitchesInFullRings(t *testing.T) {
	tooltest.Long(t)
	for _, f := range []fullRing{
		{2, 3, 256 << 10, 9000},
		{2, 3, 256 << 10, 20_000},
		{3, 3, 256 << 10, 9000},
		{3, 3, 256 << 10, 20_000},
		{16, 3, 256 << 10, 9000},
		{16, 3, 256 << 10, 20_000},
		{3, 3, 64 << 10, 5000},
		{8, 2, 64 << 10, 5000},
		{8, 3, 64 << 10, 7000},
		{2, 3, 64 << 10, 9000 | fwabi.QuantumForced},
	} {
		r := newQueueRig(t)
		worst, switches := r.switches(f, 120_000)
		name := fmt.Sprintf("%d queues, %d entries, %d bytes, quantum of %d clocks and %d more for each queue", f.queues, f.entries, f.bytes, f.quantum&^fwabi.QuantumForced, quantumStep)
		assert.GreaterOrEqual(t, switches, 3, name)
		assert.LessOrEqual(t, worst, uint64(switchMost), name)
		t.Logf("%s: at most %d clocks in %d switches", name, worst, switches)
	}
}

// switches lets queues of node 0 copy for some clocks. It returns the longest switch, in clocks.
func (r *queueRig) switches(f fullRing, clocks uint64) (worst uint64, count int) {
	const to = 0x80_0000
	stopped := uint64(0)
	r.Bus.Dev = guard{r.g, func(off uint64) {
		if stopped != 0 && off-to < uint64(f.bytes*f.queues) {
			worst, count, stopped = max(worst, r.Clocks-stopped), count+1, 0
		}
	}}
	for i := range f.queues {
		r.create(i, 0, 1, f.quantum+quantumStep*i)
	}
	for before, end := r.preempted(), r.Clocks+clocks; r.Clocks < end; r.take() {
		if slices.ContainsFunc(r.q[:f.queues], func(q queued) bool { return len(q.values) == 0 }) {
			for i := range f.queues {
				r.refill(i, f.entries, to, f.bytes)
			}
		}
		if now := r.preempted(); now != before {
			before, stopped = now, r.Clocks
			r.until(func() bool { return stopped == 0 })
		}
	}
	return worst, count
}

// refill gives a queue entries until it has the given number. Each copies some bytes, to the place of the queue after to.
func (r *queueRig) refill(i uint32, entries int, to uint64, bytes uint32) {
	for len(r.q[i].values) < entries {
		b, err := pkt.Copy{Src: 0x40_0000, Dst: to + uint64(bytes*i), Bytes: bytes}.Append(nil)
		require.NoError(r.t, err)
		r.write(i, b, 0)
	}
	r.ring(i)
}

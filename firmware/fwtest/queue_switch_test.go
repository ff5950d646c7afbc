package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A switching is two queues of a node, of which the first one works. The node then stops for the second one.
//
//	priority, quantum  of each
//	later              the doorbell of the second one arrives after the quantum; otherwise before its end
//	alone              there is no entry in the second one
type switching struct {
	priority [2]uint32
	quantum  [2]uint32
	later    bool
	alone    bool
}

// From PREEMPTED of a node to the first data of the next queue, with everything in VRAM, from several places in
// the packet: for a higher priority, at the end of a quantum, for one of the same priority whose doorbell arrives
// after that end, and when the same queue continues after a forced end.
func TestQueueSwitchClocks(t *testing.T) {
	const long, most = 1 << 20, 2500 // of docs/firmware.md
	for name, s := range map[string]switching{
		"higher priority":         {[2]uint32{0, 3}, [2]uint32{long, long}, true, false},
		"end of a quantum":        {[2]uint32{1, 1}, [2]uint32{9000, long}, false, false},
		"same priority, later":    {[2]uint32{1, 1}, [2]uint32{fwabi.QuantumLeast, long}, true, false},
		"same queue, forced":      {[2]uint32{1, 1}, [2]uint32{9000 | fwabi.QuantumForced, long}, false, true},
		"other queue, forced end": {[2]uint32{1, 1}, [2]uint32{9000 | fwabi.QuantumForced, long}, false, false},
	} {
		r := newQueueRig(t)
		worst := uint64(0)
		for i := range uint32(8) {
			s := s
			s.quantum[0] += 131 * i
			worst = max(worst, r.switchClocks(s, 12_000+131*uint64(i)))
		}
		assert.LessOrEqual(t, worst, uint64(most), name)
		assert.Greater(t, worst, uint64(100), name)
		t.Logf("%s: at most %d clocks from PREEMPTED to the first data of the next queue", name, worst)
	}
}

// switchClocks returns the clocks of a switch. later is when a late doorbell arrives, in clocks after that of the first
// queue.
func (r *queueRig) switchClocks(s switching, later uint64) uint64 {
	const from, first, second, bytes = 0x40_0000, 0x80_0000, 0x60_0000, 256 << 10
	r.t.Helper()
	next := uint64(second)
	if s.alone {
		next = first
	}
	stopped, wrote := uint64(0), uint64(0)
	r.Bus.Dev = guard{r.g, func(off uint64) {
		if stopped != 0 && wrote == 0 && off-next < bytes {
			wrote = r.Clocks
		}
	}}
	post := func(i uint32, dst uint64, bytes uint32) {
		b, err := pkt.Copy{Src: from, Dst: dst, Bytes: bytes}.Append(nil)
		require.NoError(r.t, err)
		r.write(i, b, 0)
		r.ring(i)
	}
	before := r.preempted()
	for i := range uint32(2) {
		r.create(i, 0, s.priority[i], s.quantum[i])
	}
	post(0, first, bytes)
	if !s.later {
		later = 3000 // in the quantum, with the entry of the first queue in the ring
	}
	r.step(later)
	if !s.alone {
		post(1, second, 8)
	}
	for r.preempted() == before {
		require.NotEmpty(r.t, r.q[0].values, "the node is not stopped")
	}
	stopped = r.Clocks
	r.until(func() bool { return wrote != 0 })
	r.quiesce()
	for i := range uint32(2) {
		r.destroy(i)
		r.q[i] = queued{next: r.q[i].next}
	}
	return wrote - stopped
}

// preempted reads PREEMPTED of node 0.
func (r *queueRig) preempted() (v uint32) {
	r.Reg(cpreg.Base+cpreg.Preempted, func(got uint32) { v = got })
	r.end()
	return v
}

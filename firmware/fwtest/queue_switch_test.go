package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A switching is two queues of a node, of which the first one works. The node then stops for the second one.
//
//	priority, quantum  of each
//	later              the doorbell of the second one arrives after the quantum; otherwise before its end
//	alone              there is no entry in the second one
//	busy               quantum of four queues that copy on the other node; 0: there are none
type switching struct {
	priority [2]uint32
	quantum  [2]uint32
	later    bool
	alone    bool
	busy     uint32
}

// How many clocks of docs/firmware.md it takes from PREEMPTED to the first data of the next queue, with everything in VRAM.
//
//	switchMost  while the other node has no work
//	copyClocks  more if the other node copies: those of its packet, which is in the DMA engine before, 64 KiB at 8
//	            bytes in a clock
const (
	switchMost = 2500
	copyClocks = 64 << 10 / 8
)

// From PREEMPTED of a node to the first data of the next queue, with everything in VRAM, from several places in
// the packet: for a higher priority, at the end of a quantum, for one of the same priority whose doorbell arrives
// after that end, and when the same queue continues after a forced end. The other node has no work, or copies.
func TestQueueSwitchClocks(t *testing.T) {
	tooltest.Long(t)
	const long, places = 1 << 20, 8
	for name, s := range map[string]switching{
		"higher priority":              {[2]uint32{0, 3}, [2]uint32{long, long}, true, false, 0},
		"end of a quantum":             {[2]uint32{1, 1}, [2]uint32{9000, long}, false, false, 0},
		"same priority, later":         {[2]uint32{1, 1}, [2]uint32{fwabi.QuantumLeast, long}, true, false, 0},
		"same queue, forced":           {[2]uint32{1, 1}, [2]uint32{9000 | fwabi.QuantumForced, long}, false, true, 0},
		"other queue, forced end":      {[2]uint32{1, 1}, [2]uint32{9000 | fwabi.QuantumForced, long}, false, false, 0},
		"higher priority, short turns": {[2]uint32{0, 3}, [2]uint32{long, long}, true, false, fwabi.QuantumLeast},
		"higher priority, long turns":  {[2]uint32{0, 3}, [2]uint32{long, long}, true, false, 20_000},
		"same queue, long turns":       {[2]uint32{1, 1}, [2]uint32{9000 | fwabi.QuantumForced, long}, false, true, 20_000},
	} {
		r := newQueueRig(t)
		worst, most, n := uint64(0), uint64(switchMost), uint64(places)
		if s.busy != 0 {
			most, n = switchMost+copyClocks, places/2
		}
		for i := range n {
			s := s
			s.quantum[0] += uint32(131 * i)
			worst = max(worst, r.switchClocks(s, 12_000+131*i))
		}
		assert.LessOrEqual(t, worst, most, name)
		assert.Greater(t, worst, uint64(100), name)
		if s.busy != 0 {
			assert.Greater(t, worst, uint64(switchMost), "%s: the other node has work", name)
		}
		t.Logf("%s: at most %d clocks from PREEMPTED to the first data of the next queue, of %d", name, worst, most)
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
	stopped, wrote, began := uint64(0), uint64(0), false
	r.Bus.Dev = guard{r.g, func(off uint64) {
		began = began || off-first < bytes
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
	if s.busy != 0 {
		r.occupy(s.busy)
	}
	before := r.preempted()
	for i := range uint32(2) {
		r.create(i, 0, s.priority[i], s.quantum[i])
	}
	post(0, first, bytes)
	r.until(func() bool { return began })
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
	for i := range uint32(fwabi.Queues) {
		if r.q[i].exists {
			r.destroy(i)
			r.q[i] = queued{next: r.q[i].next}
		}
	}
	return wrote - stopped
}

// occupy makes queues 2 to 5 work on node 1 with copies, in turns of a quantum.
func (r *queueRig) occupy(quantum uint32) {
	for i := uint32(2); i < 6; i++ {
		r.create(i, 1, 1, quantum)
		for range 4 {
			b, err := pkt.Copy{Src: 0xa0_0000, Dst: 0xb0_0000 + 0x1_0000*uint64(i), Bytes: 64 << 10}.Append(nil)
			require.NoError(r.t, err)
			r.write(i, b, 0)
		}
		r.ring(i)
	}
}

// preempted reads PREEMPTED of node 0.
func (r *queueRig) preempted() (v uint32) {
	r.Reg(cpreg.Base+cpreg.Preempted, func(got uint32) { v = got })
	r.end()
	return v
}

// preemptMost is how many clocks of docs/firmware.md a PREEMPT takes from its doorbell to its answer in host memory.
const preemptMost = 12_000

// From the doorbell of PREEMPT to its answer, from many places in a packet.
func TestQueuePreemptClocks(t *testing.T) {
	tooltest.Long(t)
	const samples = 24
	const from, to, bytes = 0x40_0000, 0x80_0000, 256 << 10
	for name, p := range map[string]interface{ Append([]byte) ([]byte, error) }{
		"COPY":            pkt.Copy{Src: from, Dst: to, Bytes: bytes},
		"COPY, unaligned": pkt.Copy{Src: from + 3, Dst: to + 1, Bytes: bytes},
		"FILL":            pkt.Fill{Dst: to, Bytes: bytes, Value: 5},
	} {
		r := newQueueRig(t)
		began := false
		r.Bus.Dev = guard{r.g, func(off uint64) { began = began || off-to < bytes }}
		r.create(0, 0, 1, 1<<20)
		worst, inside := uint64(0), 0
		for i := range uint64(samples) {
			if len(r.q[0].values) < 2 {
				b, err := p.Append(nil)
				require.NoError(t, err)
				r.write(0, b, 0)
				r.write(0, b, 0)
				r.ring(0)
			}
			began = false
			r.until(func() bool { return began })
			r.step(997 + 131*i)
			begun := r.Clocks
			r.must(fwabi.OpPreempt, 0)
			worst = max(worst, r.Clocks-begun)
			if len(r.q[0].values) > 0 {
				inside++
			}
			r.must(fwabi.OpResume, 0)
		}
		assert.LessOrEqual(t, worst, uint64(preemptMost), name)
		assert.Equal(t, samples, inside, "%s: the queue has work", name)
		t.Logf("%s: at most %d clocks from PREEMPT to its answer, of %d", name, worst, preemptMost)
		r.quiesce()
	}
}

package fwtest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Queues of both nodes work in turn, each with its own context, and each progress value is written once.
func TestQueues(t *testing.T) {
	r := newQueueRig(t)
	r.strict = true
	for i := range uint32(fwabi.Queues) {
		r.create(i, int(i%2), i/4, 4000+500*i)
	}
	for round := range 3 {
		for i := range uint32(fwabi.Queues) {
			for range 1 + (int(i)+round)%3 {
				r.write(i, r.fills(i, 2, rows), 0)
			}
			r.ring(i)
		}
		r.quiesce()
	}
	assert.Equal(t, 3*32, r.progress)
	t.Logf("%d clocks, the longest wait of %d clocks", r.Clocks, r.longest)
}

// Two queues with endless work share a node: the bytes of both differ by two quanta at most.
func TestQueueFairness(t *testing.T) {
	r := newQueueRig(t)
	const quantum = 20_000
	for i := range uint32(2) {
		r.create(i, 0, 1, quantum)
		for range 10 {
			r.write(i, r.fills(i, 6, rows), 0)
		}
		r.ring(i)
	}
	worst := int64(0)
	for len(r.q[0].values) > 1 && len(r.q[1].values) > 1 {
		r.step(100)
		require.Less(t, r.Clocks, uint64(5_000_000))
		worst = max(worst, r.service[0]-r.service[1], r.service[1]-r.service[0])
	}
	// A node writes at most 8 bytes in a clock.
	assert.Less(t, worst, int64(2*quantum*8))
	assert.Greater(t, worst, int64(quantum), "the turns have the length of a quantum")
	r.quiesce()
	t.Logf("the difference is at most %d bytes, which are %d clocks", worst, worst/8)
}

// Queues with endless work and equal quanta, also the shortest one: each waits at most for a turn of each other one. All
// move in each round, so their bytes differ by less than two turns.
func TestQueueTurns(t *testing.T) {
	for _, quantum := range []uint32{fwabi.QuantumLeast, shortQuantum - 1, shortQuantum, 20_000} {
		const queues, clocks = 3, 150_000
		r := newQueueRig(t)
		worst := uint64(0)
		var last [queues]uint64
		wrote := r.Bus.Wrote
		r.Bus.Wrote = func(w port.Request, beats []byte) {
			if i := (w.Addr - memBase - targetsAt) / (rowBytes * rows); i < queues {
				if last[i] != 0 {
					worst = max(worst, r.Clocks-last[i])
				}
				last[i] = r.Clocks
			}
			wrote(w, beats)
		}
		for i := range uint32(queues) {
			r.create(i, 0, 1, quantum)
			for range depth {
				r.write(i, r.fills(i, 6, rows), 0)
			}
			r.ring(i)
		}
		r.step(clocks)
		for i := range queues {
			require.NotEmpty(t, r.q[i].values, "the work is endless")
		}
		most := (queues-1)*(turn(quantum)+turnOverhead) + turnBegin
		assert.LessOrEqual(t, worst, most, "quantum of %d clocks", quantum)
		assert.Greater(t, worst, (queues-1)*uint64(quantum), "a turn lasts its quantum")
		served := r.service[:queues]
		// A node writes at most 8 bytes in a clock.
		assert.Less(t, slices.Max(served)-slices.Min(served), int64(2*8*(turn(quantum)+turnOverhead)))
		t.Logf("quantum %d: a queue waits for at most %d clocks, of %d; bytes %v", quantum, worst, most, served)
	}
}

// A queue that always has one more entry, which is so short that the node is idle before the next one is placed,
// also ends its turn after its quantum.
//
// docs/properties.md: S4.
func TestQueueShortEntries(t *testing.T) {
	const quantum = 5000
	r := newQueueRig(t)
	for i := range uint32(2) {
		r.create(i, 0, 1, quantum)
	}
	fill := func(i uint32) {
		for len(r.q[i].values) < 4 {
			r.write(i, r.fills(i, 1, 1), 0)
		}
		r.ring(i)
	}
	fill(0)
	r.step(1000)
	fill(1)
	begin, last := r.Clocks, len(r.q[1].values)
	const look = 200 // clocks between two looks
	for r.Clocks < begin+10*quantum && len(r.q[1].values) == last {
		r.step(look)
		fill(0)
	}
	assert.Less(t, r.Clocks-begin, uint64(quantum+turnOverhead+turnBegin+look), "the other queue gets its turn")
	r.quiesce()
}

// A queue with forced turns is stopped though it is alone. It continues from its place, so each row is written
// once, after its context was saved and restored.
func TestQueueForced(t *testing.T) {
	const (
		quantum = 2000
		late    = 2000 // the end of a quantum until PREEMPT is written, and the packet that the node then completes
		count   = 48   // packets of an entry
	)
	unforced := uint64(0)
	for _, forced := range []uint32{0, fwabi.QuantumForced} {
		r := newQueueRig(t)
		wrote, bytes := r.Bus.Wrote, 0
		r.Bus.Wrote = func(w port.Request, beats []byte) {
			if w.Addr >= memBase+targetsAt {
				bytes += 4 * int(w.Len)
			}
			wrote(w, beats)
		}
		r.create(0, 0, 1, quantum|forced)
		for range 4 {
			r.write(0, r.fills(0, count, longRows), 0)
		}
		begin := r.Clocks
		r.ring(0)
		for r.progress < 4 {
			r.step(10)
			require.Less(t, r.Clocks-begin, uint64(1_000_000))
		}
		work := r.Clocks - begin
		r.quiesce()
		assert.Equal(t, 4, r.progress)
		assert.Equal(t, 4*count*longRows*rowBytes, bytes)
		resumes := r.word(fwabi.AreaQueueResumes)
		if forced == 0 {
			unforced = work
			assert.Zero(t, resumes)
		} else {
			assert.GreaterOrEqual(t, uint64(resumes), unforced/(quantum+late), "a stop after each quantum")
			assert.LessOrEqual(t, uint64(resumes), unforced/quantum, "no stop before the end of a quantum")
		}
		t.Logf("%d stops in %d clocks", resumes, work)
	}
}

// Sixteen queues with copies of 64 KiB keep a node moving data. A queue has four copies, which take 33,000 clocks. With a
// shorter quantum the node also stops inside a copy, and each stop costs a switch.
func TestQueueCopies(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		quantum uint32
		least   float64 // percent of the clocks; of docs/firmware.md
	}{{100_000, 95}, {40_000, 95}, {20_000, 88}, {4000, 70}} {
		r := newQueueRig(t)
		clocks := r.copies(tt.quantum)
		busy, bytes := r.counters()
		const copied = 64 * 64 << 10
		require.GreaterOrEqual(t, bytes, uint32(copied), "bytes of the copies")
		assert.Zero(t, (bytes-copied)%savedBytes, "all others are of contexts")
		// A copy within VRAM with two ports writes 8 bytes in a clock. Those of contexts do not count.
		moving := float64(copied/8) / float64(clocks) * 100
		assert.GreaterOrEqual(t, moving, tt.least, "quantum of %d clocks", tt.quantum)
		assert.LessOrEqual(t, bytes/8, busy, "a node that moves data is busy")
		assert.LessOrEqual(t, uint64(busy), clocks, "and not longer than the copies last")
		t.Logf("quantum %d: %d clocks for 64 copies, moving data in %.1f %% of them, busy in %d", tt.quantum, clocks, moving, busy)
	}
}

// counters returns BUSY, in clocks, and BYTES of node 0 by the counters of PERF.
func (r *queueRig) counters() (busy, bytes uint32) {
	require.NoError(r.t, r.Write(perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlSnapshot))
	busy, err := r.Read(perfreg.Base + perfreg.Node + perfreg.Busy)
	require.NoError(r.t, err)
	bytes, err = r.Read(perfreg.Base + perfreg.Node + perfreg.Bytes)
	require.NoError(r.t, err)
	return busy, bytes
}

// copies returns how many clocks 16 queues of node 0 need for four copies each.
func (r *queueRig) copies(quantum uint32) uint64 {
	t := r.t
	for i := range uint32(fwabi.Queues) {
		r.create(i, 0, 1, quantum)
		for range 4 {
			b, err := pkt.Copy{Src: 0x40_0000, Dst: 0x80_0000 + 0x1_0000*uint64(i), Bytes: 64 << 10}.Append(nil)
			require.NoError(t, err)
			r.write(i, b, 0)
		}
	}
	require.NoError(t, r.Write(perfreg.Base+perfreg.Ctl, perfreg.CtlClear|perfreg.CtlRun))
	from := r.Clocks
	for i := range uint32(fwabi.Queues) {
		r.ring(i)
	}
	for r.progress < 64 {
		r.step(10)
		require.Less(t, r.Clocks-from, uint64(2_000_000))
	}
	clocks := r.Clocks - from
	r.quiesce()
	return clocks
}

// A fault stops the guilty queue. Its record has the registers, the ring and the trace, and the other queue of the
// node continues with its context. The firmware writes the record within the time that the model assumes.
func TestQueueFaultRecord(t *testing.T) {
	r := newQueueRig(t)
	var begin, end uint64
	wrote := r.Bus.Wrote
	r.Bus.Wrote = func(w port.Request, beats []byte) {
		switch at := w.Addr - memBase; {
		case begin == 0 && at >= fwabi.AreaFaults && at < fwabi.AreaFaults+2*fwabi.FaultBytes:
			begin = r.Clocks
		case begin != 0 && end == 0 && at == fwabi.AreaAnswerTail:
			end = r.Clocks
		}
		wrote(w, beats)
	}
	r.create(4, 1, 1, 20_000)
	r.create(5, 1, 1, 20_000)
	for range 3 {
		r.write(4, r.fills(4, 3, rows), 0)
	}
	r.ring(4)
	r.write(5, []byte{0, 0, 0, 0xee}, 0)
	r.q[5].fails, r.q[5].values = true, nil
	r.ring(5)
	r.quiesce()
	require.Equal(t, [][4]uint32{{fwabi.OpFault, 1, 5, cpreg.CauseOpcode}}, r.notices)
	assert.Equal(t, 3, r.progress)
	require.Greater(t, end, begin)
	assert.Less(t, end-begin, uint64(faultClocks))
	t.Logf("%d clocks from the record to the notice", end-begin)
	at := uint32(fwabi.AreaFaults + fwabi.FaultBytes)
	record := map[string]uint32{}
	for i, f := range fwabi.FaultRecord {
		record[f.Name] = r.word(at + 4*uint32(i))
	}
	buffer := uint32(buffersAt + bufferBytes*5*depth)
	for name, want := range map[string]uint32{
		"COUNT": 1, "NODE": 1, "QUEUE": 5, "CAUSE": cpreg.CauseOpcode, "FAULT_INFO": cpreg.CauseOpcode, "FAULT_ADDR_LO": buffer, "FAULT_ADDR_HI": 0,
		"FAULT_OP": 0xee000000, "IB_LEFT": 1, "TRACED": 1, "RING_AT": (record["RPTR"] - fwabi.FaultRing/2) & 0x1ff,
	} {
		assert.Equal(t, want, record[name], name)
	}
	ring := at + 4*uint32(len(fwabi.FaultRecord))
	assert.EqualValues(t, pkt.OpIndirect<<24|pkt.IndirectBody, r.word(ring+4*fwabi.FaultRing/2), "the packet at RPTR")
	assert.Equal(t, buffer, r.word(ring+4*fwabi.FaultRing/2+4))
	assert.EqualValues(t, pkt.OpIndirect<<24|pkt.IndirectBody, r.word(ring+4*fwabi.FaultRing), "the newest entry of the trace")
}

// A queue is preempted at each time around a fault of another one. The answer is BUSY if the firmware finds the fault when
// it stops the node. The request succeeds after the reset of the node, and then nothing of the queue is written.
func TestQueuePreemptDuringFault(t *testing.T) {
	tooltest.Long(t)
	r := newQueueRig(t)
	status := map[uint32]int{}
	for at := uint64(0); at < 300; at += 3 {
		for i := range uint32(2) {
			r.create(i, 0, 1, 20_000)
		}
		r.write(1, r.fills(1, 4, rows), 0)
		r.write(0, []byte{0, 0, 0, 0xff}, 0)
		r.q[0].fails, r.q[0].values = true, nil
		r.ring(1)
		r.ring(0)
		for len(r.q[1].values) != 0 {
			r.step(1)
		}
		r.step(at)
		seen := len(r.notices)
		got, _ := r.request(fwabi.OpPreempt, 1)
		status[got]++
		if got == fwabi.StatusBusy {
			require.True(t, r.faults(0, seen), "after %d clocks", at)
			r.step(2000)
			r.must(fwabi.OpPreempt, 1)
		}
		r.q[1].held = true
		r.step(40_000)
		r.take()
		require.True(t, r.q[0].failed, "after %d clocks", at)
		r.q[1].held = false
		r.must(fwabi.OpResume, 1)
		r.quiesce()
		r.destroy(0)
		r.destroy(1)
	}
	t.Logf("answers by status: %v", status)
	assert.Positive(t, status[fwabi.StatusBusy])
	assert.Positive(t, status[fwabi.StatusOK])
}

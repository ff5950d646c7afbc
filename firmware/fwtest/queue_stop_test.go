package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Queue 0 completes its last entry at each time around the end of its quantum. In some runs the node is asked to stop for queue 0,
// whose buffer is complete when it stops. The turn of queue 1 lasts its quantum all the same.
//
// docs/properties.md: S4.
func TestQueueStopsInTheNext(t *testing.T) {
	tooltest.Long(t)
	const quantum, overhead = 20_000, 2 * turnOverhead // of the stop and the new begin, and of the end
	r := newTurns(t)
	const middle = 12 // rows more, with which the entry ends about when the node is asked to stop
	work, _ := r.turns(2*quantum, quantum, middle)
	late := 0
	for n := range 4 * middle {
		more := n / 2
		_, turn := r.turns(uint32(work)-1500+uint32(n%2)*50, quantum, more)
		assert.Greater(t, turn, uint64(quantum), "%d rows more", more)
		assert.Less(t, turn, uint64(quantum+overhead), "%d rows more", more)
		if r.stops == 2 && r.word(fwabi.AreaQueueResumes) == 0 {
			late++
		}
	}
	assert.Greater(t, late, 3, "a node stops after the buffer of queue 0")
	t.Logf("queue 0 needs %d clocks with %d rows more; the node was stopped after its buffer in %d runs", work, middle, late)
}

// A higher priority interrupts queue 1 at each time before the end of its quantum. Nothing or little of its turn is left, and it has
// moved in it, so queue 2 follows soon. The limit has the two ends of queue 1.
//
// docs/properties.md: S4.
func TestQueueInterruptedAtTheEnd(t *testing.T) {
	tooltest.Long(t)
	const quantum = 20_000
	r, interrupted := newTurns(t), 0
	for before := 0; before < 3000; before += 150 {
		r.begin(2, quantum, quantum)
		r.write(1, r.fills(1, longFills, longRows), 0)
		for r.ring(1); r.first[1] == 0; {
			r.step(1)
		}
		r.write(2, r.fills(2, longFills, longRows), 0)
		r.ring(2)
		r.step(r.first[1] + quantum - uint64(before) - r.Clocks)
		r.write(0, r.fills(0, 1, 1), 0)
		r.ring(0)
		for r.first[2] == 0 {
			r.step(1)
			require.Less(t, r.Clocks-r.first[1], uint64(1_000_000))
		}
		assert.Less(t, r.first[2]-r.first[1], uint64(quantum+2*turnOverhead), "%d clocks before the end", before)
		if r.first[0] > r.first[1] && r.first[0] < r.first[2] {
			interrupted++
		}
		r.end()
	}
	assert.Greater(t, interrupted, 10, "queue 0 interrupts queue 1")
}

// A queue of a higher priority has a short entry again and again, always while the node is idle. Queue 1, which always has
// short entries, does not get a whole new turn each time, so queue 2 of its priority gets its own.
//
// docs/properties.md: S4.
func TestQueueTurnGoesOn(t *testing.T) {
	const quantum = 20_000
	for _, period := range []uint64{6000, 12_000, 19_000} {
		r := newQueueRig(t)
		r.create(0, 0, 2, quantum)
		r.create(1, 0, 1, quantum)
		r.create(2, 0, 1, quantum)
		fill := func(i uint32, entries int) {
			for len(r.q[i].values) < entries {
				r.write(i, r.fills(i, 1, 1), 0)
			}
			r.ring(i)
		}
		fill(1, 4)
		r.step(3000)
		fill(2, 1)
		begin := r.Clocks
		for high := begin; len(r.q[2].values) != 0; r.step(200) {
			require.Less(t, r.Clocks-begin, uint64(150_000), "a higher priority each %d clocks", period)
			fill(1, 4)
			if r.Clocks-high >= period {
				high = r.Clocks
				fill(0, 1)
			}
		}
		t.Logf("a higher priority each %d clocks: queue 2 waits %d clocks", period, r.Clocks-begin)
	}
}

// A turnsRig notes when queues 0 to 2 write their first data.
type turnsRig struct {
	*queueRig
	first [3]uint64 // clocks
	stops uint32    // of node 0, in turns
}

func newTurns(t *testing.T) *turnsRig {
	r := &turnsRig{queueRig: newQueueRig(t)}
	wrote := r.Bus.Wrote
	r.Bus.Wrote = func(w port.Request, beats []byte) {
		if i := (w.Addr - memBase - targetsAt) / (rowBytes * rows); i < 3 && r.first[i] == 0 {
			r.first[i] = r.Clocks
		}
		wrote(w, beats)
	}
	return r
}

// turns lets queue 0 complete an entry of some rows and more, and queues 1 and 2 begin their long ones. They have quanta in clocks. It
// returns how long queue 0 and the turn of queue 1 last.
func (r *turnsRig) turns(quantum, others uint32, more int) (work, turn uint64) {
	r.begin(1, quantum, others)
	before := r.preempted()
	r.write(0, append(r.fills(0, 44, longRows), r.fills(0, more, 1)...), 0)
	for r.ring(0); r.first[0] == 0; {
		r.step(1)
	}
	for i := range uint32(2) {
		r.write(i+1, r.fills(i+1, longFills, longRows), 0)
		r.ring(i + 1)
	}
	for len(r.q[0].values) != 0 || r.first[2] == 0 {
		if r.step(1); len(r.q[0].values) != 0 {
			work = r.Clocks - r.first[0]
		}
		require.Less(r.t, r.Clocks-r.first[0], uint64(1_000_000))
	}
	turn, r.stops = r.first[2]-r.first[1], r.preempted()-before
	r.end()
	return work, turn
}

// begin creates queue 0 with a priority and a quantum in clocks, and queues 1 and 2 with priority 1.
func (r *turnsRig) begin(priority, quantum, others uint32) {
	r.first = [3]uint64{}
	r.create(0, 0, priority, quantum)
	r.create(1, 0, 1, others)
	r.create(2, 0, 1, others)
}

// end destroys the queues with what is left in them.
func (r *turnsRig) end() {
	for i := range uint32(3) {
		r.destroy(i)
		r.q[i] = queued{next: r.q[i].next}
	}
}

package fwtest

import (
	"encoding/binary"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// wrote checks a write of the GPU.
func (r *queueRig) wrote(w port.Request, beats []byte) {
	at := w.Addr - memBase
	switch {
	case at < fwabi.AreaBytes:
		r.wroteArea(uint32(at), binary.LittleEndian.Uint32(beats[w.Addr%8:]))
	case at >= targetsAt && at < targetsAt+fwabi.Queues*rowBytes*rows:
		r.wroteData(uint32((at-targetsAt)/(rowBytes*rows)), binary.LittleEndian.Uint32(beats[w.Addr%8:]), int64(w.Len)*4)
	case at >= hostSaves && at < hostSaves+fwabi.SaveBytes*fwabi.Queues:
		i := (at - hostSaves) / fwabi.SaveBytes
		require.True(r.t, r.saveHost>>i&1 != 0 && r.q[i].exists, "a context of queue %d", i)
	case at >= progressAt && at < progressAt+8*fwabi.Queues:
		i := (at - progressAt) / 8
		q := &r.q[i]
		require.True(r.t, q.exists && !q.broken, "queue %d", i)
		require.NotEmpty(r.t, q.values, "queue %d", i)
		require.Equal(r.t, q.values[0], binary.LittleEndian.Uint64(beats), "each progress value once, in order, queue %d", i)
		q.values = q.values[1:]
		q.done++
		r.completed(uint32(i), binary.LittleEndian.Uint32(beats))
		r.progress++
		r.served(q)
		r.works(uint32(i))
		q.waits = 0
		if len(q.values) != 0 {
			q.waits = r.Clocks
		}
	default:
		require.Fail(r.t, "a write outside what the queues and the firmware may write", "%#x", w.Addr)
	}
}

// wroteArea checks that the firmware writes only its parts of the message area, and notes the heads.
func (r *queueRig) wroteArea(at, v uint32) {
	if i := (at - fwabi.AreaQueueHeads) / 4; i < fwabi.Queues {
		r.wroteHead(i, v)
	}
	require.True(r.t, slices.ContainsFunc(fwabi.Area, func(p fwabi.Part) bool {
		return p.Writer == "firmware" && at >= p.Off && at < p.Off+p.Bytes
	}), "a write at %#x of the message area", at)
}

// A guard is a GPU that passes each write to its VRAM to a function.
type guard struct {
	*gpu.GPU
	wrote func(off uint64)
}

// Tick implements port.Device.
func (g guard) Tick(req port.Request, data port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if off, beat := g.WritingVRAM(); beat.Valid {
		g.wrote(off)
	}
	g.GPU.Tick(req, data, cplReady, cpl, reqReady, dataReady)
}

// guardVRAM checks that only rings of nodes and save areas are written in VRAM.
func (r *queueRig) guardVRAM() {
	r.Bus.Dev = guard{r.g, func(off uint64) {
		ring, save := off-nodesAt, off-savesAt
		require.True(r.t, ring < 0x10000 || save < fwabi.Queues*fwabi.SaveBytes, "a write at %#x of VRAM", off)
	}}
}

// wroteData checks data: the context, the order, the priority, and the fairness. It calls require only
// for a mistake, because a call that passes takes longer than a clock of the GPU.
func (r *queueRig) wroteData(i, v uint32, bytes int64) {
	q := &r.q[i]
	number := v & 0xffffff
	switch {
	case v>>24 != i:
		require.Fail(r.t, "data of another queue", "queue %d, in the target of queue %d", v>>24, i)
	case !q.exists || q.broken || q.held:
		require.Fail(r.t, "data of a queue that must not work", "queue %d: %+v", i, *q)
	case number < q.lastNumber:
		require.Fail(r.t, "order within a queue", "queue %d: entry %d after entry %d", i, number, q.lastNumber)
	case len(q.values) == 0 || uint32(q.values[0]) != number:
		require.Fail(r.t, "an entry that is not due", "queue %d: entry %d, due are %v", i, number, q.values)
	}
	q.lastNumber = number
	if g, ok := q.given[number]; ok {
		g.bytes -= bytes
		q.given[number] = g
	}
	r.service[i] += bytes
	r.served(q)
	q.waits = r.Clocks
	r.works(i)
	if r.strict {
		r.compete(i)
	}
	r.lastData[q.node] = r.Clocks
}

// How many clocks the firmware and the node take apart from quanta.
//
//	slack         from a doorbell to the last data of a queue of a lower priority: what is in the DMA engine, which the
//	              nodes share, the stop and the switch of the other node, which the firmware may do before, and other
//	              doorbells. The campaigns show up to 15,800
//	turnLate      of a turn besides its quantum: the firmware sees the begin late, when it has served the other node, whose
//	              entries it may have to read while the DMA engine is busy, and then the end late, for the same reasons. The
//	              campaigns show up to 14,200
//	turnOverhead  of a turn: what the firmware does when the quantum ends, the stop of the node, the entry of the
//	              next queue, and its context
//	turnBegin     of the first turn of a queue that waits: its own entry and context
//	faultClocks   of a fault or a RESET, on any node: the firmware writes a fault record and does nothing else
//	yieldClocks   of a yield, on any node, in which the firmware does nothing else
//	shortQuantum  the time in which a queue moves for certain after a switch. A turn of a shorter quantum may have to
//	              be repeated, with twice the time
const (
	slack        = 20_000
	turnLate     = 18_000
	turnOverhead = 6000
	turnBegin    = 4000
	faultClocks  = 12_000
	yieldClocks  = 6000
	shortQuantum = 4000
)

// turn returns the most clocks of the turn of a queue, without overhead: its quantum, or those of its repetitions.
func turn(quantum uint32) uint64 {
	sum := uint64(quantum)
	for last := quantum; last < shortQuantum; {
		last *= 2
		sum += uint64(last)
	}
	return sum
}

// compete checks the queues that wait while queue i works: none has a higher priority, and one of the same priority neither
// waits for more than two turns of each other queue, nor does queue i work longer than its turn meanwhile. The time in which a
// request has no answer or a node drains does not count.
func (r *queueRig) compete(i uint32) {
	q := &r.q[i]
	for j := range r.q {
		o := &r.q[j]
		switch {
		case !o.exists || o.node != q.node || o.waits == 0 || o.held || o.drains || o.failed || o.fails || uint32(j) == i:
		case o.priority < q.priority:
			o.waits += min(r.pauses(q.node), r.Clocks-o.waits)
		case r.asking || r.draining[q.node] || r.yielding[q.node]: // a node that drains or yields gets no entries
			o.waits, o.excused = r.Clocks, true
		case o.priority > q.priority:
			o.contests = true
			if waited := r.waited(o); waited >= slack+r.faultsDue()+r.yieldsIn(waited) {
				require.Fail(r.t, "a queue waits for one of a lower priority", "queue %d, priority %d, %d clocks, queue %d, priority %d", j, o.priority, waited, i, q.priority)
			}
		default:
			o.contests = true
			if waited, most := r.waited(o), r.turns(j); waited >= most+r.yieldsIn(waited) {
				require.Fail(r.t, "a queue waits for one of the same priority", "queue %d, %d clocks, want at most %d, queue %d", j, waited, most, i)
			}
			if works, most := min(r.waited(o), r.Clocks-r.since[q.node]), turn(q.quantum)+turnLate+r.faultsDue(); works >= most+r.yieldsIn(works) {
				require.Fail(r.t, "a queue works longer than its turn", "queue %d, %d clocks, want at most %d, queue %d waits", i, works, most, j)
			}
		}
	}
}

// pauses returns the clocks since the last data of a node, in which a queue that now writes had it. A queue that begins has had a
// switch to it, and causes one back.
func (r *queueRig) pauses(node int) uint64 {
	clocks := r.Clocks - r.lastData[node]
	if r.since[node] == r.Clocks {
		clocks += turnOverhead + turnBegin
	}
	return clocks
}

// works notes which queue of a node works, and since when.
func (r *queueRig) works(i uint32) {
	if node := r.q[i].node; r.last[node] != int(i) {
		r.last[node], r.since[node] = int(i), r.Clocks
	}
}

// waited returns how long a queue waits, without the time in which the firmware had a request or a fault.
func (r *queueRig) waited(o *queued) uint64 {
	if o.waits < r.calm {
		o.waits, o.excused = r.calm, true
	}
	return r.Clocks - o.waits
}

// served counts a wait that ends, if a queue of the same or a lower priority worked meanwhile.
func (r *queueRig) served(q *queued) {
	if q.waits != 0 && q.contests {
		r.contests++
		if !q.excused && q.waits >= r.calm && !r.asking && r.faultsDue() == 0 {
			r.counted++
			r.longest = max(r.longest, r.Clocks-q.waits)
		}
	}
	q.contests, q.excused = false, false
}

// faultsDue returns the clocks of the faults and resets that have a cause and no notice yet.
func (r *queueRig) faultsDue() uint64 {
	n := r.resets
	for i := range r.q {
		if q := &r.q[i]; q.exists && q.fails && !q.failed {
			n++
		}
	}
	return uint64(n) * faultClocks
}

// yieldsIn returns the clocks of the yields in the last clocks.
func (r *queueRig) yieldsIn(last uint64) uint64 {
	sum := uint64(0)
	for _, due := range r.yielding {
		if due {
			sum += yieldClocks
		}
	}
	for i := len(r.yields) - 1; i >= 0 && r.yields[i]+last >= r.Clocks; i-- {
		sum += yieldClocks
	}
	return sum
}

// turns returns how long a queue may wait for the others of its priority: two turns of each. The second one is
// what a queue has left of its turn after an interruption, and what other requests to the firmware cost.
func (r *queueRig) turns(j int) uint64 {
	most := slack + r.faultsDue()
	for i := range r.q {
		if q := &r.q[i]; q.exists && i != j && q.node == r.q[j].node && q.priority == r.q[j].priority {
			most += 2*turn(q.quantum) + turnOverhead
		}
	}
	return most
}

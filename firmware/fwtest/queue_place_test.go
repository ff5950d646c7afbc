package fwtest

import (
	"encoding/binary"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A place is the rest of an entry: all of it, or that in which a queue was stopped.
type place struct {
	addr     uint64
	left     uint32 // dwords; 0: the queue was not stopped inside an entry
	progress uint32
}

// A given is an entry that the host has given to a queue.
type given struct {
	number uint32
	rest   place
	begun  bool   // rest is a place of a yield
	end    uint64 // GPU address after its buffer
	bytes  int64  // of its rows that are not written yet
}

// filled returns the bytes that the packets of fills write. Other packets write none that the model counts.
func filled(packets []byte) int64 {
	sum := int64(0)
	for len(packets) != 0 {
		p, rest, err := pkt.Decode(packets)
		if err != nil {
			break // a bad packet, at which the node stops
		}
		if f, ok := p.(pkt.Fill2D); ok {
			sum += 4 * int64(f.W) * int64(f.H)
		}
		packets = rest
	}
	return sum
}

// placeOf returns the place of a queue in the message area.
func (r *queueRig) placeOf(i uint32) place {
	at := fwabi.AreaQueuePlaces + fwabi.PlaceBytes*i
	return place{
		addr:     uint64(r.word(at+4*fwabi.PlaceAddrLo)) | uint64(r.word(at+4*fwabi.PlaceAddrHi))<<32,
		left:     r.word(at + 4*fwabi.PlaceLeft),
		progress: r.word(at + 4*fwabi.PlaceProgress),
	}
}

// completed checks that an entry of a queue whose progress value is written has written each of its rows once.
func (r *queueRig) completed(i, number uint32) {
	q := &r.q[i]
	if g := q.given[number]; g.bytes != 0 {
		require.Fail(r.t, "rows of an entry", "queue %d, entry %d: %d bytes are not written, or twice if below 0", i, number, g.bytes)
	}
	delete(q.given, number)
}

// wroteHead checks a head of a queue, which counts entries that are complete. Only in a yield it also counts those that are
// not. They are dropped, and the first one continues from the place that the firmware has written.
func (r *queueRig) wroteHead(i, head uint32) {
	q := &r.q[i]
	if !q.exists || head-q.done > depth {
		return // an older one, or of a queue that is destroyed
	}
	count := int(head - q.done)
	if count == 0 {
		return
	}
	require.True(r.t, r.yielding[q.node] && head-q.done <= q.tail-q.done, "the head of queue %d is %d, but %d entries are complete and the tail is %d", i, head, q.done, q.tail)
	p := r.placeOf(i)
	drop := min(count, len(q.values)) // without a bad entry, which is the last one
	for n := range drop {
		g := q.given[uint32(q.values[n])]
		delete(q.given, g.number)
		if n == 0 && p.left != 0 {
			require.True(r.t, p.addr >= g.rest.addr && p.addr+4*uint64(p.left) == g.end, "queue %d, entry %+v: place %+v", i, g, p)
			g.rest, g.begun = p, true
			r.places[q.node] |= 1 << i
		}
		q.dropped = append(q.dropped, g)
	}
	q.fails = q.fails && (q.failed || count == drop)
	q.values, q.done, q.waits = q.values[drop:], head, 0
	if len(q.values) != 0 {
		q.waits = r.Clocks
	}
}

// bell rings the doorbell of a yield.
func (r *queueRig) bell(node int) {
	if !r.yielding[node] {
		r.places[node] = 0
	}
	r.yielding[node] = true
	require.NoError(r.t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellYield<<node))
}

// yielded notes YIELDED of a node.
func (r *queueRig) yielded(node int, places uint32) {
	require.True(r.t, r.yielding[node], "YIELDED of node %d", node)
	require.Equal(r.t, r.places[node], places, "PLACES of node %d", node)
	r.yielding[node], r.yields = false, append(r.yields, r.Clocks)
	for i := range r.q {
		if q := &r.q[i]; q.node == node && q.waits != 0 {
			q.waits, q.excused = r.Clocks, true
		}
	}
}

// yield rings the doorbell of a node and waits for YIELDED. It returns the clocks that it took.
func (r *queueRig) yield(node int) uint64 {
	r.t.Helper()
	begin := r.Clocks
	for r.bell(node); r.yielding[node]; r.take() {
		r.step(1)
		require.Less(r.t, r.Clocks-begin, uint64(1_000_000), "YIELDED")
	}
	return r.Clocks - begin
}

// again gives the entries of a queue again that were dropped, and rings. One that has begun continues from its place, and from a
// state that the host writes: the target of the queue, and PROGRESS.
func (r *queueRig) again(i uint32) {
	q := &r.q[i]
	dropped := q.dropped
	q.dropped = nil
	for _, g := range dropped {
		flags := uint32(0)
		if g.begun {
			flags = fwabi.EntryResume
			r.setState(i, q.tail%depth, g.rest.progress)
		}
		r.enter(i, g, flags)
	}
	r.ring(i)
}

// setState writes the state of a slot of the ring of a queue.
func (r *queueRig) setState(i, slot, progress uint32) {
	state := make([]byte, fwabi.SaveBytes)
	le := binary.LittleEndian
	le.PutUint64(state[24:], pkt.Host|memBase+targetsAt+uint64(i)*rowBytes*rows)
	le.PutUint64(state[32:], rowBytes|uint64(pkt.Format32)<<32|1<<63)
	le.PutUint64(state[40:], rowBytes/4<<32|rows<<48)
	le.PutUint64(state[112:], uint64(progress))
	r.pokeState(i, slot, state)
}

// pokeState writes bytes to the state of a slot of the ring of a queue.
func (r *queueRig) pokeState(i, slot uint32, state []byte) {
	at := depth*fwabi.QueueEntryBytes + fwabi.SaveBytes*slot
	if r.inHost>>i&1 != 0 {
		copy(r.Mem[hostRings+hostRing*i+at:], state)
		return
	}
	r.g.PokeVRAM(r.ringOf(i)+uint64(at), state)
}

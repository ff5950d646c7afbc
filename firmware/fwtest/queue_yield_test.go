package fwtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// yieldMost is how many clocks of docs/firmware.md a yield takes from its doorbell to YIELDED in host memory.
const yieldMost = 10_000

// A place is the rest of an entry in which a queue was stopped.
type place struct {
	addr     uint64
	left     uint32 // dwords; 0: it was not stopped inside an entry
	progress uint32
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

// bell rings the doorbell of a yield.
func (r *queueRig) bell(node int) {
	require.NoError(r.t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellYield<<node))
}

// yield rings the doorbell of a node and waits for YIELDED. It returns PLACES and the clocks that it took.
func (r *queueRig) yield(node int) (places uint32, clocks uint64) {
	r.t.Helper()
	r.bell(node)
	begin, seen := r.Clocks, len(r.notices)
	for {
		r.step(1)
		r.take()
		if len(r.notices) > seen {
			if n := r.notices[len(r.notices)-1]; n[0] == fwabi.OpYielded && n[1] == uint32(node) {
				return n[2], r.Clocks - begin
			}
			seen = len(r.notices)
		}
		require.Less(r.t, r.Clocks-begin, uint64(1_000_000), "YIELDED")
	}
}

// again writes the rest of an entry with a number, which continues from its place and a state: the surfaces of a queue with a target, and PROGRESS.
func (r *queueRig) again(i uint32, p place, number uint32) {
	slot := r.q[i].tail % depth
	state := make([]byte, fwabi.SaveBytes)
	le := binary.LittleEndian
	le.PutUint64(state[24:], pkt.Host|memBase+targetsAt+uint64(i)*rowBytes*rows)
	le.PutUint64(state[32:], rowBytes|uint64(pkt.Format32)<<32|1<<63)
	le.PutUint64(state[40:], rowBytes/4<<32|rows<<48)
	le.PutUint64(state[112:], uint64(p.progress))
	at := uint64(depth*fwabi.QueueEntryBytes + fwabi.SaveBytes*slot)
	r.g.PokeVRAM(r.ringOf(i)+at, state)
	r.writeAt(i, p.addr, p.left, fwabi.EntryResume, number)
}

// A node yields inside a buffer. The entries of its queue are dropped, and nothing is written after YIELDED. Then the entry
// continues from its place with a state, and each row is written once.
func TestQueueYield(t *testing.T) {
	r := newQueueRig(t)
	r.create(0, 0, 1, 1<<20)
	r.write(0, r.fills(0, longFills, longRows), 0)
	r.write(0, r.fills(0, 1, 1), 0)
	r.ring(0)
	r.until(func() bool { return r.service[0] > 40*longRows*rowBytes })
	places, clocks := r.yield(0)
	assert.EqualValues(t, 1, places)
	assert.LessOrEqual(t, clocks, uint64(yieldMost))
	t.Logf("%d clocks", clocks)
	p := r.placeOf(0)
	require.Positive(t, p.left)
	assert.EqualValues(t, 2, r.word(fwabi.AreaQueueHeads))
	before := r.service[0]
	r.q[0].values = nil
	r.step(100_000)
	assert.Equal(t, before, r.service[0])
	assert.Zero(t, r.progress)
	r.again(0, p, 0)
	r.ring(0)
	r.quiesce()
	assert.Equal(t, 1, r.progress)
	assert.EqualValues(t, longFills*longRows*rowBytes, r.service[0])
	assert.EqualValues(t, 1, r.word(fwabi.AreaQueueResumes))
}

// From the doorbell of a yield to YIELDED, from many places in a packet. One queue works, and three others have entries.
func TestQueueYieldClocks(t *testing.T) {
	const samples = 24
	const from, to, bytes = 0x40_0000, 0x80_0000, 1 << 20
	for name, p := range map[string]interface{ Append([]byte) ([]byte, error) }{
		"COPY":            pkt.Copy{Src: from, Dst: to, Bytes: bytes},
		"COPY, unaligned": pkt.Copy{Src: from + 3, Dst: to + 1, Bytes: bytes},
		"FILL":            pkt.Fill{Dst: to, Bytes: bytes, Value: 5},
	} {
		for _, settled := range []bool{true, false} {
			r := newQueueRig(t)
			began := false
			r.Bus.Dev = guard{r.g, func(off uint64) { began = began || off-to < bytes }}
			for i := range uint32(4) {
				r.create(i, 0, 1, 1<<20)
			}
			worst := uint64(0)
			for n := range uint64(samples) {
				for i := range uint32(4) {
					for range 4 {
						b, err := p.Append(nil)
						require.NoError(t, err)
						r.write(i, b, 0)
					}
					r.ring(i)
				}
				began = false
				r.until(func() bool { return began })
				if settled {
					r.step(20_000)
				}
				r.step(7 + 131*n)
				places, clocks := r.yield(0)
				require.NotZero(t, places)
				worst = max(worst, clocks)
				for i := range r.q {
					r.q[i].values = nil
				}
			}
			t.Logf("%s: at most %d clocks from the doorbell to YIELDED, of %d %v", name, worst, yieldMost, settled)
		}
	}
}

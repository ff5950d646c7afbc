package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// How many clocks of docs/firmware.md a yield takes from its doorbell to YIELDED in host memory, while one queue works and
// three others of the node have entries: if the firmware sleeps, and if it is placing entries. yieldRest is that of a node
// without work.
const (
	yieldMost = 8000
	yieldBusy = 11_000
	yieldRest = 4000
)

// A node yields at many places in a buffer. Its entries are dropped, and nothing is written after YIELDED. Given again, the first
// continues from its place, also in a queue that was created anew, and each row is written once. The model checks the places.
func TestQueueYield(t *testing.T) {
	tooltest.Long(t)
	for name, flags := range map[string]uint32{"": 0, "with forced turns": fwabi.QuantumForced} {
		r := newQueueRig(t)
		r.create(0, 0, 1, 5000|flags)
		wrote, rest := r.Bus.Wrote, false
		r.Bus.Wrote = func(w port.Request, beats []byte) {
			require.False(t, rest, "a write after YIELDED: %+v", w)
			wrote(w, beats)
		}
		inside := 0
		for n := range 16 {
			r.write(0, r.fills(0, 8, rows), 0)
			r.write(0, r.fills(0, 1, 1), 0)
			r.ring(0)
			before := r.service[0]
			r.until(func() bool { return r.service[0] > before+rows*rowBytes })
			r.step(uint64(137 * n))
			r.yield(0)
			require.Len(t, r.q[0].dropped, 2)
			if r.q[0].dropped[0].rest.progress != 0 {
				inside++
			}
			r.step(3000)
			rest = true
			r.step(50_000)
			rest = false
			if n%2 != 0 { // the context and PROGRESS are only in the state
				dropped := r.q[0].dropped
				r.destroy(0)
				r.create(0, 0, 1, 5000|flags)
				r.q[0].dropped = dropped
			}
			r.again(0)
			r.quiesce()
			require.Equal(t, 2*n+2, r.progress, name)
			require.Positive(t, r.word(fwabi.AreaQueueResumes))
		}
		assert.Greater(t, inside, 8, "places inside a packet")
		t.Logf("%d places inside a packet", inside)
	}
}

// A copy in VRAM is stopped by a yield again and again, and each time its rest is given again. The bytes are those of the source.
func TestQueueYieldOfACopy(t *testing.T) {
	const from, to, bytes = 0x40_0003, 0x80_0001, 64 << 10
	r := newQueueRig(t)
	source := make([]byte, bytes)
	for i := range source {
		source[i] = byte(i*7 + i>>8)
	}
	r.g.PokeVRAM(from, source)
	r.create(3, 1, 2, 1<<20)
	b, err := pkt.Copy{Src: from, Dst: to, Bytes: bytes}.Append(nil)
	require.NoError(t, err)
	b, err = pkt.Copy{Src: to, Dst: to + 0x20_0000, Bytes: bytes}.Append(b)
	require.NoError(t, err)
	r.write(3, b, 0)
	r.ring(3)
	yields, places := 0, map[place]bool{}
	for ; r.progress == 0; yields++ {
		r.step(5900)
		r.yield(1)
		if d := r.q[3].dropped; len(d) != 0 {
			places[d[0].rest] = true
		}
		r.again(3)
		require.Less(t, yields, 100)
	}
	r.quiesce()
	assert.Greater(t, len(places), 3, "the copy moves between two yields")
	for _, at := range []uint64{to, to + 0x20_0000} {
		got := make([]byte, bytes)
		r.g.PeekVRAM(at, got)
		assert.True(t, string(source) == string(got), "%#x", at)
	}
	t.Logf("%d yields with %d places", yields, len(places))
}

// A node yields with queues of all priorities, of which some were stopped earlier for a turn or a higher priority. All have
// their places. Given again, they complete, each row once. The other node is not disturbed. Half of the
// rings, with their states, are in host memory.
func TestQueueYieldOfManyQueues(t *testing.T) {
	tooltest.Long(t)
	r := newQueueRig(t)
	r.strict, r.inHost = true, 0xaa
	for i := range uint32(8) {
		r.create(i, 0, i/2, 4000)
	}
	r.create(stranger+1, 1, 1, 4000)
	r.write(stranger+1, r.fills(stranger+1, longFills, longRows), 0)
	r.ring(stranger + 1)
	for n := range uint64(4) {
		for i := range uint32(8) {
			for range 2 {
				r.write(i, r.fills(i, 60, longRows), 0)
			}
			r.ring(i)
			r.step(6000 + 300*n)
		}
		r.step(15_000)
		r.yield(0)
		places := 0
		for i := range uint32(8) {
			if d := r.q[i].dropped; len(d) != 0 && d[0].begun {
				places++
			}
		}
		require.GreaterOrEqual(t, places, 2, "queues with a place")
		for i := range uint32(8) {
			r.again(i)
		}
		r.quiesce()
	}
	assert.Equal(t, 4*8*2+1, r.progress)
	assert.Len(t, r.notices, 4)
}

// A node yields at each time around the end of a buffer. If its SIGNAL is left, that is executed before YIELDED. Then the entry is
// complete and has no place.
func TestQueueYieldAtTheEnd(t *testing.T) {
	r := newQueueRig(t)
	r.create(0, 0, 1, 1<<20)
	began, signals := uint64(0), 0
	length := uint64(0)
	wrote := r.Bus.Wrote
	r.Bus.Wrote = func(w port.Request, beats []byte) {
		if began == 0 && w.Addr-memBase >= targetsAt {
			began = r.Clocks
		}
		wrote(w, beats)
	}
	run := func(at uint64) {
		began = 0
		r.write(0, r.fills(0, 6, 1), 0)
		r.write(0, r.fills(0, 6, 1), 0)
		r.ring(0)
		for began == 0 {
			r.step(1)
		}
		due := len(r.q[0].values)
		for r.Clocks < began+at {
			r.step(1)
			if length == 0 && len(r.q[0].values) < due {
				length = r.Clocks - began
			}
		}
	}
	run(20_000)
	require.Positive(t, length)
	for at := length - min(length, 1500); at < length+100; at += 17 {
		run(at)
		before := r.progress
		r.yield(0)
		if d := r.q[0].dropped; r.progress > before && len(d) == 1 && !d[0].begun {
			signals++
		}
		r.again(0)
		r.quiesce()
	}
	assert.Positive(t, signals, "an entry ends while the node stops")
	t.Logf("an entry takes %d clocks; it ended in %d yields", length, signals)
}

// A yield of a node without work is answered at once, as often as the host rings, also if a queue is held. What a held queue has is
// dropped too.
func TestQueueYieldAtRest(t *testing.T) {
	r := newQueueRig(t)
	r.guardVRAM()
	atOnce := func(when string) {
		r.step(20_000) // the firmware sleeps
		assert.LessOrEqual(t, r.yield(0), uint64(yieldRest), when)
	}
	for range 3 {
		atOnce("without a queue")
	}
	r.create(0, 0, 1, 20_000)
	r.create(1, 0, 1, 20_000)
	atOnce("without an entry")
	r.write(0, r.fills(0, longFills, longRows), 0)
	r.ring(0)
	r.until(func() bool { return r.service[0] != 0 })
	r.must(fwabi.OpPreempt, 0)
	r.q[0].held = true
	atOnce("with a held queue")
	require.Len(t, r.q[0].dropped, 1)
	assert.True(t, r.q[0].dropped[0].begun)
	atOnce("again")
	assert.Zero(t, r.placeOf(0).left, "there is no entry")
	r.must(fwabi.OpResume, 0)
	r.q[0].held = false
	r.step(20_000)
	assert.Zero(t, r.progress)
	r.again(0)
	r.quiesce()
	assert.Equal(t, 1, r.progress)
}

// Entries whose doorbells have not rung are dropped too, since the tails of all queues are read. A second doorbell during a yield
// changes nothing.
func TestQueueYieldReadsTails(t *testing.T) {
	r := newQueueRig(t)
	for i := range uint32(3) {
		r.create(i, 0, 1, 20_000)
		r.write(i, r.fills(i, 60, longRows), 0)
	}
	r.ring(0)
	r.until(func() bool { return r.service[0] != 0 })
	r.bell(0)
	r.step(700)
	r.yield(0)
	for i := range uint32(3) {
		require.Len(t, r.q[i].dropped, 1, "queue %d", i)
	}
	r.step(20_000)
	r.take()
	assert.Len(t, r.notices, 1)
	for i := range uint32(3) {
		r.again(i)
	}
	r.quiesce()
	assert.Equal(t, 3, r.progress)
}

// A node that the firmware does not have does not yield.
func TestQueueYieldOfNoNode(t *testing.T) {
	r := newQueueRig(t)
	r.must(fwabi.OpNodeGive, 1)
	r.bell(1)
	r.yielding[1] = false
	r.step(20_000)
	r.hello()
	r.bell(0)
	r.yielding[0] = false
	r.step(20_000)
	r.take()
	assert.Empty(t, r.notices)
}

// From the doorbell of a yield to YIELDED, from many places in a packet, while the firmware sleeps and while it places entries. One
// queue works, and three others have entries.
func TestQueueYieldClocks(t *testing.T) {
	tooltest.Long(t)
	const samples = 12
	const from, to, bytes = 0x40_0000, 0x80_0000, 1 << 20
	for name, p := range map[string]interface{ Append([]byte) ([]byte, error) }{
		"COPY":            pkt.Copy{Src: from, Dst: to, Bytes: bytes},
		"COPY, unaligned": pkt.Copy{Src: from + 3, Dst: to + 1, Bytes: bytes},
		"FILL":            pkt.Fill{Dst: to, Bytes: bytes, Value: 5},
	} {
		r := newQueueRig(t)
		began := false
		r.Bus.Dev = guard{r.g, func(off uint64) { began = began || off-to < bytes }}
		for i := range uint32(4) {
			r.create(i, 0, 1, 1<<20)
		}
		worst := [2]uint64{}
		for n := range uint64(2 * samples) {
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
			r.step(n%2*20_000 + 197*n)
			clocks := r.yield(0)
			require.NotZero(t, r.places[0], name)
			worst[n%2] = max(worst[n%2], clocks)
			for i := range uint32(4) {
				r.q[i].dropped = nil
			}
		}
		assert.LessOrEqual(t, worst[1], uint64(yieldMost), name)
		assert.LessOrEqual(t, worst[0], uint64(yieldBusy), name)
		t.Logf("%s: at most %d clocks from the doorbell to YIELDED, of %d; while the firmware places entries %d", name, worst[1], yieldMost, worst[0])
	}
}

// A bad flag, and a state that the node refuses, are a fault of their queue alone.
func TestQueueBadStates(t *testing.T) {
	for name, tt := range map[string]struct {
		flags uint32
		state func(state []byte)
		ring  uint32 // of shifted
		cause uint32
	}{
		"an unknown flag":    {flags: fwabi.EntryResume | 2, cause: fwabi.CauseEntry},
		"the highest flag":   {flags: 1 << 31, cause: fwabi.CauseEntry},
		"a reserved bit":     {flags: fwabi.EntryResume, state: func(b []byte) { b[37] = 1 }, cause: cpreg.CauseState},
		"a misaligned state": {flags: fwabi.EntryResume, ring: 1, cause: cpreg.CauseAlign},
	} {
		t.Run(name, func(t *testing.T) {
			r := newQueueRig(t)
			r.guardVRAM()
			r.create(neighbour, 1, 1, 20_000)
			r.shifted = tt.ring << victim
			r.create(victim, 1, 1, 20_000)
			r.setState(victim, 0, 0)
			if tt.state != nil {
				b := make([]byte, fwabi.SaveBytes)
				tt.state(b)
				r.pokeState(victim, 0, b)
			}
			r.post(3, neighbour)
			r.write(victim, r.fills(victim, 4, rows), tt.flags)
			r.q[victim].fails, r.q[victim].values = true, nil
			r.ring(victim)
			r.post(1, neighbour)
			r.quiesce()
			assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, victim, tt.cause}}, r.notices)
			assert.Equal(t, 4, r.progress)
		})
	}
}

package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// newYields returns a rig in which queues 0 to 2 of node 0 and queue 3 of node 1 have long entries, and queue 0 works.
func newYields(t *testing.T) *queueRig {
	r := newQueueRig(t)
	r.guardVRAM()
	for i := range uint32(4) {
		r.create(i, int(i/3), 1, 50_000)
		r.write(i, r.fills(i, longFills, longRows), 0)
		r.write(i, r.fills(i, 5, longRows), 0)
		r.ring(i)
	}
	r.until(func() bool { return r.service[0] != 0 && r.service[3] != 0 })
	return r
}

// answered waits until YIELDED of node 0, and gives all entries again. They complete.
func (r *queueRig) answered() {
	r.t.Helper()
	for n := 0; r.yielding[0]; n++ {
		require.Less(r.t, n, 10_000, "YIELDED")
		r.step(100)
		r.take()
	}
	for i := range uint32(3) {
		if q := &r.q[i]; q.exists && !q.failed {
			r.again(i)
		}
	}
	r.quiesce()
}

// A node that drains completes what it has begun, and then yields. While a node yields, DRAIN gets BUSY.
func TestQueueYieldDuringDrain(t *testing.T) {
	r := newYields(t)
	r.must(fwabi.OpDrain, 0)
	r.draining[0] = true
	for i := range uint32(3) {
		r.q[i].drains = true
	}
	r.bell(0)
	r.step(500)
	status, _ := r.request(fwabi.OpDrain, 0)
	assert.EqualValues(t, fwabi.StatusBusy, status)
	for r.yielding[0] {
		r.step(100)
		r.take()
		require.Less(t, r.Clocks, uint64(2_000_000))
	}
	assert.Equal(t, [][4]uint32{{fwabi.OpDrained, 0, 0, 0}, {fwabi.OpYielded, 0, 0, 0}}, r.notices)
	dropped := 0
	for i := range uint32(3) {
		assert.Empty(t, r.q[i].values)
		for _, g := range r.q[i].dropped {
			assert.False(t, g.begun, "what has begun is complete")
			dropped++
		}
		r.must(fwabi.OpResume, i)
		r.q[i].held = false
	}
	assert.Positive(t, dropped, "entries that were not in the ring of the node")
	r.answered()
	assert.Equal(t, 8, r.progress)
}

// PREEMPT, QUEUE_DESTROY and QUEUE_CREATE at many times after the doorbell of a yield succeed, and YIELDED follows for the rest.
func TestQueueRequestsDuringYield(t *testing.T) {
	tooltest.Long(t)
	for at := uint64(0); at < 6000; at += 1100 {
		r := newYields(t)
		r.bell(0)
		r.step(at)
		r.must(fwabi.OpPreempt, 0)
		r.q[0].held = true
		r.destroy(1)
		r.q[1] = queued{next: r.q[1].next}
		r.places[0] &^= 2
		r.create(4, 0, 2, 50_000)
		for n := 0; r.yielding[0]; n++ {
			require.Less(t, n, 10_000, "YIELDED")
			r.step(100)
			r.take()
		}
		r.must(fwabi.OpResume, 0)
		r.q[0].held = false
		r.write(4, r.fills(4, 3, longRows), 0)
		r.ring(4)
		r.answered()
		require.Equal(t, 7, r.progress, "after %d clocks", at)
		require.Len(t, r.notices, 1)
	}
}

// A request waits for a node that does not stop, because the host answers the read of a context late. Meanwhile the other node yields as fast as
// otherwise, and its own yield waits and is not lost.
func TestQueueYieldDuringRequest(t *testing.T) {
	const late = 60_000
	r := newYields(t)
	r.saveHost = 1 << victim
	r.create(victim, 1, 3, 50_000)
	due := uint64(0)
	r.Reading = func(d *hostbfm.Read) {
		if at := d.Req.Addr - memBase; at >= hostSaves && at < hostSaves+fwabi.SaveBytes*fwabi.Queues && due == 0 {
			due = r.Clocks + late
			d.Due = due
		}
	}
	r.post(1, victim)
	r.until(func() bool { return due != 0 })
	r.send(fwabi.OpPreempt, victim)
	r.asking = true
	r.step(3000)
	r.bell(1)
	assert.LessOrEqual(t, r.yield(0), uint64(yieldBusy))
	require.Less(t, r.Clocks, due, "the request waits")
	for seq := uint32(0); seq == 0; {
		require.Less(t, r.Clocks, due+20_000)
		r.step(1)
		var head uint32
		if seq, head, _ = r.take(); seq != 0 {
			require.EqualValues(t, fwabi.StatusOK, head>>16&0xff)
		}
	}
	r.asking, r.q[victim].held = false, true
	assert.Greater(t, r.Clocks, due)
	r.until(func() bool { r.take(); return !r.yielding[1] })
	assert.Equal(t, [][4]uint32{{fwabi.OpYielded, 0, r.places[0], 0}, {fwabi.OpYielded, 1, r.places[1], 0}}, r.notices)
	r.must(fwabi.OpResume, victim)
	r.q[victim].held = false
	r.again(3)
	r.again(victim)
	r.answered()
	assert.Equal(t, 9, r.progress)
}

// A fault, a RESET and the loss of the node at many times around the doorbell of a yield. FAULT is before YIELDED, and the queues that
// have not failed get their entries again and complete them.
func TestQueueYieldWithFault(t *testing.T) {
	tooltest.Long(t)
	for name, tt := range map[string]struct {
		cause  func(r *queueRig)
		before bool // the cause is before the doorbell
		lives  int  // progress values of node 0; a queue has two
	}{
		"fault": {func(r *queueRig) {
			r.create(victim, 0, 3, 50_000)
			r.write(victim, []byte{0, 0, 0, 0xff}, 0)
			r.q[victim].fails, r.q[victim].values = true, nil
			r.ring(victim)
		}, true, 6},
		"RESET": {func(r *queueRig) {
			r.resets = 1
			r.must(fwabi.OpReset, 0)
		}, false, 4},
		"lost": {func(r *queueRig) {
			for i := range 3 {
				r.q[i].fails = true
			}
			require.NoError(r.t, r.Write(arbreg.Base+arbreg.Owner, 2))
			require.NoError(r.t, r.Write(cpreg.Base+cpreg.Ctl, cpreg.CtlReset))
		}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			first := 0
			for at := uint64(0); at < 9000; at += 1500 {
				r := newYields(t)
				rung := 0
				if tt.before {
					tt.cause(r)
					r.step(at)
					r.take()
					rung = len(r.notices)
					r.bell(0)
				} else {
					r.bell(0)
					r.step(at / 3)
					tt.cause(r)
				}
				for n := 0; r.yielding[0]; n++ {
					require.Less(t, n, 10_000, "YIELDED")
					r.step(100)
					r.take()
				}
				last := len(r.notices) - 1
				require.EqualValues(t, fwabi.OpYielded, r.notices[last][0])
				if last == rung {
					continue // the node stopped before the cause, or after FAULT
				}
				first++
				if tt.lives == 0 {
					require.Equal(t, [4]uint32{fwabi.OpYielded, 0, 0, 0}, r.notices[last])
					require.Len(t, r.notices, 4, "a notice of each queue")
				}
				r.answered()
				require.Equal(t, tt.lives+2, r.progress, "after %d clocks: %v", at, r.notices)
			}
			assert.Greater(t, first, 2, "FAULT before YIELDED")
		})
	}
}

// HELLO forgets a yield without a notice. A new session and a new yield work.
func TestQueueYieldDuringHello(t *testing.T) {
	tooltest.Long(t)
	forgotten := 0
	for at := uint64(0); at < 6000; at += 1000 {
		r := newYields(t)
		r.bell(0)
		r.step(at)
		before := len(r.notices)
		r.hello()
		if len(r.notices) == before {
			forgotten++
		}
		for n := range uint32(2) {
			r.must(fwabi.OpNodeTake, n, n*0x1000, 10+n)
		}
		seen := len(r.notices)
		r.step(20_000)
		r.take()
		require.Len(t, r.notices, seen, "after %d clocks", at)
		r.create(0, 0, 1, 50_000)
		r.write(0, r.fills(0, 20, longRows), 0)
		r.ring(0)
		r.step(6000)
		progress := r.progress
		r.yield(0)
		r.answered()
		require.Equal(t, progress+1, r.progress)
	}
	assert.Positive(t, forgotten)
}

// The tail of a queue cannot be read for a while, so the yield waits. YIELDED follows
// without another doorbell.
func TestQueueYieldWithoutHostMemory(t *testing.T) {
	r := newYields(t)
	reads := 0
	r.Reading = func(d *hostbfm.Read) {
		if d.Req.Addr-memBase == fwabi.AreaQueueTails+4 && reads < 6 {
			reads++
			d.Good = 0
		}
	}
	r.bell(0)
	r.step(5000)
	r.take()
	require.Empty(t, r.notices, "the yield waits")
	require.Less(t, reads, 6)
	r.answered()
	assert.Equal(t, 6, reads)
	assert.Equal(t, 8, r.progress)
}

// Bus mastering is off for a while, at many times after the doorbell of a yield, so that tails cannot be read, and places, heads
// and YIELDED cannot be written. YIELDED follows each time, without another doorbell. The copies are so long that none ends.
func TestQueueYieldWithoutBusMaster(t *testing.T) {
	const from, to, bytes = 0x40_0000, 0x80_0000, 4 << 20
	r := newQueueRig(t)
	for i := range uint32(3) {
		r.create(i, 0, 1, 9000)
	}
	late := 0
	for at := uint64(0); at < 8000; at += 271 {
		for i := range uint32(3) {
			if r.q[i].values == nil && r.q[i].dropped == nil {
				b, err := pkt.Copy{Src: from, Dst: to, Bytes: bytes}.Append(nil)
				require.NoError(t, err)
				r.write(i, b, 0)
				r.ring(i)
			} else {
				r.again(i)
			}
		}
		r.step(12_000)
		r.bell(0)
		r.step(at)
		r.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
		r.end()
		off, open := r.Clocks, r.answers == r.word(fwabi.AreaAnswerTail)
		r.step(2000)
		require.Equal(t, open, r.answers == r.word(fwabi.AreaAnswerTail), "no write")
		r.SetConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
		r.end()
		for n := 0; r.yielding[0]; n++ {
			require.Less(t, n, 100_000, "YIELDED after %d clocks", at)
			r.step(1)
			r.take()
		}
		if open && r.Clocks > off+2000 {
			late++
		}
	}
	assert.Greater(t, late, 8)
	for i := range uint32(3) {
		require.Len(t, r.q[i].dropped, 1)
		assert.Less(t, r.q[i].dropped[0].rest.progress, uint32(bytes))
	}
}

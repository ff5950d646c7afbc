package fwtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/corefile"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The queues of the tests of host memory. The ring of victim is in host memory. neighbour has the same node,
// and stranger the other one.
const (
	victim    = 5
	neighbour = 6
	stranger  = 7
)

// newMemoryRig returns a rig with the three queues, in which spoil changes the reads of the ring of victim.
func newMemoryRig(t *testing.T, spoil func(r *queueRig, d *hostbfm.Read)) *queueRig {
	t.Helper()
	r := newQueueRig(t)
	r.guardVRAM()
	r.inHost = 1 << victim
	r.create(victim, 1, 1, 20_000)
	r.create(neighbour, 1, 1, 20_000)
	r.create(stranger, 0, 1, 20_000)
	r.Reading = func(d *hostbfm.Read) {
		if at := d.Req.Addr - memBase; at >= hostRings && at < hostRings+hostRing*fwabi.Queues {
			spoil(r, d)
		}
	}
	return r
}

// post writes some entries to each queue of a list, and rings.
func (r *queueRig) post(entries int, queues ...uint32) {
	for _, i := range queues {
		for range entries {
			r.write(i, r.fills(i, 2, rows), 0)
		}
		r.ring(i)
	}
}

// Host memory that answers with an error or never stops the queue whose entries it has. One that answers late does
// not. The other queues complete all entries in each case.
func TestQueueHostMemory(t *testing.T) {
	fails := func(_ *queueRig, d *hostbfm.Read) { d.Good = 0 }
	never := func(_ *queueRig, d *hostbfm.Read) { d.Due = math.MaxUint64 }
	late := func(r *queueRig, d *hostbfm.Read) { d.Due = r.Clocks + 3000 }
	for name, tt := range map[string]struct {
		spoil   func(*queueRig, *hostbfm.Read)
		timeout uint32 // READ_TIMEOUT.RANGE
		fails   bool
	}{
		"late": {late, 0, false}, "an error": {fails, 0, true}, "never, with a time-out": {never, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newMemoryRig(t, tt.spoil)
			require.NoError(t, r.Write(idreg.Base+idreg.ReadTimeout, tt.timeout))
			r.post(3, neighbour, victim, stranger)
			notices, progress := [][4]uint32(nil), 9
			if tt.fails {
				r.q[victim].fails, r.q[victim].values = true, nil
				notices, progress = [][4]uint32{{fwabi.OpFault, 1, victim, fwabi.CauseEntryRead}}, 6
			}
			r.quiesce()
			assert.Equal(t, notices, r.notices)
			assert.Equal(t, progress, r.progress)
			r.Reading = nil
			r.destroy(victim)
			r.create(victim, 1, 1, 20_000)
			r.post(2, victim)
			r.quiesce()
			assert.Equal(t, progress+2, r.progress, "the queue works again")
		})
	}
}

// A node that drains has only a context to restore, which its queue needs no longer because its entry is bad. Its end
// has no event. DRAINED follows after the read of the context, and then the firmware sleeps.
func TestQueueDrainOfSwitch(t *testing.T) {
	const late = 15_000
	r := newQueueRig(t)
	r.saveHost = 1 << victim
	r.create(victim, 1, 1, 20_000)
	answered := uint64(0)
	r.Reading = func(d *hostbfm.Read) {
		if at := d.Req.Addr - memBase; at >= hostSaves && at < hostSaves+fwabi.SaveBytes*fwabi.Queues {
			d.Due = r.Clocks + late
			answered = d.Due
		}
	}
	r.write(victim, nil, 2)
	r.q[victim].fails, r.q[victim].values = true, nil
	r.ring(victim)
	r.step(6000)
	r.must(fwabi.OpDrain, 1)
	r.draining[1] = true
	require.Less(t, r.Clocks, answered, "the node reads the context")
	for r.draining[1] {
		r.step(100)
		r.take()
		require.Less(t, r.Clocks, answered+200_000, "DRAINED")
	}
	assert.Greater(t, r.Clocks, answered)
	assert.Less(t, r.Clocks, answered+noticeClocks)
	assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, victim, fwabi.CauseEntry}, {fwabi.OpDrained, 1, 0, 0}}, r.notices)
	r.step(20_000)
	assert.Greater(t, r.g.IdleFor(), uint64(1<<20), "the firmware sleeps")
}

// hung waits until the watchdog reports the firmware.
func (r *queueRig) hung() {
	r.t.Helper()
	for n := 0; ; n++ {
		require.Less(r.t, n, 1000)
		r.step(500)
		v, err := r.Read(mcureg.Base + mcureg.Status)
		require.NoError(r.t, err)
		if v&mcureg.StatusHung != 0 {
			break
		}
	}
	v, err := r.Read(intcreg.Base + intcreg.Status)
	require.NoError(r.t, err)
	assert.EqualValues(r.t, intcreg.Hung, v&intcreg.Hung)
}

// Without a time-out of reads, a firmware whose read has no answer waits, and its watchdog reports it. The other node
// completes what is in its ring, and the host reaches all registers. The answer may arrive at any time later: before the firmware is
// loaded again, or while the new one boots, which does not get it. Then all works again.
func TestQueueMemoryIsSilent(t *testing.T) {
	tooltest.Long(t)
	for name, whileItBoots := range map[string]bool{"the answer arrives before the load": false, "the answer arrives during the boot": true} {
		t.Run(name, func(t *testing.T) {
			r := newMemoryRig(t, func(_ *queueRig, d *hostbfm.Read) { d.Due = math.MaxUint64 })
			require.NoError(t, r.Write(mcureg.Base+mcureg.Limit, 30_000))
			r.post(4, stranger)
			r.step(8000)
			r.post(1, victim)
			r.hung()
			wptr, err := r.Read(cpreg.Base + cpreg.Wptr)
			require.NoError(t, err)
			rptr, err := r.Read(cpreg.Base + cpreg.Rptr)
			require.NoError(t, err)
			assert.Equal(t, wptr, rptr, "the other node has completed its ring")
			assert.Positive(t, r.progress)
			_, err = corefile.Take(r, 100)
			require.ErrorIs(t, err, mcu.ErrWait)
			require.Len(t, r.Reads, 1)
			r.Reading, r.Reads[0].Due = nil, r.Clocks+50_000
			if !whileItBoots {
				r.step(60_000)
				s, err := corefile.Take(r, 100)
				require.NoError(t, err)
				assert.Equal(t, mcu.Hung, s.Cause)
			}
			r.restart()
			r.post(2, victim, neighbour, stranger)
			before := r.progress
			r.quiesce()
			assert.Equal(t, before+6, r.progress)
			assert.Empty(t, r.notices)
		})
	}
}

// restart loads the firmware again, and makes the three queues anew.
func (r *queueRig) restart() {
	r.t.Helper()
	clear(r.Mem[:fwabi.AreaBytes])
	r.boot()
	r.inHost = 0
	r.create(victim, 1, 1, 20_000)
	r.create(neighbour, 1, 1, 20_000)
	r.create(stranger, 0, 1, 20_000)
}

// Reads of the message area fail at random. Requests are answered, no doorbell of a queue is lost, and nothing is done
// twice. The host rings for messages until it has an answer.
func TestQueueMessageAreaFails(t *testing.T) {
	r := newQueueRig(t)
	r.guardVRAM()
	r.Reading = func(d *hostbfm.Read) {
		if d.Req.Addr-memBase < fwabi.AreaBytes && r.Rng.IntN(100) < 10 {
			d.Good = 0
		}
	}
	r.rings = 5000
	for i := range uint32(6) {
		r.create(i, int(i%2), i/3, 5000)
	}
	for range 3 {
		r.post(2, 0, 1, 2, 3, 4, 5)
		r.must(fwabi.OpPreempt, 2)
		r.must(fwabi.OpResume, 2)
		r.quiesce()
	}
	assert.Equal(t, 36, r.progress)
	assert.Empty(t, r.notices)
	assert.Greater(t, r.must(fwabi.OpCounters)[11], uint32(10), "accesses that failed")
}

// The host takes a node from the firmware without a request and resets it; it may give it back then. The queues of the node
// stop, nothing counts as complete that is not, and the other node continues.
func TestQueueNodeIsResetByHost(t *testing.T) {
	for _, after := range []uint32{1, 3} {
		r := newQueueRig(t)
		r.guardVRAM()
		r.create(neighbour, 1, 1, 20_000)
		r.create(stranger, 0, 1, 20_000)
		r.post(4, neighbour, stranger)
		r.step(10_000)
		r.q[neighbour].fails = true
		require.NoError(t, r.Write(arbreg.Base+arbreg.Owner, 1))
		require.NoError(t, r.Write(cpreg.Base+cpreg.Stride+cpreg.Ctl, cpreg.CtlReset))
		for ctl := uint32(cpreg.CtlReset); ctl&cpreg.CtlReset != 0; {
			var err error
			ctl, err = r.Read(cpreg.Base + cpreg.Stride + cpreg.Ctl)
			require.NoError(t, err)
		}
		require.NoError(t, r.Write(arbreg.Base+arbreg.Owner, after))
		done := 4 - uint32(len(r.q[neighbour].values))
		require.Less(t, done, uint32(4))
		r.q[neighbour].values = nil
		r.ring(neighbour)
		r.quiesce()
		assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, neighbour, fwabi.CauseLost}}, r.notices)
		assert.LessOrEqual(t, r.word(fwabi.AreaQueueHeads+4*neighbour), done)
		assert.EqualValues(t, 4, r.word(fwabi.AreaQueueHeads+4*stranger))
	}
}

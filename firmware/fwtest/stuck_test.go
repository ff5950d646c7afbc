package fwtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// newStuckRig returns a rig as newUnansweredRig, in which the host has asked for the reset of node 1.
func newStuckRig(t *testing.T) *queueRig {
	t.Helper()
	r := newUnansweredRig(t)
	r.resets = 1
	r.must(fwabi.OpReset, 1)
	r.q[victim].values, r.q[neighbour].fails = nil, true
	return r
}

// newUnansweredRig returns a rig with the three queues, whose node 1 reads a context from host memory that gives no answer.
func newUnansweredRig(t *testing.T) *queueRig {
	t.Helper()
	r := newQueueRig(t)
	r.guardVRAM()
	require.NoError(t, r.Write(idreg.Base+idreg.ReadTimeout, 0))
	r.saveHost = 1 << victim
	r.create(victim, 1, 1, 20_000)
	r.create(neighbour, 1, 1, 20_000)
	r.create(stranger, 0, 1, 20_000)
	r.Reading = func(d *hostbfm.Read) {
		if at := d.Req.Addr - memBase; at >= hostSaves && at < hostSaves+fwabi.SaveBytes*fwabi.Queues {
			d.Due = math.MaxUint64
		}
	}
	r.post(1, victim)
	r.until(func() bool { return len(r.Reads) == 1 && r.Reads[0].Due == math.MaxUint64 })
	return r
}

// givesUp waits until the firmware gives up node 1. clocks are those from the begin of the reset.
func (r *queueRig) givesUp() (clocks uint64) {
	r.t.Helper()
	begin, before := r.Clocks, len(r.notices)
	for !r.told(before) {
		r.step(1000)
		r.take()
		require.Less(r.t, r.Clocks-begin, uint64(2*fwabi.NodeResetClocks), "the node is polled for ever")
	}
	return r.Clocks - begin
}

// told reports whether there is a notice, after the first seen ones, that node 1 is stuck.
func (r *queueRig) told(seen int) bool {
	for _, n := range r.notices[seen:] {
		if n == [4]uint32{fwabi.OpFault, 1, fwabi.NoQueue, fwabi.CauseStuck} {
			return true
		}
	}
	return false
}

// asleep checks that the firmware sleeps until an event, and that the other node works.
func (r *queueRig) asleep() {
	r.t.Helper()
	r.step(20_000)
	assert.Greater(r.t, r.g.IdleFor(), uint64(1<<30), "the firmware sleeps")
	before := r.progress
	r.post(2, stranger)
	r.until(func() bool { return r.progress == before+2 })
}

// answer lets the host answer the read of node 1.
func (r *queueRig) answer() {
	r.Reading, r.Reads[0].Due = nil, r.Clocks
	r.step(2000)
}

// A node whose reset does not end is given up after NODE_RESET_CLOCKS. Its queues stop, the host learns the cause, the
// other node works, and the firmware sleeps. RESET begins the reset anew, and after it the node works.
func TestStuckNodeIsResetAgain(t *testing.T) {
	tooltest.Long(t)
	r := newStuckRig(t)
	r.post(2, stranger)
	clocks := r.givesUp()
	assert.Greater(t, clocks, uint64(fwabi.NodeResetClocks-20_000))
	assert.Less(t, clocks, uint64(fwabi.NodeResetClocks+20_000))
	assert.Equal(t, [][4]uint32{
		{fwabi.OpFault, 1, victim, fwabi.CauseReset}, {fwabi.OpFault, 1, neighbour, fwabi.CauseStuck},
		{fwabi.OpFault, 1, fwabi.NoQueue, fwabi.CauseStuck},
	}, r.notices)
	assert.Equal(t, 2, r.progress)
	r.asleep()
	for _, op := range []uint32{fwabi.OpDrain, fwabi.OpNodeGive} {
		status, _ := r.request(op, 1)
		assert.EqualValues(t, fwabi.StatusState, status, "op %d", op)
	}
	r.destroy(victim)
	r.destroy(neighbour)
	status, _ := r.request(fwabi.OpQueueCreate, victim, 1, 1, 20_000, ringsAt, 0, 4, savesAt, 0)
	assert.EqualValues(t, fwabi.StatusState, status)

	r.must(fwabi.OpReset, 1)
	status, _ = r.request(fwabi.OpReset, 1)
	assert.EqualValues(t, fwabi.StatusBusy, status)
	assert.Greater(t, r.givesUp(), uint64(fwabi.NodeResetClocks-20_000))
	r.asleep()

	r.answer()
	r.must(fwabi.OpReset, 1)
	r.create(victim, 1, 1, 20_000)
	before := r.progress
	r.post(3, victim, stranger)
	r.quiesce()
	assert.Equal(t, before+6, r.progress)
}

// A stuck node is given back when its reset has ended, and not before. Then it can be taken again.
func TestStuckNodeIsGivenBack(t *testing.T) {
	r := newStuckRig(t)
	r.givesUp()
	r.destroy(victim)
	r.destroy(neighbour)
	for range 2 {
		status, _ := r.request(fwabi.OpNodeGive, 1)
		assert.EqualValues(t, fwabi.StatusBusy, status)
		status, _ = r.request(fwabi.OpNodeTake, 1, 0x1000, 11)
		assert.EqualValues(t, fwabi.StatusState, status)
	}
	r.asleep()
	r.answer()
	r.must(fwabi.OpNodeGive, 1)
	status, _ := r.request(fwabi.OpNodeGive, 1)
	assert.EqualValues(t, fwabi.StatusState, status)
	r.must(fwabi.OpNodeTake, 1, 0x1000, 11)
	r.create(victim, 1, 1, 20_000)
	before := r.progress
	r.post(3, victim)
	r.quiesce()
	assert.Equal(t, before+3, r.progress)
}

// A reset of the device ends the wait for a stuck node, and all works after the next boot.
func TestStuckNodeAndDevice(t *testing.T) {
	tooltest.Long(t)
	r := newStuckRig(t)
	r.givesUp()
	r.asleep()
	r.Reading = nil
	require.NoError(t, r.Write(idreg.Base+idreg.Reset, idreg.ResetWhole))
	r.step(5000)
	r.Forget()
	for i := range r.q {
		r.q[i] = queued{next: r.q[i].next}
	}
	r.restart()
	before := r.progress
	r.post(2, victim, neighbour, stranger)
	r.quiesce()
	assert.Equal(t, before+6, r.progress)
}

// With a time-out of reads the reset ends, and the queues that had no fault continue.
func TestResetWithTimeout(t *testing.T) {
	r := newQueueRig(t)
	require.NoError(t, r.Write(idreg.Base+idreg.ReadTimeout, 3)) // 2^15 to 2^16 clocks
	r.saveHost = 1 << victim
	r.create(victim, 1, 1, 20_000)
	r.create(neighbour, 1, 1, 20_000)
	r.Reading = func(d *hostbfm.Read) {
		if at := d.Req.Addr - memBase; at >= hostSaves && at < hostSaves+fwabi.SaveBytes*fwabi.Queues {
			d.Due = math.MaxUint64
		}
	}
	r.post(1, victim)
	r.until(func() bool { return len(r.Reads) == 1 && r.Reads[0].Due == math.MaxUint64 })
	r.resets = 1
	r.must(fwabi.OpReset, 1)
	r.q[victim].values = nil
	r.post(2, neighbour)
	r.quiesce()
	assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, victim, fwabi.CauseReset}}, r.notices)
	assert.Equal(t, 2, r.progress)
}

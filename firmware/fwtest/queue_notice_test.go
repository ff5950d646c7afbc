package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// Reads of host memory fail when the firmware has a notice. It tries again by itself, so the notice arrives without
// another doorbell: FAULT of a bad packet, and DRAINED.
func TestNoticeAfterAFailedRead(t *testing.T) {
	for name, tt := range map[string]struct {
		cause func(r *queueRig)
		want  [4]uint32
	}{
		"FAULT": {func(r *queueRig) {
			r.write(1, []byte{0, 0, 0, 0xee}, 0)
			r.q[1].fails, r.q[1].values = true, nil
			r.ring(1)
		}, [4]uint32{fwabi.OpFault, 0, 1, cpreg.CauseOpcode}},
		"DRAINED": {func(r *queueRig) {
			r.post(4, 1)
			r.must(fwabi.OpDrain, 0)
			r.draining[0], r.q[1].drains = true, true
		}, [4]uint32{fwabi.OpDrained, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newQueueRig(t)
			r.create(1, 0, 1, 20_000)
			tt.cause(r)
			failures := 0
			r.Reading = func(d *hostbfm.Read) {
				if d.Req.Addr-memBase == fwabi.AreaAnswerHead && failures < 3 {
					d.Good = 0
					failures++
				}
			}
			r.quiesce()
			assert.Equal(t, 3, failures)
			assert.Equal(t, [][4]uint32{tt.want}, r.notices)
		})
	}
}

// The host takes and resets a node with 16 queues, while it drains. Each queue stops with a notice, and DRAINED follows.
func TestNoticesOfANodeThatIsLost(t *testing.T) {
	r := newQueueRig(t)
	for i := range uint32(fwabi.Queues) {
		r.create(i, 0, 1, 20_000)
		r.q[i].fails = true
		r.write(i, r.fills(i, longFills, longRows), 0)
		r.ring(i)
	}
	r.step(20_000)
	r.must(fwabi.OpDrain, 0)
	r.draining[0] = true
	require.NoError(t, r.Write(arbreg.Base+arbreg.Owner, 2))
	require.NoError(t, r.Write(cpreg.Base+cpreg.Ctl, cpreg.CtlReset))
	for range 200 {
		r.step(500)
		if _, head, _ := r.take(); head != 0 { // room in the ring of answers
			require.NoError(t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
		}
	}
	require.Len(t, r.notices, fwabi.Queues+1)
	for i, n := range r.notices[:fwabi.Queues] {
		assert.Equal(t, [4]uint32{fwabi.OpFault, 0, uint32(i), fwabi.CauseLost}, n)
	}
	assert.Equal(t, [4]uint32{fwabi.OpDrained, 0, 0, 0}, r.notices[fwabi.Queues])
}

// The rings of two nodes may be neighbours, but one that has bytes of the other is refused.
func TestRingsOfNodesDoNotMeet(t *testing.T) {
	for _, tt := range []struct {
		ring, log2 uint32
		want       uint32
	}{
		{0x1000, 12, fwabi.StatusArgument}, // the same ring
		{0x0000, 13, fwabi.StatusArgument}, // ends in it
		{0x1000, 9, fwabi.StatusArgument},  // its begin
		{0x0000, 14, fwabi.StatusArgument}, // around it
		{0x0000, 12, fwabi.StatusOK},       // before it
		{0x2000, 12, fwabi.StatusOK},       // after it
	} {
		r := newIdleRig(t, newComplete(t, 32<<10, 1))
		r.load()
		r.must(fwabi.OpNodeTake, 1, 0x1000, 12)
		got, _ := r.request(fwabi.OpNodeTake, 0, tt.ring, tt.log2)
		assert.Equal(t, tt.want, got, "ring at %#x with 2^%d bytes", tt.ring, tt.log2)
	}
}

// A node that drains is stuck. DRAINED arrives after the notices of its queues, and then the FAULT of the node.
func TestStuckNodeThatDrains(t *testing.T) {
	r := newStuckRig(t)
	r.q[victim].fails = true
	r.draining[1] = true
	r.must(fwabi.OpDrain, 1)
	r.givesUp()
	require.GreaterOrEqual(t, len(r.notices), 2)
	last := r.notices[len(r.notices)-2:]
	assert.Equal(t, [][4]uint32{{fwabi.OpDrained, 1, 0, 0}, {fwabi.OpFault, 1, fwabi.NoQueue, fwabi.CauseStuck}}, last)
}

// A node that is stuck keeps its ring, since RESET makes it work there again.
func TestRingOfAStuckNode(t *testing.T) {
	r := newStuckRig(t)
	r.givesUp()
	r.destroy(stranger)
	r.must(fwabi.OpNodeGive, 0)
	got, _ := r.request(fwabi.OpNodeTake, 0, 0x1000, 10)
	assert.Equal(t, uint32(fwabi.StatusArgument), got, "its ring")
	r.must(fwabi.OpNodeTake, 0, 0x4000, 10)
}

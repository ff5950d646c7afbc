package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// PREEMPT and QUEUE_DESTROY of a queue whose node cannot stop get BUSY after HALT_CLOCKS. Meanwhile the other node executes
// entries whose doorbells ring after the request. When the node can stop, the request is repeated and succeeds.
func TestRequestOfANodeThatCannotStop(t *testing.T) {
	tooltest.Long(t)
	const (
		slow = 20_000 // clocks of an entry of the other node, at most
		late = 30_000 // clocks of an answer after HALT_CLOCKS, at most
	)
	for _, op := range []uint32{fwabi.OpPreempt, fwabi.OpQueueDestroy} {
		r := newUnansweredRig(t)
		begin, before := r.Clocks, r.progress
		r.send(op, victim)
		var head uint32
		for since := r.Clocks; head == 0; _, head, _ = r.take() {
			if len(r.q[stranger].values) == 0 {
				r.write(stranger, r.fills(stranger, 1, longRows), 0)
				r.ring(stranger)
				since = r.Clocks
			}
			r.step(200)
			require.Less(t, r.Clocks-since, uint64(slow), "op %d: an entry of the other node waits", op)
			require.Less(t, r.Clocks-begin, uint64(fwabi.HaltClocks+late), "op %d: no answer", op)
		}
		assert.Equal(t, op|fwabi.StatusBusy<<16, head, "op %d", op)
		assert.GreaterOrEqual(t, r.Clocks-begin, uint64(fwabi.HaltClocks), "op %d", op)
		assert.Greater(t, r.progress-before, fwabi.HaltClocks/slow, "op %d", op)
		t.Logf("op %d: BUSY after %d clocks, in which the other node completes %d entries", op, r.Clocks-begin, r.progress-before)

		r.answer()
		status, _ := r.request(op, victim)
		assert.EqualValues(t, fwabi.StatusOK, status, "op %d", op)
		if op == fwabi.OpPreempt {
			r.must(fwabi.OpResume, victim)
			r.quiesce()
			assert.Empty(t, r.q[victim].values)
		}
	}
}

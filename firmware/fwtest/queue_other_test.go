package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// other does an operation that is not about a queue. Queues keep what they have, but for those of a node that is given
// back, and all of them at HELLO.
func (c *queueCampaign) other() {
	switch node := c.rng.IntN(2); c.rng.IntN(8) {
	case 0, 1:
		c.count("selftest")
		answer := c.must(fwabi.OpSelftest, 0)
		require.Equal(c.t, []uint32{fwabi.StageLoop, fwabi.ResultReady, 0, 0, 0}, answer)
	case 2, 3:
		c.count("telemetry")
		c.must(fwabi.OpTelemetry, c.rng.Uint32N(2)*(50_000+c.rng.Uint32N(50_000)))
	case 4:
		c.count("log")
		c.must(fwabi.OpLog, c.rng.Uint32N(4))
	case 5, 6:
		c.give(node)
	default:
		c.count("hello")
		c.hello()
		for n := range uint32(2) {
			c.must(fwabi.OpNodeTake, n, n*0x1000, 10+n)
		}
	}
}

// give gives a node back, and takes it again. The request is refused while the node has queues, so they are destroyed first.
func (c *queueCampaign) give(node int) {
	c.count("give and take")
	for i := range uint32(fwabi.Queues) {
		q := &c.q[i]
		if !q.exists || q.node != node {
			continue
		}
		status, _ := c.request(fwabi.OpNodeGive, uint32(node))
		require.EqualValues(c.t, fwabi.StatusState, status, "node %d has queue %d", node, i)
		for c.draining[node] || c.yielding[node] {
			c.step(500)
			c.take()
		}
		c.destroy(i)
		*q = queued{next: q.next}
	}
	c.repeat(fwabi.OpNodeGive, uint32(node))
	c.must(fwabi.OpNodeTake, uint32(node), uint32(node)*0x1000, 10+uint32(node))
}

// repeat sends a request until its answer is not BUSY. Then it succeeds.
func (r *queueRig) repeat(op uint32, payload ...uint32) {
	r.t.Helper()
	status := uint32(fwabi.StatusBusy)
	for n := 0; status == fwabi.StatusBusy; n++ {
		require.Less(r.t, n, 100, "op %d", op)
		status, _ = r.request(op, payload...)
	}
	require.EqualValues(r.t, fwabi.StatusOK, status, "op %d %v", op, payload)
}

// hello begins a new session. There are no queues after it, and the firmware has no node.
func (r *queueRig) hello() {
	r.t.Helper()
	r.repeat(fwabi.OpHello, fwabi.Version, 9)
	r.sequence, r.resets, r.draining, r.yielding = 0, 0, [2]bool{}, [2]bool{}
	for i := range r.q {
		r.q[i] = queued{next: r.q[i].next}
	}
}

// NODE_GIVE of a node with queues is refused, and changes nothing: all entries complete.
func TestNodeGiveWithQueues(t *testing.T) {
	r := newQueueRig(t)
	for i := range uint32(4) {
		r.create(i, int(i%2), 1, 5000)
		r.write(i, r.fills(i, longFills, longRows), 0)
		r.ring(i)
	}
	for node := range uint32(2) {
		r.until(func() bool { return r.service[node] != 0 })
		status, _ := r.request(fwabi.OpNodeGive, node)
		assert.EqualValues(t, fwabi.StatusState, status)
	}
	assert.Zero(t, r.progress, "the queues work")
	r.quiesce()
	assert.Equal(t, 4, r.progress)
	assert.Empty(t, r.notices)
	r.must(fwabi.OpPreempt, 0)
	for node := range uint32(2) {
		status, _ := r.request(fwabi.OpNodeGive, node)
		assert.EqualValues(t, fwabi.StatusState, status, "a queue that has no work, or is held")
	}
}

// HELLO while queues work: after the answer they write nothing, do not exist, and the firmware has no node. A new session uses
// both nodes and the same queues.
func TestHelloWithQueues(t *testing.T) {
	r := newQueueRig(t)
	for i := range uint32(4) {
		r.create(i, int(i%2), 1, 5000)
		for range 3 {
			r.write(i, r.fills(i, longFills, longRows), 0)
		}
		r.ring(i)
	}
	r.until(func() bool { return r.service[0] != 0 && r.service[1] != 0 })
	require.Zero(t, r.progress, "the queues work")
	r.hello()
	service := r.service
	r.step(100_000) // a write of a queue that does not exist fails the test
	assert.Equal(t, service, r.service)
	for i := range uint32(4) {
		assert.Equal(t, []uint32{fwabi.QueueNone}, r.must(fwabi.OpQueueState, i)[:1])
	}
	for node := range uint32(2) {
		status, _ := r.request(fwabi.OpNodeGive, node)
		assert.EqualValues(t, fwabi.StatusState, status, "node %d", node)
		r.must(fwabi.OpNodeTake, node, node*0x1000, 10+node)
	}
	for i := range uint32(4) {
		r.create(i, int(i/2), 1, 5000)
		r.write(i, r.fills(i, 1, longRows), 0)
		r.ring(i)
	}
	r.quiesce()
	assert.Equal(t, 4, r.progress)
}

package fwtest

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	queueSeed = flag.Uint64("fwtest.queueseed", 1, "seed of the operations of queues")
	queueOps  = flag.Int("fwtest.queueops", 400, "number of operations of queues")
)

// A long entry takes about 58,000 clocks when the other node has no work. One in longOnce entries is long. All packets of
// the campaign fill at most longRows rows, so that a node that must stop is not in a long packet.
const (
	longFills = 180
	longRows  = 8
	longOnce  = 8
)

// One in otherOnce operations is about the program, a node or the session, and not about a queue.
const otherOnce = 25

// A queueCampaign does operations of queues at random.
type queueCampaign struct {
	*queueRig
	rng   *rand.Rand
	kinds map[string]int
	turns bool // there are no yields
}

// Queues under random entries, doorbells, priorities, preemptions, drains, faults and resets keep the rules
// of the model: the order within a queue, priority, fairness, each progress value once, no lost doorbell.
func TestQueueCampaign(t *testing.T) {
	tooltest.Long(t)
	c := queuesAtRandom(t, false)
	require.Greater(t, 3*c.counted, c.contests, "many waits are checked")
}

// The same without yields, which drop much of the work that waits.
func TestQueueCampaignOfTurns(t *testing.T) {
	tooltest.Long(t)
	c := queuesAtRandom(t, true)
	require.Greater(t, 2*c.counted, c.contests, "most waits are checked")
}

// queuesAtRandom does the operations of the seed, without yields if turns is set.
func queuesAtRandom(t *testing.T, turns bool) *queueCampaign {
	t.Helper()
	c := &queueCampaign{newQueueRig(t), rand.New(rand.NewPCG(*queueSeed, 21)), map[string]int{}, turns}
	c.strict = true
	c.saveHost = c.rng.Uint32N(1 << fwabi.Queues)
	for n := range *queueOps {
		c.operation(c.rng.Uint32N(fwabi.Queues))
		c.pause()
		if n%25 == 24 {
			c.settle()
		}
	}
	c.settle()
	t.Logf("seed %d, %d operations %v, %d progress values, %d clocks; %d of %d waits counted, the longest one of %d clocks",
		*queueSeed, *queueOps, c.kinds, c.progress, c.Clocks, c.counted, c.contests, c.longest)
	require.Greater(t, c.contests, *queueOps/8, "queues compete")
	return c
}

// operation does an operation with a queue.
func (c *queueCampaign) operation(i uint32) {
	q := &c.q[i]
	if c.draining[q.node] {
		c.count("while a node drains")
	}
	if c.yielding[q.node] {
		c.count("while a node yields")
	}
	switch n := c.rng.IntN(100); {
	case c.rng.IntN(otherOnce) == 0:
		c.other()
	case !q.exists:
		c.count("create")
		c.create(i, c.rng.IntN(2), c.rng.Uint32N(4), 2000+c.rng.Uint32N(20_000)|c.rng.Uint32N(2)*fwabi.QuantumForced)
	case q.failed || n < 4:
		c.count("destroy")
		c.destroy(i)
		*q = queued{next: q.next}
	case q.fails:
	case n < 10 && (q.held || q.drains):
		c.count("resume")
		c.resume(i)
	case n < 14:
		c.preempt(i)
	case n < 16:
		c.drain(q.node)
	case n < 21 && !c.turns:
		c.yields(q.node)
	case n < 22:
		c.count("reset")
		c.resets++
		if status, _ := c.request(fwabi.OpReset, uint32(q.node)); status != fwabi.StatusOK {
			require.EqualValues(c.t, fwabi.StatusBusy, status)
			c.resets--
		}
	case n < 24:
		c.wrong(i)
	case len(q.dropped) != 0:
		c.renew(i)
	default:
		c.count("entry")
		for range 1 + c.rng.IntN(3) {
			if len(q.values) < depth {
				q.unset = q.unset || c.yielding[q.node] // the entry that sets the surface may be dropped
				c.write(i, c.packets(i), 0)
			}
		}
		c.ring(i)
	}
}

// packets returns those of an entry: some are so long that a quantum or a higher priority ends many turns in it.
func (c *queueCampaign) packets(i uint32) []byte {
	if c.rng.IntN(longOnce) == 0 {
		c.count("long entry")
		return c.fills(i, longFills, longRows)
	}
	return c.fills(i, c.rng.IntN(30), uint16(1+c.rng.IntN(longRows)))
}

// pause lets clocks pass until the next operation, sometimes enough for waits of queues to end.
func (c *queueCampaign) pause() {
	clocks := c.rng.Uint64N(4000)
	if c.rng.IntN(4) == 0 {
		clocks += 10_000 + c.rng.Uint64N(30_000)
	}
	for end := c.Clocks + clocks; c.Clocks < end; c.take() {
		c.step(min(500, end-c.Clocks))
	}
}

func (c *queueCampaign) count(kind string) { c.kinds[kind]++ }

func (c *queueCampaign) resume(i uint32) {
	q := &c.q[i]
	if status, _ := c.request(fwabi.OpResume, i); q.failed {
		require.EqualValues(c.t, fwabi.StatusState, status)
		return
	} else {
		require.EqualValues(c.t, fwabi.StatusOK, status)
	}
	q.held, q.drains = false, false
	if q.waits = 0; len(q.values) != 0 {
		q.waits = c.Clocks
	}
}

// preempt holds a queue. After the answer it writes no data.
func (c *queueCampaign) preempt(i uint32) {
	c.count("preempt")
	q, seen := &c.q[i], len(c.notices)
	status, _ := c.request(fwabi.OpPreempt, i)
	switch {
	case q.held || q.failed || q.drains:
		require.EqualValues(c.t, fwabi.StatusState, status)
	case status == fwabi.StatusBusy:
		require.True(c.t, c.draining[q.node] || c.faults(q.node, seen), "node %d neither drains nor has a fault", q.node)
	default:
		require.EqualValues(c.t, fwabi.StatusOK, status)
		q.held = true
	}
}

// noticeClocks is how long after an answer the notice of what happened before it may come.
const noticeClocks = 6000

// faults reports whether a node has a fault or a reset, of which the notice comes soon or is among those after the
// first seen ones.
func (r *queueRig) faults(node, seen int) bool {
	for end := r.Clocks + noticeClocks; ; r.step(1) {
		r.take()
		if slices.ContainsFunc(r.notices[seen:], func(n [4]uint32) bool { return n[0] == fwabi.OpFault && n[1] == uint32(node) }) {
			return true
		}
		if r.Clocks >= end {
			return false
		}
	}
}

// drain holds the queues of a node, after what they have begun. Other operations with them follow while the
// node drains.
func (c *queueCampaign) drain(node int) {
	c.count("drain")
	if status, _ := c.request(fwabi.OpDrain, uint32(node)); status != fwabi.StatusOK {
		require.EqualValues(c.t, fwabi.StatusBusy, status)
		return
	}
	c.draining[node] = true
	for i := range c.q {
		if q := &c.q[i]; q.exists && q.node == node && !q.held && !q.failed {
			q.drains = true
		}
	}
	for range c.rng.IntN(6) {
		if i := c.rng.Uint32N(fwabi.Queues); c.q[i].node == node {
			c.operation(i)
		}
	}
}

// yields makes a node yield. Other operations with it may follow before YIELDED.
func (c *queueCampaign) yields(node int) {
	if c.yielding[node] {
		return
	}
	c.count("yield")
	c.bell(node)
	for range c.rng.IntN(4) {
		if i := c.rng.Uint32N(fwabi.Queues); c.q[i].node == node {
			c.operation(i)
		}
	}
}

// renew gives the entries of a queue again that a yield dropped, or gives them up. Then they are never executed. Later entries, which the
// firmware saw after the yield, must not be before them.
func (c *queueCampaign) renew(i uint32) {
	q := &c.q[i]
	if c.rng.IntN(4) != 0 && q.dropped[len(q.dropped)-1].number == q.next-1 && q.dropped[0].number >= q.lastNumber {
		c.count("entries again")
		c.again(i)
		return
	}
	c.count("entries given up")
	q.dropped, q.unset = nil, true
}

// wrong writes an entry that makes its queue fail: a bad one, or one whose buffer has a bad packet.
func (c *queueCampaign) wrong(i uint32) {
	q := &c.q[i]
	if len(q.values) == depth || q.held || q.drains || len(q.dropped) != 0 {
		return
	}
	c.count("wrong")
	q.fails = true
	if c.rng.IntN(2) == 0 {
		c.write(i, nil, 2)
	} else {
		c.write(i, []byte{0, 0, 0, 0xff}, 0)
	}
	q.values = q.values[:len(q.values)-1]
	c.ring(i)
}

// settle lets all queues complete what they have.
func (c *queueCampaign) settle() {
	c.quiesce()
	for i := range uint32(fwabi.Queues) {
		q := &c.q[i]
		if q.exists && q.held && !q.failed {
			c.resume(i)
		}
		if q.exists && !q.failed && len(q.dropped) != 0 {
			c.renew(i)
		}
	}
	c.quiesce()
	for i := range uint32(fwabi.Queues) {
		if q := &c.q[i]; q.exists && q.failed {
			c.destroy(i)
			*q = queued{next: q.next}
		}
	}
	c.resets = 0
}

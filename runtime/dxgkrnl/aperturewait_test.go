package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Before the kernel waits for work that uses a part of the aperture, it submits the paging buffers
// that it has built, so that the paging node works meanwhile.
func TestPagingGoesOnDuringAWait(t *testing.T) {
	r := newRig(t, options{aperture: 4, nodes: 2})
	x, first, second := r.alloc(2*4096, system), r.alloc(4096, system), r.alloc(2*4096, system)
	r.render(fill(x, 0, 64, 1))
	r.wait()
	r.gpu.auto = false
	r.render(fill(x, 0, 64, 2)) // in the hardware of node 0
	require.Len(t, r.gpu.queues[0], 1)
	r.mini.log = nil
	waits := 0
	r.gpu.onWait = func() {
		if waits++; waits == 1 {
			assert.Equal(t, []string{"Submit paging fence=2 node=1"}, r.logged("Submit"))
			assert.True(t, r.object(x).running())
			r.gpu.auto = true
		}
	}
	c := fill(second, 0, 64, 4)
	c.join = true
	r.render(fill(first, 0, 64, 3), c)
	assert.Positive(t, waits)
	assert.False(t, r.object(x).running())
	r.gpu.onWait = nil
	assert.Equal(t, repeat(2, 64), r.read(x)[:64])
	assert.Equal(t, repeat(3, 64), r.read(first)[:64])
	assert.Equal(t, repeat(4, 64), r.read(second)[:64])
	r.finish()
}

// An allocation is in use by running work if a submission of a context is in the hardware that uses it, or that is before one
// that uses it.
func TestRunningWork(t *testing.T) {
	c := &context{}
	l := &line{context: c, completed: 3, submitted: 5}
	paging := &line{completed: 3, submitted: 5}
	for _, tt := range []struct {
		uses marks
		want bool
	}{
		{nil, false}, {marks{{l, 3}}, false}, {marks{{l, 4}}, true}, {marks{{l, 5}}, true}, {marks{{l, 6}}, true},
		{marks{{paging, 4}}, false}, {marks{{paging, 4}, {l, 4}}, true},
	} {
		assert.Equal(t, tt.want, (&allocation{uses: tt.uses}).running(), "%v", tt.uses)
	}
}

// While a node executes work, the kernel looks again when waiting work of the node may have its
// turn: in the hardware after it, or in the queue of another context. Paging buffers, the context
// itself and other nodes do not matter.
func TestWhoseTurnMayCome(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(q *queues, running *submission, c *context)
		want   uint64
	}{
		{"in a queue", func(*queues, *submission, *context) {}, 1010},
		{"nothing waits", func(_ *queues, _ *submission, c *context) { c.jobs = nil }, 1 << 40},
		{"of the same context", func(_ *queues, running *submission, c *context) { running.line = &c.line }, 1 << 40},
		{"of another node", func(_ *queues, _ *submission, c *context) { c.line.node = &node{} }, 1 << 40},
		{"in the hardware", func(q *queues, _ *submission, c *context) {
			c.jobs = nil
			q.kernel.nodes[0].hardware = append(q.kernel.nodes[0].hardware, &submission{mark: mark{&c.line, 1}, dma: &dmaBuffer{}})
		}, 1010},
		{"a paging buffer in the hardware", func(q *queues, _ *submission, c *context) {
			c.jobs = nil
			q.kernel.nodes[0].hardware = append(q.kernel.nodes[0].hardware, &submission{mark: mark{&q.kernel.paging.line, 1}})
		}, 1 << 40},
		{"it is asked to stop", func(q *queues, _ *submission, _ *context) { q.kernel.nodes[0].preemption = 1 }, 1 << 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, running, c := turns(t)
			q.gpu.now = 1005
			if len(c.jobs) > 0 {
				c.first().at = q.gpu.now
			}
			tt.change(q, running, c)
			assert.Equal(t, tt.want, q.kernel.nextTurn(1<<40))
		})
	}
}

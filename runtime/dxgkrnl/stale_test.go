package dxgkrnl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A wait for all submissions includes paging buffers that wait for their node, also a single one.
func TestIdleIncludesPagingBuffers(t *testing.T) {
	for _, n := range []int{1, 2} {
		r := newRig(t, options{nodes: 2, pagingBytes: opBytes})
		as := r.sized(local, 1, 1)[:n]
		v := r.kernel.enter(r.thread)
		r.kernel.moving = true
		for _, a := range as {
			r.ok(r.kernel.makeResident(r.thread, a))
		}
		r.kernel.flush()
		r.kernel.endMove()
		require.Len(t, r.kernel.nodes[1].waiting, n)
		r.ok(r.kernel.idle(r.thread))
		r.kernel.leave(r.thread, &v)
		assert.Empty(t, r.kernel.nodes[1].waiting)
		for _, a := range as {
			assert.True(t, a.uses.passed(), "its content is there")
		}
		r.finish()
	}
}

// Work that waits for earlier work of its context does not age while that is executed: the age
// counts from its end (docs/design.md).
func TestAgeCountsFromTheLastTurn(t *testing.T) {
	const period = agingQuantums * 100
	q := newQueues(t, 1, options{quantum: 100})
	q.work(0)
	q.work(0)
	c := q.kernel.handles.get(q.contexts[0].Context).(*context)
	q.gpu.now += 3 * period
	assert.Equal(t, 3, q.kernel.levelOf(c))
	q.gpu.complete(0)
	q.kernel.dev.Deliver(q.thread)
	require.Len(t, c.jobs, 1)
	assert.Zero(t, q.kernel.levelOf(c))
	ended := q.gpu.now
	q.gpu.now = ended + period - 100
	assert.Zero(t, q.kernel.levelOf(c))
	q.gpu.now = ended + period
	assert.Equal(t, 1, q.kernel.levelOf(c))
	q.end()
}

// The work of a node ends while work that outranks it gets its places. Nothing is left to be
// stopped, and the contexts are ranked again: one whose priority has risen meanwhile goes next.
//
// docs/properties.md: S3.
func TestWorkEndsWhileAnotherGetsPlaces(t *testing.T) {
	for _, tt := range []struct {
		name     string
		priority int // of the last context, at the end of the work
		want     []int
	}{
		{"as before", 1, []int{0, 1, 2}}, {"it rises", 2, []int{0, 2, 1}}, {"it falls", MinPriority, []int{0, 1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newQueues(t, 3, options{preempts: true})
			a := q.devices[1].alloc(64, local)
			q.work(0)
			q.devices[1].render(fill(a, 0, 64, 1))
			q.work(2)
			last := q.kernel.handles.get(q.contexts[2].Context).(*context)
			q.kernel.handles.get(q.contexts[1].Context).(*context).priority, last.priority = 1, 1
			q.mini.at = map[string]func(){"BuildPagingBuffer": func() {
				last.priority = tt.priority
				q.gpu.complete(0)
				q.kernel.dev.Deliver(q.kernel.thread)
				require.Empty(t, q.kernel.nodes[0].hardware)
				q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2 // for a paging buffer too
			}}
			q.enter()
			assert.Zero(t, q.kernel.Stats().Preemptions)
			assert.Equal(t, tt.want, q.end())
		})
	}
}

// A storm of interrupts, of any number of messages, stops the adapter: a reset of the node would
// not end it.
func TestStormStopsTheAdapter(t *testing.T) {
	for storm, want := range map[uint64]bool{0: true, 1: false, 2: false, 1 << 40: false} {
		q := hung(t, options{})
		n := &q.kernel.nodes[0]
		e := q.kernel.timeOutOf(n)
		e.Storm = storm
		q.kernel.end(q.thread, n, reasonTimeout, e)
		assert.Equal(t, want, q.kernel.Err() == nil, storm)
		assert.Equal(t, want, len(q.logged("ResetEngine")) == 1, storm)
	}
}

// The error of a recovery has the access that failed in it, and not one of an earlier time. During
// the reset a DPC needs no NotifyDpc.
//
// docs/properties.md: T8.
func TestRecoveryForgetsEarlierAccesses(t *testing.T) {
	r := newRig(t, options{})
	a, down := r.alloc(64, system), errors.New("down")
	r.gpu.linkErr = down
	r.submit(&r.ctx, fill(a, 0, 64, 1))
	require.Equal(t, ddi.StatusIODeviceError, r.thunks.WaitForIdle(r.thread, r.dev))
	require.ErrorIs(t, r.kernel.access, down)
	r.gpu.linkErr = nil
	r.mini.fail["ResetFromTimeout"] = ddi.StatusIOTimeout
	r.mini.dpc = func(*ddi.Thread) {}
	r.mini.at = map[string]func(){"ResetFromTimeout": func() {
		r.kernel.dev.QueueDPC()
		r.kernel.dev.Deliver(r.kernel.thread)
	}}
	dpcs := r.kernel.Stats().DPCs
	err := r.kernel.Recover(r.thread)
	require.ErrorIs(t, err, ddi.StatusIOTimeout)
	assert.NotErrorIs(t, err, down)
	assert.Equal(t, dpcs+1, r.kernel.Stats().DPCs)
	delete(r.mini.fail, "ResetFromTimeout")
	r.mini.dpc = nil
	require.NoError(t, r.kernel.Recover(r.thread))
	r.another()
	r.works(t)
	r.finish()
}

// Each preemption that a node does not answer is reported once, with its fence, also if the node
// gets more time after that. A time-out without a preemption is none.
//
// docs/properties.md: S5.
func TestMissingAnswerIsReportedOnce(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt, q.mini.responsive = func(int) {}, true
	q.goesOn(1)
	p := q.opened(20)
	p.ok(p.submit(&p.ctx, command{op: opHang}))
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	require.EqualValues(t, 2, q.kernel.Stats().NodeResets)
	var want []string
	for _, line := range q.logged("Preempt") {
		fence := strings.Fields(line)[1]
		want = append(want, fmt.Sprintf("preempt-time-out: DxgkDdiPreemptCommand: node 0: preemption fence %s was accepted, but DMA_PREEMPTED was not reported in 2000 clocks",
			strings.TrimPrefix(fence, "fence=")))
	}
	require.Len(t, want, 2)
	assert.Equal(t, want, slices.DeleteFunc(q.reports, func(s string) bool { return !strings.HasPrefix(s, "preempt-time-out: ") }))
}

// A node that answers a preemption while it is asked for its progress is not reset, even if it made none.
//
// docs/properties.md: S5.
func TestAnswerInAQuestionWithoutProgress(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true, quantum: 1 << 40, pagingBytes: opBytes, vram: 1 << 20})
	asked := q.stopsInQuestion(t, 2)
	p := q.devices[0]
	a := p.alloc(32*4096, local)
	p.ok(p.submit(q.contexts[0], fill(a, 0, 64, 1)))
	p.wait()
	require.True(t, asked())
	assert.Zero(t, q.kernel.Stats().NodeResets)
	q.gpu.acts, q.gpu.auto = nil, true
	assert.Equal(t, repeat(1, 64), p.read(a)[:64])
	q.finish()
}

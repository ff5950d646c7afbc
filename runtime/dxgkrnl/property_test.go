package dxgkrnl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// ends counts how each submission to the hardware ended.
type ends struct {
	submitted map[uint64]int
	ended     map[uint64][]EventKind
}

// watch notes the submissions of a kernel.
func (e *ends) watch(k *Kernel) {
	e.submitted, e.ended = map[uint64]int{}, map[uint64][]EventKind{}
	k.observer = func(_ *ddi.Thread, event Event) {
		switch event.Kind {
		case EventSubmit:
			e.submitted[event.Submission]++
		case EventRetire, EventPreempted, EventReset:
			if event.Submission != 0 {
				e.ended[event.Submission] = append(e.ended[event.Submission], event.Kind)
			}
		}
	}
}

// Each submission ends once: it completes, is preempted, or is aborted. Property F13.
//
// docs/properties.md: F13, T9.
func TestEachSubmissionEndsOnce(t *testing.T) {
	kinds := map[EventKind]int{}
	for seed := range uint64(60) {
		q := newQueues(t, 3, options{resets: true, preempts: true, nodes: 2, quantum: 100})
		q.gpu.auto = true
		var e ends
		e.watch(q.kernel)
		var tasks []Task
		for i, p := range q.devices {
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
				for n := range 6 {
					cmds := halves(q.targets[i], byte(n))
					if i == 0 && n == int(seed%6) {
						cmds[1] = command{op: []uint32{opHang, opFault}[seed%2]}
					}
					if p.submit(&p.ctx, cmds...).Failed() {
						return
					}
				}
				p.thunks.WaitForIdle(p.thread, p.dev)
			}})
		}
		q.kernel.Run(seed, tasks)
		require.NoError(t, q.kernel.WaitForIdle(q.thread))
		for serial, n := range e.submitted {
			require.Equal(t, 1, n, "seed %d: submission %d is given to the hardware once", seed, serial)
			require.Len(t, e.ended[serial], 1, "seed %d: submission %d", seed, serial)
			kinds[e.ended[serial][0]]++
		}
		require.Len(t, e.ended, len(e.submitted), "seed %d", seed)
		q.kernel.observer = nil
	}
	assert.Positive(t, kinds[EventRetire])
	assert.Positive(t, kinds[EventPreempted])
	assert.EqualValues(t, 60, kinds[EventReset])
}

// A chain of 100 contexts that wait for each other, on alternate nodes, rises with its last
// one. Property S2.
//
// docs/properties.md: S2.
func TestLongChainRises(t *testing.T) {
	const length = 100
	q := newQueues(t, 2, options{nodes: 2, buffers: 8})
	q.mini.patched = nil
	p := q.devices[0]
	q.work(1) // in the hardware of node 0
	for range 3 {
		q.work(1)
	}
	a := []ddi.KMHandle{p.alloc(64, system)}
	var last *umddi.CreateContext
	for i := range length {
		last = p.context(uint32(i) % 2)
		q.ok(q.thunks.SetContextSchedulingPriority(q.thread, last.Context, MinPriority))
		a = append(a, p.alloc(64, system))
		p.ok(p.submit(last, copyTo(a[i+1], 0, a[i], 0, 64)))
	}
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, last.Context, MaxPriority))
	q.kernel.rank()
	for _, c := range q.kernel.able {
		if c.device == q.kernel.handles.get(p.dev).(*device) {
			require.Equal(t, MaxPriority, c.level, "a context of the chain")
		}
	}
	q.gpu.auto = true
	p.wait()
	q.end()
}

// What waits for one submission goes in the order of its rendering when that completes.
// Property S10.
//
// docs/properties.md: S10.
func TestDependentsKeepTheirOrder(t *testing.T) {
	const n = 20
	r := newRig(t, options{nodes: 2, capacity: 1})
	r.gpu.auto = false
	source := r.alloc(64, system)
	r.render(fill(source, 0, 64, 9))
	var want []ddi.KMHandle
	var contexts []*umddi.CreateContext
	for range n {
		c := r.context(1)
		contexts = append(contexts, c)
		want = append(want, c.Context)
	}
	for _, c := range contexts {
		r.ok(r.submit(c, copyTo(r.alloc(64, system), 0, source, 0, 64)))
	}
	var order []ddi.KMHandle
	r.kernel.observer = func(_ *ddi.Thread, e Event) {
		if e.Kind == EventQueue && slices.Contains(want, e.Context) {
			order = append(order, e.Context)
		}
	}
	r.gpu.auto = true
	r.wait()
	assert.Equal(t, want, order)
	r.finish()
}

package dxgkrnl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// queues is a rig with contexts of devices of their own on node 0, whose hardware holds
// one submission. The calls of DxgkDdiPatch give the order.
type queues struct {
	*rig
	devices  []*rig
	targets  []ddi.KMHandle
	contexts []*umddi.CreateContext
	order    *[]int // numbers of the contexts whose work went to the hardware
}

func newQueues(t *testing.T, n int, o options) *queues {
	o.capacity = 1
	if o.quantum == 0 {
		o.quantum = 1000
	}
	q := &queues{rig: newRig(t, o), order: new([]int)}
	q.gpu.auto = false
	for i := range n {
		p := q.process(uint32(i + 2))
		p.open(0)
		q.devices, q.contexts = append(q.devices, p), append(q.contexts, &p.ctx)
		q.targets = append(q.targets, p.alloc(64, system))
	}
	q.mini.patched = func(arg kmddi.Patch) {
		for i, c := range q.contexts {
			if q.kernel.handles.get(c.Context).(*context).driver == arg.Context {
				*q.order = append(*q.order, i)
			}
		}
	}
	return q
}

// work renders one buffer on a context.
func (q *queues) work(i int) {
	q.devices[i].ok(q.devices[i].submit(q.contexts[i], fill(q.targets[i], 0, 64, byte(i))))
}

func (q *queues) priority(i, p int) {
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, q.contexts[i].Context, p))
}

// end lets the GPU do all work, and returns the order.
func (q *queues) end() []int {
	q.gpu.auto = true
	for _, p := range q.devices {
		p.wait()
	}
	q.finish()
	return *q.order
}

// docs/properties.md: S2.
func TestEqualPrioritiesGoInTheOrderOfTheirRendering(t *testing.T) {
	q := newQueues(t, 3, options{})
	for _, i := range []int{0, 2, 1, 1, 0, 2} {
		q.work(i)
	}
	assert.Equal(t, []int{0, 2, 1, 1, 0, 2}, q.end())
}

// docs/properties.md: S2.
func TestHigherPriorityGoesFirst(t *testing.T) {
	q := newQueues(t, 3, options{})
	q.priority(1, MinPriority)
	q.priority(2, MaxPriority)
	for _, i := range []int{1, 0, 1, 0, 2, 2} {
		q.work(i)
	}
	assert.Equal(t, []int{1, 2, 2, 0, 0, 1}, q.end(), "the first was in the hardware")
}

// A priority may change while work waits.
//
// docs/properties.md: S3.
func TestPriorityOfQueuedWork(t *testing.T) {
	q := newQueues(t, 3, options{})
	for _, i := range []int{0, 1, 2, 1, 2} {
		q.work(i)
	}
	q.priority(2, 1)
	assert.Equal(t, []int{0, 2, 2, 1, 1}, q.end())
}

func TestWrongPriority(t *testing.T) {
	q := newQueues(t, 1, options{})
	for _, p := range []int{MinPriority - 1, MaxPriority + 1} {
		assert.Equal(t, ddi.StatusInvalidParameter, q.thunks.SetContextSchedulingPriority(q.thread, q.contexts[0].Context, p))
	}
	assert.Equal(t, ddi.StatusInvalidHandle, q.thunks.SetContextSchedulingPriority(q.thread, q.devices[0].dev, 0))
	assert.Zero(t, q.kernel.handles.get(q.contexts[0].Context).(*context).priority)
	assert.Empty(t, q.end())
}

// Contexts of one priority take turns of a quantum: one that has much work does not delay
// another by more than what is in the hardware and a turn.
//
// docs/properties.md: S4.
func TestQuantum(t *testing.T) {
	q := newQueues(t, 2, options{buffers: 8})
	q.gpu.latency = q.kernel.quantum / 2
	for range 8 {
		q.work(0)
	}
	for range 4 {
		q.work(1)
	}
	got := strings.Trim(strings.ReplaceAll(fmt.Sprint(q.end()), " ", ""), "[]")
	assert.Equal(t, "001100110000", got)
}

// A context that begins to work has no more turns than one that has worked before, also if
// that one had nothing to do at the moment.
//
// docs/properties.md: S4.
func TestNewContextTakesTurns(t *testing.T) {
	q := newQueues(t, 2, options{buffers: 16})
	q.gpu.latency = q.kernel.quantum / 2
	q.gpu.auto = true
	for range 8 {
		q.work(0)
	}
	q.devices[0].wait()
	q.gpu.auto, *q.order = false, nil
	for range 6 {
		q.work(1)
	}
	for range 6 {
		q.work(0)
	}
	got := strings.Trim(strings.ReplaceAll(fmt.Sprint(q.end()), " ", ""), "[]")
	assert.Equal(t, "110011001100", got)
}

// Work of the lowest priority is not delayed for ever by that of the highest.
//
// docs/properties.md: S7.
func TestWaitingWorkRises(t *testing.T) {
	q := newQueues(t, 2, options{buffers: 16, quantum: 10})
	q.priority(0, MinPriority)
	q.priority(1, MaxPriority)
	q.gpu.latency = agingQuantums * q.kernel.quantum / 2
	q.work(1)
	q.work(0)
	q.gpu.auto = true
	for range 100 {
		q.work(1)
	}
	order := q.end()
	at := 0
	for order[at] != 0 {
		at++
	}
	assert.InDelta(t, 2*(MaxPriority-MinPriority), at, 3, "%v", order)
}

// Work of a high priority that waits for work of a low one lifts it above what is between
// them.
func TestPriorityIsInherited(t *testing.T) {
	q := newQueues(t, 2, options{nodes: 1})
	low, high := q.devices[0], q.devices[0].context(0)
	q.priority(0, MinPriority)
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, high.Context, MaxPriority))
	q.work(1) // in the hardware
	q.work(1)
	low.ok(low.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	low.ok(low.submit(high, fill(q.targets[0], 0, 32, 2)))
	q.contexts = append(q.contexts, high)
	assert.Equal(t, []int{1, 0, 2, 1}, q.end())
}

// A device's work on the other node goes on while a context waits, whatever its priority.
//
// docs/properties.md: F6, S1.
func TestOtherNodeIsNotHeldUp(t *testing.T) {
	r := newRig(t, options{nodes: 2, capacity: 1})
	a, b := r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.ok(r.submit(other, copyTo(b, 0, a, 0, 64))) // waits for node 0
	free := r.context(1)
	c := r.alloc(64, system)
	r.mini.log = nil
	r.ok(r.submit(free, fill(c, 0, 64, 3)))
	require.Equal(t, []string{"Submit buffer fence=1 node=1"}, r.logged("Submit"), "it does not wait for the context before it")
	r.gpu.auto = true
	assert.Equal(t, repeat(1, 64), r.read(b))
	assert.Equal(t, repeat(3, 64), r.read(c))
	r.finish()
}

// Work of a high priority lifts what it waits for on another node, too.
//
// docs/properties.md: S2.
func TestPriorityIsInheritedAcrossNodes(t *testing.T) {
	q := newQueues(t, 2, options{nodes: 2})
	low, high := q.devices[0], q.devices[0].context(1)
	q.priority(0, MinPriority)
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, high.Context, MaxPriority))
	q.work(1) // in the hardware
	q.work(1)
	low.ok(low.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	low.ok(low.submit(high, fill(q.targets[0], 0, 32, 2)))
	assert.Equal(t, []int{1, 0, 1}, q.end())
}

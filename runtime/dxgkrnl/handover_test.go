package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A thread that wants to place allocations waits until another one has ended that. Then it is the
// one that places. If the adapter has stopped meanwhile it fails.
func TestOneThreadPlaces(t *testing.T) {
	for _, stops := range []bool{false, true} {
		r := newRig(t, options{})
		k := r.kernel
		k.moving = true
		var got []ddi.Status
		r.meets(func(th *ddi.Thread) {
			got = append(got, k.beginMove(th))
		}, func(th *ddi.Thread) {
			k.letIn(th, func() bool { return true })
			assert.Empty(t, got)
			if stops {
				k.stop(th, reasonTimeout, k.timeOutOf(&k.nodes[0]))
			}
			k.endMove()
			k.letIn(th, func() bool { return true })
		})
		want := ddi.StatusSuccess
		if stops {
			want = ddi.StatusDeviceRemoved
		}
		assert.Equal(t, []ddi.Status{want}, got)
		assert.Equal(t, !stops, k.moving)
	}
}

// A lock that must evict waits until nobody places. If the adapter has stopped meanwhile, it evicts
// nothing.
func TestEvictionForALockWaits(t *testing.T) {
	for _, stops := range []bool{false, true} {
		r := newRig(t, options{hiddenVRAM: true})
		k, h := r.kernel, r.pages(1, 1)[0]
		a := r.object(h)
		k.moving, r.mini.log = true, nil
		var s ddi.Status
		ended := false
		r.meets(func(th *ddi.Thread) {
			s, ended = k.evictLocked(th, a), true
		}, func(th *ddi.Thread) {
			k.letIn(th, func() bool { return true })
			assert.False(t, ended)
			assert.True(t, a.inMemorySegment())
			if stops {
				k.stop(th, reasonTimeout, k.timeOutOf(&k.nodes[0]))
			}
			k.endMove()
			k.letIn(th, func() bool { return true })
		})
		assert.False(t, k.moving)
		if stops {
			assert.Equal(t, ddi.StatusDeviceRemoved, s)
			assert.Empty(t, r.logged("Build"))
			continue
		}
		assert.Equal(t, ddi.StatusSuccess, s)
		assert.Equal(t, []string{"BuildPagingBuffer transfer 1 to 0"}, r.logged("Build"))
		assert.False(t, a.inMemorySegment())
		assert.Equal(t, repeat(1, 4096), r.read(h))
		r.finish()
	}
}

// A lock that must evict waits until no work holds the place, and ends with the reason if the
// adapter stops first.
func TestEvictionForALockWaitsForWork(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		r := newRig(t, options{hiddenVRAM: true, nodes: 2})
		h, x := r.pages(1, 1)[0], r.alloc(64, system)
		a, other := r.object(h), r.context(1)
		r.gpu.auto = false
		r.ok(r.submit(other, fill(x, 0, 64, 1)))
		r.render(copyTo(h, 0, x, 0, 64)) // made: it waits for node 1
		require.Equal(t, 1, a.held)
		v := r.kernel.enter(r.thread)
		r.gpu.auto = !hangs
		s := r.kernel.evictLocked(r.thread, a)
		r.kernel.leave(r.thread, &v)
		if hangs {
			assert.Equal(t, ddi.StatusDeviceRemoved, s)
			assert.True(t, a.inMemorySegment())
			continue
		}
		assert.Equal(t, ddi.StatusSuccess, s)
		assert.Zero(t, a.held)
		assert.False(t, a.inMemorySegment())
		assert.Equal(t, append(repeat(1, 64), repeat(1, 4032)...), r.read(h))
		r.finish()
	}
}

// A device that is lost while a thread places keeps its work until that has ended.
func TestLostWhileOnePlaces(t *testing.T) {
	r := newRig(t, options{capacity: 1})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.render(fill(a, 0, 64, 2)) // in the software queue
	d := r.kernel.handles.get(r.dev).(*device)
	c := d.contexts[0]
	r.kernel.moving = true
	r.kernel.loseDevice(d, ddi.StatusDeviceRemoved)
	assert.Len(t, c.jobs, 1)
	assert.False(t, c.runs())
	r.kernel.loseDevice(d, ddi.StatusIODeviceError)
	assert.Equal(t, ddi.StatusDeviceRemoved, d.removed, "the first reason")
	r.kernel.endMove()
	assert.Empty(t, c.jobs)
	assert.Empty(t, r.kernel.lost)
	r.gpu.auto = true
	require.NoError(t, r.kernel.WaitForIdle(r.thread))
	r.finish()
}

// When a node is no longer masked it gets the paging buffers that waited, and the interrupts that
// were noted count, except completions that a poll has found.
//
// docs/properties.md: T2.
func TestEndOfAMask(t *testing.T) {
	r := newRig(t, options{resets: true, nodes: 2})
	k, n := r.kernel, &r.kernel.nodes[1] // of the paging buffers
	busy, other := r.alloc(64, system), r.context(1)
	r.gpu.auto = false
	r.ok(r.submit(other, fill(busy, 0, 64, 1)))
	k.mask(r.thread, n)
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	assert.Len(t, n.hardware, 1)
	r.gpu.complete(1)
	r.enter()
	assert.Len(t, n.noted, 1)
	assert.Zero(t, n.reported)
	assert.True(t, n.ended(1))
	assert.False(t, n.ended(2) || n.answered())
	n.noted = append(n.noted, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: 7})
	r.mini.log = nil
	k.unmask(r.thread, n)
	assert.EqualValues(t, 1, n.completed)
	assert.Empty(t, n.noted)
	assert.Equal(t, []string{"Submit paging fence=2 node=1"}, r.logged("Submit"))
	r.gpu.auto = true
	r.wait()
	r.finish()
}

// An interrupt about a preemption is an answer, and one about a completion is not.
func TestAnswersThatAreNoted(t *testing.T) {
	n := &node{noted: []kmddi.NotifyInterrupt{{InterruptType: kmddi.InterruptDMACompleted, FenceID: 3}, {InterruptType: kmddi.InterruptDMAFaulted, FenceID: 4}}}
	assert.False(t, n.answered())
	assert.Equal(t, []bool{true, false}, []bool{n.ended(3), n.ended(4)})
	n.noted = append(n.noted, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: 5})
	assert.True(t, n.answered())
	assert.False(t, n.ended(5))
}

// A function that resets may take TdrDdiDelay, with what the link adds, and no tick more.
func TestTimeOfAResetFunction(t *testing.T) {
	r := newRig(t, options{linkDelay: func(n uint64) uint64 { return n >> 20 }})
	limit := uint64(5000 + 8) // 8 MiB at least
	r.gpu.now = 100_000
	assert.Nil(t, crash(func() { r.kernel.checkDDI("test", r.gpu.now-limit) }))
	r.kernel.largest = 9 << 20
	assert.Nil(t, crash(func() { r.kernel.checkDDI("test", r.gpu.now-limit-1) }))
	b := crash(func() { r.kernel.checkDDI("test", r.gpu.now-limit-2) })
	require.NotNil(t, b)
	assert.Equal(t, []any{uint32(CodeTimeout), uint32(TimeoutDDI), "test"}, []any{b.Code, b.P1, b.Function})
}

// What a submission has spent in the hardware before it is asked to stop adds up. The time in which
// it is not there does not count.
func TestTimeThatIsSpent(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true})
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], halves(q.targets[0], 1)...))
	q.mini.preempt = func(int) {}
	n := &q.kernel.nodes[0]
	s := n.hardware[0]
	for i, want := range []uint64{300, 450} {
		s.began, q.gpu.now = 10_000*uint64(i+1), 10_000*uint64(i+1)+[]uint64{300, 150}[i]
		n.preemption, q.mini.stopping[0] = 0, 0
		q.kernel.preempt(q.thread, n)
		assert.Equal(t, want, s.spent)
		assert.Equal(t, q.gpu.now, n.progressAt)
		assert.Equal(t, n.submitted, n.preemption)
	}
	q.gpu.stop(0, 0)
	q.end()
}

// Of a paging buffer with several wrong operations the first one is reported.
func TestFirstWrongOperation(t *testing.T) {
	r := newRig(t, options{})
	a, b, out := r.alloc(64, local), r.alloc(64, local), r.alloc(64, system)
	r.builds(kmddi.PagingFill, func(arg kmddi.BuildPagingBuffer) []byte {
		return encodeOp(opFill, uint32(arg.Size), 0, arg.Destination.Address, 7)
	})
	r.render(copyTo(out, 0, a, 0, 32), copyTo(out, 32, b, 0, 32))
	r.wait()
	require.Len(t, r.wrongContents(), 1)
	assert.Contains(t, r.wrongContents()[0], "FILL of 64 bytes of allocation 0x100003 to")
}

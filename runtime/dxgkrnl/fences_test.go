package dxgkrnl

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// nodeWith returns a node whose first fence is first, and that has completed a number of fences
// since base. Its hardware has submissions with the fences of ids.
func nodeWith(first uint32, base, done uint64, ids ...uint32) *node {
	n := &node{first: first, base: base, completed: base + done, reported: base + done}
	for _, id := range ids {
		n.hardware = append(n.hardware, &submission{arg: kmddi.SubmitCommand{SubmissionFenceID: id}})
	}
	n.submitted = n.completed + uint64(len(ids))
	return n
}

// LastAbortedFenceID is the last completed fence, or that of a submission after it. 0 also stands
// for no completed fence since the adapter has started or was reset, unless it is a fence.
//
// docs/properties.md: T3.
func TestNumberOfTheAbortedFence(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    *node
		id   uint32
		want uint64
		bad  bool
	}{
		{"none has completed", nodeWith(7, 0, 0, 7, 8), 0, 0, false},
		{"the one before the first", nodeWith(7, 0, 0, 7, 8), 6, 0, false},
		{"the first", nodeWith(7, 0, 0, 7, 8), 7, 1, false},
		{"the last", nodeWith(7, 0, 0, 7, 8), 8, 2, false},
		{"not submitted", nodeWith(7, 0, 0, 7, 8), 9, 0, true},
		{"some have completed, and 0 is none", nodeWith(7, 0, 3, 10), 0, 0, true},
		{"the last completed", nodeWith(7, 0, 3, 10), 9, 3, false},
		{"after the last completed", nodeWith(7, 0, 3, 10), 10, 4, false},
		{"before the last completed", nodeWith(7, 0, 3, 10), 8, 0, true},
		{"a preemption", nodeWith(7, 0, 3, 11), 10, 0, true},
		{"none since a reset", nodeWith(7, 5, 0, 12), 0, 5, false},
		{"some since a reset", nodeWith(7, 5, 1, 13), 0, 0, true},
		{"0 is the first fence", nodeWith(0, 0, 0, 0, 1), 0, 1, false},
		{"0 is the second fence", nodeWith(0xffffffff, 0, 0, 0xffffffff, 0), 0, 2, false},
		{"over the wrap", nodeWith(0xfffffffe, 0, 1, 0xffffffff, 0, 1), 1, 4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newRig(t, options{}).kernel
			b := crash(func() { assert.Equal(t, tt.want, k.abortedNumber(tt.n, tt.id)) })
			assert.Equal(t, tt.bad, b != nil)
			if b != nil {
				assert.Equal(t, []uint32{CodeScheduler, SchedulerAbort}, []uint32{b.Code, b.P1})
			}
		})
	}
}

// The fence of a time-out is that of the work which a node executes. If it only has to answer a
// preemption, it is the one after the last completed fence.
func TestFenceOfATimeout(t *testing.T) {
	k := newRig(t, options{}).kernel
	assert.EqualValues(t, 9, k.timeOutOf(nodeWith(7, 0, 1, 9)).Fence)
	assert.EqualValues(t, 11, k.timeOutOf(nodeWith(7, 0, 4)).Fence)
}

// A lost interrupt is found also after others have arrived. A fence that is older than one which an
// interrupt reports meanwhile is no mistake.
func TestLostInterruptAfterProgress(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	for i := range 3 {
		r.render(fill(a, 0, 64, byte(i)))
		r.wait()
	}
	r.gpu.lostIRQ = true
	r.render(fill(a, 0, 64, 9))
	r.wait()
	assert.EqualValues(t, 1, r.kernel.Stats().LostInterrupts)
	r.gpu.lostIRQ, r.gpu.auto = false, false
	r.render(fill(a, 0, 64, 10))
	r.render(fill(a, 0, 64, 11))
	asked := 0
	r.mini.query = func(th *ddi.Thread, node uint32) (uint32, ddi.Status) {
		asked++
		r.gpu.complete(0)
		old := le.Uint32(r.gpu.bar0[regFence:])
		r.gpu.complete(0)
		r.kernel.dev.Deliver(th)
		return old, ddi.StatusSuccess
	}
	r.wait()
	assert.Equal(t, 1, asked)
	assert.Equal(t, repeat(11, 64), r.read(a))
	r.finish()
}

// After a reset the miniport learns of the end of each place: of the pages of an aperture, which
// are those of the dummy page again, and of a place in VRAM, of which nothing is left to move.
//
// docs/properties.md: T6.
func TestPlacesThatAResetEnds(t *testing.T) {
	r := newRig(t, options{aperture: 8})
	page, a, b := r.alloc(4096, system), r.alloc(8192, system), r.alloc(4096, local)
	r.render(fill(page, 0, 64, 1), fill(a, 0, 64, 1), fill(b, 0, 64, 1))
	r.wait()
	host, at := r.object(b).host(), r.object(b).address()
	var ops []kmddi.BuildPagingBuffer
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) {
		assert.Len(t, arg.DmaBuffer, 256)
		assert.Len(t, arg.DmaBufferPrivateData, 16)
		arg.DmaBuffer, arg.DmaBufferPrivateData, arg.Allocation = nil, nil, kmddi.HAllocation{}
		ops = append(ops, arg)
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess, true
	}
	r.kernel.stop(r.thread, reasonTimeout, r.kernel.timeOutOf(&r.kernel.nodes[0]))
	dummy := r.kernel.dummy.Phys
	require.NoError(t, r.kernel.Recover(r.thread))
	assert.Equal(t, []kmddi.BuildPagingBuffer{
		{Operation: kmddi.PagingTransfer, Destination: host, Source: kmddi.PagingLocation{SegmentID: 1, Address: at}},
		{Operation: kmddi.PagingUnmapApertureSegment, SegmentID: 2, OffsetInPages: 0, NumberOfPages: 1, DummyPage: dummy},
		{Operation: kmddi.PagingUnmapApertureSegment, SegmentID: 2, OffsetInPages: 1, NumberOfPages: 2, DummyPage: dummy},
	}, ops)
	assert.False(t, r.object(b).dirty)
}

// On a stopped adapter a lock ends. What it wrote to VRAM is lost, and the status says so.
func TestUnlockOnAStoppedAdapter(t *testing.T) {
	for _, tt := range []struct {
		arg  umddi.Lock
		set  uint32
		stop error // of the link; nil: a time-out
		want ddi.Status
	}{
		{umddi.Lock{ReadOnly: true}, local, nil, ddi.StatusSuccess},
		{umddi.Lock{}, local, nil, ddi.StatusDeviceRemoved},
		{umddi.Lock{}, local, errors.New("down"), ddi.StatusIODeviceError},
		{umddi.Lock{}, system, nil, ddi.StatusSuccess},
	} {
		r := newRig(t, options{})
		a := r.alloc(64, tt.set)
		r.render(fill(a, 0, 64, 3))
		r.wait()
		arg := tt.arg
		arg.Allocation = a
		r.ok(r.lock(&arg))
		copy(arg.Data, repeat(9, 64))
		if tt.stop != nil {
			r.kernel.stopLink(r.thread, tt.stop)
		} else {
			r.kernel.stop(r.thread, reasonTimeout, r.kernel.timeOutOf(&r.kernel.nodes[0]))
		}
		assert.Equal(t, tt.want, r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a}}))
		assert.Zero(t, r.object(a).locks)
		if tt.set == local {
			assert.Equal(t, repeat(3, 64), r.gpu.vram[:64])
		}
	}
}

// An event of a submission names the submissions of other nodes that it has waited for, once each.
func TestWhatASubmissionWaitedFor(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	x, y := r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	serials, on := map[ddi.KMHandle][]uint64{}, map[uint64][]uint64{}
	r.kernel.observer = func(_ *ddi.Thread, e Event) {
		if e.Kind == EventQueue {
			serials[e.Context], on[e.Submission] = append(serials[e.Context], e.Submission), e.On
		}
	}
	r.gpu.auto = false
	r.ok(r.submit(other, fill(x, 0, 64, 1)))
	r.render(fill(y, 0, 32, 2))        // waits for nothing
	r.render(copyTo(y, 32, x, 32, 32)) // for the other node, and follows the one before
	for range 3 {
		r.enter()
	}
	r.gpu.auto = true
	r.wait()
	mine := serials[r.ctx.Context]
	require.Len(t, mine, 2)
	require.Len(t, serials[other.Context], 1)
	assert.Empty(t, on[mine[0]])
	assert.Equal(t, serials[other.Context], on[mine[1]])
	r.finish()
}

// When work ends while a node is asked for its progress, the wait ends at once.
func TestWaitEndsWithTheQuestion(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	q.mini.at = map[string]func(){"QueryEngineStatus": func() {
		q.gpu.complete(0)
		q.kernel.dev.Deliver(q.kernel.thread)
		q.gpu.onWait = func() { assert.Fail(t, "it waits although the work has ended") }
	}}
	p.wait()
	q.gpu.onWait = nil
	q.finish()
}

// The error of a recovery wraps the status of the miniport, and the access that has failed if there
// was one.
func TestErrorOfARecovery(t *testing.T) {
	k, access := &Kernel{}, errors.New("link down")
	err := k.recoveryError("step", ddi.StatusIOTimeout)
	assert.EqualError(t, err, "dxgkrnl: step: "+ddi.StatusIOTimeout.Error())
	assert.ErrorIs(t, err, ddi.StatusIOTimeout)
	k.access = access
	err = k.recoveryError("step", ddi.StatusIOTimeout)
	assert.ErrorIs(t, err, ddi.StatusIOTimeout)
	assert.ErrorIs(t, err, access)
}

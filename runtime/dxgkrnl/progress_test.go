package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Priorities are -7 to 7, as in D3DKMT_SETCONTEXTSCHEDULINGPRIORITY.
func TestRangeOfPriorities(t *testing.T) {
	assert.Equal(t, []int{-7, 7}, []int{MinPriority, MaxPriority})
}

// A turn takes a millisecond at any clock, TdrDelay two seconds and TdrDdiDelay five, if the
// configuration says nothing else.
func TestDefaultTimes(t *testing.T) {
	for _, tt := range []struct{ hz, quantum uint64 }{{1, 1}, {1000, 1}, {1999, 1}, {1_000_000, 1000}, {25_000_000, 25_000}} {
		o := options{}
		g, _, cfg := newMachine(t, &o)
		g.hz = tt.hz
		k, err := Start(new(ddi.Thread), cfg)
		require.NoError(t, err)
		assert.Equal(t, []uint64{tt.quantum, 2 * tt.hz, 5 * tt.hz, 60 * tt.hz}, []uint64{k.quantum, k.tdrTicks, k.tdrDDI, k.tdrWindow})
	}
}

// A node that makes no progress is asked to stop first, if it can be, once for each submission.
// The progress of a node that executes nothing does not matter, and that of each submission once.
func TestFirstStepOfATimeout(t *testing.T) {
	for _, tt := range []struct {
		name         string
		n            node
		stops, asked bool
	}{
		{"work", node{hardware: []*submission{{}}}, true, true},
		{"no work", node{}, false, false},
		{"asked to stop", node{hardware: []*submission{{}}, preemption: 3}, false, true},
		{"stopped before", node{hardware: []*submission{{late: true}}}, false, true},
		{"spared before", node{hardware: []*submission{{spared: true}}}, true, false},
		{"the work after it was spared", node{hardware: []*submission{{}, {spared: true, late: true}}}, true, true},
		{"nothing but a preemption", node{preemption: 3}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &Kernel{caps: kmddi.DriverCaps{PreemptionAware: true, SupportPerEngineTDR: true}}
			assert.Equal(t, []bool{tt.stops, tt.asked}, []bool{k.stopsFirst(&tt.n), k.asks(&tt.n)})
			k.caps = kmddi.DriverCaps{}
			assert.False(t, k.stopsFirst(&tt.n) || k.asks(&tt.n), "the miniport claims neither")
		})
	}
}

// A node is asked at half of TdrDelay after its last progress, once, and not if it is asked to stop
// at the time-out. A wait ends at the earliest of these times.
func TestTimeOfTheQuestion(t *testing.T) {
	q := newQueues(t, 1, options{nodes: 3, resets: true})
	k := q.kernel
	assert.EqualValues(t, 77, k.nextSample(77), "no node has work")
	for i, at := range []uint64{300, 100, 200} {
		k.nodes[i].hardware, k.nodes[i].progressAt = []*submission{{}}, at
	}
	assert.EqualValues(t, 1100, k.nextSample(5000))
	assert.EqualValues(t, 1050, k.nextSample(1050), "the deadline is earlier")
	k.nodes[1].sampled = 100
	assert.EqualValues(t, 1200, k.nextSample(5000))
	k.nodes[2].hardware[0].spared = true
	assert.EqualValues(t, 1300, k.nextSample(5000))
	q.gpu.now, q.mini.log = 1299, nil
	k.sample(q.thread)
	assert.Empty(t, q.logged("QueryEngineStatus"))
	q.gpu.now = 1300
	k.sample(q.thread)
	k.sample(q.thread)
	assert.Equal(t, []string{"QueryEngineStatus node=0"}, q.logged("QueryEngineStatus"))
	k.caps.PreemptionAware = true
	k.nodes[1].sampled = 0
	assert.EqualValues(t, 5000, k.nextSample(5000), "they are asked to stop at the time-out")
	for i := range k.nodes {
		k.nodes[i].hardware = nil
	}
}

// A node is busy until it has completed its work and answered the preemption.
func TestBusyNode(t *testing.T) {
	q := newQueues(t, 1, options{nodes: 2})
	assert.False(t, q.kernel.working())
	for _, n := range []node{{hardware: []*submission{{}}}, {preemption: 1}} {
		assert.True(t, n.busy())
		q.kernel.nodes[1].hardware, q.kernel.nodes[1].preemption = n.hardware, n.preemption
		assert.True(t, q.kernel.working())
	}
	q.kernel.nodes[1].preemption = 0
	assert.False(t, q.kernel.working())
}

// A node accepts work if its queue has room, and if it is neither asked to stop nor to be reset.
func TestRoomOfANode(t *testing.T) {
	k := &Kernel{caps: kmddi.DriverCaps{HwQueuePacketCap: 2}}
	one := []*submission{{}}
	for _, tt := range []struct {
		n    node
		want bool
	}{
		{node{}, true}, {node{hardware: one}, true}, {node{hardware: append(one, &submission{})}, false},
		{node{preemption: 1}, false}, {node{faulted: &fault{}}, false}, {node{masked: true}, false},
	} {
		assert.Equal(t, tt.want, k.room(&tt.n), "%+v", tt.n)
	}
}

// The time of a submission begins when it is the first in the hardware, and its TdrDelay is what
// it has left of it.
func TestTimeOfTheNextSubmission(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.render(fill(a, 0, 64, 2))
	n := &r.kernel.nodes[0]
	require.Len(t, n.hardware, 2)
	assert.Zero(t, n.hardware[1].began, "it is not the first")
	r.gpu.now += 500
	n.hardware[1].spent = 300
	r.gpu.complete(0)
	before := r.gpu.now
	r.enter()
	require.Len(t, n.hardware, 1)
	assert.InDelta(t, before, n.hardware[0].began, 10)
	assert.Equal(t, n.hardware[0].began-300, n.progressAt)
	r.gpu.auto = true
	r.wait()
	r.finish()
}

// A submission that was stopped has used at most a whole TdrDelay.
func TestTimeOfStoppedWork(t *testing.T) {
	k := newRig(t, options{}).kernel
	for _, tt := range []struct{ at, spent, want uint64 }{{5000, 0, 5000}, {5000, 1, 4999}, {5000, 2000, 3000}, {5000, 9000, 3000}, {100, 300, 0}} {
		n := &node{progressAt: tt.at, hardware: []*submission{{spent: tt.spent}}}
		k.executed(n)
		assert.Equal(t, []uint64{tt.at, tt.want}, []uint64{n.hardware[0].began, n.progressAt})
	}
}

// During Run a thread waits for the device until its deadline. Else others may arrive, and it
// looks after a quantum at the latest.
func TestEndOfATurnOfWaiting(t *testing.T) {
	r := newRig(t, options{quantum: 10})
	now := r.gpu.now
	assert.Equal(t, now+10, r.kernel.turnEnd(1<<40))
	assert.Equal(t, now+9, r.kernel.turnEnd(now+9))
	r.kernel.Run(1, []Task{{r.thread, func(*ddi.Thread) { assert.EqualValues(t, 1<<40, r.kernel.turnEnd(1<<40)) }}})
	r.finish()
}

// DxgkCbSynchronizeExecution answers for a message that the device has, and a function.
func TestAnswersOfSynchronizeExecution(t *testing.T) {
	r := newRig(t, options{})
	cb, h := r.mini.cb, r.mini.cb.DeviceHandle
	n := uint32(r.kernel.dev.Info().Messages)
	require.NotZero(t, n)
	for _, want := range []bool{true, false} {
		level := ddi.PassiveLevel
		v, s := cb.SynchronizeExecution(r.thread, h, n-1, func(t *ddi.Thread) bool { level = t.IRQL(); return want })
		assert.Equal(t, []any{want, ddi.StatusSuccess, ddi.DIRQL, ddi.PassiveLevel}, []any{v, s, level, r.thread.IRQL()})
	}
	never := func(*ddi.Thread) bool { assert.Fail(t, "called"); return true }
	for _, tt := range []struct {
		h  kmddi.HDxgkrnl
		n  uint32
		fn func(*ddi.Thread) bool
		s  ddi.Status
	}{{h, n, never, ddi.StatusInvalidParameter}, {h, 0, nil, ddi.StatusInvalidParameter}, {kmddi.HDxgkrnl{}, 0, never, ddi.StatusInvalidHandle}} {
		v, s := cb.SynchronizeExecution(r.thread, tt.h, tt.n, tt.fn)
		assert.Equal(t, []any{false, tt.s}, []any{v, s})
	}
}

// A wait for what never comes ends after TdrDelay, also if no node has work.
func TestWaitWithoutWorkEnds(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	began := r.gpu.now
	v := r.kernel.enter(r.thread)
	s := r.kernel.wait(r.thread, "nothing", func() bool { return false })
	r.kernel.leave(r.thread, &v)
	assert.Equal(t, ddi.StatusDeviceRemoved, s)
	assert.InDelta(t, 2000, r.gpu.now-began, 10)
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.Equal(t, []any{Timeout, uint32(0), ""}, []any{e.Kind, e.Node, e.Work})
}

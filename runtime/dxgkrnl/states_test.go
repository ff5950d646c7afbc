package dxgkrnl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// The gate gives the turn to the first that can do something. Others get one if there is none,
// and after 256 turns.
func TestAdmit(t *testing.T) {
	can, cannot := func() bool { return true }, func() bool { return false }
	for _, tt := range []struct {
		name  string
		gate  *gate
		queue []func() bool
		want  int // of the queue; -1: nobody
		turns int // afterwards
	}{
		{"nobody waits", &gate{}, nil, -1, 0},
		{"order of arrival", &gate{}, []func() bool{nil, can, nil}, 0, 1},
		{"one cannot", &gate{}, []func() bool{cannot, can, nil}, 1, 1},
		{"none can", &gate{turns: 5}, []func() bool{cannot, cannot}, 0, 0},
		{"turn 256", &gate{turns: 255}, []func() bool{nil, cannot}, 0, 256},
		{"turn 257", &gate{turns: 256}, []func() bool{nil, cannot}, 1, 0},
		{"turn 257 and none waits inside", &gate{turns: 256}, []func() bool{nil, can}, 0, 257},
		{"one is inside", &gate{busy: true}, []func() bool{nil}, -1, 0},
		{"one inside keeps its turn", &gate{kept: true}, []func() bool{nil}, -1, 0},
		{"one of Run is outside", &gate{out: 1}, []func() bool{nil}, -1, 0},
		{"one peeks", &gate{peeks: 1}, []func() bool{nil}, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := tt.gate
			g.free.L = &g.mu
			for _, ready := range tt.queue {
				g.queue = append(g.queue, &visitor{ready: ready, turn: make(chan struct{}, 1)})
			}
			queue := append([]*visitor{}, g.queue...)
			busy := g.busy
			g.admit()
			got := -1
			for i, v := range queue {
				if len(v.turn) > 0 {
					require.Equal(t, -1, got, "two have the turn")
					got = i
				}
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.turns, g.turns)
			assert.Equal(t, busy || got >= 0, g.busy)
			if got >= 0 {
				assert.Len(t, g.queue, len(queue)-1)
				assert.NotContains(t, g.queue, queue[got])
			}
		})
	}
}

// The adapter recovers by itself, unless it is told not to, and never from a driver that broke a contract.
func TestRecovers(t *testing.T) {
	reset := func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return 0 }
	for _, kind := range []Kind{Fault, Timeout, Link, Broken} {
		k := &Kernel{err: &DeviceError{Kind: kind}}
		assert.False(t, k.recovers(), "without a function")
		k.driver.ResetFromTimeout = reset
		assert.Equal(t, kind != Broken, k.recovers(), kind)
		for _, set := range []func(k *Kernel){
			func(k *Kernel) { k.closing = true }, func(k *Kernel) { k.crashed = &Bugcheck{} }, func(k *Kernel) { k.byHand = true }, func(k *Kernel) { k.err = nil },
		} {
			other := &Kernel{err: k.err, driver: k.driver}
			set(other)
			assert.False(t, other.recovers())
		}
		want := ddi.StatusDeviceRemoved
		if kind == Link {
			want = ddi.StatusIODeviceError
		}
		assert.Equal(t, want, k.err.status())
	}
}

// A set of submissions has the last one of each line, and none that has completed.
func TestSetOfSubmissions(t *testing.T) {
	a, b := &line{made: 9, submitted: 7, completed: 5, node: &node{}}, &line{made: 9, node: &node{}}
	var s marks
	for _, tt := range []struct {
		add  mark
		want marks
	}{
		{mark{a, 5}, nil}, {mark{a, 6}, marks{{a, 6}}}, {mark{a, 8}, marks{{a, 8}}}, {mark{a, 7}, marks{{a, 8}}},
		{mark{b, 1}, marks{{a, 8}, {b, 1}}}, {mark{a, 9}, marks{{b, 1}, {a, 9}}},
	} {
		s.add(tt.add)
		assert.ElementsMatch(t, tt.want, s)
	}
	assert.False(t, s.passed())
	a.completed = 9
	assert.False(t, s.passed())
	s.add(mark{b, 2})
	assert.Equal(t, marks{{b, 2}}, s)
	b.completed = 2
	assert.True(t, s.passed())
	a.completed = 5
	for number, want := range map[uint64][2]bool{5: {true, false}, 6: {false, true}, 7: {false, true}, 8: {false, false}} {
		m := mark{a, number}
		assert.Equal(t, want, [2]bool{m.completed(), m.running()}, number)
		assert.Equal(t, want[0] || want[1], m.precedes(a.node), number)
		assert.Equal(t, want[0], m.precedes(b.node), number)
	}
}

// Cancelled work has completed when what is in the hardware has.
func TestLineSettles(t *testing.T) {
	for _, tt := range []struct{ before, after line }{
		{line{made: 9, submitted: 7, completed: 7, cut: true}, line{made: 9, submitted: 9, completed: 9, cut: true}},
		{line{made: 9, submitted: 7, completed: 6, cut: true}, line{made: 9, submitted: 7, completed: 6, cut: true}},
		{line{made: 9, submitted: 7, completed: 7}, line{made: 9, submitted: 7, completed: 7}},
	} {
		tt.before.settle()
		assert.Equal(t, tt.after, tt.before)
	}
}

// overrunOf returns which guard of a buffer was written, or "".
func overrunOf(l *lent) string {
	found, _ := l.overrun()
	return found
}

// A lent buffer is between guards, and what changes while it is not lent is found.
func TestGuardsOfABuffer(t *testing.T) {
	r := newRig(t, options{})
	lend := func() *lent {
		l, ok := r.kernel.lend(256, 16)
		require.True(t, ok)
		assert.Len(t, l.pages.Bytes, 256)
		assert.Equal(t, repeat(0, 16), l.private)
		assert.Empty(t, overrunOf(&l))
		assert.Empty(t, l.begin())
		return &l
	}
	l := lend()
	n, private := len(l.whole.Bytes), len(l.wholePrivate)
	assert.Equal(t, 256+2*hal.PageSize, n)
	for _, at := range []*byte{
		&l.whole.Bytes[0], &l.whole.Bytes[hal.PageSize-1], &l.whole.Bytes[hal.PageSize+256], &l.whole.Bytes[n-1],
		&l.wholePrivate[0], &l.wholePrivate[private-1], &l.wholePrivate[(private-16)/2-1], &l.wholePrivate[(private+16)/2],
	} {
		*at++
		assert.NotEmpty(t, overrunOf(l))
		*at--
		assert.Empty(t, overrunOf(l))
	}
	for _, tt := range []struct {
		name    string
		change  func(l *lent)
		changed bool // found after the call
	}{
		{"in the used part", func(l *lent) { l.pages.Bytes[63]++ }, true}, {"after the used part", func(l *lent) { l.pages.Bytes[64]++ }, false},
		{"in the private data", func(l *lent) { l.private[15]++ }, true}, {"nothing", func(*lent) {}, false},
	} {
		l := lend()
		l.end(64)
		tt.change(l)
		assert.Equal(t, tt.changed, l.changed() != "", tt.name)
		l.giveBack()
		assert.Empty(t, l.changed(), tt.name)
		tt.change(l)
		assert.Equal(t, tt.name != "nothing", l.begin() != "", tt.name)
	}
	l = lend()
	l.submitted = true
	l.end(64)
	l.pages.Bytes[0]++
	assert.Empty(t, l.changed(), "the GPU may change it")
}

// Patch may change only its part.
func TestRestOfABuffer(t *testing.T) {
	r := newRig(t, options{})
	l, _ := r.kernel.lend(256, 16)
	for at, want := range map[int]int{0: 0, 31: 31, 32: -1, 63: -1, 64: 64, 255: 255} {
		l.keepRest()
		l.pages.Bytes[at]++
		assert.Equal(t, want, l.restChanged(32, 64), at)
		l.pages.Bytes[at]--
		assert.Equal(t, -1, l.restChanged(32, 64))
	}
}

// A lock that waits for work that is aborted fails, and the allocation is not locked.
func TestDeviceIsLostWhileALockWaits(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		for _, set := range []uint32{local, system} {
			q := newQueues(t, 1, options{resets: true, hiddenVRAM: hidden})
			p := q.devices[0]
			h := p.alloc(64, set)
			q.gpu.auto = true
			p.render(fill(h, 0, 64, 1))
			p.wait()
			p.ok(p.submit(q.contexts[0], fill(h, 0, 64, 1), command{op: opHang}))
			assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.Lock(p.thread, p.dev, &umddi.Lock{Allocation: h}))
			assert.Zero(t, q.kernel.handles.get(h).(*allocation).locks)
			q.lost(0, Timeout)
			q.finish()
		}
	}
}

// A device that can access all addresses gets any page.
func TestPagesWithoutALimit(t *testing.T) {
	r := newRig(t, options{aperture: 4})
	r.kernel.caps.HighestAcceptableAddress = math.MaxUint64
	_, ok := r.kernel.pageList(4096)
	assert.True(t, ok)
}

// After the adapter has stopped no interrupt counts, whatever it reports.
func TestInterruptAfterTheStop(t *testing.T) {
	r := newRig(t, options{})
	r.gpu.auto = false
	r.render(command{op: opHang})
	r.wantStopped(t)
	reported := false
	r.mini.isr = func(th *ddi.Thread) {
		reported = true
		r.mini.notify(th, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: 999})
		r.mini.cb.QueueDpc(th, r.mini.cb.DeviceHandle)
	}
	r.gpu.interrupt(0)
	assert.Nil(t, crash(func() { r.kernel.dev.Deliver(r.thread) }))
	assert.True(t, reported)
}

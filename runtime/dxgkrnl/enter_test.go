package dxgkrnl

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A thread enters at once if nobody is inside, keeps the turn, peeks, is outside in Run, or came
// before. Else it waits for its turn.
func TestEnter(t *testing.T) {
	for _, tt := range []struct {
		name string
		gate *gate
		want bool // it enters at once
	}{
		{"free", &gate{}, true}, {"one is inside", &gate{busy: true}, false}, {"one inside keeps its turn", &gate{kept: true}, false},
		{"one of Run is outside", &gate{out: 1}, false}, {"one peeks", &gate{peeks: 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, th, entered := tt.gate, &ddi.Thread{ID: 1}, make(chan struct{})
			g.free.L = &g.mu
			busy := g.busy
			go func() {
				g.enter(th)
				close(entered)
			}()
			waits, inside := false, false
			for !waits && !inside {
				runtime.Gosched()
				g.mu.Lock()
				waits, inside = len(g.queue) == 1, !busy && g.busy
				g.mu.Unlock()
			}
			assert.Equal(t, tt.want, inside)
			if waits {
				g.mu.Lock()
				g.busy, g.kept, g.out, g.peeks = false, false, 0, 0
				g.admit()
				g.mu.Unlock()
			}
			<-entered
			assert.True(t, g.busy)
			assert.Empty(t, g.queue)
			g.leave(th)
			assert.False(t, g.busy)
			assert.Zero(t, g.out)
		})
	}
}

// The task of Run to which a thread belongs is outside before it enters and after it leaves.
func TestMembersOfRun(t *testing.T) {
	a, b, c := &ddi.Thread{ID: 1}, &ddi.Thread{Process: 7, ID: 2}, &ddi.Thread{Process: 8, ID: 3}
	g := &gate{crew: map[*ddi.Thread]int{a: 3}, procs: map[uint32]int{7: 5}, out: 1}
	g.free.L = &g.mu
	assert.Equal(t, []int{3, 5, 0}, []int{g.member(a), g.member(b), g.member(c)})
	for _, th := range []*ddi.Thread{a, b} {
		g.enter(th)
		assert.Equal(t, []any{0, true}, []any{g.out, g.busy})
		g.leave(th)
		assert.Equal(t, []any{1, false}, []any{g.out, g.busy})
	}
	g.out = 0
	g.enter(c)
	g.leave(c)
	assert.Equal(t, []any{0, false}, []any{g.out, g.busy}, "it is no member")
	g.out = 2
	g.end(b)
	assert.Equal(t, []int{1, 3, 0}, []int{g.out, g.member(a), g.member(b)})
	g.end(a)
	assert.Equal(t, []int{0, 0}, []int{g.out, g.member(a)})
}

// A reset of the adapter removes the devices of applications that still work, and no other one.
func TestDevicesThatAResetRemoves(t *testing.T) {
	r := newRig(t, options{})
	p, k := r.opened(2), r.kernel
	first, second := k.handles.get(r.dev).(*device), k.handles.get(p.dev).(*device)
	first.removed = ddi.StatusIODeviceError
	k.stop(r.thread, reasonTimeout, k.timeOutOf(&k.nodes[0]))
	err := k.err
	require.NoError(t, k.Recover(r.thread))
	assert.Equal(t, []ddi.Status{ddi.StatusSuccess, ddi.StatusIODeviceError, ddi.StatusDeviceRemoved}, []ddi.Status{k.devices[0].removed, first.removed, second.removed})
	assert.Nil(t, k.devices[0].lost)
	assert.Nil(t, first.lost)
	assert.Same(t, err, second.lost)
}

// A thread that waits for the device lets others in that arrive meanwhile, although no
// interrupt ends its wait.
func TestOthersArriveDuringAWaitForTheDevice(t *testing.T) {
	r := newRig(t, options{quantum: 1})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	p := r.process(2)
	arrived, done := make(chan struct{}), make(chan struct{})
	var at uint64
	began := r.gpu.now
	go func() {
		<-arrived
		p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64))
		r.kernel.gate.peek(func() { at, r.gpu.auto = r.gpu.now, true })
		close(done)
	}()
	r.gpu.onWait = func() {
		r.gpu.onWait = nil
		close(arrived)
		for queued := false; !queued; { // until it is at the gate
			r.kernel.gate.mu.Lock()
			queued = len(r.kernel.gate.queue) > 0
			r.kernel.gate.mu.Unlock()
			runtime.Gosched()
		}
	}
	r.wait()
	<-done
	assert.LessOrEqual(t, at-began, uint64(2), "ticks; the time-out is 2000")
	r.finish()
}

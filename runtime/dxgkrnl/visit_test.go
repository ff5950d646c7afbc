package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// meets runs a visit of one thread that waits, and then one of another thread, which gets the
// kernel while the first waits.
func (r *rig) meets(waits, other func(t *ddi.Thread)) {
	p, waiting := r.process(2), false
	visit := func(th *ddi.Thread, fn func(t *ddi.Thread)) {
		v := r.kernel.enter(th)
		defer r.kernel.leave(th, &v)
		waiting = waiting || th == r.thread
		fn(th)
	}
	r.kernel.Run(1, []Task{
		{r.thread, func(th *ddi.Thread) { visit(th, waits) }},
		{p.thread, func(th *ddi.Thread) {
			for !waiting {
				visit(th, func(*ddi.Thread) {})
			}
			visit(th, other)
		}},
	})
	assert.Zero(r, r.kernel.visits)
}

// A thread that waits for others gets its turn when what it waits for has come, and not before.
func TestTurnOfAThreadThatWaits(t *testing.T) {
	r := newRig(t, options{})
	k := r.kernel
	ready, came := false, false
	r.meets(func(th *ddi.Thread) {
		k.until(th, func() bool { return ready })
		came = true
		assert.Same(t, th, k.thread)
	}, func(th *ddi.Thread) {
		k.letIn(th, func() bool { return true })
		assert.False(t, came)
		assert.Same(t, th, k.thread)
		ready = true
		k.letIn(th, func() bool { return true })
		assert.True(t, came)
		assert.Same(t, th, k.thread, "it is back")
	})
	r.finish()
}

// A broken contract ends the wait of a thread at once, although nothing has come.
func TestBrokenContractEndsAWait(t *testing.T) {
	r := newRig(t, options{})
	k := r.kernel
	var ended *Bugcheck
	broken := &Bugcheck{Code: CodeScheduler, P1: SchedulerPatch}
	r.meets(func(th *ddi.Thread) {
		ended = crash(func() { k.until(th, func() bool { return false }) })
	}, func(th *ddi.Thread) {
		k.crashed = broken
		assert.True(t, k.gate.pass(th, func() bool { return true }))
		assert.Same(t, broken, ended)
	})
}

// A thread that must be alone gets its turn when all others have left, also after a broken contract.
func TestTurnOfAThreadThatMustBeAlone(t *testing.T) {
	for _, broken := range []*Bugcheck{nil, {}} {
		r := newRig(t, options{})
		k := r.kernel
		ready, alone := false, false
		r.meets(func(th *ddi.Thread) {
			k.until(th, func() bool { return ready })
			k.crashed = broken
			assert.False(t, k.gate.pass(th, func() bool { return true }), "this one is inside")
			assert.False(t, alone)
		}, func(th *ddi.Thread) {
			ready = true
			k.alone(th)
			alone = true
			assert.Same(t, th, k.thread)
			assert.Equal(t, 1, k.visits)
		})
		assert.True(t, alone)
	}
}

// At the end of a visit the level of the thread is what it was, and the device is free.
func TestEndOfAVisit(t *testing.T) {
	r := newRig(t, options{})
	d := r.kernel.handles.get(r.dev).(*device)
	v := r.kernel.enter(r.thread)
	assert.Same(t, r.thread, r.kernel.thread)
	_, ok := r.kernel.take(r.thread, &v, r.dev)
	require.True(t, ok)
	r.thread.Raise(ddi.DIRQL)
	assert.True(t, d.busy)
	r.kernel.leave(r.thread, &v)
	assert.Equal(t, []any{false, 0, ddi.PassiveLevel}, []any{d.busy, r.kernel.visits, r.thread.IRQL()})
	r.finish()
}

// The reset of an adapter waits until no other thread is inside, also if Recover asks for it.
//
// docs/properties.md: T6.
func TestResetIsAlone(t *testing.T) {
	for seed := range uint64(16) {
		r := newRig(t, options{})
		k, p := r.kernel, r.process(2)
		inside, waits, left := false, false, false
		r.mini.every = func(name string) {
			assert.False(t, name == "ResetFromTimeout" && inside, "seed %d", seed)
		}
		k.Run(seed, []Task{
			{r.thread, func(th *ddi.Thread) {
				v := k.enter(th)
				k.stop(th, reasonTimeout, k.timeOutOf(&k.nodes[0]))
				inside, waits = true, true
				k.until(th, func() bool { return left })
				inside = false
				k.leave(th, &v)
			}},
			{p.thread, func(th *ddi.Thread) {
				for !waits {
					v := k.enter(th)
					k.leave(th, &v)
				}
				left = true
				assert.NoError(t, k.Recover(th))
			}},
		})
		assert.EqualValues(t, 1, k.Stats().Recoveries)
	}
}

// Of two threads that find a stopped adapter, one resets it, and the other goes on.
//
// docs/properties.md: T6.
func TestOneOfTwoThreadsResets(t *testing.T) {
	for seed := range uint64(16) {
		r := newRig(t, options{})
		k := r.kernel
		stopped, come := false, 0
		finds := func(th *ddi.Thread) {
			for !stopped {
				v := k.enter(th)
				k.leave(th, &v)
			}
			v := k.enter(th)
			defer k.leave(th, &v)
			come++
			k.recoverItself(th)
			assert.Nil(t, k.err, "seed %d", seed)
		}
		k.Run(seed, []Task{
			{r.thread, func(th *ddi.Thread) {
				v := k.enter(th)
				k.stop(th, reasonTimeout, k.timeOutOf(&k.nodes[0]))
				stopped = true
				k.until(th, func() bool { return come == 2 })
				k.leave(th, &v)
			}},
			{r.process(2).thread, finds},
			{r.process(3).thread, finds},
		})
		assert.EqualValues(t, 1, k.Stats().Recoveries)
	}
}

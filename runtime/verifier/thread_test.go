package verifier

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A driver that ends the goroutine of its caller breaks a rule, even if violations
// are collected or the rule is waived.
func TestEndOfTheGoroutine(t *testing.T) {
	for _, o := range []Options{{}, {Collect: true}, {Waive: []string{"goroutine-exit"}}} {
		r := newRig(t, o, native)
		r.calls("Flush", func(*ddi.Thread) { runtime.Goexit() })
		returned := false
		var wg sync.WaitGroup
		wg.Go(func() {
			r.funcs.Flush(r.th, r.dev)
			returned = true
		})
		wg.Wait()
		assert.False(t, returned)
		<-r.m.Hung()
		v := r.m.Err()
		require.NotNil(t, v)
		assert.EqualError(t, v, "verifier: goroutine-exit (driver): pfnFlush: the function ended its goroutine, want it to return")
		assert.Equal(t, "fatal", string(v.Rule.Severity()))
		assert.Contains(t, v.Details(), "thread_test.go", "the stack of the goroutine")
		assert.Empty(t, r.th.Stack())
		r.funcs.Flush(r.th, r.dev) // returns at once
	}
}

// A hook may end the goroutine of a test.
func TestEndByAHook(t *testing.T) {
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	f := wrapDeviceFuncs(&umddi.DeviceFuncs{Flush: func(*ddi.Thread, umddi.HDevice) {}}, m, exiting{})
	var wg sync.WaitGroup
	wg.Go(func() { f.Flush(new(ddi.Thread), umddi.HDevice{}) })
	wg.Wait()
	assert.Nil(t, m.Err())
}

type exiting struct{}

func (exiting) Enter(*ddi.Thread, *Func, ...any) { runtime.Goexit() }
func (exiting) Leave(*ddi.Thread, *Func, ...any) {}

// A callback with a thread that the driver made is a violation, is not made, and
// unwinds the driver. If violations are collected, it returns an error.
func TestOwnThread(t *testing.T) {
	for _, collect := range []bool{false, true} {
		r := newRig(t, Options{Collect: collect}, native)
		made, after := false, false
		r.system["RenderCb"] = func([]any, []any) { made = true }
		r.calls("Flush", func(*ddi.Thread) {
			hr := r.inner.KTCallbacks.RenderCb(&ddi.Thread{Process: 1, ID: 99}, umddi.HRTDevice{}, nil)
			assert.Equal(t, ddi.DDIDeviceRemoved, hr)
			after = true
		})
		r.funcs.Flush(r.th, r.dev)
		assert.False(t, made)
		assert.Equal(t, collect, after)
		require.NotEmpty(t, r.m.Violations())
		assert.EqualError(t, r.m.Violations()[0],
			"verifier: callback-outside (driver): pfnRenderCb: no function of the driver runs on thread 1:99")
	}
}

// A user-mode driver that recovers the panic of a thunk hides nothing and is not
// blamed.
func TestRecoverAroundAThunk(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"panic", "boom", "verifier: system-panic (runtime): pfnRenderCb: boom"},
		{"bugcheck", bugcheck{}, "verifier: fence-reported (driver): DxgkCbNotifyInterrupt: fence 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{}, native)
			thunks := WrapThunks(kmt.Thunks{Render: func(*ddi.Thread, ddi.KMHandle, *umddi.Render) ddi.Status { panic(tt.value) }}, r.m)
			r.system["RenderCb"] = func(args, _ []any) { thunks.Render(args[0].(*ddi.Thread), 1, nil) }
			recovered := false
			r.calls("Flush", func(th *ddi.Thread) {
				defer func() { recovered = recover() != nil }()
				r.inner.KTCallbacks.RenderCb(th, umddi.HRTDevice{}, &umddi.Render{})
			})
			r.funcs.Flush(r.th, r.dev)
			assert.True(t, recovered)
			require.NotNil(t, r.m.Err())
			assert.EqualError(t, r.m.Err(), tt.want)
			assert.Len(t, r.m.Violations(), 1)
			assert.Empty(t, r.th.Stack())
		})
	}
}

// A driver that changes the list of functions on its thread breaks a rule that
// names its function.
func TestStackOfAThread(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(th *ddi.Thread)
		want   string
	}{
		"Pop":    {(*ddi.Thread).Pop, "the stack of the thread is empty at the return, want pfnFlush as its last entry"},
		"Unwind": {(*ddi.Thread).Unwind, "the stack of the thread is empty at the return, want pfnFlush as its last entry"},
		"Push": {func(th *ddi.Thread) { th.Push("pfnX") },
			"the stack of the thread is pfnFlush > pfnX at the return, want pfnFlush as its last entry"},
	} {
		t.Run(name, func(t *testing.T) {
			v := unwound(t, func(r *rig) {
				r.calls("Flush", tt.change)
				r.funcs.Flush(r.th, r.dev)
			})
			assert.EqualError(t, v, "verifier: thread-stack (driver): pfnFlush: "+tt.want)
		})
	}
	v := unwound(t, func(r *rig) {
		r.calls("Flush", func(th *ddi.Thread) {
			th.Pop()
			th.Pop()
		})
		r.funcs.Flush(r.th, r.dev)
	})
	assert.EqualError(t, v, "verifier: thread-stack (driver): no function: Pop on a thread that is in no function")
}

// A function of the user-mode driver returns at the level of its entry, which may
// be raised meanwhile, and makes callbacks at PASSIVE_LEVEL.
func TestLevelsOfTheUserMode(t *testing.T) {
	v := unwound(t, func(r *rig) {
		r.calls("Flush", func(th *ddi.Thread) { th.Raise(ddi.DIRQL) })
		r.funcs.Flush(r.th, r.dev)
	})
	assert.EqualError(t, v, "verifier: level-return (driver): pfnFlush: returns at DIRQL, want PASSIVE_LEVEL as at its entry")
	v = unwound(t, func(r *rig) {
		r.calls("Flush", func(th *ddi.Thread) {
			th.Raise(ddi.DispatchLevel)
			r.inner.KTCallbacks.LockCb(th, umddi.HRTDevice{}, &umddi.Lock{})
		})
		r.funcs.Flush(r.th, r.dev)
	})
	assert.EqualError(t, v, "verifier: callback-irql (driver): pfnLockCb: at DISPATCH_LEVEL in pfnFlush, want PASSIVE_LEVEL")

	r := newRig(t, Options{}, native)
	r.calls("Flush", func(th *ddi.Thread) { th.Lower(th.Raise(ddi.DIRQL)) })
	r.funcs.Flush(r.th, r.dev)
	assert.Nil(t, r.m.Err())

	r = collecting(t)
	r.calls("Flush", func(th *ddi.Thread) { th.Raise(ddi.DispatchLevel) })
	r.funcs.Flush(r.th, r.dev)
	r.calls("Flush", func(*ddi.Thread) {})
	r.funcs.Flush(r.th, r.dev)
	assert.Equal(t, []string{"level-return"}, r.broken())
}

// meets runs Flush of the device on one goroutine and a function of a deferred context
// on another. Both run when the driver makes a callback in the given one, with the
// thread of the other call or its own.
func meets(t *testing.T, inFlush, other bool) *rig {
	r := newRig(t, Options{Collect: true}, native)
	d := r.deferred("d")
	entered, done := make(chan bool), make(chan bool)
	own, its := r.dth, r.th
	if inFlush {
		own, its = its, own
	}
	callback := func() {
		if !other {
			its = own
		}
		r.inner.KTCallbacks.LockCb(its, r.inner.RTDevice, &umddi.Lock{Allocation: 3})
		close(done)
	}
	r.calls("IaSetTopology", func(*ddi.Thread) { // it begins second
		entered <- true
		if inFlush {
			<-done
			return
		}
		callback()
	})
	r.calls("Flush", func(*ddi.Thread) {
		go d.funcs.IaSetTopology(r.dth, d.h, 1)
		<-entered
		if inFlush {
			callback()
			return
		}
		<-done
	})
	r.funcs.Flush(r.th, r.dev)
	return r
}

// A callback with the thread of another call that runs is a violation and is not made.
func TestThreadOfAnotherCall(t *testing.T) {
	for _, inFlush := range []bool{false, true} {
		r := meets(t, inFlush, true)
		require.Equal(t, []string{"callback-thread"}, r.broken(), "in Flush: %v", inFlush)
		v := r.m.Violations()[0]
		want := "verifier: callback-thread (driver): pfnLockCb: called with the thread 1:1, which another call uses, want that of the call that makes it"
		if inFlush {
			want = strings.Replace(want, "1:1", "1:2", 1)
		}
		assert.EqualError(t, v, want)
		assert.Empty(t, meets(t, inFlush, false).broken(), "with its own thread")
	}
}

// A thread that has called the system is another call's too, until the callback returns.
func TestThreadInACallback(t *testing.T) {
	r := newRig(t, Options{Collect: true}, native)
	r.system["RenderCb"] = func([]any, []any) {
		r.calls("IaSetTopology", func(*ddi.Thread) { r.inner.KTCallbacks.LockCb(r.th, r.inner.RTDevice, &umddi.Lock{Allocation: 3}) })
		d := r.deferred("d")
		d.funcs.IaSetTopology(r.dth, d.h, 1)
	}
	r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
		kt.RenderCb(t, h, &umddi.Render{})
		kt.LockCb(t, h, &umddi.Lock{Allocation: 3})
	})
	assert.Contains(t, r.broken(), "callback-thread")
	assert.Equal(t, 1, count(r.broken(), "callback-thread"))
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

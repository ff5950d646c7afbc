package verifier

import (
	"errors"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A bugcheck is a panic value that names a rule.
type bugcheck struct{}

func (bugcheck) Error() string { return "fence 9 reported" }
func (bugcheck) BrokenRule() (name, function, found string) {
	return "fence-reported", "DxgkCbNotifyInterrupt", "fence 9"
}

// unwound runs a program that breaks a rule of a driver's function and returns
// the violation. The program must return.
func unwound(t *testing.T, program func(r *rig)) *Violation {
	t.Helper()
	r := newRig(t, Options{Now: func() uint64 { return 77 }}, native)
	assert.NotPanics(t, func() { program(r) })
	require.NotNil(t, r.m.Err())
	assert.Len(t, r.m.Violations(), 1)
	assert.Empty(t, r.th.Stack())
	return r.m.Err()
}

// A panic in a driver's function is a violation. The call returns, and no driver
// is called any more.
func TestPanicOfADriver(t *testing.T) {
	v := unwound(t, func(r *rig) {
		calls := 0
		r.driver["Flush"] = func([]any, []any) {
			calls++
			_ = make([]byte, 8)[calls+7]
		}
		told := 0
		r.m.OnStop(func(v *Violation) {
			told++
			assert.Equal(t, "driver-panic", v.Rule.Name)
		})
		r.th.Raise(ddi.DispatchLevel)
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, ddi.PassiveLevel, r.th.IRQL())
		r.funcs.Flush(r.th, r.dev)
		assert.Equal(t, 1, calls, "a stopped driver is not called")
		assert.Equal(t, 1, told)
		assert.Equal(t, ddi.DDIDeviceRemoved, r.funcs.RecycleCreateCommandList(r.th, r.dev, nil, umddi.HCommandList{}, umddi.HRTCommandList{}))
	})
	assert.Equal(t, "driver-panic", v.Rule.Name)
	assert.Equal(t, "runtime error: index out of range [8] with length 8", v.Text)
	assert.Equal(t, []string{"pfnFlush"}, v.Stack)
	assert.Equal(t, uint64(77), v.Cycle)
	assert.Equal(t, ddi.DispatchLevel, v.IRQL)
	assert.Contains(t, v.Details(), "guard_test.go", "the stack of the goroutine")
	assert.Contains(t, v.Details(), "where   thread 1:1 at DISPATCH_LEVEL, cycle 77, fatal")
}

// A panic in a callback is the system's.
func TestPanicOfTheSystem(t *testing.T) {
	v := unwound(t, func(r *rig) {
		r.calls("IaSetTopology", func(th *ddi.Thread) { r.inner.KTCallbacks.RenderCb(th, umddi.HRTDevice{}, &umddi.Render{}) })
		r.system["RenderCb"] = func([]any, []any) { panic("no kernel") }
		r.funcs.IaSetTopology(r.th, r.dev, 0)
	})
	assert.Equal(t, "system-panic", v.Rule.Name)
	assert.Equal(t, []string{"pfnIaSetTopology", "pfnRenderCb"}, v.Stack)
}

// A panic in a thunk is the system's too.
func TestPanicOfAThunk(t *testing.T) {
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	k := WrapThunks(kmt.Thunks{DestroyContext: func(*ddi.Thread, ddi.KMHandle) ddi.Status { panic("no kernel") }}, m)
	assert.Equal(t, ddi.StatusDeviceRemoved, k.DestroyContext(new(ddi.Thread), 1))
	require.NotNil(t, m.Err())
	assert.Equal(t, "system-panic", m.Err().Rule.Name)
	assert.Equal(t, ddi.StatusDeviceRemoved, k.DestroyContext(new(ddi.Thread), 1), "no thunk is called any more")
}

// A bugcheck breaks the rule that it names, and is the cause of the violation,
// also if violations are collected.
func TestBugcheckIsAViolation(t *testing.T) {
	r := newRig(t, Options{Collect: true}, native)
	r.calls("IaSetTopology", func(th *ddi.Thread) { r.inner.KTCallbacks.RenderCb(th, umddi.HRTDevice{}, nil) })
	r.system["RenderCb"] = func([]any, []any) { panic(bugcheck{}) }
	r.funcs.IaSetTopology(r.th, r.dev, 0)
	require.NotNil(t, r.m.Err())
	assert.Equal(t, "fence-reported", r.m.Err().Rule.Name)
	assert.Equal(t, "DxgkCbNotifyInterrupt", r.m.Err().Function)
	assert.ErrorIs(t, r.m.Err(), bugcheck{})
}

// A hook may end a test by a panic.
func TestPanicOfAHook(t *testing.T) {
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	end := errors.New("end of the test")
	f := wrapDeviceFuncs(&umddi.DeviceFuncs{Flush: func(*ddi.Thread, umddi.HDevice) {}}, m, ending{end})
	assert.PanicsWithValue(t, end, func() { f.Flush(new(ddi.Thread), umddi.HDevice{}) })
	assert.Nil(t, m.Err())
}

type ending struct{ err error }

func (e ending) Enter(*ddi.Thread, *Func, ...any) { panic(e.err) }
func (e ending) Leave(*ddi.Thread, *Func, ...any) {}

// A callback on another goroutine is a violation, is not made, and does not end
// the goroutine, whichever thread it names.
func TestForeignGoroutine(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		thread     func(of *ddi.Thread) *ddi.Thread
	}{
		{"with the thread of the call", "callback-goroutine", func(of *ddi.Thread) *ddi.Thread { return of }},
		{"with a thread of its own", "callback-outside", func(*ddi.Thread) *ddi.Thread { return new(ddi.Thread) }},
		{"without a thread", "callback-outside", func(*ddi.Thread) *ddi.Thread { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made, after := false, false
			v := unwound(t, func(r *rig) {
				r.system["RenderCb"] = func([]any, []any) { made = true }
				r.calls("Flush", func(th *ddi.Thread) {
					var wg sync.WaitGroup
					wg.Go(func() {
						hr := r.inner.KTCallbacks.RenderCb(tt.thread(th), umddi.HRTDevice{}, nil)
						assert.Equal(t, ddi.DDIDeviceRemoved, hr)
						after = true
					})
					wg.Wait()
				})
				r.funcs.Flush(r.th, r.dev)
			})
			assert.False(t, made)
			assert.True(t, after)
			assert.Equal(t, tt.rule, v.Rule.Name)
			assert.Equal(t, "pfnRenderCb", v.Function)
		})
	}
}

// A driver that ignores its callbacks' results is unwound at the next callback.
func TestStoppedCallbacksUnwind(t *testing.T) {
	unwound(t, func(r *rig) {
		r.reports("Flush", "device", ddi.OK)
		r.calls("ResourceCopy", func(th *ddi.Thread) {
			r.funcs.Flush(r.other, r.dev)
			for {
				r.inner.KTCallbacks.RenderCb(th, umddi.HRTDevice{}, nil)
			}
		})
		r.funcs.ResourceCopy(r.th, r.dev, r.make().buffer(), r.make().buffer())
	})
}

// Thread.Raise and Lower in the wrong direction break a rule.
func TestLevelChanges(t *testing.T) {
	for text, breaks := range map[string]func(th *ddi.Thread){
		"Raise from DIRQL to PASSIVE_LEVEL, want a level that is not lower": func(th *ddi.Thread) {
			th.Raise(ddi.DIRQL)
			th.Raise(ddi.PassiveLevel)
		},
		"Lower from PASSIVE_LEVEL to DIRQL, want a level that is not higher": func(th *ddi.Thread) { th.Lower(ddi.DIRQL) },
	} {
		v := unwound(t, func(r *rig) {
			r.calls("Flush", breaks)
			r.funcs.Flush(r.th, r.dev)
		})
		assert.Equal(t, "irql-change", v.Rule.Name)
		assert.Equal(t, text, v.Text)
	}
}

// Guard ends a panic of a miniport that the system itself called.
func TestGuard(t *testing.T) {
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	entry := WrapKernelMode(func() kmddi.DriverInitializationData {
		return kmddi.DriverInitializationData{AddDevice: func(*ddi.Thread, kmddi.HAdapter) ddi.Status { panic("nil") }}
	}, m, m)
	th, resumed := new(ddi.Thread), false
	err = m.Guard(th, func() error {
		entry().AddDevice(th, kmddi.HAdapter{})
		resumed = true
		return nil
	})
	require.ErrorAs(t, err, new(*Violation))
	assert.EqualError(t, err, "verifier: driver-panic (driver): DxgkDdiAddDevice: nil")
	assert.False(t, resumed, "the kernel does not continue")
	assert.Empty(t, th.Stack())
	assert.Same(t, err, m.Guard(th, func() error { panic("not called") }))

	m, err = NewMonitor(Options{})
	require.NoError(t, err)
	end := errors.New("kernel")
	assert.Same(t, end, m.Guard(th, func() error { return end }))
	assert.PanicsWithValue(t, "of nobody", func() { m.Guard(th, func() error { panic("of nobody") }) })
}

// Guard returns the violation of a miniport that ends its goroutine, and a panic
// that is no violation has the stack of f.
func TestGuardOfTheGoroutine(t *testing.T) {
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	entry := WrapKernelMode(func() kmddi.DriverInitializationData {
		return kmddi.DriverInitializationData{AddDevice: func(*ddi.Thread, kmddi.HAdapter) ddi.Status {
			runtime.Goexit()
			return ddi.StatusSuccess
		}}
	}, m, m)
	th := new(ddi.Thread)
	err = m.Guard(th, func() error {
		entry().AddDevice(th, kmddi.HAdapter{})
		return nil
	})
	assert.EqualError(t, err, "verifier: goroutine-exit (driver): DxgkDdiAddDevice: the function ended its goroutine, want it to return")

	m, err = NewMonitor(Options{})
	require.NoError(t, err)
	defer func() {
		err, ok := recover().(error)
		require.True(t, ok)
		assert.ErrorAs(t, err, new(runtime.Error))
		assert.ErrorContains(t, err, "guard_test.go")
	}()
	m.Guard(th, func() error { return errors.New("x" + []string{}[len(th.Stack())]) })
}

// A call that does not return stops the system. Other calls then return at once,
// and a callback of the call unwinds it.
func TestCallThatHangs(t *testing.T) {
	r := newRig(t, Options{}, native)
	stop := r.m.Watch(50 * time.Millisecond)
	defer stop()
	release := make(chan struct{})
	r.calls("Flush", func(th *ddi.Thread) {
		<-release
		r.inner.KTCallbacks.RenderCb(th, umddi.HRTDevice{}, nil)
		t.Error("the callback returned")
	})
	var wg sync.WaitGroup
	r.th.Raise(ddi.DispatchLevel)
	wg.Go(func() { r.funcs.Flush(r.th, r.dev) })
	<-r.m.Hung()
	v := r.m.Err()
	require.NotNil(t, v)
	assert.EqualError(t, v, "verifier: call-hang (driver or runtime): pfnFlush: no return for 50ms; the outermost call on thread 1:1 is pfnFlush")
	assert.Equal(t, []string{"pfnFlush"}, v.Stack)
	assert.Contains(t, v.Details(), "where   thread 1:1 at DISPATCH_LEVEL")
	assert.Contains(t, v.Details(), "TestCallThatHangs")
	r.funcs.ResourceCopy(r.other, r.dev, umddi.HResource{}, umddi.HResource{})
	close(release)
	wg.Wait()
}

// Calls that return do not hang, however many there are.
func TestCallsThatReturn(t *testing.T) {
	r := newRig(t, Options{}, native)
	seen := map[*ddi.Thread]sighting{}
	now := time.Unix(0, 0)
	look := func() {
		now = now.Add(time.Second)
		assert.False(t, r.m.look(seen, now, 2*time.Second))
	}
	for range 5 {
		r.calls("Flush", func(*ddi.Thread) { look() })
		r.funcs.Flush(r.th, r.dev)
	}
	look()
	assert.Empty(t, seen)
}

// Collected violations of the runtime that follow one of the driver are left out.
func TestCollectedViolations(t *testing.T) {
	r := collecting(t)
	r.reports("Flush", "device", ddi.OK)
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	r.funcs.Flush(r.th, r.dev)
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	assert.Equal(t, []string{"handle-unknown", "handle-unknown", "error-success"}, r.broken())
}

// BenchmarkWrapper measures a call of a driver without a hook.
func BenchmarkWrapper(b *testing.B) {
	m, err := NewMonitor(Options{})
	require.NoError(b, err)
	bare := &umddi.DeviceFuncs{IaSetTopology: func(*ddi.Thread, umddi.HDevice, umddi.Topology) {}}
	for _, tt := range []struct {
		name string
		f    *umddi.DeviceFuncs
	}{{"bare", bare}, {"guarded", wrapDeviceFuncs(bare, m, nil)}, {"not guarded", wrapDeviceFuncs(bare, nil, nil)}} {
		b.Run(tt.name, func(b *testing.B) {
			th := new(ddi.Thread)
			b.ReportAllocs()
			for b.Loop() {
				tt.f.IaSetTopology(th, umddi.HDevice{}, 1)
			}
		})
	}
}

// A panic in the function that SynchronizeExecution runs is the driver's, and one in
// the callback itself the system's.
func TestPanicInSynchronizeExecution(t *testing.T) {
	for _, tt := range []struct {
		driver     bool
		rule, text string
	}{
		{true, "driver-panic", "boom, in the function that the driver passed"}, {false, "system-panic", "boom"},
	} {
		m, err := NewMonitor(Options{})
		require.NoError(t, err)
		table := WrapKernelMode(func() kmddi.DriverInitializationData {
			return kmddi.DriverInitializationData{
				StartDevice: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (out kmddi.StartDeviceOut, s ddi.Status) {
					_, s = cb.SynchronizeExecution(t, cb.DeviceHandle, 0, func(*ddi.Thread) bool {
						if tt.driver {
							panic("boom")
						}
						return true
					})
					return out, s
				},
			}
		}, m, m)()
		system := &kmddi.DxgkrnlInterface{SynchronizeExecution: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ uint32, fn func(*ddi.Thread) bool) (bool, ddi.Status) {
			fn(t)
			panic("boom")
		}}
		th := new(ddi.Thread)
		err = m.Guard(th, func() error {
			table.StartDevice(th, kmddi.HAdapter{}, kmddi.StartInfo{}, system)
			return nil
		})
		require.ErrorIs(t, err, m.Err())
		assert.Equal(t, tt.rule, m.Err().Rule.Name)
		assert.Equal(t, "DxgkCbSynchronizeExecution", m.Err().Function)
		assert.Equal(t, tt.text, m.Err().Text)
	}
}

// Every thunk is wrapped.
func TestAllThunksAreWrapped(t *testing.T) {
	v := reflect.ValueOf(WrapThunks(kmt.Thunks{}, nil))
	for i := range v.NumField() {
		assert.False(t, v.Field(i).IsNil(), v.Type().Field(i).Name)
	}
}

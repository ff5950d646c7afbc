package testbench

import (
	"runtime"
	"time"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// watch finds calls that hang.
func (s *System) watch(o Options) {
	if s.monitor == nil {
		s.unwatch = func() {}
		return
	}
	if o.CallLimit == 0 {
		ticks := o.TdrDelay
		if o.linkDelay != nil {
			ticks += o.linkDelay(dxgkrnl.LeastMove)
		}
		tdr := time.Duration(float64(ticks) / float64(s.clock.Hz()) * float64(time.Second))
		o.CallLimit = max(time.Minute, 4*tdr)
	}
	s.unwatch = s.monitor.Watch(o.CallLimit)
}

// Hung returns a channel that is closed when a call of a driver does not return:
// see Options.CallLimit. It is nil with Options.NoVerify. The goroutine of the call
// stays in it, and the board is not closed.
func (s *System) Hung() <-chan struct{} {
	if s.monitor == nil {
		return nil
	}
	return s.monitor.Hung()
}

// Watched calls f, which uses the system, and returns its error. If a call of a
// driver does not return, Watched returns the violation that stopped the system.
// The goroutine of f then stays in that call and may still use its variables. With
// Options.NoVerify nothing finds such a call.
func (s *System) Watched(f func() error) error {
	if s.monitor == nil {
		return f()
	}
	var panicked any
	returned := false
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			panicked = recover()
			done <- err
		}()
		err = f()
		returned = true
	}()
	select {
	case err := <-done:
		switch {
		case panicked != nil:
			panic(panicked)
		case !returned && s.monitor.Stopped(): // the call that hangs ended its goroutine
			return s.monitor.Err()
		case !returned: // f ended its goroutine
			runtime.Goexit()
		}
		return err
	case <-s.Hung():
		return s.monitor.Err()
	}
}

// hangs reports whether a call of a driver does not return.
func (s *System) hangs() bool {
	select {
	case <-s.Hung():
		return true
	default:
		return false
	}
}

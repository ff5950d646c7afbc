package rootport

import (
	"sync/atomic"
	"time"
)

const (
	lookEvery  = time.Millisecond // how often the background looks for a port that no call receives from
	lastBursts = 4                // how often it takes packets at most after a call has begun
)

// background is the state of the goroutine that serves the device between calls.
//
// It looks at the port in intervals, so that a run of calls costs neither a timer
// nor a hand-over between goroutines. It takes over if no call has received since
// the last look. While it or a Wait waits for packets, a call interrupts it. Either the call
// sees that it waits, or it sees the call: each first announces itself and then
// looks for the other. If a call is in progress at each look, as in a run of writes
// without pauses, that call takes the waiting packets at its end.
type background struct {
	callers atomic.Int32 // calls in progress, or waiting for mu
	waiters atomic.Int32 // those of them that are calls of Wait
	waits   atomic.Bool  // the goroutine or a Wait receives, or is about to
	due     atomic.Bool  // the end of a call takes the waiting packets

	again chan struct{} // a session has begun
	stop  chan struct{} // closed by Close
	ended chan struct{} // closed at the end of the goroutine
}

// startBackground starts the goroutine if the options ask for it.
func (r *RootPort) startBackground() {
	if !r.opt.ServeAlways {
		return
	}
	r.back.again, r.back.stop, r.back.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go r.runBackground()
}

// stopBackground ends the goroutine and waits for its end. The port is closed.
func (r *RootPort) stopBackground(first bool) {
	if !r.opt.ServeAlways {
		return
	}
	if first {
		close(r.back.stop)
	}
	<-r.back.ended
}

// enter begins a call: it locks mu.
func (r *RootPort) enter() {
	if r.opt.ServeAlways {
		r.back.callers.Add(1)
		if r.back.waits.Load() {
			r.portMu.Lock()
			port := r.port
			r.portMu.Unlock()
			port.Interrupt()
		}
	}
	r.mu.Lock()
}

// leave ends a call.
func (r *RootPort) leave() {
	if r.back.due.Load() {
		r.back.due.Store(false)
		for left := lastBursts; left > 0 && r.down == nil && r.pump(0); left-- {
		}
	}
	r.port.Flush()
	r.mu.Unlock()
	if r.opt.ServeAlways {
		r.back.callers.Add(-1)
	}
}

func (r *RootPort) runBackground() {
	defer close(r.back.ended)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for received := uint64(0); ; {
		select {
		case <-look.C:
		case <-r.back.stop:
			return
		}
		if r.back.callers.Load() != 0 || !r.mu.TryLock() {
			r.back.due.Store(true)
			continue
		}
		if r.received == received {
			r.serve()
		}
		received = r.received
		down := r.down != nil
		r.mu.Unlock()
		if !down {
			continue
		}
		select {
		case <-r.back.again:
		case <-r.back.stop:
			return
		}
	}
}

// serve serves the device until a call begins or the port is down.
func (r *RootPort) serve() {
	r.back.waits.Store(true)
	defer r.back.waits.Store(false)
	for left := lastBursts; left > 0 && r.down == nil; {
		until := r.now() + maxWait
		called := r.back.callers.Load() != 0
		if called {
			until, left = 0, left-1
		}
		if !r.pump(until) && called {
			return
		}
	}
}

// resumeBackground makes the goroutine continue after a session has begun.
func (r *RootPort) resumeBackground() {
	if r.opt.ServeAlways {
		select {
		case r.back.again <- struct{}{}:
		default:
		}
	}
}

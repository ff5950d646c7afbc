package verifier

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A sighting is an outermost call that has not returned.
type sighting struct {
	call  uint64    // its number in the last calls
	since time.Time // of the wall clock, when it was first seen
}

// Watch finds calls that do not return: while it runs, a call of a driver that
// takes longer than limit, of the wall clock, breaks the rule call-hang and stops
// the system. The violation has the DDI functions on the thread, and the stacks
// of all goroutines as its cause. The call itself cannot be unwound, unless it
// makes a callback. The caller must call stop.
func (m *Monitor) Watch(limit time.Duration) (stop func()) {
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		seen := map[*ddi.Thread]sighting{}
		ticker := time.NewTicker(max(limit/8, time.Millisecond))
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				if m.look(seen, now, limit) {
					return
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		ended.Wait()
	})
}

// Hung returns a channel that is closed when a call of a driver does not return:
// it hangs, or has ended its goroutine. Locks that were held around the call are
// still held.
func (m *Monitor) Hung() <-chan struct{} { return m.hung }

// look updates what Watch has seen and reports whether a call hangs.
func (m *Monitor) look(seen map[*ddi.Thread]sighting, now time.Time, limit time.Duration) bool {
	m.mu.Lock()
	for t := range seen {
		if m.running[t] == nil {
			delete(seen, t)
		}
	}
	var hangs *ddi.Thread
	for t, calls := range m.running {
		if s, ok := seen[t]; !ok || s.call != calls[0].number {
			seen[t] = sighting{calls[0].number, now}
		} else if now.Sub(s.since) >= limit && (hangs == nil || s.call < m.running[hangs][0].number) {
			hangs = t
		}
	}
	if hangs == nil {
		m.mu.Unlock()
		return false
	}
	stack := m.running[hangs]
	inner := stack[len(stack)-1]
	// The thread is in use, so its level is that of the entry.
	r := Report{Rule: "call-hang", Func: inner.f, Place: &Place{Process: hangs.Process, Thread: hangs.ID, IRQL: inner.level}}
	r.Text = fmt.Sprintf("no return for %v; the outermost call on thread %d:%d is %s", limit, hangs.Process, hangs.ID, stack[0].f.Name)
	for _, c := range stack {
		r.Place.Stack = append(r.Place.Stack, c.f.Name)
	}
	m.mu.Unlock()
	m.record(r, &panicError{fmt.Errorf("%s hangs", stack[0].f.Name), goroutines()}, false)
	m.lost()
	return true
}

// goroutines returns the stacks of all goroutines.
func goroutines() []byte {
	p := make([]byte, 1<<20)
	return p[:runtime.Stack(p, true)]
}

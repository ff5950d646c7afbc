package verifier

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A goroutine is the number of a goroutine; 0: not known. Design note: Go gives a
// number of a goroutine only as text, which takes microseconds for a deep stack. So
// the number is read only while calls run on several threads. A call that begins while
// another runs has one. At any time at most one thread has none, and a callback with
// that thread is made by another call if its goroutine is that of another thread.
type goroutine uint64

// thisGoroutine returns the number of the goroutine.
func thisGoroutine() goroutine {
	var text [40]byte
	fields := bytes.Fields(text[:runtime.Stack(text[:], false)])
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return goroutine(n)
}

// runsDriver reports whether code of a driver runs in the innermost of calls.
func runsDriver(calls []runningCall) bool {
	f := calls[len(calls)-1].f
	return !f.Callback || f.Name == synchronizeName
}

// foreign reports whether t, with which a driver makes a callback on this goroutine, is
// the thread of another running call.
func (m *Monitor) foreign(t *ddi.Thread) bool {
	m.mu.Lock()
	calls := m.running[t]
	if len(calls) == 0 {
		m.mu.Unlock()
		return false // another rule
	}
	busy, mine := !runsDriver(calls), calls[0].by
	var others []goroutine // that run code of a driver
	for u, c := range m.running {
		if u != t && runsDriver(c) {
			others = append(others, c[0].by)
		}
	}
	m.mu.Unlock()
	switch {
	case busy || len(others) == 0:
		return busy
	case mine != 0:
		return thisGoroutine() != mine
	}
	return slices.Contains(others, thisGoroutine())
}

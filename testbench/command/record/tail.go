package record

import (
	"bytes"
	"sync"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// maxTail is the number of events that a Tail keeps.
const maxTail = 1000

// A Tail keeps the last events of a log in memory. The zero value is ready. Its methods are safe
// for concurrent use.
type Tail struct {
	mu   sync.Mutex // guards the fields below
	last [maxTail]eventlog.Event
	n    uint64 // events so far
}

// add keeps an event.
func (t *Tail) add(e eventlog.Event) {
	e.Data = bytes.Clone(e.Data)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%maxTail] = e
	t.n++
}

// Tail returns at most the last n events as lines, the oldest first.
func (t *Tail) Tail(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := []string{}
	for i := t.n - min(uint64(max(n, 0)), t.n, maxTail); i < t.n; i++ {
		lines = append(lines, t.last[i%maxTail].String())
	}
	return lines
}

// tailed is a sink whose last events are kept.
type tailed struct {
	events.Sink
	tail *Tail
}

// Add implements events.Sink.
func (s tailed) Add(e eventlog.Event) uint64 {
	e.ID = s.Sink.Add(e)
	s.tail.add(e)
	return e.ID
}

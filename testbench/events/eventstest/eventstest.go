// Package eventstest makes failing tests show the last events of their system.
package eventstest

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

const (
	// ringBytes is the approximate size of the events that are kept, in bytes.
	ringBytes = 256 << 10

	// lines is the number of events that are printed.
	lines = 40

	// variable of the environment turns Record off if it is "off".
	variable = "HILGPU_RECORD"
)

// TB is the part of testing.TB that Record needs. It must be comparable.
type TB interface {
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
}

// Record returns testbench.Options.Record for the systems of a test. If the test fails, the last events up to the
// failure are printed, of the system that was the last one then. Those that are kept are also written to run.log in the
// artifact directory of the test, which go test -artifacts keeps, for hilgpu why. A test may call Record many times.
// If the environment has HILGPU_RECORD=off, Record returns nil: the systems have no log, as those of a user without --record.
func Record(t TB) func(h eventlog.Header) (events.Sink, error) {
	if os.Getenv(variable) == "off" {
		return nil
	}
	of, known := tests.LoadOrStore(t, &test{TB: t})
	r := of.(*test)
	if !known {
		t.Cleanup(r.end)
	}
	return r.begin
}

// tests has a *test for each TB that has not ended.
var tests sync.Map

// A test keeps the last events of the systems of a test.
type test struct {
	TB
	mu   sync.Mutex
	last *eventlog.Ring // of the last system that was opened before the test failed; nil: none
}

// begin begins the events of a system.
func (r *test) begin(h eventlog.Header) (events.Sink, error) {
	h.Program = "test"
	ring := eventlog.NewRing(ringBytes, h)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || !r.Failed() {
		r.last = ring
	}
	return &sink{Ring: ring, test: r}, nil
}

// end shows the events of a test that has failed.
func (r *test) end() {
	tests.Delete(r.TB)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || !r.Failed() {
		return
	}
	r.Logf("%s", r.last.Last(lines))
	if a, ok := r.TB.(interface{ ArtifactDir() string }); ok {
		if err := r.last.WriteFile(filepath.Join(a.ArtifactDir(), "run.log")); err != nil {
			r.Logf("no log: %v", err)
		}
	}
}

// A sink takes the events of a system. The newest event before the test fails is the failure, unless a stop or a
// broken rule was before it.
type sink struct {
	*eventlog.Ring
	test   *test
	failed sync.Once
}

// Add implements events.Sink.
func (s *sink) Add(e eventlog.Event) uint64 {
	if s.test.Failed() {
		s.failed.Do(func() { s.Ring.Failed("") })
	}
	return s.Ring.Add(e)
}

// Package eventstest makes failing tests show the last events of their system.
package eventstest

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

const (
	// ringBytes is the approximate size of the events that are kept, in bytes.
	ringBytes = 256 << 10

	// lines is the number of events that are printed.
	lines = 40
)

// TB is the part of testing.TB that Record needs.
type TB interface {
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
}

// Record returns testbench.Options.Record for the systems of a test. If the test fails, the last events of the last
// system are printed. Those that are kept are also written to run.log in the artifact directory of the
// test, which go test -artifacts keeps, for hilgpu why. A test that opens many systems calls Record once.
func Record(t TB) func(h eventlog.Header) (events.Sink, error) {
	var last atomic.Pointer[eventlog.Ring]
	t.Cleanup(func() {
		ring := last.Load()
		if ring == nil || !t.Failed() {
			return
		}
		t.Logf("%s", ring.Last(lines))
		if a, ok := t.(interface{ ArtifactDir() string }); ok {
			if err := write(ring, filepath.Join(a.ArtifactDir(), "run.log")); err != nil {
				t.Logf("no log: %v", err)
			}
		}
	})
	return func(h eventlog.Header) (events.Sink, error) {
		h.Program = "test"
		ring := eventlog.NewRing(ringBytes, h)
		last.Store(ring)
		return ring, nil
	}
}

// write writes a ring to a file.
func write(ring *eventlog.Ring, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = ring.WriteTo(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

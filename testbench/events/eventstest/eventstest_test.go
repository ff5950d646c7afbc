package eventstest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// recorded is a test.
type recorded struct {
	failed   bool
	dir      string
	cleanups []func()
	logs     []string
}

func (r *recorded) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }
func (r *recorded) Failed() bool        { return r.failed }
func (r *recorded) ArtifactDir() string { return r.dir }
func (r *recorded) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// end ends the test: the last cleanup runs first.
func (r *recorded) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// add adds events to a system.
func add(sink events.Sink, n int) {
	for i := uint64(1); i <= uint64(n); i++ {
		e := eventlog.New(eventlog.Message, i)
		e.Time = 10 * i
		sink.Add(e)
	}
}

// Without recorders a system has no log, and a test that fails shows no events.
func TestRecordOff(t *testing.T) {
	for value, off := range map[string]bool{"": false, "on": false, "off": true} {
		t.Setenv("HILGPU_RECORD", value)
		r := &recorded{failed: true}
		record := eventstest.Record(r)
		assert.Equal(t, off, record == nil, value)
		r.end()
		assert.Empty(t, r.logs)
	}
}

// A test that fails shows the last events of its last system, and says where its ring begins. Others show nothing.
func TestRecord(t *testing.T) {
	for _, tt := range []struct {
		failed, opens bool
		events        int
		first, last   string
	}{
		{failed: true, opens: true, events: 3, first: "the last 3 of 3 events:", last: "3 30 message vector=3"},
		{failed: true, opens: true, events: 200_000, first: "the last 40 of 200000 events; the log begins at event ", last: "200000 2000000 message vector=200000"},
		{opens: true, events: 3},
		{failed: true},
	} {
		r := &recorded{dir: t.TempDir()}
		record := eventstest.Record(r)
		for system := 0; tt.opens && system < 2; system++ {
			sink, err := record(eventlog.Header{Hz: 1})
			require.NoError(t, err)
			add(sink, tt.events*system)
		}
		r.failed = tt.failed
		r.end()
		path := filepath.Join(r.dir, "run.log")
		if !tt.failed || !tt.opens {
			assert.Empty(t, r.logs)
			assert.NoFileExists(t, path)
			continue
		}
		require.Len(t, r.logs, 1)
		lines := strings.Split(strings.TrimSpace(r.logs[0]), "\n")
		assert.Len(t, lines, 1+min(40, tt.events))
		assert.Contains(t, lines[0], tt.first)
		assert.Equal(t, tt.last, lines[len(lines)-1])
		begins := readLog(t, path)
		assert.Equal(t, tt.events > 3, begins != "")
		assert.Contains(t, lines[0], begins)
	}
}

// A test that calls Record for each of its systems shows once the one that was the last when it failed, up to the failure.
func TestRecordAgain(t *testing.T) {
	r := &recorded{dir: t.TempDir()}
	var sinks []events.Sink
	for system := range 4 {
		sink, err := eventstest.Record(r)(eventlog.Header{Hz: 1})
		require.NoError(t, err)
		sinks = append(sinks, sink)
		add(sink, 100*(system+1))
		r.failed = system >= 2
		add(sink, 10) // the end of the system
	}
	require.Len(t, r.cleanups, 1)
	r.end()
	require.Len(t, r.logs, 1)
	lines := strings.Split(strings.TrimSpace(r.logs[0]), "\n")
	require.Len(t, lines, 41)
	assert.Equal(t, "the last 40 events up to the first failure, of 310 events:", lines[0])
	assert.Equal(t, "300 3000 message vector=300", lines[40])
	assert.EqualValues(t, 411, sinks[3].Add(eventlog.New(eventlog.Message)), "the others take events too")
	other := &recorded{dir: t.TempDir()}
	eventstest.Record(other)
	r.cleanups = nil
	eventstest.Record(r)
	assert.Len(t, other.cleanups, 1)
	assert.Len(t, r.cleanups, 1, "after its end a test is another one")
	r.end()
	other.end()
}

// readLog reads a log to its end and returns where it begins.
func readLog(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	l, err := eventlog.NewReader(f)
	require.NoError(t, err)
	var e eventlog.Event
	for l.Next(&e) == nil {
	}
	if begins := l.Begins(); begins != "" {
		assert.Regexp(t, `^the log begins at event \d+, clock \d+0$`, begins)
		return begins
	}
	return ""
}

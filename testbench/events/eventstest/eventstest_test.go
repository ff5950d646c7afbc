package eventstest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// recorded is a test that has ended.
type recorded struct {
	failed  bool
	dir     string
	cleanup func()
	logs    []string
}

func (r *recorded) Cleanup(f func())    { r.cleanup = f }
func (r *recorded) Failed() bool        { return r.failed }
func (r *recorded) ArtifactDir() string { return r.dir }
func (r *recorded) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
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
		r := &recorded{failed: tt.failed, dir: t.TempDir()}
		record := eventstest.Record(r)
		for system := 0; tt.opens && system < 2; system++ {
			sink, err := record(eventlog.Header{Hz: 1})
			require.NoError(t, err)
			for n := uint64(1); n <= uint64(tt.events*system); n++ {
				e := eventlog.New(eventlog.Message, n)
				e.Time = 10 * n
				sink.Add(e)
			}
		}
		r.cleanup()
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
		assert.Regexp(t, `^the log begins at event \d+, time \d+0$`, begins)
		return begins
	}
	return ""
}

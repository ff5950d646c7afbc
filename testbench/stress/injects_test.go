package stress

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// The log of a run that passed has no fault but those that the bench injected, and the bench notes each of them.
func TestInjectedFaultsAreInTheLog(t *testing.T) {
	for _, tt := range []struct {
		name, board string
		change      func(o *Options)
	}{
		{"hang", "emu?vram=64KiB", func(o *Options) { o.Hang, o.Rounds = 0.1, 1 }},
		{"bad packet", "emu?vram=64KiB", fault(BadPacket, 0.02)},
		{"host read on a line", "line?vram=64KiB", fault(HostRead, 0.02)},
		{"reset ignored", "emu?vram=64KiB", fault(IgnoreReset, 0.02)},
		{"PREEMPT ignored", "emu?vram=64KiB", fault(IgnorePreempt, 0.05)},
		{"unplug", "emu?vram=64KiB", fault(Unplug, 0.01)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			var w *eventlog.Writer
			o := small(t, tt.board)
			tt.change(&o)
			o.System.Record = func(h eventlog.Header) (events.Sink, error) {
				var err error
				w, err = eventlog.NewWriter(&log, h)
				return w, err
			}
			last, err := Run(o)
			require.NoError(t, err)
			require.NoError(t, w.Flush())
			noted, r := readLog(t, log.Bytes())
			injected := last.Hangs
			for _, n := range last.Injected {
				injected += n
			}
			assert.Positive(t, injected)
			assert.GreaterOrEqual(t, noted, injected, "a fault is noted before it hits, and may hit nothing")
			a := r.Fault()
			assert.Contains(t, a.Verdict, "no fault but those injected by the bench is in the log", a.Text())
			assert.Empty(t, a.Missing)
		})
	}
}

// readLog returns the number of injected faults in a log, and what it says.
func readLog(t *testing.T, log []byte) (injected uint64, run *why.Run) {
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	for e := (eventlog.Event{}); l.Next(&e) == nil; {
		if e.Kind == eventlog.Inject {
			injected++
		}
	}
	l, err = eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	run, err = why.Read(l)
	require.NoError(t, err)
	return injected, run
}

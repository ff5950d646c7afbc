package stress

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// The log of a run that passed has no fault but those that the bench injected, and the bench notes each of them.
func TestInjectedFaultsAreInTheLog(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		change      func(o *Options)
	}{
		{"hang", "emu?vram=64KiB", func(o *Options) { o.Hang, o.Rounds = 0.05, 1 }},
		{"bad packet", "emu?vram=64KiB", fault(BadPacket, 0.02)},
		{"host read on a line", "line?vram=64KiB", fault(HostRead, 0.02)},
		{"reset ignored", "emu?vram=64KiB", fault(IgnoreReset, 0.02)},
		{"PREEMPT ignored", "emu?vram=64KiB", fault(IgnorePreempt, 0.05)},
		{"unplug", "emu?vram=64KiB", fault(Unplug, 0.01)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t, tt.board)
			tt.change(&o)
			last, log := logged(t, o)
			noted := uint64(0)
			r := readLog(t, log, func(e *eventlog.Event) {
				if e.Kind == eventlog.Inject {
					noted++
				}
			})
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

// logged runs the bench and returns its last round and its log.
func logged(t *testing.T, o Options) (last Round, log []byte) {
	t.Helper()
	var text bytes.Buffer
	var w *eventlog.Writer
	o.System.Record = func(h eventlog.Header) (events.Sink, error) {
		var err error
		w, err = eventlog.NewWriter(&text, h)
		return w, err
	}
	last, err := Run(o)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	return last, text.Bytes()
}

// readLog calls see with each event of a log, and returns what package why makes of it.
func readLog(t *testing.T, log []byte, see func(e *eventlog.Event)) *why.Run {
	t.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	var e eventlog.Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		see(&e)
	}
	require.ErrorIs(t, err, io.EOF)
	l, err = eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	run, err := why.Read(l)
	require.NoError(t, err)
	return run
}

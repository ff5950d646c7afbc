package testbench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// usualLog composes with the drivers and the checks that a user has, and returns the log and the error.
func usualLog(t *testing.T, board string) ([]byte, error) {
	t.Helper()
	var ring *eventlog.Ring
	s, err := Open(board, HostDrivers(), Options{CallLimit: time.Minute, Record: func(h eventlog.Header) (events.Sink, error) {
		ring = eventlog.NewRing(64<<20, h)
		return ring, nil
	}})
	require.NoError(t, err)
	_, err = compose.Run(s, smallPlan(t, 1))
	s.Close()
	return ringReader(t, ring).Bytes(), err
}

// eventsOf returns the events of a log.
func eventsOf(t *testing.T, log []byte) (all []eventlog.Event) {
	t.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	var e eventlog.Event
	for l.Next(&e) == nil {
		all = append(all, e.Clone())
	}
	return all
}

// The answer about work that went on after a lost doorbell has the doorbell, how long its node did not begin it, and the preemption. If all
// doorbells are lost, it names the first.
func TestLateDoorbell(t *testing.T) {
	for _, tt := range []struct {
		board string
		ends  bool
	}{{"emu?fault=lost-doorbell&count=1", true}, {"line?fault=lost-doorbell&count=1", true}, {"emu?fault=lost-doorbell", false}} {
		log, err := usualLog(t, tt.board)
		require.Equal(t, tt.ends, err == nil, "%v", err)
		all := eventsOf(t, log)
		var rung, taken eventlog.Event // the first doorbell, and the first preempted submission
		for _, e := range all {
			switch wptr := e.Fields[1] - cpreg.Base; {
			case e.Kind == eventlog.Write && e.Fields[0] == 0 && wptr < cpreg.Nodes*cpreg.Stride && wptr%cpreg.Stride == cpreg.Wptr && rung.ID == 0:
				rung = e
			case e.Kind == eventlog.Preempted && taken.ID == 0:
				taken = e
			case e.Kind == eventlog.Broken && tt.ends:
				assert.Contains(t, e.Text(), "node 1: fence 1 ended after a time of ")
			}
		}
		require.NotZero(t, taken.ID)
		r := runIn(t, bytes.NewReader(log))
		a, err := r.Fence(1, 1)
		require.NoError(t, err)
		assert.Regexp(t, fmt.Sprintf(`^the doorbell CP1.WPTR = %#x of submission 1 at clock %d was lost: node 1 had nothing else to do for %d clocks, and stopped without having begun it, with RPTR 0x0`,
			rung.Fields[3], rung.Time, taken.Time-rung.Time), a.Cause, "%s", tt.board)
		steps := map[uint64]bool{}
		for _, s := range a.Chain {
			steps[s.Event] = true
		}
		assert.True(t, steps[rung.ID] && steps[taken.ID], "%s", a.Text())
		if tt.ends {
			assert.Empty(t, a.Missing, "%s", a.Text())
			assert.Contains(t, a.Verdict, "it was written, reported and retired, ")
		} else {
			assert.Equal(t, why.MissingDoorbell, r.Fault().Missing)
			assert.Equal(t, a.Cause, r.Fault().Cause, "%s", a.Text())
		}
	}
}

package why_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// runOf reads a log of events.
func runOf(t *testing.T, all ...eventlog.Event) *why.Run {
	t.Helper()
	ring := eventlog.NewRing(1<<20, eventlog.Header{Observed: true})
	for _, e := range all {
		ring.Add(e)
	}
	return runOfRing(t, ring)
}

// runOfRing returns what the log of a ring says.
func runOfRing(t *testing.T, ring *eventlog.Ring) *why.Run {
	t.Helper()
	var log bytes.Buffer
	_, err := ring.WriteTo(&log)
	require.NoError(t, err)
	l, err := eventlog.NewReader(&log)
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	return r
}

// A fault is on purpose only if the command expected it: of that node, with that cause, at that packet, and once.
func TestExpectedFaults(t *testing.T) {
	open := eventlog.New(eventlog.Open, 1e9, 1).WithText("emu")
	expect := eventlog.New(eventlog.Expect, 1, uint64(cpreg.CauseLength), 0x2400)
	fault := func(node, cause, addr uint64) eventlog.Event {
		return eventlog.New(eventlog.Fault, node, 0, cause, addr)
	}
	end := eventlog.New(eventlog.End).WithText("check failed")
	asked := fault(1, uint64(cpreg.CauseLength), 0x2400)

	a := runOf(t, open, expect, asked, eventlog.New(eventlog.End)).Fault()
	assert.Equal(t, "nothing stopped the run", a.Verdict)
	assert.Equal(t, []string{"faults that the command made on purpose, and that are left out: 1"}, a.Notes)

	for name, other := range map[string]eventlog.Event{
		"node": fault(0, uint64(cpreg.CauseLength), 0x2400), "cause": fault(1, uint64(cpreg.CauseOpcode), 0x2400), "address": fault(1, uint64(cpreg.CauseLength), 0x2404),
	} {
		a := runOf(t, open, expect, other, end).Fault()
		assert.Contains(t, a.Verdict, "stopped on a fault", name)
		assert.Equal(t, []string{"the command expected the fault LENGTH of node 1 at VRAM+0x2400, at clock 0, and it did not happen"}, a.Notes)
	}
	a = runOf(t, open, expect, asked, asked, end).Fault()
	assert.Equal(t, why.MissingPacket, a.Missing, "again")
	assert.EqualValues(t, 4, a.Chain[0].Event)
}

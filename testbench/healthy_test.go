package testbench

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// composeLog returns the log of a small frame.
func composeLog(t *testing.T, board string) *eventlog.Ring {
	t.Helper()
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := Open(board, HostDrivers(), Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 1))
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())
	return ring
}

// In a run without a mistake nothing is missing, also where an access takes a large part of a second.
func TestNothingIsMissing(t *testing.T) {
	for _, board := range []string{"emu", "emu?nodes=1", "line?baud=38400", "line?baud=9600", "line?baud=3000000&delay=60000"} {
		r := runOf(t, composeLog(t, board))
		fences := 0
		for node := range 2 {
			for id := uint32(1); ; id++ {
				a, err := r.Fence(node, id)
				if err != nil {
					break
				}
				fences++
				assert.Empty(t, a.Missing, "%s: %v", board, a)
			}
		}
		assert.Greater(t, fences, 2, board)
	}
}

// A log whose fields are wrong gets wrong answers. Nothing panics, and each answer ends.
func TestWrongLogs(t *testing.T) {
	good := ringReader(t, composeLog(t, "emu")).Bytes()
	r, refused := rand.New(rand.NewPCG(1, 0)), 0
	for range 100 {
		ring := eventlog.NewRing(64<<20, eventlog.Header{Hz: 100_000_000, Observed: true})
		l, err := eventlog.NewReader(bytes.NewReader(good))
		require.NoError(t, err)
		var e eventlog.Event
		for l.Next(&e) == nil {
			c := e.Clone()
			c = c.WithText(c.Text())
			for i := range c.Fields {
				if r.IntN(200) == 0 {
					c.Fields[i] = r.Uint64() >> r.IntN(64)
				}
			}
			if r.IntN(100) == 0 {
				c.Cause = uint64(r.IntN(int(c.ID)))
			}
			switch r.IntN(200) {
			case 0:
				continue
			case 1:
				ring.Add(eventlog.New(eventlog.Stop))
			case 2:
				ring.Add(c)
			}
			ring.Add(c)
		}
		log, err := eventlog.NewReader(ringReader(t, ring))
		require.NoError(t, err)
		run, err := why.Read(log)
		if err != nil { // a field is out of its range
			refused++
			continue
		}
		run.Annotate(run.Fault(), run)
		for i := range 12 {
			_, _ = run.Fence(i%3-1, uint32(i))
			_, _ = run.Pixel(uint16(i), uint16(i))
			_, _ = run.Cycle(uint64(i) * 1000)
			_, _ = run.Address(r.Uint64() >> r.IntN(64))
		}
		for i := range uint64(120) {
			_, _ = run.Call(i)
		}
	}
	assert.Less(t, refused, 50)
}

// ringReader returns a reader of the log in a ring.
func ringReader(t *testing.T, ring *eventlog.Ring) *bytes.Buffer {
	var log bytes.Buffer
	_, err := ring.WriteTo(&log)
	require.NoError(t, err)
	return &log
}

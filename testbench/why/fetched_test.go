package why_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// silentLog composes a frame on a board and returns the events.
func silentLog(t *testing.T, board string, o testbench.Options) []eventlog.Event {
	t.Helper()
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: 16, Height: 16, Contexts: 1, Seed: 1, Sources: sources})
	require.NoError(t, err)
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	o.Record = func(eventlog.Header) (events.Sink, error) { return ring, nil }
	s, err := testbench.Open(board, testbench.HostDrivers(), o)
	require.NoError(t, err)
	_, err = compose.Run(s, plan)
	if err != nil {
		t.Log(err)
	}
	_ = s.Close() // the error is that of the run
	return eventsOf(t, ring)
}

// unwatched returns the run of a log as one without the reads of the GPU.
func unwatched(t *testing.T, all []eventlog.Event) *why.Run {
	t.Helper()
	older := make([]eventlog.Event, len(all))
	for i, e := range all {
		older[i] = e.WithText(e.Text())
		switch e.Kind {
		case eventlog.Submit:
			older[i].Fields[1] = 0
		case eventlog.Fetched:
			older[i] = eventlog.New(eventlog.Text).WithText("a line")
			older[i].Time = e.Time
		}
	}
	return runOf(t, older...)
}

// runOfEvents returns the run of the events of a log.
func runOfEvents(t *testing.T, all []eventlog.Event) *why.Run {
	t.Helper()
	again := make([]eventlog.Event, len(all))
	for i, e := range all {
		again[i] = e.WithText(e.Text())
	}
	return runOf(t, again...)
}

// The host of a board that does not tell its packets sees whether the GPU has fetched a buffer: one that is dead since its doorbell has not, and one
// that is at work has. In a log without these reads it is not known.
func TestFetchesOfSilentBoards(t *testing.T) {
	for _, board := range []string{"emu?trace=0&fault=dead", "line?baud=3000000&trace=0&fault=dead"} {
		all := silentLog(t, board, testbench.Options{})
		r := runOfEvents(t, all)
		require.False(t, r.Header.Observed, board)
		a := r.Fault()
		assert.Equal(t, why.MissingFetch, a.Missing, "%s\n%s", board, a.Text())
		assert.Contains(t, a.Cause, "the device does not answer", board)
		assert.NotContains(t, a.Text(), "unknown", board)
		buffer := bufferOf(t, all)
		a, err := r.Address(buffer)
		require.NoError(t, err)
		assert.NotContains(t, a.Verdict, "read", board)
		assert.NotContains(t, a.Verdict, "known", board)

		older := unwatched(t, all)
		a = older.Fault()
		assert.Equal(t, why.MissingUnknown, a.Missing, "%s\n%s", board, a.Text())
		assert.Contains(t, a.Cause, "the log does not say whether node 1 has fetched it before", board)
		a, err = older.Address(buffer)
		require.NoError(t, err)
		assert.Contains(t, a.Verdict, "it is not known whether 1 other packet read it", board)
	}
	all := silentLog(t, "emu?trace=0", testbench.Options{TdrDelay: 500})
	a := runOfEvents(t, all).Fault()
	assert.NotEqual(t, why.MissingFetch, a.Missing, a.Text())
	assert.Regexp(t, `node 1 begins to fetch it: the host serves its read of \d+ bytes at HOST\+0x1420`, a.Text())
}

// served serves an emulated GPU on loopback until the test ends, and returns its selector.
func served(t *testing.T) string {
	t.Helper()
	dev, err := boards.Device("emu")
	require.NoError(t, err)
	b, err := serve.New(dev, serve.Options{MapHash: regmap.Hash()})
	require.NoError(t, err)
	l, err := serve.Listen("tcp:127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, b) // ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return l.Selector()
}

// bufferOf returns the address of the first buffer of a log that goes to the hardware.
func bufferOf(t *testing.T, all []eventlog.Event) uint64 {
	t.Helper()
	for _, e := range all {
		if e.Kind == eventlog.Queue {
			return pkt.Host | e.Fields[4] + e.Fields[5]
		}
	}
	require.Fail(t, "no submission")
	return 0
}

// On a board that does not tell its packets each submission of a good run that is not empty is fetched once, before it is reported.
func TestEachSubmissionIsFetched(t *testing.T) {
	for _, board := range []string{"emu?trace=0", "emu?trace=0&nodes=1&vram=16KiB", "line?baud=3000000&trace=0", served(t)} {
		submitted, empty, read := map[uint64]bool{}, map[uint64]bool{}, map[uint64]int{}
		for _, e := range silentLog(t, board, testbench.Options{}) {
			switch e.Kind {
			case eventlog.Queue:
				empty[e.Fields[0]] = e.Fields[5] == e.Fields[6]
			case eventlog.Submit:
				if e.Fields[1] != 0 {
					submitted[e.Fields[0]] = true
				}
				assert.Equal(t, !empty[e.Fields[0]], e.Fields[1] != 0, board)
			case eventlog.Fetched:
				assert.True(t, submitted[e.Fields[0]], board)
				read[e.Fields[0]]++
			case eventlog.Report:
				if submitted[e.Fields[0]] {
					assert.Equal(t, 1, read[e.Fields[0]], "%s: submission %d", board, e.Fields[0])
				}
			}
		}
		assert.NotEmpty(t, submitted)
		assert.Len(t, read, len(submitted), board)
	}
	for _, e := range silentLog(t, "emu", testbench.Options{}) {
		assert.NotEqual(t, eventlog.Fetched, e.Kind, "the packets tell more")
	}
}

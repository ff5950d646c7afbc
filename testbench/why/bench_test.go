package why_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/lists"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// frameLog returns the log of a frame that is composed on a board, which may stop.
func frameLog(b testing.TB, board string, stops bool) []byte {
	b.Helper()
	sources, err := compose.Samples()
	require.NoError(b, err)
	plan, err := compose.NewPlan(compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(b, err)
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := testbench.Open(board, testbench.HostDrivers(), testbench.Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(b, err)
	_, err = compose.Run(s, plan)
	require.Equal(b, stops, err != nil, "%v", err)
	require.NoError(b, s.Close())
	var log bytes.Buffer
	_, err = ring.WriteTo(&log)
	require.NoError(b, err)
	return log.Bytes()
}

// frame returns the events of a frame that is composed.
func frame(b testing.TB) (all []eventlog.Event) {
	b.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(frameLog(b, "emu", false)))
	require.NoError(b, err)
	var e eventlog.Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		c := e.Clone()
		all = append(all, c.WithText(c.Text()))
	}
	require.Equal(b, io.EOF, err)
	return all
}

// submissionField is the field of a submission's number, from 1, of kinds that have one.
var submissionField = map[eventlog.Kind]int{
	eventlog.Queue: 1, eventlog.Paging: 1, eventlog.Use: 1, eventlog.Depend: 1, eventlog.Packet: 1, eventlog.Submit: 1, eventlog.Report: 1, eventlog.Retire: 1,
}

// long writes a log of n events: frames one after the other.
func long(b *testing.B, path string, n int) {
	b.Helper()
	all := frame(b)
	f, err := os.Create(path)
	require.NoError(b, err)
	out := bufio.NewWriterSize(f, 1<<20)
	w, err := eventlog.NewWriter(out, eventlog.Header{Observed: true})
	require.NoError(b, err)
	calls, subs, last := uint64(0), uint64(0), all[len(all)-1].Time
	for round := 0; round*len(all) < n; round++ {
		base := uint64(round * len(all))
		for _, e := range all {
			if e.Kind == eventlog.Open && round > 0 {
				e = eventlog.New(eventlog.Text).WithText("the next frame") // of the same board
			}
			e.Time += uint64(round) * last
			if e.Cause != 0 {
				e.Cause += base
			}
			switch {
			case e.Kind == eventlog.Call:
				e.Fields[0] += calls * uint64(round)
			case submissionField[e.Kind] != 0:
				e.Fields[0] += subs * uint64(round)
				if e.Kind == eventlog.Depend {
					e.Fields[1] += subs * uint64(round)
				}
			}
			if round == 0 {
				calls, subs = max(calls, map[bool]uint64{true: e.Fields[0]}[e.Kind == eventlog.Call]), max(subs, map[bool]uint64{true: e.Fields[0]}[e.Kind == eventlog.Queue])
			}
			w.Add(e)
		}
	}
	require.NoError(b, w.Flush())
	require.NoError(b, out.Flush())
	require.NoError(b, f.Close())
}

// manyCalls writes the log of a program that records and executes command lists, and returns the number of its events: it has many calls, and
// little work of the GPU.
func manyCalls(b *testing.B, path string) (n int) {
	b.Helper()
	f, err := os.Create(path)
	require.NoError(b, err)
	out := bufio.NewWriterSize(f, 1<<20)
	var w *eventlog.Writer
	o := testbench.Options{Record: func(h eventlog.Header) (events.Sink, error) {
		if w == nil {
			w, err = eventlog.NewWriter(out, h)
		}
		return w, err
	}}
	_, err = lists.Run(lists.Options{Board: "emu", System: o, Lists: 20_000, Ops: 1, Contexts: 1, Alive: 1000})
	require.NoError(b, err)
	require.NoError(b, w.Flush())
	require.NoError(b, out.Flush())
	require.NoError(b, f.Close())
	f, err = os.Open(path)
	require.NoError(b, err)
	defer f.Close()
	l, err := eventlog.NewReader(f)
	require.NoError(b, err)
	var e eventlog.Event
	for l.Next(&e) == nil {
		n++
	}
	return n
}

// BenchmarkWhyCalls asks a log of many calls and few frames. The target is that of BenchmarkWhy, for as many events.
func BenchmarkWhyCalls(b *testing.B) {
	path := filepath.Join(b.TempDir(), "calls.log")
	n := manyCalls(b, path)
	for b.Loop() {
		var times []float64
		for range 3 {
			start := time.Now()
			f, err := os.Open(path)
			require.NoError(b, err)
			l, err := eventlog.NewReader(f)
			require.NoError(b, err)
			r, err := why.Read(l)
			require.NoError(b, err)
			require.Empty(b, r.Fault().Missing)
			require.NoError(b, f.Close())
			times = append(times, time.Since(start).Seconds()*1e7/float64(n))
		}
		slices.Sort(times)
		bustest.Figure(b, "why fault, many calls, 10,000,000 events", times[1], "s", times[1] <= 2, "at most 2")
	}
}

// BenchmarkWhy asks a log of ten million events. The target is 2 s.
func BenchmarkWhy(b *testing.B) {
	const n = 10_000_000
	path := filepath.Join(b.TempDir(), "long.log")
	long(b, path, n)
	ask := func(q func(r *why.Run) (*why.Answer, error)) float64 {
		start := time.Now()
		f, err := os.Open(path)
		require.NoError(b, err)
		defer f.Close()
		l, err := eventlog.NewReader(f)
		require.NoError(b, err)
		r, err := why.Read(l)
		require.NoError(b, err)
		a, err := q(r)
		require.NoError(b, err)
		require.Empty(b, a.Missing)
		return time.Since(start).Seconds()
	}
	questions := map[string]func(r *why.Run) (*why.Answer, error){
		"fence":   func(r *why.Run) (*why.Answer, error) { return r.Fence(1, 2) },
		"pixel":   func(r *why.Run) (*why.Answer, error) { return r.Pixel(20, 15) },
		"call":    func(r *why.Run) (*why.Answer, error) { return r.Call(18) },
		"cycle":   func(r *why.Run) (*why.Answer, error) { return r.Cycle(20_000) },
		"fault":   func(r *why.Run) (*why.Answer, error) { return r.Fault(), nil },
		"address": func(r *why.Run) (*why.Answer, error) { return r.Address(0x1c40) },
	}
	for b.Loop() {
		for _, name := range []string{"fence", "pixel", "call", "cycle", "fault", "address"} {
			times := []float64{ask(questions[name]), ask(questions[name]), ask(questions[name])}
			slices.Sort(times)
			bustest.Figure(b, "why "+name+", 10,000,000 events", times[1], "s", times[1] <= 2, "at most 2")
		}
	}
}

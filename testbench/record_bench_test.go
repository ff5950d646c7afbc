package testbench_test

import (
	"fmt"
	"io"
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
)

// measured counts the bytes and the events of a log.
type measured struct {
	*eventlog.Writer
	bytes, events uint64
}

func (c *measured) Write(p []byte) (int, error) {
	c.bytes += uint64(len(p))
	return len(p), nil
}

func (c *measured) Add(e eventlog.Event) uint64 {
	c.events++
	return c.Writer.Add(e)
}

// BenchmarkRecord composes with and without a log, and with and without the sanitizer, by turns.
// The targets are 1.5 and 2 times, and 60 bytes an event.
func BenchmarkRecord(b *testing.B) {
	sources, err := compose.Samples()
	require.NoError(b, err)
	plan, err := compose.NewPlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(b, err)
	run := func(o testbench.Options) float64 {
		start := time.Now()
		sys, err := testbench.Open("emu", testbench.HostDrivers(), o)
		require.NoError(b, err)
		_, err = compose.Run(sys, plan)
		require.NoError(b, err)
		require.NoError(b, sys.Close())
		return time.Since(start).Seconds()
	}
	var log *measured
	record := testbench.Options{Record: func(h eventlog.Header) (events.Sink, error) {
		log = &measured{}
		log.Writer, err = eventlog.NewWriter(log, h)
		return log, err
	}}
	var logged, sanitized, bare []float64
	for b.Loop() {
		for range 15 {
			plain := run(testbench.Options{})
			logged = append(logged, run(record)/plain)
			sanitized = append(sanitized, run(testbench.Options{Sanitize: true})/plain)
			record.NoVerify = true
			bare = append(bare, run(record)/run(testbench.Options{NoVerify: true}))
			record.NoVerify = false
		}
	}
	slices.Sort(logged)
	slices.Sort(sanitized)
	slices.Sort(bare)
	for _, f := range []struct {
		what, unit  string
		value, most float64
	}{
		{"a frame with a log", "times without", logged[len(logged)/2], 1.5},
		{"a frame with a log, both without verifiers", "times without", bare[len(bare)/2], 1.5},
		{"a frame with the sanitizer", "times without", sanitized[len(sanitized)/2], 2},
		{"an event of the log", "bytes", float64(log.bytes) / float64(log.events), 60},
	} {
		bustest.Figure(b, f.what, f.value, f.unit, f.value <= f.most, fmt.Sprintf("at most %g", f.most))
	}
}

// BenchmarkRecordLists records, executes and releases command lists with and without a log, by turns.
// It has no target: a list of one copy is little more than its calls, and the log has an event for each.
func BenchmarkRecordLists(b *testing.B) {
	run := func(o testbench.Options) float64 {
		r, err := lists.Run(lists.Options{Board: "emu", System: o, Lists: 2000, Ops: 1, Contexts: 1, Alive: 1000})
		require.NoError(b, err)
		return 1 / r.ListsPerSecond
	}
	record := testbench.Options{Record: func(h eventlog.Header) (events.Sink, error) { return eventlog.NewWriter(io.Discard, h) }}
	var logged []float64
	for b.Loop() {
		for range 7 {
			plain := run(testbench.Options{})
			logged = append(logged, run(record)/plain)
		}
	}
	slices.Sort(logged)
	b.Logf("%-34s %10.3f %-12s no target", "lists with a log", logged[len(logged)/2], "times without")
}

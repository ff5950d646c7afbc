package testbench_test

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// BenchmarkCompose composes the sample images. Cycles are exact; other figures
// depend on this machine.
func BenchmarkCompose(b *testing.B) {
	sources, err := compose.Samples()
	require.NoError(b, err)
	plan, err := compose.NewPlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(b, err)
	for _, selector := range []string{"emu", "emu?nodes=1", "emu?vram=8KiB", "emu?latency=128"} {
		b.Run(selector, func(b *testing.B) {
			var cycles, moved uint64
			start := time.Now()
			for b.Loop() {
				sys, err := testbench.Open(selector, testbench.HostDrivers(), testbench.Options{NoVerify: true})
				require.NoError(b, err)
				_, err = compose.Run(sys, plan)
				require.NoError(b, err)
				stats := sys.Stats()
				cycles += stats.Cycles
				moved += stats.BytesMoved
				require.NoError(b, sys.Close())
			}
			n := float64(b.N)
			b.ReportMetric(float64(cycles)/n, "cycles/frame")
			b.ReportMetric(float64(moved)/float64(cycles), "bytes/cycle")
			b.ReportMetric(float64(cycles)/time.Since(start).Seconds(), "cycles/s")
		})
	}
}

// BenchmarkVerifier runs the suite with and without the checks of both driver
// interfaces, by turns. The target is a ratio of at most 2.
func BenchmarkVerifier(b *testing.B) {
	run := func(noVerify bool) float64 {
		start := time.Now()
		for _, r := range suite.Run(suite.Options{Selector: "emu", Drivers: testbench.HostDrivers(), NoVerify: noVerify}) {
			require.Equal(b, suite.Passed, r.Outcome, "%s: %v", r.Name, r.Messages)
		}
		return time.Since(start).Seconds()
	}
	var ratios []float64
	for b.Loop() {
		for range 3 {
			ratios = append(ratios, run(false)/run(true))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
}

// BenchmarkComposeWithPauses composes over TCP and UDP on loopback and over a
// pseudo-terminal, with and without an application that sleeps for half of the time, by
// turns. It reports the time beyond the sleeps, relative to the time without them.
func BenchmarkComposeWithPauses(b *testing.B) {
	for _, m := range []struct{ name, where, options string }{
		{"TCP", "tcp:127.0.0.1:0", ""},
		{"UDP", "udp:127.0.0.1:0", ""},
		{"a pseudo-terminal", "pty:", "?baud=4000000"},
	} {
		b.Run(m.name, func(b *testing.B) {
			if m.where == "pty:" {
				if runtime.GOOS != "linux" {
					b.Skip("pseudo-terminals are served on Linux only")
				}
				m.where += filepath.Join(b.TempDir(), "board")
			}
			composeWithPauses(b, m.name, serveAt(b, m.where, "emu")+m.options)
		})
	}
}

func composeWithPauses(b *testing.B, name, selector string) {
	sources, err := compose.Samples()
	require.NoError(b, err)
	plan, err := compose.NewPlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1, Sources: sources})
	require.NoError(b, err)
	sys, err := testbench.Open(selector, testbench.HostDrivers(), testbench.Options{NoVerify: true})
	require.NoError(b, err)
	pause, slept, pauses := time.Duration(0), time.Duration(0), 0
	plan.Think = func() {
		pauses++
		begun := time.Now()
		time.Sleep(pause)
		slept += time.Since(begun)
	}
	run := func(d time.Duration) time.Duration {
		pause, slept, pauses = d, 0, 0
		begun := time.Now()
		_, err := compose.Run(sys, plan)
		require.NoError(b, err)
		return time.Since(begun) - slept
	}
	run(0)
	var ratios, shares []float64
	for b.Loop() {
		for range 9 {
			without := run(0)
			with := run(without / time.Duration(pauses))
			ratios = append(ratios, float64(with)/float64(without))
			shares = append(shares, float64(slept)/float64(slept+with))
		}
	}
	require.NoError(b, sys.Close())
	slices.Sort(ratios)
	slices.Sort(shares)
	ratio := ratios[len(ratios)/2]
	b.ReportMetric(100*shares[len(shares)/2], "%asleep")
	what := "compose over " + name + " with an application that sleeps half of the time, beyond its sleeps, median"
	bustest.Figure(b, what, ratio, "x without", ratio <= 1.1, "at most 1.1")
}

// serveAt serves a board until the end of the benchmark and returns its selector.
func serveAt(b *testing.B, where, selector string) string {
	dev, err := boards.Device(selector)
	require.NoError(b, err)
	board, err := serve.New(dev, serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash()})
	require.NoError(b, err)
	l, err := serve.Listen(where)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, board) // returns when the context is done
	}()
	b.Cleanup(func() { cancel(); <-done })
	return l.Selector()
}

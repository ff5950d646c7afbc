package testbench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

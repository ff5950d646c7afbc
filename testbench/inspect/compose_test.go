package inspect

import (
	"image"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// composed composes the samples, with think while the GPU works, and returns the frame, the
// counts of the system and those of the board.
func composed(t *testing.T, selector string, s *Server, think func()) (*image.NRGBA, testbench.Stats, []boards.Counter) {
	t.Helper()
	plan, err := compose.SamplePlan(compose.Options{Width: 24, Height: 12, Contexts: 1, Seed: 1, Think: think})
	require.NoError(t, err)
	o := testbench.Options{Record: eventstest.Record(t)}
	var link boards.Counters
	o.Board.Share = func(l bus.Link, c bus.Clock, virtual bool) (bus.Link, bus.Clock, error) {
		link = l.(boards.Counters)
		return s.Share(l, c, virtual)
	}
	sys, err := testbench.Open(selector, testbench.HostDrivers(), o)
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	stats := sys.Stats()
	require.NoError(t, sys.Close())
	return frame, stats, link.Counters()
}

// A run on the emulated GPU has the same pixels, clocks and counts with an inspector that reads
// everything while the GPU works.
func TestRunIsTheSame(t *testing.T) {
	for _, selector := range []string{"emu", "emu?config=full&vramports=1"} {
		var now time.Duration
		s := newServer(Options{}, clock{now: func() time.Duration { return now }})
		want, stats, counters := composed(t, selector, s, func() {})
		packets := map[string]bool{} // states of the rings that were seen
		got, stats2, counters2 := composed(t, selector, s, func() {
			now += time.Second // nothing is fresh
			for _, path := range []string{"/api/identity", "/api/registers", "/api/config?off=4", "/api/ring"} {
				code, body := call(s, path)
				require.Equal(t, 200, code, body)
				packets[body] = true
				assert.NotContains(t, body, "null", path)
			}
		})
		assert.Equal(t, want.Pix, got.Pix, selector)
		assert.Equal(t, stats, stats2, selector)
		assert.Equal(t, counters, counters2, selector)
		assert.Positive(t, stats.Cycles)
		assert.Greater(t, len(packets), 6, "the GPU works meanwhile")
		assert.Contains(t, strings.Join(slices.Collect(maps.Keys(packets)), ""), `"next":["0x8`, "a ring in host memory is decoded")
	}
}

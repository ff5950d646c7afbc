package noc_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/noc"
)

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name            string
		out, in, inward bool
		want            noc.Route
	}{
		{"none", false, false, true, noc.Route{}},
		{"only the port's", true, false, true, noc.Route{Out: true}},
		{"only VRAM's", false, true, false, noc.Route{In: true}},
		{"both, the port's turn", true, true, false, noc.Route{Out: true}},
		{"both, VRAM's turn", true, true, true, noc.Route{In: true}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, noc.Choose(tt.out, tt.in, tt.inward)) })
	}
}

// TestBeats has a writer to the port, one to VRAM and the target with random
// beats, and a port and a VRAM that are ready at random. A beat offered to the
// port must stay until it is taken, the channel must never idle while a beat
// waits, and no writer may wait for two beats of another.
func TestBeats(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		often := func() bool { return rng.Uint64N(6) < 1+seed%6 }
		var m noc.Beats
		var out, in, target, held bool // who has a beat; the port's beat was offered
		var passed struct{ out, in, target int }
		moved := [3]int{}
		for clock := range 4000 {
			out, in, target = out || often(), in || often(), target || often()
			ready, room := rng.IntN(3) != 0, rng.IntN(3) != 0
			route := noc.Choose(out, in, m.Inward())
			require.False(t, route.Out && route.In, "seed %d, clock %d", seed, clock)
			require.Equal(t, out || in, route.Out || route.In, "one of them goes")
			require.True(t, route.Out || !held, "seed %d, clock %d: an offer was withdrawn", seed, clock)
			streams := room && target && !noc.Yields(route, m.Next())
			taken := route.Out && ready || route.In && room && !streams
			require.False(t, room && target && !streams && !taken, "the target waits for a beat that goes")
			m.Tick(route, taken, streams)
			held = route.Out && !ready

			passed.out += count(out && route.In && taken)
			passed.in += count(in && route.Out && taken)
			passed.target += count(target && route.In && taken)
			if route.Out && taken {
				out, passed.out = false, 0
				moved[0]++
			}
			if route.In && taken {
				in, passed.in = false, 0
				moved[1]++
			}
			if streams {
				passed.in += count(route.In)
				target, passed.target = false, 0
				moved[2]++
			}
			require.LessOrEqual(t, max(passed.out, passed.target), 1, "seed %d, clock %d", seed, clock)
			require.LessOrEqual(t, passed.in, 2, "seed %d, clock %d: one of the port's and one of the target's", seed, clock)
		}
		for i, n := range moved {
			require.Greater(t, n, 300, "seed %d: writer %d", seed, i)
		}
		m.Reset()
		require.Equal(t, noc.Beats{}, m)
	}
}

func count(v bool) int {
	if v {
		return 1
	}
	return 0
}

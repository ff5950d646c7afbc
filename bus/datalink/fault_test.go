package datalink

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

var (
	packetsFlag = flag.Int("link.packets", 20_000, "packets of TestFaults")
	seedFlag    = flag.Uint64("link.seed", 1, "first seed of TestFaults")
)

var noisy = faults{loss: 0.05, dup: 0.03, flip: 0.02, truncate: 0.01, reorder: 0.02}

// bundles are sizes of the largest frame with several packets: none, two of the largest
// packets, and many.
var bundles = []int{0, 576, 4096}

// finite are credits for a few packets of each class.
var finite = Credits{{24, 24 * 17}, {12, 12 * 17}, {0, 0}}

// exchange sends n packets in both directions and returns how long it took.
// Cuts are short, so the session survives them. Frames have several packets, to bundle
// bytes, unless that is 0.
func exchange(t testing.TB, seed uint64, f faults, n, cuts, bundle int) (time.Duration, *sim) {
	c := Config{Credits: finite, Bundle: bundle}
	s := newSim(t, seed, f, c, c)
	span := time.Duration(n) * 200 * time.Second / 300_000 // approximate, without injected faults
	cut := func(now time.Duration) bool {
		return cuts > 0 && now%(span/time.Duration(cuts)+1) > span/time.Duration(cuts)-20*time.Millisecond
	}
	s.wires[0].cut, s.wires[1].cut = cut, cut
	rng := rand.New(rand.NewPCG(seed, 99))
	var floods [2]flood
	for i := range floods {
		floods[i] = flood{t: t, seed: seed + uint64(i), total: n / 2}
	}
	var taken [2][][]byte
	s.got = func(end int, p []byte) {
		floods[1-end].take(p)
		taken[end] = append(taken[end], p)
	}
	s.open(uint32(seed))
	s.up()
	start, limit := s.now, s.now+100*span+time.Minute
	for !floods[0].done() || !floods[1].done() {
		require.NoError(t, s.links[0].Err(), "seed %d", seed)
		require.NoError(t, s.links[1].Err(), "seed %d", seed)
		for i := range floods {
			floods[i].fill(s, i, func(int) tlp.Class { return tlp.Class(rng.IntN(3)) })
			for _, p := range taken[i] {
				s.release(i, p)
			}
			taken[i] = taken[i][:0]
		}
		require.True(t, s.step(limit), "seed %d: stopped with %v and %v", seed, floods[0].got, floods[1].got)
	}
	return s.now - start, s
}

// Every packet arrives once, in order and unchanged, whatever the channel does;
// the sequence numbers wrap several times (L1, L2, L3).
func TestFaults(t *testing.T) {
	t.Run("single", func(t *testing.T) { testFaults(t, 0) })
	t.Run("several", func(t *testing.T) {
		s := testFaults(t, 1200)
		for i := range s.links {
			st := s.links[i].Stats()
			assert.Greater(t, st.PacketsSent, (st.FramesSent-st.Replays)*5/4, "packets to a frame, of which some are acknowledgements only")
		}
	})
}

func testFaults(t *testing.T, bundle int) *sim {
	t.Logf("seed %d", *seedFlag)
	clean, _ := exchange(t, *seedFlag, faults{}, *packetsFlag, 0, bundle)
	took, s := exchange(t, *seedFlag, noisy, *packetsFlag, max(2, *packetsFlag/10_000), bundle)
	t.Logf("goodput %.2f of a clean line; host %+v", float64(clean)/float64(took), s.links[0].Stats())
	assert.GreaterOrEqual(t, float64(clean)/float64(took), 0.6)
	for i := range s.links {
		st := s.links[i].Stats()
		for name, n := range map[string]uint64{"replays": st.Replays, "naks": st.NaksSent, "duplicates": st.Duplicates,
			"out of order": st.OutOfOrder, "damaged": st.BadCheck, "time-outs": st.ReplayTimeouts} {
			assert.Positive(t, n, name)
		}
	}
	return s
}

func TestFaultsSeeds(t *testing.T) {
	for seed := *seedFlag; seed < *seedFlag+20; seed++ {
		f := noisy
		f.reorder = 0.2
		for _, bundle := range bundles {
			exchange(t, seed, f, 400, 1, bundle)
		}
	}
}

// One kind of injected fault at a time, at a rate at which it dominates.
func TestSingleFaults(t *testing.T) {
	for name, f := range map[string]faults{
		"loss": {loss: 0.25}, "duplicates": {dup: 0.5}, "bit flips": {flip: 0.25},
		"truncation": {truncate: 0.25}, "reordering": {reorder: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			for _, bundle := range bundles {
				exchange(t, 7, f, 1000, 0, bundle)
			}
		})
	}
}

// A line that stalls for less than DeadAfter only delays packets; the queues
// are bounded (L8).
func TestStalls(t *testing.T) {
	s := newSim(t, 3, faults{}, Config{}, Config{})
	for _, w := range s.wires {
		w.stall = func(now time.Duration) time.Duration {
			if phase := now % time.Second; phase > 600*time.Millisecond {
				return now - phase + time.Second
			}
			return now
		}
	}
	f := flood{t: t, total: 3000}
	s.got = func(_ int, p []byte) { f.take(p) }
	s.open(1)
	s.up()
	for !f.done() {
		f.fill(s, 0, func(int) tlp.Class { return tlp.Posted })
		frames, waiting := s.links[0].InFlight()
		require.LessOrEqual(t, frames, 64)
		require.LessOrEqual(t, waiting, 64)
		require.True(t, s.step(s.now+time.Second))
		require.NoError(t, s.links[0].Err())
	}
}

// A long DeadAfter is honoured: a line that stalls or loses everything for most
// of that time, longer than the replay limit takes, only delays packets and
// recovers soon afterwards.
func TestLongSilence(t *testing.T) {
	const silence, outage = 10 * time.Second, 8 * time.Second
	for name, during := range map[string]func(w *wire, from, to time.Duration){
		"stall": func(w *wire, from, to time.Duration) {
			w.stall = func(now time.Duration) time.Duration {
				if now >= from && now < to {
					return to
				}
				return now
			}
		},
		"cut": func(w *wire, from, to time.Duration) {
			w.cut = func(now time.Duration) bool { return now >= from && now < to }
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{ReplayLimit: 64, DeadAfter: silence}
			s := newSim(t, 5, faults{}, c, c)
			s.open(1)
			s.up()
			from := s.now + 50*time.Millisecond
			for _, w := range s.wires {
				during(w, from, from+outage)
			}
			f := flood{t: t, total: 400}
			s.got = func(_ int, p []byte) { f.take(p) }
			for !f.done() {
				f.fill(s, 0, func(int) tlp.Class { return tlp.Posted })
				require.True(t, s.step(s.now+time.Second))
				require.NoError(t, s.links[0].Err(), "%v", s.now-from)
			}
			assert.Greater(t, s.links[0].Stats().ReplayTimeouts, uint64(64), "the limit was reached")
			assert.Less(t, s.links[0].Stats().ReplayTimeouts, uint64(100))
			assert.Less(t, s.now-from, outage+outage/8+time.Second)
		})
	}
}

// A connection cut at any frame goes down at both ends with a cause. No packet
// of the old session arrives in the new one, although its frames do (L7).
func TestCutAndReopen(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		s := newSim(t, seed, faults{}, Config{}, Config{})
		rng := rand.New(rand.NewPCG(seed, 5))
		epoch := byte(1)
		var got int
		s.got = func(_ int, p []byte) {
			require.Equal(t, epoch, p[20], "a packet of an earlier session")
			got++
		}
		packet := make([]byte, 64)
		packet[0] = 0x40
		s.open(1)
		s.up()
		packet[20] = epoch
		for range 50 {
			require.NoError(t, s.send(0, packet))
		}
		s.run(time.Duration(rng.IntN(int(12 * time.Millisecond))))
		// Frames in flight arrive after the new session has begun.
		late := []arrivals{s.wires[0].flying, s.wires[1].flying}
		s.wires[0].flying, s.wires[1].flying = nil, nil
		dead := true
		cut := func(time.Duration) bool { return dead }
		s.wires[0].cut, s.wires[1].cut = cut, cut
		before := s.now
		s.until(time.Second, "down", func() bool { return s.links[0].State() == Down && s.links[1].State() == Down })
		assert.Less(t, s.now-before, time.Second)
		require.Error(t, s.send(0, packet))
		dead = false
		epoch = 2
		got = 0
		s.open(2)
		s.up()
		for i, as := range late {
			for _, a := range as {
				s.do(1-i, func(l *Link, out *Output) { l.Receive(a.frame, s.now, out) })
			}
		}
		packet[20] = epoch
		for range 50 {
			require.NoError(t, s.send(0, packet))
		}
		s.until(time.Second, "all", func() bool { return got == 50 })
		assert.Equal(t, uint64(len(late[0])), s.links[1].Stats().Stale, "seed %d", seed)
	}
}

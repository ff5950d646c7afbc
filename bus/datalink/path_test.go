package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// slowPath returns an adaptive pair of links on a path of a rate in bytes per second. The
// path holds any number of frames, as the buffers of a socket do.
func slowPath(t *testing.T, rate int, latency time.Duration) *sim {
	c := Config{Adapt: true, ReplayLimit: 64}
	s := newSim(t, 1, faults{}, c, c)
	for _, w := range s.wires {
		w.rate, w.latency = rate, latency
	}
	s.open(9)
	s.up()
	return s
}

// newBulk returns writes of 256 bytes for bulk.
func newBulk(s *sim) *flood { return &flood{t: s.t, seed: 1, size: 272, total: 1 << 30} }

// bulk sends writes from the host for a time. It returns the bytes of packets
// that arrived after the first half, and the longest time that the path held frames in
// that half.
func bulk(s *sim, f *flood, d time.Duration) (n int, queued time.Duration) {
	half := s.now + d/2
	s.got = func(end int, packet []byte) {
		f.take(packet)
		if s.now >= half {
			n += len(packet)
		}
	}
	posted := func(int) tlp.Class { return tlp.Posted }
	for end := s.now + d; s.now < end; {
		f.fill(s, 0, posted)
		s.step(end)
		if s.now >= half {
			queued = max(queued, s.wires[0].free-s.now)
		}
	}
	return n, queued
}

// A path is used almost fully, holds frames for about 60 ms only, and no frame is sent
// again without need. 11,520 bytes a second is a serial server at 115,200 baud.
func TestSlowPath(t *testing.T) {
	for _, tt := range []struct {
		rate    int
		latency time.Duration
		share   float64 // payload and header, at least
		replays uint64  // at most
	}{
		{2400, time.Millisecond, 0.9, 3}, // less than the first assumption
		{11_520, 500 * time.Microsecond, 0.9, 0},
		{11_520, 50 * time.Millisecond, 0.9, 0},
		{100_000, 2 * time.Millisecond, 0.9, 0},
		{1_000_000, 500 * time.Microsecond, 0.9, 0},
		{10_000_000, 100 * time.Microsecond, 0.9, 0},
	} {
		s := slowPath(t, tt.rate, tt.latency)
		d := min(20*time.Second, time.Second+200_000*time.Second/time.Duration(tt.rate))
		n, queued := bulk(s, newBulk(s), d)
		two := 2 * 292 * time.Second / time.Duration(tt.rate)
		assert.Greater(t, float64(n)/(d/2).Seconds(), tt.share*float64(tt.rate), "%d bytes a second, %v", tt.rate, tt.latency)
		assert.LessOrEqual(t, queued, max(two, 2*tt.latency+80*time.Millisecond), "%d bytes a second, %v", tt.rate, tt.latency)
		assert.LessOrEqual(t, s.links[0].Stats().Replays, tt.replays, "%d bytes a second, %v", tt.rate, tt.latency)
		rate, measured := s.links[0].Goodput()
		assert.True(t, measured)
		assert.InEpsilon(t, tt.rate, rate, 0.1)
		assert.Less(t, s.links[0].RoundTrip(), 2*tt.latency+20*time.Millisecond+two/2, "%d bytes a second, %v", tt.rate, tt.latency)
	}
}

// A path that becomes slower is noticed within a few seconds, and one that becomes
// faster at once.
func TestPathChanges(t *testing.T) {
	s := slowPath(t, 200_000, time.Millisecond)
	f := newBulk(s)
	for _, tt := range []struct {
		rate int
		most uint64
	}{{200_000, 0}, {150_000, 10}, {11_520, 300}, {200_000, 0}} {
		s.wires[0].rate, s.wires[1].rate = tt.rate, tt.rate
		before := s.links[0].Stats().Replays
		bulk(s, f, 10*time.Second)
		assert.LessOrEqual(t, s.links[0].Stats().Replays-before, tt.most)
		rate, _ := s.links[0].Goodput()
		assert.InEpsilon(t, tt.rate, rate, 0.15)
	}
}

// Single frames that are lost at times leave the rate as it was: nothing waits for the
// path.
func TestLightTraffic(t *testing.T) {
	s := slowPath(t, 1_000_000, 10*time.Millisecond)
	bulk(s, newBulk(s), 2*time.Second)
	s.until(10*time.Second, "all arrived", func() bool { f, w := s.links[0].InFlight(); return f+w == 0 })
	before, _ := s.links[0].Goodput()
	assert.InEpsilon(t, 1_000_000, before, 0.2)
	s.got = func(int, []byte) {}
	for i := range 200 {
		lost := i%10 != 0
		s.wires[0].drop = func(f []byte) bool {
			was := lost
			lost = true
			return !was
		}
		require.NoError(t, s.send(0, unhex("00000001 0000050f fe001010")))
		s.run(100 * time.Millisecond)
	}
	assert.Greater(t, s.links[0].Stats().ReplayTimeouts, uint64(10))
	after, _ := s.links[0].Goodput()
	assert.Greater(t, after, before/2)
}

// Ahead is what the path needs for all frames before.
func TestAhead(t *testing.T) {
	s := slowPath(t, 11_520, time.Millisecond)
	bulk(s, newBulk(s), 5*time.Second)
	begun := s.now
	ahead := s.links[0].Ahead(0)
	s.until(10*time.Second, "all arrived", func() bool { f, w := s.links[0].InFlight(); return f+w == 0 })
	assert.InEpsilon(t, s.now-begun, ahead, 0.1)
	assert.Zero(t, s.links[0].Ahead(0))
	assert.InEpsilon(t, time.Second, s.links[0].Ahead(11_520), 0.15)
	fixed, _ := start(t, Config{}, Config{})
	assert.Zero(t, fixed.links[0].Ahead(1000))
}

// A path that loses byte 67 of each frame takes the link down within a second, as one
// that damages frames. Small frames pass.
func TestSameFrameLost(t *testing.T) {
	for _, rate := range []int{11_520, 1_000_000, 100_000_000} {
		s := slowPath(t, rate, time.Millisecond)
		lose := func(f []byte) []byte {
			if len(f) > 67 {
				f = append(f[:67], f[68:]...)
			}
			return f
		}
		s.wires[0].damage, s.wires[1].damage = lose, lose
		for range 20 {
			require.NoError(t, s.send(0, unhex("00000001 0000050f fe001010")))
			s.run(20 * time.Millisecond)
		}
		require.Equal(t, Up, s.links[0].State())
		start := s.now
		require.NoError(t, s.send(0, append(unhex("40000020 000000ff fe001014"), make([]byte, 128)...)))
		s.until(time.Second, "down", func() bool { return s.links[0].State() == Down })
		assert.ErrorIs(t, s.links[0].Err(), ErrReplay)
		assert.Regexp(t, `^datalink: replay limit reached: the link damages or loses frames: sequence 20 sent \d+ times in \d+ms, \d+ of \d+ frames sent were replays, 0 of \d+ received were damaged$`, s.links[0].Err().Error())
		assert.Less(t, s.now-start, 950*time.Millisecond)
		s.run(50 * time.Millisecond)
		assert.ErrorIs(t, s.links[1].Err(), ErrPeerDown)
		assert.ErrorContains(t, s.links[1].Err(), "datalink: replay limit reached: the link damages or loses frames: ", "the other end has counters of its own")
	}
}

package datalink

import (
	"container/heap"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// fastPath returns a session on a path of 25 MB/s with a latency of 50 us, and a large
// window, as over a local network.
func fastPath(t *testing.T, f faults, credits Credits) *sim {
	c := Config{Adapt: true, Window: 1024, AckEvery: 16, ReplayLimit: 64, GiveUp: 750 * time.Millisecond, DeadAfter: time.Second, Credits: credits}
	s := newSim(t, 3, faults{}, c, c)
	for _, w := range s.wires {
		w.rate, w.latency = 25_000_000, 50*time.Microsecond
	}
	s.open(9)
	s.up()
	for _, w := range s.wires {
		w.faults = f
	}
	return s
}

// Five faults of the frames, 13 in a hundred, cost a bulk transfer an eighth at most.
func TestGoodputWithFaults(t *testing.T) {
	moved := func(f faults) int {
		s := fastPath(t, f, Credits{})
		n, _ := bulk(s, newBulk(s), 500*time.Millisecond)
		assert.Less(t, s.links[0].RoundTrip(), time.Millisecond)
		return n
	}
	clean := moved(faults{})
	assert.Greater(t, clean, 5_000_000)
	faulty := moved(faults{loss: 0.05, dup: 0.03, flip: 0.02, truncate: 0.01, reorder: 0.02})
	assert.Greater(t, faulty, clean*7/8)
}

// readPath is a fast path whose round trip has been measured with reads, which arrive
// one at a time.
func readPath(t *testing.T) *sim {
	s := fastPath(t, faults{}, Credits{})
	s.got = func(int, []byte) {}
	for range 20 {
		require.NoError(t, s.send(0, readPacket))
		s.run(5 * time.Millisecond)
	}
	return s
}

// loseNext makes the next n data frames of the host be lost.
func (s *sim) loseNext(n int) {
	s.wires[0].drop = func(b []byte) bool {
		if b[0]&(bitData>>8) != 0 {
			n--
			return n >= 0
		}
		return false
	}
}

// arrives sends a read and expects it at the board within a time.
func (s *sim) arrives(d time.Duration) {
	arrived := false
	s.got = func(int, []byte) { arrived = true }
	require.NoError(s.t, s.send(0, readPacket))
	s.until(d, "arrived", func() bool { return arrived })
}

// The last frame of a flight is lost. A ping tells so long before the replay time-out.
// The frame is sent twice, since the path has room for it.
func TestLastFrameLost(t *testing.T) {
	s := readPath(t)
	s.loseNext(1)
	s.arrives(4 * time.Millisecond)
	s.run(10 * time.Millisecond)
	assert.Zero(t, s.links[0].Stats().ReplayTimeouts)
	assert.Equal(t, uint64(2), s.links[0].Stats().Replays)
	assert.Equal(t, uint64(1), s.links[1].Stats().Duplicates)
}

// The last frame of a flight and both of its replays are lost. The second pong tells so.
func TestReplaysLost(t *testing.T) {
	s := readPath(t)
	s.loseNext(3)
	s.arrives(7 * time.Millisecond)
	assert.Zero(t, s.links[0].Stats().ReplayTimeouts)
}

// A pong that is lost does not make a later one useless.
func TestLostPong(t *testing.T) {
	s := readPath(t)
	pongs := 0
	s.wires[1].drop = func(b []byte) bool { // no acknowledgement before the second pong
		if int(b[0]>>4) == typePong {
			pongs++
		}
		return pongs < 2
	}
	require.NoError(t, s.send(0, readPacket))
	s.until(20*time.Millisecond, "two pongs", func() bool { return pongs == 2 })
	s.wires[1].drop = nil
	s.run(5 * time.Millisecond)
	s.arrives(time.Millisecond)
	s.run(5 * time.Millisecond)
	s.loseNext(1)
	s.arrives(4 * time.Millisecond)
}

// A frame that is lost once is sent twice if the window fills with frames that wait for
// it, but not on a line of a known rate.
func TestUrgent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		rate   int
		want   uint64
	}{{"the window fills", 8, 0, 2}, {"the window is large", 1024, 0, 1}, {"a line", 8, 25_000_000, 1}} {
		c := Config{Adapt: true, Window: tt.window, ReplayLimit: 64, Rate: tt.rate}
		s := newSim(t, 1, faults{}, c, c)
		for _, w := range s.wires {
			w.rate, w.latency = 25_000_000, 20*time.Microsecond
		}
		s.open(9)
		s.up()
		f := newBulk(s)
		bulk(s, f, 20*time.Millisecond)
		s.loseNext(1)
		bulk(s, f, 10*time.Millisecond)
		assert.Equal(t, tt.want, s.links[0].Stats().Replays, tt.name)
	}
}

// A path without faults gets no replay for a ping, however slow it is.
func TestProbesReplayNothing(t *testing.T) {
	for _, rate := range []int{11_520, 1_000_000, 25_000_000} {
		s := slowPath(t, rate, 3*time.Millisecond)
		s.got = func(int, []byte) {}
		for i := range 200 {
			require.NoError(t, s.send(0, readPacket))
			s.run(time.Duration(i%7) * time.Millisecond)
		}
		assert.Zero(t, s.links[0].Stats().Replays, "%d bytes a second", rate)
	}
}

// An update of credits is lost. The next one comes before the sender has used all.
func TestLostCredits(t *testing.T) {
	grant := Credit{Headers: 128, Data: 4096}
	s := fastPath(t, faults{}, Credits{tlp.Posted: grant, tlp.NonPosted: grant})
	f := newBulk(s)
	s.got = func(end int, packet []byte) {
		f.take(packet)
		s.release(end, packet)
	}
	n := 0
	s.wires[1].drop = func(b []byte) bool {
		if b[0]>>4 == typeCredit {
			n++
			return n%4 != 0
		}
		return false
	}
	for end := s.now + 50*time.Millisecond; s.now < end; { // half of the time to a refresh
		f.fill(s, 0, func(int) tlp.Class { return tlp.Posted })
		s.step(end)
	}
	assert.Greater(t, n, 50, "updates")
	assert.Greater(t, f.bytes, 900_000)
}

// A frame that is lost twice is sent twice.
func TestLostTwice(t *testing.T) {
	s := fastPath(t, faults{}, Credits{})
	f := newBulk(s)
	s.got = func(_ int, p []byte) { f.take(p) }
	sends := 0
	s.wires[0].drop = func(b []byte) bool {
		if b[0]&(bitData>>8) == 0 || (uint16(b[0])<<8|uint16(b[1]))&maskSeq != 40 {
			return false
		}
		sends++
		return sends < 3
	}
	f.total = 400
	for !f.done() {
		f.fill(s, 0, func(int) tlp.Class { return tlp.Posted })
		require.True(t, s.step(s.now+time.Second))
	}
	s.run(10 * time.Millisecond)
	assert.Equal(t, 4, sends)
	assert.Equal(t, uint64(1), s.links[1].Stats().Duplicates)
}

// A path of 10 MB/s becomes slower, also for the frames that it holds. The estimate
// follows, also if frames are lost, and few are sent again without need.
func TestRateFalls(t *testing.T) {
	for _, tt := range []struct {
		rate    int
		loss    float64
		replays float64 // per frame, at most
	}{{5_000, 0, 0.05}, {30_000, 0, 0.001}, {200_000, 0, 0}, {30_000, 0.03, 0.25}, {100_000, 0.03, 0.1}, {1_000_000, 0.03, 0.05}} {
		s := fastPath(t, faults{loss: tt.loss}, Credits{})
		s.wires[0].rate, s.wires[1].rate = 10_000_000, 10_000_000
		f := newBulk(s)
		bulk(s, f, 500*time.Millisecond)
		w := s.wires[0]
		held := w.flying
		w.rate, w.free, w.flying = tt.rate, s.now, nil
		sort.Sort(held)
		for _, a := range held {
			w.free += time.Duration(len(a.frame)) * time.Second / time.Duration(tt.rate)
			heap.Push(&w.flying, arrival{w.free + w.latency, a.order, a.frame})
		}
		before := s.links[0].Stats()
		n, _ := bulk(s, f, 20*time.Second)
		after := s.links[0].Stats()
		require.Equal(t, Up, s.links[0].State(), "%+v: %v", tt, s.links[0].Err())
		assert.LessOrEqual(t, float64(after.Replays-before.Replays), tt.replays*float64(after.FramesSent-before.FramesSent), "%+v", tt)
		assert.Greater(t, n, tt.rate*10*85/100, "%+v", tt)
		rate, measured := s.links[0].Goodput()
		assert.True(t, measured)
		assert.InEpsilon(t, tt.rate, rate, 0.1, "%+v", tt)
	}
}

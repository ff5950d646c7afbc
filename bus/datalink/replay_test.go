package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// L1: a duplicate is discarded and acknowledged at once.
func TestDuplicate(t *testing.T) {
	s, got := start(t, Config{}, Config{})
	l := s.links[1]
	frame := seal(l.epoch, append(unhex("8000"), write...))
	s.receive(1, frame)
	s.run(0)
	var out Output
	l.Receive(frame, s.now, &out)
	require.Equal(t, 1, out.Frames.Len())
	assert.Equal(t, seal(l.epoch, unhex("0001")), out.Frames.At(0))
	assert.Len(t, got[1], 1)
	assert.Equal(t, uint64(1), l.Stats().Duplicates)
}

// L1: a gap causes one Nak that lists the frames that arrived, and one replay.
func TestGap(t *testing.T) {
	s, got := start(t, Config{}, Config{})
	var naks [][]byte
	s.wires[1].drop = func(f []byte) bool {
		if isType(f, typeNak) {
			naks = append(naks, append([]byte(nil), f[:len(f)-checkLen]...))
		}
		return false
	}
	lost := 0
	s.wires[0].drop = func(f []byte) bool {
		lost++
		return isData(f) && (lost == 2 || lost == 3 || lost == 6)
	}
	for range 12 {
		require.NoError(t, s.send(0, write))
	}
	s.run(100 * time.Millisecond)
	assert.Len(t, got[1], 12)
	// Frames 1, 2 and 5 are missing when 3 and 6 arrive.
	assert.Equal(t, [][]byte{unhex("1001 02"), unhex("1001 16")}, naks)
	assert.Equal(t, uint64(3), s.links[0].Stats().Replays)
	assert.Zero(t, s.links[1].Stats().Duplicates)
}

// With NakDelay, an overtaken frame causes no replay.
func TestNakDelay(t *testing.T) {
	s, got := start(t, Config{NakDelay: 2 * time.Millisecond}, Config{NakDelay: 2 * time.Millisecond})
	word := s.links[1].epoch
	s.receive(1, seal(word, append(unhex("8001"), write...)))
	s.run(time.Millisecond)
	s.receive(1, seal(word, append(unhex("8000"), write...)))
	s.run(10 * time.Millisecond)
	assert.Len(t, got[1], 2)
	assert.Zero(t, s.links[1].Stats().NaksSent)
}

// L1: acknowledgements of frames not in flight, and frames outside the window,
// change nothing.
func TestImpossibleSequences(t *testing.T) {
	s, got := start(t, Config{}, Config{ShortSequence: true}) // else some of these have no correct check
	require.NoError(t, s.send(0, write))
	l := s.links[0]
	for i, body := range []string{"0002", "0fff", "0800", "1002", "1000 01"} {
		s.receive(0, seal(l.epoch, unhex(body)))
		assert.Equal(t, uint64(i+1), l.Stats().BadAcks, body)
	}
	frames, _ := l.InFlight()
	assert.Equal(t, 1, frames)
	s.receive(1, seal(l.epoch, append(unhex("8040"), write...)))
	s.receive(1, seal(l.epoch, append(unhex("87ff"), write...)))
	assert.Equal(t, uint64(2), s.links[1].Stats().OutOfWindow)
	s.run(50 * time.Millisecond)
	assert.Len(t, got[1], 1)
}

// L2: the replay timer replays up to the limit; then the link goes down at both
// ends and stays down.
func TestReplayLimit(t *testing.T) {
	s, _ := start(t, Config{ReplayLimit: 4, KeepAlive: 20 * time.Millisecond}, Config{})
	tries := 0
	s.wires[0].drop = func(f []byte) bool {
		if isData(f) {
			tries++
		}
		return isData(f)
	}
	require.NoError(t, s.send(0, write))
	s.until(time.Second, "down", func() bool { return s.links[0].State() == Down })
	assert.Equal(t, 5, tries)
	assert.ErrorIs(t, s.links[0].Err(), ErrReplay)
	s.run(5 * time.Millisecond)
	assert.ErrorIs(t, s.links[1].Err(), ErrPeerDown)
	assert.ErrorIs(t, s.links[1].Err(), ErrReplay)
	cause := s.links[0].Err()
	s.do(0, func(l *Link, out *Output) { l.Close(out) })
	s.run(time.Second)
	assert.Equal(t, cause, s.links[0].Err())
	assert.Equal(t, cause, s.send(0, write))
}

// The replay limit takes no link down before DeadAfter, although it is reached
// much earlier, with all other packets or only with this one.
func TestReplayLimitWaits(t *testing.T) {
	s, _ := start(t, Config{ReplayLimit: 64, DeadAfter: 20 * time.Second}, Config{})
	s.wires[0].drop = isData
	require.NoError(t, s.send(0, write))
	before := s.now
	s.run(20*time.Second - 1)
	require.Equal(t, Up, s.links[0].State(), "%v", s.links[0].Err())
	s.until(3*time.Second, "down", func() bool { return s.links[0].State() == Down })
	assert.ErrorIs(t, s.links[0].Err(), ErrReplay)
	assert.Less(t, s.links[0].Stats().Replays, uint64(100))
	assert.GreaterOrEqual(t, s.now-before, 20*time.Second)
}

// A host that was answered while the previous session was up gets its own
// session when the previous one has ended, unless the offer has expired.
func TestOfferOutlivesASession(t *testing.T) {
	for wait, kept := range map[time.Duration]bool{0: true, time.Second - 1: true, time.Second: false} {
		s, _ := start(t, Config{}, Config{})
		b := s.links[1]
		assert.False(t, b.Offering(s.now))
		host, err := New(Config{})
		require.NoError(t, err)
		var hello, answer, ping, out Output
		host.Open(77, s.now, &hello)
		b.Receive(hello.Frames.At(0), s.now, &answer)
		host.Receive(answer.Frames.At(0), s.now, &ping)
		require.Equal(t, Up, host.State())
		b.Close(&out)
		b.Open(10, s.now+wait, &out)
		assert.Equal(t, kept, b.Offering(s.now+wait))
		b.Receive(ping.Frames.At(0), s.now+wait, &out)
		assert.Equal(t, kept, b.State() == Up)
		assert.False(t, b.Offering(s.now+wait), "the session has begun or the offer has expired")
	}
}

// A gap reported by a Nak is not reported again when later frames arrive inside
// it.
func TestGapIsNamedOnce(t *testing.T) {
	s, got := start(t, Config{}, Config{})
	for _, seq := range []byte{4, 2, 1} {
		s.receive(1, seal(s.links[1].epoch, append([]byte{0x80, seq}, write...)))
	}
	assert.Equal(t, uint64(1), s.links[1].Stats().NaksSent)
	s.receive(1, seal(s.links[1].epoch, append([]byte{0x80, 6}, write...)))
	assert.Equal(t, uint64(2), s.links[1].Stats().NaksSent, "a later gap gets its own Nak")
	assert.Empty(t, got[1])
}

package datalink

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seal returns a frame with a correct check.
func seal(word uint32, body []byte) []byte {
	return binary.BigEndian.AppendUint32(append([]byte(nil), body...), crc32.ChecksumIEEE(body)^word)
}

// isType reports whether a frame is a control frame of a type.
func isType(frame []byte, typ int) bool { return frame[0]>>7 == 0 && int(frame[0]>>4) == typ }

func isData(frame []byte) bool { return frame[0]>>7 != 0 }

// dropFirst drops the first n frames that match.
func dropFirst(n int, match func([]byte) bool) func([]byte) bool {
	return func(frame []byte) bool {
		if n == 0 || !match(frame) {
			return false
		}
		n--
		return true
	}
}

func ofType(typ int) func([]byte) bool {
	return func(frame []byte) bool { return isType(frame, typ) }
}

// start returns a link that is up, and the packets delivered to each end.
func start(t testing.TB, host, board Config) (*sim, *[2][][]byte) {
	s := newSim(t, 1, faults{}, host, board)
	got := new([2][][]byte)
	s.got = func(end int, p []byte) { got[end] = append(got[end], p) }
	s.open(9)
	s.up()
	s.run(5 * time.Millisecond)
	return s, got
}

func (s *sim) receive(end int, frame []byte) {
	s.do(end, func(l *Link, out *Output) { l.Receive(frame, s.now, out) })
}

var write = unhex("40000001 0000000f fe001014 01020304")

// The frames are encoded by hand from the package's tables. Their checks come
// from another CRC-32, Python's zlib.crc32, exclusive or the word of the epoch.
func TestGoldenFrames(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{MapHash: 0xcafe0001, Credits: finite}, Config{})
	var out Output
	h, b := s.links[0], s.links[1]
	b.Open(9, 0, &out)
	h.Open(7, 0, &out)
	hello := "5001 0118 0040 cafe0001 00000007 00000000 0018 0198 000c 00cc 0000 0000 3b572bfd"
	require.Equal(t, 1, out.Frames.Len())
	assert.Equal(t, unhex(hello), out.Frames.At(0))
	var answer Output
	b.Receive(out.Frames.At(0), 0, &answer)
	require.Equal(t, 1, answer.Frames.Len())
	out.Reset()
	h.Receive(answer.Frames.At(0), 0, &out)
	require.Equal(t, Up, h.State())
	require.Equal(t, Opening, b.State(), "no frame has confirmed the session")
	require.NoError(t, h.Send(unhex("60000001 0000000f 00000001 00000000 01020304"), 0, &out))
	require.NoError(t, h.Send(unhex("00000001 0000050f fe001010"), 0, &out))
	require.Equal(t, 3, out.Frames.Len())
	assert.Equal(t, unhex("3000 30419fd1"), out.Frames.At(0))
	assert.Equal(t, unhex("8000 60000001 0000000f 00000001 00000000 01020304 46cb950b"), out.Frames.At(1))
	assert.Equal(t, unhex("9001 d4 05 fe 10 10 b4a2b47e"), out.Frames.At(2))
	answer.Reset()
	for i := range 3 {
		b.Receive(out.Frames.At(i), 0, &answer)
	}
	require.Equal(t, Up, b.State())
	require.Equal(t, 2, answer.Packets.Len())
	assert.Equal(t, unhex("00000001 0000050f fe001010"), answer.Packets.At(1))
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"packet too small":      {MaxPacket: 15},
		"packet too large":      {MaxPacket: MaxPacket + 1},
		"window not a power":    {Window: 48},
		"window too large":      {Window: 2048},
		"negative queue":        {Queue: -1},
		"replay before the ack": {ReplayMin: time.Millisecond},
		"dead before the ping":  {DeadAfter: 100 * time.Millisecond},
		"too many credits":      {Credits: Credits{{Headers: 1 << 15}}},
		"less than a packet":    {Credits: Credits{{Headers: 1, Data: 16}}},
	} {
		_, err := New(c)
		assert.Error(t, err, name)
	}
	for name, c := range map[string]Config{
		"smallest packet": {MaxPacket: 16},
		"largest packet":  {MaxPacket: MaxPacket},
		"window of one":   {Window: 1},
		"largest window":  {Window: 1024},
		"most credits":    {Credits: Credits{{Headers: 1<<15 - 1}}},
		"just a packet":   {Credits: Credits{{Headers: 1, Data: 17}}},
	} {
		_, err := New(c)
		assert.NoError(t, err, name)
	}
}

func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  int
		drop func([]byte) bool
	}{
		{"nothing lost", 0, nil},
		{"hellos lost", 0, dropFirst(3, ofType(typeHello))},
		{"welcomes lost", 1, dropFirst(3, ofType(typeWelcome))},
		{"confirmation lost", 0, dropFirst(1, ofType(typePing))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, 1, faults{}, Config{}, Config{})
			s.wires[tt.end].drop = tt.drop
			s.open(9)
			s.up()
			require.NoError(t, s.send(0, write))
			require.NoError(t, s.send(1, write))
			s.run(100 * time.Millisecond)
			assert.Equal(t, uint64(1), s.links[0].Stats().PacketsReceived)
			assert.Equal(t, uint64(1), s.links[1].Stats().PacketsReceived)
			assert.Equal(t, uint64(1), s.links[1].Stats().Sessions)
		})
	}
}

func TestOpenFails(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{})
	assert.ErrorIs(t, s.links[0].Err(), ErrNotUp)
	s.wires[0].drop = func([]byte) bool { return true }
	s.open(9)
	assert.ErrorIs(t, s.send(0, write), ErrNotUp)
	s.run(2 * time.Second)
	assert.ErrorIs(t, s.links[0].Err(), ErrOpen)
	assert.ErrorIs(t, s.send(0, write), ErrOpen)
	assert.Equal(t, Opening, s.links[1].State())
}

func TestMapHash(t *testing.T) {
	for _, tt := range []struct {
		host, board uint32
		want        error
	}{{1, 1, nil}, {0, 1, nil}, {1, 0, nil}, {1, 2, ErrMapHash}} {
		s := newSim(t, 1, faults{}, Config{MapHash: tt.host}, Config{MapHash: tt.board})
		s.open(9)
		s.run(time.Second)
		if tt.want == nil {
			assert.Equal(t, Up, s.links[1].State())
			continue
		}
		assert.ErrorIs(t, s.links[0].Err(), tt.want)
		assert.Equal(t, Opening, s.links[1].State())
		assert.Equal(t, uint64(1), s.links[1].Stats().Refused)
	}
}

func TestVersion(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{})
	s.open(9)
	s.receive(1, seal(helloWord, unhex("5002")))
	assert.Equal(t, uint64(1), s.links[1].Stats().Refused)
	s.receive(0, seal(helloWord, unhex("6002")))
	assert.ErrorIs(t, s.links[0].Err(), ErrVersion)
}

func TestMaxPacketIsTheSmaller(t *testing.T) {
	s, _ := start(t, Config{MaxPacket: 280}, Config{MaxPacket: 152})
	for end := range 2 {
		require.Equal(t, 152, s.links[end].MaxPacket())
		assert.NoError(t, s.send(end, make([]byte, 152)))
		assert.ErrorIs(t, s.send(end, make([]byte, 153)), ErrSize)
		assert.ErrorIs(t, s.send(end, nil), ErrSize)
	}
}

// A hello of an earlier session, however late, ends no session. One of a
// restarted host does, with the first frame of its session.
func TestNewEpoch(t *testing.T) {
	s, got := start(t, Config{}, Config{})
	late := seal(helloWord, append(unhex("5001"), s.links[0].ours(1234, 0)...))
	s.receive(1, late)
	require.NoError(t, s.send(0, write))
	s.run(50 * time.Millisecond)
	require.Len(t, got[1], 1)
	require.Equal(t, Up, s.links[1].State())

	s.do(0, func(l *Link, out *Output) { l.Open(10, s.now, out) })
	s.until(time.Second, "end of the old session", func() bool { return s.links[1].State() == Down })
	assert.ErrorIs(t, s.links[1].Err(), ErrNewEpoch)
	require.NoError(t, s.send(0, write))
	s.run(5 * time.Millisecond)
	s.do(1, func(l *Link, out *Output) { l.Open(11, s.now, out) })
	require.Equal(t, Up, s.links[1].State())
	s.until(time.Second, "delivery of the packet", func() bool { return len(got[1]) == 2 })
	s.run(20 * time.Millisecond)
	frames, _ := s.links[0].InFlight()
	assert.Zero(t, frames)

	old := s.links[0].past.words[0]
	before := s.links[1].Stats().Stale
	s.receive(1, seal(old, append(unhex("8001"), write...)))
	assert.Equal(t, before+1, s.links[1].Stats().Stale)
	assert.Len(t, got[1], 2)
}

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
	s, got := start(t, Config{}, Config{})
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

func TestClose(t *testing.T) {
	s, _ := start(t, Config{}, Config{})
	s.do(0, func(l *Link, out *Output) { l.Close(out) })
	s.run(5 * time.Millisecond)
	assert.ErrorIs(t, s.links[0].Err(), ErrClosed)
	assert.ErrorIs(t, s.links[1].Err(), ErrClosed)
	assert.ErrorIs(t, s.links[1].Err(), ErrPeerDown)
}

// L8: silence in either direction or both is detected in less than a second.
func TestDead(t *testing.T) {
	for name, cut := range map[string][2]bool{"both": {true, true}, "from the host": {true, false}, "from the board": {false, true}} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, Config{}, Config{})
			s.run(10 * time.Second)
			require.Equal(t, Up, s.links[0].State(), "idle for long")
			require.Equal(t, Up, s.links[1].State())
			for i := range cut {
				s.wires[i].cut = func(time.Duration) bool { return cut[i] }
			}
			s.run(800 * time.Millisecond)
			for i := range cut {
				err := s.links[1-i].Err()
				require.ErrorIs(t, err, ErrDead)
				if !cut[i] {
					assert.ErrorIs(t, err, ErrPeerDown, "notified by the end that received nothing")
				}
			}
		})
	}
}

// An impossible frame with a correct check ends the session.
func TestProtocolViolations(t *testing.T) {
	for name, body := range map[string]string{
		"short form cut off":             "9000 ff 0000",
		"no packet":                      "8000",
		"acknowledgement missing":        "c000 00",
		"acknowledgement too large":      "c000 1000 40000001",
		"credits beyond the first grant": "2000 0000 0000 0000 0000 0000 0019",
		"more than the largest size":     "9000 00",
	} {
		t.Run(name, func(t *testing.T) {
			credits := Credits{{}, {}, {0, 24}}
			s, got := start(t, Config{}, Config{Credits: credits})
			b := unhex(body)
			if name == "more than the largest size" {
				b = append(b, make([]byte, 269)...)
			}
			s.receive(0, seal(s.links[0].epoch, b))
			assert.ErrorIs(t, s.links[0].Err(), ErrProtocol)
			assert.Empty(t, got[0])
		})
	}
}

// L7: every frame is refused when truncated at any byte or with any bit
// flipped.
func TestDamage(t *testing.T) {
	s, got := start(t, Config{Credits: finite}, Config{Credits: finite})
	word := s.links[1].epoch
	for _, frame := range [][]byte{
		seal(word, append(unhex("8000"), write...)),
		seal(word, append(unhex("e000 0000"), appendForm(nil, formWrite, write)...)),
		seal(word, unhex("0000")), seal(word, unhex("1000 01")), seal(word, unhex("3000")), seal(word, unhex("7001")),
		seal(word, append(unhex("2000"), finite.append(nil)...)),
		seal(helloWord, append(unhex("5001"), s.links[0].ours(77, 0)...)),
	} {
		before := s.links[1].Stats()
		for n := range frame {
			s.receive(1, frame[:n])
		}
		for bit := range 8 * len(frame) {
			bad := append([]byte(nil), frame...)
			bad[bit/8] ^= 1 << (bit % 8)
			s.receive(1, bad)
		}
		after := s.links[1].Stats()
		assert.Equal(t, uint64(9*len(frame)), after.BadCheck+after.BadFrames-before.BadCheck-before.BadFrames)
		assert.Equal(t, before.FramesReceived, after.FramesReceived)
		require.Equal(t, Up, s.links[1].State())
	}
	assert.Empty(t, got[1])
}

func TestBatch(t *testing.T) {
	var b Batch
	for range 2 {
		b.add([]byte("ab"))
		b.add(nil)
		b.add([]byte("c"))
		require.Equal(t, 3, b.Len())
		assert.Equal(t, []string{"ab", "", "c"}, []string{string(b.At(0)), string(b.At(1)), string(b.At(2))})
		b.Reset()
		require.Zero(t, b.Len())
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

// The hello of a session that is up, or of one that has ended, is not answered.
func TestLateHello(t *testing.T) {
	s, _ := start(t, Config{}, Config{})
	l := s.links[1]
	hello := seal(helloWord, append(unhex("5001"), s.links[0].ours(9, 0)...))
	var out Output
	l.Receive(hello, s.now, &out)
	assert.Zero(t, out.Frames.Len())
	assert.Equal(t, uint64(1), l.Stats().Stale)
	assert.Equal(t, Up, l.State())

	l.Close(&out)
	l.Open(9, s.now, &out)
	out.Reset()
	l.Receive(hello, s.now, &out)
	assert.Zero(t, out.Frames.Len())
	assert.Equal(t, uint64(2), l.Stats().Stale)
}

// Round trips of equal length have no deviation, but the timeout still has a
// margin: a frame that is slightly late is not lost (RFC 6298 §2.3).
func TestTimeoutHasMargin(t *testing.T) {
	l, err := New(Config{})
	require.NoError(t, err)
	for range 200 {
		l.tx.measure(100 * time.Millisecond)
	}
	assert.Less(t, l.tx.spread, time.Millisecond)
	assert.GreaterOrEqual(t, l.timeout(&txSlot{sends: 1}), 120*time.Millisecond)
}

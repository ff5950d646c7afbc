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

// helloFrame returns the Hello of a host.
func helloFrame(l *Link, host, board uint32) []byte {
	h := l.ours(host, board)
	return seal(helloWord, h.append(unhex("5003")))
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
	hello := "5003 28 00 0118 0040 003f 0000 0000 000003e8 cafe0001 00000007 00000000 0018 0198 000c 00cc 0000 0000 01 00 bbad8c47"
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

	h.tx.first, h.tx.next, h.rx.next = 4096, 4096, 4096
	out.Reset()
	h.sendAcked(typeAck, nil, &out)
	require.NoError(t, h.Send(write, 0, &out))
	assert.Equal(t, unhex("0000 7130d093"), out.Frames.At(0))
	assert.Equal(t, append(unhex("a000"), out.Frames.At(1)[2:]...), out.Frames.At(1), "a short form of frame 4096")
	word := crc32.ChecksumIEEE(out.Frames.At(1)[:len(out.Frames.At(1))-4]) ^ binary.BigEndian.Uint32(out.Frames.At(1)[len(out.Frames.At(1))-4:])
	assert.Equal(t, h.epoch^0x9e3779b1, word)
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
		helloFrame(s.links[0], 77, 0),
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

// add appends a string to a batch.
func add(b *Batch, text string) {
	b.open()
	b.buf = append(b.buf, text...)
	b.close()
}

func TestBatch(t *testing.T) {
	var b Batch
	for range 2 {
		add(&b, "ab")
		add(&b, "")
		add(&b, "c")
		require.Equal(t, 3, b.Len())
		assert.Equal(t, []string{"ab", "", "c"}, []string{string(b.At(0)), string(b.At(1)), string(b.At(2))})
		b.Reset()
		require.Zero(t, b.Len())
	}
}

func TestLentBatch(t *testing.T) {
	for _, room := range []int{0, 64} {
		buf := append(make([]byte, 0, 5+room), "first"...)
		var b Batch
		b.Lend(buf, 2)
		for range 2 {
			add(&b, "unwanted")
			b.Reset()
		}
		require.Zero(t, b.Len())
		assert.Equal(t, "first", string(buf))
		b.Lend(buf, 2)
		add(&b, "ab")
		add(&b, "c")
		require.Equal(t, 2, b.Len())
		assert.Equal(t, []string{"ab", "c"}, []string{string(b.At(0)), string(b.At(1))})
		copy(b.Gap(0), "<1")
		copy(b.Gap(1), "<2")
		assert.Equal(t, "first<1ab<2c", string(b.Take()))
		require.Zero(t, b.Len())
		add(&b, "own memory")
		assert.Equal(t, "own memory", string(b.At(0)))
		assert.Equal(t, "first", string(buf))
	}
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

// TestSmallWindow: an end does not let a peer with a small window wait for the delay of
// acknowledgements. A window of 2 would be used up.
func TestSmallWindow(t *testing.T) {
	for _, tt := range []struct {
		window, before int // packets without an acknowledgement
	}{{1, 0}, {2, 0}, {8, 3}, {64, 15}} {
		s, _ := start(t, Config{AckEvery: 16, AckDelay: 5 * time.Millisecond}, Config{Window: tt.window})
		acks := func() int { return int(s.links[0].stats.FramesSent) }
		at := acks()
		for range tt.before {
			require.NoError(t, s.send(1, write))
		}
		s.run(time.Millisecond)
		require.Equal(t, at, acks(), "window of %d", tt.window)
		require.NoError(t, s.send(1, write))
		s.run(time.Millisecond)
		require.Equal(t, at+1, acks(), "window of %d", tt.window)
	}
}

package datalink

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// queue queues packets that wait for each other, and sends them.
func (s *sim) queue(end int, packets ...[]byte) {
	s.do(end, func(l *Link, out *Output) {
		for _, p := range packets {
			_, err := l.Queue(bytes.Clone(p))
			require.NoError(s.t, err)
		}
		l.SendWaiting(s.now, out)
	})
}

// dataFrames records the data frames that an end sends.
func (s *sim) dataFrames(end int) *[][]byte {
	all := new([][]byte)
	s.wires[end].drop = func(f []byte) bool {
		if isData(f) {
			*all = append(*all, bytes.Clone(f))
		}
		return false
	}
	return all
}

// The frame is encoded by hand from the table of bundle.go. The checks come from Python's
// zlib.crc32.
func TestGoldenBundle(t *testing.T) {
	var out, answer Output
	h, err := New(Config{MapHash: 0xcafe0001, Credits: finite, Bundle: 1024})
	require.NoError(t, err)
	b, err := New(Config{Role: Board, Bundle: 1024})
	require.NoError(t, err)
	b.Open(9, 0, &out)
	h.Open(7, 0, &out)
	assert.Equal(t, unhex("5003 28 00 0118 0040 003f 0000 0000 000003e8 cafe0001 00000007 00000000 0018 0198 000c 00cc 0000 0000 01 00 05 02 0400 b632710d"), out.Frames.At(0))
	b.Receive(out.Frames.At(0), 0, &answer)
	out.Reset()
	h.Receive(answer.Frames.At(0), 0, &out)
	out.Reset()
	for _, p := range [][]byte{write, read} {
		_, err := h.Queue(bytes.Clone(p))
		require.NoError(t, err)
	}
	require.Zero(t, out.Frames.Len(), "they wait")
	h.SendWaiting(0, &out)
	require.Equal(t, 1, out.Frames.Len())
	assert.Equal(t, unhex("c000 8000 0010 40000001 0000000f fe001014 01020304 000c 00000001 0000050f fe001010 0b6d93dc"), out.Frames.At(0))
	answer.Reset()
	b.Receive(out.Frames.At(0), 0, &answer)
	require.Equal(t, 2, answer.Packets.Len())
	assert.Equal(t, write, answer.Packets.At(0))
	assert.Equal(t, read, answer.Packets.At(1))
}

// TestBundleAgreed: the smaller size of the ends and the datagram apply. An end without the
// option gets one packet in each frame.
func TestBundleAgreed(t *testing.T) {
	for name, tt := range map[string]struct {
		host, board Config
		want        int
	}{
		"both":        {Config{Bundle: 900}, Config{Bundle: 800}, 800},
		"host only":   {Config{Bundle: 900}, Config{}, 0},
		"board only":  {Config{}, Config{Bundle: 900}, 0},
		"datagrams":   {Config{Bundle: 900, Datagram: 1400}, Config{Bundle: 900, Datagram: 600}, 598},
		"stream only": {Config{Bundle: 900, Datagram: 1400}, Config{Bundle: 900}, 900},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.board.Datagram == 0 && tt.host.Datagram > 0 {
				tt.host.Datagram = 0 // both ends have the same transport
			}
			s, got := start(t, tt.host, tt.board)
			for i := range s.links {
				assert.Equal(t, tt.want, s.links[i].Bundle())
			}
			frames := s.dataFrames(0)
			packets := [][]byte{write, read, write}
			s.queue(0, packets...)
			s.run(20 * time.Millisecond)
			assert.Equal(t, packets, got[1])
			want := 3
			if tt.want > 0 {
				want = 1
			}
			assert.Len(t, *frames, want)
		})
	}
	s, _ := start(t, Config{Bundle: 900}, Config{Bundle: 900})
	s.do(0, func(l *Link, out *Output) { l.Close(out) })
	assert.Zero(t, s.links[0].Bundle(), "down")
}

// TestBundleOnlyOfWaiting: a packet that may be sent is sent at once, alone and in its short
// form. Packets that wait for the window share the next frame, up to its size.
func TestBundleOnlyOfWaiting(t *testing.T) {
	c := Config{Bundle: 8 + 3*(2+16), Window: 1}
	s, got := start(t, c, c)
	frames := s.dataFrames(0)
	for range 6 {
		require.NoError(t, s.send(0, write))
	}
	require.Len(t, *frames, 1, "the window is one frame")
	assert.Equal(t, 2, int((*frames)[0][0]>>4&3), "the short form of a write")
	s.run(100 * time.Millisecond)
	assert.Len(t, got[1], 6)
	var sizes []int
	for _, f := range *frames {
		sizes = append(sizes, len(f))
	}
	assert.Equal(t, []int{8 + 3*(2+16), 8 + 2*(2+16)}, sizes[1:], "just three packets fit")
	assert.Equal(t, uint64(6), s.links[0].Stats().PacketsSent)
	assert.Equal(t, uint64(6), s.links[1].Stats().PacketsReceived)
}

// TestBundleCredits: each packet needs credits, and the order is that of single packets.
func TestBundleCredits(t *testing.T) {
	c := Config{Bundle: 1024}
	for _, tt := range []struct {
		name    string
		credits Credits
		send    [][]byte
		want    [][]byte // in the first frame
	}{
		{"infinite", Credits{}, [][]byte{read, write, replyPacket}, [][]byte{read, write, replyPacket}},
		{"a write passes a read", Credits{{}, {1, 0}}, [][]byte{read, read, write}, [][]byte{read, write}},
		{"nothing passes a write", Credits{{2, 0}}, [][]byte{write, write, write, read, replyPacket}, [][]byte{write, write}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			board := c
			board.Credits = tt.credits
			s, got := start(t, c, board)
			frames := s.dataFrames(0)
			s.queue(0, tt.send...)
			require.Len(t, *frames, 1)
			s.run(20 * time.Millisecond)
			require.Equal(t, tt.want, got[1])
			for n := 0; n < len(got[1]); n++ {
				s.release(1, got[1][n])
				s.run(150 * time.Millisecond)
			}
			assert.ElementsMatch(t, tt.send, got[1])
			assert.NoError(t, s.links[1].Err())
		})
	}
}

// TestBundleWithoutCredits: a peer that sends more packets in a frame than it has credits
// for violates the protocol. The packets before are delivered.
func TestBundleWithoutCredits(t *testing.T) {
	s, got := start(t, Config{Bundle: 1024}, Config{Bundle: 1024, Credits: Credits{{2, 0}}})
	s.receive(1, bundleOf(s.links[1], 0xc000, 0x8000, write, write, write))
	assert.ErrorIs(t, s.links[1].Err(), ErrProtocol)
	assert.Len(t, got[1], 2)
}

// bundleOf returns a frame with a correct check.
func bundleOf(l *Link, head, ack uint16, packets ...[]byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, head)
	b = binary.BigEndian.AppendUint16(b, ack)
	for _, p := range packets {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return seal(l.epoch, b)
}

// TestMalformedBundles: a frame whose packets do not fill it is refused and counted, and no
// packet of it is delivered.
func TestMalformedBundles(t *testing.T) {
	const largest = 1024
	large := bytes.Repeat([]byte{0x40}, 280)
	full := [][]byte{large, large, large, bytes.Repeat([]byte{0x40}, largest-8-3*282-2)}
	cutOff := func(n int) func(*Link) []byte {
		return func(l *Link) []byte {
			f := bundleOf(l, 0xc000, 0x8000, write, write)
			return seal(l.epoch, f[:len(f)-4-n])
		}
	}
	for _, tt := range []struct {
		name  string
		peer  int // size that the peer takes
		frame func(l *Link) []byte
		want  int // packets; 0: refused
	}{
		{"two packets", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, read) }, 2},
		{"the largest frame", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, full...) }, 4},
		{"larger than the peer takes", largest - 1, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, full...) }, 0},
		{"the session has none", 0, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, read) }, 0},
		{"a form", largest, func(l *Link) []byte { return bundleOf(l, 0xe000, 0x8000, write, read) }, 0},
		{"no packet", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000) }, 0},
		{"one packet", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write) }, 0},
		{"an empty packet", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, nil, read) }, 0},
		{"an empty packet at the end", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, read, nil) }, 0},
		{"the largest packet", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, large) }, 2},
		{"a packet too large", largest, func(l *Link) []byte { return bundleOf(l, 0xc000, 0x8000, write, append(large, 0)) }, 0},
		{"a packet cut off", largest, cutOff(1), 0},
		{"a packet without bytes", largest, cutOff(16), 0},
		{"half a length", largest, cutOff(17), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, got := start(t, Config{Bundle: tt.peer}, Config{Bundle: largest})
			s.receive(1, tt.frame(s.links[1]))
			st := s.links[1].Stats()
			assert.Len(t, got[1], tt.want)
			if tt.want > 0 {
				assert.NoError(t, s.links[1].Err())
				assert.Zero(t, st.BadFrames)
				return
			}
			assert.ErrorIs(t, s.links[1].Err(), ErrProtocol)
			assert.Equal(t, uint64(1), st.BadFrames)
		})
	}
}

// TestLostBundle: a lost frame is sent again as it was, once, and what arrived after it waits.
func TestLostBundle(t *testing.T) {
	c := Config{Bundle: 1024}
	s, got := start(t, c, c)
	var sent [][]byte
	lost := false
	s.wires[0].drop = func(f []byte) bool {
		if !isData(f) {
			return false
		}
		sent = append(sent, bytes.Clone(f))
		first := !lost
		lost = true
		return first
	}
	packets := [][]byte{}
	for i := range 9 {
		p := bytes.Clone(write)
		p[15] = byte(i)
		packets = append(packets, p)
	}
	s.queue(0, packets[:3]...)
	s.queue(0, packets[3:6]...)
	s.queue(0, packets[6:]...)
	s.run(50 * time.Millisecond)
	require.Equal(t, packets, got[1])
	require.Len(t, sent, 4)
	assert.Equal(t, sent[0][4:len(sent[0])-4], sent[3][4:len(sent[3])-4], "the same packets")
	assert.Equal(t, uint64(1), s.links[0].Stats().Replays)
	assert.Equal(t, uint64(2), s.links[1].Stats().OutOfOrder)
	frames, waiting := s.links[0].InFlight()
	assert.Zero(t, frames+waiting)
}

// TestBundleSize: the first frames of a session are small. Frames grow on a path that
// carries them, and become small on one that damages one byte in 2,000.
func TestBundleSize(t *testing.T) {
	c := Config{Adapt: true, ReplayLimit: 64, Bundle: 4096, Queue: 256}
	s, _ := start(t, c, c)
	f := flood{t: t, size: 140, total: 1 << 30}
	s.got = func(_ int, p []byte) { f.take(p) }
	rng := rand.New(rand.NewPCG(1, 1))
	harm := 0.0 // of a byte
	frames, sum := 0, 0
	s.wires[0].rate = 10_000_000
	s.wires[0].drop = func(p []byte) bool {
		frames++
		sum += len(p)
		return rng.Float64() > math.Pow(1-harm, float64(len(p)))
	}
	flow := func(d time.Duration) (mean int) {
		for end := s.now + d; s.now < end; {
			if s.now < end-d/2 {
				frames, sum = 0, 0
			}
			f.fill(s, 0, func(int) tlp.Class { return tlp.Posted })
			s.step(end)
		}
		return sum / max(frames, 1)
	}
	require.LessOrEqual(t, s.links[0].Most(), 1024)
	assert.InDelta(t, 4096, flow(500*time.Millisecond), 400)
	harm = 1.0 / 2000
	assert.InDelta(t, 500, flow(4*time.Second), 400)
	for i := range s.links {
		require.NoError(t, s.links[i].Err())
	}
}

// TestBundleOnSlowPath: one frame takes at most a quarter of what may be in flight.
func TestBundleOnSlowPath(t *testing.T) {
	for _, rate := range []int{11_520, 100_000, 1_000_000} {
		c := Config{Adapt: true, ReplayLimit: 64, Bundle: 8192, Queue: 256}
		s := newSim(t, 1, faults{}, c, c)
		largest := 0
		for _, w := range s.wires {
			w.rate, w.latency = rate, 200*time.Microsecond
		}
		s.wires[0].drop = func(f []byte) bool { largest = max(largest, len(f)); return false }
		s.open(9)
		s.up()
		n, queued := bulk(s, newBulk(s), 4*time.Second)
		assert.Greater(t, float64(n)/2, 0.9*float64(rate), "goodput at %d bytes a second", rate)
		assert.LessOrEqual(t, largest, max(272+Overhead, (18<<10)/4+rate/4*3/1000), "frame at %d bytes a second", rate)
		assert.Less(t, queued, 110*time.Millisecond, "%d bytes a second", rate)
	}
}

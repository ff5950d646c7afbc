package enframe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// encode returns a frame on the line, without the delimiter before it.
func encode(frame []byte, word uint32) []byte {
	var out []byte
	group := []byte{1}
	for _, b := range binary.BigEndian.AppendUint32(frame[:len(frame):len(frame)], crc32.ChecksumIEEE(frame)^word) {
		if b == 0 {
			out, group = append(out, group...), []byte{1}
		} else {
			group = append(group, b)
			group[0]++
		}
	}
	return append(append(out, group...), 0)
}

// A bench clocks a transmitter.
type bench struct {
	m     Module
	line  []byte
	clock int
}

func newBench(limit int) *bench { return &bench{m: New(limit)} }

// tick clocks the transmitter, and reports whether it has taken the byte.
func (b *bench) tick(t *testing.T, valid bool, data uint8, last bool, word uint32, ready bool) bool {
	full, v := b.m.Byte()
	room, taken := b.m.Room(), valid && b.m.Ready()
	if again, w := b.m.Byte(); again != full || w != v || room != b.m.Room() || taken != (valid && b.m.Ready()) {
		t.Fatal("outputs that differ")
	}
	if full && ready {
		b.line = append(b.line, v)
	}
	b.m.Tick(valid, data, last, word, ready)
	b.clock++
	return taken
}

// send sends a frame, and waits in some clocks in which pause is set. ready is that of the
// line. It returns when there is room again or after many clocks.
func (b *bench) send(t *testing.T, frame []byte, word uint32, pause, ready func() bool) {
	for i := 0; i < len(frame); {
		if pause() {
			b.tick(t, false, 0xa5, true, 0x12345678, ready())
		} else if b.tick(t, true, frame[i], i == len(frame)-1, word, ready()) {
			i++
		}
		require.Less(t, b.clock, 1<<20, "a frame that is not taken")
	}
	for range 8 {
		b.tick(t, false, 0, false, word, ready())
	}
}

// drain clocks until the line has nothing to send.
func (b *bench) drain(t *testing.T) {
	for idle := 0; idle < 4; idle++ {
		if full, _ := b.m.Byte(); full {
			idle = 0
		}
		b.tick(t, false, 0, false, 0, true)
	}
}

func never() bool  { return false }
func always() bool { return true }

// sometimes returns a function that reports true one in n times.
func sometimes(r *rand.Rand, n int) func() bool { return func() bool { return r.IntN(n) == 0 } }

// The CRC of "123456789" is 0xcbf43926; worked out by hand from there.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame string
		word  uint32
		want  string
	}{
		{"a frame", "123456789", 0, "\x00\x0e123456789\xcb\xf4\x39\x26\x00"},
		{"a word", "123456789", 0x01000080, "\x00\x0e123456789\xca\xf4\x39\xa6\x00"},
		{"zeros in the check", "123456789", 0xcbf43926, "\x00\x0a123456789\x01\x01\x01\x01\x00"},
		{"a zero at the end of the check", "123456789", 0x26, "\x00\x0d123456789\xcb\xf4\x39\x01\x00"},
		{"zeros, whose CRC is 0x41d912ff", "\x00\x00", 0, "\x00\x01\x01\x05\x41\xd9\x12\xff\x00"},
		{"a zero, whose CRC is 0xd202ef8d", "\x00", 0, "\x00\x01\x05\xd2\x02\xef\x8d\x00"},
	} {
		b := newBench(160)
		b.send(t, []byte(tt.frame), tt.word, never, always)
		b.drain(t)
		assert.Equal(t, []byte(tt.want), b.line, tt.name)
	}
}

// random returns n bytes, some of them zeros.
func random(r *rand.Rand, n, zeros int) []byte {
	out := make([]byte, n)
	for i := range out {
		if zeros == 0 || r.IntN(10) >= zeros {
			out[i] = uint8(1 + r.IntN(255))
		}
	}
	return out
}

// Frames of each size up to the limit, with any number of zeros.
func TestSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{6, 36, 160, MaxFrame} {
		for n := 1; n <= limit-checkBytes; n++ {
			for _, zeros := range []int{0, 1, 4, 10} {
				frame, word := random(r, n, zeros), r.Uint32()
				b := newBench(limit)
				b.send(t, frame, word, never, always)
				b.drain(t)
				require.Equal(t, append([]byte{0}, encode(frame, word)...), b.line, "%d bytes", n)
			}
		}
	}
}

// A byte is taken every second clock, and a frame may begin 8 clocks after the last one.
func TestTiming(t *testing.T) {
	b := newBench(160)
	assert.True(t, b.m.Room())
	assert.False(t, b.m.Ready(), "the delimiter is first")
	var taken []int
	for i := 0; i < 6; {
		if b.tick(t, true, uint8(i), i == 5, 0, false) {
			taken = append(taken, b.clock)
			i++
		}
	}
	assert.Equal(t, []int{2, 4, 6, 8, 10, 12}, taken)
	for range 7 {
		assert.False(t, b.m.Room())
		assert.False(t, b.m.Ready())
		b.tick(t, false, 0, false, 0, false)
	}
	assert.True(t, b.m.Room())
	assert.True(t, b.m.Ready(), "a frame follows in the same queue")
}

// Frames share a delimiter unless the line had nothing to send before the second one.
func TestDelimiter(t *testing.T) {
	first, second := []byte("abc"), []byte("defg")
	b := newBench(160)
	b.send(t, first, 0, never, never)
	b.send(t, second, 0, never, never)
	b.drain(t)
	b.send(t, first, 0, never, always)
	b.drain(t)
	want := append([]byte{0}, encode(first, 0)...)
	want = append(want, encode(second, 0)...)
	want = append(want, 0)
	want = append(want, encode(first, 0)...)
	assert.Equal(t, want, b.line)
}

// split returns the pieces between delimiters.
func split(line []byte) (out []string) {
	piece := []byte{}
	for _, b := range line {
		if b != 0 {
			piece = append(piece, b)
		} else if len(piece) > 0 {
			out, piece = append(out, string(piece)), nil
		}
	}
	return out
}

// Many frames at all speeds of the line and with pauses: none is lost, no delimiter is
// missing, and the queue is never too full, which is an assertion.
func TestRandom(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 5))
		limit := []int{6, 36, 160, 200, MaxFrame}[r.IntN(5)]
		b := newBench(limit)
		pause, ready := sometimes(r, 2+r.IntN(4)), sometimes(r, 1+r.IntN(30))
		if seed%3 == 0 {
			pause = never
		}
		if seed%5 == 0 {
			ready = always
		}
		var want []string
		for range 30 {
			n := 1 + r.IntN(limit-checkBytes)
			if r.IntN(3) == 0 {
				n = limit - checkBytes
			}
			frame, word := random(r, n, []int{0, 0, 1, 5, 10}[r.IntN(5)]), r.Uint32()
			b.send(t, frame, word, pause, ready)
			want = append(want, split(encode(frame, word))...)
			if r.IntN(8) == 0 {
				b.drain(t)
			}
		}
		b.drain(t)
		require.Equal(t, want, split(b.line), "seed %d", seed)
		require.Zero(t, b.line[0])
		require.Zero(t, b.line[len(b.line)-1])
	}
}

// While the line stands still, frames are taken as long as the largest one has room. A
// byte that was offered stays.
func TestFull(t *testing.T) {
	for _, limit := range []int{36, 160, MaxFrame} {
		for _, zeros := range []int{0, 10} {
			r := rand.New(rand.NewPCG(6, 7))
			b := newBench(limit)
			frame := random(r, limit-checkBytes, zeros)
			var want []string
			for b.m.Room() {
				require.Less(t, len(want), 20)
				b.send(t, frame, 7, never, never)
				want = append(want, split(encode(frame, 7))...)
			}
			assert.GreaterOrEqual(t, len(want), 1)
			if limit <= 160 {
				assert.GreaterOrEqual(t, len(want)*limit, 200, "half of the queue is of use")
			}
			for range 5 {
				assert.False(t, b.m.Ready())
				full, v := b.m.Byte()
				assert.True(t, full)
				b.tick(t, true, 1, true, 0, false)
				_, w := b.m.Byte()
				assert.Equal(t, v, w)
			}
			for !b.m.Room() {
				b.tick(t, false, 0, false, 0, true)
			}
			b.send(t, frame, 7, never, never)
			b.drain(t)
			assert.Equal(t, append(want, split(encode(frame, 7))...), split(b.line))
		}
	}
}

// A reset in any clock drops everything, and the next frame is as after New.
func TestReset(t *testing.T) {
	frame := []byte{1, 2, 0, 4}
	for clocks := range 40 {
		b := newBench(160)
		for i := 0; b.clock < clocks; {
			if b.tick(t, i < 8, frame[i%4], i%4 == 3, 9, b.clock%3 == 0) {
				i++
			}
		}
		b.m.Reset()
		full, _ := b.m.Byte()
		require.False(t, full)
		require.True(t, b.m.Room())
		b.line = nil
		b.send(t, frame, 5, never, always)
		b.drain(t)
		require.Equal(t, append([]byte{0}, encode(frame, 5)...), b.line, "after %d clocks", clocks)
	}
}

func TestNew(t *testing.T) {
	assert.Panics(t, func() { New(4) })
	assert.Panics(t, func() { New(MaxFrame + 1) })
	b := newBench(MaxFrame)
	assert.Panics(t, func() { b.send(t, random(rand.New(rand.NewPCG(1, 1)), 300, 0), 0, never, never) }, "a frame above the limit")
}

func ExampleModule() {
	m := New(160)
	for i, frame := 0, "hello"; ; {
		full, b := m.Byte()
		if full {
			fmt.Printf("%02x ", b)
		}
		if i == len(frame) && m.Room() && !full {
			break
		}
		valid := i < len(frame)
		data := uint8(0)
		if valid {
			data = frame[i]
		}
		ready := m.Ready()
		m.Tick(valid, data, i == len(frame)-1, 0, true)
		if valid && ready {
			i++
		}
	}
	// Output: 00 0a 68 65 6c 6c 6f 36 10 a6 86 00
}

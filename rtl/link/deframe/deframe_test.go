package deframe

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lost is a byte of a stream that the line has lost.
const lost = 256

// stuff returns a frame in its groups, as a test has them: each zero ends one.
func stuff(frame []byte) []uint16 {
	var out []uint16
	group := []uint16{1}
	for _, b := range frame {
		if b == 0 {
			out = append(out, group...)
			group = []uint16{0}
		} else {
			group = append(group, uint16(b))
		}
		group[0] = uint16(len(group))
	}
	return append(out, group...)
}

// unstuff reverses stuff.
func unstuff(piece []uint16) (frame []byte, ok bool) {
	for i := 0; i < len(piece); {
		code := int(piece[i])
		if code >= 254 || i+code > len(piece) {
			return nil, false
		}
		if i > 0 {
			frame = append(frame, 0)
		}
		for _, b := range piece[i+1 : i+code] {
			frame = append(frame, uint8(b))
		}
		i += code
	}
	return frame, true
}

// model returns the frames of a stream, and the number of pieces that are damaged.
func model(stream []uint16, limit int) (frames [][]byte, damaged int) {
	var piece []uint16
	for _, b := range stream {
		if b != 0 {
			piece = append(piece, b)
			continue
		}
		if len(piece) > 0 && piece[0] != textKind {
			f, ok := unstuff(piece)
			if !ok || slices.Contains(piece, lost) || len(f) < MinFrame || len(f) > limit {
				damaged++
			} else {
				frames = append(frames, f)
			}
		}
		piece = nil
	}
	return frames, damaged
}

// A received frame is what the buffer has of it.
type received struct {
	body []byte
	word uint32
}

func receivedOf(f []byte) received {
	n := len(f) - checkBytes
	return received{f[:n:n], crc32.ChecksumIEEE(f[:n]) ^ binary.BigEndian.Uint32(f[n:])}
}

// A bench clocks a receiver and reads its frames.
type bench struct {
	m                 Module
	frames            []received
	damaged, overflow int
	hold              bool // no frame is read
	data              []byte
	waits             bool // a read was made
}

func newBench(limit int) *bench { return &bench{m: New(limit)} }

// tick clocks the receiver. The bench makes a read, or a release, if there is a frame.
func (b *bench) tick(t *testing.T, valid bool, in uint8, broken bool) {
	there, half := b.m.Frame()
	data := b.m.Data()
	if again, _ := b.m.Frame(); again != there || b.m.Other() && !there || b.m.Data() != data {
		t.Fatal("outputs that differ, or another frame without one")
	}
	if b.waits {
		b.data = append(b.data, data)
		b.waits = false
	}
	read, release, at := false, false, uint32(half)<<8
	switch {
	case !there || b.hold:
	case len(b.data) == 0:
		read, at = true, at|AtLength
	case len(b.data) <= int(b.data[0]):
		read, at = true, at|uint32(len(b.data)-1)
	case len(b.data) <= int(b.data[0])+checkBytes:
		read, at = true, at|uint32(AtWord+len(b.data)-1-int(b.data[0]))
	default:
		n := 1 + int(b.data[0])
		b.frames = append(b.frames, received{append([]byte{}, b.data[1:n]...), binary.BigEndian.Uint32(b.data[n:])})
		b.data, release = nil, true
	}
	b.waits = read
	b.m.Tick(valid, in, broken, read, at, release, false)
	if b.m.Damaged() {
		b.damaged++
	}
	if b.m.Overflow() {
		b.overflow++
	}
}

// send sends a stream, a byte every gap clocks.
func (b *bench) send(t *testing.T, stream []uint16, gap func() int) {
	for _, v := range stream {
		b.tick(t, v != lost, uint8(v), v == lost)
		for range gap() - 1 {
			b.tick(t, false, 0x5a, false)
		}
	}
}

// drain clocks until all frames were read.
func (b *bench) drain(t *testing.T) {
	for idle := 0; idle < 8; idle++ {
		if there, _ := b.m.Frame(); there {
			idle = 0
		}
		b.tick(t, false, 0, false)
	}
}

func two() int { return 2 }

// The CRC of "123456789" is 0xcbf43926; worked out by hand from there.
func TestGolden(t *testing.T) {
	digits := []uint16{'1', '2', '3', '4', '5', '6', '7', '8', '9'}
	for _, tt := range []struct {
		name   string
		stream []uint16
		want   []received
	}{
		{"a frame", slices.Concat([]uint16{0, 14}, digits, []uint16{0xcb, 0xf4, 0x39, 0x26, 0}), []received{{[]byte("123456789"), 0}}},
		{"a word", slices.Concat([]uint16{0, 14}, digits, []uint16{0xca, 0xf4, 0x39, 0xa6, 0}), []received{{[]byte("123456789"), 0x01000080}}},
		{"zeros in the check", slices.Concat([]uint16{0, 10}, digits, []uint16{1, 1, 1, 1, 0}), []received{{[]byte("123456789"), 0xcbf43926}}},
		{"no delimiter before it", slices.Concat([]uint16{14}, digits, []uint16{0xcb, 0xf4, 0x39, 0x26, 0}), []received{{[]byte("123456789"), 0}}},
		{"zeros, whose CRC is 0x41d912ff", []uint16{0, 1, 1, 5, 0x41, 0xd9, 0x12, 0xff, 0}, []received{{[]byte{0, 0}, 0}}},
		{"text", []uint16{0, 255, 2, 'o', 'k', 0}, nil},
		{"text like a frame", slices.Concat([]uint16{0, 255, 14}, digits, []uint16{0xcb, 0xf4, 0x39, 0x26, 0}), nil},
	} {
		b := newBench(160)
		b.send(t, tt.stream, two)
		b.drain(t)
		assert.Equal(t, tt.want, b.frames, tt.name)
		assert.Zero(t, b.damaged, tt.name)
		assert.Zero(t, b.overflow, tt.name)
	}
}

// A frame is there 5 clocks after its delimiter, and a byte may arrive in every second
// clock from its delimiter on.
func TestTiming(t *testing.T) {
	b := newBench(160)
	b.hold = true
	frame := []byte{1, 2, 3, 4, 5, 6}
	b.send(t, append(stuff(frame), 0), func() int { return 2 })
	for clock := 2; clock < 5; clock++ {
		there, _ := b.m.Frame()
		assert.False(t, there, "%d clocks after the delimiter", clock)
		b.tick(t, false, 0, false)
	}
	there, half := b.m.Frame()
	assert.True(t, there)
	assert.Zero(t, half)
}

// sizes are the limits under test.
var sizes = []int{MinFrame, 7, 36, 160, 164, MaxFrame}

// Each size is taken from MinFrame to the limit, with any number of zeros, and dropped
// outside.
func TestSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range sizes {
		for n := 1; n <= min(limit+12, 252); n++ {
			for _, zeros := range []int{0, 1, 4, 10} {
				frame := make([]byte, n)
				for i := range frame {
					if zeros == 0 || r.IntN(10) >= zeros {
						frame[i] = uint8(1 + r.IntN(255))
					}
				}
				b := newBench(limit)
				b.send(t, append(stuff(frame), 0), two)
				b.drain(t)
				if n >= MinFrame && n <= limit {
					require.Equal(t, []received{receivedOf(frame)}, b.frames, "%d bytes of %d", n, limit)
					require.Zero(t, b.damaged)
				} else {
					require.Empty(t, b.frames, "%d bytes of %d", n, limit)
					require.Equal(t, 1, b.damaged, "%d bytes of %d", n, limit)
				}
			}
		}
	}
}

// A lost byte, a wrong code and a piece that is cut off drop one frame each.
func TestDamage(t *testing.T) {
	first, second := []byte{1, 0, 2, 3, 0, 0, 4, 5}, []byte{9, 8, 7, 6, 5, 4, 3}
	good := append(stuff(first), 0)
	rest := append(stuff(second), 0)
	for i := range good {
		for _, tt := range []struct {
			name string
			bad  []uint16
		}{
			{"lost", slices.Concat(good[:i], []uint16{lost}, good[i+1:])},
			{"lost more", slices.Concat(good[:i], []uint16{lost}, good[i:])},
			{"missing", slices.Concat(good[:i], good[i+1:])},
			{"cut", append(slices.Clone(good[:i]), 0)},
			{"doubled", slices.Concat(good[:i+1], good[i:])},
			{"code 254", slices.Concat(good[:i], []uint16{254}, good[i+1:])},
			{"code 255", slices.Concat(good[:i], []uint16{255}, good[i+1:])},
		} {
			stream := slices.Concat(rest, tt.bad, rest, rest)
			frames, damaged := model(stream, 160)
			var want []received
			for _, f := range frames {
				want = append(want, receivedOf(f))
			}
			b := newBench(160)
			b.send(t, stream, two)
			b.drain(t)
			require.Equal(t, want, b.frames, "%s at %d", tt.name, i)
			require.Equal(t, damaged, b.damaged, "%s at %d", tt.name, i)
			require.Zero(t, b.overflow)
		}
	}
}

// randomStream returns frames, text, garbage and lost bytes.
func randomStream(r *rand.Rand, limit, pieces int) []uint16 {
	var out []uint16
	for range pieces {
		frame := make([]byte, MinFrame-1+r.IntN(limit-MinFrame+3))
		dense := r.IntN(3)
		for i := range frame {
			if dense == 0 || dense == 1 && r.IntN(2) == 0 {
				frame[i] = uint8(1 + r.IntN(255))
			}
		}
		piece := stuff(frame)
		switch r.IntN(10) {
		case 0:
			piece = slices.Insert(piece, 0, textKind)
		case 1:
			piece[r.IntN(len(piece))] = lost
		case 2:
			piece[r.IntN(len(piece))] ^= 1 << r.IntN(8)
		case 3:
			piece = slices.Delete(piece, r.IntN(len(piece)), len(piece))
		case 4:
			for range r.IntN(600) {
				piece = append(piece, uint16(r.IntN(lost+1)))
			}
		case 5:
			piece = append(piece, 0, 0)
		}
		out = append(append(out, piece...), 0)
	}
	return out
}

// Streams with all kinds of damage: the model's frames arrive in order, each bad piece is
// counted once.
func TestRandom(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		limit := sizes[r.IntN(len(sizes))]
		stream := randomStream(r, limit, 60)
		frames, damaged := model(stream, limit)
		b := newBench(limit)
		slow := 1 + r.IntN(4)
		good := 0
		for len(stream) > 0 {
			n := slices.Index(stream, 0) + 1
			b.send(t, stream[:n], func() int { return 2 + r.IntN(slow) + 3*(r.IntN(40)/39) })
			more, _ := model(stream[:n], limit)
			good += len(more)
			for good-len(b.frames) > 1 {
				b.tick(t, false, 0, false)
			}
			stream = stream[n:]
		}
		b.drain(t)
		require.Len(t, b.frames, len(frames), "seed %d", seed)
		for i, f := range frames {
			require.Equal(t, receivedOf(f), b.frames[i], "seed %d, frame %d", seed, i)
		}
		require.Equal(t, damaged, b.damaged, "seed %d", seed)
		require.Zero(t, b.overflow, "seed %d", seed)
	}
}

// Package link compares the frames of a link in hardware with those of the host.
package link

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/link/deframe"
	"github.com/hilgpu/hilgpu/rtl/link/enframe"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

// checked returns a frame with its check.
func checked(body []byte, word uint32) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.ChecksumIEEE(body)^word)
}

// body returns n bytes: without zeros, with some, or only zeros.
func body(r *rand.Rand, n int) []byte {
	out, kind := make([]byte, n), r.IntN(4)
	for i := range out {
		switch {
		case kind == 0:
			out[i] = byte(1 + r.IntN(255))
		case kind == 1:
			out[i] = byte(r.Uint32())
		case kind == 2 && r.IntN(2) == 0:
			out[i] = byte(r.Uint32())
		}
	}
	return out
}

// A sink has what a decoder has found.
type sink struct {
	frames  [][]byte
	text    []byte
	damaged int
}

func (s *sink) Frame(f []byte) { s.frames = append(s.frames, bytes.Clone(f)) }
func (s *sink) Text(p []byte)  { s.text = append(s.text, p...) }
func (s *sink) Damaged(int)    { s.damaged++ }

// A sender gives frames to a transmitter, a byte a clock.
type sender struct {
	m      enframe.Module
	bodies [][]byte
	words  []uint32
	at     int
}

// tick clocks the transmitter, and returns its byte for the line before that. A frame is
// given only if begin is set.
func (s *sender) tick(begin, ready bool) (ok bool, out byte) {
	ok, out = s.m.Byte()
	if len(s.bodies) == 0 {
		s.m.Tick(false, 0x5a, true, 0x12345678, ready)
		return ok, out
	}
	b := s.bodies[0]
	if s.at == len(b) && s.m.Room() {
		s.bodies, s.words, s.at = s.bodies[1:], s.words[1:], 0
		s.m.Tick(false, 0x5a, true, 0x12345678, ready)
		return ok, out
	}
	valid, data := s.at < len(b) && (begin || s.at > 0), byte(0x5a)
	if valid {
		data = b[s.at]
	}
	taken := valid && s.m.Ready()
	s.m.Tick(valid, data, s.at >= len(b)-1, s.words[0], ready)
	if taken {
		s.at++
	}
	return ok, out
}

// A receiver reads frames from a receiver of frames.
type receiver struct {
	m        deframe.Module
	frames   [][]byte
	words    []uint32
	data     []byte
	waits    bool
	damaged  int
	overflow int
}

// tick clocks the receiver with a byte of the line.
func (r *receiver) tick(valid bool, data byte, broken bool) {
	if r.waits {
		r.data = append(r.data, r.m.Data())
	}
	there, half := r.m.Frame()
	at, release := uint32(half)<<8, false
	switch n := len(r.data); {
	case !there:
	case n == 0:
		at |= deframe.AtLength
	case n <= int(r.data[0]):
		at |= uint32(n - 1)
	case n <= int(r.data[0])+4:
		at |= uint32(deframe.AtWord + n - 1 - int(r.data[0]))
	default:
		end := 1 + int(r.data[0])
		r.frames = append(r.frames, bytes.Clone(r.data[1:end]))
		r.words = append(r.words, binary.BigEndian.Uint32(r.data[end:]))
		r.data, release = nil, true
	}
	r.waits = there && !release
	r.m.Tick(valid, data, broken, r.waits, at, release, false)
	if r.m.Damaged() {
		r.damaged++
	}
	if r.m.Overflow() {
		r.overflow++
	}
}

// The host decodes the frames of the transmitter. While its queue is never empty, the bytes
// are exactly those of the host's encoder.
func TestTransmitter(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := []int{datalink.MinFrame, 36, 160, enframe.MaxFrame}[seed%4]
		s := sender{m: enframe.New(limit)}
		var enc frame.Encoder
		var want []byte
		var frames [][]byte
		for n := range 60 {
			b := body(r, 2+r.IntN(limit-5))
			if n == 0 {
				b = body(r, limit-4)
			}
			word := r.Uint32()
			if n%3 == 0 {
				word = crc32.ChecksumIEEE(b) ^ uint32(0xff00)<<(8*r.IntN(3)) // zeros in the check
			}
			s.bodies, s.words = append(s.bodies, b), append(s.words, word)
			frames = append(frames, checked(b, word))
			want = enc.Append(want, checked(b, word))
		}
		slow := seed%2 == 0 // the queue never runs empty
		var line []byte
		for idle, clock := 0, 0; idle < 100; clock++ {
			ready := !slow || clock%8 == 0 && clock > limit*3
			ok, b := s.tick(slow || r.IntN(200) == 0, ready)
			if ok && ready {
				line = append(line, b)
			}
			idle++
			if ok || len(s.bodies) > 0 {
				idle = 0
			}
		}
		if slow {
			require.Equal(t, want, line, "seed %d", seed)
		}
		var got sink
		frame.NewDecoder(datalink.MinFrame, limit).Feed(line, &got)
		require.Equal(t, frames, got.frames, "seed %d", seed)
		require.Zero(t, got.damaged)
	}
}

// stream returns frames of the host, some of them damaged, text, and garbage.
func stream(r *rand.Rand, limit int, text bool) []byte {
	var enc frame.Encoder
	var out []byte
	for range 50 {
		n := len(out)
		out = enc.Append(out, body(r, 1+r.IntN(limit+8)))
		switch i := n + r.IntN(len(out)-n); r.IntN(10) {
		case 0:
			out[i] ^= 1 << r.IntN(8)
		case 1:
			out = append(out[:i], out[i+1:]...)
			enc.Break()
		case 2:
			out = out[:i]
			enc.Break()
		case 3:
			for range r.IntN(300) {
				out = append(out, byte(r.Uint32()))
			}
			enc.Break()
		case 4:
			out = append(out, 0, 0)
		case 5:
			if text {
				out = append(out, "\xff\x02ok\x00"...)
			}
		}
	}
	return append(out, 0)
}

// The receiver finds the frames that the host's decoder finds, in any stream of bytes.
func TestReceiver(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit := []int{datalink.MinFrame, 36, 160, deframe.MaxFrame}[seed%4]
		line := stream(r, limit, seed%3 == 0)
		if seed%10 == 9 {
			for i := range line {
				line[i] = []byte{0, 1, 2, 3, 5, 9, 254, 255}[r.IntN(8)]
			}
		}
		var want sink
		dec := frame.NewDecoder(datalink.MinFrame, limit)
		rx := receiver{m: deframe.New(limit)}
		for _, b := range line {
			dec.Feed([]byte{b}, &want)
			rx.tick(true, b, false)
			for range 1 + r.IntN(3) {
				rx.tick(false, 0xff, false)
			}
			for len(want.frames)-len(rx.frames) > 1 {
				rx.tick(false, 0, false)
			}
		}
		for range 600 {
			rx.tick(false, 0, false)
		}
		require.Len(t, rx.frames, len(want.frames), "seed %d", seed)
		for i, f := range want.frames {
			n := len(f) - 4
			require.True(t, bytes.Equal(f[:n], rx.frames[i]), "seed %d, frame %d", seed, i)
			require.Equal(t, crc32.ChecksumIEEE(f[:n])^binary.BigEndian.Uint32(f[n:]), rx.words[i])
		}
		require.Zero(t, rx.overflow)
		require.LessOrEqual(t, rx.damaged, want.damaged, "text of a wrong length is damage to the host only")
		if seed%3 != 0 && seed%10 != 9 && !bytes.Contains(line, []byte{0, 255}) {
			require.Equal(t, want.damaged, rx.damaged, "seed %d", seed)
		}
	}
}

// Frames pass a serial line between two clocks that differ. A disturbed line loses frames
// but never delivers a wrong one with the right check.
func TestSerial(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to uint32  // period
		ratio    float64 // clock of the receiver relative to that of the transmitter
		flips    int     // average number of clocks between disturbances, or 0
	}{
		{"3 Mbaud at 25 MHz", 133, 133, 1, 0},
		{"one is fast", 133, 133, 1.019, 0},
		{"one is slow", 128, 128, .981, 0},
		{"25 MHz and 12 MHz at 1 Mbaud", 400, 192, 12.0 / 25, 0},
		{"a disturbed line", 133, 133, 1, 10_000},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		const limit = 160
		s := sender{m: enframe.New(limit)}
		for range 60 {
			s.bodies, s.words = append(s.bodies, body(r, 2+r.IntN(limit-5))), append(s.words, 0xfeedbeef)
		}
		bodies := s.bodies
		rx := receiver{m: deframe.New(limit)}
		out, in := uart.New(), uart.New()
		now := 0.0
		noise := 0 // clocks with the wrong level
		for clock, idle := 0, 0; idle < 100_000; clock++ {
			if idle++; len(s.bodies) > 0 {
				idle = 0
			}
			ready := out.Ready()
			line := out.Line()
			ok, b := s.tick(clock > 100, ready)
			out.Tick(true, tt.from, ok, b)
			for now += tt.ratio; now >= 1; now-- {
				valid, data := in.Received()
				broken, _ := in.Errors()
				if noise > 0 {
					noise--
				} else if tt.flips > 0 && r.IntN(tt.flips) == 0 {
					noise = 1 + r.IntN(12)
				}
				in.Tick(line != (noise > 0), tt.to, false, 0)
				rx.tick(valid, data, broken)
			}
		}
		if tt.flips == 0 {
			assert.Equal(t, bodies, rx.frames, tt.name)
			assert.Zero(t, rx.damaged, tt.name)
		}
		assert.Zero(t, rx.overflow, tt.name)
		good := 0
		for i, word := range rx.words {
			if word == 0xfeedbeef {
				for len(bodies) > 0 && !bytes.Equal(bodies[0], rx.frames[i]) {
					bodies = bodies[1:]
				}
				require.NotEmpty(t, bodies, "%s: a frame that was not sent, or out of order", tt.name)
				bodies = bodies[1:]
				good++
			}
		}
		assert.Greater(t, good, 5, tt.name)
		if tt.flips != 0 {
			assert.Less(t, good, 60, tt.name)
			assert.Positive(t, rx.damaged, tt.name)
		}
	}
}

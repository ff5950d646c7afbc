package link

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/link/cobs"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// The decoder finds the frames that the host's decoder finds, in any stream of bytes, one a
// clock. Only the sizes are not checked.
func TestDecoder(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		line := stream(r, deframeLimit, seed%3 == 0)
		if seed%10 == 9 {
			for i := range line {
				line[i] = []byte{0, 1, 2, 3, 5, 9, 252, 253}[r.IntN(8)]
			}
		}
		var want sink
		frame.NewDecoder(datalink.MinFrame, deframeLimit).Feed(line, &want)
		var got sink
		var f []byte
		m := cobs.NewDecoder()
		for i := range len(line) + 1 {
			in := linkport.Byte{Data: 0x5a}
			if i < len(line) {
				in = linkport.Byte{Valid: true, Data: line[i]}
			}
			m.Tick(in)
			p := m.Piece()
			require.False(t, p.Valid && p.End || p.Damaged && (p.Valid || p.End), "seed %d: one thing a clock", seed)
			if p.Valid {
				f = append(f, p.Data)
			}
			if p.End && len(f) >= datalink.MinFrame && len(f) <= deframeLimit {
				got.Frame(f)
			}
			if p.End || p.Damaged {
				f = nil
			}
		}
		require.Equal(t, want.frames, got.frames, "seed %d", seed)
	}
}

const deframeLimit = 152

// A lost byte drops the frame that it is in, and no other.
func TestDecoderBroken(t *testing.T) {
	var enc frame.Encoder
	var line []byte
	for i := range byte(3) {
		line = enc.Append(line, bytes.Repeat([]byte{i + 1}, 10))
	}
	for lost := range line {
		m := cobs.NewDecoder()
		ends, damaged := 0, 0
		for i, b := range line {
			m.Tick(linkport.Byte{Valid: i != lost, Broken: i == lost, Data: b})
			if m.Piece().End {
				ends++
			}
			if m.Piece().Damaged {
				damaged++
			}
		}
		m.Tick(linkport.Byte{})
		require.Equal(t, 1, damaged, "byte %d", lost)
		if line[lost] != 0 {
			require.Equal(t, 2, ends, "byte %d", lost)
		}
	}
}

// The host decodes the frames of the encoder. While its queue is never empty, the bytes are
// exactly those of the host's encoder.
func TestEncoder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := []int{datalink.MinFrame, 36, 152, cobs.MaxFrame}[seed%4]
		m := cobs.NewEncoder(limit)
		var enc frame.Encoder
		var want, line []byte
		var frames [][]byte
		for n := range 60 {
			f := body(r, datalink.MinFrame+r.IntN(limit-datalink.MinFrame+1))
			if n == 0 {
				f = body(r, limit)
			}
			frames, want = append(frames, f), enc.Append(want, f)
		}
		slow := seed%2 == 0 // the queue never runs empty
		left, f := frames, frames[0]
		for idle, clock := 0, 0; idle < 200; clock++ {
			ready := !slow || clock%8 == 0 && clock > 3*limit
			if idle++; len(left) > 0 {
				idle = 0
			}
			if ok, b := m.Byte(); ok {
				if idle = 0; ready {
					line = append(line, b)
				}
			}
			in := linkport.Sent{Data: 0x5a, Last: true}
			if len(left) > 0 && (slow || r.IntN(3) != 0) {
				in = linkport.Sent{Valid: true, Last: len(f) == 1, Data: f[0]}
			}
			takes := in.Valid && m.Ready()
			m.Tick(in, ready)
			if takes {
				if f = f[1:]; len(f) == 0 {
					if left = left[1:]; len(left) > 0 {
						f = left[0]
					}
				}
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

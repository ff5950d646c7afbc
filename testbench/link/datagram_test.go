package link

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/link/datagram"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// The decoder finds the frames that the host finds, in any datagram, one byte a clock. What
// the host calls damaged is damaged, once a datagram. Datagrams of others are dropped.
func TestDatagramDecoder(t *testing.T) {
	damages := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		var want, got [][]byte
		wantDamaged, gotDamaged := 0, 0
		m := datagram.NewDecoder()
		var f []byte
		clock := func(in datagram.Arrived) {
			m.Tick(in)
			p := m.Piece()
			require.False(t, p.Valid && p.End || p.Damaged && (p.Valid || p.End), "seed %d: one thing a clock", seed)
			switch {
			case p.Valid:
				f = append(f, p.Data)
			case p.End:
				got, f = append(got, f), nil
			case p.Damaged:
				gotDamaged++
				f = nil
			}
		}
		for range 20 {
			d := datagramOf(r)
			foreign := r.IntN(5) == 0
			for rest := d; !foreign && len(rest) > 0; {
				one, after, ok := channel.CutDatagram(rest)
				if !ok || len(one) == 0 {
					wantDamaged++
					break
				}
				want, rest = append(want, one), after
			}
			for i, b := range d {
				clock(datagram.Arrived{Valid: true, Last: i == len(d)-1, Foreign: foreign, Data: b})
				if r.IntN(4) == 0 {
					clock(datagram.Arrived{Last: true, Data: 0x5a})
				}
			}
		}
		clock(datagram.Arrived{})
		clock(datagram.Arrived{})
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, wantDamaged, gotDamaged, "seed %d", seed)
		damages += wantDamaged
	}
	require.Greater(t, damages, 100)
}

// datagramOf returns a datagram of frames, of which half are damaged.
func datagramOf(r *rand.Rand) []byte {
	var d []byte
	for range 1 + r.IntN(4) {
		d = channel.AppendDatagram(d, body(r, 1+r.IntN(60)))
	}
	switch r.IntN(6) {
	case 0:
		d[r.IntN(2)] ^= 1 << r.IntN(4)
	case 1:
		d = d[:1+r.IntN(len(d))]
	case 2:
		d = append(d, body(r, 1+r.IntN(2))...)
	}
	return d
}

// The host finds the frames of the encoder. Frames without a pause share datagrams as long as
// another one fits, and a pause ends a datagram.
func TestDatagramEncoder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		limit := []int{datalink.MinFrame, 36, 152, 255}[seed%4]
		largest := []int{limit + 2, 600, 1472, 2048}[seed/4%4]
		fast, pauses := seed%2 == 0, seed%3 == 0
		m := datagram.NewEncoder()
		var frames, datagrams [][]byte
		for range 60 {
			frames = append(frames, body(r, datalink.MinFrame+r.IntN(limit-datalink.MinFrame+1)))
		}
		left, f, d := frames, frames[0], []byte(nil)
		wait := 0
		for idle, clock := 0, 0; idle < 200; clock++ {
			ready := fast || r.IntN(3) == 0
			idle++
			if out := m.Byte(); out.Valid {
				idle = 0
				if ready {
					if d = append(d, out.Data); out.Last {
						datagrams, d = append(datagrams, d), nil
					}
				}
			}
			in := linkport.Sent{Data: 0x5a, Size: 1, Last: true}
			if wait--; len(left) > 0 {
				idle = 0
				if wait < 0 {
					in = linkport.Sent{Valid: true, Last: len(f) == 1, Size: uint8(len(left[0])), Data: f[0]}
				}
			}
			takes := in.Valid && m.Ready()
			m.Tick(in, uint16(largest), ready)
			if takes {
				if f = f[1:]; len(f) == 0 {
					if left = left[1:]; len(left) > 0 {
						f = left[0]
					}
					if pauses {
						wait = 40
					}
				}
			}
		}
		require.Empty(t, d)
		var got [][]byte
		for i, d := range datagrams {
			require.LessOrEqual(t, len(d), largest)
			n := 0
			for rest := d; len(rest) > 0; n++ {
				one, after, ok := channel.CutDatagram(rest)
				require.True(t, ok)
				got, rest = append(got, one), after
			}
			if pauses && fast {
				require.Equal(t, 1, n)
			} else if !pauses && i < len(datagrams)-1 {
				require.Greater(t, len(d)+2+len(frames[len(got)]), largest, "the next frame would fit")
			}
		}
		require.Equal(t, frames, got, "seed %d", seed)
	}
}

package link

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
)

// openWide begins a session with a host that has a window of 64.
func openWide(t *testing.T, window, send int) *bench {
	c := quick
	c.Window, c.Send, c.Replay, c.Limit, c.Ack = window, send, 200, 255, 255
	b := &bench{t: t, m: dlink.New(c)}
	b.open(7)
	return b
}

// Each frame of a full window is sent again as it was, wherever in the replay buffer the
// oldest one is, also if the number of slots is no power of two.
func TestSlots(t *testing.T) {
	for _, tt := range []struct{ window, send, rounds int }{{8, 5, 30}, {8, 8, 30}, {2, 1, 5}, {64, 56, 12}, {64, 64, 12}} {
		t.Run(fmt.Sprintf("%d of %d", tt.send, tt.window), func(t *testing.T) {
			b := openWide(t, tt.window, tt.send)
			r := rand.New(rand.NewPCG(uint64(tt.send), 6))
			var flight [][]byte
			first, unique := uint16(0), uint32(0)
			for range tt.rounds {
				for n := 0; len(flight) < tt.send; n++ {
					unique++
					b.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(unique) & 63, Len: 4, Addr: uint64(unique) << 7}
					for len(b.frames) == n {
						b.run(1)
					}
					f := b.frames[n]
					require.Equal(t, number(8, first+uint16(len(flight))), f[:2])
					require.Equal(t, unique<<7, binary.BigEndian.Uint32(f[10:]))
					require.Equal(t, checked(f[:len(f)-4], b.epoch), f)
					flight = append(flight, f)
				}
				b.frames = nil
				b.gpu.Req = port.Request{Kind: port.MemRead, Len: 4}
				b.run(200)
				require.NotEqual(t, port.None, b.gpu.Req.Kind, "no room")
				b.gpu.Req = port.Request{}
				b.send(number(1, first), b.epoch, 60*tt.send)
				require.Equal(t, flight, b.frames, "the replay")
				b.frames = nil
				k := 1 + r.IntN(tt.send)
				first, flight = first+uint16(k), flight[k:]
				b.send(number(0, first), b.epoch, 400)
			}
		})
	}
}

// Half a window of packets of the host is acknowledged at once, and so are eight.
func TestAtOnce(t *testing.T) {
	for _, tt := range []struct{ window, host, want int }{{2, 64, 1}, {8, 64, 4}, {16, 64, 8}, {64, 64, 8}, {64, 8, 4}, {64, 1, 1}} {
		c := quick
		c.Window, c.Ack = tt.window, 255
		b := newBench(t, c)
		h := hello(5)
		h[7] = byte(tt.host)
		b.send(h, helloWord, 300)
		b.epoch = crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.send([]byte{3 << 4, 0}, b.epoch, 300)
		b.frames = nil
		for n := range uint16(tt.want) {
			require.Empty(t, b.frames, "%+v", tt)
			b.send(append(number(8, n), unhex("400000010000000f0000100011223344")...), b.epoch, 100)
		}
		require.Equal(t, [][]byte{checked(number(0, uint16(tt.want)), b.epoch)}, b.frames, "%+v", tt)
	}
}

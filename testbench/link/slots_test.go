package link

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// openWide begins a session with a host that has a window of 64. No timer expires in a round of
// TestSlots.
func openWide(t *testing.T, window, send int) *bench {
	c := quick
	c.Window, c.Send, c.Replay, c.Limit, c.Ack, c.Ping, c.Dead = window, send, 255, 255, 255, 1<<14, 1<<15
	c.TickClocks = 200
	b := newBench(t, c)
	b.open(7)
	return b
}

// Each frame of a full window, with the largest packet, is sent again as it was, wherever in the replay buffer the
// oldest one is, also if the number of slots is no power of two.
func TestSlots(t *testing.T) {
	for _, tt := range []struct{ window, send, rounds int }{{8, 5, 30}, {8, 8, 30}, {2, 1, 5}, {64, 56, 12}, {64, 64, 12}} {
		t.Run(fmt.Sprintf("%d of %d", tt.send, tt.window), func(t *testing.T) {
			b := openWide(t, tt.window, tt.send)
			r := rand.New(rand.NewPCG(uint64(tt.send), 6))
			var flight [][]byte
			first, unique := uint16(0), uint64(0)
			for range tt.rounds {
				for n := 0; len(flight) < tt.send; n++ {
					unique++
					b.gpu.Req, b.left = port.Request{Kind: port.MemWrite, Len: 32, Addr: 1<<40 + unique<<7}, 16
					b.gpu.Beat = port.Beat{Valid: true, Enable: 255, Data: uint64(byte(unique)) * 0x0101010101010101}
					for len(b.frames) == n {
						b.run(1)
					}
					f := b.frames[n]
					require.Equal(t, number(8, first+uint16(len(flight))), f[:2])
					require.Equal(t, 1<<40+unique<<7, binary.BigEndian.Uint64(f[10:]))
					require.Equal(t, bytes.Repeat([]byte{byte(unique)}, 128), f[18:146])
					require.Equal(t, checked(f[:len(f)-4], b.epoch), f)
					flight = append(flight, f)
				}
				b.frames = nil
				b.gpu = linkport.GPU{Req: port.Request{Kind: port.MemRead, Len: 4}}
				b.run(200)
				require.NotEqual(t, port.None, b.gpu.Req.Kind, "no room")
				b.gpu.Req = port.Request{}
				b.send(number(1, first), b.epoch, 200*tt.send)
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

// A full window of the largest packets waits while the target port takes nothing, and is then
// delivered in order, wherever the oldest one is.
func TestWaiting(t *testing.T) {
	for _, window := range []int{2, 8, 64} {
		b := openWide(t, window, 1)
		n := uint16(0)
		for round := range 4 {
			b.beats = nil
			var want []uint64
			b.stalls = round != 1 // round 1 moves on by an odd number of packets
			count := window
			if round == 1 {
				count = window/2 + 1
			}
			for range count {
				p := append(number(8, n), 0x60, 0, 0, 32, 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0, 0x10, 0)
				b.send(append(p, bytes.Repeat([]byte{byte(n)}, 128)...), b.epoch, 100)
				for range 16 {
					want = append(want, uint64(byte(n))*0x0101010101010101)
				}
				n++
			}
			b.stalls = false
			b.run(200 * window)
			require.Equal(t, want, b.beats, "window %d, round %d", window, round)
			require.Zero(t, b.m.Status().Refused)
		}
	}
}

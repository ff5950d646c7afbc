package link

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
)

// openKept begins a session with a host that keeps frames out of order.
func openKept(t *testing.T, c dlink.Config) *bench {
	b := newBench(t, c)
	h := hello(7)
	h[9] = 63
	b.send(h, helloWord, 300)
	w := b.sent()
	require.Equal(t, []byte{0, byte(c.Window - 1)}, w[0][8:10], "frames that the board keeps out of order")
	b.epoch = crc32.ChecksumIEEE(w[0][22:30])
	b.send([]byte{3 << 4, 0}, b.epoch, 300)
	b.frames = nil
	return b
}

// patient returns times that do not expire in a round of these tests.
func patient(window, send int) dlink.Config {
	c := quick
	c.Window, c.Send, c.Replay, c.Limit, c.Ack, c.Nak, c.Ping, c.Dead = window, send, 255, 255, 255, 255, 1<<14, 1<<15
	c.TickClocks = 10_000
	return c
}

// nak returns a Nak with marks, without zeros at their end.
func nak(n uint16, marks uint64) []byte {
	f := number(1, n)
	for ; marks != 0; marks >>= 8 {
		f = append(f, byte(marks))
	}
	return f
}

// The largest packets of a window arrive in any order, some twice, and are delivered in their
// own. A Nak follows each packet beyond a gap. It tells all that have arrived.
func TestOutOfOrder(t *testing.T) {
	for _, window := range []int{2, 8, 64} {
		b := openKept(t, patient(window, 1))
		r := rand.New(rand.NewPCG(uint64(window), 7))
		base := uint16(0)
		packet := func(n uint16) []byte {
			p := append(number(8, n), 0x60, 0, 0, 32, 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0, 0x10, 0)
			return append(p, bytes.Repeat([]byte{byte(n)}, 128)...)
		}
		for round := range 4 {
			b.beats = nil
			next, newest := 0, 0
			here := make([]bool, window+1)
			for _, k := range r.Perm(window)[round&1:] {
				here[k] = true
				before := next
				for ; here[next]; next++ {
				}
				b.frames = nil
				b.send(packet(base+uint16(k)), b.epoch, 200*(1+next-before))
				var naks [][]byte
				for _, f := range b.frames {
					if f[0]>>4 == 1 {
						naks = append(naks, f)
					}
				}
				if k <= newest {
					require.Empty(t, naks)
				} else {
					marks := uint64(0)
					for i := next + 1; i < window; i++ {
						if here[i] {
							marks |= 1 << (i - next - 1)
						}
					}
					require.Equal(t, [][]byte{checked(nak(base+uint16(next), marks), b.epoch)}, naks)
				}
				newest = max(newest, k+1)
				if r.IntN(3) == 0 {
					b.send(packet(base+uint16(k)), b.epoch, 200)
				}
			}
			for ; next < window; next++ {
				if !here[next] {
					b.send(packet(base+uint16(next)), b.epoch, 200*window)
				}
			}
			var want []uint64
			for k := range window {
				for range 16 {
					want = append(want, uint64(byte(int(base)+k))*0x0101010101010101)
				}
			}
			require.Equal(t, want, b.beats, "window %d, round %d", window, round)
			base += uint16(window)
		}
	}
}

// A Nak is sent again, after its time, until the missing frame has arrived.
func TestNakAgain(t *testing.T) {
	c := quick
	c.Window, c.Nak, c.Ack = 8, 7, 255
	b := openKept(t, c)
	write := unhex("400000010000000f0000100011223344")
	b.send(append(number(8, 2), write...), b.epoch, 50)
	one := checked(nak(0, 2), b.epoch)
	require.Equal(t, [][]byte{one}, b.sent())
	b.run(540)
	require.Empty(t, b.sent())
	b.run(200)
	require.Equal(t, [][]byte{one}, b.sent())
	b.send(append(number(8, 0), write...), b.epoch, 750)
	require.Equal(t, [][]byte{checked(nak(1, 1), b.epoch)}, b.sent())
	b.send(append(number(8, 1), write...), b.epoch, 1500)
	require.Empty(t, b.sent())
	require.Len(t, b.beats, 3)
}

// flight makes the GPU write until n packets are in flight, the first one with number first.
func (b *bench) flight(first uint16, n int) {
	for i := range n {
		b.frames = nil
		b.gpu.Req, b.left = port.Request{Kind: port.MemWrite, Len: 1, Addr: 64}, 1
		b.gpu.Beat = port.Beat{Valid: true, Last: true, Enable: 15}
		b.run(100)
		require.Len(b.t, b.frames, 1)
		require.Equal(b.t, number(8, first+uint16(i)), b.frames[0][:2])
	}
	b.frames = nil
}

// repeats returns the numbers of the data frames that were sent.
func (b *bench) repeats() (all []uint16) {
	for _, f := range b.sent() {
		all = append(all, uint16(f[0])<<8&0xf00|uint16(f[1]))
	}
	return all
}

// Only the frames before the last one that a Nak reports are sent again, of those the ones that
// have not arrived, and each once until the host can have received it.
func TestMissing(t *testing.T) {
	for _, send := range []int{5, 8, 56, 64} {
		t.Run(fmt.Sprint(send), func(t *testing.T) {
			b := openKept(t, patient(64, send))
			r := rand.New(rand.NewPCG(uint64(send), 8))
			first := uint16(0)
			for range 20 {
				n := 2 + r.IntN(send-1)
				b.flight(first, n)
				b.run(30_000)
				top := 1 + r.IntN(n-1)
				marks := (r.Uint64()&r.Uint64() | 1<<63) >> (64 - top)
				var want []uint16
				for i := range top {
					if i == 0 || marks>>(i-1)&1 == 0 {
						want = append(want, first+uint16(i))
					}
				}
				b.send(nak(first, marks), b.epoch, 100*send)
				require.Equal(t, want, b.repeats())
				b.send(nak(first, marks), b.epoch, 200)
				require.Empty(t, b.repeats(), "the host cannot have received them")
				first += uint16(n)
				b.send(number(0, first), b.epoch, 30_000)
			}
		})
	}
}

// A frame that was sent again and is still missing is sent once more when one that was sent later
// has arrived, or after some time. A time-out sends everything again.
func TestMissingAgain(t *testing.T) {
	c := patient(8, 8)
	c.Replay, c.TickClocks = 20, 1000
	b := openKept(t, c)
	b.flight(0, 5)
	b.send(nak(1, 1), b.epoch, 300) // 0 and 2 have arrived
	require.Equal(t, []uint16{1}, b.repeats())
	b.send(nak(1, 4), b.epoch, 300) // 4 too, and 2 is a mistake
	require.Equal(t, []uint16{2, 3}, b.repeats())
	b.flight(5, 1)
	b.send(nak(1, 8), b.epoch, 300)
	require.Equal(t, []uint16{1, 2, 3, 4}, b.repeats(), "5 was sent after the replay")
	b.send(nak(1, 8), b.epoch, 100)
	require.Empty(t, b.repeats())
	b.run(2000)
	b.send(nak(1, 7), b.epoch, 300)
	require.Equal(t, []uint16{1}, b.repeats(), "after some time")
	b.send(nak(1, 1<<4), b.epoch, 300)
	require.Empty(t, b.repeats(), "no frame 6 is in flight")
	b.run(20_000)
	require.Equal(t, []uint16{1, 2, 3, 4, 5}, b.repeats())
}

// An acknowledgement of frames that a replay has not come to ends the replay.
func TestMissingArrives(t *testing.T) {
	b := openKept(t, patient(8, 8))
	b.flight(0, 8)
	b.slow = true
	b.send(nak(0, 1<<6), b.epoch, 60)
	b.send(number(0, 5), b.epoch, 2000)
	require.Equal(t, []uint16{0}, b.repeats())
	b.send(number(1, 5), b.epoch, 2000)
	require.Equal(t, []uint16{5}, b.repeats())
}

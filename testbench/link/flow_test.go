package link

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// As many frames are in flight as both ends allow. The others wait for an acknowledgement,
// and a replay has the same frames.
func TestWindow(t *testing.T) {
	for _, tt := range []struct{ host, want int }{{1, 1}, {2, 2}, {64, 2}} {
		b := newBench(t, quick)
		h := hello(5)
		h[7] = byte(tt.host)
		b.send(h, helloWord, 300)
		b.epoch = crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.send([]byte{3 << 4, 0}, b.epoch, 300)
		b.sent()
		for n := range 6 {
			b.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(n), Len: 4, Addr: uint64(64 * n)}
			b.run(150)
			require.Equal(t, n < tt.want, b.gpu.Req.Kind == port.None, "window %d, packet %d", tt.host, n)
		}
		first := b.sent()
		require.Len(t, first, tt.want)
		b.run(2000)
		require.Equal(t, first, b.sent(), "the replay")
		b.send(number(0, 1), b.epoch, 150)
		require.Equal(t, port.None, b.gpu.Req.Kind, "one more after an acknowledgement")
		require.Len(t, b.sent(), 1)
	}
}

// A packet is acknowledged when the target port has taken it, so that those that wait never
// exceed the window.
func TestStall(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	b.stalls = true
	write := unhex("400000010000000f0000100011223344")
	for n := range uint16(2) {
		b.send(append(number(8, n), write...), b.epoch, 1000)
	}
	require.Empty(t, b.frames, "no acknowledgement")
	b.stalls = false
	b.run(300)
	require.Len(t, b.beats, 2)
	require.Equal(t, checked(number(0, 2), b.epoch), b.frames[len(b.frames)-1])
}

// A host that sends more than the window, while nothing is taken, loses what is beyond it and
// changes nothing before it.
func TestOverrun(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	b.stalls = true
	send := func(n uint16) {
		p := append(number(8, n), unhex("40000004000000ff00001000")...)
		b.send(append(p, bytes.Repeat([]byte{byte(n)}, 16)...), b.epoch, 60)
	}
	for n := range uint16(6) {
		send(n)
	}
	b.stalls = false
	b.run(300)
	for n := uint16(2); n < 5; n++ {
		send(n)
	}
	b.run(300)
	require.Len(t, b.beats, 2*5)
	for i, v := range b.beats {
		require.Equal(t, uint64(i/2)*0x0101010101010101, v, "beat %d", i)
	}
	require.Equal(t, 1, b.count.naks)
	require.Equal(t, 4, b.count.refused)
}

// A completion of the GPU and its writes are sent in the order in which they appear, in the
// same clock the write first.
func TestOrder(t *testing.T) {
	ask := unhex("000000017e7e010f00001000")
	write := port.Request{Kind: port.MemWrite, Len: 1, Addr: 64}
	beat := port.Beat{Valid: true, Last: true, Enable: 15}
	done := port.Completion{Status: port.CplSuccess, Last: true}
	kinds := func(b *bench) (all string) {
		for _, f := range b.sent() {
			if f[0]>>7 == 1 {
				all += map[byte]string{0x40: "w", 0x4a: "c"}[packetOf(f)[0]]
			}
		}
		return all
	}
	c := quick
	c.Window, c.Replay = 8, 255
	begin := func(grants ...uint16) *bench {
		b := newBench(t, c)
		b.open(1, grants...)
		b.send(append(number(8, 0), ask...), b.epoch, 200)
		return b
	}
	t.Run("a write for ever", func(t *testing.T) {
		b := begin()
		b.gpu.Cpl = done
		for range 400 {
			b.gpu.Req, b.gpu.Beat, b.left = write, beat, 1
			b.run(1)
		}
		require.Regexp(t, "^wcw+$", kinds(b))
	})
	t.Run("the completion first", func(t *testing.T) {
		b := begin()
		b.gpu.Cpl = done
		b.run(1)
		b.gpu.Req, b.gpu.Beat, b.left = write, beat, 1
		b.run(200)
		require.Equal(t, "cw", kinds(b))
	})
	t.Run("the write waits for credits", func(t *testing.T) {
		b := begin(1)
		b.gpu.Req, b.gpu.Beat, b.left = write, beat, 1
		b.run(100)
		require.Equal(t, "w", kinds(b))
		b.gpu.Req, b.gpu.Beat, b.left = write, beat, 1
		b.run(1)
		b.gpu.Cpl = done
		b.run(300)
		require.Empty(t, kinds(b))
		update := make([]byte, 14)
		update[0], update[3] = 2<<4, 2
		b.send(update, b.epoch, 300)
		require.Equal(t, "wc", kinds(b))
	})
}

// A frame that is repeated is not changed by the packet that gets its slot, if it is
// acknowledged while it is sent.
func TestSlotInUse(t *testing.T) {
	c := quick
	c.Replay = 40
	b := newBench(t, c)
	b.open(1)
	b.slow = true
	post := func(data uint64) {
		b.gpu.Req, b.left = port.Request{Kind: port.MemWrite, Len: 32, Addr: 128}, 16
		b.gpu.Beat = port.Beat{Valid: true, Enable: 255, Data: data}
	}
	post(0x1111111111111111)
	b.run(1000)
	post(0x2222222222222222)
	b.run(1000)
	first := b.sent()
	require.Len(t, first, 2)
	for len(b.frame) == 0 {
		b.run(1) // until the replay
	}
	post(0x3333333333333333)
	b.send(number(0, 1), b.epoch, 3000)
	got := b.sent()
	require.Equal(t, first[0], got[0], "the frame that was sent when its acknowledgement arrived")
	require.Equal(t, number(8, 2), got[len(got)-1][:2])
	require.Equal(t, byte(0x33), got[len(got)-1][20])
}

// Replays count from the last acknowledgement.
func TestLimit(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for n := range uint16(5) {
		b.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(n), Len: 4, Addr: 64}
		b.run(50)
		repeated := b.count.repeated
		b.run(4 * 2000)
		require.Equal(t, repeated+4, b.count.repeated, "the limit is 5")
		b.send(number(0, n+1), b.epoch, 50)
		require.True(t, b.m.Status().Up, "after %d frames", n+1)
	}
}

// Posted packets, and reads, wait for credits of their class, and pass each other.
func TestCredits(t *testing.T) {
	write := func(b *bench) {
		b.gpu.Req, b.left = port.Request{Kind: port.MemWrite, Len: 32, Addr: 1 << 40}, 16
		b.gpu.Beat = port.Beat{Valid: true, Enable: 255}
		b.run(400)
	}
	update := func(ph, pd, nph uint16) []byte {
		f := make([]byte, 14)
		f[0] = 2 << 4
		for i, v := range []uint16{ph, pd, nph} {
			binary.BigEndian.PutUint16(f[2+2*i:], v)
		}
		return f
	}
	for _, tt := range []struct {
		name   string
		grants []uint16
		raise  []byte
		writes [2]int // before and after the update
	}{
		{"infinite", nil, update(0, 0, 0), [2]int{1, 2}},
		{"headers", []uint16{1, 0, 1}, update(2, 0, 1), [2]int{1, 2}},
		{"data", []uint16{0, 15, 1}, update(0, 16, 1), [2]int{1, 2}},
		{"an update that is overtaken", []uint16{1, 0, 1}, update(0, 0, 1), [2]int{1, 1}},
		{"too little data", []uint16{0, 15, 1}, update(0, 15, 2), [2]int{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, quick)
			b.open(1, tt.grants...)
			count := func() (n int) {
				for _, f := range b.sent() {
					if f[0]>>7 == 1 {
						n++
						require.Equal(t, byte(0x60), f[2])
						require.Equal(t, byte(32), f[5])
						b.send(number(0, uint16(n)), b.epoch, 50)
					}
				}
				return n
			}
			write(b)
			require.Equal(t, 1, count())
			b.gpu.Req = port.Request{Kind: port.MemWrite, Len: 32, Addr: 1 << 40}
			b.run(100)
			took := b.gpu.Req.Kind == port.None
			require.Equal(t, tt.name == "infinite", took)
			if !took {
				b.send(tt.raise, b.epoch, 100)
				require.Equal(t, tt.writes[1] == 2, b.gpu.Req.Kind == port.None)
			}
		})
	}
}

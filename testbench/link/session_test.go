package link

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Without a session the GPU's writes and completions are lost and its reads are aborted,
// each within 200 clocks.
func TestDrain(t *testing.T) {
	b := newBench(t, quick)
	drain := func(what string) {
		b.taken, b.cpls = [3]int{}, nil
		b.gpu = linkport.GPU{
			Cpl: port.Completion{Status: port.CplSuccess, Last: true}, Req: port.Request{Kind: port.MemWrite, Len: 1, Addr: 64},
			Beat: port.Beat{Valid: true, Last: true, Enable: 15},
		}
		b.run(100)
		require.Equal(t, [3]int{1, 1, 1}, b.taken, what)
		b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 17, Len: 4, Addr: 64}
		b.run(200)
		require.Equal(t, []port.Completion{{Tag: 17, Status: port.CplAbort, Last: true, Data: b.cpls[0].Data}}, b.cpls, what)
		require.Empty(t, b.sent(), what)
	}
	drain("after reset")
	b.open(1)
	b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 9, Len: 4, Addr: 64}
	b.run(300)
	require.Len(t, b.sent(), 1)
	b.cpls = nil
	b.send([]byte{7 << 4, 1}, b.epoch, 200)
	require.False(t, b.m.Status().Up)
	require.Equal(t, linkport.Closed, b.m.Status().Cause)
	require.Len(t, b.cpls, 1, "the read in flight is aborted")
	require.Equal(t, uint8(9), b.cpls[0].Tag)
	drain("after a session")
	b.open(2)
	require.Equal(t, 2, b.count.sessions)
}

// A read of the GPU that is offered in any clock while a session begins is aborted or sent.
func TestReadAtBegin(t *testing.T) {
	for n := range 60 {
		b := newBench(t, quick)
		b.send(hello(1), helloWord, 300)
		b.epoch = crc32.ChecksumIEEE(b.sent()[0][22:30])
		ping := checked([]byte{3 << 4, 0}, b.epoch)
		for i := range 400 {
			if i == n {
				b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 5, Len: 2, Addr: 0x1000}
			}
			in := linkport.Piece{End: i%20 == 6}
			if i%20 < 6 {
				in = linkport.Piece{Valid: true, Data: ping[i%20]}
			}
			b.tick(in)
		}
		b.run(400)
		require.True(t, b.m.Status().Up)
		sent := 0
		for _, f := range b.sent() {
			if f[0]>>7 == 1 {
				sent++
			}
		}
		require.Equal(t, 1, sent+len(b.cpls), "clock %d: %d sent, %d aborted", n, sent, len(b.cpls))
	}
}

// post makes the GPU offer a write of 128 bytes.
func (b *bench) post(data uint64) {
	b.gpu.Req, b.left = port.Request{Kind: port.MemWrite, Len: 32, Addr: 128}, 16
	b.gpu.Beat = port.Beat{Valid: true, Enable: 255, Data: data}
}

// follow sends the first frame of a session with the given word. In clock n of 60 the GPU offers
// a write of 0x22.
func (b *bench) follow(word uint32, n int) {
	ping := checked([]byte{3 << 4, 0}, word)
	for i := range 60 {
		if i == n {
			b.post(0x2222222222222222)
		}
		in := linkport.Piece{End: i == 26}
		if i >= 20 && i < 26 {
			in = linkport.Piece{Valid: true, Data: ping[i-20]}
		}
		b.tick(in)
	}
	b.run(2500)
	require.True(b.t, b.m.Status().Up)
	require.Equal(b.t, 2, b.count.sessions)
}

// A write that is offered in any clock while a session begins does not change the frame of the
// last session that is still sent.
func TestWriteAtBegin(t *testing.T) {
	for n := range 60 {
		b := newBench(t, quick)
		b.open(1)
		b.send(hello(2), helloWord, 300)
		last, next := b.epoch, crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.slow = true
		b.post(0x1111111111111111)
		for len(b.frame) == 0 {
			b.run(1)
		}
		b.follow(next, n)
		f := b.sent()
		require.Equal(t, checked(f[0][:len(f[0])-4], last), f[0], "clock %d", n)
		require.Equal(t, bytes.Repeat([]byte{0x11}, 128), packetOf(f[0])[12:], "clock %d", n)
	}
}

// A write that is offered in any clock while a session begins waits for the credits of that
// session.
func TestCreditsAtBegin(t *testing.T) {
	for n := range 60 {
		b := newBench(t, quick)
		b.open(1)
		b.send(hello(2, 1, 1), helloWord, 300)
		next := crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.follow(next, n)
		for _, f := range b.sent() {
			ours := bytes.Equal(f, checked(f[:len(f)-4], next))
			require.False(t, ours && f[0]>>7 == 1, "clock %d", n)
		}
	}
}

// A session begins soon after its first frame, also if the GPU writes and reads all the time.
func TestBeginWhileBusy(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for n := range uint32(20) {
		busy := func(clocks int) {
			for range clocks {
				b.gpu.Beat, b.left = port.Beat{Valid: true, Last: true, Enable: 15}, 1
				if b.gpu.Req.Kind == port.None {
					b.gpu.Req = port.Request{Kind: port.MemWrite, Len: 1, Addr: 64}
					if b.clock%2 == 0 {
						b.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(b.clock & 31), Len: 1, Addr: 64}
					}
				}
				b.run(1)
			}
		}
		busy(int(700 + n))
		b.send(hello(2+n), helloWord, 0)
		b.frames = nil
		busy(600)
		for _, f := range b.sent() {
			if f[0]>>4 == 6 {
				b.epoch = crc32.ChecksumIEEE(f[22:30])
			}
		}
		sessions := b.count.sessions
		b.send([]byte{3 << 4, 0}, b.epoch, 0)
		busy(500)
		require.Equal(t, sessions+1, b.count.sessions, "session %d", n)
		require.True(t, b.m.Status().Up)
	}
}

// filled returns the frame of a write of eight bytes.
func filled(n uint16, data byte) []byte {
	p := append(number(8, n), unhex("40000002000000ff00001000")...)
	return append(p, bytes.Repeat([]byte{data}, 8)...)
}

// stalled returns a link in a session with two packets, the first of which waits for the target
// port.
func stalled(t *testing.T) *bench {
	b := newBench(t, quick)
	b.open(1)
	b.stalls = true
	b.send(filled(0, 0x11), b.epoch, 60)
	b.send(filled(1, 0x22), b.epoch, 60)
	return b
}

// fresh checks that a session has just begun with a Ping. Its numbers begin at 0, and of the
// packets of stalled only the first was written.
func (b *bench) fresh(text string) {
	require.Equal(b.t, [][]byte{checked([]byte{4 << 4, 0}, b.epoch)}, b.sent(), text)
	b.send(filled(0, 0x33), b.epoch, 300)
	require.Equal(b.t, []uint64{0x1111111111111111, 0x3333333333333333}, b.beats, text)
	require.Equal(b.t, checked(number(0, 1), b.epoch), b.frames[len(b.frames)-1], text)
}

// A packet that the target port has not taken when the next session is asked for is completed in
// the last one, and the session begins in the clock after it. The packets after it are lost.
func TestBeginAfterPacket(t *testing.T) {
	for n := range 40 {
		b := stalled(t)
		b.send(hello(2), helloWord, 200)
		b.epoch = crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.send([]byte{3 << 4, 0}, b.epoch, n)
		require.Empty(t, b.beats)
		b.stalls = false
		b.run(300)
		b.fresh(fmt.Sprintf("clock %d", n))
	}
}

// The packets that wait when a session is closed are lost, and another one can begin.
func TestBeginAfterDown(t *testing.T) {
	for n := range 40 {
		b := stalled(t)
		b.send([]byte{7 << 4, 1}, b.epoch, n)
		require.Empty(t, b.beats)
		b.stalls = false
		b.send(hello(2), helloWord, 300)
		b.epoch = crc32.ChecksumIEEE(b.sent()[0][22:30])
		b.send([]byte{3 << 4, 0}, b.epoch, 300)
		b.fresh(fmt.Sprintf("clock %d", n))
	}
}

// A hello that is repeated gets the same offer, and none from a host whose session is up. An
// offer to another host takes its place.
func TestHelloAgain(t *testing.T) {
	b := newBench(t, quick)
	welcomes := func(nonce uint32) [][]byte {
		b.send(hello(nonce), helloWord, 300)
		return b.sent()
	}
	first := welcomes(1)
	require.Len(t, first, 1)
	require.Equal(t, first, welcomes(1))
	second := welcomes(2)
	require.Len(t, second, 1)
	b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(first[0][22:30]), 300)
	require.False(t, b.m.Status().Up, "the first offer is gone")
	require.Empty(t, b.sent())
	b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(second[0][22:30]), 300)
	require.True(t, b.m.Status().Up)
	b.sent()
	require.Empty(t, welcomes(2))
	require.True(t, b.m.Status().Up)
}

// A session ends with its cause.
func TestCauses(t *testing.T) {
	down := func(cause byte) []byte { return []byte{7 << 4, cause} }
	for _, tt := range []struct {
		name  string
		do    func(b *bench)
		cause linkport.Cause
		sends []byte // of the last frame
	}{
		{"silence", func(b *bench) { b.run(30_200) }, linkport.Dead, down(3)},
		{"no acknowledgement", func(b *bench) {
			b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 1, Len: 4, Addr: 64}
			for range 11 {
				b.send([]byte{4 << 4, 0}, b.epoch, 1000) // a Pong
			}
		}, linkport.Replay, down(2)},
		{"closed", func(b *bench) { b.send(down(1), b.epoch, 300) }, linkport.Closed, nil},
		{"the host's limit", func(b *bench) { b.send(down(2), b.epoch, 300) }, linkport.Replay, nil},
		{"the host heard nothing", func(b *bench) { b.send(down(3), b.epoch, 300) }, linkport.Dead, nil},
		{"the host found a violation", func(b *bench) { b.send(down(4), b.epoch, 300) }, linkport.Protocol, nil},
		{"another session", func(b *bench) {
			b.send(hello(77), helloWord, 300)
			w := b.sent()
			require.True(t, b.m.Status().Up, "an offer ends nothing")
			b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(w[len(w)-1][22:30]), 300)
		}, linkport.NewSession, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, quick)
			b.open(1)
			tt.do(b)
			st := b.m.Status()
			require.Equal(t, tt.cause == linkport.NewSession, st.Up)
			require.Equal(t, tt.cause, st.Cause)
			f := b.sent()
			if tt.sends != nil {
				require.Equal(t, checked(tt.sends, b.epoch), f[len(f)-1])
			} else if len(f) > 0 {
				require.NotEqual(t, byte(7), f[len(f)-1][0]>>4, "no Down is sent")
			}
		})
	}
}

// The host is pinged after a silence, and a frame of it ends the silence.
func TestPing(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for range 3 {
		b.send([]byte{4 << 4, 0}, b.epoch, 6200)
		require.Empty(t, b.sent())
		b.run(400)
		require.Equal(t, [][]byte{checked([]byte{3 << 4, 0}, b.epoch)}, b.sent())
	}
}

// A hello that cannot lead to a session gets a Welcome that tells why, or nothing.
func TestHellos(t *testing.T) {
	change := func(at int, v ...byte) []byte {
		h := hello(9)
		copy(h[at:], v)
		return h
	}
	for _, tt := range []struct {
		name    string
		body    []byte
		word    uint32
		answers int
		offers  bool
	}{
		{"good", hello(9), helloWord, 1, true},
		{"more options", append(hello(9), 1, 0, 200, 3, 1, 2, 3), helloWord, 1, true},
		{"longer fields", append(change(2, 44), 1, 2, 3, 4), helloWord, 1, true},
		{"any register map", change(18, 0, 0, 0, 0), helloWord, 1, true},
		{"another register map", change(18, 1), helloWord, 1, false},
		{"another version", change(1, 2), helloWord, 1, false},
		{"small packets", change(4, 0, 143), helloWord, 1, false},
		{"no window", change(6, 0, 0), helloWord, 1, false},
		{"a flag", change(3, 1), helloWord, 1, false},
		{"short fields", change(2, 39), helloWord, 1, false},
		{"fields beyond the end", change(2, 41), helloWord, 1, false},
		{"cut", hello(9)[:41], helloWord, 1, false},
		{"a damaged one", hello(9), helloWord ^ 1, 0, false},
		{"a Welcome", change(0, 6<<4), helloWord, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, quick)
			b.send(tt.body, tt.word, 400)
			f := b.sent()
			require.Len(t, f, tt.answers)
			for _, w := range f {
				require.Equal(t, []byte{6 << 4, datalink.Version, 40, 0, 0, 144, 0, 2}, w[:8])
				require.Equal(t, unhex("00000008"+"12345678"), w[14:22])
				b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(w[22:30]), 300)
			}
			require.Equal(t, tt.offers, b.m.Status().Up)
		})
	}
}

// A Hello or a Welcome in the word of a session is no frame of it.
func TestHelloInSession(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for i, kind := range []byte{5, 6} {
		b.send([]byte{kind << 4, 0}, b.epoch, 200)
		require.Equal(t, i+1, b.count.refused)
		require.True(t, b.m.Status().Up)
	}
}

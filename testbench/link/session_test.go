package link

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// quick is a link with short times.
var quick = dlink.Config{
	MapHash: 0x12345678, Window: 2, TickClocks: 100, TickMicros: 4,
	Ack: 2, Replay: 20, Limit: 5, Nak: 5, Ping: 64, Dead: 300, Expiry: 50,
}

// A bench is a link, a GPU that offers what it is told, and frames of a host.
type bench struct {
	t      *testing.T
	m      dlink.Module
	gpu    linkport.GPU
	taken  [3]int // completions, headers and beats
	cpls   []port.Completion
	reqs   []port.Request // at the target port
	beats  int
	left   int // beats of the GPU's write
	frame  []byte
	frames [][]byte
	epoch  uint32
	dev    port.Device // in place of gpu, if it is not nil
	acked  uint16      // data frames that were acknowledged
}

func newBench(t *testing.T, c dlink.Config) *bench { return &bench{t: t, m: dlink.New(c)} }

// device is a clock with a device.
func (b *bench) device(in linkport.Piece) {
	cpl, req, beat := b.m.Takes()
	complete := b.m.Complete()
	down, data := b.m.Target()
	answer, reqReady, dataReady := b.dev.Target()
	up, upBeat := b.dev.Initiator()
	b.m.Tick(in, true, linkport.GPU{Cpl: answer, Req: up, Beat: upBeat}, reqReady, dataReady)
	b.dev.Tick(down, data, cpl, complete, req, beat)
}

func (b *bench) tick(in linkport.Piece) {
	if s := b.m.Sent(); s.Valid {
		if b.frame = append(b.frame, s.Data); s.Last {
			b.frames, b.frame = append(b.frames, b.frame), nil
		}
	}
	if b.dev != nil {
		b.device(in)
		return
	}
	cpl, req, beat := b.m.Takes()
	gpu := b.gpu
	if cpl && gpu.Cpl.Status != port.CplNone {
		b.taken[0]++
		b.gpu.Cpl = port.Completion{}
	}
	if req && gpu.Req.Kind != port.None {
		b.taken[1]++
		b.gpu.Req = port.Request{}
	}
	if beat && gpu.Beat.Valid {
		b.taken[2]++
		b.left = max(b.left-1, 0)
		b.gpu.Beat.Valid, b.gpu.Beat.Last = b.left > 0, b.left == 1
	}
	if c := b.m.Complete(); c.Status != port.CplNone {
		b.cpls = append(b.cpls, c)
	}
	r, d := b.m.Target()
	if r.Kind != port.None {
		b.reqs = append(b.reqs, r)
	}
	if d.Valid {
		b.beats++
	}
	b.m.Tick(in, true, gpu, true, true)
}

func (b *bench) run(clocks int) {
	for range clocks {
		b.tick(linkport.Piece{})
	}
}

// send sends a frame, and runs for n clocks.
func (b *bench) send(body []byte, word uint32, n int) {
	for _, v := range checked(body, word) {
		b.tick(linkport.Piece{Valid: true, Data: v})
	}
	b.tick(linkport.Piece{End: true})
	b.run(n)
}

// sent returns the frames since the last call, less those with only an acknowledgement.
func (b *bench) sent() (all [][]byte) {
	for _, f := range b.frames {
		if f[0]>>4 != 0 {
			all = append(all, f)
		}
	}
	b.frames = nil
	return all
}

const helloWord = 0x48494c47

// hello returns a Hello with a nonce and the grants of credits.
func hello(nonce uint32, grants ...uint16) []byte {
	h := make([]byte, 42)
	copy(h, []byte{5 << 4, datalink.Version, 40, 0, 0, 144, 0, 64})
	binary.BigEndian.PutUint32(h[18:], 0x12345678)
	binary.BigEndian.PutUint32(h[22:], nonce)
	for i, g := range grants {
		binary.BigEndian.PutUint16(h[30+2*i:], g)
	}
	return h
}

// open begins a session with a Ping.
func (b *bench) open(nonce uint32, grants ...uint16) {
	b.send(hello(nonce, grants...), helloWord, 300)
	w := b.sent()
	require.Len(b.t, w, 1)
	require.Equal(b.t, nonce, binary.BigEndian.Uint32(w[0][22:]))
	b.epoch = crc32.ChecksumIEEE(w[0][22:30])
	b.send([]byte{3 << 4, 0}, b.epoch, 300)
	require.True(b.t, b.m.Status().Up)
	require.Equal(b.t, [][]byte{checked([]byte{4 << 4, 0}, b.epoch)}, b.sent())
}

// read offers a read of the GPU, and returns the packet that is sent, acknowledged.
func (b *bench) read(tag uint8, n uint16) []byte {
	b.gpu.Req = port.Request{Kind: port.MemRead, Tag: tag, Len: 2, Addr: 0x1000}
	b.run(300)
	f := b.sent()
	last := f[len(f)-1] // a Ping may be before it
	require.Equal(b.t, number(8, n), last[:2])
	b.send(number(0, n+1), b.epoch, 100)
	return last[2 : len(last)-4]
}

// answer returns a completion of two dwords for a read.
func answer(n uint16, tag byte) []byte {
	p := unhex("4a000002000000080000000000112233445566778"[:40])
	p = p[:12]
	p[10] = tag
	return append(append(number(8, n), p...), 0, 1, 2, 3, 4, 5, 6, 7)
}

// A read of the GPU that the host does not answer is aborted after the time-out, and not
// before. A late answer is dropped, also if the GPU uses the tag again.
func TestReadExpires(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	first := b.read(33, 0)
	require.Equal(t, byte(33), first[6])
	start := len(b.cpls)
	ticks := 0
	for ; len(b.cpls) == start && ticks < 200; ticks++ {
		b.run(100)
	}
	require.GreaterOrEqual(t, ticks+5, 50, "the read has had 400 to 500 clocks")
	require.LessOrEqual(t, ticks, 101)
	require.Equal(t, port.Completion{Tag: 33, Status: port.CplAbort, Last: true, Data: b.cpls[start].Data}, b.cpls[start])
	second := b.read(33, 1)
	require.NotEqual(t, first[6], second[6], "the tag on the wire is another one")
	b.sent()
	b.send(answer(0, first[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+1, "the late answer is dropped")
	require.Equal(t, uint16(1), b.m.Status().Packets)
	b.send(answer(1, second[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+2)
	require.Equal(t, port.Completion{Tag: 33, Status: port.CplSuccess, Last: true, Data: 0x0706050403020100}, b.cpls[start+1])
	b.send(answer(2, second[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+2, "a second answer is dropped")
}

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
	require.Equal(t, dlink.Closed, b.m.Status().Cause)
	require.Len(t, b.cpls, 1, "the read in flight is aborted")
	require.Equal(t, uint8(9), b.cpls[0].Tag)
	drain("after a session")
	b.open(2)
}

// A session ends with its cause.
func TestCauses(t *testing.T) {
	down := func(cause byte) []byte { return []byte{7 << 4, cause} }
	for _, tt := range []struct {
		name  string
		do    func(b *bench)
		cause dlink.Cause
		sends []byte // of the last frame
	}{
		{"silence", func(b *bench) { b.run(30_200) }, dlink.Dead, down(3)},
		{"no acknowledgement", func(b *bench) {
			b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 1, Len: 4, Addr: 64}
			for range 11 {
				b.send([]byte{4 << 4, 0}, b.epoch, 1000) // a Pong
			}
		}, dlink.Replay, down(2)},
		{"closed", func(b *bench) { b.send(down(1), b.epoch, 300) }, dlink.Closed, nil},
		{"the host's limit", func(b *bench) { b.send(down(2), b.epoch, 300) }, dlink.Replay, nil},
		{"the host heard nothing", func(b *bench) { b.send(down(3), b.epoch, 300) }, dlink.Dead, nil},
		{"the host found a violation", func(b *bench) { b.send(down(4), b.epoch, 300) }, dlink.Protocol, nil},
		{"another session", func(b *bench) {
			b.send(hello(77), helloWord, 300)
			w := b.sent()
			require.True(t, b.m.Status().Up, "an offer ends nothing")
			b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(w[len(w)-1][22:30]), 300)
		}, dlink.NewSession, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, quick)
			b.open(1)
			tt.do(b)
			st := b.m.Status()
			require.False(t, st.Up)
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

// Replays count from the last acknowledgement.
func TestLimit(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for n := range uint16(5) {
		b.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(n), Len: 4, Addr: 64}
		b.run(50)
		repeated := b.m.Status().Repeated
		b.run(4 * 2000)
		require.Equal(t, repeated+4, b.m.Status().Repeated, "the limit is 5")
		b.send(number(0, n+1), b.epoch, 50)
		require.True(t, b.m.Status().Up, "after %d frames", n+1)
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

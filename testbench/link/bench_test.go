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
	beats  []uint64       // data that the target port took
	left   int            // beats of the GPU's write
	frame  []byte
	frames [][]byte
	epoch  uint32
	dev    port.Device // in place of gpu, if it is not nil
	acked  uint16      // data frames that were acknowledged
	stalls bool        // the target port takes nothing
	slow   bool        // the framing takes a byte in every fourth clock
	held   bool        // it takes none
	clock  int
	link   engine // m, or another one in its place
	pace   int    // clocks of the bench for one of m
	count  counts
	each   func() // called before each clock
}

// counts counts the pulses of a link.
type counts struct{ sessions, refused, repeated, naks, packets int }

func (c *counts) add(s linkport.Status) {
	for _, e := range []struct {
		pulse bool
		n     *int
	}{{s.Began, &c.sessions}, {s.Refused, &c.refused}, {s.Repeated, &c.repeated}, {s.Nak, &c.naks}, {s.Packet, &c.packets}} {
		if e.pulse {
			*e.n++
		}
	}
}

// An engine is a link at its frames.
type engine interface {
	Sent() linkport.Sent
	Target() (req port.Request, beat port.Beat)
	Takes() (cpl, req, beat bool)
	Complete() port.Completion
	Tick(in linkport.Piece, ready bool, gpu linkport.GPU, reqReady, dataReady bool)
}

// hardwired is a hardwired link on a line that is never slow.
type hardwired struct{ *dlink.Module }

func (h hardwired) Tick(in linkport.Piece, ready bool, gpu linkport.GPU, reqReady, dataReady bool) {
	h.Module.Tick(in, ready, gpu, reqReady, dataReady, 0)
}

func newBench(t *testing.T, c dlink.Config) *bench {
	b := &bench{t: t, m: dlink.New(c), pace: 1}
	b.link, b.each = hardwired{&b.m}, func() {}
	return b
}

// device is a clock with a device.
func (b *bench) device(in linkport.Piece, ready bool) {
	cpl, req, beat := b.link.Takes()
	complete := b.link.Complete()
	down, data := b.link.Target()
	answer, reqReady, dataReady := b.dev.Target()
	up, upBeat := b.dev.Initiator()
	b.link.Tick(in, ready, linkport.GPU{Cpl: answer, Req: up, Beat: upBeat}, reqReady, dataReady)
	b.dev.Tick(down, data, cpl, complete, req, beat)
}

func (b *bench) tick(in linkport.Piece) {
	b.each()
	defer func() { b.count.add(b.m.Status()) }()
	b.clock++
	ready := !b.held && (!b.slow || b.clock%4 == 0)
	if s := b.link.Sent(); s.Valid && ready {
		if b.frame = append(b.frame, s.Data); s.Last {
			b.frames, b.frame = append(b.frames, b.frame), nil
		}
	}
	if b.dev != nil {
		b.device(in, ready)
		return
	}
	cpl, req, beat := b.link.Takes()
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
	if c := b.link.Complete(); c.Status != port.CplNone {
		b.cpls = append(b.cpls, c)
	}
	r, d := b.link.Target()
	if r.Kind != port.None {
		b.reqs = append(b.reqs, r)
	}
	if d.Valid && !b.stalls {
		b.beats = append(b.beats, d.Data)
	}
	b.link.Tick(in, ready, gpu, !b.stalls, !b.stalls)
}

func (b *bench) run(clocks int) {
	for range clocks * b.pace {
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

// packetOf returns the packet in a data frame, expanded as docs/design.md has it.
func packetOf(f []byte) []byte {
	p := f[2+2*(f[0]>>6&1) : len(f)-4]
	if f[0]>>4&3 == 0 {
		return p
	}
	h := unhex([...]string{"", "000000010000000f00000000", "400000010000000f00000000", "4a0000010100000400000000"}[f[0]>>4&3])
	mask, p := p[0], p[1:]
	for i, g := range [][2]int{{1, 4}, {4, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}} {
		if mask>>i&1 != 0 {
			n := copy(h[g[0]:g[1]], p)
			p = p[n:]
		}
	}
	return append(h, p...)
}

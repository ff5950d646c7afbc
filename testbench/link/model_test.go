package link

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

const (
	tickClocks = 1000
	clockTime  = 40 * time.Nanosecond
	tickTime   = tickClocks * clockTime
)

// A shape is the times of a link in hardware, and how its frames are compared.
//
//	window   frames in flight in each direction
//	replay   ticks until a frame is sent again
//	settled  ticks after which nothing is in flight, and a Nak may be sent again
//	pace     clocks of the link for one of the model
//	view     what is compared of the frames of an end, and the last number that it acknowledged
type shape struct {
	window  int
	replay  int
	settled int
	pace    int
	view    func(acked *uint16, frames [][]byte) []string
}

// hardShape is that of the hardwired link, which sends the same bytes.
var hardShape = shape{window: 8, replay: 100, settled: 120, pace: 1, view: func(_ *uint16, frames [][]byte) []string { return hexes(frames) }}

// A written is a write of a dword.
type written struct {
	addr uint64
	data uint32
}

// A board is the data link in hardware at its frames, with ports that take everything.
type board struct {
	link   engine
	up     func() bool
	pace   int       // clocks of the link for one of the model
	writes []written // that arrived at the target port
	offers []written // for the initiator port; the header of the first one was taken if taken is set
	taken  bool
	frame  []byte
	frames [][]byte // sent
	head   port.Request
}

func newBoard() *board {
	m := dlink.New(dlink.Config{
		MapHash: 0x12345678, Window: hardShape.window, TickClocks: tickClocks, TickMicros: 40,
		Ack: 5, Replay: uint8(hardShape.replay), Limit: 255, Nak: 20, Ping: 1 << 14, Dead: 1 << 15, Expiry: 1 << 15,
	})
	return &board{link: hardwired{&m}, up: func() bool { return m.Status().Up }, pace: hardShape.pace}
}

// tick is a clock of the model.
func (b *board) tick(in linkport.Piece) {
	for range b.pace {
		b.clock(in)
		in = linkport.Piece{}
	}
}

// clock is a clock of the link.
func (b *board) clock(in linkport.Piece) {
	var gpu linkport.GPU
	if len(b.offers) > 0 {
		o := b.offers[0]
		if !b.taken {
			gpu.Req = port.Request{Kind: port.MemWrite, Len: 1, Addr: o.addr}
		}
		gpu.Beat = port.Beat{Valid: true, Last: true, Enable: 0xf << (o.addr & 4), Data: uint64(o.data) << (8 * (o.addr & 4))}
	}
	_, req, beat := b.link.Takes()
	if b.taken = b.taken || req && gpu.Req.Kind != port.None; b.taken && beat {
		b.taken, b.offers = false, b.offers[1:]
	}
	if r, _ := b.link.Target(); r.Kind != port.None {
		b.head = r
	}
	if _, d := b.link.Target(); d.Valid {
		b.writes = append(b.writes, written{b.head.Addr, uint32(d.Data >> (8 * (b.head.Addr & 4)))})
	}
	if s := b.link.Sent(); s.Valid {
		if b.frame = append(b.frame, s.Data); s.Last {
			b.frames, b.frame = append(b.frames, b.frame), nil
		}
	}
	b.link.Tick(in, true, gpu, true, true)
}

func (b *board) run(clocks int) {
	for range clocks {
		b.tick(linkport.Piece{})
	}
}

func (b *board) receive(frame []byte) {
	for _, v := range frame {
		b.tick(linkport.Piece{Valid: true, Data: v})
	}
	b.tick(linkport.Piece{End: true})
}

// A script is a host that sends what it likes to a board in hardware and to bus/datalink,
// and compares, frame by frame, what they send and deliver.
type script struct {
	shape
	t     *testing.T
	r     *rand.Rand
	hard  *board
	soft  *datalink.Link
	out   datalink.Output
	now   time.Duration
	epoch uint32

	next   uint16 // number of the next data frame of the host
	first  uint16 // number of the oldest frame in flight of the board
	unique uint32
	got    []written // that the software delivered
	frames [][]byte  // that it sent
	keeps  bool      // the host keeps frames out of order
	counts map[string]int
	acked  [2]uint16 // last number that the software and the hardware acknowledged, see view
}

func (s *script) do(f func(l *datalink.Link, now time.Duration, out *datalink.Output)) {
	f(s.soft, s.now, &s.out)
	for i := range s.out.Frames.Len() {
		s.frames = append(s.frames, bytes.Clone(s.out.Frames.At(i)))
	}
	for i := range s.out.Packets.Len() {
		var p tlp.Packet
		require.NoError(s.t, p.Decode(s.out.Packets.At(i)))
		s.got = append(s.got, written{p.Addr, binary.LittleEndian.Uint32(p.Data)})
	}
	s.out.Reset()
}

// run passes time at both.
func (s *script) run(clocks int) {
	s.hard.run(clocks)
	for end := s.now + time.Duration(clocks)*clockTime; ; {
		at, ok := s.soft.Next()
		if !ok || at > end {
			s.now = end
			return
		}
		s.now = max(s.now, at)
		s.do((*datalink.Link).Tick)
	}
}

// frame sends a frame to both. A word other than 0 damages it.
func (s *script) frame(body []byte, word uint32) {
	f := checked(body, s.epoch^word)
	s.hard.receive(f)
	s.now += time.Duration(len(f)+1) * clockTime
	s.do(func(l *datalink.Link, now time.Duration, out *datalink.Output) { l.Receive(f, now, out) })
}

// compare compares what both have sent and delivered.
func (s *script) compare(what string) {
	s.counts[what]++
	require.Equal(s.t, s.view(&s.acked[0], s.frames), s.view(&s.acked[1], s.hard.frames), "after %s: frames of the software and of the hardware", what)
	require.Equal(s.t, s.got, s.hard.writes, "after %s: packets delivered", what)
	for _, f := range s.frames {
		if f[0]&0x80 != 0 {
			s.counts["data sent"]++
		} else {
			s.counts[fmt.Sprintf("type %d sent", f[0]>>4)]++
		}
	}
	s.frames, s.hard.frames, s.got, s.hard.writes = nil, nil, nil, nil
}

func hexes(frames [][]byte) (all []string) {
	for _, f := range frames {
		all = append(all, fmt.Sprintf("%x", f))
	}
	return all
}

// open begins a session.
func (s *script) open(nonce uint32, credits uint16) {
	hello := []byte{5 << 4, datalink.Version, 40, 0, 0, 144, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200}
	hello[7] = byte(s.window)
	if s.keeps {
		hello[9] = byte(s.window - 1)
	}
	hello = binary.BigEndian.AppendUint32(hello, 0x12345678)
	hello = binary.BigEndian.AppendUint32(hello, nonce)
	hello = binary.BigEndian.AppendUint32(hello, 0)
	hello = binary.BigEndian.AppendUint16(hello, credits)
	hello = append(hello, make([]byte, 10)...)
	s.epoch = 0x48494c47
	f := checked(hello, s.epoch)
	s.hard.receive(f)
	s.hard.run(600)
	require.Len(s.t, s.hard.frames, 1, "a Welcome")
	board := binary.BigEndian.Uint32(s.hard.frames[0][26:])
	s.do(func(l *datalink.Link, now time.Duration, out *datalink.Output) { l.Open(board, now, out) })
	s.frame(nil, 0) // too short for either
	s.do(func(l *datalink.Link, now time.Duration, out *datalink.Output) { l.Receive(f, now, out) })
	s.run(600)
	s.compare("hello")
	var both [8]byte
	binary.BigEndian.PutUint32(both[:], nonce)
	binary.BigEndian.PutUint32(both[4:], board)
	s.epoch = crc32.ChecksumIEEE(both[:])
	s.next, s.first = 0, 0
	s.frame([]byte{3 << 4, 0}, 0)
	s.run(600)
	s.compare("first ping")
	s.post() // measures a round trip
	s.settle()
}

// settle acknowledges everything, and waits until both may send a Nak again.
func (s *script) settle() {
	s.first += uint16(s.flying())
	s.frame(number(0, s.first), 0)
	s.run(s.settled * tickClocks)
	s.compare("settle")
}

// number returns a head with a number.
func number(bits, n uint16) []byte { return binary.BigEndian.AppendUint16(nil, bits<<12|n&0xfff) }

// flying returns the board's frames in flight.
func (s *script) flying() int {
	n, _ := s.soft.InFlight()
	return n
}

// packet returns a packet of the host in one of its forms, without its head.
func (s *script) packet() (form uint16, body []byte) {
	s.unique++
	if s.r.IntN(2) == 0 {
		body = binary.BigEndian.AppendUint32([]byte{0xf0}, 0x1000+4*s.unique)
		return 2, binary.LittleEndian.AppendUint32(body, s.unique*0x9e3779b1)
	}
	body = unhex("60000001000000ff")
	body[7] = 0x0f
	body = binary.BigEndian.AppendUint64(body, 7<<32+uint64(4*s.unique))
	return 0, binary.LittleEndian.AppendUint32(body, s.unique*0x9e3779b1)
}

// data sends a data frame with a number, and an acknowledgement if ack is set.
func (s *script) data(n uint16, ack bool, word uint32) {
	form, body := s.packet()
	if ack {
		s.first += uint16(s.r.IntN(s.flying() + 1))
		s.frame(append(append(number(12|form, n), number(0, s.first)...), body...), word)
		return
	}
	s.frame(append(number(8|form, n), body...), word)
}

// step is one event at both ends.
func (s *script) step() {
	what, long := "", 0
	switch k := s.r.IntN(12); k {
	case 0, 1, 2:
		what = "data"
		s.data(s.next, false, 0)
		s.next++
	case 3:
		what = "data with an acknowledgement"
		s.data(s.next, true, 0)
		s.next++
	case 4:
		what = "duplicate"
		s.data(s.next-1-uint16(s.r.IntN(40)), false, 0)
	case 5:
		what, long = "gap", 40
		s.gaps()
	case 6:
		what, long = "damage", 40
		s.settle()
		s.data(s.next, false, 1<<s.r.IntN(32))
	case 7:
		what = "acknowledgement"
		n := uint16(s.r.IntN(s.flying() + 1))
		s.first += n
		s.frame(number(0, s.first), 0)
	case 8:
		what = "impossible acknowledgement"
		s.frame(number(0, s.first+uint16(s.flying())+1+uint16(s.r.IntN(2)*s.r.IntN(50))), 0)
	case 9:
		what, long = "Nak", 40
		s.settle()
		for range 1 + s.r.IntN(s.window-1) {
			s.post()
		}
		s.run(10 * tickClocks)
		s.first += uint16(s.r.IntN(s.flying() + 1))
		s.naks()
	case 10:
		what = "Ping"
		s.frame(number(3, s.first), 0)
	default:
		what, long = "silence", s.settled
		s.settle()
		s.post()
	}
	s.run(200) // the hardware acknowledges what its target port has taken
	for range s.r.IntN(3) {
		// After a time-out the hardware sends everything again, and the software one frame to
		// a host that keeps the others.
		if s.flying() < s.window && what != "silence" {
			s.post()
		}
	}
	s.run(600 + long*tickClocks)
	if at, ok := s.soft.Next(); ok && at-s.now <= tickTime {
		s.run(2 * tickClocks) // the hardware counts ticks, and its timer may end one tick earlier
	}
	s.compare(what)
}

// post makes the GPU write a dword.
func (s *script) post() {
	s.unique++
	w := written{9<<32 + uint64(4*s.unique), s.unique}
	s.hard.offers = append(s.hard.offers, w)
	p := tlp.Packet{Kind: tlp.MWr64, Len: 1, First: 0xf, Addr: w.addr, Data: binary.LittleEndian.AppendUint32(nil, w.data)}
	b, err := p.Append(nil)
	require.NoError(s.t, err)
	s.do(func(l *datalink.Link, now time.Duration, out *datalink.Output) {
		require.NoError(s.t, l.Send(b, now, out))
	})
	s.run(300)
}

func unhex(v string) []byte {
	var b []byte
	for i := 0; i < len(v); i += 2 {
		var x byte
		fmt.Sscanf(v[i:i+2], "%02x", &x)
		b = append(b, x)
	}
	return b
}

var stepsFlag = flag.Int("link.steps", 150, "steps of TestModel for each seed")

// TestModel: for every frame of a host, good or wrong, the data link in hardware delivers,
// acknowledges and repeats what bus/datalink does, with the same bytes.
func TestModel(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(4) {
		soft, err := datalink.New(datalink.Config{
			Role: datalink.Board, MapHash: 0x12345678, MaxPacket: 144, ShortSequence: true, Window: hardShape.window,
			AckDelay: 5 * tickTime, AckEvery: hardShape.window / 2, ReplayMin: time.Duration(hardShape.replay) * tickTime, ReplayMax: time.Duration(hardShape.replay) * tickTime, ReplayLimit: 1000,
			KeepAlive: time.Hour, DeadAfter: 2 * time.Hour,
		})
		require.NoError(t, err)
		s := &script{shape: hardShape, t: t, r: rand.New(rand.NewPCG(seed, 9)), hard: newBoard(), soft: soft, counts: counts}
		for session := range 3 {
			s.keeps = s.r.IntN(4) != 0
			s.open(uint32(100*seed)+uint32(session)+1, 0)
			for range *stepsFlag / 3 {
				s.step()
			}
			s.frame(number(7, 1), 0)
			s.run(600)
			s.compare("Down")
			require.Equal(t, datalink.Down, soft.State())
			require.False(t, s.hard.up())
		}
	}
	t.Log(counts)
}

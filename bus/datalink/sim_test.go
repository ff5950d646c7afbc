package datalink

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// framing returns what a serial transport adds to a frame: a delimiter and one
// byte of stuffing in 253.
func framing(n int) int { return 2 + n/253 }

// faults are probabilities per frame.
type faults struct{ loss, dup, flip, truncate, reorder float64 }

// An arrival is a frame on the wire.
type arrival struct {
	at    time.Duration
	order int
	frame []byte
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(v any)   { *a = append(*a, v.(arrival)) }
func (a *arrivals) Pop() any {
	v := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return v
}

// A wire is one direction of the simulated channel: a rate, a latency, injected
// faults, and periods in which it is cut (frames are lost) or stalled (they
// wait).
type wire struct {
	rng     *rand.Rand
	faults  faults
	rate    int // bytes a second
	latency time.Duration
	cut     func(now time.Duration) bool
	drop    func(frame []byte) bool
	damage  func(frame []byte) []byte
	stall   func(now time.Duration) time.Duration // end of a stall
	free    time.Duration                         // when the line is free again
	order   int
	flying  arrivals
	bytes   int // on the line, framing included
}

func (w *wire) send(frame []byte, now time.Duration) {
	n := len(frame) + framing(len(frame))
	w.bytes += n
	start := max(now, w.free)
	if w.stall != nil {
		start = max(start, w.stall(start))
	}
	w.free = start + time.Duration(n)*time.Second/time.Duration(w.rate)
	if w.cut != nil && w.cut(now) || w.drop != nil && w.drop(frame) || w.rng.Float64() < w.faults.loss {
		return
	}
	copies := 1
	if w.rng.Float64() < w.faults.dup {
		copies = 2
	}
	for range copies {
		b := bytes.Clone(frame)
		if w.damage != nil {
			b = w.damage(b)
		}
		if w.rng.Float64() < w.faults.flip {
			b[w.rng.IntN(len(b))] ^= 1 << w.rng.IntN(8)
		}
		if w.rng.Float64() < w.faults.truncate {
			b = b[:w.rng.IntN(len(b))]
		}
		at := w.free + w.latency
		if w.rng.Float64() < w.faults.reorder {
			at += time.Duration(w.rng.IntN(int(4 * time.Millisecond)))
		}
		heap.Push(&w.flying, arrival{at, w.order, b})
		w.order++
	}
}

// A sim is two links, the wires between them and the virtual time.
type sim struct {
	t     testing.TB
	now   time.Duration
	links [2]*Link // host, board
	wires [2]*wire // from host, from board
	out   [2]Output
	got   func(end int, packet []byte)
}

func newSim(t testing.TB, seed uint64, f faults, host, board Config) *sim {
	host.Role, board.Role = Host, Board
	s := &sim{t: t, got: func(int, []byte) {}}
	for i, c := range []Config{host, board} {
		l, err := New(c)
		require.NoError(t, err)
		s.links[i] = l
		s.wires[i] = &wire{rng: rand.New(rand.NewPCG(seed, uint64(i))), faults: f, rate: 300_000, latency: 500 * time.Microsecond}
	}
	return s
}

// open begins a session at both ends.
func (s *sim) open(nonce uint32) {
	for i := range s.links {
		s.do(1-i, func(l *Link, out *Output) { l.Open(nonce, s.now, out) })
	}
}

// do calls f for one end and handles its output.
func (s *sim) do(end int, f func(l *Link, out *Output)) {
	out := &s.out[end]
	out.Reset()
	f(s.links[end], out)
	for i := range out.Frames.Len() {
		s.wires[end].send(out.Frames.At(i), s.now)
	}
	var packets [][]byte
	for i := range out.Packets.Len() {
		packets = append(packets, bytes.Clone(out.Packets.At(i)))
	}
	for _, p := range packets {
		s.got(end, p)
	}
}

// release returns the credits of a packet delivered to an end.
func (s *sim) release(end int, packet []byte) {
	s.do(end, func(l *Link, out *Output) { l.Release(packet, s.now, out) })
}

func (s *sim) send(end int, packet []byte) (err error) {
	s.do(end, func(l *Link, out *Output) { err = l.Send(packet, s.now, out) })
	return err
}

// step advances to the next event before limit and reports whether there was
// one.
func (s *sim) step(limit time.Duration) bool {
	at, what := limit, -1
	for i := range s.links {
		if due, ok := s.links[i].Next(); ok && max(due, s.now) < at {
			at, what = max(due, s.now), i
		}
		if f := s.wires[i].flying; len(f) > 0 && f[0].at < at {
			at, what = f[0].at, 2+i
		}
	}
	s.now = at
	switch {
	case what < 0:
		return false
	case what < 2:
		s.do(what, func(l *Link, out *Output) { l.Tick(s.now, out) })
	default:
		a := heap.Pop(&s.wires[what-2].flying).(arrival)
		s.do(3-what, func(l *Link, out *Output) { l.Receive(a.frame, s.now, out) })
		clear(a.frame) // a link does not retain it
	}
	return true
}

// run advances the time by d.
func (s *sim) run(d time.Duration) {
	for limit := s.now + d; s.step(limit); {
	}
}

// until runs until cond holds, for at most d.
func (s *sim) until(d time.Duration, what string, cond func() bool) {
	limit := s.now + d
	for !cond() {
		if !s.step(limit) {
			require.FailNow(s.t, "not reached", "%s in %v: host %v %v %+v, board %v %v %+v", what, d,
				s.links[0].State(), s.links[0].Err(), s.links[0].Stats(), s.links[1].State(), s.links[1].Err(), s.links[1].Stats())
		}
	}
}

func (s *sim) up() {
	s.until(2*time.Second, "up", func() bool { return s.links[0].State() == Up && s.links[1].State() == Up })
}

// A flood is a numbered sequence of packets in one direction, with a check of
// the packets that arrive.
type flood struct {
	t      testing.TB
	seed   uint64
	size   int // 0: any
	total  int
	sent   [3]int // by class
	got    [3]int
	counts [3][]int
	bytes  int
}

// packet returns packet number i of a class. Its bytes follow from its number.
func (f *flood) packet(c tlp.Class, i int) []byte {
	rng := rand.New(rand.NewPCG(f.seed, uint64(c)<<32|uint64(i)))
	n := f.size
	if n == 0 {
		n = 16 + rng.IntN(265)
	}
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(rng.Uint32())
	}
	b[0] = [...]byte{0x40, 0x00, 0x4a}[c]
	if rng.IntN(2) == 0 {
		b[0] = [...]byte{0x60, 0x04, 0x0a}[c]
	}
	binary.BigEndian.PutUint32(b[12:], uint32(i))
	return b
}

func (f *flood) done() bool { return f.got[0]+f.got[1]+f.got[2] == f.total }

// fill sends as many packets as the link accepts.
func (f *flood) fill(s *sim, end int, class func(i int) tlp.Class) {
	for n := f.sent[0] + f.sent[1] + f.sent[2]; n < f.total; n++ {
		c := class(n)
		p := f.packet(c, f.sent[c])
		if err := s.send(end, p); err != nil {
			require.ErrorIs(f.t, err, ErrFull)
			return
		}
		f.sent[c]++
		f.counts[c] = append(f.counts[c], f.sent[tlp.Posted])
	}
}

// take checks a packet: it must be the next one of its class, with the right
// bytes, and not precede a posted packet that was sent before it.
func (f *flood) take(packet []byte) {
	c := classOf(packet)
	i := f.got[c]
	if want := f.packet(c, i); !bytes.Equal(want, packet) {
		require.FailNow(f.t, "wrong packet", "%v %d is %x, want %x", c, i, packet, want)
	}
	if c != tlp.Posted && f.counts[c][i] > f.got[tlp.Posted] {
		require.FailNow(f.t, "passed a posted packet", "%v %d", c, i)
	}
	f.got[c]++
	f.bytes += len(packet)
}

package mem_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/mem"
)

// idle is a tick without any request.
func idle(m *mem.Module) { tick(m, port.Request{}, true, port.Request{}, port.Beat{}) }

// tick is a clock without the target.
func tick(m *mem.Module, rd port.Request, cplReady bool, wr port.Request, beat port.Beat) {
	m.Tick(rd, cplReady, wr, port.Request{}, beat, false)
}

// engines offers an endless stream of headers and beats.
type engines struct {
	open bool // the last beat of a taken header is outstanding
}

// offer returns wr if it can be taken in this clock, and the beat if its header
// was taken. taken reports whether the beat is taken.
func (e *engines) offer(m *mem.Module, wr port.Request, beat port.Beat) (req port.Request, out port.Beat, taken bool) {
	taken = e.open && beat.Valid && m.WriteReady()
	if e.open {
		out = beat
	}
	if !e.open || taken && beat.Last {
		req = wr
	}
	e.open = req.Kind != port.None || e.open && !(taken && beat.Last)
	return req, out, taken
}

func TestReadTiming(t *testing.T) {
	m := mem.New(1024, 2)
	m.SetWord(2, 22)
	m.SetWord(3, 33)
	tick(&m, port.Request{Kind: port.MemRead, Tag: 5, Len: 3, Addr: 0x14}, true, port.Request{}, port.Beat{})
	assert.Equal(t, port.Completion{}, m.Completion(), "1 clock after the header")
	idle(&m)
	want := port.Completion{Tag: 5, Status: port.CplSuccess, Data: 22}
	assert.Equal(t, want, m.Completion(), "2 clocks after the header")
	assert.Equal(t, want, m.Completion())
	tick(&m, port.Request{}, false, port.Request{}, port.Beat{})
	assert.Equal(t, want, m.Completion(), "kept while it is not taken")
	assert.Zero(t, m.IdleFor())
	idle(&m)
	assert.Equal(t, port.Completion{Tag: 5, Status: port.CplSuccess, Last: true, Data: 33}, m.Completion())
	idle(&m)
	assert.Equal(t, port.Completion{}, m.Completion())
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
}

// Requests of every length stream at one beat a clock, in both directions at
// once.
func TestThroughput(t *testing.T) {
	for _, n := range []uint8{1, 2, 3, 8, 31, 32} {
		m := mem.New(4096, 2)
		req := port.Request{Kind: port.MemRead, Len: n, Addr: 128}
		wr := port.Request{Kind: port.MemWrite, Len: n, Addr: 2048}
		beats := int(port.Beats(req.Addr, n))
		var e engines
		read, written := 0, 0
		for range 100 {
			if m.Completion().Status == port.CplSuccess {
				read++
			}
			header, beat, taken := e.offer(&m, wr, port.Beat{Valid: true, Enable: 0xff, Last: written%beats == beats-1})
			tick(&m, req, true, header, beat)
			if taken {
				written++
			}
		}
		assert.Equal(t, 98, read, "%d dwords", n)
		assert.Equal(t, 99, written, "%d dwords, after the first header", n)
	}
}

// A read that collides with a write of its word waits a clock and sees the write.
func TestCollision(t *testing.T) {
	m := mem.New(1024, 2)
	m.SetWord(4, 0x1111111111111111)
	tick(&m, port.Request{}, true, port.Request{Kind: port.MemWrite, Len: 2, Addr: 32}, port.Beat{})
	require.True(t, m.WriteReady())
	tick(&m, port.Request{Kind: port.MemRead, Len: 2, Addr: 32}, true, port.Request{},
		port.Beat{Valid: true, Last: true, Enable: 0x0f, Data: 0x2222222222222222})
	idle(&m)
	assert.Equal(t, port.CplNone, m.Completion().Status, "stalled")
	idle(&m)
	assert.Equal(t, uint64(0x1111111122222222), m.Completion().Data)
}

// Beats of the target and of an engine interleave, and each beat is written to
// its own address.
func TestTwoStreams(t *testing.T) {
	m := mem.New(1024, 2)
	target := port.Request{Kind: port.MemWrite, Len: 4, Addr: 0x100}
	m.Tick(port.Request{}, true, port.Request{Kind: port.MemWrite, Len: 6, Addr: 0x40}, target, port.Beat{}, false)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor(), "only a beat can wake it")
	target.Kind = port.None
	for i, tt := range []struct{ fromTarget, last bool }{{false, false}, {true, false}, {false, false}, {true, true}, {false, true}} {
		m.Tick(port.Request{}, true, port.Request{}, target,
			port.Beat{Valid: true, Last: tt.last, Enable: 0xff, Data: uint64(i + 1)}, tt.fromTarget)
		assert.Zero(t, m.IdleFor())
	}
	idle(&m)
	assert.Equal(t, []uint64{1, 3, 5, 0}, []uint64{m.Word(8), m.Word(9), m.Word(10), m.Word(11)})
	assert.Equal(t, []uint64{2, 4, 0}, []uint64{m.Word(32), m.Word(33), m.Word(34)})
}

func TestMisuse(t *testing.T) {
	const read, write = port.MemRead, port.MemWrite
	none, two := port.Request{}, port.Request{Kind: write, Len: 2}
	one := port.Beat{Valid: true, Last: true}
	for _, tt := range []struct {
		name       string
		rd         port.Request
		wr, target []port.Request // of the first clocks
		beat       port.Beat      // after them
		fromTarget bool
	}{
		{name: "outside", rd: port.Request{Kind: read, Len: 2, Addr: 1024}},
		{name: "past the end", rd: port.Request{Kind: read, Len: 3, Addr: 1016}},
		{name: "across 128 bytes", rd: port.Request{Kind: read, Len: 3, Addr: 248}},
		{name: "host memory", rd: port.Request{Kind: read, Len: 2, Addr: 1 << 63}},
		{name: "no length", rd: port.Request{Kind: read}},
		{name: "too long", rd: port.Request{Kind: read, Len: 33}},
		{name: "a write on the read channel", rd: two},
		{name: "a read on the write channel", wr: []port.Request{{Kind: read, Len: 2}}},
		{name: "a read on the target's", target: []port.Request{{Kind: read, Len: 2}}},
		{name: "a header too early", wr: []port.Request{two, two}},
		{name: "one of the target too early", target: []port.Request{two, two}},
		{name: "a beat without a header", target: []port.Request{two}, beat: one},
		{name: "one of the target without a header", wr: []port.Request{two}, beat: one, fromTarget: true},
		{name: "the last beat is late", wr: []port.Request{two}, beat: port.Beat{Valid: true}},
		{name: "that of the target is", target: []port.Request{two}, beat: port.Beat{Valid: true}, fromTarget: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mem.New(1024, 2)
			assert.Panics(t, func() {
				m.Tick(tt.rd, true, none, none, port.Beat{}, false)
				for i := range max(len(tt.wr), len(tt.target)) {
					wr, target := none, none
					if i < len(tt.wr) {
						wr = tt.wr[i]
					}
					if i < len(tt.target) {
						target = tt.target[i]
					}
					m.Tick(none, true, wr, target, port.Beat{}, false)
				}
				m.Tick(none, true, none, none, tt.beat, tt.fromTarget)
			})
		})
	}
	assert.Panics(t, func() { mem.New(1001, 2) })
	assert.Panics(t, func() { mem.New(1024, 0) })
	assert.Panics(t, func() { mem.New(1024, 3) })
}

func TestReset(t *testing.T) {
	m := mem.New(1024, 2)
	m.SetWord(0, 9)
	wr := port.Request{Kind: port.MemWrite, Len: 4}
	m.Tick(port.Request{Kind: port.MemRead, Len: 32}, true, wr, wr, port.Beat{}, false)
	idle(&m)
	tick(&m, port.Request{}, true, port.Request{}, port.Beat{Valid: true, Enable: 0xff})
	m.Reset()
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	assert.Equal(t, uint64(9), m.Word(0))
	assert.Equal(t, 128, m.Len())
	m.Tick(port.Request{}, true, wr, wr, port.Beat{}, false) // the target has no header any more
}

// writer drives random writes of one stream, mirrored in a reference model when
// their beats are taken.
type writer struct {
	rng   *rand.Rand
	req   port.Request // the write of the current or last beats
	open  bool         // beats are outstanding
	out   port.Beat    // the offered beat
	beat  int
	model []byte
}

func random(rng *rand.Rand, size int) port.Request {
	dword := rng.Uint64N(uint64(size / 4))
	most := min(32-dword%32, uint64(size/4)-dword)
	return port.Request{Tag: uint8(rng.Uint32N(64)), Len: uint8(1 + rng.Uint64N(most)), Addr: 4 * dword}
}

// Random reads and writes of a small memory: a read returns the value at the time
// its word was read, between its header and its completion.
func TestRandom(t *testing.T) {
	const size = 256
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := mem.New(size, 1+int(seed%2))
		w := writer{rng: rng, model: make([]byte, size)}
		target := writer{rng: rng, model: w.model}
		type read struct {
			req  port.Request
			beat int
			seen []map[byte]bool // per byte, its values since the header
		}
		var reads []read
		var rd port.Request
		for range 3000 {
			if rd.Kind == port.None && rng.IntN(2) == 0 {
				rd = random(rng, size)
				rd.Kind = port.MemRead
			}
			cplReady := rng.IntN(3) != 0
			if c := m.Completion(); c.Status != port.CplNone && cplReady {
				require.NotEmpty(t, reads)
				r := &reads[0]
				require.Equal(t, r.req.Tag, c.Tag)
				for i := range 8 {
					a := int(r.req.Addr&^7) + 8*r.beat + i
					require.True(t, r.seen[a][byte(c.Data>>(8*i))], "seed %d: byte %#x", seed, a)
				}
				r.beat++
				require.Equal(t, r.beat == int(port.Beats(r.req.Addr, r.req.Len)), c.Last)
				if c.Last {
					reads = reads[1:]
				}
			}
			rdReady := mem.ReadReady(m.Reader(), cplReady)
			place := target.held()
			if !target.open {
				place = target.header()
			}
			beat, fromTarget := w.offer(), false
			if place.Kind == port.None && rng.IntN(2) == 0 {
				beat, fromTarget = target.offer(), true
			}
			if beat.Valid && m.WriteReady() {
				if fromTarget {
					target.taken(beat)
				} else {
					w.taken(beat)
				}
			}
			m.Tick(rd, cplReady, w.header(), place, beat, fromTarget)
			if rd.Kind != port.None && rdReady {
				reads = append(reads, read{req: rd, seen: make([]map[byte]bool, size)})
				for i := range size {
					reads[len(reads)-1].seen[i] = map[byte]bool{w.model[i]: true}
				}
				rd = port.Request{}
			}
			for _, r := range reads {
				for i := range size {
					r.seen[i][w.model[i]] = true
				}
			}
		}
		for m.IdleFor() == 0 {
			idle(&m)
		}
		for i := range size {
			require.Equal(t, w.model[i], byte(m.Word(uint32(i/8))>>(8*(i%8))), "seed %d: byte %#x", seed, i)
		}
	}
}

// header returns a header, random if no beats are outstanding, and holds it.
func (w *writer) header() port.Request {
	if w.open || w.rng.IntN(2) == 0 {
		return port.Request{}
	}
	w.req, w.open, w.beat = random(w.rng, len(w.model)), true, 0
	w.req.Kind = port.MemWrite
	return w.req
}

// held returns the header whose beats are outstanding, no longer offered.
func (w *writer) held() port.Request {
	r := w.req
	r.Kind = port.None
	return r
}

// offer returns the next beat, or sometimes none yet. An offered beat stays.
func (w *writer) offer() port.Beat {
	if !w.out.Valid && w.open && w.rng.IntN(4) != 0 {
		last := w.beat == int(port.Beats(w.req.Addr, w.req.Len))-1
		w.out = port.Beat{Valid: true, Last: last, Enable: uint8(w.rng.Uint32()), Data: w.rng.Uint64()}
	}
	return w.out
}

func (w *writer) taken(beat port.Beat) {
	for i := range 8 {
		if beat.Enable>>i&1 != 0 {
			w.model[int(w.req.Addr&^7)+8*w.beat+i] = byte(beat.Data >> (8 * i))
		}
	}
	w.beat++
	w.out = port.Beat{}
	w.open = !beat.Last
}

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

// A tick with nothing on any channel.
func idle(m *mem.Module) { m.Tick(port.Request{}, true, port.Request{}, port.Beat{}) }

func TestReadTiming(t *testing.T) {
	m := mem.New(1024, 2)
	m.SetWord(2, 22)
	m.SetWord(3, 33)
	m.Tick(port.Request{Kind: port.MemRead, Tag: 5, Len: 3, Addr: 0x14}, true, port.Request{}, port.Beat{})
	assert.Equal(t, port.Completion{}, m.Completion(), "1 clock after the header")
	idle(&m)
	want := port.Completion{Tag: 5, Status: port.CplSuccess, Data: 22}
	assert.Equal(t, want, m.Completion(), "2 clocks after the header")
	assert.Equal(t, want, m.Completion())
	m.Tick(port.Request{}, false, port.Request{}, port.Beat{})
	assert.Equal(t, want, m.Completion(), "kept while it is not taken")
	assert.Zero(t, m.IdleFor())
	idle(&m)
	assert.Equal(t, port.Completion{Tag: 5, Status: port.CplSuccess, Last: true, Data: 33}, m.Completion())
	idle(&m)
	assert.Equal(t, port.Completion{}, m.Completion())
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
}

// Requests of every length stream at one beat a clock, both ways at once.
func TestThroughput(t *testing.T) {
	for _, n := range []uint8{1, 2, 3, 8, 31, 32} {
		m := mem.New(4096, 2)
		req := port.Request{Kind: port.MemRead, Len: n, Addr: 128}
		wr := port.Request{Kind: port.MemWrite, Len: n, Addr: 2048}
		beats := int(port.Beats(req.Addr, n))
		read, written := 0, 0
		for range 100 {
			_, beatReady := m.WriteReady()
			if m.Completion().Status == port.CplSuccess {
				read++
			}
			beat := port.Beat{Valid: true, Enable: 0xff, Last: written%beats == beats-1}
			m.Tick(req, true, wr, beat)
			if beatReady {
				written++
			}
		}
		assert.Equal(t, 98, read, "%d dwords", n)
		assert.Equal(t, 100, written, "%d dwords", n)
	}
}

// A read that meets a write of its word waits a clock and sees the write.
func TestCollision(t *testing.T) {
	m := mem.New(1024, 2)
	m.SetWord(4, 0x1111111111111111)
	_, beatReady := m.WriteReady()
	require.True(t, beatReady)
	m.Tick(port.Request{Kind: port.MemRead, Len: 2, Addr: 32}, true,
		port.Request{Kind: port.MemWrite, Len: 2, Addr: 32},
		port.Beat{Valid: true, Last: true, Enable: 0x0f, Data: 0x2222222222222222})
	idle(&m)
	assert.Equal(t, port.CplNone, m.Completion().Status, "stalled")
	idle(&m)
	assert.Equal(t, uint64(0x1111111122222222), m.Completion().Data)
}

func TestBeatBeforeItsHeaderWaits(t *testing.T) {
	m := mem.New(1024, 2)
	m.Tick(port.Request{}, true, port.Request{}, port.Beat{Valid: true, Last: true, Enable: 0xff, Data: 7})
	_, beatReady := m.WriteReady()
	assert.False(t, beatReady)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor(), "only the header can wake it")
	m.Tick(port.Request{}, true, port.Request{Kind: port.MemWrite, Len: 2, Addr: 8}, port.Beat{})
	assert.Zero(t, m.IdleFor())
	idle(&m)
	assert.Equal(t, uint64(7), m.Word(1))
}

func TestMisuse(t *testing.T) {
	read := port.Request{Kind: port.MemRead, Len: 2}
	for _, tt := range []struct {
		name   string
		rd, wr port.Request
		beat   port.Beat
	}{
		{"outside", port.Request{Kind: port.MemRead, Len: 2, Addr: 1024}, port.Request{}, port.Beat{}},
		{"over the end", port.Request{Kind: port.MemRead, Len: 3, Addr: 1016}, port.Request{}, port.Beat{}},
		{"host memory", port.Request{Kind: port.MemRead, Len: 2, Addr: 1 << 63}, port.Request{}, port.Beat{}},
		{"no length", port.Request{Kind: port.MemRead}, port.Request{}, port.Beat{}},
		{"too long", port.Request{Kind: port.MemRead, Len: 33}, port.Request{}, port.Beat{}},
		{"a write on the read channel", port.Request{Kind: port.MemWrite, Len: 2}, port.Request{}, port.Beat{}},
		{"a read on the write channel", port.Request{}, read, port.Beat{}},
		{"the last beat is late", port.Request{}, port.Request{Kind: port.MemWrite, Len: 2}, port.Beat{Valid: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mem.New(1024, 2)
			assert.Panics(t, func() {
				m.Tick(tt.rd, true, tt.wr, tt.beat)
				idle(&m)
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
	m.Tick(port.Request{Kind: port.MemRead, Len: 32}, true, wr, port.Beat{Valid: true, Enable: 0xff})
	m.Reset()
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	assert.Equal(t, uint64(9), m.Word(0))
	assert.Equal(t, 128, m.Len())
}

// writer drives random writes, mirrored in a model when their beats are taken.
type writer struct {
	rng   *rand.Rand
	reqs  []port.Request // headers taken
	req   port.Request   // offered
	out   port.Beat      // offered
	beat  int
	model []byte
}

func random(rng *rand.Rand, size int) port.Request {
	dword := rng.Uint64N(uint64(size / 4))
	most := min(32-dword%32, uint64(size/4)-dword)
	return port.Request{Tag: uint8(rng.Uint32N(64)), Len: uint8(1 + rng.Uint64N(most)), Addr: 4 * dword}
}

// Random reads and writes of a small memory: a read returns what was there when
// its word was read, which is between its header and its completion.
func TestRandom(t *testing.T) {
	const size = 256
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := mem.New(size, 1+int(seed%2))
		w := writer{rng: rng, model: make([]byte, size)}
		type read struct {
			req  port.Request
			beat int
			seen []map[byte]bool // per byte, what it has been since the header
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
			wr, beat := w.offer()
			reqReady, beatReady := m.WriteReady()
			m.Tick(rd, cplReady, wr, beat)
			w.taken(reqReady, beatReady, beat)
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
			m.Tick(port.Request{}, true, port.Request{}, port.Beat{})
		}
		for i := range size {
			require.Equal(t, w.model[i], byte(m.Word(uint32(i/8))>>(8*(i%8))), "seed %d: byte %#x", seed, i)
		}
	}
}

// offer returns a header, random, and the beat that is due.
func (w *writer) offer() (port.Request, port.Beat) {
	if w.req.Kind == port.None && w.rng.IntN(2) == 0 {
		w.req = random(w.rng, len(w.model))
		w.req.Kind = port.MemWrite
	}
	if !w.out.Valid && len(w.reqs) > 0 && w.rng.IntN(4) != 0 {
		last := w.beat == int(port.Beats(w.reqs[0].Addr, w.reqs[0].Len))-1
		w.out = port.Beat{Valid: true, Last: last, Enable: uint8(w.rng.Uint32()), Data: w.rng.Uint64()}
	}
	return w.req, w.out
}

func (w *writer) taken(reqReady, beatReady bool, beat port.Beat) {
	if beat.Valid && beatReady {
		for i := range 8 {
			if beat.Enable>>i&1 != 0 {
				w.model[int(w.reqs[0].Addr&^7)+8*w.beat+i] = byte(beat.Data >> (8 * i))
			}
		}
		w.beat++
		w.out = port.Beat{}
		if beat.Last {
			w.reqs, w.beat = w.reqs[1:], 0
		}
	}
	if w.req.Kind != port.None && reqReady {
		w.reqs, w.req = append(w.reqs, w.req), port.Request{}
	}
}

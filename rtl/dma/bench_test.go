package dma_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
)

const host = uint64(1) << 63

// bench is a test bench for an engine: two address spaces with a read latency,
// random order between tags and random readies. It checks the rules of the
// streams.
type bench struct {
	t     *testing.T
	m     dma.Module
	rng   *rand.Rand
	space [2][]byte // VRAM, host

	latency  int  // clocks from a header to its first completion
	shuffle  bool // completions of different tags in any order
	stall    int  // per cent of clocks in which a ready is low
	period   int  // a write header is taken every period clocks, if not 0
	repeat   bool // unsolicited completions for tags that have ended
	badRead  func(addr uint64) bool
	badWrite func(addr uint64) bool
	cancel   uint8 // bit i: node i cancels its descriptors

	clock   int
	sent    int             // number of descriptors sent
	offered bool            // the next one is offered
	ended   port.Completion // last completion of the latest read
	reads   []read
	writes  []port.Request
	beat    int // index of the next beat of writes[0]
	lastReq [2]port.Request
	lastBt  port.Beat
	results []outcome
}

type read struct {
	req  port.Request
	due  int
	beat int
}

type outcome struct {
	result dma.Result
	owner  uint8
	clock  int
}

// params returns parameters with the widest addresses and lengths.
func params(tags int) dma.Params {
	return dma.Params{Nodes: 2, Tags: tags, HostBits: 62, LengthBits: 32}
}

func newBench(t *testing.T, tags int, seed uint64) *bench {
	no := func(uint64) bool { return false }
	b := &bench{t: t, m: dma.New(params(tags)), rng: rand.New(rand.NewPCG(seed, 1)), latency: 1, badRead: no, badWrite: no}
	for i := range b.space {
		b.space[i] = make([]byte, 1<<17)
		for j := range b.space[i] {
			b.space[i][j] = byte(b.rng.Uint32())
		}
	}
	return b
}

func (b *bench) at(addr uint64) []byte { return b.space[addr>>63][addr&^host:] }

// run sends descs, with owner i%2, as fast as they are taken. It returns when all
// have ended, or fails after limit clocks.
func (b *bench) run(descs []dma.Desc, limit int) { b.runTo(descs, len(descs), limit) }

// runTo runs until the first n have ended. An offered descriptor stays until it
// is taken.
func (b *bench) runTo(descs []dma.Desc, n, limit int) {
	for end := b.clock + limit; len(b.results) < n; {
		require.Less(b.t, b.clock, end, "%d of %d descriptors ended", len(b.results), len(descs))
		var d dma.Desc
		owner := uint8(b.sent % 2)
		b.offered = b.sent < len(descs) && (b.offered || b.ready())
		if b.offered {
			d = descs[b.sent]
			if b.m.Ready() {
				b.sent, b.offered = b.sent+1, false
			}
		}
		b.tick(d, owner)
	}
}

func (b *bench) turn() bool { return b.period == 0 || b.clock%b.period == 0 }

func (b *bench) ready() bool { return b.rng.IntN(100) >= b.stall }

// tick advances one clock.
func (b *bench) tick(d dma.Desc, owner uint8) {
	if r, o := b.m.Result(); r != dma.ResultNone {
		b.results = append(b.results, outcome{r, o, b.clock})
	}
	rd := b.m.Read()
	wr, beat := b.m.Header(), rotated(&b.m)
	b.stable(rd, wr, beat)
	idle := b.m.IdleFor() != 0
	in := dma.In{ReadReady: b.ready(), ReqReady: len(b.writes) < 2 && b.ready() && b.turn(), Cpl: b.complete()}
	refused := false
	if beat.Valid && len(b.writes) > 0 {
		in.BeatReady = b.ready()
	}
	if beat.Valid && in.BeatReady {
		refused = b.write(beat)
	}
	if rd.Kind != port.None && in.ReadReady {
		b.checkHeader(rd, port.MemRead)
		b.reads = append(b.reads, read{req: rd, due: b.clock + b.latency})
		b.lastReq[0] = port.Request{}
	}
	if wr.Kind != port.None && in.ReqReady {
		b.checkHeader(wr, port.MemWrite)
		for _, w := range b.writes {
			require.Equal(b.t, w.Addr&host, wr.Addr&host, "beats for two memories")
		}
		b.writes = append(b.writes, wr)
		b.lastReq[1] = port.Request{}
	}
	before := b.m.IdleFor()
	b.m.Tick(d, owner, in, refused, b.cancel, false)
	if idle && d.Op == dma.None && b.cancel == 0 && in.Cpl.Status == port.CplNone {
		require.NotZero(b.t, before)
		require.NotZero(b.t, b.m.IdleFor(), "woke without an input")
	}
	b.clock++
}

// stable checks that an offer that was not taken is repeated.
func (b *bench) stable(rd, wr port.Request, beat port.Beat) {
	for i, r := range []port.Request{rd, wr} {
		if b.lastReq[i].Kind != port.None {
			require.Equal(b.t, b.lastReq[i], r)
		}
		b.lastReq[i] = r
	}
	if b.lastBt.Valid {
		require.Equal(b.t, b.lastBt, beat)
	}
	b.lastBt = beat
	wr2, beat2 := b.m.Header(), rotated(&b.m)
	require.Equal(b.t, wr, wr2)
	require.Equal(b.t, beat, beat2)
}

func (b *bench) checkHeader(r port.Request, kind port.Kind) {
	require.Equal(b.t, kind, r.Kind)
	require.Zero(b.t, r.Addr%4)
	require.True(b.t, r.Len >= 1 && r.Len <= port.MaxLen)
	require.Equal(b.t, r.Addr/128, (r.Addr+4*uint64(r.Len)-1)/128, "crosses 128 bytes")
}

// complete returns the completion of this clock.
func (b *bench) complete() port.Completion {
	pick := -1
	for i := range b.reads {
		if b.reads[i].due <= b.clock && (pick < 0 || b.shuffle && b.rng.IntN(2) == 0) {
			pick = i
		}
	}
	if pick < 0 || b.shuffle && !b.ready() {
		return b.stray()
	}
	r := &b.reads[pick]
	c := port.Completion{Tag: r.req.Tag, Status: port.CplSuccess, Data: b.rng.Uint64()}
	addr := r.req.Addr&^7 + 8*uint64(r.beat)
	if b.badRead(addr) {
		c.Status, c.Last = port.CplUnsupported, true
	} else {
		for i := range uint64(8) {
			if a := addr + i; a >= r.req.Addr && a < r.req.Addr+4*uint64(r.req.Len) {
				c.Data = c.Data&^(0xff<<(8*i)) | uint64(b.at(a)[0])<<(8*i)
			}
		}
		r.beat++
		c.Last = r.beat == int(port.Beats(r.req.Addr, r.req.Len))
	}
	if c.Last {
		b.reads = append(b.reads[:pick:pick], b.reads[pick+1:]...)
		b.ended = c
	}
	return c
}

// stray returns a completion for a tag that has ended, if repeat is set.
func (b *bench) stray() port.Completion {
	for _, r := range b.reads {
		if r.req.Tag == b.ended.Tag {
			return port.Completion{}
		}
	}
	if !b.repeat {
		return port.Completion{}
	}
	return port.Completion{Tag: b.ended.Tag, Status: port.CplSuccess, Data: b.rng.Uint64()}
}

// write takes a beat and reports whether its write is refused with it.
func (b *bench) write(beat port.Beat) (refused bool) {
	w := b.writes[0]
	n := int(port.Beats(w.Addr, w.Len))
	first, last := b.beat == 0, b.beat == n-1
	require.Equal(b.t, last, beat.Last)
	require.NotZero(b.t, beat.Enable)
	run := beat.Enable
	for run&1 == 0 {
		run >>= 1
	}
	require.Zero(b.t, run&(run+1), "lanes with a gap")
	require.True(b.t, first || beat.Enable&1 != 0, "only the first beat starts late")
	require.True(b.t, last || beat.Enable&0x80 != 0, "only the last beat ends early")
	bad := b.badWrite(w.Addr)
	for i := range uint64(8) {
		if beat.Enable>>i&1 != 0 {
			a := w.Addr&^7 + 8*uint64(b.beat) + i
			require.True(b.t, a >= w.Addr && a < w.Addr+4*uint64(w.Len), "lane outside the header's range")
			if !bad {
				b.at(a)[0] = byte(beat.Data >> (8 * i))
			}
		}
	}
	b.beat++
	b.lastBt = port.Beat{}
	if last {
		b.writes, b.beat = b.writes[1:], 0
	}
	return last && bad
}

// rotated returns the beat as memory gets it.
func rotated(m *dma.Module) port.Beat {
	beat, shift := m.Beat()
	beat.Valid = m.Offers()
	beat.Data = dma.Rotate(beat.Data, shift)
	return beat
}

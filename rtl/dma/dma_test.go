package dma_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/mem"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// apply is the specification: the effect of a descriptor on the two spaces.
func apply(space *[2][]byte, d dma.Desc) {
	dst := space[d.Dst>>63][d.Dst&^host:][:d.Len]
	if d.Op == dma.Copy {
		copy(dst, space[d.Src>>63][d.Src&^host:][:d.Len])
		return
	}
	for i := range dst {
		dst[i] = byte(d.Src >> (8 * (i % 8)))
	}
}

func clone(s [2][]byte) [2][]byte { return [2][]byte{bytes.Clone(s[0]), bytes.Clone(s[1])} }

// same compares two spaces and reports the first byte that differs.
func same(t *testing.T, want, got [2][]byte) {
	t.Helper()
	for s := range want {
		for i := range want[s] {
			if want[s][i] != got[s][i] {
				require.Equal(t, want[s][i], got[s][i], "space %d, byte %#x", s, i)
			}
		}
	}
}

// Every length with every pair of alignments, one descriptor at a time.
func TestAlignments(t *testing.T) {
	for src := range uint64(8) {
		b := newBench(t, 4, src)
		want := clone(b.space)
		var descs []dma.Desc
		for dst := range uint64(8) {
			for n := uint32(1); n < 40; n++ {
				at := uint64(0x8000 + 64*len(descs))
				descs = append(descs, dma.Desc{Op: dma.Copy, Len: n, Src: 0x100 + src, Dst: at + dst})
			}
		}
		for _, d := range descs {
			apply(&want, d)
		}
		b.run(descs, 20000)
		same(t, want, b.space)
	}
}

// Long copies around the 128-byte boundaries.
func TestBoundaries(t *testing.T) {
	for _, n := range []uint32{120, 121, 127, 128, 129, 135, 136, 137, 255, 256, 257, 1000} {
		b := newBench(t, 2, uint64(n))
		want := clone(b.space)
		var descs []dma.Desc
		for _, src := range []uint64{0, 1, 7, 8, 64, 120, 127} {
			for _, dst := range []uint64{0, 1, 3, 8, 65, 127} {
				descs = append(descs, dma.Desc{Op: dma.Copy, Len: n, Src: src, Dst: 0x8000 + uint64(len(descs))*0x480 + dst})
			}
		}
		for _, d := range descs {
			apply(&want, d)
		}
		b.run(descs, 100000)
		same(t, want, b.space)
	}
}

// randomDescs returns descriptors that read the first half of the spaces and
// write disjoint parts of the second half.
func randomDescs(r *rand.Rand, n int, max uint32) []dma.Desc {
	next := [2]uint64{1 << 16, 1 << 16}
	var ds []dma.Desc
	for len(ds) < n {
		s := r.Uint64N(2)
		d := dma.Desc{Op: dma.Copy, Len: 1 + r.Uint32N(max)}
		if r.IntN(4) == 0 {
			d.Len = 1 + r.Uint32N(16)
		}
		d.Src = r.Uint64N(1<<16-uint64(d.Len)) | r.Uint64N(2)<<63
		if r.IntN(4) == 0 {
			d.Op, d.Src = dma.Fill, r.Uint64()
		}
		d.Dst = next[s] + r.Uint64N(140)
		next[s] = d.Dst + uint64(d.Len)
		d.Dst |= s << 63
		if next[s] > 1<<17 {
			return ds
		}
		ds = append(ds, d)
	}
	return ds
}

func TestRandom(t *testing.T) {
	tooltest.Long(t)
	for seed := range uint64(40) {
		t.Logf("seed %d", seed)
		b := newBench(t, 2<<(seed%4), seed)
		b.latency = 1 + b.rng.IntN(60)
		b.shuffle = seed%3 != 0
		b.stall = int(seed%4) * 25
		b.repeat = seed%5 == 0
		want := clone(b.space)
		descs := randomDescs(b.rng, 60, 700)
		for _, d := range descs {
			apply(&want, d)
		}
		b.run(descs, 200000)
		same(t, want, b.space)
		for i, r := range b.results {
			require.Equal(t, dma.ResultDone, r.result, "seed %d", seed)
			require.Equal(t, uint8(i%2), r.owner, "seed %d", seed)
		}
		require.Equal(t, uint64(math.MaxUint64), b.m.IdleFor())
	}
}

// Descriptors that read or write a bad range end with an error, write only a
// prefix and do not disturb the others, except those of the same node that are
// cancelled because they are after it.
func TestRandomFaults(t *testing.T) {
	tooltest.Long(t)
	faults, cancelled := 0, 0
	for seed := range uint64(32) {
		t.Logf("seed %d", seed)
		b := newBench(t, 2<<(seed%4), seed)
		b.latency = 1 + b.rng.IntN(60)
		b.shuffle = seed%3 != 0
		b.stall = int(seed%4) * 20
		b.period = int(seed/8%2) * 40
		lo, n := b.rng.Uint64N(1<<16), 1+b.rng.Uint64N(20000)
		b.badRead = func(a uint64) bool { a &^= host; return a < 1<<16 && a-lo < n }
		b.badWrite = func(a uint64) bool { return seed%2 == 0 && a&^host > 0x1a000 }
		before, want := clone(b.space), clone(b.space)
		descs := randomDescs(b.rng, 60, 3000)
		for i := range descs {
			descs[i].After = dma.Queues(2<<(seed%4)) && b.rng.IntN(3) == 0
		}
		b.run(descs, 400000)
		for i, d := range descs {
			if d.After && i >= 2 && b.results[i-2].result != dma.ResultDone { // of the same node
				cancelled++
				require.Equal(t, dma.ResultWriteError, b.results[i].result, "seed %d descriptor %d", seed, i)
				require.Equal(t, before[d.Dst>>63][d.Dst&^host:][:d.Len], b.at(d.Dst)[:d.Len], "seed %d descriptor %d", seed, i)
				continue
			}
			apply(&want, d)
			got, was, full := b.at(d.Dst)[:d.Len], before[d.Dst>>63][d.Dst&^host:][:d.Len], want[d.Dst>>63][d.Dst&^host:][:d.Len]
			result := expect(b, d)
			require.Equal(t, result, b.results[i].result, "seed %d descriptor %d", seed, i)
			if result == dma.ResultDone {
				require.Equal(t, full, got, "seed %d descriptor %d", seed, i)
				continue
			}
			faults++
			prefix(t, was, full, got, seed, i)
		}
		require.Empty(t, b.reads)
		require.Empty(t, b.writes)
	}
	assert.Greater(t, faults, 100)
	assert.Greater(t, cancelled, 20)
}

// prefix checks that got is was with a prefix of full's changes applied.
func prefix(t *testing.T, was, full, got []byte, seed uint64, desc int) {
	t.Helper()
	p := 0
	for p < len(got) && got[p] == full[p] {
		p++
	}
	require.Equal(t, was[p:], got[p:], "seed %d descriptor %d: not a prefix", seed, desc)
}

// expect returns the outcome of d: the first error in the order of its bytes.
func expect(b *bench, d dma.Desc) dma.Result {
	for i := uint64(0); i < uint64(d.Len); i++ {
		burst := max(d.Dst+i&^127, d.Dst&^3)
		end := min((d.Dst+i)|127, d.Dst+uint64(d.Len)-1) - d.Dst // last byte of the burst
		for j := i; d.Op == dma.Copy && j <= end; j++ {
			if b.badRead((d.Src + j) &^ 7) {
				return dma.ResultReadError
			}
		}
		if d.Dst&127 != 0 && i == 0 {
			burst = d.Dst &^ 3
		}
		if b.badWrite(burst) {
			return dma.ResultWriteError
		}
		i = end
	}
	return dma.ResultDone
}

// If a node cancels its descriptors, each leaves a prefix, and the other node's
// descriptors are not affected.
func TestCancel(t *testing.T) {
	given := 0
	for seed := range uint64(24) {
		t.Logf("seed %d", seed)
		b := newBench(t, 2<<(seed%4), seed)
		b.latency = 1 + b.rng.IntN(60)
		b.shuffle = seed%3 != 0
		b.stall = int(seed%4) * 20
		before, want := clone(b.space), clone(b.space)
		descs := randomDescs(b.rng, 30, 3000)
		for i := range descs {
			b.cancel = uint8(b.rng.IntN(2))
			b.runTo(descs, i+1, 200000)
		}
		for i, d := range descs {
			apply(&want, d)
			got, was, full := b.at(d.Dst)[:d.Len], before[d.Dst>>63][d.Dst&^host:][:d.Len], want[d.Dst>>63][d.Dst&^host:][:d.Len]
			if b.results[i].result == dma.ResultDone {
				require.Equal(t, full, got, "seed %d descriptor %d", seed, i)
				continue
			}
			given++
			require.Equal(t, dma.ResultWriteError, b.results[i].result)
			require.Zero(t, i%2, "of the other node")
			prefix(t, was, full, got, seed, i)
		}
		require.Empty(t, b.reads)
		require.Empty(t, b.writes)
	}
	assert.Greater(t, given, 50)
}

// A failed read of a long copy stops the reads after it.
func TestFaultStopsReading(t *testing.T) {
	b := newBench(t, 4, 1)
	b.latency = 10
	b.badRead = func(a uint64) bool { return a < 128 }
	b.run([]dma.Desc{{Op: dma.Copy, Len: 1 << 16, Dst: 1 << 16}, {Op: dma.Fill, Len: 8, Dst: 0x10000}}, 200)
	assert.Equal(t, dma.ResultReadError, b.results[0].result)
	assert.Equal(t, dma.ResultDone, b.results[1].result)
}

func TestStrayCompletionIsIgnored(t *testing.T) {
	m := dma.New(params(4))
	for tag := range uint8(32) {
		m.Tick(dma.Desc{}, 0, dma.In{Cpl: port.Completion{Tag: tag, Status: port.CplSuccess, Last: true}}, false, 0, false)
		assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	}
}

// A completion with a tag that the engine does not have is ignored, even if its
// low bits match a tag of the engine.
func TestForeignTagIsIgnored(t *testing.T) {
	m := dma.New(params(4))
	clock := func(in dma.In) {
		m.Tick(dma.Desc{Op: dma.Copy, Len: 8, Dst: 0x10000}, 0, in, false, 0, false)
	}
	for m.Read().Kind == port.None {
		clock(dma.In{})
	}
	clock(dma.In{ReadReady: true})
	beat := port.Completion{Tag: 4, Status: port.CplSuccess, Last: true}
	for _, tag := range []uint8{4, 8, 12, 15, 0} {
		require.Equal(t, port.None, m.Header().Kind, "before a completion with tag %d", tag)
		beat.Tag = tag
		clock(dma.In{Cpl: beat})
		clock(dma.In{})
	}
	assert.Equal(t, port.MemWrite, m.Header().Kind)
}

func TestReset(t *testing.T) {
	b := newBench(t, 4, 1)
	b.latency = 30
	for range 20 {
		b.tick(dma.Desc{Op: dma.Copy, Len: 4096, Dst: 0x10000}, 0)
	}
	b.m.Reset()
	assert.Equal(t, uint64(math.MaxUint64), b.m.IdleFor())
	assert.True(t, b.m.Wakes())
	b.reads, b.writes, b.beat = nil, nil, 0
	b.lastReq, b.lastBt = [2]port.Request{}, port.Beat{}
	b.run([]dma.Desc{{Op: dma.Copy, Len: 100, Src: 3, Dst: 0x10000}}, 200)
	assert.Equal(t, dma.ResultDone, b.results[0].result)
}

// onVRAM runs descriptors on VRAM and returns the clocks from the first one's
// offer to the last outcome.
func onVRAM(t *testing.T, tags int, descs ...dma.Desc) int {
	m, v := dma.New(params(tags)), mem.New(1<<18, 2)
	for i := range v.Len() {
		v.SetWord(uint32(i), rand.New(rand.NewPCG(uint64(i), 2)).Uint64())
	}
	sent, ended := 0, 0
	open := false // the last beat of a taken header is outstanding
	for clock := 0; ; clock++ {
		if r, _ := m.Result(); r != dma.ResultNone {
			require.Equal(t, dma.ResultDone, r)
			if ended++; ended == len(descs) {
				return clock
			}
		}
		require.Less(t, clock, 20000)
		var d dma.Desc
		if sent < len(descs) {
			d = descs[sent]
			if m.Ready() {
				sent++
			}
		}
		rd := m.Read()
		wr, beat := m.Header(), rotated(&m)
		in := dma.In{ReadReady: mem.ReadReady(v.Reader(), true), Cpl: v.Completion(), BeatReady: v.WriteReady()}
		last := beat.Valid && beat.Last && in.BeatReady
		if in.ReqReady = !open || last; !in.ReqReady {
			wr.Kind = port.None
		}
		open = wr.Kind != port.None || open && !last
		v.Tick(rd, true, wr, port.Request{}, beat, false)
		m.Tick(d, 0, in, false, 0, false)
	}
}

func TestTiming(t *testing.T) {
	const k64 = 64 << 10
	rows := make([]dma.Desc, 64)
	for i := range rows {
		rows[i] = dma.Desc{Op: dma.Copy, Len: 64, Src: uint64(i) * 256, Dst: 0x20000 + uint64(i)*256}
	}
	for _, tt := range []struct {
		name  string
		tags  int
		most  int // most clocks
		descs []dma.Desc
	}{
		{"64 bytes", 16, 20, []dma.Desc{{Op: dma.Copy, Len: 64, Dst: 0x10000}}},
		{"1 byte", 16, 6, []dma.Desc{{Op: dma.Copy, Len: 1, Dst: 0x10001}}},
		{"fill of 8 bytes", 16, 4, []dma.Desc{{Op: dma.Fill, Len: 8, Dst: 0x10000}}},
		{"64 KiB aligned, 7.97 bytes a clock", 16, k64 * 100 / 797, []dma.Desc{{Op: dma.Copy, Len: k64, Dst: 0x10000}}},
		{"64 KiB, source off by 3, 7.95 bytes a clock", 16, k64 * 100 / 795, []dma.Desc{{Op: dma.Copy, Len: k64, Src: 3, Dst: 0x20000}}},
		{"64 KiB, both off, 7.95 bytes a clock", 16, k64 * 100 / 795, []dma.Desc{{Op: dma.Copy, Len: k64, Src: 61, Dst: 0x20007}}},
		{"64 KiB fill, 7.99 bytes a clock", 16, k64 * 100 / 799, []dma.Desc{{Op: dma.Fill, Len: k64, Dst: 0x10000}}},
		{"64 rows of 64 bytes, 9 clocks each", 16, 64*9 + 20, rows},
		{"4 tags, 64 bytes", 4, 20, []dma.Desc{{Op: dma.Copy, Len: 64, Dst: 0x10000}}},
		{"4 tags, fill of 8 bytes", 4, 4, []dma.Desc{{Op: dma.Fill, Len: 8, Dst: 0x10000}}},
		{"4 tags, 64 KiB, both off, 7.95 bytes a clock", 4, k64 * 100 / 795, []dma.Desc{{Op: dma.Copy, Len: k64, Src: 61, Dst: 0x20007}}},
		{"4 tags, 64 rows of 64 bytes, 11 clocks each", 4, 64*11 + 20, rows},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := onVRAM(t, tt.tags, tt.descs...)
			assert.LessOrEqual(t, got, tt.most)
			t.Logf("%d clocks, at most %d", got, tt.most)
		})
	}
}

// A round trip of 128 clocks to the host still gives 90 % of 8 bytes a clock.
func TestLatency(t *testing.T) {
	for _, tt := range []struct {
		name     string
		src, dst uint64
		period   int
	}{
		{"host to VRAM", host, 0x10000, 0},
		{"host to VRAM, off by 5", host | 5, 0x10000, 0},
		{"VRAM to host", 0, host | 0x10000, 0},
		{"host to host", host, host | 0x10000, 0},
		{"headers taken every 13 clocks", host, host | 0x10000, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 16, 1)
			b.latency = 128
			b.period = tt.period
			b.run([]dma.Desc{{Op: dma.Copy, Len: 32 << 10, Src: tt.src, Dst: tt.dst}}, 32<<10/8*100/90)
			t.Logf("%d clocks for 32 KiB", b.results[0].clock)
		})
	}
}

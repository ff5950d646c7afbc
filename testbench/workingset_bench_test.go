package testbench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// The working set: buffers of 8 times VRAM in total. A step copies between two of them.
const (
	setVRAM   = 256 << 10
	setBuffer = 8 << 10
	setCount  = 8 * setVRAM / setBuffer
	setSteps  = 400
	setCopy   = 64 // bytes that a step copies
)

// A step uses two buffers, and writes the first.
type step struct{ to, from int }

// steps returns a trace: half of the steps use a few buffers often, the others any.
func steps(seed uint64) (trace []step) {
	rng := rand.New(rand.NewPCG(seed, 60))
	pick := func() int {
		if rng.IntN(2) == 0 {
			return rng.IntN(setCount / 16)
		}
		return rng.IntN(setCount)
	}
	for range setSteps {
		s := step{pick(), pick()}
		for s.from == s.to {
			s.from = pick()
		}
		trace = append(trace, s)
	}
	return trace
}

// lru returns the bytes that a cache of the given number of buffers moves in and out on a trace, if it
// drops the least recently used one. All buffers have content, and none is in it first.
func lru(trace []step, buffers int) (in, out uint64) {
	type entry struct {
		buffer int
		dirty  bool
	}
	var cache []entry // the most recently used one last
	use := func(b int, write bool) {
		for i, e := range cache {
			if e.buffer == b {
				cache = append(append(cache[:i:i], cache[i+1:]...), entry{b, e.dirty || write})
				return
			}
		}
		if len(cache) == buffers {
			if cache[0].dirty {
				out += setBuffer
			}
			cache = cache[1:]
		}
		in += setBuffer
		cache = append(cache, entry{b, write})
	}
	for _, s := range trace {
		use(s.from, false)
		use(s.to, true)
	}
	return in, out
}

func TestLRU(t *testing.T) {
	in, out := lru([]step{{0, 1}, {2, 0}, {0, 3}, {1, 2}}, 2)
	// 1 and 0 enter. 0 stays, and 2 takes the place of 1. 3 takes that of 0, which is dirty, and 0
	// that of 2, which is. 2 takes that of 3, and 1 that of 0, which is dirty again.
	require.Equal(t, []uint64{7 * setBuffer, 3 * setBuffer}, []uint64{in, out})
}

// set is an application with the working set.
type set struct {
	app
	sys  *System
	bufs []*d3d11.Buffer
	want [][]byte
}

func newSet(t testing.TB, board string) *set {
	sys, err := Open(board, HostDrivers(), Options{NoVerify: true})
	require.NoError(t, err)
	dev, ctx, err := sys.CreateDevice()
	require.NoError(t, err)
	s := &set{app: app{t, dev, ctx}, sys: sys}
	for i := range setCount {
		s.bufs = append(s.bufs, s.local(setBuffer, byte(i)))
		s.want = append(s.want, bytes.Repeat([]byte{byte(i)}, setBuffer))
		s.touch(s.bufs[i])
		copy(s.want[i], []byte{1, 2, 3, 4})
	}
	require.NoError(t, sys.WaitForIdle())
	return s
}

// run renders a trace and returns its clocks.
func (s *set) run(trace []step) uint64 {
	before := s.sys.Stats().Cycles
	for i, x := range trace {
		at := uint32(i) * setCopy % setBuffer
		copy(s.want[x.to][at:at+setCopy], s.want[x.from][at:at+setCopy])
		s.ctx.CopySubresourceRegion(s.bufs[x.to], 0, at, 0, 0, s.bufs[x.from], 0, &d3d11.Box{Left: at, Right: at + setCopy, Bottom: 1, Back: 1})
	}
	s.ctx.Flush()
	require.NoError(s.t, s.sys.WaitForIdle())
	return s.sys.Stats().Cycles - before
}

// check compares all buffers with the model.
func (s *set) check() {
	for i, b := range s.bufs {
		require.Equal(s.t, s.want[i], s.read(b, setBuffer), "buffer %d", i)
	}
}

// longCopy is the size of a copy of copyRate, in bytes.
const longCopy = 64 << 10

// copyRate returns the bytes per clock of long copies between host memory and VRAM, in one
// direction, as node 0 does them one after the other. Two submissions differ only in the number
// of copies, so the difference of their clocks has no submission, doorbell or interrupt.
func (s *set) copyRate(in bool) float64 {
	local := s.local(longCopy, 1)
	defer local.Release()
	staging, err := s.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: longCopy, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(s.t, err)
	defer staging.Release()
	clocks := func(copies int) uint64 {
		before := s.sys.kernel.Stats().DMABuffers
		began := s.sys.Stats().Cycles
		for range copies {
			if in {
				s.ctx.CopyResource(local, staging)
			} else {
				s.ctx.CopyResource(staging, local)
			}
		}
		s.ctx.Flush()
		require.NoError(s.t, s.sys.WaitForIdle())
		require.EqualValues(s.t, 1, s.sys.kernel.Stats().DMABuffers-before, "one submission")
		return s.sys.Stats().Cycles - began
	}
	clocks(1) // both are resident
	const few, many = 4, 20
	short := clocks(few)
	return (many - few) * longCopy / float64(clocks(many)-short)
}

// BenchmarkWorkingSet compares the clocks of a working set of 8 times VRAM with those in which
// a node would copy the bytes that LRU moves at its own rate:
//
//	figure = (in / rate of copies to VRAM + out / rate of copies to host memory) / clocks
//
// In and out are the bytes that lru moves on the same trace, the rates are those of copyRate, and
// the clocks are those of the trace, from the first call of the API until both nodes are idle. The
// kernel moves more bytes: it knows of each DMA buffer which allocations it writes, and not
// which of its groups writes them.
func BenchmarkWorkingSet(b *testing.B) {
	for _, board := range []string{"emu?config=full", "emu?config=small"} {
		board += fmt.Sprintf("&vram=%d", setVRAM)
		for range b.N {
			s := newSet(b, board)
			trace := steps(1)
			before := s.sys.kernel.Stats()
			clocks := s.run(trace)
			st := s.sys.kernel.Stats()
			s.check()
			rate := []float64{s.copyRate(true), s.copyRate(false)}
			in, out := lru(trace, setVRAM/setBuffer)
			ideal := float64(in)/rate[0] + float64(out)/rate[1]
			b.Logf("LRU moves %d bytes in and %d out, at %.2f and %.2f a clock in %.0f clocks; the kernel moved %d and %d in %d", in, out, rate[0], rate[1], ideal,
				st.BytesPagedIn-before.BytesPagedIn, st.BytesPagedOut-before.BytesPagedOut, clocks)
			bustest.Figure(b, "working set of 8 times VRAM over "+board, ideal/float64(clocks), "of copy rate", ideal/float64(clocks) >= 0.6, "at least 0.6")
			s.dev.Close()
			require.NoError(b, s.sys.Close())
		}
	}
}

package dxgkrnl

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var workingSets = flag.Int("dxgkrnl.workingsets", 2, "seeds of TestWorkingSets for each kind of device")

// A worker is a process with allocations in VRAM and the bytes that each must have.
type worker struct {
	*rig
	allocs []ddi.KMHandle
	want   map[ddi.KMHandle][]byte
}

// newWorker makes allocations of total bytes.
func newWorker(r *rig, id uint32, node uint32, total int, rng *rand.Rand) *worker {
	w := &worker{rig: r.process(id), want: map[ddi.KMHandle][]byte{}}
	w.open(node)
	for total > 0 {
		n := min(256+rng.IntN(3800), total)
		set := uint32(local)
		if rng.IntN(4) == 0 {
			set = both
		}
		a := w.alloc(uint64(n), set)
		w.allocs, w.want[a] = append(w.allocs, a), make([]byte, n)
		total -= n
	}
	return w
}

// render renders a buffer of random fills and copies, and does the same in the model.
func (w *worker) renderSome(rng *rand.Rand) {
	var cmds []command
	for range 1 + rng.IntN(20) {
		dst, src := w.allocs[rng.IntN(len(w.allocs))], w.allocs[rng.IntN(len(w.allocs))]
		to, from := w.want[dst], w.want[src]
		off, at := rng.IntN(len(to)), rng.IntN(len(from))
		if n := 1 + rng.IntN(len(to)-off); rng.IntN(2) == 0 {
			v := byte(rng.Uint32())
			copy(to[off:], repeat(v, n))
			cmds = append(cmds, fill(dst, uint32(off), uint32(n), v))
			continue
		}
		n := 1 + rng.IntN(min(len(to)-off, len(from)-at))
		copy(to[off:], append([]byte(nil), from[at:at+n]...))
		cmds = append(cmds, copyTo(dst, uint32(off), src, uint32(at), uint32(n)))
	}
	w.render(cmds...)
}

// Three processes render over 1.1, 2 and 8 times VRAM. Nodes complete in any order. Buffers are split, and written in several
// passes. Each byte is that of the model.
func TestWorkingSets(t *testing.T) {
	const vram = 32 << 10
	moves, splits := uint64(0), uint64(0)
	for _, factor := range []float64{1.1, 2, 8} {
		for _, o := range []options{{nodes: 1}, {nodes: 2}, {nodes: 1, aperture: 4}, {nodes: 2, aperture: 4}, {nodes: 2, aperture: 4, preempts: true, hiddenVRAM: true}} {
			for seed := range uint64(*workingSets) {
				t.Run(fmt.Sprintf("%v of VRAM, %+v nodes, aperture %d, preempts %v, seed %d", factor, o.nodes, o.aperture, o.preempts, seed), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(factor*10)))
					o.vram, o.capacity, o.buffers = vram, 1+rng.IntN(4), 1+rng.IntN(4)
					r := newRig(t, o)
					r.mini.most, r.mini.piece = opBytes*(1+rng.IntN(6)), 1000
					passes := 0
					r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
						if arg.MultipassOffset != 0 {
							passes++
						}
						return out, s, false
					}
					order := rand.New(rand.NewPCG(seed, 61))
					r.gpu.choose = func() int { return order.IntN(o.nodes) }
					var ws []*worker
					for i := range uint32(3) {
						ws = append(ws, newWorker(r, i+1, i%uint32(o.nodes), int(factor*vram/3), rng))
					}
					buffers := 0
					for range 60 {
						w := ws[rng.IntN(len(ws))]
						w.renderSome(rng)
						buffers++
						if rng.IntN(5) == 0 {
							a := w.allocs[rng.IntN(len(w.allocs))]
							require.Equal(t, w.want[a], w.read(a))
						}
					}
					for _, w := range ws {
						for _, a := range w.allocs {
							require.Equal(t, w.want[a], w.read(a))
						}
					}
					assert.Greater(t, len(r.logged("Render")), buffers, "buffers of several passes")
					assert.NotZero(t, passes, "paging operations of several passes")
					st := r.kernel.Stats()
					moves, splits = moves+st.Moves, splits+st.Splits
					assert.NotZero(t, st.BytesPagedOut)
					r.finish()
				})
			}
		}
	}
	assert.NotZero(t, moves)
	assert.NotZero(t, splits)
}

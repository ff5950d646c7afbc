package testbench

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

var workingSets = flag.Int("workingsets", 1, "seeds of TestWorkingSets for each board")

// A holder is an application with buffers in VRAM, and the bytes that each must have.
type holder struct {
	app
	bufs []*d3d11.Buffer
	want [][]byte
}

// newHolder makes buffers of total bytes.
func newHolder(a app, total int, rng *rand.Rand) *holder {
	h := &holder{app: a}
	for total > 0 {
		n, v := min(512+rng.IntN(6<<10)&^15, total), byte(rng.Uint32())
		h.bufs, h.want = append(h.bufs, a.local(uint32(n), v)), append(h.want, bytes.Repeat([]byte{v}, n))
		total -= n
	}
	return h
}

// copies copies between random parts of random buffers.
func (h *holder) copies(n int, rng *rand.Rand) {
	for range n {
		to, from := rng.IntN(len(h.bufs)), rng.IntN(len(h.bufs))
		if to == from {
			continue
		}
		off, at := rng.IntN(len(h.want[to])), rng.IntN(len(h.want[from]))
		size := 1 + rng.IntN(min(len(h.want[to])-off, len(h.want[from])-at))
		copy(h.want[to][off:], h.want[from][at:at+size])
		h.ctx.CopySubresourceRegion(h.bufs[to], 0, uint32(off), 0, 0, h.bufs[from], 0, &d3d11.Box{Left: uint32(at), Right: uint32(at + size), Bottom: 1, Back: 1})
	}
	h.ctx.Flush()
}

// Two applications render over 1.1, 2 and 8 times VRAM, with and without an aperture, on devices
// with one and two nodes. All bytes are those of the model, and no rule is broken.
func TestWorkingSets(t *testing.T) {
	const vram = 64 << 10
	splits := uint64(0)
	for _, board := range []string{"emu?config=small&vram=64KiB", "emu?config=full&vram=64KiB", "emu?vram=64KiB&gart=1"} {
		for _, factor := range []float64{1.1, 2, 8} {
			for seed := range uint64(*workingSets) {
				t.Run(fmt.Sprintf("%s, %v of VRAM, seed %d", board, factor, seed), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(10*factor)))
					sys, err := Open(board, HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
					require.NoError(t, err)
					var all []*holder
					for range 2 {
						all = append(all, newHolder(newApp(t, sys), int(factor*vram/2), rng))
					}
					for range 10 {
						all[rng.IntN(2)].copies(1+rng.IntN(20), rng)
					}
					for _, h := range all {
						for i, b := range h.bufs {
							require.Equal(t, h.want[i], h.read(b, uint32(len(h.want[i]))), "buffer %d", i)
						}
					}
					st := sys.kernel.Stats()
					splits += st.Splits
					assert.NotZero(t, st.BytesPagedOut)
					for _, h := range all {
						h.dev.Close()
					}
					require.NoError(t, sys.Close())
				})
			}
		}
	}
	assert.NotZero(t, splits)
}

package testbench

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
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

// sweep copies between all buffers, each of which is in one command buffer with others.
func (h *holder) sweep() {
	for i := 1; i < len(h.bufs); i++ {
		n := min(len(h.want[i]), len(h.want[i-1]))
		copy(h.want[i], h.want[i-1][:n])
		h.ctx.CopySubresourceRegion(h.bufs[i], 0, 0, 0, 0, h.bufs[i-1], 0, &d3d11.Box{Right: uint32(n), Bottom: 1, Back: 1})
	}
	h.ctx.Flush()
}

// passes counts the calls of DxgkDdiRender that go on at a MultipassOffset.
type passes struct {
	count   int
	packets int // that a DMA buffer seems to have room for; 0: all
}

// packetBytes is the size of COPY and of FILL at most, see docs/packets.md.
const packetBytes = 24

// drivers returns the drivers of this GPU, with room for few packets in the buffers that the
// miniport fills: so it must tell where it goes on, and there are many paging buffers.
func (p *passes) drivers() Drivers {
	return withKernel(func(d *kmddi.DriverInitializationData) {
		query, render := d.QueryAdapterInfo, d.Render
		d.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
			out, s := query(t, h, arg)
			out.Segments.PagingBufferSize = min(out.Segments.PagingBufferSize, 2*packetBytes)
			return out, s
		}
		d.Render = func(t *ddi.Thread, ctx kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			const retried = 1 // an empty buffer was not enough
			if arg.MultipassOffset != 0 {
				p.count++
			}
			if arg.MultipassOffset&retried == 0 && p.packets != 0 {
				arg.DmaBuffer = arg.DmaBuffer[:min(len(arg.DmaBuffer), p.packets*packetBytes)]
			}
			return render(t, ctx, arg)
		}
	})
}

// Two applications render over 1.1, 2 and 8 times VRAM, with and without an aperture, on devices
// with one and two nodes. All bytes are those of the model, and no rule is broken. The first
// one alone has more than VRAM, and uses all of that in one buffer: so the buffer is split on
// each board, at least so often that each part fits. Buffers are written in several passes.
func TestWorkingSets(t *testing.T) {
	tooltest.Long(t)
	for _, board := range []string{"emu?config=small&vram=64KiB", "emu?config=full&vram=64KiB", "emu?vram=64KiB&gart=1"} {
		for _, factor := range []float64{1.1, 2, 8} {
			for seed := range uint64(*workingSets) {
				t.Run(fmt.Sprintf("%s, %v of VRAM, seed %d", board, factor, seed), func(t *testing.T) {
					workingSet(t, board, factor, rand.New(rand.NewPCG(seed, uint64(10*factor))))
				})
			}
		}
	}
}

// workingSet is a run of TestWorkingSets.
func workingSet(t *testing.T, board string, factor float64, rng *rand.Rand) {
	const vram = 64 << 10
	p := new(passes)
	sys, err := Open(board, p.drivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
	require.NoError(t, err)
	total := int(factor * vram)
	large := total * 15 / 16
	require.Greater(t, large, vram)
	all := []*holder{newHolder(newApp(t, sys), large, rng), newHolder(newApp(t, sys), total-large, rng)}
	for range 10 {
		p.packets = 3 + rng.IntN(30)
		all[rng.IntN(2)].copies(1+rng.IntN(20), rng)
	}
	p.packets = 0
	require.NoError(t, sys.WaitForIdle())
	before := sys.kernel.Stats()
	all[0].sweep()
	require.NoError(t, sys.WaitForIdle())
	after := sys.kernel.Stats()
	assert.NotZero(t, after.Splits-before.Splits, "one buffer uses more than VRAM")
	assert.GreaterOrEqual(t, (after.DMABuffers-before.DMABuffers)*vram, uint64(large), "each part fits")
	p.packets = 10
	all[0].sweep()
	for _, h := range all {
		for i, b := range h.bufs {
			require.Equal(t, h.want[i], h.read(b, uint32(len(h.want[i]))), "buffer %d", i)
		}
	}
	st := sys.kernel.Stats()
	t.Logf("%d splits, %d further passes of DxgkDdiRender", st.Splits, p.count)
	assert.NotZero(t, st.BytesPagedOut)
	assert.NotZero(t, p.count, "DxgkDdiRender goes on at MultipassOffset")
	for _, h := range all {
		h.dev.Close()
	}
	require.NoError(t, sys.Close())
}

package scheduling

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A pager is a paging buffer that evicts an allocation from VRAM and moves another one in, to
// the same place, so it must not begin twice.
type pager struct {
	r        *rig
	pages    kmddi.ContiguousMemory
	private  []byte
	used     uint32
	out, in  uint64 // in host memory
	at       uint64 // in VRAM
	old, new []byte
}

const pagedBytes = 10008

func (r *rig) pager(rng *rand.Rand) *pager {
	p := &pager{r: r, pages: r.pages(4096), out: r.place(pagedBytes, false), in: r.place(pagedBytes, false), at: r.place(pagedBytes, true)}
	info, s := r.table.QueryAdapterInfo(r.thread, r.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	require.Equal(r.t, ddi.StatusSuccess, s)
	p.private = bytes.Repeat([]byte{0xa5}, int(info.Segments.PagingBufferPrivateDataSize))
	for _, b := range []*[]byte{&p.old, &p.new} {
		*b = make([]byte, pagedBytes)
		for i := range *b {
			(*b)[i] = byte(rng.Uint32())
		}
	}
	r.set(p.at, p.old)
	r.set(p.in, p.new)
	p.build(kmddi.PagingLocation{SegmentID: 1, Address: p.at}, kmddi.PagingLocation{Address: p.out &^ pkt.Host})
	p.build(kmddi.PagingLocation{Address: p.in &^ pkt.Host}, kmddi.PagingLocation{SegmentID: 1, Address: p.at})
	return p
}

// build adds a transfer.
func (p *pager) build(from, to kmddi.PagingLocation) {
	out, s := p.r.table.BuildPagingBuffer(p.r.thread, p.r.adapter, kmddi.BuildPagingBuffer{
		Operation: kmddi.PagingTransfer, DmaBuffer: p.pages.Bytes[p.used:], DmaBufferPrivateData: p.private, Source: from, Destination: to, Size: pagedBytes,
	})
	require.Equal(p.r.t, ddi.StatusSuccess, s)
	p.used += out.DmaBufferUsed
}

// submit submits the buffer to node 1.
func (p *pager) submit(id uint32, again bool) {
	r := p.r
	r.at(ddi.DispatchLevel, func() {
		require.Equal(r.t, ddi.StatusSuccess, r.table.SubmitCommand(r.thread, r.adapter, kmddi.SubmitCommand{
			DmaBufferPhysicalAddress: p.pages.PhysicalAddress, DmaBufferSize: uint32(len(p.pages.Bytes)), DmaBufferSubmissionEndOffset: p.used,
			DmaBufferPrivateData: p.private, SubmissionFenceID: id, NodeOrdinal: 1, Flags: kmddi.SubmitFlags{Paging: true, Resubmission: again},
		}))
	})
}

// TestPreemptPaging preempts a paging buffer at distances from its submission. It continues with its
// own fence and without a patch, twice.
func TestPreemptPaging(t *testing.T) {
	dev := device(t)
	inside := 0
	for after := 0; after < 4200; after += 2 * *stride {
		r := newRig(t, dev)
		rng := rand.New(rand.NewPCG(5, 6))
		p := r.pager(rng)
		p.submit(70, false)
		r.step(after)
		r.preempt(1, 71)
		notes := r.await(kmddi.InterruptDMAPreempted)
		if done := notes[len(notes)-1].LastCompletedFenceID == 70; !done {
			if p.private[4]&1 != 0 {
				inside++
			}
			p.submit(70, true)
			r.step(40)
			r.preempt(1, 71)
			notes = r.await(kmddi.InterruptDMAPreempted)
			if notes[len(notes)-1].LastCompletedFenceID != 70 {
				p.submit(70, true)
				r.await(kmddi.InterruptDMACompleted)
			}
		}
		require.NotContains(t, r.text(), "failed:")
		require.True(t, bytes.Equal(p.old, r.load(p.out, pagedBytes)), "the evicted allocation, after %d clocks", after)
		require.True(t, bytes.Equal(p.new, r.load(p.at, pagedBytes)), "the one in its place, after %d clocks", after)
	}
	assert.Positive(t, inside)
}

package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// orderRuns is how often a run is repeated. An order that is random among two gives the same text in all of
// them with a probability of 2^-39.
const orderRuns = 40

// Where several allocations or blocks of memory overlap, the first one decides in every run.
func TestOrderOfOverlaps(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want []string
	}{
		"a fence in two allocations": {func(r *rig) {
			r.place(12, 0x5000)
			r.place(11, 0x5080)
			r.found, r.texts = nil, nil
			r.puts(t, pkt.Fence{Addr: 0x5080, ID: 2})
		}, []string{"FENCE at HOST+0x8014 in the ring of node 0 writes VRAM+0x5080 to VRAM+0x5088, the place of allocation 0xb"}},
		"a place of two allocations": {func(r *rig) {
			r.place(12, 0x5000)
			r.place(11, 0x5080)
			r.found, r.texts = nil, nil
			r.place(10, 0x5040)
		}, []string{"allocation 0xa gets the place VRAM+0x5040 to VRAM+0x5140, a part of which allocation 0xb has"}},
		"a window in two blocks of memory": {func(r *rig) { // the first block, which is the larger one, is open then
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverMemory, Address: 0x8a00, Bytes: 0x100})
			r.opens(1, pkt.Host|0x8a00, 0x40|mcureg.SizeWrite)
			r.Wrote(0x8c00, make([]byte, 8))
			r.Flush(r.t)
		}, nil},
	} {
		for range orderRuns {
			r := newRig(t)
			tt.do(r)
			if !assert.Equal(t, tt.want, r.texts, name) {
				break
			}
		}
	}
}

// Memory of the miniport is known by its address: a block may replace another one, and be freed between others.
func TestBlocksOfTheMiniport(t *testing.T) {
	block := func(r *rig, kind dxgkrnl.EventKind, at, n uint64) {
		r.Kernel(r.t, dxgkrnl.Event{Kind: kind, Address: at, Bytes: n})
	}
	fence := func(r *rig, at uint64) []string {
		r.found, r.texts = nil, nil
		r.puts(t, pkt.Fence{Addr: pkt.Host | at, ID: 2})
		return r.found
	}
	r := newRig(t)
	block(r, dxgkrnl.EventDriverMemory, 0xc000, 0x1000)
	block(r, dxgkrnl.EventDriverMemory, 0x4000, 0x1000)
	block(r, dxgkrnl.EventDriverMemory, 0xa000, 0x1000)
	for _, at := range []uint64{0x4000, 0x8f00, 0xa000, 0xcff8} {
		assert.Empty(t, fence(r, at), "%#x", at)
	}
	block(r, dxgkrnl.EventDriverFree, 0xa000, 0)
	block(r, dxgkrnl.EventDriverFree, 0xb000, 0)
	assert.Empty(t, fence(r, 0xcff8), "the block after those that were freed")
	block(r, dxgkrnl.EventDriverFree, 0x4000, 0)
	block(r, dxgkrnl.EventDriverMemory, 0xc000, 0x800)
	for at, want := range map[uint64][]string{0x4000: {"access-driver"}, 0x8f00: nil, 0xa000: {"access-driver"}, 0xc7f8: nil, 0xc800: {"access-driver"}} {
		assert.Equal(t, want, fence(r, at), "%#x", at)
	}
}

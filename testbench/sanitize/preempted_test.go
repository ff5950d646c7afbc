package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// clears queues a paging buffer that clears an allocation, or continues to.
func (r *rig) clears(t *testing.T, again uint64) uint64 {
	t.Helper()
	b, err := pkt.Fill{Dst: r.places[11], Bytes: 256}.Append(nil)
	require.NoError(t, err)
	r.serial++
	r.Kernel(r.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: r.serial, Again: again, Address: 0x8000, End: uint32(len(b)), Text: "paging buffer", Commands: b,
		Operations: []dxgkrnl.Operation{{Name: "FILL", Allocation: 11, To: kmddi.PagingLocation{SegmentID: 1, Address: r.places[11]}, Bytes: 256}},
	})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventSubmit, Submission: r.serial})
	return r.serial
}

// A paging buffer that was preempted, with a write after it, is no second operation when it
// goes on. The first one with content would clear it.
func TestPreemptedPaging(t *testing.T) {
	for _, again := range []bool{true, false} {
		r := newRig(t)
		r.place(11, 0x4000)
		first := r.clears(t, 0)
		require.Empty(t, r.copies(t, 0, 10, 11))
		for _, serial := range []uint64{2, first} {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPreempted, Submission: serial})
		}
		r.found = nil
		if again {
			r.clears(t, first)
			assert.Empty(t, r.found)
			continue
		}
		r.clears(t, 0)
		assert.Equal(t, []string{"access-eviction"}, r.found)
	}
}

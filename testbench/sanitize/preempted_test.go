package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
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
		assert.Equal(t, []string{"access-eviction", "access-hazard"}, r.found, "it also goes before the first one")
	}
}

// stop makes a node stop before the end of submissions, the last one first.
func (r *rig) stop(serials ...uint64) {
	for _, serial := range serials {
		r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPreempted, Submission: serial})
	}
}

// pages queues a paging buffer on a node that moves an allocation, submits it, and returns the rules
// that it broke.
func (r *rig) pages(t *testing.T, node uint32, a ddi.KMHandle, from, to kmddi.PagingLocation) []string {
	t.Helper()
	at := func(l kmddi.PagingLocation) uint64 {
		if l.SegmentID == 0 {
			return pkt.Host | l.Address
		}
		return l.Address
	}
	b, err := pkt.Copy{Src: at(from), Dst: at(to), Bytes: 256}.Append(nil)
	require.NoError(t, err)
	r.serial++
	r.found = nil
	r.Kernel(r.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: r.serial, Node: node, Address: 0x8000, End: uint32(len(b)), Text: "paging buffer", Commands: b,
		Operations: []dxgkrnl.Operation{{Name: "TRANSFER", Allocation: a, From: from, To: to, Bytes: 256}},
	})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventSubmit, Submission: r.serial})
	return r.found
}

// evicts copies an allocation to host memory, on node 1.
func (r *rig) evicts(t *testing.T, a ddi.KMHandle) []string {
	t.Helper()
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: a})
	host := hostBase + 0x1000*uint64(a-10)
	return r.pages(t, 1, a, kmddi.PagingLocation{SegmentID: 1, Address: r.places[a]}, kmddi.PagingLocation{Address: host})
}

// moves moves an allocation within its segment, on node 1.
func (r *rig) moves(t *testing.T, a ddi.KMHandle, to uint64) {
	t.Helper()
	from := r.places[a]
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: a})
	r.place(a, to)
	require.Empty(t, r.pages(t, 1, a, kmddi.PagingLocation{SegmentID: 1, Address: from}, kmddi.PagingLocation{SegmentID: 1, Address: to}))
	r.retire(r.serial)
}

// The kernel may evict what a submission uses that its node has stopped, and give the place to another
// allocation. While the submission is in the hardware it may not.
func TestStoppedSubmissionNeedsNoPlace(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		r := newRig(t)
		r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventAllocate, Allocation: 13, Device: 1, Bytes: 256, Address: hostBase + 0x3000})
		require.Empty(t, r.copies(t, 0, 10, 11))
		var want []string
		if stopped {
			r.stop(1)
		} else {
			want = []string{"access-hazard"}
		}
		assert.Equal(t, want, r.evicts(t, 11))
		r.retire(2)
		r.place(13, r.places[11])
		assert.Equal(t, want, r.copies(t, 1, 10, 13))
	}
}

// Work that uses what a stopped submission writes must not go before it, on any node. The submission
// has another place when it continues, and then counts as one in the hardware.
func TestStoppedSubmissionKeepsItsOrder(t *testing.T) {
	for _, node := range []uint32{0, 1} {
		r := newRig(t)
		require.Empty(t, r.copies(t, 0, 10, 11))
		r.stop(1)
		r.moves(t, 11, 0x4000)
		assert.Equal(t, []string{"access-hazard"}, r.copies(t, node, 11, 10), "node %d: it overtakes", node)

		r = newRig(t)
		require.Empty(t, r.copies(t, 0, 10, 11))
		r.stop(1)
		r.moves(t, 11, 0x4000)
		require.Empty(t, r.continues(t, 1, 0, 10, 11))
		var want []string
		if node == 1 {
			want = []string{"access-hazard"}
		}
		assert.Equal(t, want, r.copies(t, node, 11, 10), "node %d: it continues", node)

		for _, kind := range []dxgkrnl.EventKind{dxgkrnl.EventRetire, dxgkrnl.EventCancelled} {
			r = newRig(t)
			require.Empty(t, r.copies(t, 0, 10, 11))
			r.stop(1)
			r.Kernel(r.t, dxgkrnl.Event{Kind: kind, Submission: 1})
			assert.Empty(t, r.copies(t, node, 11, 10), "node %d: it has ended", node)
		}
	}
}

// Of two stopped submissions the first continues first.
func TestStoppedSubmissionsContinueInOrder(t *testing.T) {
	stopped := func() *rig {
		r := newRig(t)
		require.Empty(t, r.copies(t, 0, 10, 11))
		require.Empty(t, r.copies(t, 0, 11, 10))
		r.stop(2, 1)
		return r
	}
	r := stopped()
	assert.Empty(t, r.continues(t, 1, 0, 10, 11))
	assert.Empty(t, r.continues(t, 2, 0, 11, 10))
	r.stop(4, 3)
	assert.Empty(t, r.continues(t, 3, 0, 10, 11), "it stops for the second time")
	assert.Empty(t, r.continues(t, 4, 0, 11, 10))
	r = stopped()
	assert.Equal(t, []string{"access-hazard"}, r.continues(t, 2, 0, 11, 10), "the second goes first")
}

// A paging buffer that has stopped continues at its places.
func TestStoppedPagingBufferKeepsItsPlace(t *testing.T) {
	for _, node := range []uint32{0, 1} {
		r := newRig(t)
		r.place(11, 0x4000)
		r.stop(r.clears(t, 0))
		assert.Equal(t, []string{"access-hazard"}, r.copies(t, node, 10, 11), "node %d", node)
	}
}

// A submission that gets its fence while the adapter stops is dropped with the others.
func TestSubmissionOfAStoppedAdapter(t *testing.T) {
	r := newRig(t)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop})
	r.copies(t, 0, 10, 11)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventRestart})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventAllocate, Allocation: 13, Device: 1, Bytes: 256, Address: hostBase + 0x3000})
	r.place(13, r.places[11])
	assert.Empty(t, r.copies(t, 1, 10, 13))
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventFree, Allocation: 11})
	assert.Empty(t, r.found)
}

// executes tells of a packet of a submission that a node has executed.
func (r *rig) executes(serial uint64, off, header uint32) {
	r.Observe(boards.Observation{Address: pkt.Host | 0x9000 + 0x100*serial + uint64(off), Header: header})
}

// A node that claims to stop between buffers does not stop after a packet of one, unless it was the
// last or is one of an earlier turn. One that claims to stop at packets may.
func TestStoppedWhereClaimed(t *testing.T) {
	const nop, copies = 0x01000001, 0x03000005 // of 2 and 6 dwords
	for _, tt := range []struct {
		name        string
		granularity kmddi.GraphicsPreemptionGranularity
		does        func(r *rig)
		want        []string
	}{
		{"inside", kmddi.GraphicsPreemptionDMABufferBoundary, func(r *rig) { r.executes(1, 0, nop) }, []string{"access-stopped"}},
		{"inside, without a claim", kmddi.GraphicsPreemptionNone, func(r *rig) { r.executes(1, 0, nop) }, []string{"access-stopped"}},
		{"before it began", kmddi.GraphicsPreemptionDMABufferBoundary, func(*rig) {}, nil},
		{"at its end", kmddi.GraphicsPreemptionDMABufferBoundary, func(r *rig) { r.executes(1, 0, copies) }, nil},
		{"inside, as claimed", kmddi.GraphicsPreemptionPrimitiveBoundary, func(r *rig) { r.executes(1, 0, nop) }, nil},
		{"before it went on", kmddi.GraphicsPreemptionDMABufferBoundary, func(r *rig) {
			r.executes(1, 0, nop)
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventSubmit, Submission: 1})
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.Claims(kmddi.PreemptionCaps{GraphicsPreemptionGranularity: tt.granularity})
			require.Empty(t, r.copies(t, 0, 10, 11))
			tt.does(r)
			r.stop(1)
			assert.Equal(t, tt.want, r.found)
		})
	}
}

// A reset of a node takes work back that the node has begun, if a queue of the firmware has stopped in it. The node must not execute
// it again, but it may execute what it had not begun, or what was complete. If the miniport claims that it stops inside, the work may
// continue after the last packet that was executed.
func TestNotExecutedAgain(t *testing.T) {
	const nop, copies = 0x01000001, 0x03000005 // of 2 and 6 dwords
	for name, tt := range map[string]struct {
		before uint32 // header of the packet that was executed before the reset; 0: none
		inside bool   // the miniport claims so
		again  bool
		at     uint32 // of the packet that is executed after it
		want   []string
	}{
		"begun, again":             {nop, false, true, 0, []string{"access-stopped"}},
		"begun, not again":         {nop, false, false, 0, nil},
		"begun, continued":         {nop, false, true, 8, []string{"access-stopped"}},
		"not begun":                {0, false, true, 0, nil},
		"complete":                 {copies, false, true, 0, nil},
		"stops inside, again":      {nop, true, true, 0, []string{"access-stopped"}},
		"stops inside, continued":  {nop, true, true, 8, nil},
		"stops inside, further on": {nop, true, true, 16, []string{"access-stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			claim := kmddi.GraphicsPreemptionDMABufferBoundary
			if tt.inside {
				claim = kmddi.GraphicsPreemptionPrimitiveBoundary
			}
			r.Claims(kmddi.PreemptionCaps{GraphicsPreemptionGranularity: claim})
			require.Empty(t, r.copies(t, 0, 10, 11))
			if tt.before != 0 {
				r.executes(1, 0, tt.before)
			}
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventReset})
			r.stop(1)
			assert.Empty(t, r.found, "at the reset")
			require.Empty(t, r.continues(t, 1, 0, 10, 11))
			if tt.again {
				r.executes(2, tt.at, nop)
			}
			r.Flush(r.t)
			assert.Equal(t, tt.want, r.found)
		})
	}
}

// An access to the page of an MDL whose operation was built is told by its own rule.
func TestEndedMDL(t *testing.T) {
	for addr, want := range map[uint64]string{
		dxgkrnl.EndedPage: "access-mdl", dxgkrnl.EndedPage + 4095: "access-mdl", dxgkrnl.EndedPage - 1: "access-outside", dxgkrnl.EndedPage + 4096: "access-outside",
	} {
		r := newRig(t)
		r.Refused(addr, 1, false)
		r.Flush(r.t)
		assert.Equal(t, []string{want}, r.found, "%#x", addr)
	}
}

package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The counters of a run whose steps are known.
func TestCounters(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	a, b := r.alloc(4096, local), r.alloc(8192, local)
	want := r.kernel.Stats()
	for _, tt := range []struct {
		name string
		cmds []command
		add  Stats
	}{
		{"a place is zeroed", []command{fill(a, 0, 64, 1)}, Stats{DMABuffers: 1, PagingBuffers: 1, BytesFilled: 4096}},
		{"one is evicted", []command{fill(b, 0, 64, 2)}, Stats{DMABuffers: 1, PagingBuffers: 1, Evictions: 1, BytesPagedOut: 4096, BytesFilled: 8192}},
		{"it returns", []command{fill(a, 0, 64, 3)}, Stats{DMABuffers: 1, PagingBuffers: 1, Evictions: 1, BytesPagedOut: 8192, BytesPagedIn: 4096}},
		{"two parts", []command{fill(a, 0, 64, 4), copyTo(b, 64, b, 0, 32)}, Stats{DMABuffers: 2, Splits: 1, PagingBuffers: 1, Evictions: 1, BytesPagedOut: 4096, BytesPagedIn: 8192}},
		{"nothing moves", []command{fill(b, 0, 64, 5)}, Stats{DMABuffers: 1}},
	} {
		r.render(tt.cmds...)
		r.wait()
		n := tt.add.DMABuffers + tt.add.PagingBuffers
		want.DMABuffers += tt.add.DMABuffers
		want.PagingBuffers += tt.add.PagingBuffers
		want.Splits += tt.add.Splits
		want.Evictions += tt.add.Evictions
		want.BytesPagedOut += tt.add.BytesPagedOut
		want.BytesPagedIn += tt.add.BytesPagedIn
		want.BytesFilled += tt.add.BytesFilled
		want.Fences, want.Interrupts, want.DPCs = want.Fences+n, want.Interrupts+n, want.DPCs+n
		assert.Equal(t, want, r.kernel.Stats(), tt.name)
	}
	r.finish()
}

// The counters of an aperture segment.
func TestCountersOfAnAperture(t *testing.T) {
	r := newRig(t, options{aperture: 4})
	a, b := r.alloc(8192, system), r.alloc(9000, system)
	r.render(fill(a, 0, 64, 1))
	r.wait()
	st := r.kernel.Stats()
	assert.Equal(t, [3]uint64{2, 0, 0}, [3]uint64{st.PagesMapped, st.PagesUnmapped, st.Evictions})
	r.render(fill(b, 0, 64, 1))
	r.wait()
	st = r.kernel.Stats()
	assert.Equal(t, [3]uint64{2 + 3, 2, 1}, [3]uint64{st.PagesMapped, st.PagesUnmapped, st.Evictions})
	r.finish()
}

// Work that is stopped and goes on counts once, also a paging buffer.
func TestCountersOfStoppedWork(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	before := q.kernel.Stats()
	p := q.devices[0]
	a := p.alloc(64, local)
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	p.render(halves(q.targets[0], 1)...)
	p.render(fill(a, 0, 64, 1)) // after a paging buffer, which is stopped too
	q.work(1)
	q.gpu.auto = true
	for _, p := range q.devices {
		p.wait()
	}
	st := q.kernel.Stats()
	require.EqualValues(t, 1, st.Preemptions-before.Preemptions)
	assert.EqualValues(t, 3, st.DMABuffers-before.DMABuffers)
	assert.EqualValues(t, 1, st.PagingBuffers-before.PagingBuffers)
	assert.EqualValues(t, 4, st.Fences-before.Fences)
	q.finish()
}

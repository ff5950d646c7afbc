package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A kernel without an observer allocates nothing where it would tell one.
func TestNoObserverNoAllocations(t *testing.T) {
	k := &Kernel{}
	s := &submission{paging: &pagingBuffer{ops: []pagingOp{{}}}, waits: []mark{{}}}
	a := &allocation{segment: &segment{}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		k.observe(Event{Kind: EventSubmit, Submission: s.serial})
		k.observe(Event{Kind: EventUnlock, Allocation: a.handle})
		k.observeQueue(s)
		k.noteWaits(s)
		k.observePlace(a)
	}))
}

// An operation that does not fit into what is left of a paging buffer is in the next one only,
// and one of which each buffer has a part is in each.
func TestOperationsAreInTheirBuffer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []uint64
		want  []int // operations by paging buffer
	}{
		{"one fits in each", []uint64{64, 64, 64}, []int{1, 1, 1}},
		{"three parts", []uint64{3 * 4096}, []int{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{pagingBytes: opBytes})
			var got []int
			r.kernel.observer = func(_ *ddi.Thread, e Event) {
				if e.Kind == EventQueue && e.Job == 0 {
					got = append(got, len(e.Operations))
				}
			}
			var cmds []command
			for _, n := range tt.sizes {
				cmds = append(cmds, fill(r.alloc(n, local), 0, 64, 1))
			}
			r.render(cmds...)
			r.wait()
			assert.Equal(t, tt.want, got)
			r.finish()
		})
	}
}

package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// waiter is a context of a level that has one submission, which waits for marks.
func waiter(level int, waits ...mark) *context {
	c := &context{level: level, device: &device{}}
	c.line.context, c.line.made = c, 9
	c.pending = []*submission{{mark: mark{&c.line, 5}, waits: waits, job: &job{}}}
	c.line.completed, c.line.submitted = 4, 4
	return c
}

// If a context waits for work of others, that work rises to the level of the context, and so does the work for which
// it waits itself. Work that has completed or is in the hardware keeps its level.
//
// docs/properties.md: S2.
func TestWhatRises(t *testing.T) {
	for _, tt := range []struct {
		name   string
		level  int // of the context that is waited for
		change func(o *context)
		want   int
	}{
		{"lower", -1, func(*context) {}, 3},
		{"higher", 4, func(*context) {}, 4},
		{"completed", -1, func(o *context) { o.line.completed, o.line.submitted = 5, 5 }, -1},
		{"in the hardware", -1, func(o *context) { o.line.submitted = 5 }, -1},
		{"nothing waits", -1, func(o *context) { o.pending = nil }, -1},
		{"only a job waits", -1, func(o *context) { o.pending, o.jobs = nil, []*job{{}} }, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last := waiter(-5)
			o := waiter(tt.level, mark{&last.line, 5})
			c := waiter(3, mark{&o.line, 5})
			tt.change(o)
			new(Kernel).lift(c, 3)
			assert.Equal(t, tt.want, o.level)
			assert.Equal(t, 3, c.level)
			if tt.name == "lower" {
				assert.Equal(t, 3, last.level, "what that one waits for")
			}
		})
	}
	c := waiter(3, mark{&line{}, 5})
	new(Kernel).lift(c, 3)
	assert.Equal(t, 3, c.level, "it waits for a paging buffer")
}

// The job before another one rises, until all of it is in the hardware.
func TestJobBeforeRises(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *context, before *job)
		want   int
	}{
		{"not made", func(*context, *job) {}, 3},
		{"made, and not in the hardware", func(o *context, before *job) {
			before.made = true
			o.pending = []*submission{{job: before}}
		}, 3},
		{"made, and another one waits", func(o *context, before *job) {
			before.made = true
			o.pending = []*submission{{job: &job{}}}
		}, -1},
		{"of a buffer that is used again", func(_ *context, before *job) { before.id = 7 }, -1},
		{"higher", func(o *context, _ *job) { o.level = 5 }, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, c := &context{level: -1}, &context{level: 3}
			before := &job{id: 1, dma: &dmaBuffer{context: o}}
			o.jobs = []*job{before}
			c.jobs = []*job{{id: 2, after: []earlier{{before, 1}}}}
			tt.change(o, before)
			new(Kernel).lift(c, 3)
			assert.Equal(t, tt.want, o.level)
		})
	}
}

func handlesOf(list ...*context) (handles []ddi.KMHandle) {
	for _, c := range list {
		handles = append(handles, c.handle)
	}
	return handles
}

// A context has a level if it has work and its device is not removed.
func TestWhoIsRanked(t *testing.T) {
	q := newQueues(t, 4, options{quantum: 10})
	for i := range 3 {
		q.work(i)
		q.work(i)
	}
	k := q.kernel
	var all []*context
	for i := range 4 {
		all = append(all, k.handles.get(q.contexts[i].Context).(*context))
	}
	all[1].device.removed = ddi.StatusDeviceRemoved
	all[2].priority = 2
	k.rank()
	assert.Equal(t, handlesOf(all[0], all[2]), handlesOf(k.able...), "the second is removed, and the last has no work")
	assert.Equal(t, []int{0, 2}, []int{all[0].level, all[2].level})
	assert.Equal(t, handlesOf(all[2], all[0]), handlesOf(k.candidates(&k.nodes[0])...))
	assert.Empty(t, k.candidates(&node{}), "of another node")
	all[1].device.removed = ddi.StatusSuccess
	q.end()
}

// Work in the software queue goes in turns of a quantum: of one level the context that has used
// fewer quantums goes first, and else the one with the older work.
func TestOrderOfCandidates(t *testing.T) {
	q := newQueues(t, 2, options{quantum: 10})
	for _, i := range []int{1, 1, 0} { // the first one is in the hardware
		q.work(i)
	}
	k := q.kernel
	a, b := k.handles.get(q.contexts[0].Context).(*context), k.handles.get(q.contexts[1].Context).(*context)
	for _, tt := range []struct {
		used [2]uint64 // by the one with the younger work, and the other
		want []*context
	}{
		{[2]uint64{0, 0}, []*context{b, a}}, {[2]uint64{0, 9}, []*context{b, a}}, {[2]uint64{9, 10}, []*context{a, b}},
		{[2]uint64{19, 10}, []*context{b, a}}, {[2]uint64{20, 19}, []*context{b, a}}, {[2]uint64{19, 20}, []*context{a, b}},
	} {
		a.used, b.used = tt.used[0], tt.used[1]
		k.rank()
		assert.Equal(t, handlesOf(tt.want...), handlesOf(k.candidates(&k.nodes[0])...), "%v", tt.used)
	}
	q.end()
}

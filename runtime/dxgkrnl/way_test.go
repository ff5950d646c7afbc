package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// uses returns a part of a DMA buffer that uses allocations, and writes the last of them.
func (r *rig) uses(as ...*allocation) (*dmaBuffer, part) {
	d := &dmaBuffer{objects: as, nList: len(as), nPatches: len(as)}
	for i := range as {
		d.list = append(d.list, kmddi.AllocationList{WriteOperation: i == len(as)-1})
		d.patches = append(d.patches, kmddi.PatchLocation{AllocationIndex: uint32(i)})
	}
	return d, part{end: len(as)}
}

// bare adds a context that the miniport does not know.
func (r *rig) bare(node int) *context {
	d := r.kernel.handles.get(r.dev).(*device)
	c := &context{device: d}
	c.line = line{node: &r.kernel.nodes[node], context: c}
	d.contexts = append(d.contexts, c)
	return c
}

// follower adds a submission to a context of its own, which has its places.
func (r *rig) follower(follows bool, as ...*allocation) *submission {
	c := r.bare(0)
	d, p := r.uses(as...)
	s := &submission{mark: mark{&c.line, 1}, dma: d, part: p, placed: true, follows: follows}
	for _, a := range as {
		if a != nil {
			a.held++
		}
	}
	c.pending = append(c.pending, s)
	return s
}

// Submissions that follow stopped ones give up their places, if the stopped one then finds room.
// Else all of them keep them. Those that follow nothing keep theirs anyway.
func TestWayForStoppedWork(t *testing.T) {
	for _, tt := range []struct {
		name    string
		size    uint64
		follows bool
		want    bool
	}{
		{"room", 4096, true, true}, {"too large", 8192, true, false}, {"nobody follows", 4096, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 8192, preempts: true})
			as := r.pages(2, 1)
			x, y := r.object(as[0]), r.object(as[1])
			d, p := r.uses(nil, r.object(r.alloc(tt.size, local)))
			first, second := r.follower(tt.follows, x, nil), r.follower(false, y)
			assert.Equal(t, tt.want, r.kernel.makeWay(d, p))
			held, queued := 1, 0
			if tt.want {
				held, queued = 0, 1
			}
			assert.Equal(t, []any{held, queued, !tt.want}, []any{x.held, x.queued, first.placed})
			assert.Equal(t, []any{1, 0, true}, []any{y.held, y.queued, second.placed})
		})
	}
}

// If nobody follows, no way is made, although there is room.
func TestNoWayIsMadeInVain(t *testing.T) {
	r := newRig(t, options{vram: 8192, preempts: true})
	d, p := r.uses(r.object(r.alloc(4096, local)))
	assert.False(t, r.kernel.makeWay(d, p))
	r.follower(true, nil)
	assert.True(t, r.kernel.makeWay(d, p))
}

// A submission follows a stopped one if it is after it in its context, or waits for it, also over
// others, until that has its places again or has completed.
func TestWhoFollows(t *testing.T) {
	r := newRig(t, options{preempts: true})
	stopped, next := r.follower(false), r.follower(true)
	stopped.placed = false
	after := &submission{mark: mark{stopped.line, 2}, placed: true}
	stopped.line.context.pending = append(stopped.line.context.pending, after)
	waits, chained, free := r.follower(true), r.follower(false), r.follower(true)
	waits.waits = marks{stopped.mark}
	chained.waits = marks{waits.mark}
	free.waits = marks{next.mark}
	follow := func() (list []bool) {
		r.kernel.markFollowers()
		for _, s := range []*submission{stopped, after, waits, chained, next, free} {
			list = append(list, s.follows)
		}
		return list
	}
	assert.Equal(t, []bool{false, true, true, true, false, false}, follow())
	stopped.placed = true
	assert.Equal(t, make([]bool, 6), follow())
	stopped.placed, stopped.line.completed = false, 1
	assert.Equal(t, []bool{false, true, false, false, false, false}, follow(), "it has completed")
}

// A submission holds the places of its allocations until it goes to the hardware. Then what it
// writes counts as changed.
func TestHeldUntilSubmitted(t *testing.T) {
	r := newRig(t, options{})
	x, y := &allocation{}, &allocation{}
	s := r.follower(false, x, nil, y)
	s.hold()
	assert.Equal(t, []int{2, 2}, []int{x.held, y.held})
	s.letGo(false)
	assert.Equal(t, []any{1, 1, uint64(0), false}, []any{x.held, y.held, y.changes, s.placed})
	s.letGo(true)
	assert.Equal(t, []any{1, 1, uint64(0)}, []any{x.held, y.held, y.changes}, "it has no places")
	s.placed = true
	s.letGo(true)
	assert.Equal(t, []any{0, 0, uint64(0), uint64(1)}, []any{x.held, y.held, x.changes, y.changes})
	s.part = part{start: 2, end: 3}
	s.hold()
	s.dma.expect(s.part, 3)
	assert.Equal(t, []int{0, 1, 0, 3}, []int{x.held, y.held, x.queued, y.queued}, "of its part only")
}

// Places are held for other work if a resident of any segment is held.
func TestOccupied(t *testing.T) {
	r := newRig(t, options{aperture: 4})
	x, y := r.object(r.alloc(64, local)), r.object(r.alloc(64, system))
	for _, a := range []*allocation{x, y} {
		assert.False(t, r.kernel.occupied())
		r.kernel.moving = true
		r.ok(r.kernel.makeResident(r.thread, a))
		r.kernel.flush()
		r.kernel.endMove()
		r.wait()
		assert.False(t, r.kernel.occupied())
		a.held = 1
		assert.True(t, r.kernel.occupied())
		a.held = 0
	}
}

// A node executes a DMA buffer if its first submission is one, and if it is not about to stop or
// to be reset.
func TestExecutes(t *testing.T) {
	work := []*submission{{dma: &dmaBuffer{}}}
	for _, tt := range []struct {
		n    node
		want bool
	}{
		{node{hardware: work}, true}, {node{}, false}, {node{hardware: []*submission{{}}}, false},
		{node{hardware: work, preemption: 1}, false}, {node{hardware: work, faulted: &fault{}}, false}, {node{hardware: work, masked: true}, false},
	} {
		assert.Equal(t, tt.want, tt.n.executes(), "%+v", tt.n)
	}
}

// A part of a DMA buffer is free to go first on its node if it waits for nothing but paging buffers
// there, and if these wait for no work of another node.
func TestFreeToGoFirst(t *testing.T) {
	r := newRig(t, options{nodes: 2, preempts: true}) // node 1 has the paging buffers
	k := r.kernel
	c, other := r.bare(1), r.bare(0)
	s := &submission{mark: mark{&c.line, 1}}
	assert.True(t, k.free(s))
	s.waits = marks{{&k.paging.line, 1}}
	assert.True(t, k.free(s), "a paging buffer of its node")
	s.waits = append(s.waits, mark{&other.line, 1})
	assert.False(t, k.free(s), "work of another context")
	other.line.completed, other.line.submitted = 1, 1
	assert.True(t, k.free(s), "that has completed")
	paging := &submission{mark: mark{&k.paging.line, 1}, waits: marks{{&other.line, 2}}}
	k.nodes[1].waiting = []*submission{paging}
	assert.True(t, k.free(s), "the paging buffer waits for work that is not in the hardware")
	other.line.submitted = 2
	assert.False(t, k.free(s), "or for work in the hardware of another node")
	paging.waits = marks{{&c.line, 1}}
	c.line.submitted = 1
	assert.True(t, k.free(s), "or for work of its node")
	s.mark = mark{&other.line, 3}
	assert.False(t, k.free(s), "the paging buffers are of another node")
	k.nodes[1].waiting = nil
}

package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// sized returns allocations of a number of pages each, in VRAM or in host memory too.
func (r *rig) sized(set uint32, pages ...uint64) (as []*allocation) {
	for _, n := range pages {
		as = append(as, r.object(r.alloc(n*4096, set)))
	}
	return as
}

// place gives allocations places, one after the other.
func (r *rig) place(as ...*allocation) {
	r.kernel.moving = true
	for _, a := range as {
		r.ok(r.kernel.makeResident(r.thread, a))
	}
	r.kernel.flush()
	r.kernel.endMove()
	r.wait()
}

// A group fits if its allocations find room beside those that stay. One that stays itself needs no
// other place, nor does one in host memory, and the same one needs one place.
func TestRoomForAGroup(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	in := r.sized(local, 4, 2)
	r.place(in...)
	large, small := r.sized(local, 5)[0], r.sized(local, 2)[0]
	host := r.sized(system, 9)[0]
	stay, first := func(*allocation) bool { return true }, func(a *allocation) bool { return a == in[0] }
	none := func(*allocation) bool { return false }
	for _, tt := range []struct {
		name  string
		group []*allocation
		stays func(*allocation) bool
		want  bool
	}{
		{"two pages are free", []*allocation{small}, stay, true}, {"five are not", []*allocation{large}, stay, false},
		{"twice the same", []*allocation{small, nil, small}, stay, true}, {"one that stays", []*allocation{in[0], small}, stay, true},
		{"host memory", []*allocation{host, small}, stay, true}, {"beside the first", []*allocation{small, in[1]}, first, true},
		{"not with the second", []*allocation{large, in[1]}, first, false}, {"beside none", []*allocation{large, in[1]}, none, true},
		{"too much", []*allocation{large, in[0]}, none, false}, {"nothing", []*allocation{nil}, stay, true},
	} {
		d, p := r.uses(tt.group...)
		assert.Equal(t, tt.want, r.kernel.groupFits(d, p.start, p.end, tt.stays), tt.name)
	}
	d, _ := r.uses(large, small)
	assert.True(t, r.kernel.groupFits(d, 1, 2, stay), "only its own patches count")
	assert.False(t, r.kernel.groupFits(d, 0, 1, stay))
}

// All of a buffer fits in any order if the sum of the spans and of the alignments is at most the
// size of each segment, and nothing is pinned.
func TestAmpleRoom(t *testing.T) {
	for _, tt := range []struct {
		size uint64
		want bool
	}{{4096 - 256, true}, {4096 - 252, false}} {
		r := newRig(t, options{vram: 8192})
		d, _ := r.uses(r.object(r.alloc(4096-256, local)), nil, r.object(r.alloc(tt.size, local)))
		assert.Equal(t, tt.want, r.kernel.ample(d), tt.size)
		r.kernel.pins = 1
		assert.False(t, r.kernel.ample(d))
	}
	r := newRig(t, options{vram: 64 << 10, aperture: 4})
	d, _ := r.uses(r.sized(system, 1, 1)...)
	assert.True(t, r.kernel.ample(d), "a page and its alignment each")
	d, _ = r.uses(r.sized(system, 2, 1)...)
	assert.False(t, r.kernel.ample(d), "the aperture is a segment too")
}

// A buffer is feasible if each group of it fits alone beside what is pinned.
func TestFeasible(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096})
	in := r.sized(local, 2)[0]
	r.place(in)
	as := r.sized(local, 2, 2, 3)
	d, _ := r.uses(as...)
	for i := range d.patches {
		d.patches[i].SplitOffset = uint32(i)
	}
	assert.True(t, r.kernel.feasible(d, 0), "one group after the other")
	r.kernel.pin(in, true)
	assert.False(t, r.kernel.feasible(d, 0), "three pages beside two")
	assert.False(t, r.kernel.feasible(d, 2))
	assert.True(t, r.kernel.feasible(d, 3), "nothing is left")
	d.nPatches = 2
	assert.True(t, r.kernel.feasible(d, 0))
	d.patches[1].SplitOffset = 0
	assert.False(t, r.kernel.feasible(d, 0), "one group of four pages")
	r.kernel.pin(in, false)
	assert.True(t, r.kernel.feasible(d, 0))
	assert.Zero(t, r.kernel.pins)
}

// Patches of one SplitOffset are a group.
func TestEndOfAGroup(t *testing.T) {
	d := &dmaBuffer{patches: make([]kmddi.PatchLocation, 6), nPatches: 5}
	for i, split := range []uint32{0, 0, 8, 8, 8, 8} {
		d.patches[i].SplitOffset = split
	}
	for i, want := range []int{2, 2, 5, 5, 5, 5} {
		assert.Equal(t, want, d.groupEnd(i), i)
	}
}

// A group can be placed now if all of it has places, or if it fits beside what is pinned or held.
func TestPlaceable(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096})
	in := r.sized(local, 2, 2)
	r.place(in...)
	out := r.sized(local, 2)[0]
	both, p := r.uses(in[0], nil, in[1])
	next, q := r.uses(nil, out)
	mixed, m := r.uses(in[0], out)
	answers := func() []bool {
		k := r.kernel
		return []bool{k.placeable(both, p.start, p.end), k.placeable(next, q.start, q.end), k.placeable(mixed, m.start, m.end)}
	}
	assert.Equal(t, []bool{true, true, true}, answers())
	in[1].held = 1
	assert.Equal(t, []bool{true, true, false}, answers(), "the first may leave, but not stay beside both")
	in[0].held = 1
	assert.Equal(t, []bool{true, false, false}, answers())
	in[0].held = 0
	r.kernel.pin(in[0], true)
	assert.Equal(t, []bool{true, false, false}, answers())
	r.kernel.pin(in[0], false)
	in[1].held = 0
	r.finish()
}

// A part that finds room evicts nothing. One that does not evicts in the order of victims.
func TestPlacesOfAPart(t *testing.T) {
	r := newRig(t, options{vram: 4 * 4096})
	in := r.sized(local, 1, 1)
	r.place(in...)
	out := r.sized(local, 2, 1)
	for i, want := range [][]bool{{true, true, true, false}, {false, true, true, true}} {
		d, p := r.uses(out[i])
		r.kernel.moving = true
		r.ok(r.kernel.placePart(r.thread, d, p.start, p.end))
		r.kernel.flush()
		r.kernel.endMove()
		r.wait()
		assert.Equal(t, want, r.resident(in[0].handle, in[1].handle, out[0].handle, out[1].handle))
	}
	d, p := r.uses(r.sized(local, 3, 2)...)
	r.kernel.moving = true
	assert.Equal(t, ddi.StatusNoVideoMemory, r.kernel.placePart(r.thread, d, p.start, p.end), "five pages")
	r.kernel.flush()
	r.kernel.endMove()
	r.wait()
	r.finish()
}

// A poll that finds nothing new asks for no DPC.
func TestPollWithoutNews(t *testing.T) {
	r := newRig(t, options{})
	r.gpu.auto = false
	r.render(fill(r.alloc(64, system), 0, 64, 1))
	n, before := &r.kernel.nodes[0], r.kernel.Stats().DPCs
	assert.False(t, r.kernel.poll(r.thread, n))
	assert.Equal(t, before, r.kernel.Stats().DPCs)
	r.gpu.execute(0)
	assert.True(t, r.kernel.poll(r.thread, n))
	assert.Equal(t, before+1, r.kernel.Stats().DPCs)
	assert.Empty(t, n.hardware)
	r.gpu.auto = true
	r.finish()
}

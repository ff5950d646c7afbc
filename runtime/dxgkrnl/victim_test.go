package dxgkrnl

import (
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
)

// prioritize sets the priority of an allocation.
func (r *rig) prioritize(a ddi.KMHandle, priority uint32) {
	r.ok(r.thunks.SetAllocationPriority(r.thread, r.dev, &umddi.SetPriority{Allocations: []ddi.KMHandle{a}, Priorities: []uint32{priority}}))
}

// resident reports which allocations have a place in a segment.
func (r *rig) resident(as ...ddi.KMHandle) (in []bool) {
	for _, a := range as {
		in = append(in, r.kernel.handles.get(a).(*allocation).segment != nil)
	}
	return in
}

// Of three allocations in VRAM, in the order of their use, a new one takes the place of one. The
// rest of VRAM has one that stays.
func TestPriorityThenAge(t *testing.T) {
	const normal = umddi.AllocationPriorityNormal
	for _, tt := range []struct {
		name       string
		priorities [3]uint32
		stay       []bool
	}{
		{"the oldest of one priority", [3]uint32{normal, normal, normal}, []bool{false, true, true}},
		{"a lower one", [3]uint32{normal, normal, umddi.AllocationPriorityLow}, []bool{true, true, false}},
		{"the lowest", [3]uint32{umddi.AllocationPriorityLow, umddi.AllocationPriorityMinimum, normal}, []bool{true, false, true}},
		{"the oldest of the lower ones", [3]uint32{umddi.AllocationPriorityHigh, normal, normal}, []bool{true, false, true}},
		{"by one above normal", [3]uint32{normal + 1, normal, normal + 1}, []bool{true, false, true}},
		{"by the highest bit", [3]uint32{1, umddi.AllocationPriorityMaximum, 1<<32 - 1}, []bool{false, true, true}},
		{"a maximum, if all are", [3]uint32{umddi.AllocationPriorityMaximum, umddi.AllocationPriorityMaximum, umddi.AllocationPriorityMaximum}, []bool{false, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{vram: 4 * 4096})
			var as []ddi.KMHandle
			for i := range 3 {
				a := r.alloc(4096, local)
				as = append(as, a)
				r.render(fill(a, 0, 4096, byte(i+1)))
				r.prioritize(a, tt.priorities[i])
			}
			rest := r.alloc(4096, local)
			r.prioritize(rest, 1<<32-1)
			r.render(fill(rest, 0, 64, 9))
			r.render(fill(r.alloc(4096, local), 0, 64, 9))
			r.wait()
			assert.Equal(t, tt.stay, r.resident(as...))
			for i, a := range as {
				assert.Equal(t, repeat(byte(i+1), 4096), r.read(a))
			}
			r.finish()
		})
	}
}

// A priority does not protect an allocation from work that needs its place, nor expose one
// that work in the software queue holds.
func TestPriorityOfWhatIsKept(t *testing.T) {
	r := newRig(t, options{vram: 2 * 4096, capacity: 1, buffers: 4})
	a, b, c := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
	r.prioritize(a, umddi.AllocationPriorityMinimum)
	r.prioritize(b, umddi.AllocationPriorityMaximum)
	r.render(copyTo(a, 0, b, 0, 4096), fill(a, 0, 64, 1), fill(c, 0, 64, 2), copyTo(c, 64, b, 0, 64), fill(b, 0, 16, 3))
	assert.Equal(t, append(repeat(1, 64), repeat(0, 4032)...), r.read(a))
	assert.Equal(t, append(repeat(2, 64), repeat(0, 4032)...), r.read(c))
	assert.Equal(t, repeat(3, 16), r.read(b)[:16])
	r.finish()
}

func TestSetAllocationPriorityIsChecked(t *testing.T) {
	r := newRig(t, options{})
	a, b := r.alloc(64, local), r.alloc(64, local)
	set := func(as []ddi.KMHandle, ps ...uint32) ddi.Status {
		return r.thunks.SetAllocationPriority(r.thread, r.dev, &umddi.SetPriority{Allocations: as, Priorities: ps})
	}
	both := []ddi.KMHandle{a, b}
	for _, tt := range []struct {
		name string
		got  ddi.Status
		want ddi.Status
	}{
		{"the least value and the largest one", set(both, 1, 1<<32-1), ddi.StatusSuccess},
		{"0", set(both, 5, 0), ddi.StatusInvalidParameter},
		{"too few", set(both, 5), ddi.StatusInvalidParameter},
		{"too many", set(both, 5, 5, 5), ddi.StatusInvalidParameter},
		{"an unknown allocation", set([]ddi.KMHandle{a, a + 1<<20}, 5, 5), ddi.StatusInvalidHandle},
		{"an unknown device", r.thunks.SetAllocationPriority(r.thread, r.dev+1<<20, &umddi.SetPriority{}), ddi.StatusInvalidHandle},
	} {
		assert.Equal(t, tt.want, tt.got, tt.name)
	}
	assert.Equal(t, []uint32{1, 1<<32 - 1}, []uint32{
		r.kernel.handles.get(a).(*allocation).priority, r.kernel.handles.get(b).(*allocation).priority,
	}, "a refused call changes nothing")
	r.finish()
}

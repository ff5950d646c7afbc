package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A job is made after those of other contexts of its device that write what it uses, or use what it
// writes. Two that only read, and those of one context, do not need that.
func TestOrderOfJobs(t *testing.T) {
	read := func(out, a ddi.KMHandle) []command { return []command{copyTo(out, 0, a, 0, 16)} }
	write := func(_, a ddi.KMHandle) []command { return []command{fill(a, 0, 16, 1)} }
	both := func(out, a ddi.KMHandle) []command { return []command{copyTo(out, 0, a, 0, 16), fill(a, 0, 16, 1)} }
	back := func(out, a ddi.KMHandle) []command { return []command{fill(a, 0, 16, 1), copyTo(out, 0, a, 0, 16)} }
	for _, tt := range []struct {
		name         string
		first, other func(out, a ddi.KMHandle) []command
		want         int
	}{
		{"both read", read, read, 0}, {"read, write", read, write, 1}, {"write, read", write, read, 1}, {"write, write", write, write, 1},
		{"read, read and write", read, both, 1}, {"read, write and read", read, back, 1}, {"read and write, read", both, read, 1}, {"write and read, read", back, read, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{capacity: 1, buffers: 8})
			x, out, out2, busy := r.alloc(64, system), r.alloc(64, system), r.alloc(64, system), r.alloc(64, system)
			c := r.context(0)
			r.gpu.auto = false
			r.render(fill(busy, 0, 64, 1)) // in the hardware
			r.render(tt.first(out, x)...)
			r.render(tt.other(out2, x)...) // of the same context
			r.ok(r.submit(c, tt.other(out2, busy)...))
			r.ok(r.submit(c, tt.other(r.alloc(64, system), x)...))
			jobs := r.kernel.handles.get(c.Context).(*context).jobs
			require.Len(t, jobs, 2)
			before := 0
			for _, e := range jobs[1].after {
				if e.id == 2 {
					before++
				}
			}
			assert.Equal(t, tt.want, before)
			for _, j := range r.kernel.handles.get(r.ctx.Context).(*context).jobs {
				assert.Empty(t, j.after, "of one context")
			}
			r.gpu.auto = true
			r.finish()
		})
	}
}

// A context that gets work after it had none has used at least the floor of its node. One that has
// work keeps its time.
func TestTimeOfAContextThatWakes(t *testing.T) {
	q := newQueues(t, 2, options{})
	q.work(1) // in the hardware
	c := q.kernel.handles.get(q.contexts[0].Context).(*context)
	q.kernel.nodes[0].floor = 50
	q.work(0)
	assert.EqualValues(t, 50, c.used)
	c.used = 10
	q.work(0)
	assert.EqualValues(t, 10, c.used)
	c.used = 70
	q.end()
	q.kernel.nodes[0].floor = 60
	c.used = 1000
	q.kernel.wake(c)
	assert.EqualValues(t, 1000, c.used)
}

// The budget of an empty segment is all of it.
func TestBudgetOfAnEmptySegment(t *testing.T) {
	k := newRig(t, options{vram: 8192}).kernel
	k.account(k.segments[0], nil)
	assert.EqualValues(t, 8192, k.budget)
	k.account(k.segments[0], &allocation{device: &device{process: 3}, span: 64})
	assert.Equal(t, []any{uint64(8192), uint32(3)}, []any{k.budget, k.needy})
	k.charged(4).used = 1
	assert.Len(t, k.shares, 2)
}

// A byte that is not the pattern is found in a guard of any size.
func TestPatternOfAByte(t *testing.T) {
	assert.Equal(t, 0, unpoisoned([]byte{1}))
	assert.Equal(t, -1, unpoisoned([]byte{poison}))
	assert.Equal(t, 1, unpoisoned([]byte{poison, 1}))
}

// The GPU must not write the dummy page, from its first byte to its last one.
func TestBytesOfTheDummyPage(t *testing.T) {
	for _, at := range []uint64{0, 4095} {
		r := newRig(t, options{aperture: 4})
		r.gpu.write(r.kernel.dummy.Phys+at, 1)
		b := crash(func() {
			r.render(fill(r.alloc(64, system), 0, 64, 1))
			r.wait()
		})
		require.NotNil(t, b)
		assert.Equal(t, []uint32{CodeMemory, MemoryAperture}, []uint32{b.Code, b.P1})
	}
}

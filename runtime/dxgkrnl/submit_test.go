package dxgkrnl

import (
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completion returns the log of an interrupt for a completed fence.
func completion(fence string) []string {
	return []string{"InterruptRoutine", "NotifyInterrupt type=1 fence=" + fence + " node=0", "QueueDpc", "DpcRoutine", "NotifyDpc"}
}

func join(parts ...[]string) (out []string) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Steps 3 to 11 of "Submitting a Command Buffer".
//
// docs/properties.md: F3, S1.
func TestOrderOfSubmission(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(256, local)
	r.mini.log = nil
	r.render(fill(a, 0, 256, 1))
	r.wait()
	assert.Equal(t, join(
		[]string{"Render", "BuildPagingBuffer fill 0 to 1", "Patch fence=2 node=0", "Submit paging fence=1 node=0", "Submit buffer fence=2 node=0"},
		completion("1"), completion("2"),
	), r.mini.log)

	r.mini.log = nil
	r.render(fill(a, 0, 256, 2))
	r.wait()
	assert.Equal(t, join(
		[]string{"Render", "Patch fence=3 node=0", "Submit buffer fence=3 node=0"}, completion("3"),
	), r.mini.log, "resident allocations need no paging")

	r.mini.log = nil
	b := r.alloc(256, system)
	r.mini.log = nil
	r.ok(r.thunks.Present(r.thread, r.dev, &umddi.PresentCB{SrcAllocation: a, DstAllocation: b, Context: r.ctx.Context}))
	r.wait()
	assert.Equal(t, join(
		[]string{"Present list=3 write=true", "Patch fence=4 node=0", "Submit buffer fence=4 node=0"}, completion("4"),
	), r.mini.log)
	assert.Equal(t, append(repeat(2, 64), repeat(0, 192)...), r.read(b))
	r.finish()
}

func TestPagingOnAnotherNodeHoldsTheBuffer(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	r.gpu.auto = false
	a := r.alloc(256, local)
	r.mini.log = nil
	r.render(fill(a, 0, 256, 1))
	assert.Equal(t, []string{"Submit paging fence=1 node=1"}, r.logged("Submit"))
	r.gpu.complete(1)
	assert.Empty(t, r.logged("Submit"), "nothing before the fence is reported")
	r.enter()
	assert.Equal(t, []string{"Submit buffer fence=1 node=0"}, r.logged("Submit"))
	r.gpu.auto = true
	assert.Equal(t, repeat(1, 256), r.read(a))
	r.finish()
}

// docs/properties.md: F6, S1.
func TestHazardsAcrossNodes(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second func(a, b ddi.KMHandle) command
		held          bool
	}{
		{"read after write", func(a, _ ddi.KMHandle) command { return fill(a, 0, 64, 1) },
			func(a, b ddi.KMHandle) command { return copyTo(b, 0, a, 0, 64) }, true},
		{"write after read", func(a, b ddi.KMHandle) command { return copyTo(b, 0, a, 0, 64) },
			func(a, _ ddi.KMHandle) command { return fill(a, 0, 64, 1) }, true},
		{"write after write", func(a, _ ddi.KMHandle) command { return fill(a, 0, 64, 1) },
			func(a, _ ddi.KMHandle) command { return fill(a, 0, 64, 2) }, true},
		{"unrelated", func(a, _ ddi.KMHandle) command { return fill(a, 0, 64, 1) },
			func(_, b ddi.KMHandle) command { return fill(b, 0, 64, 2) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{nodes: 2})
			a, b := r.alloc(64, system), r.alloc(64, system)
			other := r.context(1)
			r.gpu.auto = false
			r.mini.log = nil
			r.render(tt.first(a, b))
			r.ok(r.submit(other, tt.second(a, b)))
			want := []string{"Submit buffer fence=1 node=0"}
			if !tt.held {
				want = append(want, "Submit buffer fence=1 node=1")
			}
			assert.Equal(t, want, r.logged("Submit"))
			r.gpu.complete(0)
			r.enter()
			if tt.held {
				assert.Equal(t, []string{"Submit buffer fence=1 node=1"}, r.logged("Submit"))
			}
			r.gpu.auto = true
			r.wait()
			r.finish()
		})
	}
}

// docs/properties.md: S2.
func TestReadsAcrossNodesAreNotHeld(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	a, b, c := r.alloc(64, system), r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	r.gpu.auto = false
	r.mini.log = nil
	r.render(copyTo(b, 0, a, 0, 64))
	r.ok(r.submit(other, copyTo(c, 0, a, 0, 64)))
	assert.Equal(t, []string{"Submit buffer fence=1 node=0", "Submit buffer fence=1 node=1"}, r.logged("Submit"))
	r.gpu.auto = true
	r.wait()
	r.finish()
}

// docs/properties.md: S9.
func TestHardwareQueueIsNeverExceeded(t *testing.T) {
	for _, capacity := range []int{1, 2, 3} {
		r := newRig(t, options{capacity: capacity, buffers: 8})
		r.kernel.caps.HwQueuePacketCap = uint32(capacity)
		r.gpu.capacity = capacity
		r.gpu.auto = false
		a := r.alloc(64, system)
		for i := range 6 {
			r.render(fill(a, 0, 64, byte(i)))
		}
		require.Len(t, r.gpu.queues[0], capacity)
		r.gpu.auto = true
		r.wait()
		assert.Equal(t, uint64(6), r.kernel.Stats().Fences)
		assert.Equal(t, repeat(5, 64), r.read(a))
		r.finish()
	}
}

// Paging buffers take places of the hardware queue too.
//
// docs/properties.md: S9.
func TestPagingBuffersCountForTheCap(t *testing.T) {
	for _, capacity := range []int{1, 2, 3} {
		for n := 1; n <= 6; n++ {
			r := newRig(t, options{capacity: capacity, pagingBytes: opBytes})
			r.gpu.auto = false
			var all []ddi.KMHandle
			var cmds []command
			for range n { // a paging buffer each
				a := r.alloc(64, local)
				all, cmds = append(all, a), append(cmds, fill(a, 0, 64, 3))
			}
			r.render(cmds...)
			require.Len(t, r.gpu.queues[0], min(n+1, capacity))
			r.gpu.auto = true
			r.wait()
			for _, a := range all {
				assert.Equal(t, repeat(3, 64), r.read(a))
			}
			r.finish()
		}
	}
}

func TestBuffersRotateAndAreWaitedFor(t *testing.T) {
	r := newRig(t, options{buffers: 2})
	a := r.alloc(64, system)
	before := &r.ctx.CommandBuffer[0]
	r.render(fill(a, 0, 64, 1))
	assert.NotSame(t, before, &r.ctx.CommandBuffer[0])
	for i := range 20 {
		r.render(fill(a, 0, 64, byte(i)))
	}
	assert.LessOrEqual(t, len(r.gpu.queues[0]), 2)
	assert.Equal(t, repeat(19, 64), r.read(a))
	r.finish()
}

func TestMultipass(t *testing.T) {
	r := newRig(t, options{dmaBytes: 4 * opBytes})
	a := r.alloc(16, local)
	c := r.context(0)
	// A miniport may expand commands: here the DMA buffer is smaller than the
	// user-mode driver's.
	c2 := r.kernel.handles.get(c.Context).(*context)
	for _, d := range c2.dma {
		d.pages.Bytes = d.pages.Bytes[:2*opBytes]
	}
	r.kernel.dmaBuffers = 1
	r.mini.log = nil
	r.ok(r.submit(c, fill(a, 0, 4, 1), fill(a, 4, 4, 2), fill(a, 8, 4, 3), fill(a, 12, 4, 4)))
	assert.Equal(t, []string{"Render", "Submit buffer fence=2 node=0", "Render", "Submit buffer fence=3 node=0"}, r.logged("Render", "Submit buffer"))
	assert.Equal(t, []byte{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4}, r.read(a))
	r.finish()
}

// docs/properties.md: F9.
func TestFenceIDsWrap(t *testing.T) {
	r := newRig(t, options{first: 0xfffffffe})
	a := r.alloc(64, system)
	r.mini.log = nil
	for i := range 5 {
		r.render(fill(a, 0, 64, byte(i)))
	}
	r.wait()
	assert.Equal(t, []string{
		"Submit buffer fence=4294967294 node=0", "Submit buffer fence=4294967295 node=0",
		"Submit buffer fence=0 node=0", "Submit buffer fence=1 node=0", "Submit buffer fence=2 node=0",
	}, r.logged("Submit"))
	assert.Equal(t, uint64(5), r.kernel.Stats().Fences)
	r.finish()
}

// docs/properties.md: F14.
func TestMergedInterruptRetiresAllOlder(t *testing.T) {
	r := newRig(t, options{capacity: 4})
	a := r.alloc(64, system)
	r.gpu.auto = false
	for range 3 {
		r.render(fill(a, 0, 64, 1))
	}
	r.gpu.execute(0)
	r.gpu.execute(0)
	r.mini.log = nil
	r.gpu.complete(0)
	r.wait()
	assert.Equal(t, completion("3"), r.mini.log)
	assert.Equal(t, uint64(3), r.kernel.Stats().Fences)
	r.finish()
}

// docs/properties.md: F11.
// docs/validator.md: V10, V28.
func TestRefusedRenderChangesNothing(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	foreign, s := r.thunks.CreateDevice(r.thread)
	r.ok(s)
	theirs := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: private{size: 64, supported: system}.encode()}}}
	r.ok(r.thunks.CreateAllocation(r.thread, foreign, theirs))
	for _, tt := range []struct {
		name string
		fail ddi.Status
		edit func(arg *umddi.Render)
		dev  ddi.KMHandle
		want ddi.Status
	}{
		{"the miniport's status", ddi.StatusPrivilegedInstruction, func(*umddi.Render) {}, r.dev, ddi.StatusPrivilegedInstruction},
		{"length beyond the buffer", 0, func(a *umddi.Render) { a.CommandLength = 1025 }, r.dev, ddi.StatusInvalidParameter},
		{"offset that overflows", 0, func(a *umddi.Render) { a.CommandOffset = ^uint32(0) }, r.dev, ddi.StatusInvalidParameter},
		{"too many allocations", 0, func(a *umddi.Render) { a.NumAllocations = 65 }, r.dev, ddi.StatusInvalidParameter},
		{"too many patches", 0, func(a *umddi.Render) { a.NumPatchLocations = 129 }, r.dev, ddi.StatusInvalidParameter},
		{"bad handle", 0, func(*umddi.Render) { r.ctx.AllocationList[0].Allocation++ }, r.dev, ddi.StatusInvalidHandle},
		{"foreign allocation", 0, func(*umddi.Render) { r.ctx.AllocationList[0].Allocation = theirs.AllocationInfo[0].Allocation }, r.dev, ddi.StatusInvalidHandle},
		{"context as allocation", 0, func(*umddi.Render) { r.ctx.AllocationList[0].Allocation = r.ctx.Context }, r.dev, ddi.StatusInvalidHandle},
		{"bad context", 0, func(a *umddi.Render) { a.Context = 0 }, r.dev, ddi.StatusInvalidHandle},
		{"another device's context", 0, func(*umddi.Render) {}, foreign, ddi.StatusInvalidHandle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.mini.fail["Render"] = tt.fail
			arg := r.record(&r.ctx, fill(a, 0, 64, 1))
			tt.edit(arg)
			before := r.kernel.Stats()
			r.mini.log = nil
			assert.Equal(t, tt.want, r.thunks.Render(r.thread, tt.dev, arg))
			assert.Nil(t, arg.NewCommandBuffer)
			assert.Empty(t, r.logged("Build", "Patch", "Submit"))
			assert.Equal(t, before, r.kernel.Stats())
			r.mini.fail["Render"] = 0
		})
	}
	r.render(fill(a, 0, 64, 1))
	r.wait()
	r.finish()
}

func TestUserAccessors(t *testing.T) {
	m := &userMemory{b: []byte{1, 2, 3, 4}}
	p := make([]byte, 2)
	assert.Equal(t, 4, m.Size())
	assert.Equal(t, ddi.StatusSuccess, m.Read(2, p))
	assert.Equal(t, []byte{3, 4}, p)
	for _, off := range []int{-1, 3, 4, 5} {
		assert.Equal(t, ddi.StatusInvalidUserBuffer, m.Read(off, p), off)
	}
	l := &userPatchList{list: []umddi.PatchLocation{{PatchOffset: 8}}}
	got, s := l.At(0)
	assert.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, uint32(8), got.PatchOffset)
	for _, i := range []int{-1, 1} {
		_, s := l.At(i)
		assert.Equal(t, ddi.StatusInvalidUserBuffer, s)
	}
}

package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The memory of a board is that of its memory segments, and paging buffers have whole pages.
func TestBytesOfMemory(t *testing.T) {
	r := newRig(t, options{aperture: 4, vram: 32 << 10})
	assert.EqualValues(t, 32<<10, r.kernel.MemoryBytes())
	assert.Zero(t, r.kernel.PagingMemory())
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.wait()
	require.Len(t, r.kernel.paging.all, 1)
	assert.EqualValues(t, 3*4096, r.kernel.PagingMemory(), "a page of 256 bytes and its guards")
	r.kernel.paging.all[0].whole.Bytes = make([]byte, 4096)
	assert.EqualValues(t, 4096, r.kernel.PagingMemory())
	r.kernel.paging.all[0].whole.Bytes = make([]byte, 4097)
	assert.EqualValues(t, 8192, r.kernel.PagingMemory())
}

// The DMA buffers of drawings have whole pages, and those of applications do not count.
func TestBytesOfDrawings(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.render(fill(a, 0, 64, 1))
	assert.Zero(t, r.kernel.DrawingMemory())
	r.ok(r.paint(a, 0, 64, 1))
	assert.EqualValues(t, 2*3*4096, r.kernel.DrawingMemory(), "two buffers of 1,024 bytes and their guards")
	r.finish()
}

// In an aperture the alignment is at least that of a page.
func TestAlignmentInASegment(t *testing.T) {
	aperture, memory := &segment{desc: kmddi.SegmentDescriptor{Flags: kmddi.SegmentFlags{Aperture: true}}}, &segment{}
	for align, want := range map[uint32]uint64{4: 4096, 4096: 4096, 8192: 8192} {
		a := &allocation{info: kmddi.AllocationInfo{Alignment: align}}
		assert.Equal(t, []uint64{want, uint64(align)}, []uint64{aperture.alignOf(a), memory.alignOf(a)})
	}
}

// An allocation that may be in System segments only is resident at once, and it stays.
func TestWhatIsResidentAtFirst(t *testing.T) {
	r := newRig(t, options{})
	assert.Equal(t, []bool{true, false, false}, r.resident(r.alloc(64, system), r.alloc(64, local), r.alloc(64, both)))
	for align, want := range map[uint32]uint32{0: 4, 1: 4, 2: 4, 4: 4, 8: 8} {
		assert.Equal(t, want, r.object(r.allocPrivate(private{size: 5, align: align, preferred: 1, supported: local})).info.Alignment)
	}
	assert.EqualValues(t, 8, r.object(r.allocPrivate(private{size: 5, align: 4, preferred: 1, supported: local})).span)
}

// Without host memory there is no allocation, in one piece or in pages.
func TestAllocationWithoutHostMemory(t *testing.T) {
	r := newRig(t, options{aperture: 1 << 14})
	var taken []ddi.KMHandle
	for _, set := range []uint32{local, system} {
		for size := uint64(8 << 20); size >= 4096; size /= 2 {
			r.kernel.segments[0].desc.Size = 64 << 20
			for {
				arg := allocate(private{size: size, align: 4, preferred: set, supported: set})
				s := r.thunks.CreateAllocation(r.thread, r.dev, arg)
				if s.Failed() {
					assert.Equal(t, ddi.StatusNoMemory, s)
					break
				}
				taken = append(taken, arg.AllocationInfo[0].Allocation)
			}
		}
	}
	require.Greater(t, len(taken), 6)
	before := r.mini.live
	r.ok(r.destroy(taken...))
	r.enter()
	assert.Equal(t, before-2*len(taken), r.mini.live)
	r.finish()
}

// A submission of DxgkDdiPresent has the flag, and one of DxgkDdiRender does not.
func TestFlagOfAPresent(t *testing.T) {
	r := newRig(t, options{})
	var flags []bool
	r.mini.patched = func(arg kmddi.Patch) { flags = append(flags, arg.Flags.Present) }
	a, b := r.alloc(64, system), r.alloc(64, system)
	r.render(fill(a, 0, 64, 7))
	r.ok(r.thunks.Present(r.thread, r.dev, &umddi.PresentCB{SrcAllocation: a, DstAllocation: b, Context: r.ctx.Context}))
	r.render(fill(a, 0, 64, 8))
	assert.Equal(t, repeat(7, 64), r.read(b))
	assert.Equal(t, []bool{false, true, false}, flags)
	r.finish()
}

// Records of submissions are used again.
func TestSubmissionsAreUsedAgain(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	for i := range 50 {
		r.render(fill(a, 0, 64, byte(i)))
		r.wait()
	}
	assert.LessOrEqual(t, len(r.kernel.spare), 4)
	r.finish()
}

// A fence that is reported again names no submission, and changes nothing.
func TestReportOfTheLastFence(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	var reports []uint64
	r.kernel.observer = func(_ *ddi.Thread, e Event) {
		if e.Kind == EventReport {
			reports = append(reports, e.Submission)
		}
	}
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.render(fill(a, 0, 64, 2))
	n := &r.kernel.nodes[0]
	first, second := n.hardware[0].serial, n.hardware[1].serial
	again := func() {
		old := r.thread.Raise(ddi.DIRQL)
		r.kernel.reported("test", n, 1)
		r.thread.Lower(old)
		assert.EqualValues(t, 1, n.reported)
	}
	again()
	require.Len(t, n.hardware, 2)
	again() // while it is in the hardware
	r.gpu.complete(0)
	r.enter()
	again() // and after that
	r.gpu.complete(0)
	r.enter()
	assert.Equal(t, []uint64{first, 0, 0, 0, second}, reports)
	assert.EqualValues(t, 2, n.completed)
	r.gpu.auto = true
	r.finish()
}

// Work that ends together with the one before it has used no time of the node.
func TestTimeOfMergedWork(t *testing.T) {
	q := newQueues(t, 2, options{})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.gpu.now += 5000
	q.work(0)
	q.work(1)
	began := q.gpu.now
	q.gpu.now += 100
	q.gpu.execute(0)
	q.gpu.complete(0)
	q.enter()
	a, b := q.kernel.handles.get(q.contexts[0].Context).(*context), q.kernel.handles.get(q.contexts[1].Context).(*context)
	assert.InDelta(t, q.gpu.now-began, a.used, 10)
	assert.Less(t, b.used, uint64(3))
	q.end()
}

// The time that counts for a new context is the least of those with work on its node.
func TestLeastUsedTime(t *testing.T) {
	q := newQueues(t, 4, options{nodes: 2, quantum: 10})
	other := q.devices[3].context(1)
	for i := range 3 {
		q.work(i)
	}
	q.ok(q.devices[3].submit(other, fill(q.targets[3], 0, 64, 1)))
	k := q.kernel
	var all []*context
	for i := range 4 {
		all = append(all, k.handles.get(q.contexts[i].Context).(*context))
		all[i].used = uint64(100 * (i + 1))
	}
	far := k.handles.get(other.Context).(*context)
	all[3].used, far.used = 5, 1
	assert.EqualValues(t, 100, k.least(all[1]), "the last has no work, and another one is on another node")
	assert.EqualValues(t, 100, k.least(all[0]))
	assert.EqualValues(t, 5, k.least(all[3]))
	assert.EqualValues(t, 1, k.least(far))
	q.end()
}

// Each event has the thread that is in the kernel, also after others were inside meanwhile.
func TestThreadOfAnEvent(t *testing.T) {
	for seed := range uint64(8) {
		r := newRig(t, options{capacity: 1})
		waits := map[*ddi.Thread]int{}
		ends := map[*ddi.Thread]int{}
		inside := map[*ddi.Thread]bool{}
		r.kernel.observer = func(th *ddi.Thread, e Event) {
			switch e.Kind {
			case EventWait:
				waits[th]++
			case EventWaitEnd:
				ends[th]++
			case EventAllocate, EventLock, EventPending:
				assert.True(t, inside[th], "%v", e.Kind)
			}
		}
		var tasks []Task
		for i := range 3 {
			p := r.process(uint32(i + 2))
			p.open(0)
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
				for n := range 4 {
					inside[p.thread] = true
					a := p.alloc(64, local)
					p.render(fill(a, 0, 64, byte(n)))
					assert.Equal(t, repeat(byte(n), 64), p.read(a))
					inside[p.thread] = false
					p.wait()
				}
			}})
		}
		r.kernel.Run(seed, tasks)
		assert.Len(t, waits, 3)
		assert.Equal(t, waits, ends)
		r.kernel.observer = nil
		r.finish()
	}
}

// The content that is written after an inner lock has ended reaches VRAM with the last one.
func TestWriteAfterAnInnerLock(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.render(fill(a, 0, 64, 3))
	outer := &umddi.Lock{Allocation: a, IgnoreSync: true}
	r.ok(r.lock(outer))
	r.ok(r.lock(&umddi.Lock{Allocation: a, ReadOnly: true}))
	r.unlock(a)
	assert.True(t, r.object(a).pinned)
	copy(outer.Data, repeat(5, 64))
	r.unlock(a)
	assert.Equal(t, repeat(5, 64), r.gpu.vram[:64])
	assert.False(t, r.object(a).pinned)
	r.finish()
}

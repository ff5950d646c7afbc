package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Work of a higher priority that finds no room beside what is held stops nobody.
func TestWorkWithoutRoomStopsNobody(t *testing.T) {
	r := newRig(t, options{preempts: true, nodes: 2, capacity: 2, vram: 8192})
	low, pager, high := r.opened(2), r.opened(3), r.opened(4)
	busy, target := pager.alloc(64, system), low.alloc(64, system)
	whole, part := pager.alloc(8192, local), high.alloc(4096, local)
	onPaging := pager.context(1)
	r.gpu.auto = false
	low.ok(low.submit(&low.ctx, halves(target, 1)...)) // in the hardware of node 0
	pager.ok(pager.submit(onPaging, fill(busy, 0, 64, 2)))
	pager.ok(pager.submit(onPaging, fill(whole, 0, 64, 3))) // made, and held: its paging buffer fills the queue
	require.Equal(t, 1, r.object(whole).held)
	r.ok(r.thunks.SetContextSchedulingPriority(r.thread, high.ctx.Context, MaxPriority))
	high.render(fill(part, 0, 64, 4))
	c := r.kernel.handles.get(high.ctx.Context).(*context)
	assert.Equal(t, []int{1, 0}, []int{len(c.jobs), len(c.pending)})
	assert.Zero(t, r.kernel.Stats().Preemptions)
	r.gpu.auto = true
	assert.Equal(t, repeat(4, 64), high.read(part)[:64])
	assert.Equal(t, repeat(3, 64), pager.read(whole)[:64])
	low.wait()
	r.finish()
}

// Stopped work that follows other stopped work, which has no places yet, gets none before that.
func TestPlacesInOrder(t *testing.T) {
	r := newRig(t, options{preempts: true, vram: 8192})
	x, y := r.object(r.alloc(4096, local)), r.object(r.alloc(4096, local))
	first, second := r.follower(false, x), r.follower(false, y)
	for _, s := range []*submission{first, second} {
		s.letGo(false)
		s.dma.expect(s.part, 1)
		s.dma.context, s.line.made = s.line.context, 1
	}
	second.waits = marks{first.mark}
	r.kernel.moving = true
	assert.False(t, r.kernel.placeAgain(r.thread, second))
	assert.Equal(t, []any{false, 1, 0}, []any{second.placed, y.queued, y.held})
	assert.True(t, r.kernel.placeAgain(r.thread, first))
	assert.True(t, r.kernel.placeAgain(r.thread, second))
	for i, a := range []*allocation{x, y} {
		s := []*submission{first, second}[i]
		assert.Equal(t, []any{true, 0, 1, true, true}, []any{s.placed, a.queued, a.held, a.dirty, a.content == false})
		assert.Contains(t, s.waits, mark{&r.kernel.paging.line, a.paged}, "its paging buffer")
	}
}

// Work that completes while a node is asked at its time-out ends the time-out.
func TestCompletionAtTheTimeout(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	q.mini.responsive = true
	asked := 0
	q.mini.every = func(name string) {
		if name != "QueryEngineStatus" {
			return
		}
		if asked++; asked == 2 {
			q.gpu.complete(0)
			q.kernel.dev.Deliver(q.kernel.thread)
		}
	}
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	p.wait()
	assert.Equal(t, 2, asked)
	assert.Zero(t, q.kernel.Stats().NodeResets)
	q.finish()
}

// The pattern of memory that the miniport must not use is 0xa5 in each byte.
func TestPattern(t *testing.T) {
	const word = 0xa5a5a5a5
	assert.EqualValues(t, 0xa5, poison)
	assert.Equal(t, kmddi.PatchLocation{AllocationIndex: word, SlotID: word, DriverID: word, AllocationOffset: word, PatchOffset: word, SplitOffset: word}, poisoned)
	r := newRig(t, options{})
	last := remembers(r)
	r.render(fill(r.alloc(64, system), 0, 64, 1))
	r.wait()
	assert.Equal(t, repeat(0xa5, 16), last.DmaBufferPrivateData)
	assert.Equal(t, kmddi.AllocationList{WriteOperation: true, SegmentID: word, PhysicalAddress: 0xa5a5a5a5a5a5a5a5}, last.AllocationList[0])
	l := r.kernel.devices[1].contexts[0].dma[0].lent
	assert.Len(t, l.wholePrivate, 16+2*64)
	assert.Len(t, l.whole.Bytes, 1024+2*4096)
	assert.Equal(t, l.whole.Phys+4096, l.pages.Phys)
	assert.Equal(t, []int{1024, 16}, []int{cap(l.pages.Bytes), cap(l.private)})
}

// What Render has written must not change before Patch, from its first byte on.
func TestFirstBytesAreKept(t *testing.T) {
	for name, change := range map[string]func(arg kmddi.Render){
		"buffer":       func(arg kmddi.Render) { arg.DmaBuffer[0]++ },
		"private data": func(arg kmddi.Render) { arg.DmaBufferPrivateData[0]++ },
	} {
		r := newRig(t, options{})
		keepsBuffer(r, change)
		b := crash(func() { r.render(r.extra...) })
		require.NotNil(t, b, name)
		assert.Equal(t, []any{uint32(CodeVerifier), uint32(VerifierKept), "DxgkDdiRender"}, []any{b.Code, b.P1, b.Function})
	}
}

// On a working adapter a device is created although another thread waits in the kernel.
func TestDeviceIsCreatedMeanwhile(t *testing.T) {
	r := newRig(t, options{})
	k, p := r.kernel, r.process(2)
	waits, done := false, false
	r.kernel.Run(1, []Task{
		{r.thread, func(th *ddi.Thread) {
			v := k.enter(th)
			waits = true
			k.until(th, func() bool { return done })
			k.leave(th, &v)
		}},
		{p.thread, func(*ddi.Thread) {
			for !waits {
				p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
			}
			p.open(0)
			done = true
			p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
		}},
	})
	r.finish()
}

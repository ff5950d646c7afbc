package dxgkrnl

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// stopsInPaging makes the link fail in the next call of BuildPagingBuffer for an operation.
func (r *rig) stopsInPaging(op kmddi.PagingOperation) {
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		if arg.Operation != op {
			return out, s, false
		}
		r.kernel.stopLink(r.thread, errors.New("down"))
		return out, ddi.StatusAllocationBusy, true
	}
}

// Stopped work that fits nowhere any more costs its device, and nobody waits for it. If the adapter
// stops while the work gets its places again, that is the reason, and not a device.
//
// docs/properties.md: S7.
func TestStoppedWorkWithoutPlaces(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *rig)
		device ddi.Status
		err    Kind // of the adapter; 0: it works
	}{
		{"a segment that is too small", func(r *rig) { r.kernel.segments[0].desc.Size = 2048 }, ddi.StatusNoVideoMemory, 0},
		{"the link fails", func(r *rig) { r.stopsInPaging(kmddi.PagingFill) }, ddi.StatusSuccess, Link},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{preempts: true, vram: 8192})
			s := r.follower(false, r.object(r.alloc(4096, local)))
			s.letGo(false)
			s.dma.expect(s.part, 1)
			s.dma.context, s.line.made = s.line.context, 1
			tt.change(r)
			r.kernel.moving = true
			assert.False(t, r.kernel.placeAgain(r.thread, s))
			assert.Equal(t, tt.device, s.dma.context.device.removed)
			if tt.err == 0 {
				require.NoError(t, r.kernel.Err())
				return
			}
			var e *DeviceError
			require.ErrorAs(t, r.kernel.Err(), &e)
			assert.Equal(t, tt.err, e.Kind)
		})
	}
}

// A group that finds room when one of its allocations uses its host memory evicts no other
// allocation.
func TestGroupEvictsNoOther(t *testing.T) {
	r := newRig(t, options{vram: 8192, aperture: 4})
	other, x, y := r.alloc(4096, system), r.alloc(4096, both), r.alloc(8192, local)
	r.render(fill(other, 0, 64, 3))
	r.render(fill(x, 0, 64, 4))
	r.wait()
	before := r.kernel.Stats()
	second := fill(y, 0, 64, 2)
	second.join = true
	r.render(fill(x, 0, 32, 1), second)
	r.wait()
	assert.Equal(t, []bool{true, true, true}, r.resident(other, x, y))
	assert.EqualValues(t, 1, r.kernel.Stats().Evictions-before.Evictions, "of the one of the group")
	assert.Equal(t, append(repeat(1, 32), repeat(4, 32)...), r.read(x)[:64])
	r.finish()
}

// An allocation that was pinned or locked while another one of the plan moved keeps its place. The kernel
// then makes another plan.
func TestPlanOfMovesIsMadeAgain(t *testing.T) {
	for name, keep := range map[string]func(k *Kernel, a *allocation, on bool){
		"pinned": func(k *Kernel, a *allocation, on bool) { k.pin(a, on) },
		"locked": func(_ *Kernel, a *allocation, on bool) { a.locks = map[bool]int{true: 1}[on] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{vram: 8 * 4096})
			as := r.fragmented()
			for _, i := range []int{0, 2, 3, 5} {
				r.kernel.pin(r.object(as[i]), true)
			}
			before := r.kernel.Stats()
			var kept *allocation // of the two that can move
			r.mini.at = map[string]func(){"BuildPagingBuffer": func() {
				kept = r.object(as[6])
				if kept.offset != 6*4096 {
					kept = r.object(as[7])
				}
				keep(r.kernel, kept, true)
				r.kernel.pin(r.object(as[5]), false)
			}}
			place := func() uint64 { return kept.offset }
			large := r.alloc(2*4096, local)
			r.render(fill(large, 0, 2*4096, 0x55))
			r.wait()
			require.NotNil(t, kept)
			require.NotNil(t, kept.segment)
			assert.Contains(t, []uint64{6 * 4096, 7 * 4096}, place(), "where it was")
			assert.EqualValues(t, 2, r.kernel.Stats().Moves-before.Moves, "one of each plan")
			assert.Equal(t, before.Evictions, r.kernel.Stats().Evictions)
			keep(r.kernel, kept, false)
			for _, i := range []int{0, 2, 3} {
				r.kernel.pin(r.object(as[i]), false)
			}
			for _, i := range []int{0, 2, 3, 5, 6, 7} {
				assert.Equal(t, repeat(byte(i+1), 4096), r.read(as[i]), "page %d", i)
			}
			assert.Equal(t, repeat(0x55, 2*4096), r.read(large))
			r.finish()
		})
	}
}

// When the adapter stops during a move, the kernel builds nothing more.
//
// docs/properties.md: T8.
func TestNothingIsBuiltAfterAStop(t *testing.T) {
	r := newRig(t, options{vram: 8 * 4096})
	r.fragmented()
	large := r.alloc(2*4096, local)
	r.mini.log = nil
	r.stopsInPaging(kmddi.PagingTransfer)
	assert.Equal(t, ddi.StatusIODeviceError, r.submit(&r.ctx, fill(large, 0, 64, 1)))
	assert.Equal(t, []string{"BuildPagingBuffer transfer 1 to 1"}, r.logged("Build"))
	assert.EqualValues(t, 1, r.kernel.Stats().Moves)
	assert.Nil(t, r.object(large).segment)
}

// Destroying an allocation ends its locks. While work still uses it, it may move like any other.
func TestDestroyedIsNotLocked(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	h := r.alloc(4096, local)
	r.gpu.auto = false
	r.render(fill(h, 0, 64, 2))
	r.gpu.complete(0) // its paging buffer
	r.enter()
	a := r.object(h)
	for range 2 {
		r.ok(r.lock(&umddi.Lock{Allocation: h, ReadOnly: true, IgnoreSync: true}))
	}
	assert.False(t, a.movable())
	assert.Equal(t, 1, r.kernel.pins)
	r.ok(r.destroy(h))
	require.False(t, a.unused())
	assert.True(t, a.movable())
	assert.Zero(t, r.kernel.pins)
	r.gpu.auto = true
	r.wait()
	r.finish()
}

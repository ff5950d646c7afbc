package dxgkrnl

import (
	"errors"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (r *rig) lock(arg *umddi.Lock) ddi.Status { return r.thunks.Lock(r.thread, r.dev, arg) }

func TestLockWhereverItIs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    uint32
		hidden bool
		used   bool
	}{
		{"host memory", system, false, true},
		{"never used", local, false, false},
		{"in VRAM", local, false, true},
		{"in VRAM that the CPU cannot access", local, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{hiddenVRAM: tt.hidden})
			a, out := r.alloc(61, tt.set), r.alloc(64, system)
			want := repeat(0, 61)
			if tt.used {
				r.render(fill(a, 0, 61, 4))
				want = repeat(4, 61)
			}
			assert.Equal(t, want, r.read(a), "61 bytes")
			r.write(a, repeat(6, 61))
			r.render(copyTo(out, 0, a, 0, 61))
			assert.Equal(t, repeat(6, 61), r.read(out)[:61])
			assert.Equal(t, repeat(6, 61), r.read(a))
			r.finish()
		})
	}
}

func TestWhatIsWrittenUnderLockSurvivesEviction(t *testing.T) {
	r := newRig(t, options{vram: 4096})
	a, b, out := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, system)
	r.render(copyTo(out, 0, a, 0, 4)) // a is in VRAM and clean
	r.write(a, repeat(7, 4096))
	r.render(fill(b, 0, 4096, 1))
	r.wait()
	assert.Equal(t, repeat(7, 4096), r.read(a))
	r.render(copyTo(out, 0, a, 0, 4096))
	assert.Equal(t, repeat(7, 4096), r.read(out))
	r.finish()
}

func TestLockFlags(t *testing.T) {
	r := newRig(t, options{})
	hidden := r.allocPrivate(private{size: 64, align: 4, preferred: 1, supported: local, hidden: true})
	a := r.alloc(64, local)
	assert.Equal(t, ddi.StatusCantLockMemory, r.lock(&umddi.Lock{Allocation: hidden}))
	assert.Equal(t, ddi.StatusInvalidParameter, r.lock(&umddi.Lock{Allocation: a, ReadOnly: true, WriteOnly: true}))
	assert.Equal(t, ddi.StatusInvalidHandle, r.lock(&umddi.Lock{Allocation: r.ctx.Context}))
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a}}), "not locked")

	r.render(fill(a, 0, 64, 3))
	arg := &umddi.Lock{Allocation: a, ReadOnly: true}
	r.ok(r.lock(arg))
	arg.Data[0] = 9
	r.unlock(a)
	assert.Equal(t, repeat(3, 64), r.read(a), "writes under a read-only lock do not reach VRAM")
	r.finish()
}

func TestLocksNest(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.render(fill(a, 0, 64, 3))
	outer, inner := &umddi.Lock{Allocation: a, WriteOnly: true}, &umddi.Lock{Allocation: a, ReadOnly: true}
	r.ok(r.lock(outer))
	copy(outer.Data, repeat(5, 64))
	r.ok(r.lock(inner))
	assert.Equal(t, repeat(5, 64), inner.Data, "the inner lock sees the written data")
	r.unlock(a)
	assert.Equal(t, ddi.StatusCantRenderLocked, r.submit(&r.ctx, fill(a, 0, 64, 1)))
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a, a}}))
	r.unlock(a)
	assert.Equal(t, repeat(5, 64), r.read(a), "the last unlock copies back")
	r.finish()
}

func TestRenderWithLocked(t *testing.T) {
	r := newRig(t, options{})
	for _, tt := range []struct {
		name string
		set  uint32
		want ddi.Status
	}{
		{"paged out", local, ddi.StatusCantRenderLocked},
		{"paged out, could go to host memory", both, ddi.StatusCantRenderLocked},
		{"host memory", system, ddi.StatusSuccess},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.alloc(64, tt.set)
			r.ok(r.lock(&umddi.Lock{Allocation: a}))
			assert.Equal(t, tt.want, r.submit(&r.ctx, fill(a, 0, 64, 1)))
			r.wait()
			r.unlock(a)
		})
	}
	r.finish()
}

// docs/properties.md: F4.
func TestDoNotWait(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	before := r.gpu.now
	assert.Equal(t, ddi.StatusAllocationBusy, r.lock(&umddi.Lock{Allocation: a, DoNotWait: true}))
	assert.Greater(t, r.gpu.now, before, "time passes while polling")
	r.ok(r.lock(&umddi.Lock{Allocation: a, IgnoreSync: true}))
	r.unlock(a)
	r.gpu.execute(0) // without an interrupt
	r.ok(r.lock(&umddi.Lock{Allocation: a, DoNotWait: true}))
	r.unlock(a)
	r.finish()
}

func TestSpinningApplicationSeesAHang(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	for range 5000 {
		s := r.lock(&umddi.Lock{Allocation: a, DoNotWait: true})
		if s == ddi.StatusDeviceRemoved {
			assert.Error(t, r.kernel.Err())
			return
		}
		require.Equal(t, ddi.StatusAllocationBusy, s)
	}
	t.Error("no time-out in 5000 ticks, want one after 2000")
}

// IgnoreSync still waits for paging, which the application cannot know about.
func TestIgnoreSyncWaitsForPaging(t *testing.T) {
	r := newRig(t, options{vram: 4096, nodes: 2})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(a, 0, 4096, 8))
	r.wait()
	r.gpu.auto = false
	r.render(fill(b, 0, 4096, 1)) // a is being paged out
	assert.Equal(t, ddi.StatusAllocationBusy, r.lock(&umddi.Lock{Allocation: a, IgnoreSync: true, DoNotWait: true}))
	r.gpu.auto = true
	arg := &umddi.Lock{Allocation: a, IgnoreSync: true}
	r.ok(r.lock(arg))
	assert.Equal(t, repeat(8, 4096), arg.Data)
	r.unlock(a)
	r.wait()
	r.finish()
}

func TestLinkFailureUnderLock(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(r *rig, a ddi.KMHandle, err error) ddi.Status
	}{
		{"copy out", func(r *rig, a ddi.KMHandle, err error) ddi.Status {
			r.gpu.linkErr = err
			return r.lock(&umddi.Lock{Allocation: a})
		}},
		{"copy back", func(r *rig, a ddi.KMHandle, err error) ddi.Status {
			r.ok(r.lock(&umddi.Lock{Allocation: a}))
			r.gpu.linkErr = err
			return r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a}})
		}},
		{"wait", func(r *rig, a ddi.KMHandle, err error) ddi.Status {
			r.render(fill(a, 0, 64, 2))
			r.gpu.linkErr = err
			return r.thunks.WaitForIdle(r.thread, r.dev)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, local)
			r.render(fill(a, 0, 64, 1))
			r.wait()
			broken := errors.New("link down")
			assert.Equal(t, ddi.StatusIODeviceError, tt.at(r, a, broken))
			var e *DeviceError
			require.ErrorAs(t, r.kernel.Err(), &e)
			assert.Equal(t, Link, e.Kind)
			assert.ErrorIs(t, e, broken)
		})
	}
}

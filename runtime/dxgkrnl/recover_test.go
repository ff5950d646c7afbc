package dxgkrnl

import (
	"errors"
	"math"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// another creates a new device and context, which replace those of r.
func (r *rig) another() {
	var s ddi.Status
	r.dev, s = r.thunks.CreateDevice(r.thread)
	r.ok(s)
	r.ctx = umddi.CreateContext{}
	r.ok(r.thunks.CreateContext(r.thread, r.dev, &r.ctx))
}

// works checks that memory segments are empty and that content is paged in and
// out.
func (r *rig) works(t *testing.T) {
	t.Helper()
	whole := r.alloc(64<<10, local)
	r.render(fill(whole, 0, 64<<10, 7))
	other := r.alloc(64, both)
	r.render(copyTo(other, 0, whole, 64, 64))
	assert.Equal(t, repeat(7, 64), r.read(other))
	r.wait()
	r.ok(r.destroy(whole, other))
}

// Whatever stopped the adapter, and with work at every stage: after recovery a
// new device can use the entire GPU, and the old one can only be destroyed.
func TestRecover(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stop  func(r *rig, a ddi.KMHandle)
		after func(r *rig)
		kind  Kind
		want  ddi.Status
	}{
		{"time-out", func(r *rig, a ddi.KMHandle) { r.gpu.auto = false }, func(r *rig) { r.gpu.auto = true }, Timeout, ddi.StatusDeviceRemoved},
		{"fault", func(r *rig, a ddi.KMHandle) { r.submit(&r.ctx, command{op: opFault}) }, func(*rig) {}, Fault, ddi.StatusDeviceRemoved},
		{"link", func(r *rig, a ddi.KMHandle) { r.gpu.linkErr = errors.New("broken") }, func(r *rig) { r.gpu.linkErr = nil }, Link, ddi.StatusIODeviceError},
	} {
		for _, first := range []uint32{0, math.MaxUint32 - 3} {
			t.Run(tt.name, func(t *testing.T) {
				r := newRig(t, options{nodes: 2, first: first, buffers: 8})
				a, b := r.alloc(4096, local), r.alloc(4096, local)
				r.render(fill(a, 0, 64, 1))
				r.render(fill(b, 0, 64, 2))
				r.wait()
				other := r.context(1)
				tt.stop(r, a)
				for range 6 { // in the hardware, waiting for the node, waiting for another node
					r.submit(&r.ctx, copyTo(a, 0, b, 0, 64))
					r.submit(other, copyTo(b, 64, a, 64, 64))
				}
				require.Equal(t, tt.want, r.thunks.WaitForIdle(r.thread, r.dev))
				var e *DeviceError
				require.ErrorAs(t, r.kernel.Err(), &e)
				require.Equal(t, tt.kind, e.Kind)
				old, ctx := r.dev, r.ctx

				tt.after(r)
				r.mini.log = nil
				require.NoError(t, r.kernel.Recover(r.thread))
				assert.Equal(t, []string{
					"ResetFromTimeout", "BuildPagingBuffer transfer 1 to 0", "BuildPagingBuffer transfer 1 to 0", "RestartFromTimeout",
				}, r.mini.log)
				require.NoError(t, r.kernel.Err())
				require.NoError(t, r.kernel.Recover(r.thread), "recovery of a working adapter does nothing")
				assert.Equal(t, uint64(1), r.kernel.Stats().Recoveries)

				for range 2 {
					r.another()
					r.works(t)
				}
				assert.Equal(t, tt.want, r.thunks.CreateContext(r.thread, old, &umddi.CreateContext{}))
				assert.Equal(t, tt.want, r.thunks.Lock(r.thread, old, &umddi.Lock{Allocation: a}))
				assert.Equal(t, tt.want, r.thunks.WaitForIdle(r.thread, old))
				assert.Equal(t, tt.want, r.thunks.Render(r.thread, old, &umddi.Render{Context: ctx.Context}))
				assert.Equal(t, tt.want, r.thunks.Present(r.thread, old, &umddi.PresentCB{Context: ctx.Context}))
				r.ok(r.thunks.DestroyAllocation(r.thread, old, &umddi.Deallocate{Allocations: []ddi.KMHandle{a}}))
				r.ok(r.thunks.DestroyContext(r.thread, ctx.Context))
				r.ok(r.thunks.DestroyDevice(r.thread, old))
				r.works(t)
				r.finish()
			})
		}
	}
}

// Memory that a stopped GPU may use is kept until the GPU is reset, and then
// freed.
func TestRecoverFreesWhatWasHeld(t *testing.T) {
	r := newRig(t, options{})
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	var free uint64
	for i := range 4 {
		r.another()
		r.render(fill(r.alloc(4096, local), 0, 64, 1))
		r.wait()
		r.gpu.auto = false
		r.render(fill(r.alloc(4096, system), 0, 64, 1))
		require.Error(t, r.kernel.WaitForIdle(r.thread))
		stopped := r.kernel.machine.InUse()
		r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
		assert.Equal(t, stopped, r.kernel.machine.InUse())
		r.gpu.auto = true
		require.NoError(t, r.kernel.Recover(r.thread))
		assert.Less(t, r.kernel.machine.InUse(), stopped)
		if i == 0 {
			free = r.kernel.machine.InUse()
		}
		assert.Equal(t, free, r.kernel.machine.InUse())
	}
	r.finish()
}

// Buffers that were in the hardware or waiting are reused.
func TestRecoverReusesBuffers(t *testing.T) {
	r := newRig(t, options{buffers: 8})
	for range maxPagingBuffers + 1 {
		r.gpu.auto = false
		for range 4 { // two of them in the hardware
			r.render(fill(r.alloc(4096, local), 0, 64, 1))
		}
		require.Error(t, r.kernel.WaitForIdle(r.thread))
		r.gpu.auto = true
		r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
		require.NoError(t, r.kernel.Recover(r.thread))
		r.another()
		assert.Len(t, r.kernel.paging.free, len(r.kernel.paging.all))
		r.works(t)
	}
	assert.Less(t, len(r.kernel.paging.all), maxPagingBuffers)
	r.finish()
}

// After a failed reset or restart the adapter remains stopped for its first
// reason, and Recover can be called again.
func TestRecoverAgain(t *testing.T) {
	for _, call := range []string{"ResetFromTimeout", "RestartFromTimeout"} {
		r := newRig(t, options{})
		a := r.alloc(4096, local)
		r.gpu.auto = false
		r.render(fill(a, 0, 64, 1))
		require.Error(t, r.kernel.WaitForIdle(r.thread))
		first := r.kernel.Err()
		r.gpu.auto = true
		r.mini.fail[call] = ddi.StatusIOTimeout
		for range 2 {
			err := r.kernel.Recover(r.thread)
			assert.ErrorIs(t, err, ddi.StatusIOTimeout)
			assert.ErrorContains(t, err, call)
			assert.Equal(t, first, r.kernel.Err())
			_, s := r.thunks.CreateDevice(r.thread)
			assert.Equal(t, ddi.StatusDeviceRemoved, s)
		}
		delete(r.mini.fail, call)
		require.NoError(t, r.kernel.Recover(r.thread))
		r.another()
		r.works(t)
		r.finish()
	}
}

// The miniport is not called while the link is down.
//
// docs/properties.md: T8.
func TestRecoverWithoutLink(t *testing.T) {
	r := newRig(t, options{})
	broken := errors.New("broken")
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.gpu.linkErr = broken
	require.ErrorIs(t, r.kernel.WaitForIdle(r.thread), broken)
	r.mini.log = nil
	assert.ErrorIs(t, r.kernel.Recover(r.thread), broken)
	assert.Empty(t, r.mini.log)
	r.gpu.linkErr = nil
	require.NoError(t, r.kernel.Recover(r.thread))
	r.another()
	r.works(t)
	r.finish()
}

// A lock survives the removal of its device; written data is lost.
func TestLockAcrossRecovery(t *testing.T) {
	r := newRig(t, options{})
	read, written := r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(read, 0, 4096, 1), fill(written, 0, 4096, 2))
	r.ok(r.lock(&umddi.Lock{Allocation: read, ReadOnly: true}))
	arg := &umddi.Lock{Allocation: written}
	r.ok(r.lock(arg))
	late := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(late, 0, 64, 1))
	require.Error(t, r.kernel.WaitForIdle(r.thread))
	r.gpu.auto = true
	require.NoError(t, r.kernel.Recover(r.thread))
	clear(arg.Data)
	r.unlock(read)
	unlock := &umddi.Unlock{Allocations: []ddi.KMHandle{written}}
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.Unlock(r.thread, r.dev, unlock))
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.Unlock(r.thread, r.dev, unlock), "the lock has ended")
	r.another()
	r.works(t)
	r.finish()
}

// Interrupts from before the recovery are dropped or not claimed.
//
// docs/properties.md: T6.
func TestStaleInterrupts(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	require.Error(t, r.kernel.WaitForIdle(r.thread))
	r.gpu.auto = true
	r.gpu.interrupt(0)
	require.NoError(t, r.kernel.Recover(r.thread))
	require.NoError(t, r.gpu.machine.WriteMem(le.Uint64(r.gpu.bar0[msixTable:]), make([]byte, 4)))
	r.another()
	r.works(t)
	assert.Positive(t, r.kernel.Stats().Unclaimed)
	r.finish()
}

func TestRecoverBreaksContracts(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(4096, local)
	r.render(fill(a, 0, 64, 1))
	r.wait()
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	require.Error(t, r.kernel.WaitForIdle(r.thread))
	r.mini.fail["BuildPagingBuffer"] = ddi.StatusNoMemory
	b := crash(func() { r.kernel.Recover(r.thread) })
	require.NotNil(t, b)
	assert.Equal(t, []uint32{CodeMemory, MemoryPaging}, []uint32{b.Code, b.P1})
	r.mini.log = nil
	assert.Error(t, r.kernel.Recover(r.thread))
	assert.Empty(t, r.mini.log, "a miniport that broke a contract is not called")
	require.NoError(t, r.kernel.Stop(r.thread))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.kernel.Recover(r.thread))
}

// A miniport has both reset functions or none; without them there is no
// recovery.
func TestMiniportWithoutReset(t *testing.T) {
	for _, drop := range []func(d *kmddi.DriverInitializationData){
		func(d *kmddi.DriverInitializationData) { d.ResetFromTimeout = nil },
		func(d *kmddi.DriverInitializationData) { d.RestartFromTimeout = nil },
	} {
		_, _, cfg := newMachine(t, &options{})
		drop(&cfg.Driver)
		_, err := Start(new(ddi.Thread), cfg)
		assert.ErrorIs(t, err, ErrStart)
	}
	r := newRig(t, options{})
	r.kernel.driver.ResetFromTimeout, r.kernel.driver.RestartFromTimeout = nil, nil
	require.Empty(t, checkTable(&r.kernel.driver))
	require.NoError(t, r.kernel.Recover(r.thread), "the adapter works")
	r.gpu.auto = false
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	require.Error(t, r.kernel.WaitForIdle(r.thread))
	assert.ErrorIs(t, r.kernel.Recover(r.thread), ddi.StatusNotSupported)
}

// A context that was destroyed while the GPU was stopped leaves nothing to wait for.
//
// docs/properties.md: F12.
func TestContextDestroyedBeforeRecovery(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.gpu.auto = false
	for range 3 {
		r.render(fill(a, 0, 64, 1))
	}
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	r.ok(r.thunks.DestroyContext(r.thread, r.ctx.Context))
	require.NoError(t, r.kernel.Recover(r.thread))
	r.gpu.auto = true
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	r.finish()
}

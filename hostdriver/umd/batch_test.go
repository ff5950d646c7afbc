package umd

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Whichever buffer is full first, the batch is submitted and recording
// continues in the buffers that the kernel returns.
func TestBufferFull(t *testing.T) {
	const draw = 2*32 + 16 // bytes of a COPY_2D with its state
	for _, tt := range []struct {
		name                   string
		bytes, allocs, patches int
		batches                int // for 12 copies between two textures
	}{
		{"everything fits", 12 * draw, 2, 24, 1},
		{"a byte short", 12*draw - 1, 2, 24, 2},
		{"a patch location short", 12 * draw, 2, 23, 2},
		{"one operation at a time", draw, 2, 2, 12},
		{"five operations at a time", 5*draw + draw/2, 9, 99, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(t)
			k.cmdBytes, k.nAllocs, k.nPatches = tt.bytes, tt.allocs, tt.patches
			r := newRigOn(k)
			arg := tex(4, 4, rgba, umddi.UsageDefault, 0)
			arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(1, 64), RowPitch: 16}}
			src, dst := r.create(arg), r.create(arg)
			r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, src, 0, nil)
			r.flush()
			before := len(r.queue)
			for i := range uint32(12) {
				r.f.ResourceCopyRegion(r.th, r.h, dst, 0, i%4, i%4, 0, src, 0, box(i%3, i%4, i%3+1, i%4+1))
			}
			r.flush()
			assert.Len(t, r.queue, before+tt.batches)
			want := seq(1, 64)
			for i := range 4 {
				copy(want[20*i:][:4], seq(1, 64)[16*i+4*((i+8)%3):])
			}
			arg.InitialDataUP = nil
			assert.Equal(t, want, r.read(dst, arg, 0))
			assert.Empty(t, r.errs)
		})
	}
}

func TestAllocationListFull(t *testing.T) {
	k := newKernel(t)
	k.nAllocs = 3
	r := newRigOn(k)
	arg := buf(16, umddi.UsageDefault)
	var all []umddi.HResource
	for range 4 {
		all = append(all, r.create(arg))
	}
	r.copy(all[0], all[1])
	r.copy(all[2], all[0])
	r.copy(all[1], all[2])
	assert.Empty(t, r.queue, "three allocations fit")
	r.copy(all[0], all[3])
	assert.Len(t, r.queue, 1)
	r.flush()
	require.Len(t, r.queue, 2)
	assert.Equal(t, []bool{true, true, true}, r.queue[0].write, "an allocation that was read first and is written later")
	assert.Equal(t, []bool{false, true}, r.queue[1].write, "the list starts empty")
}

// An allocation that is source and destination needs a single entry in the
// list.
func TestOneAllocation(t *testing.T) {
	k := newKernel(t)
	k.nAllocs = 1
	r := newRigOn(k)
	res := r.create(mips(tex(4, 4, rgba, umddi.UsageDefault, 0), 1))
	r.f.ResourceCopyRegion(r.th, r.h, res, 1, 0, 0, 0, res, 0, box(0, 0, 2, 2))
	r.flush()
	assert.Len(t, r.queue, 1)
	assert.Empty(t, r.errs)
}

// A group that does not fit in an empty buffer is an error, not an endless
// loop.
func TestBufferTooSmall(t *testing.T) {
	for _, small := range []func(k *kernel){
		func(k *kernel) { k.cmdBytes = 2*32 + 15 },
		func(k *kernel) { k.nAllocs = 1 },
		func(k *kernel) { k.nPatches = 1 },
	} {
		k := newKernel(t)
		small(k)
		r := newRigOn(k)
		arg := tex(4, 4, rgba, umddi.UsageDefault, 0)
		r.f.ResourceCopyRegion(r.th, r.h, r.create(arg), 0, 0, 0, 0, r.create(arg), 0, nil)
		assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors())
		r.flush()
		assert.Empty(t, r.queue)
		assert.Empty(t, r.errs)
	}
}

// Each operation is a group of its own: the kernel may split before it.
func TestSplitOffsets(t *testing.T) {
	r := newRig(t)
	arg := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	a, b := r.create(arg), r.create(arg)
	v := r.view(a, rgba, 0, 0, 1)
	r.f.ResourceCopyRegion(r.th, r.h, a, 0, 0, 0, 0, b, 0, nil) // 80 bytes
	r.f.ClearRenderTargetView(r.th, r.h, v, [4]float32{})       // 52 bytes
	r.copy(b, a)                                                // 24 bytes
	r.f.QueryEnd(r.th, r.h, r.query())
	r.flush()
	require.Len(t, r.queue, 1)
	var offsets []uint32
	for _, p := range r.queue[0].patches {
		offsets = append(offsets, p.SplitOffset)
	}
	assert.Equal(t, []uint32{0, 0, 80, 132, 132, 156}, offsets)
}

// A batch that the kernel refuses is lost; later work is not.
func TestRefusedBatch(t *testing.T) {
	for _, hr := range []ddi.HRESULT{ddi.EOutOfMemory, ddi.DDIDeviceRemoved, ddi.EInvalidArg} {
		r := newRig(t)
		arg := buf(64, umddi.UsageDefault)
		a, b, c := r.filled(arg, 1), r.filled(arg, 2), r.filled(arg, 3)
		r.flush()
		r.copy(a, b)
		r.failAt, r.failHR = 1, hr
		r.flush()
		assert.Equal(t, "Render", r.failed)
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors(), "a flush may report only this")
		r.copy(b, c)
		assert.Equal(t, seq(1, 64), r.read(a, arg, 0), "lost")
		assert.Equal(t, seq(3, 64), r.read(b, arg, 0))
	}
}

// A call that submits earlier work does not report the loss of that work as its
// own failure.
func TestRefusedBatchRemovesTheDevice(t *testing.T) {
	for name, submit := range map[string]func(r *rig, used, other umddi.HResource){
		"map":  func(r *rig, used, _ umddi.HResource) { r.f.StagingResourceMap(r.th, r.h, used, 0, umddi.MapRead, 0) },
		"copy": func(r *rig, used, other umddi.HResource) { r.copy(other, used) },
		"present": func(r *rig, used, other umddi.HResource) {
			hr := r.dx.Present(r.th, umddi.Present{Device: r.h, SurfaceToPresent: used, DstResource: other})
			r.errs = append(r.errs, hr)
		},
	} {
		k := newKernel(t)
		k.cmdBytes = 3 * copyBytes // two updates and a copy, then three copies
		r := newRigOn(k)
		arg := buf(64, umddi.UsageStaging)
		a, b := r.filled(arg, 1), r.filled(arg, 2)
		for range 4 {
			r.copy(a, b)
		}
		require.Empty(t, r.errors())
		r.failAt, r.failHR = 1, ddi.EOutOfMemory
		submit(r, a, b)
		require.Equal(t, "Render", r.failed, name)
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, r.errors(), name)
	}
}

// scenario uses every function and reports, by name, the errors of each call.
// Handles whose Create failed are not used again, as in a real runtime.
func scenario(r *rig, report func(call string, errs []ddi.HRESULT)) {
	step := func(name string, needs bool, f func()) {
		if needs {
			f()
			report(name, r.errors())
		}
	}
	ok := map[*ddi.Object]bool{}
	create := func(arg *umddi.CreateResource) (res umddi.HResource) {
		step("create", true, func() { var made bool; res, made = r.tryCreate(arg); ok[res.Object] = made })
		return res
	}
	rt := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	rt.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(1, 64), RowPitch: 16}}
	a, b := create(rt), create(rt)
	staging := tex(4, 4, rgba, umddi.UsageStaging, 0)
	staging.InitialDataUP = rt.InitialDataUP
	s, dyn := create(staging), create(tex(4, 4, rgba, umddi.UsageDynamic, 0))
	all := ok[a.Object] && ok[b.Object] && ok[s.Object] && ok[dyn.Object]
	q := umddi.HQuery{Object: garbage(privateBytes)}
	step("create", true, func() { r.f.CreateQuery(r.th, r.h, umddi.CreateQuery{}, q, umddi.HRTQuery{}) })
	hasQuery := r.driver().queries.get(q.Object) != nil
	for range 6 {
		step("update", all, func() { r.f.ResourceUpdateSubresourceUP(r.th, r.h, a, 0, nil, seq(0, 64), 16, 0) })
		step("map", all, func() {
			if m := r.f.DynamicResourceMapDiscard(r.th, r.h, dyn, 0, umddi.MapWriteDiscard, 0); m.Data != nil {
				r.f.DynamicResourceUnmap(r.th, r.h, dyn, 0)
			}
		})
		step("copy", all, func() { r.f.ResourceCopyRegion(r.th, r.h, b, 0, 0, 0, 0, dyn, 0, nil) })
		step("copy", all, func() { r.copy(s, b) })
	}
	step("end", hasQuery, func() { r.f.QueryEnd(r.th, r.h, q) })
	step("get data", hasQuery, func() {
		if r.driver().queries.get(q.Object).ended {
			r.f.QueryGetData(r.th, r.h, q, make([]byte, 4), 0)
		}
	})
	step("map", all, func() {
		if m := r.mapStaging(s, umddi.MapRead, 0); m.Data != nil {
			r.f.StagingResourceUnmap(r.th, r.h, s, 0)
		}
	})
	step("no wait", all, func() { r.copy(s, a) })
	step("no wait", all, func() {
		if m := r.mapStaging(s, umddi.MapRead, umddi.MapDoNotWait); m.Data != nil {
			r.f.StagingResourceUnmap(r.th, r.h, s, 0)
		}
	})
	step("busy", all, func() { r.f.ResourceIsStagingBusy(r.th, r.h, s) })
	step("copy", all, func() { r.copy(a, s) })
	step("destroy", ok[a.Object], func() { r.f.DestroyResource(r.th, r.h, a) })
	step("destroy", hasQuery, func() { r.f.DestroyQuery(r.th, r.h, q) })
	step("flush", true, r.flush)
	step("destroy", ok[dyn.Object], func() { r.f.DestroyResource(r.th, r.h, dyn) })
	step("destroy device", true, func() {
		r.h, r.errs = umddi.HDevice{Root: &ddi.Root{Driver: r.driver()}}, nil
		r.f.DestroyDevice(r.th, r.h)
	})
}

// Each callback fails once, in each way: only permitted results are reported,
// and nothing is leaked.
func TestEveryCallbackFails(t *testing.T) {
	legal := map[string][]ddi.HRESULT{
		"create": {ddi.EOutOfMemory}, "update": {ddi.EOutOfMemory}, "copy": {ddi.EOutOfMemory}, "map": {ddi.EOutOfMemory},
		"no wait": {ddi.EOutOfMemory, ddi.DDIStillDrawing}, "get data": {ddi.DDIStillDrawing},
	}
	run := func(failAt int, hr ddi.HRESULT) (*rig, int) {
		k := newKernel(t)
		k.cmdBytes, k.nAllocs, k.nPatches = 400, 4, 12
		r := newRigOn(k)
		k.failAt, k.failHR = failAt, hr
		reported := 0
		scenario(r, func(call string, errs []ddi.HRESULT) {
			for _, e := range errs {
				reported++
				if e != ddi.DDIDeviceRemoved {
					assert.Contains(t, legal[call], e, "%s, callback %d", call, failAt)
				}
			}
		})
		return r, reported
	}
	clean, reported := run(0, ddi.OK)
	require.Equal(t, 2, reported, "the map and the query that do not wait")
	require.Empty(t, clean.handles)
	seen := map[string]bool{}
	for i := range len(clean.log) {
		for _, hr := range []ddi.HRESULT{ddi.EOutOfMemory, ddi.DDIDeviceRemoved, ddi.EInvalidArg, ddi.DDINotAvailable} {
			r, reported := run(i+1, hr)
			if r.failed == "" {
				continue // earlier calls ended sooner: CreateContext is not counted
			}
			seen[r.failed] = true
			name := fmt.Sprintf("callback %d, %s, returns %v", i+1, r.failed, hr)
			assert.Empty(t, r.handles, "%s: allocations left", name)
			assert.Zero(t, r.ctx.Context, name)
			recovered := r.failed == "Allocate" && hr == ddi.EOutOfMemory // the discard waits instead
			assert.True(t, reported > 0 || recovered, "%s: nothing was reported", name)
		}
	}
	for _, name := range []string{"Allocate", "Deallocate", "Lock", "Unlock", "Render", "DestroyContext"} {
		assert.True(t, seen[name], name)
	}
}

// Create and Destroy run on any thread while the immediate context records.
func TestFreeThreaded(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex // the kernel's lock
	lock := func(f func() ddi.HRESULT) ddi.HRESULT {
		mu.Lock()
		defer mu.Unlock()
		return f()
	}
	base := *r.kt
	r.kt.AllocateCb = func(t *ddi.Thread, h umddi.HRTDevice, a *umddi.Allocate) ddi.HRESULT {
		return lock(func() ddi.HRESULT { return base.AllocateCb(t, h, a) })
	}
	r.kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, a *umddi.Deallocate) ddi.HRESULT {
		return lock(func() ddi.HRESULT { return base.DeallocateCb(t, h, a) })
	}
	r.kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, a *umddi.Lock) ddi.HRESULT {
		return lock(func() ddi.HRESULT { return base.LockCb(t, h, a) })
	}
	r.kt.UnlockCb = func(t *ddi.Thread, h umddi.HRTDevice, a *umddi.Unlock) ddi.HRESULT {
		return lock(func() ddi.HRESULT { return base.UnlockCb(t, h, a) })
	}
	r.kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, a *umddi.Render) ddi.HRESULT {
		return lock(func() ddi.HRESULT { return base.RenderCb(t, h, a) })
	}
	arg := buf(64, umddi.UsageDefault)
	arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(5, 64), RowPitch: 64}}
	made, used := make(chan umddi.HResource), make(chan umddi.HResource, 200)
	var workers sync.WaitGroup
	for id := range uint32(3) {
		workers.Go(func() {
			th := &ddi.Thread{Process: 1, ID: 2 + id}
			for i := range 50 {
				res := umddi.HResource{Object: garbage(privateBytes)}
				r.f.CreateResource(th, r.h, arg, res, umddi.HRTResource{})
				if i%2 == 0 {
					r.f.DestroyResource(th, r.h, res)
					continue
				}
				made <- res
				r.f.DestroyResource(th, r.h, <-used)
			}
		})
	}
	go func() {
		workers.Wait()
		close(made)
	}()
	dst := r.create(buf(64, umddi.UsageDefault))
	for res := range made {
		r.copy(dst, res)
		used <- res
	}
	assert.Equal(t, seq(5, 64), r.read(dst, buf(64, umddi.UsageDefault), 0))
	r.flush()
	assert.Len(t, r.handles, 1, "dst")
	assert.Empty(t, r.errs)
	assert.True(t, slices.Contains(r.log, "Render"))
}

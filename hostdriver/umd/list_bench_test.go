package umd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// listRecorder records, finishes and releases lists of one copy like a runtime
// that caches everything: the calls of "Supporting Command Lists" and no
// others.
type listRecorder struct {
	c        *recorder
	arg      *umddi.CreateCommandList
	list     umddi.HCommandList
	dst, src umddi.HResource // of the device
	to, from umddi.HResource // local
	rtTo     umddi.HRTResource
	rtFrom   umddi.HRTResource
}

func newListRecorder(r *rig, dst, src umddi.HResource) *listRecorder {
	c := r.recorder()
	s := &listRecorder{c: c, arg: &umddi.CreateCommandList{DeferredContext: c.h}, dst: dst, src: src}
	s.to.Object, s.from.Object = garbage(localBytes), garbage(localBytes)
	s.rtTo.Runtime, s.rtFrom.Runtime = dst, src
	s.create()
	return s
}

// create creates another list.
func (s *listRecorder) create() {
	s.record()
	s.list.Object = garbage(listBytes)
	s.c.rig.f.CreateCommandList(s.c.th, s.c.rig.h, s.arg, s.list, umddi.HRTCommandList{})
	s.recycleContext()
}

func (s *listRecorder) record() {
	c := s.c
	c.f.CreateResource(c.th, c.h, nil, s.to, s.rtTo)
	c.f.CreateResource(c.th, c.h, nil, s.from, s.rtFrom)
	c.f.ResourceCopy(c.th, c.h, s.to, s.from)
}

func (s *listRecorder) recycleContext() ddi.HRESULT {
	c := s.c
	c.f.DestroyResource(c.th, c.h, s.from)
	c.f.DestroyResource(c.th, c.h, s.to)
	return c.rig.f.RecycleCreateDeferredContext(c.th, c.rig.h, &c.arg)
}

// recycle releases the list and records it again.
func (s *listRecorder) recycle() bool {
	c, f := s.c, &s.c.rig.f
	f.RecycleDestroyCommandList(c.th, c.rig.h, s.list)
	s.record()
	c.f.RecycleCommandList(c.th, c.h, s.list)
	hr := f.RecycleCreateCommandList(c.th, c.rig.h, s.arg, s.list, umddi.HRTCommandList{})
	return hr == ddi.OK && s.recycleContext() == ddi.OK
}

// quietRig is a rig whose kernel ignores submissions.
func quietRig(t tb) *rig {
	k := newKernel(t)
	k.cmdBytes, k.nAllocs, k.nPatches = 64<<10, 1024, 4096
	r := newRigOn(k)
	r.kt.RenderCb = func(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
		arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList = k.ctx.CommandBuffer, k.ctx.AllocationList, k.ctx.PatchLocationList
		return ddi.OK
	}
	return r
}

func BenchmarkImmediateCopy(b *testing.B) {
	r := quietRig(b)
	dst, src := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	for b.Loop() {
		r.f.ResourceCopy(r.th, r.h, dst, src)
	}
	require.Empty(b, r.errs)
}

func BenchmarkList(b *testing.B) {
	b.Run("record", func(b *testing.B) {
		r := quietRig(b)
		s := newListRecorder(r, r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault)))
		for b.Loop() {
			if !s.recycle() {
				b.Fatal("no list")
			}
		}
		require.Empty(b, s.c.errors())
	})
	b.Run("execute", func(b *testing.B) {
		r := quietRig(b)
		s := newListRecorder(r, r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault)))
		for b.Loop() {
			r.f.CommandListExecute(r.th, r.h, s.list)
		}
		require.Empty(b, s.c.errors())
	})
}

// BenchmarkRecordParallel records on a context of each goroutine.
func BenchmarkRecordParallel(b *testing.B) {
	r := quietRig(b)
	dst, src := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	made := make(chan *listRecorder, 64)
	for range cap(made) {
		made <- newListRecorder(r, dst, src)
	}
	b.RunParallel(func(pb *testing.PB) {
		for s := <-made; pb.Next(); {
			if !s.recycle() {
				b.Error("no list")
			}
		}
	})
}

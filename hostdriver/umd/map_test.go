package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func (r *rig) mapStaging(res umddi.HResource, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
	return r.f.StagingResourceMap(r.th, r.h, res, 0, typ, flags)
}

// discard maps a dynamic resource, writes v everywhere and unmaps it.
func (r *rig) discard(res umddi.HResource, v byte) {
	r.Helper()
	m := r.f.DynamicResourceMapDiscard(r.th, r.h, res, 0, umddi.MapWriteDiscard, 0)
	require.NotNil(r, m.Data, "%v", r.errs)
	for i := range m.Data {
		m.Data[i] = v
	}
	r.f.DynamicResourceUnmap(r.th, r.h, res, 0)
}

func TestMappedPitches(t *testing.T) {
	levels := mips(tex(5, 3, rgba, umddi.UsageStaging, 0), 2)
	for _, tt := range []struct {
		name       string
		arg        *umddi.CreateResource
		sub        uint32
		row, depth uint32
	}{
		{"512 x 512", tex(512, 512, rgba, umddi.UsageStaging, 0), 0, 2048, 1048576},
		{"buffer", buf(100, umddi.UsageStaging), 0, 100, 100},
		{"rows of 20 bytes", levels, 0, 32, 96},
		{"a level of another slice", levels, 4, 16, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			res := r.create(tt.arg)
			m := r.f.StagingResourceMap(r.th, r.h, res, tt.sub, umddi.MapWrite, 0)
			assert.Equal(t, tt.row, m.RowPitch)
			assert.Equal(t, tt.depth, m.DepthPitch)
			assert.Len(t, m.Data, int(tt.depth))
			assert.Equal(t, len(m.Data), cap(m.Data), "no capacity beyond the subresource")
		})
	}
}

func TestStagingMap(t *testing.T) {
	r := newRig(t)
	arg := buf(64, umddi.UsageStaging)
	staging, gpu := r.create(arg), r.create(buf(64, umddi.UsageDefault))
	copy(r.mapStaging(staging, umddi.MapWrite, 0).Data, seq(9, 64))
	r.f.StagingResourceUnmap(r.th, r.h, staging, 0)
	assert.Equal(t, seq(9, 64), r.mapStaging(staging, umddi.MapRead, 0).Data, "written data is read back")
	r.f.StagingResourceUnmap(r.th, r.h, staging, 0)
	r.copy(gpu, staging)

	assert.Empty(t, r.queue)
	m := r.mapStaging(staging, umddi.MapRead, umddi.MapDoNotWait)
	assert.Equal(t, umddi.Mapped{}, m)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIStillDrawing}, r.errors())
	assert.Len(t, r.queue, 1, "the batch uses it, so it is submitted")
	assert.True(t, r.f.ResourceIsStagingBusy(r.th, r.h, staging))
	r.run(1)
	assert.False(t, r.f.ResourceIsStagingBusy(r.th, r.h, staging))
	assert.NotNil(t, r.mapStaging(staging, umddi.MapRead, umddi.MapDoNotWait).Data)
	r.f.StagingResourceUnmap(r.th, r.h, staging, 0)
	r.f.StagingResourceUnmap(r.th, r.h, staging, 0) // no map is left
	assert.Empty(t, r.errs)

	r.copy(staging, gpu)
	assert.True(t, r.f.ResourceIsStagingBusy(r.th, r.h, staging), "recorded work counts and is submitted")
	assert.Len(t, r.queue, 1)
	other := r.create(arg)
	r.copy(gpu, gpu)
	assert.NotNil(t, r.mapStaging(other, umddi.MapRead, umddi.MapDoNotWait).Data, "nothing uses the other")
}

func TestMapRefuses(t *testing.T) {
	r := newRig(t)
	staging, dynamic := r.create(buf(64, umddi.UsageStaging)), r.create(buf(64, umddi.UsageDynamic))
	for name, m := range map[string]umddi.Mapped{
		"a staging map of a dynamic resource": r.mapStaging(dynamic, umddi.MapRead, 0),
		"a subresource that is not there":     r.f.StagingResourceMap(r.th, r.h, staging, 1, umddi.MapRead, 0),
		"a discard of a staging resource":     r.f.DynamicResourceMapDiscard(r.th, r.h, staging, 0, umddi.MapWriteDiscard, 0),
		"no-overwrite of a staging resource":  r.f.DynamicIABufferMapNoOverwrite(r.th, r.h, staging, 0, umddi.MapWriteNoOverwrite, 0),
		"a discard of another subresource":    r.f.DynamicResourceMapDiscard(r.th, r.h, dynamic, 1, umddi.MapWriteDiscard, 0),
		"a map of too little memory":          func() umddi.Mapped { r.stale = true; return r.mapStaging(staging, umddi.MapRead, 0) }(),
	} {
		assert.Equal(t, umddi.Mapped{}, m, name)
	}
	removed := ddi.DDIDeviceRemoved
	assert.Equal(t, []ddi.HRESULT{removed, removed, removed, removed, removed, removed}, r.errors())
	for _, m := range r.handles {
		assert.Zero(t, m.locks)
	}
}

// A discard returns memory that neither the GPU nor the batch uses, so that
// each copy reads the data written before it.
func TestDiscardRenames(t *testing.T) {
	for _, arg := range []*umddi.CreateResource{buf(64, umddi.UsageDynamic), tex(4, 4, rgba, umddi.UsageDynamic, 0)} {
		for _, flushed := range []bool{false, true} {
			r := newRig(t)
			dyn := r.create(arg)
			to := *arg
			to.Usage = umddi.UsageDefault
			var copies []umddi.HResource
			for i := range 3 * maxInstances {
				r.discard(dyn, byte(i))
				copies = append(copies, r.create(&to))
				r.copy(copies[i], dyn)
				if flushed {
					r.flush()
				}
			}
			assert.Len(t, r.driver().resources.get(dyn.Object).instances, maxInstances)
			for i, c := range copies {
				assert.Equal(t, byte(i), r.read(c, &to, 0)[0], "copy %d", i)
			}
			r.f.DestroyResource(r.th, r.h, dyn)
			for _, c := range copies {
				r.f.DestroyResource(r.th, r.h, c)
			}
			assert.Empty(t, r.handles)
			assert.Empty(t, r.errs)
		}
	}
}

func TestDiscardReusesWhatIsFree(t *testing.T) {
	r := newRig(t)
	dyn, dst := r.create(buf(64, umddi.UsageDynamic)), r.create(buf(64, umddi.UsageDefault))
	for i := range 10 {
		r.discard(dyn, byte(i))
	}
	assert.Len(t, r.driver().resources.get(dyn.Object).instances, 1, "nothing used it")
	for i := range 10 {
		r.copy(dst, dyn)
		r.flush()
		r.run(1)
		r.discard(dyn, byte(i))
	}
	assert.Len(t, r.driver().resources.get(dyn.Object).instances, 1, "the GPU was done with it")
	assert.Empty(t, r.errs)
}

func TestDiscardAtTheLimit(t *testing.T) {
	r := newRig(t)
	dyn, dst := r.create(buf(64, umddi.UsageDynamic)), r.create(buf(64, umddi.UsageDefault))
	for range maxInstances {
		r.discard(dyn, 1)
		r.copy(dst, dyn)
		r.flush()
	}
	m := r.f.DynamicConstantBufferMapDiscard(r.th, r.h, dyn, 0, umddi.MapWriteDiscard, umddi.MapDoNotWait)
	assert.Nil(t, m.Data)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIStillDrawing}, r.errors())
	assert.Len(t, r.queue, maxInstances, "there was no wait")
	m = r.f.DynamicConstantBufferMapDiscard(r.th, r.h, dyn, 0, umddi.MapWriteDiscard, 0)
	assert.NotNil(t, m.Data)
	assert.Len(t, r.queue, maxInstances-1, "the wait was only for the oldest")
	r.f.DynamicConstantBufferUnmap(r.th, r.h, dyn, 0)
	assert.Empty(t, r.errs)
}

// Without memory for another instance a discard waits.
func TestDiscardWithoutMemory(t *testing.T) {
	r := newRig(t)
	dyn, dst := r.create(buf(64, umddi.UsageDynamic)), r.create(buf(64, umddi.UsageDefault))
	r.copy(dst, dyn)
	r.failAt, r.failHR = 1, ddi.EOutOfMemory
	r.discard(dyn, 7)
	assert.Equal(t, "Allocate", r.failed)
	assert.Empty(t, r.errs)
	assert.Len(t, r.driver().resources.get(dyn.Object).instances, 1)
}

// A discard of one subresource of several does not change the others.
func TestDiscardOfOneSubresource(t *testing.T) {
	r := newRig(t)
	arg := mips(tex(4, 4, rgba, umddi.UsageDynamic, 0), 1)
	dyn := r.create(arg)
	dst := r.create(stagingCopy(arg))
	for sub, v := range []byte{1, 2, 3} {
		m := r.f.DynamicResourceMapDiscard(r.th, r.h, dyn, uint32(sub), umddi.MapWriteDiscard, 0)
		for i := range m.Data {
			m.Data[i] = v
		}
		r.f.DynamicResourceUnmap(r.th, r.h, dyn, uint32(sub))
		r.copy(dst, dyn)
	}
	for sub, v := range []byte{1, 2, 3} {
		assert.Equal(t, v, r.read(dyn, arg, uint32(sub))[0])
	}
}

func TestNoOverwrite(t *testing.T) {
	r := newRig(t)
	dyn, dst := r.create(buf(64, umddi.UsageDynamic)), r.create(buf(64, umddi.UsageDefault))
	r.discard(dyn, 1)
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, dyn, 0, box(0, 0, 32, 1))
	r.flush()
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, dyn, 0, box(0, 0, 16, 1))
	m := r.f.DynamicIABufferMapNoOverwrite(r.th, r.h, dyn, 0, umddi.MapWriteNoOverwrite, 0)
	require.Len(t, m.Data, 64)
	assert.Equal(t, byte(1), m.Data[0], "the same memory")
	m.Data[40] = 9
	r.f.DynamicIABufferUnmap(r.th, r.h, dyn, 0)
	assert.Len(t, r.queue, 1, "neither waited nor submitted")
	r.copy(dst, dyn)
	assert.Equal(t, byte(9), r.read(dst, buf(64, umddi.UsageDefault), 0)[40])
	assert.Empty(t, r.errs)
}

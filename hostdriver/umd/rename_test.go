package umd

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// fillMap writes v everywhere.
func fillMap(t tb, m umddi.Mapped, v byte) {
	require.NotNil(t, m.Data)
	for i := range m.Data {
		m.Data[i] = v
	}
}

// A list with a discard can be executed any number of times before the GPU has
// run any of them. Each execution renames the resource.
func TestDiscardInAList(t *testing.T) {
	for _, size := range []uint32{64, 100000} {
		r, m := newListRig(t)
		arg := buf(size, umddi.UsageDynamic)
		dyn := r.create(arg)
		r.discard(dyn, 9)
		c := r.recorder()
		fillMap(t, c.discard(dyn, 0), 1)
		c.f.DynamicResourceUnmap(c.th, c.h, c.res(dyn), 0)
		to, between := r.create(stagingCopy(arg)), r.create(stagingCopy(arg))
		c.copy(to, dyn)
		fillMap(t, c.discard(dyn, 0), 2)
		l := c.done()
		assert.Equal(t, byte(9), r.read(dyn, arg, 0)[0], "not before the list is executed")
		r.flush()
		r.run(len(r.queue))
		for i := range 3 {
			before := r.driver().resources.get(dyn.Object).alloc()
			r.execute(l)
			assert.NotSame(t, before, r.driver().resources.get(dyn.Object).alloc(), "execution %d", i)
			r.copy(between, dyn)
			r.discard(dyn, 7) // the immediate context's own
		}
		require.Empty(t, c.errors())
		assert.Equal(t, byte(1), r.read(to, stagingCopy(arg), 0)[size-1])
		assert.Equal(t, byte(2), r.read(between, stagingCopy(arg), 0)[size-1])
		assert.Equal(t, byte(7), r.read(dyn, arg, 0)[size-1])
		r.execute(l)
		assert.Equal(t, byte(2), r.read(dyn, arg, 0)[size-1], "the last one is current")
		assert.Empty(t, c.errors())
		r.f.DestroyCommandList(r.th, r.h, l)
		c.destroy()
		assert.Empty(t, m.live)
	}
}

// No-overwrite returns the memory of the last discard, across chunks and also
// from an executed list, until the recording ends.
func TestNoOverwriteInAList(t *testing.T) {
	r, _ := newListRig(t)
	arg := buf(64, umddi.UsageDynamic)
	dyn, other, dst := r.create(arg), r.create(arg), r.create(stagingCopy(arg))
	noOverwrite := func(c *recorder, res umddi.HResource) umddi.Mapped {
		return c.f.DynamicIABufferMapNoOverwrite(c.th, c.h, c.res(res), 0, umddi.MapWriteNoOverwrite, 0)
	}
	for _, before := range []int{0, 1, 8, 9, 400, 401, 700} { // copies: head and chunks at all alignments
		c := r.recorder()
		for range before {
			c.copy(dst, dyn)
		}
		first := c.discard(dyn, 0)
		assert.Zero(t, reflect.ValueOf(first.Data).Pointer()%16, "at least 16-byte aligned (SPEC 5.6.1)")
		fillMap(t, first, 1)
		c.copy(dst, dyn)
		fillMap(t, c.discard(other, 0), 3)
		for range 700 {
			c.copy(dst, dyn)
		}
		m := noOverwrite(c, dyn)
		require.Len(t, m.Data, 64)
		assert.Same(t, &first.Data[0], &m.Data[0])
		m.Data[63] = 8
		l := c.done()
		r.execute(l)
		want := make([]byte, 64)
		fillMap(t, umddi.Mapped{Data: want}, 1)
		want[63] = 8
		assert.Equal(t, want, r.read(dyn, arg, 0), "%d copies before", before)
		assert.Equal(t, byte(3), r.read(other, arg, 0)[63])

		assert.Nil(t, noOverwrite(c, dyn).Data, "in the next list")
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors())
		third := r.create(arg)
		fillMap(t, c.discard(dyn, 0), 1)
		last := c.discard(third, 0)
		c.execute(l)
		m = noOverwrite(c, third)
		require.Len(t, m.Data, 64, "the executed list maps other resources")
		assert.Same(t, &last.Data[0], &m.Data[0])
		require.Empty(t, c.errors())
		for range before % 4 { // the copies after the discard have another alignment
			c.copy(dst, dst)
		}
		c.execute(l)
		m = noOverwrite(c, dyn)
		require.Len(t, m.Data, 64, "the executed list has a discard")
		assert.Zero(t, reflect.ValueOf(m.Data).Pointer()%16)
		assert.Equal(t, want, m.Data)
		m.Data[0] = 77
		outer := c.done()
		require.Empty(t, c.errors())
		r.execute(outer)
		want[0] = 77
		assert.Equal(t, want, r.read(dyn, arg, 0), "%d copies before", before)
		assert.Equal(t, byte(3), r.read(other, arg, 0)[63])
		r.f.DestroyCommandList(r.th, r.h, outer)
		c.destroy()
		r.f.DestroyCommandList(r.th, r.h, l)
	}
}

// A discard without its contents in the list is not mapped.
func TestNoOverwriteIsInTheList(t *testing.T) {
	r, _ := newListRig(t)
	dyn := r.create(buf(64, umddi.UsageDynamic))
	c := r.recorder()
	c.discard(dyn, 0)
	l := c.done()
	require.Equal(t, uint32(opDiscard), le.Uint32(l.Private[listHeader:]))
	le.PutUint32(l.Private[listHeader+24:], 1<<20)
	first := c.discard(dyn, 0)
	c.execute(l)
	m := c.f.DynamicIABufferMapNoOverwrite(c.th, c.h, c.res(dyn), 0, umddi.MapWriteNoOverwrite, 0)
	require.Len(t, m.Data, 64)
	assert.Same(t, &first.Data[0], &m.Data[0])
	assert.Empty(t, c.errors())
}

// A discard of one subresource of several does not change the others.
func TestDiscardOfOneSubresourceInAList(t *testing.T) {
	r, _ := newListRig(t)
	arg := mips(tex(4, 4, rgba, umddi.UsageDynamic, 0), 1)
	dyn := r.create(arg)
	c := r.recorder()
	for sub, v := range []byte{1, 2, 3} {
		m := c.discard(dyn, uint32(sub))
		assert.Equal(t, uint32(16), m.RowPitch)
		fillMap(t, m, v)
	}
	l := c.done()
	r.copy(r.create(stagingCopy(arg)), dyn)
	r.execute(l)
	require.Empty(t, c.errors())
	for sub, v := range []byte{1, 2, 3} {
		assert.Equal(t, v, r.read(dyn, arg, uint32(sub))[0])
	}
}

// The memory of a discard is zeroed, whatever an earlier list left there.
func TestDiscardIsEmpty(t *testing.T) {
	r, _ := newListRig(t)
	dyn := r.create(buf(40, umddi.UsageDynamic))
	c := r.recorder()
	for range 3 {
		m := c.discard(dyn, 0)
		assert.Equal(t, make([]byte, 40), m.Data)
		assert.Equal(t, 40, cap(m.Data), "no capacity beyond it")
		fillMap(t, m, 0xff)
		c.release(c.done())
	}
}

// A list cannot replace the contents of a mapped resource.
func TestDiscardOfAMappedResource(t *testing.T) {
	r, _ := newListRig(t)
	dyn := r.create(buf(64, umddi.UsageDynamic))
	c := r.recorder()
	fillMap(t, c.discard(dyn, 0), 1)
	l := c.done()
	r.f.DynamicResourceMapDiscard(r.th, r.h, dyn, 0, umddi.MapWriteDiscard, 0)
	r.execute(l)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors())
	r.f.DynamicResourceUnmap(r.th, r.h, dyn, 0)
	r.f.DestroyResource(r.th, r.h, dyn)
	assert.Empty(t, r.handles)
}

// A copy into a dynamic resource changes its current contents, and later
// commands see it.
func TestCopyIntoADynamicResource(t *testing.T) {
	r, _ := newListRig(t)
	arg := buf(64, umddi.UsageDynamic)
	dyn, src, before, after := r.create(arg), r.filledBuffer(umddi.UsageDefault, 40), r.create(stagingCopy(arg)), r.create(stagingCopy(arg))
	r.discard(dyn, 5)
	c := r.recorder()
	c.copy(before, dyn)
	c.f.ResourceCopyRegion(c.th, c.h, c.res(dyn), 0, 8, 0, 0, c.res(src), 0, box(0, 0, 8, 1))
	c.copy(after, dyn)
	l := c.done()
	r.execute(l)
	r.discard(dyn, 6)
	r.execute(l)
	want := make([]byte, 64)
	fillMap(t, umddi.Mapped{Data: want}, 6)
	assert.Equal(t, want, r.read(before, arg, 0))
	copy(want[8:], seq(40, 8))
	assert.Equal(t, want, r.read(after, arg, 0))
	assert.Equal(t, want, r.read(dyn, arg, 0))
	assert.Empty(t, c.errors())
}

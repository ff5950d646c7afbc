package umd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// filled creates a resource whose subresource i holds seq(first+i).
func (r *rig) filled(arg *umddi.CreateResource, first int) umddi.HResource {
	res := r.create(arg)
	for i := range arg.MipLevels * arg.ArraySize {
		m := arg.MipInfoList[i%arg.MipLevels]
		r.update(res, arg, i, nil, seq(first+int(i), elementBytes(arg)*int(m.TexelWidth*m.TexelHeight)))
	}
	return res
}

func TestResourceCopy(t *testing.T) {
	def := umddi.UsageDefault
	for _, tt := range []struct {
		name string
		arg  *umddi.CreateResource
		bits uint32 // LengthBits
		ops  int    // number of packets
	}{
		{"texture", tex(5, 3, rgba, def, 0), 24, 1},
		{"levels and slices", mips(tex(9, 7, dxgi.R16G16B16A16Float, def, 0), 3), 24, 1},
		{"buffer", buf(1000, def), 24, 1},
		{"the maximum length of a packet", buf(256, def), 9, 1},
		{"one byte longer", buf(257, def), 9, 2},
		{"in many pieces", buf(10000, def), 9, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(t)
			k.info.LengthBits = tt.bits
			r := newRigOn(k)
			dst, src := r.create(tt.arg), r.filled(tt.arg, 1)
			r.flush()
			r.run(len(r.queue))
			r.ran = nil
			r.copy(dst, src)
			r.flush()
			r.run(len(r.queue))
			assert.Len(t, r.ran, tt.ops)
			for i := range tt.arg.MipLevels * tt.arg.ArraySize {
				want := r.read(src, tt.arg, i)
				assert.Equal(t, byte(1+i), want[0])
				assert.Equal(t, want, r.read(dst, tt.arg, i))
			}
			assert.Empty(t, r.errs)
		})
	}
}

func TestResourceCopyIgnores(t *testing.T) {
	def := umddi.UsageDefault
	r := newRig(t)
	a := r.create(tex(4, 4, rgba, def, 0))
	r.copy(a, a)
	for _, other := range []*umddi.CreateResource{
		tex(4, 5, rgba, def, 0), tex(5, 4, rgba, def, 0), tex(4, 4, dxgi.R8UNorm, def, 0), mips(tex(4, 4, rgba, def, 0), 1), buf(64, def),
	} {
		r.copy(a, r.create(other))
	}
	r.flush()
	assert.Empty(t, r.errs)
	assert.NotContains(t, r.log, "Render")
}

// Boxes of a 4 x 4 texture whose element (x, y) is 10*y + x, copied over zeros.
// The results are written out.
func TestCopyRegion(t *testing.T) {
	arg := tex(4, 4, dxgi.R8UNorm, umddi.UsageDefault, 0)
	source := []byte{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}
	for _, tt := range []struct {
		name string
		x, y uint32
		box  *umddi.Box
		want []byte
	}{
		{"all", 0, 0, nil, source},
		{"middle to the middle", 1, 1, box(1, 1, 3, 3), []byte{0, 0, 0, 0, 0, 11, 12, 0, 0, 21, 22, 0, 0, 0, 0, 0}},
		{"middle to the corner", 2, 2, box(1, 1, 3, 3), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 12, 0, 0, 21, 22}},
		{"a row", 0, 3, box(0, 1, 4, 2), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 11, 12, 13}},
		{"a column", 3, 0, box(2, 0, 3, 4), []byte{0, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0, 22, 0, 0, 0, 32}},
		{"one element", 0, 0, box(3, 3, 4, 4), []byte{33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"beyond the right edge", 1, 0, nil, make([]byte, 16)},
		{"beyond the bottom", 0, 3, box(0, 0, 1, 2), make([]byte, 16)},
		{"far outside", 1<<32 - 1, 0, box(0, 0, 1, 1), make([]byte, 16)},
		{"an empty box", 0, 0, box(2, 2, 2, 4), make([]byte, 16)},
		{"an inverted box", 0, 0, box(3, 3, 1, 4), make([]byte, 16)},
		{"a box beyond the source", 0, 0, box(0, 0, 5, 1), make([]byte, 16)},
		{"a box before the source", 0, 0, &umddi.Box{Right: 4, Bottom: 4, Front: 1, Back: 2}, make([]byte, 16)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			src, dst := r.create(arg), r.create(arg)
			r.update(src, arg, 0, nil, source)
			r.update(dst, arg, 0, nil, make([]byte, 16))
			r.f.ResourceCopyRegion(r.th, r.h, dst, 0, tt.x, tt.y, 0, src, 0, tt.box)
			assert.Equal(t, tt.want, r.read(dst, arg, 0))
			assert.Empty(t, r.errs)
		})
	}
}

func TestCopyRegionSubresources(t *testing.T) {
	r := newRig(t)
	arg := mips(tex(8, 8, rgba, umddi.UsageDefault, 0), 2) // 4 levels
	src, dst := r.filled(arg, 1), r.filled(arg, 100)
	r.f.ResourceCopyRegion(r.th, r.h, dst, 5, 0, 0, 0, src, 1, nil) // 4 x 4 to level 1 of slice 1
	r.f.ResourceCopyRegion(r.th, r.h, src, 4, 0, 4, 0, src, 0, box(0, 0, 8, 4))
	assert.Equal(t, r.read(src, arg, 1), r.read(dst, arg, 5))
	assert.Equal(t, seq(104, 256), r.read(dst, arg, 4), "its neighbours are unchanged")
	assert.Equal(t, seq(106, 16), r.read(dst, arg, 6))
	assert.Equal(t, append(seq(5, 256)[:128:128], seq(1, 256)[:128]...), r.read(src, arg, 4), "within one resource")
	assert.Empty(t, r.errs)
}

func TestCopyRegionFormats(t *testing.T) {
	for _, tt := range []struct {
		dst, src dxgi.Format
		copied   bool
	}{
		{dxgi.R8G8B8A8UInt, dxgi.R8G8B8A8Typeless, true},
		{dxgi.R32UInt, dxgi.R9G9B9E5SharedExp, true},
		{dxgi.R32G32Float, dxgi.R32G32UInt, true},
		{dxgi.R8UNorm, dxgi.R8G8B8A8UNorm, false},
		{dxgi.R32G32Float, dxgi.R32Float, false},
	} {
		r := newRig(t)
		to, from := tex(2, 2, tt.dst, umddi.UsageDefault, 0), tex(2, 2, tt.src, umddi.UsageDefault, 0)
		dst, src := r.filled(to, 50), r.filled(from, 1)
		r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, src, 0, nil)
		first := byte(50)
		if tt.copied {
			first = 1
		}
		assert.Equal(t, first, r.read(dst, to, 0)[0], "%v from %v", tt.dst, tt.src)
	}
}

func TestCopyRegionBuffers(t *testing.T) {
	k := newKernel(t)
	k.info.LengthBits = 9
	r := newRigOn(k)
	arg := buf(1000, umddi.UsageDefault)
	src, dst := r.filled(arg, 0), r.create(arg)
	texture := r.create(tex(4, 4, rgba, umddi.UsageDefault, 0))
	r.update(dst, arg, 0, nil, make([]byte, 1000))
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 7, 0, 0, src, 0, box(13, 0, 900, 1))
	want := make([]byte, 1000)
	copy(want[7:], seq(0, 1000)[13:900])
	assert.True(t, bytes.Equal(want, r.read(dst, arg, 0)))

	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 101, 0, 0, src, 0, box(0, 0, 900, 1)) // one byte past the end
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 1, 0, src, 0, box(0, 0, 1, 1))
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 1, src, 0, box(0, 0, 1, 1))
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, texture, 0, nil)
	r.f.ResourceCopyRegion(r.th, r.h, texture, 0, 0, 0, 0, src, 0, box(0, 0, 4, 1))
	assert.True(t, bytes.Equal(want, r.read(dst, arg, 0)), "these are ignored")
	assert.Empty(t, r.errs)

	r.f.ResourceCopyRegion(r.th, r.h, dst, 1, 0, 0, 0, src, 0, nil)
	r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 0, 0, 0, src, 1, nil)
	assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved, ddi.DDIDeviceRemoved}, r.errors(), "no such subresource")
}

func TestUpdate(t *testing.T) {
	r := newRig(t)
	arg := mips(tex(8, 8, rgba, umddi.UsageDefault, 0), 2)
	res := r.filled(arg, 1)
	data := seq(200, 1000)
	r.f.ResourceUpdateSubresourceUP(r.th, r.h, res, 5, box(1, 2, 3, 4), data, 100, 0)
	clear(data) // the data was copied before the call returned
	want := seq(6, 64)
	copy(want[2*16+4:], seq(200, 1000)[:8])
	copy(want[3*16+4:], seq(200, 1000)[100:108])
	assert.Equal(t, want, r.read(res, arg, 5))
	for i, n := range []int{256, 64, 16, 4, 256} {
		assert.Equal(t, seq(1+i, n), r.read(res, arg, uint32(i)), "the others are unchanged")
	}
	r.update(res, arg, 0, box(0, 0, 9, 1), seq(0, 36))
	r.update(res, arg, 0, box(2, 2, 2, 2), nil)
	assert.Equal(t, seq(1, 256), r.read(res, arg, 0), "outside the subresource")
	assert.Empty(t, r.errs)

	r.f.ResourceUpdateSubresourceUP(r.th, r.h, res, 8, nil, make([]byte, 4), 4, 0)
	r.f.ResourceUpdateSubresourceUP(r.th, r.h, res, 3, nil, make([]byte, 3), 4, 0)
	r.f.ResourceUpdateSubresourceUP(r.th, r.h, res, 0, nil, make([]byte, 255), 32, 0)
	removed := ddi.DDIDeviceRemoved
	assert.Equal(t, []ddi.HRESULT{removed, removed, removed}, r.errors(), "no such subresource, data too short")
}

// More data than one upload allocation holds, and more than all of them hold.
func TestBigUpdates(t *testing.T) {
	for _, tt := range []struct {
		name string
		arg  *umddi.CreateResource
		n    int
	}{
		{"buffer", buf(uploadBytes*5+77, umddi.UsageDefault), uploadBytes*5 + 77},
		{"texture", tex(500, 700, rgba, umddi.UsageDefault, 0), 500 * 700 * 4},
		{"the widest rows", tex(16384, 6, dxgi.R32G32B32A32Float, umddi.UsageDefault, 0), 16384 * 6 * 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			res := r.create(tt.arg)
			want := seq(3, tt.n)
			r.update(res, tt.arg, 0, nil, want)
			assert.True(t, bytes.Equal(want, r.read(res, tt.arg, 0)))
			assert.LessOrEqual(t, len(r.driver().uploads.instances), maxInstances)
			assert.Empty(t, r.errs)
		})
	}
}

// An update after a flush does not wait for the previous one.
func TestUpdateDoesNotWait(t *testing.T) {
	r := newRig(t)
	arg := buf(64, umddi.UsageDefault)
	a, b := r.create(arg), r.create(arg)
	r.update(a, arg, 0, nil, seq(1, 64))
	r.flush()
	r.update(b, arg, 0, nil, seq(2, 64))
	assert.Len(t, r.queue, 1)
	assert.Equal(t, seq(1, 64), r.read(a, arg, 0))
	assert.Equal(t, seq(2, 64), r.read(b, arg, 0))
}

// Updates stay in order with other commands, and upload memory that the GPU
// still has to read is not overwritten.
func TestUpdatesInOrder(t *testing.T) {
	r := newRig(t)
	arg := buf(uploadBytes/3, umddi.UsageDefault)
	src := r.create(arg)
	var copies []umddi.HResource
	for i := range 20 {
		r.update(src, arg, 0, nil, seq(i, uploadBytes/3))
		copies = append(copies, r.create(arg))
		r.copy(copies[i], src)
		if i%3 == 0 {
			r.flush()
		}
	}
	for i, c := range copies {
		assert.True(t, bytes.Equal(seq(i, uploadBytes/3), r.read(c, arg, 0)), "copy %d", i)
	}
	assert.Empty(t, r.errs)
}

// Recording does not enter the kernel and does not allocate.
func TestRecordingAllocatesNothing(t *testing.T) {
	k := newKernel(t)
	k.cmdBytes, k.nPatches = 1<<20, 1<<15
	r := newRigOn(k)
	arg := tex(8, 8, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	src, dst := r.filled(arg, 1), r.create(arg)
	v := r.view(dst, rgba, 0, 0, 1)
	data, b := seq(0, 256), box(1, 1, 3, 3)
	calls := len(r.log)
	n := testing.AllocsPerRun(100, func() {
		r.copy(dst, src)
		r.f.ResourceCopyRegion(r.th, r.h, dst, 0, 1, 1, 0, src, 0, b)
		r.f.ClearRenderTargetView(r.th, r.h, v, [4]float32{1, 0, 0, 1})
		r.f.ResourceUpdateSubresourceUP(r.th, r.h, dst, 0, b, data, 8, 0)
	})
	assert.Zero(t, n)
	assert.Len(t, r.log, calls)
	assert.Empty(t, r.errs)
}

package umd

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Colours with known 8-bit results, each channel within 1.
func TestClearGolden(t *testing.T) {
	for _, tt := range []struct {
		f     dxgi.Format
		color [4]float32
		want  uint32
	}{
		{dxgi.R8G8B8A8UNorm, [4]float32{.1, .5, .3, .75}, 0xbf4c7f19},
		{dxgi.R8G8B8A8UNormSRGB, [4]float32{.1, .5, .3, .75}, 0xbf95bc59},
		{dxgi.R8G8B8A8UNorm, [4]float32{0, 1, 0, .5}, 0x8000ff00},
		{dxgi.B8G8R8A8UNorm, [4]float32{.3, .5, .1, .75}, 0xbf4c7f19},
		{dxgi.B8G8R8A8UNormSRGB, [4]float32{.3, .5, .1, .75}, 0xbf95bc59},
	} {
		r := newRig(t)
		arg := tex(3, 2, tt.f, umddi.UsageDefault, umddi.BindRenderTarget)
		res := r.create(arg)
		r.f.ClearRenderTargetView(r.th, r.h, r.view(res, tt.f, 0, 0, 1), tt.color)
		var want [4]byte
		binary.LittleEndian.PutUint32(want[:], tt.want)
		for i, got := range r.read(res, arg, 0) {
			assert.InDelta(t, want[i%4], got, 1, "%v byte %d", tt.f, i)
		}
	}
}

// Clearing a view changes exactly its slices and level.
func TestClearSlices(t *testing.T) {
	arg := mips(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget), 5) // 3 levels
	for _, tt := range []struct{ mip, first, n uint32 }{{0, 0, 5}, {0, 1, 3}, {1, 2, 1}, {2, 4, 1}} {
		r := newRig(t)
		res := r.filled(arg, 1)
		r.f.SetViewports(r.th, r.h, []umddi.Viewport{{Width: 1, Height: 1}})
		r.f.SetScissorRects(r.th, r.h, []umddi.Rect{{}})
		r.f.ClearRenderTargetView(r.th, r.h, r.view(res, dxgi.R8G8B8A8UInt, tt.mip, tt.first, tt.n), [4]float32{1, 1, 1, 1})
		for i := range uint32(15) {
			n := 64 >> (2 * (i % 3))
			want := seq(1+int(i), n)
			if i%3 == tt.mip && i/3 >= tt.first && i/3 < tt.first+tt.n {
				for j := range want {
					want[j] = 1
				}
			}
			assert.Equal(t, want, r.read(res, arg, i), "%+v, subresource %d", tt, i)
		}
		assert.Empty(t, r.errs)
	}
}

func TestViewRefuses(t *testing.T) {
	r := newRig(t)
	arg := mips(tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget), 2)
	res, wide := r.create(arg), r.create(tex(4, 4, dxgi.R32G32B32A32Float, umddi.UsageDefault, 0))
	for _, tt := range []struct {
		name string
		arg  umddi.CreateRenderTargetView
		ok   bool
	}{
		{"the last level and slice", umddi.CreateRenderTargetView{Resource: res, Format: rgba, MipSlice: 2, FirstArraySlice: 1, ArraySize: 1}, true},
		{"one level too many", umddi.CreateRenderTargetView{Resource: res, Format: rgba, MipSlice: 3, ArraySize: 1}, false},
		{"one slice too many", umddi.CreateRenderTargetView{Resource: res, Format: rgba, FirstArraySlice: 1, ArraySize: 2}, false},
		{"a slice past the end", umddi.CreateRenderTargetView{Resource: res, Format: rgba, FirstArraySlice: 1<<32 - 1, ArraySize: 2}, false},
		{"no slice", umddi.CreateRenderTargetView{Resource: res, Format: rgba}, false},
		{"elements of another size", umddi.CreateRenderTargetView{Resource: res, Format: dxgi.R8UNorm, ArraySize: 1}, false},
		{"no format", umddi.CreateRenderTargetView{Resource: res, ArraySize: 1}, false},
		{"typeless", umddi.CreateRenderTargetView{Resource: res, Format: dxgi.R8G8B8A8Typeless, ArraySize: 1}, false},
		{"16 bytes per element", umddi.CreateRenderTargetView{Resource: wide, Format: dxgi.R32G32B32A32Float, ArraySize: 1}, false},
		{"a buffer", umddi.CreateRenderTargetView{Resource: r.create(buf(64, 0)), Format: dxgi.R8UNorm, ArraySize: 1}, false},
	} {
		v := umddi.HRenderTargetView{Object: garbage(privateBytes)}
		r.f.CreateRenderTargetView(r.th, r.h, &tt.arg, v, umddi.HRTRenderTargetView{})
		assert.Equal(t, tt.ok, len(r.errors()) == 0, tt.name)
		assert.Equal(t, tt.ok, r.driver().views.get(v.Object) != nil, tt.name)
		if tt.ok {
			r.f.DestroyRenderTargetView(r.th, r.h, v)
			assert.Nil(t, r.driver().views.get(v.Object))
		}
	}
	assert.Empty(t, r.errs)
}

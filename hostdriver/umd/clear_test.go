package umd

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

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

// Conversions computed by hand from the specification.
func TestPattern(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		f     dxgi.Format
		color [4]float32
		want  uint64
	}{
		{dxgi.R8G8B8A8UNorm, [4]float32{nan, -inf, inf, 2}, 0xffff0000_ffff0000},
		{dxgi.R8G8B8A8UNormSRGB, [4]float32{nan, -1, inf, .5}, 0x80ff0000_80ff0000},
		{dxgi.R8UNorm, [4]float32{1, 0, 0, 0}, 0xffffffff_ffffffff},
		{dxgi.A8UNorm, [4]float32{1, 1, 1, .2}, 0x33333333_33333333},
		{dxgi.R8UInt, [4]float32{7.9, 1, 1, 1}, 0x07070707_07070707},
		{dxgi.R8G8B8A8UInt, [4]float32{-3, 256, nan, 255}, 0xff00ff00_ff00ff00},
		{dxgi.R8G8B8A8SInt, [4]float32{-1.9, 127.9, -200, nan}, 0x00807fff_00807fff},
		{dxgi.R8G8B8A8SNorm, [4]float32{-1, 1, -2, -.5}, 0xc0817f81_c0817f81},
		{dxgi.R8G8B8A8SNorm, [4]float32{nan, .5, .003, -.003}, 0x00004000_00004000},
		{dxgi.R16G16UNorm, [4]float32{1, .5, 9, 9}, 0x8000ffff_8000ffff},
		{dxgi.R16G16SNorm, [4]float32{-1, .25, 9, 9}, 0x20008001_20008001},
		{dxgi.R16G16SInt, [4]float32{-32769, 32768, 9, 9}, 0x7fff8000_7fff8000},
		{dxgi.R16G16B16A16UNorm, [4]float32{0, 1, .5, 0}, 0x0000_8000_ffff_0000},
		{dxgi.R16G16B16A16UInt, [4]float32{1, 2, 3, 65536}, 0xffff_0003_0002_0001},
		{dxgi.R16G16B16A16Float, [4]float32{1, -2, 65504, .5}, 0x3800_7bff_c000_3c00},
		{dxgi.R32UInt, [4]float32{5e9}, 0xffffffff_ffffffff},
		{dxgi.R32SInt, [4]float32{-5e9}, 0x80000000_80000000},
		{dxgi.R32SInt, [4]float32{5e9}, 0x7fffffff_7fffffff},
		{dxgi.R32Float, [4]float32{1}, 0x3f800000_3f800000},
		{dxgi.R32G32Float, [4]float32{1, -2}, 0xc0000000_3f800000},
		{dxgi.R32G32UInt, [4]float32{1, 2}, 0x00000002_00000001},
		{dxgi.R32G32SInt, [4]float32{-1, 2}, 0x00000002_ffffffff},
	} {
		info, _ := tt.f.Info()
		assert.Equal(t, tt.want, pattern(info, tt.color), "%v of %v: %#x", tt.f, tt.color, pattern(info, tt.color))
	}
}

func TestHalf(t *testing.T) {
	for _, tt := range []struct {
		v    float32
		want uint16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {1, 0x3c00}, {-1.5, 0xbe00},
		{1 + 1.999/1024, 0x3c01}, // toward zero
		{65504, 0x7bff}, {65535, 0x7bff}, {1e9, 0x7bff}, {-1e9, 0xfbff},
		{float32(math.Inf(1)), 0x7c00}, {float32(math.Inf(-1)), 0xfc00}, {float32(math.NaN()), 0x7e00},
		{0x1p-14, 0x0400}, {0x1.ffcp-15, 0x03ff}, {0x1p-24, 1}, {0x1.8p-24, 1}, {0x1p-25, 0}, {-0x1p-24, 0x8001}, {1e-45, 0},
	} {
		assert.Equal(t, tt.want, half(tt.v), "%g", tt.v)
	}
}

// Every half is the largest in magnitude that does not exceed the value.
func TestHalfProperty(t *testing.T) {
	value := func(h uint16) float64 {
		m, e := float64(h&0x3ff), int(h>>10&0x1f)
		if e == 0 {
			return math.Ldexp(m, -24)
		}
		return math.Ldexp(1024+m, e-25)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float32Range(0, 65504).Draw(t, "v")
		h := half(v)
		if value(h) > float64(v) || h < 0x7bff && value(h+1) <= float64(v) {
			t.Fatalf("half(%g) = %#x", v, h)
		}
		if half(-v) != h|0x8000 {
			t.Fatalf("half(-%g) = %#x", v, half(-v))
		}
	})
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

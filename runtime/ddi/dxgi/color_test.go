package dxgi

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Conversions computed by hand from the specification.
func TestPattern(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		f     Format
		color [4]float32
		want  uint64
	}{
		{R8G8B8A8UNorm, [4]float32{nan, -inf, inf, 2}, 0xffff0000_ffff0000},
		{R8G8B8A8UNormSRGB, [4]float32{nan, -1, inf, .5}, 0x80ff0000_80ff0000},
		{R8UNorm, [4]float32{1, 0, 0, 0}, 0xffffffff_ffffffff},
		{A8UNorm, [4]float32{1, 1, 1, .2}, 0x33333333_33333333},
		{R8UInt, [4]float32{7.9, 1, 1, 1}, 0x07070707_07070707},
		{R8G8B8A8UInt, [4]float32{-3, 256, nan, 255}, 0xff00ff00_ff00ff00},
		{R8G8B8A8SInt, [4]float32{-1.9, 127.9, -200, nan}, 0x00807fff_00807fff},
		{R8G8B8A8SNorm, [4]float32{-1, 1, -2, -.5}, 0xc0817f81_c0817f81},
		{R8G8B8A8SNorm, [4]float32{nan, .5, .003, -.003}, 0x00004000_00004000},
		{R16G16UNorm, [4]float32{1, .5, 9, 9}, 0x8000ffff_8000ffff},
		{R16G16SNorm, [4]float32{-1, .25, 9, 9}, 0x20008001_20008001},
		{R16G16SInt, [4]float32{-32769, 32768, 9, 9}, 0x7fff8000_7fff8000},
		{R16G16B16A16UNorm, [4]float32{0, 1, .5, 0}, 0x0000_8000_ffff_0000},
		{R16G16B16A16UInt, [4]float32{1, 2, 3, 65536}, 0xffff_0003_0002_0001},
		{R16G16B16A16Float, [4]float32{1, -2, 65504, .5}, 0x3800_7bff_c000_3c00},
		{R32UInt, [4]float32{5e9}, 0xffffffff_ffffffff},
		{R32SInt, [4]float32{-5e9}, 0x80000000_80000000},
		{R32SInt, [4]float32{5e9}, 0x7fffffff_7fffffff},
		{R32Float, [4]float32{1}, 0x3f800000_3f800000},
		{R32G32Float, [4]float32{1, -2}, 0xc0000000_3f800000},
		{R32G32UInt, [4]float32{1, 2}, 0x00000002_00000001},
		{R32G32SInt, [4]float32{-1, 2}, 0x00000002_ffffffff},
	} {
		info, _ := tt.f.Info()
		assert.Equal(t, tt.want, info.Pattern(tt.color), "%v of %v: %#x", tt.f, tt.color, info.Pattern(tt.color))
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
